"""Finds what says the same already, before it is written once more."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import apsw
from msgspec import Struct

from djinn_memory.embedding.background import Background
from djinn_memory.embedding.embedder import Embedder
from djinn_memory.errors import DjinnError
from djinn_memory.models import Filters, Vault
from djinn_memory.notes.markdown import body
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.vault import files as disk
from djinn_memory.search.filters import condition
from djinn_memory.search.legs import words as words_leg
from djinn_memory.store.index import memories, vectors, words
from djinn_memory.store.index.vectors import VectorSpace
from djinn_memory.store.sqlite import rows
from djinn_memory.store.state import State
from djinn_memory.store.vector_cache import text_hash

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.memories.writing.drafts import Draft
    from djinn_memory.models import Vectors

LOOKED_AT = 4
"""Windows of a text that are compared; a longer text that begins alike is alike."""

NEIGHBOURS = 10
"""Nearest windows of each vault."""

DAY_ALLOWANCE = 0.1
"""What another day in front of a window costs of its cosine, at most."""

SAME_WORDS = 0.9
"""Share of words in common (Dice) from which on two texts say the same; with .8 sentences that
differ in the one word that matters do."""

FEWEST_WORDS = 4
"""Fewer words of a text are alike only if its title is too."""

TERMS = 30
"""Words by which texts with the same words are looked for."""

_WORD = re.compile(r"\w+")


class Duplicate(Struct, frozen=True):
    """A memory that says the same."""

    id: str | None
    title: str
    vault: str
    path: str
    likeness: float
    """By meaning a cosine, on the scale of the packaged model; by words a share in common."""
    how: str
    """`meaning` or `words`."""


class DuplicateFinder:
    """A look for what says nearly the same as a draft; begun at once, as the model takes its time.

    By meaning where the model is at hand and on this machine, and by words. Documents, what was
    superseded, and what lacks a number of the draft's do not count, unless the text is the same.
    """

    def __init__(self, state: State, models: ModelRegistry, draft: Draft, now: datetime) -> None:
        self._state = state
        self._draft = draft
        self._day = now.astimezone(UTC).date().isoformat()
        self._space = vectors.serving(state.index)
        self._embedder: Embedder | None = None
        self._mine: Background[dict[bytes, Vectors]] | None = None
        embedder = models.embedder
        if embedder and self._space and embedder.local and embedder.ready:
            self._embedder = embedder
            self._mine = Background(lambda: self._vectors(embedder, self._day))

    def twin(self, vaults: Sequence[Vault]) -> Duplicate | None:
        """The memory in `vaults` that says most nearly the same, if one is near enough."""
        numbered = memories.vault_ids(self._state.index, vaults)
        mine = numbers(f"{self._draft.title} {self._draft.text}")
        found = [
            one
            for one in (*self._by_words(list(numbered)), *self._by_meaning(list(numbered)))
            if mine <= numbers(f"{one.title} {one.text}") or self._verbatim(one, numbered)
        ]
        if not found:
            return None
        best = max(found, key=lambda one: one.likeness)
        [(uid, vault, path)] = rows(
            self._state.index,
            "select uid, vault_id, path from memory join note on note.id = note_id "
            "where memory.id = ?",
            (best.memory,),
        )
        likeness = round(best.likeness, 3)
        return Duplicate(uid, best.title, numbered[vault].name, path, likeness, best.how)

    def _verbatim(self, one: _Like, numbered: Mapping[int, Vault]) -> bool:
        """Whether its text is the draft's, but for case and white space."""
        mine = fold(self._draft.text).split()
        [(vault, path)] = rows(
            self._state.index,
            "select vault_id, path from memory join note on note.id = note_id where memory.id = ?",
            (one.memory,),
        )
        with suppress(OSError, DjinnError):
            theirs = body.text_of(disk.read(numbered[vault], path))
            return len(mine) >= FEWEST_WORDS and mine == fold(theirs).split()
        return False

    def _by_words(self, vaults: list[int]) -> Iterator[_Like]:
        index, draft = self._state.index, self._draft
        said = draft.text if len(_WORD.findall(draft.text)) >= FEWEST_WORDS else ""
        whole = f"{draft.title} {draft.text}"
        asked = words_leg.compose(index, [" ".join(_WORD.findall(said or whole)[:TERMS])])
        if asked is None or not vaults:
            return
        where, values = condition(Filters(), vaults)
        near = words.search(index, asked.any, f"{where} and {_COUNTS}", values, NEIGHBOURS, 1)
        sql = "select memory_id from chunk where id in (select value from json_each(?))"
        notes = [memory for (memory,) in rows(index, sql, (json.dumps(near),))]
        for memory, title, text, _ in self._read(notes):
            same = likeness(said, text) if said else likeness(whole, f"{title} {text}")
            if same >= SAME_WORDS:
                yield _Like(same, "words", memory, title, text)

    def _by_meaning(self, vaults: list[int]) -> Iterator[_Like]:
        embedder, space = self._embedder, self._space
        if not (embedder and space and self._mine):
            return
        try:
            mine = self._mine.result()
        except DjinnError:
            return  # Without the model the words have to do.
        if not mine or space.identity != embedder.identity:
            return
        settings = self._state.home.config.thresholds
        threshold = settings.models.get(space.identity, settings).duplicate
        self._keep(embedder.identity, mine)
        near = self._near(space, vaults, mine)
        for memory, title, text, day in self._read(near):
            cosine = near[memory]
            if threshold - DAY_ALLOWANCE <= cosine < threshold and day != self._day:
                # As if it had been written on the same day.
                then = self._vectors(embedder, day)
                cosine = self._near(space, vaults, then).get(memory, 0.0)
            if cosine >= threshold:
                yield _Like(cosine, "meaning", memory, title, text)

    def _vectors(self, embedder: Embedder, day: str | None) -> dict[bytes, Vectors]:
        """By text hash: the vectors of the first windows that the note has, were it of that day."""
        texts = list(_windows(self._draft, day))
        made = embedder.embed(texts) if texts else ()
        return {text_hash(text): row for text, row in zip(texts, made, strict=True)}

    def _keep(self, identity: str, mine: dict[bytes, Vectors]) -> None:
        """So that the note, once written, need not be embedded again."""
        with suppress(DjinnError):
            kept = {key: row.astype("<f4").tobytes() for key, row in mine.items()}
            self._state.cache.put(identity, kept)

    def _near(
        self, space: VectorSpace, vaults: list[int], mine: dict[bytes, Vectors]
    ) -> dict[int, float]:
        """By memory: the cosine of that of my windows which is least like any of its own."""
        import numpy as np

        index, rowed = self._state.index, np.stack(list(mine.values()))
        near: set[int] = set()
        for vector in rowed:
            for vault in vaults:
                near.update(vectors.nearest(index, space, vector.tobytes(), vault, NEIGHBOURS))
        held = vectors.of_windows(index, space, list(near))
        theirs: dict[int, list[Vectors]] = {}
        for window, memory in _places(index, list(near)):
            if window in held:
                theirs.setdefault(memory, []).append(np.frombuffer(held[window], "<f4"))
        line = space.calibration
        return {
            memory: line.scale * float((rowed @ np.stack(rows).T).max(axis=1).min()) + line.shift
            for memory, rows in theirs.items()
        }

    def _read(self, found: Iterable[int]) -> list[tuple[int, str, str, str | None]]:
        """Memories with title, text and day."""
        sql = (
            "select memory.id, title, group_concat(text, ' '), iif(dated, substr(date, 1, 10), "
            "null) from memory join chunk on memory.id = memory_id where memory.id in "
            "(select value from json_each(?)) and ordinal < 20 group by memory.id"
        )
        listed = rows(self._state.index, sql, (json.dumps(list(found)),))
        return [(memory, title, text, day) for memory, title, text, day in listed]


