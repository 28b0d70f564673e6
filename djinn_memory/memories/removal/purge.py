"""Removes a memory permanently: its note, all copies, and all traces in the databases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, Refused, Unavailable
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.indexing.indexer import cut, resolve_links, update
from djinn_memory.memories.catalog.requests import PurgeMemory
from djinn_memory.memories.changes.commit import recover
from djinn_memory.memories.changes.plan import PLANNED, KeptBytes, RecordedChange
from djinn_memory.memories.facts.queries import FACT
from djinn_memory.memories.facts.requests import CONFIDENCES
from djinn_memory.memories.hooks.payloads import NAMES
from djinn_memory.memories.hooks.spool import Spool
from djinn_memory.memories.memory_files import MemoryFiles, find_files, notes_of
from djinn_memory.models import Problem, Vault
from djinn_memory.notes import journal
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.fact_note import history_of, value_of
from djinn_memory.notes.note import Note, domains_of
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.expiring import forget
from djinn_memory.store.index import memories, words
from djinn_memory.store.ledger import EPISODE_PURGED, Event, Ledger
from djinn_memory.store.ledger.reading import events_by_kind, events_of
from djinn_memory.store.ledger.redaction import CONTAINED, phrases, redacted
from djinn_memory.store.ledger.sync_state import mark_purged
from djinn_memory.store.sqlite import erase, transaction
from djinn_memory.store.state import State
from djinn_memory.system.locks import lock

SENTENCE = 20
"""Minimum length at which text inside a value identifies the memory. Shorter text, such as a title,
may be an ordinary word, and the value, which is removed completely, may belong to another agent."""


_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)


class PurgeReport(Struct, frozen=True):
    """The result of a purge, or of its dry run."""

    id: str | None
    """`mem_` and 16 characters; null for a note without an id."""
    title: str
    """The title of the memory."""
    vault: str
    """The name of its vault."""
    files: tuple[str, ...]
    """Its note, earlier versions, originals and copies in the trash, relative to the vault. For a
    section of a journal, its file with `#^` and the block id: the other sections stay."""
    vectors: int = 0
    """The number of its texts whose vectors were removed from the cache."""
    events: int = 0
    """The number of the agent's events that quoted its title or text."""
    values: int = 0
    """The number of values in the agent's working memory that quoted its title or text."""
    problems: list[Problem] = field(default_factory=list)
    """Problems that may leave a part of it behind."""
    purged: bool = False
    """Whether it was removed; false for a dry run."""


def purge(
    state: State, vaults: Sequence[Vault], request: PurgeMemory, *, elsewhere: bool = False
) -> PurgeReport:
    """Remove the memory that a name means in `vaults`, even if it is already in the trash.

    `elsewhere` tells that another home purged it, whose event says so already.
    """
    memory = find_files(state, request.name, vaults)
    report = PurgeReport(memory.id, memory.title, memory.vault.name, memory.shown)
    if request.dry_run:
        return report
    if request.files is not None and tuple(request.files) != memory.shown:
        raise Refused(f"the files of {request.name!r} have changed; check them, then purge again")
    if memory.vault.read_only:
        raise Refused(f"vault {memory.vault.name} is read-only; remove its files yourself")
    notes = list(notes_of(memory))
    state.need_writable()
    texts = [text for _, note in notes for text in _texts(note)]
    domains = {domain for _, note in notes for domain in domains_of(note)}
    excluded = access.excluded(access.grants_of(state.home.grants), domains)
    may_quote = _may_quote(state.home, memory.vault, excluded)
    hashes = {key for _, note in notes for key in _hashes(note, memory.vault)}
    # The files last: while they are there all of it can be done again.
    ledger = state.ledger_if_any
    agent = state.home.agent(request.agent)
    recover(state)
    paths = memory.paths if memory.block else _former_paths(ledger, memory.paths)
    _erase_kept(state, memory.vault, paths, texts, memory.id)
    named = [*texts, *(() if memory.block else paths)]
    events = ledger.redact(named, agent, may_quote) if ledger else 0
    values = _forget_values(state, texts, agent, memory.vault, excluded)
    _redact_events(state, phrases(texts), may_quote)
    if ledger and not memory.block:
        # The next synchronization removes it from the server and from other homes.
        mark_purged(ledger, memory.vault.id, memory.files, {*_digests(memory)})
    if memory.block and memory.id and not elsewhere:
        # Another import of the conversation must not bring it back.
        data = {"agent": agent, "vault": memory.vault.id, **_origin(notes)}
        state.ledger.append([Event(EPISODE_PURGED, memory.id, data)])
    with state.lock():
        # After any failure, either all of it can be repeated or only the index lags the files.
        with transaction(state.index):
            memories.forget(state.index, memory.vault, memory.files, memory.block)
            words.compact(state.index)
            # Vectors that hidden notes share stay too, and are counted as if they went.
            vectors = len(hashes - memories.window_hashes(state.index, vaults))
            if state.home.embeddings_path.exists():
                state.cache.remove(hashes - memories.window_hashes(state.index))
            with state.vault_lock(memory.vault):
                _remove(memory)
        if memory.block:
            update(state, [memory.vault], only=memory.files[-1:])
        resolve_links(state)
    # Here a memory cannot be purged again. The log goes when the last process closes the index.
    remedy = "run the command again" if elsewhere else "run `djinn index`"
    problems = list(_erase(state, remedy))
    return replace(
        report, vectors=vectors, events=events, values=values, problems=problems, purged=True
    )


