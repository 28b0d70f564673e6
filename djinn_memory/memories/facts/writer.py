"""Writes the notes of facts, and leaves all other bytes of the notes unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Literal, TypeAlias

from djinn_memory.errors import DjinnError
from djinn_memory.home.access import is_own
from djinn_memory.memories.facts.note_format import PastValue, with_value, written
from djinn_memory.memories.facts.queries import Fact, IndexedFact, indexed_facts, read_fact
from djinn_memory.memories.facts.requests import CONFIDENCES, DEFAULT_SOURCE
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.vault_writer import VaultWriter, writing
from djinn_memory.models import Vault
from djinn_memory.notes.dates import moment
from djinn_memory.notes.frontmatter import edit_fields
from djinn_memory.runtime import Runtime

FACT = "fact"

DEFAULT_CONFIDENCE = 0.70
"""The confidence of a fact from a source that is not in `CONFIDENCES`."""

Action = Literal["created", "changed", "verified"]
Fields: TypeAlias = Mapping[str, object]
"""Front matter of a fact. As arguments: source, source_context, confidence and expires."""


def draft_of_fact(category: str, key: str, value: str, given: Fields, now: datetime) -> Draft:
    """The draft of a new fact."""
    fields = {
        "category": category,
        "key": key,
        **_with_source(given),
        "last_verified": moment(now),
    }
    return Draft(FACT, f"{category}/{key}", written(value), fields)


def change(writer: VaultWriter, path: str, value: str, given: Fields) -> tuple[Action, str | None]:
    """Give a fact a new value, or confirm the current one. Returns the previous value."""
    fact = read_fact(writer.vault, path, writer.now)
    now = moment(writer.now)
    if fact.value == value:
        stronger = {key: new for key, new in _stronger(given, fact).items() if new is not None}
        writer.rewrite(path, lambda data: verified(data, writer.now, stronger, revive=fact.expired))
        return "verified", None
    fields = {
        **_with_source(given),
        "last_verified": now,
        "updated": now,
        "status": None if fact.status == "expired" else fact.status,
    }
    past = PastValue(now, fact.source, fact.confidence, fact.value)
    writer.rewrite(path, lambda data: edit_fields(with_value(data, value, past), fields))
    return "changed", fact.value


def _with_source(given: Fields) -> Fields:
    """`given` with a source, and with the default confidence of that source unless one is given."""
    source, confidence = str(given["source"] or DEFAULT_SOURCE), given["confidence"]
    if confidence is None:
        confidence = CONFIDENCES.get(source, DEFAULT_CONFIDENCE)
    return {**given, "source": source, "confidence": confidence}


def _stronger(given: Fields, fact: Fact) -> Fields:
    """The fields to write when a fact is confirmed.

    A less certain source does not replace a better one.
    """
    if given["source"] is None:
        return given
    by_source = CONFIDENCES.get(str(given["source"]), DEFAULT_CONFIDENCE)
    weaker = given["confidence"] is None and by_source < (fact.confidence or 0)
    return {"expires": given["expires"]} if weaker else _with_source(given)


def verified(data: bytes, now: datetime, fields: Fields, *, revive: bool) -> bytes:
    """The bytes of a fact after it was confirmed. With `revive` it is no longer expired."""
    if revive:
        data = edit_fields(data, {"expires": None, "status": None})
    return edit_fields(data, {**fields, "last_verified": moment(now)})


def unmarked_expired(runtime: Runtime, vaults: Sequence[Vault]) -> list[IndexedFact]:
    """The expired facts whose notes are not marked as expired, in vaults that djinn writes to."""
    writable = [vault for vault in vaults if is_own(vault) and not vault.read_only]
    facts = indexed_facts(runtime.state, writable, runtime.now())
    return [fact for fact in facts if fact.expired and fact.status != "expired"]


def mark_expired(runtime: Runtime, facts: Sequence[IndexedFact]) -> list[IndexedFact]:
    """Write `status: expired` into the notes of facts. Returns those that could be written."""
    marked: list[IndexedFact] = []
    for vault in dict.fromkeys(fact.vault for fact in facts):
        with suppress(DjinnError, OSError), writing(runtime, vault) as writer:
            for fact in facts:
                if fact.vault == vault:
                    writer.rewrite(fact.path, lambda data: edit_fields(data, {"status": "expired"}))
                    marked.append(fact)
    return marked