class _Like(Struct, frozen=True):
    """A memory that is near enough."""

    likeness: float
    how: str
    memory: int
    title: str
    text: str


def likeness(one: str, other: str) -> float:
    """The share of words that two texts have in common, however they are ordered (Dice)."""
    left, right = (Counter(_WORD.findall(fold(text))) for text in (one, other))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


def numbers(text: str) -> set[str]:
    """The words of a text with a digit in them: what has others says another thing."""
    return {word for word in _WORD.findall(fold(text)) if any(map(str.isdigit, word))}


_COUNTS = (
    "memory.plane is not 'documents' and not exists (select 1 from field "
    "where field.memory_id = memory.id and key = 'status' and folded = 'superseded')"
)


def _windows(draft: Draft, day: str | None) -> Iterator[str]:
    """The texts of the first windows of the note that a draft is, were it of that day."""
    from djinn_memory.chunking.window_text import prefix, window_text
    from djinn_memory.indexing.indexer import cut
    from djinn_memory.notes.frontmatter import compose
    from djinn_memory.notes.note import parse

    text = compose({"title": draft.title, "type": draft.type, "date": day}, draft.text)
    note = parse("draft.md", text.encode("utf-8", "replace"))
    left = LOOKED_AT
    for chunk, windows in cut(note):
        line = prefix(note.title, chunk.headings, note.date)
        for window in windows[:left]:
            start, end = chunk.start + window.start, chunk.start + window.end
            yield window_text(line, note.searched[start:end])
        left -= len(windows[:left])
        if not left:
            return


def _places(index: apsw.Connection, windows: Sequence[int]) -> list[tuple[int, int]]:
    """The memory of each window, of those that count."""
    sql = (
        "select window.id, memory_id from window join chunk on chunk.id = chunk_id "
        "join memory on memory.id = memory_id "
        f"where window.id in (select value from json_each(?)) and {_COUNTS}"
    )
    return [(window, memory) for window, memory in rows(index, sql, (json.dumps(windows),))]
