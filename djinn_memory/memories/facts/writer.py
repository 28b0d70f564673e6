"""Writes the notes of facts, and no byte of them that it need not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from djinn_memory.errors import DjinnError
from djinn_memory.home.home import is_own
from djinn_memory.memories.facts.note_format import PastValue, value_of, with_value, written
from djinn_memory.memories.facts.queries import Fact, IndexedFact, known, read
from djinn_memory.memories.writing.vault_writer import Draft, VaultWriter, writing
from djinn_memory.models import Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.note import parse
from djinn_memory.notes.vault import files as disk
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry

FACT = "fact"
SURE = {
    "tool_call": 0.95,
    "auto_discovery": 0.95,
    "user_explicit": 0.90,
    "conversation": 0.70,
    "web": 0.50,
    "guess": 0.30,
}
"""How sure a fact is by where it comes from, where nobody says."""

UNSURE = 0.70
"""The same for sources that are not listed."""

SAID = "user_explicit"
"""Where a fact comes from if nobody says."""

Action = Literal["created", "changed", "verified"]
Given: TypeAlias = Mapping[str, object]
"""What is said of a fact beside its value: source, source_context, confidence, expires."""


def create(pen: VaultWriter, category: str, key: str, value: str, given: Given) -> str:
    fields = {"category": category, "key": key, **_sourced(given), "last_verified": moment(pen.now)}
    return pen.create(Draft(FACT, f"{category}/{key}", written(value), fields))[1]


def change(pen: VaultWriter, path: str, value: str, given: Given) -> tuple[Action, str, str | None]:
    """Give a fact another value, or note that it has that one."""
    data = disk.read(pen.vault, path)
    note = parse(path, data, pen.vault.dialect)
    fact = read(pen.vault, path, pen.now)
    if value_of(note.text[note.body :]) == value:
        said = {name: one for name, one in _stronger(given, fact).items() if one is not None}
        revive = fact.expired
        pen.rewrite(path, lambda data: verified(data, pen.now, said, revive=revive))
        return "verified", path, None
    fields = {
        **_sourced(given),
        "last_verified": moment(pen.now),
        "updated": moment(pen.now),
        "status": None if fact.status == "expired" else fact.status,
    }
    past = PastValue(moment(pen.now), fact.source, fact.confidence, fact.value)

    pen.rewrite(path, lambda data: _with(with_value(data, value, past), fields))
    return "changed", path, fact.value


def _sourced(given: Given) -> Given:
    """`given` with a source, and with how sure it is by that where nobody says."""
    source, sure = str(given["source"] or SAID), given["confidence"]
    sure = SURE.get(source, UNSURE) if sure is None else sure
    return {**given, "source": source, "confidence": sure}


def _stronger(given: Given, fact: Fact) -> Given:
    """What counts of `given` where it says what `fact` does: a weaker source takes nothing away."""
    if given["source"] is None:
        return given
    by_source = SURE.get(str(given["source"]), UNSURE)
    weaker = given["confidence"] is None and by_source < (fact.confidence or 0)
    return {"expires": given["expires"]} if weaker else _sourced(given)


def verified(data: bytes, now: datetime, said: Given, *, revive: bool) -> bytes:
    if revive:
        # Who says it again says that it holds on.
        data = _with(data, {"expires": None, "status": None})
    return _with(data, {**said, "last_verified": moment(now)})


def expired(state: State, vaults: Sequence[Vault], now: datetime) -> list[IndexedFact]:
    """The facts that have expired and do not say so, in vaults that djinn writes to."""
    found = known(state, [one for one in vaults if is_own(one) and not one.read_only], now)
    return [one for one in found if one.expired and one.status != "expired"]


def mark(state: State, models: ModelRegistry, late: Sequence[IndexedFact]) -> list[IndexedFact]:
    """Let facts say that they have expired; returns those that could be written."""
    done: list[IndexedFact] = []
    for vault in dict.fromkeys(one.vault for one in late):
        with suppress(DjinnError, OSError), writing(state, models, vault) as pen:
            for one in late:
                if one.vault == vault:
                    pen.rewrite(one.path, lambda data: _with(data, {"status": "expired"}))
                    done.append(one)
    return done


def _with(data: bytes, fields: Given) -> bytes:
    for key, value in fields.items():
        if value is None:
            data = frontmatter.remove(data, (key,))
        else:
            data = frontmatter.edit(data, (key,), value)
    return data
