"""Why a memory is known: its origin, its evidence, and its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import UNSET, Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.catalog import LedgerName, body_of, ledger_name
from djinn_memory.memories.writing.provenance import evidence_of, text_digest
from djinn_memory.models import Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.fact_note import timeline
from djinn_memory.notes.note import Note, parse
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedLink, IndexedMemory
from djinn_memory.store.ledger import reading
from djinn_memory.store.state import State

LONGEST = 500
"""Maximum characters of the text of a piece of evidence."""

SHORT = 60
"""Maximum characters of a value in the history."""

_EVENTS = {
    "memory.opened": "opened",
    "memory.rated": "rated",
    "contradiction.settled": "contradiction settled",
}
"""The events of the ledger that belong to a memory, and their names."""


class EvidenceItem(Struct, frozen=True):
    """A memory from which another was derived."""

    link: str
    """The link as written."""
    exists: bool
    """Whether the memory still exists in a vault that the agent sees."""
    title: str | None = None
    """Its title; null if it does not exist. The same holds for the fields below."""
    place: str | None = None
    """Its name: `vault:path`, and the block of a section."""
    date: str | None = None
    """The day or time of which it tells."""
    text: str | None = None
    """The beginning of its text."""


class MemoryEvent(Struct, frozen=True):
    """Something that happened to a memory."""

    at: str
    """The day or time, as ISO 8601."""
    what: str
    """The kind of event, such as `created` or `verified`."""
    source: str
    """Where this is recorded: in the `note` or in the `ledger`."""


class MemoryOrigin(Struct, frozen=True):
    """The origin of a memory. Fields are null or empty if neither note nor ledger tells them."""

    rule: str | None
    """The rule that derived it, such as `extract.preference`."""
    author: str | None
    """The person or the agent for whom it was derived."""
    client: str | None
    """The program of that agent, such as `claude`."""
    session: str | None
    """The session of the evidence."""
    source: str | None
    """The source in the note."""
    source_context: tuple[str, ...]
    """Details about the source."""
    evidence: tuple[EvidenceItem, ...]
    """The memories that it was derived from; of a fact also those of earlier values."""
    history: tuple[MemoryEvent, ...]
    """The events of its history, the oldest first."""


def origin_of(
    state: State, index: Index, memory: IndexedMemory, vaults: Mapping[str, Vault], agent: str
) -> MemoryOrigin:
    """The origin of a memory, as far as an agent may see it."""
    vault = vaults[memory.vault]
    note = parse(memory.path, disk.read(vault, memory.path), vault.dialect)
    fields = () if _was_rewritten(note) else memory.fields
    named = dict(reversed(fields))
    links = list(evidence_of(fields))
    if _is_fact(memory):
        links += [link for past in timeline(note).history for link in past.evidence]
    events = [*_in_note(memory, note), *_in_ledger(state, ledger_name(memory, vault), agent)]
    return MemoryOrigin(
        named.get("rule"),
        named.get("author"),
        named.get("client"),
        named.get("session"),
        memory.field("source"),
        tuple(text for key, text in memory.fields if key == "source_context"),
        tuple(_evidence(index, memory, list(dict.fromkeys(links)), vaults)),
        tuple(sorted(events, key=lambda event: event.at)),
    )


def _evidence(
    index: Index, memory: IndexedMemory, links: Sequence[str], vaults: Mapping[str, Vault]
) -> Iterator[EvidenceItem]:
    targets = {
        _written(link): link.target
        for link in index.links([memory.memory_id])
        if link.source == memory.memory_id and link.target is not None
    }
    memories = index.lookup([target for target in targets.values() if target is not None])
    for link in links:
        name = link.strip("[]").split("|")[0].strip()
        target = memories.get(targets.get(name) or 0)
        text = None
        if target:
            with suppress(OSError, DjinnError):
                text = body_of(vaults[target.vault], target).strip()
        if target is None or text is None:
            yield EvidenceItem(link, False)
        else:
            text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
            yield EvidenceItem(link, True, target.title, target.address, target.date, text)


def _written(link: IndexedLink) -> str:
    """The target of a link with its heading or block, as written."""
    if link.block:
        return f"{link.text}#^{link.block}"
    return f"{link.text}#{link.heading}" if link.heading else link.text


def _in_note(memory: IndexedMemory, note: Note) -> Iterator[MemoryEvent]:
    """The events that the note of a memory tells."""
    if memory.created:
        yield MemoryEvent(memory.created, "created", "note")
    if memory.updated and memory.updated != memory.created and not _is_fact(memory):
        yield MemoryEvent(memory.updated, "changed", "note")
    verified = iso_date(memory.field("last_verified"))
    if verified and verified != memory.created:
        yield MemoryEvent(verified, "verified", "note")
    if promoted := memory.field("promoted_from"):
        at = memory.created or memory.date
        yield MemoryEvent(at, f"promoted from the short-term entry {promoted}", "note")
    for key, what in (("supersedes", "supersedes"), ("superseded_by", "superseded by")):
        if other := memory.field(key):
            when = memory.created if key == "supersedes" else memory.updated
            yield MemoryEvent(when or memory.date, f"{what} {other}", "note")
    if _is_fact(memory):
        values = timeline(note)
        for value in (values.current, *values.history):
            text = " ".join(value.value.split())
            text = text if len(text) <= SHORT else f"{text[:SHORT]} ..."
            at = value.recorded or value.valid_from or memory.date
            since = f", from {value.valid_from}" if value.valid_from not in (None, at) else ""
            yield MemoryEvent(at, f"set to {text!r}{since}", "note")


def _in_ledger(state: State, name: LedgerName, agent: str) -> Iterator[MemoryEvent]:
    """The events that concern a memory in the ledger, without those of other agents."""
    ledger = state.ledger_if_any
    if ledger is None:
        return
    for event in reading.events_of(ledger, list(_EVENTS), (name.memory, name.place)):
        if event.data.get("agent") in (None, agent):
            yield MemoryEvent(event.at or "", _EVENTS[event.kind], "ledger")


def _is_fact(memory: IndexedMemory) -> bool:
    return memory.type == "fact" and memory.block is UNSET


def _was_rewritten(note: Note) -> bool:
    """Whether a note that djinn built was changed by hand, so that its origin no longer holds."""
    built = dict(note.fields).get("built")
    return built is not None and built != text_digest(note.text[note.body :])