def _former_paths(ledger: Ledger | None, paths: Collection[str]) -> Collection[str]:
    """Paths of files, and those that they had before they were renamed or moved."""
    former = dict.fromkeys(paths)
    for event in reversed(events_by_kind(ledger, (PLANNED,)) if ledger else ()):
        record = RecordedChange.of(event)
        # A change with a sentence of its own is about several notes.
        files = record.plan.files if record and not record.plan.what else ()
        if any(file.path in former and file.before is None for file in files):
            former |= dict.fromkeys(file.path for file in files if file.after is None)
    return former


def _origin(notes: Sequence[tuple[str, Note]]) -> dict[str, str]:
    """When and in which client's session an episode was said. A transcript may have it too."""
    for _, note in notes:
        fields = dict(note.fields)
        named = {"client": fields.get("client"), "session": fields.get("session")}
        named["said"] = fields.get("created")
        if named["client"]:
            return {key: value for key, value in named.items() if value}
    return {}


def _digests(memory: MemoryFiles) -> Iterator[bytes]:
    """The hashes of the files."""
    for path in memory.files:
        with suppress(OSError, DjinnError):
            yield content_hash(disk.read(memory.vault, path))


def _remove(memory: MemoryFiles) -> None:
    for path in memory.files:
        if memory.block:
            # By exchange, in its journal and in copies of that in the trash.
            disk.edit(memory.vault, path, partial(_without, memory, path))
        else:
            disk.entry(memory.vault, path).unlink(missing_ok=True)


def _without(memory: MemoryFiles, path: str, data: bytes) -> bytes:
    if journal.appendable(path, data) is None:
        raise Refused(
            f"{memory.vault.name}/{path} was changed by another program; remove the section there"
        )
    return journal.without(path, (memory.block or "",), data)


def _may_quote(
    home: Home, vault: Vault, excluded: Collection[str]
) -> Callable[[Mapping[str, object]], bool]:
    """A test that decides from an event's data whether it may quote a memory of a vault.

    Only agents who could read the memory can quote it, which the `excluded` agents could not.
    Identical words of other agents are kept, so that they cannot learn what was purged.
    """
    vaults = {other.id for other in home.vaults if access.same_readers(other, vault)}

    def may_quote(data: Mapping[str, object]) -> bool:
        agent, place = data.get("agent", vault.agent), data.get("vault", vault.id)
        if agent in excluded:
            return False
        return access.is_open(vault) or (agent == vault.agent and place in vaults)

    return may_quote


def _forget_values(
    state: State, texts: Sequence[str], own: str, vault: Vault, excluded: Collection[str]
) -> int:
    """Remove values with these texts from working memory. Returns the number from `own`.

    Only readers of the memory, and agents with whom they shared values, can have such values.
    """
    readers = {
        agent
        for agent in state.home.config.agents
        if agent not in excluded and access.may_read(vault, agent)
    }
    if not (state.home.config.working_memory or state.home.working_path.exists()):
        return 0
    wanted, counts = phrases(texts), Counter[str]()
    for agent in state.home.config.agents:
        for entry in state.working.entries(agent)[0]:
            whole = {entry.key: msgspec.json.decode(entry.value)}
            source = entry.name if entry.space == "from" else agent
            if not readers & {agent, source}:
                continue
            if redacted(whole, wanted, frozenset(), contained=SENTENCE) != whole:
                state.working.change(entry.slot, forget(entry))
                counts[agent] += 1
    if counts:
        state.working.erase()
    return counts[own]


