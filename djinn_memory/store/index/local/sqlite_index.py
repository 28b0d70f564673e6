"""The index of a home, in SQLite. `search.backend.Index` documents the methods."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import apsw
from msgspec.structs import replace

from djinn_memory.home import access
from djinn_memory.models import Vault
from djinn_memory.notes.link_resolution import LinkTarget, NameSearch
from djinn_memory.store.index import compartments, links, memories
from djinn_memory.store.index.local.sqlite_tables import SqlitePart, SqliteSelections
from djinn_memory.store.index.local.sqlite_vectors import SqliteVectorIndex, TokenSigns, holds
from djinn_memory.store.index.records import (
    ChunkRef,
    Edge,
    Forms,
    IndexedLink,
    Phrase,
    Selection,
    WordMatch,
)
from djinn_memory.store.index.selection import Condition
from djinn_memory.store.index.stored_index import IdClaim, StoredIndex, readers
from djinn_memory.store.index.stored_links import StoredLink, StoredLinks
from djinn_memory.store.index.words import (
    COMPOUND_PART,
    MAX_COMPOUNDS,
    MOST_PHRASES,
    StoredWords,
    Tokenizer,
    chunk_count,
    idf,
    languages,
    lone,
)
from djinn_memory.store.sqlite import Row, peek, rows, version

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_WEIGHTS = "3, 3, 2, 2, 1, 1"
"""Weights of title, aliases, headings, tags, path and body. A word in a title says most about a
note."""

_BM25 = f"select rowid, -bm25({{words}}, {_WEIGHTS}) from {{words}} where {{words}} match ?"


class SqliteWordIndex(StoredWords[SqlitePart]):
    """The words of some vaults. `search.backend.WordIndex` documents the methods.

    Every number is computed from these vaults alone, so that other vaults do not change a score.
    """

    def __init__(self, connection: apsw.Connection, selections: SqliteSelections) -> None:
        super().__init__(selections)
        self._connection = connection
        self._compartments = selections.compartments
        self._frequencies: dict[str, int] = {}
        self._known: dict[tuple[Phrase, int], dict[int, float]] = {}
        self._phrases: dict[Phrase, list[tuple[float, dict[int, float]]]] = {}
        self._sums: dict[tuple[Forms, ...], dict[int, float]] = {}
        self._ranked: dict[WordMatch, dict[int, float]] = {}
        """The scores of the chunks that match, best first."""

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages, English aside, whose stemmers made words of these vaults."""
        return languages(self._connection, self._compartments)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self._connection)

    @cached_property
    def _totals(self) -> dict[int, int]:
        return {number: chunk_count(self._connection, number) for number in self._compartments}

    @property
    def total(self) -> int:
        """The number of chunks."""
        return sum(self._totals.values())

    def frequency(self, stem: str) -> int:
        """The number of chunks that contain a stemmed word."""
        if stem not in self._frequencies:
            listed = self._listed("select doc from {terms} where term = ?", stem)
            self._frequencies[stem] = sum(chunks for (chunks,) in listed)
        return self._frequencies[stem]

    def compounds_of(self, bare: str, mark: str) -> list[str]:
        """See `StoredWords`."""
        listed = self._listed(
            "select term from (select term, substr(term, 1, length(term) - 1) as bare "
            "from {terms} where substr(term, -1) = ?1 and length(term) > ?2) "
            "where substr(bare, 1, length(?3)) = ?3 or substr(bare, -length(?3)) = ?3 "
            "or substr(?3, 1, length(bare)) = bare or substr(?3, -length(bare)) = bare limit ?4",
            *(mark, COMPOUND_PART, bare, MAX_COMPOUNDS),
        )
        return [term for (term,) in listed]

    def terms_between(
        self, first: str, last: str, lengths: tuple[int, int], limit: int
    ) -> list[str]:
        """See `StoredWords`."""
        listed = self._listed(
            "select term from {terms} where term >= ? and term < ? "
            "and length(term) between ? and ? limit ?",
            *(first, last, *lengths, limit),
        )
        return [term for (term,) in listed]

    def search(
        self, match: WordMatch, selection: Selection, limit: int, per_memory: int = 1
    ) -> list[ChunkRef]:
        """Chunks that contain the words, best first by BM25, at most `per_memory` per memory."""
        if match not in self._ranked:
            scores = self._scores(match).items()
            self._ranked[match] = dict(sorted(scores, key=itemgetter(1), reverse=True))
        conditions = self._selections.conditions(selection)
        batches = self._batches(self._ranked[match], conditions, 2 * limit)
        return self._selections.best(batches, conditions, limit, per_memory)

    def _batches(
        self,
        scores: Mapping[int, float],
        conditions: Mapping[int, tuple[SqlitePart, Condition]],
        size: int,
    ) -> Iterator[dict[int, float]]:
        """The chunks that filters leave are read after the first batch; see `Selections.best`."""
        best, start, filtered = [*scores], 0, False
        while start < len(best):
            stop = start + size
            while stop < len(best) and scores[best[stop]] == scores[best[stop - 1]]:
                stop += 1
            yield {chunk: scores[chunk] for chunk in best[start:stop]}
            start, size = stop, 4 * size
            if not filtered and start < len(best):
                allowed = set(self._selections.chunks_of(conditions))
                best = [chunk for chunk in best[start:] if chunk in allowed]
                start, filtered = 0, True

    def score(self, match: WordMatch, chunk_ids: Collection[int]) -> dict[int, float]:
        """The BM25 scores of those chunks that contain at least one of the words."""
        if match.every or match.terms in self._sums:
            scores = self._scores(match)
            return {chunk: scores[chunk] for chunk in chunk_ids if chunk in scores}
        # A sum over all chunks would read many times more than these few.
        scores = {}
        for form in itertools.chain.from_iterable(match.terms):
            for factor, matches in self._phrase(form):
                for chunk in matches.keys() & chunk_ids:
                    scores[chunk] = scores.get(chunk, 0.0) + factor * matches[chunk]
        return scores

    def chunks_with(self, phrases: Forms) -> list[int]:
        """See `StoredWords`."""
        chunks: set[int] = set()
        for start in range(0, len(phrases), MOST_PHRASES):
            wanted = " OR ".join(map(_quoted, phrases[start : start + MOST_PHRASES]))
            matches = self._listed(
                "select rowid from {words} where {words} match ?", f"{{title body}}: ({wanted})"
            )
            chunks.update(chunk for (chunk,) in matches)
        return sorted(chunks)

    def holding_phrase(self, spellings: Forms) -> list[int]:
        """See `StoredWords`."""
        wanted = " OR ".join(_quoted(words, prefixes=False) for words in spellings)
        rows = self._listed("select rowid from {words} where {words} match ?", wanted)
        return [chunk for (chunk,) in rows]

    def texts_with(self, stem: str, limit: int) -> list[str]:
        """Titles and texts of some chunks that contain a word with a stem."""
        matches = self._listed("select rowid from {words} where {words} match ?", f'"{stem}"*')
        listed = rows(
            self._connection,
            "with first as materialized (select chunk.id as number from json_each(?) "
            "cross join chunk on chunk.id = value cross join memory on memory.id = memory_id "
            "cross join note on note.id = note_id order by (select name from vault "
            "where id = vault_id), note.path, lines_above, ordinal limit ?) "
            "select title || ' ' || text from first cross join chunk on chunk.id = number "
            "cross join memory on memory.id = memory_id",
            (json.dumps([chunk for (chunk,) in matches]), limit),
        )
        return [text for (text,) in listed]

    def _scores(self, match: WordMatch) -> dict[int, float]:
        """The BM25 scores of the chunks that match."""
        scores = self._sums.get(match.terms)
        if scores is None:
            scores = self._sums[match.terms] = {}
            for form in itertools.chain.from_iterable(match.terms):
                for factor, matches in self._phrase(form):
                    for chunk, score in matches.items():
                        scores[chunk] = scores.get(chunk, 0.0) + factor * score
        if not match.every:
            return scores
        held = (
            {chunk for form in forms for _, matches in self._phrase(form) for chunk in matches}
            for forms in match.terms
        )
        return {chunk: scores[chunk] for chunk in set.intersection(*held)}

    def _phrase(self, words: Phrase) -> list[tuple[float, dict[int, float]]]:
        """For each compartment: a factor, and the BM25 scores of its chunks with a phrase.

        FTS5 computes the rarity of a phrase from one compartment; the factor replaces it with the
        rarity in all. A chunk's length is compared with the other chunks of its compartment.
        """
        if words not in self._phrases:
            matches = {number: self._matches(words, number) for number in self._compartments}
            rarity = idf(self.total, sum(map(len, matches.values())))
            self._phrases[words] = [
                (rarity / idf(self._totals[number], len(listed)), listed)
                for number, listed in matches.items()
                if listed
            ]
        return self._phrases[words]

    def _matches(self, words: Phrase, compartment: int) -> dict[int, float]:
        """The BM25 scores by FTS5 of the chunks of one compartment that contain a phrase."""
        known = self._known.get((words, compartment))
        if known is None:
            known = {}
            singles = [
                self._matches((word,), compartment) for word in words[: len(words) - 1 and 2]
            ]
            # Most chunks with one word of a pair lack the other, among few chunks all of them.
            if not singles or not singles[0].keys().isdisjoint(singles[1]):
                known = dict(self._of(compartment, _BM25, _quoted(words)))
            self._known[words, compartment] = known
        return known

    def _listed(self, sql: str, *values: object) -> list[Row]:
        """The rows of a query over `{words}` and `{terms}` for all compartments."""
        return [row for number in self._compartments for row in self._of(number, sql, *values)]

    def _of(self, compartment: int, sql: str, *values: object) -> list[Row]:
        named = sql.format(words=f"words_{compartment:d}", terms=f"vocabulary_{compartment:d}")
        return self._connection.execute(named, values).fetchall()


