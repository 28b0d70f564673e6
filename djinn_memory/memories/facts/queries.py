"""Reads facts: from their notes, and which of them are near a question in meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.facts.note_format import PastValue, history_of, value_of
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.dates import iso_date, over
from djinn_memory.notes.note import parse
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.vault import files as disk
from djinn_memory.scoring import share_of
from djinn_memory.search.legs.meaning import QuestionVector
from djinn_memory.search.query import parse as asked
from djinn_memory.store.index import memories, vectors
from djinn_memory.store.sqlite import rows
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry

NEIGHBOURS = 50
"""Nearest windows of each vault."""


class Fact(Struct, frozen=True):
    """What is known under a category and a key."""

    id: str | None
    """`mem_` and 16 characters; null for a note that has none."""
    category: str
    """What it is about, such as a person's name."""
    key: str
    """Which fact of the category."""
    value: str
    """What is known, exactly as it was set."""
    source: str | None
    """Where it comes from: `user_explicit`, `tool_call`, `conversation` or another."""
    source_context: str | None
    """What was said about that."""
    confidence: float | None
    """How sure it is, from 0 to 1."""
    expires: str | None
    """The day or time until which it holds."""
    expired: bool
    """Whether that is past: then no answer has it."""
    status: str | None
    """`expired` once that was noticed; else what the note says."""
    last_verified: str | None
    """When it was said last that it holds."""
    created: str | None
    """When it was set first."""
    updated: str | None
    """When it got the value that it has."""
    vault: str
    """The name of the vault it is in."""
    path: str
    """Its note, relative to the folder of the vault."""
    history: tuple[PastValue, ...] = ()
    """The values before, the newest first."""


class IndexedFact(Struct, frozen=True):
    """A fact as the index knows it, without its value."""

    vault: Vault
    path: str
    category: str
    key: str
    updated: str
    confidence: float
    expired: bool
    status: str | None

    @property
    def place(self) -> tuple[str, str]:
        """Vault and path."""
        return self.vault.name, self.path


def known(state: State, vaults: Sequence[Vault], now: datetime) -> list[IndexedFact]:
    """The facts in these vaults, by category and key; not those that another took the place of."""
    numbered = memories.vault_ids(state.index, vaults)
    within = "note.vault_id in (select value from json_each(?)) and type = 'fact'"
    wanted = (json.dumps(list(numbered)),)
    fields: dict[int, dict[str, str]] = {}
    for memory, key, value in rows(
        state.index,
        "select memory_id, key, value from field join memory on memory.id = memory_id "
        f"join note on note.id = note_id where {within} and key in "
        "('category', 'key', 'confidence', 'expires', 'status')",
        wanted,
    ):
        fields.setdefault(memory, {}).setdefault(key, value)
    found = []
    for memory, vault, path, title, updated in rows(
        state.index,
        "select memory.id, vault_id, path, title, updated from memory "
        f"join note on note.id = note_id where {within}",
        wanted,
    ):
        said = fields.get(memory, {})
        if fold(said.get("status", "")) == "superseded":
            continue
        category, key = _named(said, title)
        late = over(said.get("expires"), now)
        sure = share_of(said.get("confidence", "")) or 0.0
        status = said.get("status")
        found.append(
            IndexedFact(numbered[vault], path, category, key, updated or "", sure, late, status)
        )
    return sorted(found, key=lambda one: (fold(one.category), fold(one.key), one.place))


def texts(state: State) -> dict[tuple[str, str], str]:
    """By UUID of the vault and path: what the index has of the text of each fact."""
    return {
        (vault, path): text
        for vault, path, text in rows(
            state.index,
            "select uuid, path, group_concat(text, char(10)) from chunk "
            "join memory on memory.id = memory_id join note on note.id = note_id "
            "join vault on vault.id = vault_id where type = 'fact' group by memory.id",
        )
    }


def read(vault: Vault, path: str, now: datetime) -> Fact:
    """The fact that a note is; by its title where it does not say category and key."""
    note = parse(path, disk.read(vault, path), vault.dialect)
    fields: dict[str, str] = dict(reversed(note.fields))
    category, key = _named(fields, note.title)
    body = note.text[note.body :]
    return Fact(
        id=note.id,
        category=category,
        key=key,
        value=value_of(body),
        source=fields.get("source"),
        source_context=fields.get("source_context"),
        confidence=share_of(fields.get("confidence", "")),
        expires=iso_date(fields.get("expires")),
        expired=over(fields.get("expires"), now),
        status=fields.get("status"),
        last_verified=fields.get("last_verified"),
        created=note.created,
        updated=note.updated,
        vault=vault.name,
        path=path,
        history=tuple(history_of(body)),
    )


def by_meaning(
    state: State,
    models: ModelRegistry,
    query: str,
    vaults: Sequence[Vault],
    problems: list[Problem],
) -> list[tuple[tuple[str, str], float]]:
    """Vault and path of the facts near a question, with their cosines, the nearest first.

    The cosines are on the scale of the packaged model; `thresholds.fact` says what is near. What
    keeps the model from answering is added to `problems`. Filters alone have no meaning.
    """
    question = asked(query)
    if not question.asks:
        return []
    space = vectors.serving(state.index)
    try:
        recipe = (space.recipe, space.identity) if space else (None, None)
        embedder = models.answering(*recipe)
    except DjinnError as error:
        problems.append(Problem("embedding", f"{error}; only words were searched"))
        return []
    if embedder is None:
        return []
    meaning = QuestionVector(embedder, space, question, empty=space is None)
    vector = meaning.vector(problems)
    if vector is None or space is None:
        return []
    import numpy as np

    numbered = memories.vault_ids(state.index, vaults)
    near = [
        window
        for vault in numbered
        for window in vectors.nearest(
            state.index, space, vector.tobytes(), vault, NEIGHBOURS,
            restrict=("memory.type = 'fact' and ordinal = 0", ()),
        )
    ]  # fmt: skip
    held = vectors.of_windows(state.index, space, near)
    settings = state.home.config.thresholds
    least = settings.models.get(space.identity, settings).fact
    best: dict[tuple[str, str], float] = {}
    for window, vault, path in rows(
        state.index,
        "select window.id, vault_id, path from window join chunk on chunk.id = chunk_id "
        "join memory on memory.id = memory_id join note on note.id = note_id "
        "where window.id in (select value from json_each(?))",
        (json.dumps(list(held)),),
    ):
        cosine = float(np.frombuffer(held[window], "<f4") @ np.asarray(vector, "<f4"))
        score = round(space.calibration.scale * cosine + space.calibration.shift, 4)
        place = (numbered[vault].name, path)
        if score >= least:
            best[place] = max(score, best.get(place, score))
    return sorted(best.items(), key=lambda one: (-one[1], one[0]))


def _named(fields: Mapping[str, str], title: str) -> tuple[str, str]:
    """Category and key as the front matter has them, else as the title."""
    before, slash, after = title.partition("/")
    category = fields.get("category") or (before if slash else "")
    return category, fields.get("key") or (after if slash else title)