def _erase(state: State, remedy: str) -> Iterator[Problem]:
    """Remove deleted content from the bytes of the index, and delete copies that were set aside."""
    try:
        erase(state.index, remedy)
    except Unavailable as error:
        yield Problem(str(state.home.index_path), str(error))
    for path in sorted(state.home.state.glob("*.db.corrupt-*")):
        if path.name.startswith(state.home.ledger_path.name):
            yield Problem(
                str(path), "was set aside and may still contain the memory; delete it if you can"
            )
        else:
            # An index or a cache: all that it holds can be made anew.
            path.unlink(missing_ok=True)
    state.home.graph_page_path.unlink(missing_ok=True)


def _texts(note: Note) -> Iterator[str]:
    """The texts of a note to search for elsewhere, including a fact's values by themselves."""
    text = note.text[note.body :]
    # The words of an episode are quoted in its journal, and nowhere else.
    yield from (note.title, text, _QUOTE_MARK.sub("", text))
    fields = dict(note.fields)
    yield fields.get("source_context", "")
    if (source := fields.get("source", "")) not in CONFIDENCES:
        yield source
    if note.type == FACT:
        yield value_of(text)
        yield from (past.value for past in history_of(text))


def _hashes(note: Note, vault: Vault) -> Iterator[bytes]:
    """The hashes under which the vectors of a note's texts are cached."""
    for _, windows in cut(note, outline=RULES[vault.dialect].outline):
        yield from (window.hash for window in windows if window.hash)


def _redact_events(
    state: State, phrases: Sequence[str], may_quote: Callable[[Mapping[str, object]], bool]
) -> None:
    """Remove phrases from the events that wait, and from those that could not be taken in.

    `may_quote` decides from the agent of a waiting event whether it may quote the phrases. Raises
    `Unavailable` when the events cannot be changed.
    """

    def of_agent(entry: Any) -> Any:
        named = entry.get("agent") if isinstance(entry, dict) else None
        own = may_quote({"agent": named or state.home.agent(None)})
        return _redacted(entry, phrases) if own else entry

    spool = Spool(str(state.home.state))
    try:
        if Path(spool.folder).exists():
            # A command that takes events in has them in memory, and would write them back.
            with lock(Path(spool.intake_lock)):
                spool.edit(of_agent)
                spool.edit_rejected(lambda entry: _redacted(entry, phrases))
    except OSError as error:
        raise Unavailable(f"events of hooks cannot be changed: {error}; purge it again") from None


def _redacted(entry: Any, phrases: Sequence[str]) -> Any:
    if not isinstance(entry, dict):
        return redacted(entry, phrases, frozenset())
    return {
        key: value if key in NAMES else redacted(value, phrases, frozenset())
        for key, value in entry.items()
    }


def _erase_kept(
    state: State, vault: Vault, paths: Collection[str], texts: Sequence[str], memory: str | None
) -> None:
    """Remove the kept bytes of changes that hold a purged memory.

    These are changes of its files, and of files that hold its id, its text or a long line of it.
    Only vaults with the readers of `vault` count, unless every agent may read that vault, so that
    nobody learns what was purged. The changes can no longer be taken back.
    """
    kept = KeptBytes(state.home)
    ids = kept.ids()
    if not ids:
        return
    related = {
        other.id
        for other in state.home.vaults
        if access.is_open(vault) or access.same_readers(other, vault)
    }
    wanted = [phrase.encode() for phrase in phrases(texts) if len(phrase) >= CONTAINED]
    wanted += [memory.encode()] if memory else []
    ledger = state.ledger_if_any
    events = events_of(ledger, (PLANNED,), ids) if ledger else ()
    records = {event.subject: RecordedChange.of(event) for event in events}
    for identity in ids:
        # Without its record, as after the loss of a ledger, nothing can be taken back.
        record = records.get(identity)
        files = enumerate(record.plan.files if record else ())
        if record is None or any(
            (file.vault == vault.id and file.path in paths and not file.sections)
            or (file.vault in related and _holds(kept.read(identity, number), wanted))
            for number, file in files
        ):
            kept.drop(identity)


def _holds(data: bytes | None, wanted: Sequence[bytes]) -> bool:
    # Line endings differ between the parsed text and the file, lines do not.
    return data is not None and any(phrase in data for phrase in wanted)