def _quoted(words: Phrase, *, prefixes: bool = True) -> str:
    """A phrase in quotation marks for FTS5.

    With `prefixes`, a single character of an unspaced script matches any pair that it begins.
    """
    return f'"{" ".join(words)}"{"*" if prefixes and lone(words) else ""}'


_FEW_KEYS = 20
"""Maximum keys by which notes are looked through."""

_AMONG = "in (select value from json_each(%s))"

_LINKS = (
    "select link.id, source.vault_id, source.path, memory.id, target_memory_id, target, line, "
    "start, field, embed, how, link.candidates is not null, heading, link.block, kind, "
    "link.label, leads.compartment_id, link.candidates "
    "from link join memory on memory.id = link.memory_id "
    "join note as source on source.id = memory.note_id "
    "left join note as other on other.id = target_note_id "
    "left join memory as leads on leads.id = target_memory_id "
    f"where memory.compartment_id {_AMONG} "
    f"and (other.vault_id is null or other.vault_id {_AMONG}) and "
)
"""Links of readable memories, without links to hidden vaults."""

_TARGETED = (
    "from link cross join memory on memory.id = link.memory_id "
    "cross join note as other on other.id = target_note_id "
    f"where memory.compartment_id {_AMONG} and other.vault_id {_AMONG} "
    "and target_memory_id is not null"
)
"""The same links as far as they have targets, of which less is read. They are read in their own
order, which takes two thirds of the time."""

_EDGES = (
    "select link.id, link.memory_id, target_memory_id, line, coalesce(label, target), field "
    + _TARGETED
)

_ENDS = (
    "select group_concat(link.id), group_concat(link.memory_id), group_concat(target_memory_id), "
    f"group_concat(line) {_TARGETED}"
)


_SHOWN = (
    f"select distinct label, target_memory_id {_TARGETED} "
    "and label is not null and target_memory_id <> link.memory_id"
)

_HELD: WeakKeyDictionary[apsw.Connection, tuple[int, dict[str, dict[str, set[int]]]]]
_HELD = WeakKeyDictionary()
"""The shown texts of links by their reader, for one version of the file of a connection."""


def _shared(row: Iterable[Any]) -> Iterator[Any]:
    """The values of a row. Equal texts, which many links have, are in memory once."""
    return (sys.intern(value) if isinstance(value, str) else value for value in row)


class _SqliteLinks(StoredLinks[SqlitePart]):
    """The links of some vaults of a home."""

    _selections: SqliteSelections

    @cached_property
    def _part(self) -> SqlitePart:
        return self._selections.parts()[0]

    def _stored(self, memory_ids: Collection[int]) -> Iterator[StoredLink]:
        """See `StoredLinks`."""
        ids = list(memory_ids)
        where = f"(link.memory_id {_AMONG} or target_memory_id {_AMONG})"
        return (stored for stored, *_ in self._read(where, ids, ids))

    def _affected(self) -> Iterator[StoredLink]:
        """See `StoredLinks`."""
        hidden = links.hidden_notes(self._part.connection, self._vaults)
        unreadable = compartments.hidden(self._part.connection, self._vaults)
        read = self._read("(target_note_id is not null or link.candidates is not null)")
        for stored, compartment, candidates in read:
            if compartment in unreadable or not hidden.isdisjoint(json.loads(candidates or "[]")):
                yield stored

    def _read(self, where: str, *values: object) -> Iterator[tuple[StoredLink, int | None, str]]:
        """Links, each with the compartment that it leads to and the notes that it could mean."""
        part = self._part
        bound = part.compartments, list(part.vaults), *values
        for key, vault, path, *row, compartment, candidates in part.rows(_LINKS + where, bound):
            source, target, text, line, start, field, embed, how, ambiguous, *rest = _shared(row)
            shown = bool(embed), how, bool(ambiguous)
            link = IndexedLink(source, target, text, line, start, field, *shown, *rest)
            yield StoredLink(key, link, part.vault_of(vault).name, path), compartment, candidates

    def _edges(self, shown: Sequence[str] | None) -> Iterator[tuple[int, Edge]]:
        """See `StoredLinks`."""
        bound = [self._part.compartments, list(self._part.vaults)]
        likes = " or ".join(["label glob '*[^ -~]*'", *["label like %s"] * len(shown or ())])
        where = "" if shown is None else f" and ({likes})"
        rows = self._part.rows(_EDGES + where, [*bound, *(f"%{part}%" for part in shown or ())])
        return ((key, Edge(*_shared(row))) for key, *row in rows)

    def shown(self, parts: Sequence[str]) -> Mapping[str, Collection[int]]:
        """See `StoredLinks`. A process that answers many questions keeps all texts."""
        connection, readable = self._part.connection, self._part.compartments
        if not holds(connection) or self.seen:
            return super().shown(parts)
        now = version(connection)
        if _HELD.get(connection, (None,))[0] != now:
            _HELD[connection] = now, {}
        bound, known = (readable, list(self._part.vaults)), _HELD[connection][1]
        if str(bound) not in known:
            texts = known[str(bound)] = {}
            for text, target in self._part.rows(_SHOWN, bound):
                texts.setdefault(text, set()).add(target)
        return known[str(bound)]

    def ends(self) -> npt.NDArray[np.int64]:
        """See `StoredLinks`. Numbers come as text, since to make 60,000 rows takes longer."""
        import numpy as np

        bound = self._part.compartments, list(self._part.vaults)
        [texts] = self._part.rows(_ENDS, bound)
        read = np.array([np.fromstring(text or "", np.int64, sep=",") for text in texts]).T
        seen = [
            (0, link.source, link.target, link.line)
            for link in self.seen.values()
            if link.target is not None
        ]
        read = read[~np.isin(read[:, 0], list[Any](self.seen))]
        ends = np.concatenate([read, np.array(seen, np.int64).reshape(-1, 4)])[:, 1:]
        different: npt.NDArray[np.int64] = ends[ends[:, 0] != ends[:, 1]]
        return different

    @cached_property
    def _every_note(self) -> list[LinkTarget]:
        return links.targets(self._part.connection, self._vaults)

    @cached_property
    def _by_name(self) -> NameSearch:
        return NameSearch(self._every_note)

    def _notes(
        self, named: str | None = None, keys: Collection[str] | None = None
    ) -> list[LinkTarget]:
        """All notes, or those that may have one of a few keys."""
        if keys is None or len(keys) > _FEW_KEYS:
            return self._every_note
        return self._by_name.sharing(keys)

    def _place(self, key: int) -> tuple[SqlitePart, int]:
        """See `StoredLinks`."""
        return self._part, key


class SqliteIndex(StoredIndex[SqlitePart]):
    """Reads one state of the index, limited to `vaults`. Open it with `State.reading`."""

    def __init__(
        self,
        connection: apsw.Connection,
        vaults: Sequence[Vault],
        every: Sequence[Vault] = (),
        token_signs: TokenSigns = lambda identity, hashes: {},
    ) -> None:
        """`every` are the vaults of the home. The owner of an id is looked for in all of them.

        `token_signs` finds the token signs of texts in the cache, by the model's identity and text
        hashes.
        """
        self._connection = connection
        self._every = every or vaults
        numbered = memories.vault_ids(connection, vaults)
        selections = SqliteSelections(connection, numbered)
        self.vaults = tuple(numbered.values())
        self.words = SqliteWordIndex(connection, selections)
        self.vectors = SqliteVectorIndex(connection, selections, token_signs)
        reserved = access.reserved_for(self._every)
        super().__init__(selections, _SqliteLinks(selections, self.vaults, reserved))

    @cached_property
    def _owning(self) -> dict[int, compartments.Compartment]:
        """The compartments of the home's vaults by number."""
        known = [replace(vault, reader=None) for vault in self._every]
        return {part.number: part for part in compartments.readable(self._connection, known)}

    def _claims(self, ids: Collection[str]) -> Iterator[IdClaim]:
        """See `StoredIndex`."""
        listed: list[Row] = self._selections.parts()[0].rows(
            "select uid, compartment_id, path, block, coalesce(created, 'z'), mtime_ns "
            f"from memory join note on note.id = note_id where uid {_AMONG}",
            [list(ids)],
        )
        for uid, number, path, block, created, modified in listed:
            if part := self._owning.get(number):
                who = readers(part.vault.agent, part.excluded)
                age = created, modified, path
                yield IdClaim(uid, (part.vault.id, path, block), who, age)


@contextmanager
def peeking(
    path: Path, vaults: Sequence[Vault], granted: Mapping[str, Collection[str]]
) -> Iterator[SqliteIndex]:
    """The index at `path` for a short read. No file is created beside it.

    An index that is not divided by `granted` yet shows a limited agent no vault.
    """
    with closing(peek(path)) as connection:
        limited = any(vault.reader for vault in vaults)
        divided = compartments.grants(connection) == compartments.folded(granted)
        yield SqliteIndex(connection, vaults if divided or not limited else ())
