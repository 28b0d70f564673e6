"""The job that turns short-term entries that were used often enough into notes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from socket import gethostname
from textwrap import shorten

import msgspec
from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.home.access import DOMAIN
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.catalog.catalog import file_name
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.working.requests import WorkingValue
from djinn_memory.memories.working.scopes import value_of
from djinn_memory.memories.writing.change_set import ChangeSet, change_set
from djinn_memory.memories.writing.drafts import draft_of
from djinn_memory.memories.writing.duplicates import DuplicateFinder
from djinn_memory.memories.writing.existing import choose_note
from djinn_memory.memories.writing.provenance import Provenance, domain_value
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Filters, Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.markdown import inline
from djinn_memory.notes.note import domains_of, parse
from djinn_memory.notes.slugs import folder, slug, unique
from djinn_memory.runtime import Runtime
from djinn_memory.store.expiring import WorkingEntry, forget
from djinn_memory.store.index.records import Selection
from djinn_memory.store.state import State
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport
from djinn_memory.upkeep.requests import JobAction

MARK = "promoted_from"
"""The field of a note that lists the ids of its entries."""

RULE = "working.promote"
"""The rule of the notes that are made from entries."""

SOURCE = "short-term memory"

CLAIM_SECONDS = 86_400
"""Seconds after which another home takes over an entry whose own run was interrupted."""

LONGEST_TITLE = 80
"""Maximum characters of a title that is taken from a text."""

_TYPES = {"reflection": "reflection", "conversation": "interaction"}
"""The type of the note for each type of entry. Others become observations."""


def _earned(state: State, agents: Sequence[str]) -> list[WorkingEntry]:
    """The entries of these agents that are due to become notes, oldest first."""
    entries = [entry for agent in agents for entry in state.working.entries(agent)[0]]
    return sorted((entry for entry in entries if entry.earned), key=lambda entry: entry.created)


def _promote(runtime: Runtime, agents: Sequence[str]) -> JobReport:
    """Turn earned entries into notes in the personal vaults of these agents.

    A note contains the id of its entry and is written before the entry is removed. After an
    interruption the next run finds the notes that were written. An entry that cannot be written
    is kept, and a problem is reported.
    """
    actions: list[JobAction] = []
    problems: list[Problem] = []
    state = runtime.state
    with lock(state.home.state / "promote.lock", timeout=30):
        entries = _earned(state, agents)
        vaults = {entry.agent: state.home.personal(entry.agent) for entry in entries}
        read(state, list(vaults.values()))
        for entry in entries:
            try:
                if not _claimed(state, entry):
                    continue
                action = _note_of(runtime, vaults[entry.agent], entry)
                state.working.change(entry.slot, forget(entry))
            except (DjinnError, OSError) as error:
                why = getattr(error, "strerror", None) or str(error)
                problems.append(Problem(f"{entry.agent}: {entry.key}", f"was not promoted: {why}"))
            else:
                actions.append(action)
    return JobReport(tuple(actions), tuple(problems))


def _claimed(state: State, entry: WorkingEntry) -> bool:
    """Whether this home, among all that share the store, should turn the entry into a note."""
    me = f"{gethostname()} {state.home.state}"

    def claim(current: WorkingEntry | None, now: float) -> WorkingEntry | None:
        if current is None or current.id != entry.id:
            return current
        age = now - (current.claimed or 0)
        if current.claim not in (None, me) and age < CLAIM_SECONDS:
            return current
        return replace(current, claim=me, claimed=now)

    after = state.working.change(entry.slot, claim)[1]
    return after is not None and (after.id, after.claim) == (entry.id, me)


def _note_of(runtime: Runtime, vault: Vault, entry: WorkingEntry) -> JobAction:
    """Turn an entry into a note, or add it to the note of another entry with the same text."""
    value = value_of(entry)
    filters = Filters(vaults=(vault.name,), where=((MARK, entry.id),))
    if paths := _paths(runtime, vault, Selection(filters)):
        return _action(entry, vault, paths[0])
    note = _note(value, entry)
    draft = draft_of(note, runtime.now(), runtime.home.config.secrets)
    scope = runtime.home.scope(entry.agent)
    duplicate = DuplicateFinder(runtime, draft, scope, meaning=True).find()
    if duplicate:
        path = duplicate.memory.path
        place = Selection(places=((vault.name, path),), whole_files=True)
        if duplicate.memory.vault == vault.name and _paths(runtime, vault, place):
            _join(runtime, vault, path, value, entry)
            became = "says the same as this note, which now covers both"
            return _action(entry, vault, path, became)
        # Nobody asked for a change of a note that a person, or another verb, has written.
        note = replace(note, links=(duplicate.memory.title,))
    return _action(entry, vault, _create(runtime, vault, note, entry))


def _create(runtime: Runtime, vault: Vault, note: NewMemory, entry: WorkingEntry) -> str:
    """Write a new note as a change that `djinn undo` takes back. Returns its path."""
    draft = draft_of(note, runtime.now(), runtime.home.config.secrets)
    draft = choose_note(runtime.state, vault, draft, note, old=None, duplicate=None)[1]
    if domain := domain_to_write(runtime, vault, entry.agent, None):
        draft = replace(draft, fields={DOMAIN: domain, **draft.fields})
    place, root = folder(draft.type), vault.root
    free = unique(
        file_name(vault, slug(draft.title)),
        lambda name: os.path.lexists(root / place / f"{name}.md"),
    )
    path = f"{place}/{free}.md"
    with _change(runtime, entry) as changes:
        changes.create(vault, path, draft.compose(runtime.now())[1].encode("utf-8", "replace"))
    return path


def _change(runtime: Runtime, entry: WorkingEntry) -> AbstractContextManager[ChangeSet]:
    what = f"Promoted the short-term entry {entry.key} of {entry.agent}"
    return change_set(runtime, "maintain --only promote", what, entry.agent)


def _paths(runtime: Runtime, vault: Vault, selection: Selection) -> list[str]:
    """The paths of the notes in a selection that were made from entries."""
    with runtime.index([vault]) as index:
        memories = index.memories(selection, order="title", fields=(MARK,))
        return sorted(memory.path for memory in memories if memory.field(MARK))


def _note(value: WorkingValue, entry: WorkingEntry) -> NewMemory:
    origin = Provenance(RULE, author=entry.agent, session=value.session)
    return NewMemory(
        type=_TYPES.get(value.type or "", "observation"),
        title=_title(value),
        text=_text(value.value),
        source=SOURCE,
        fields={"source_context": _origin(value), MARK: [entry.id], **origin.fields()},
        existing="new",
        force=True,
        agent=entry.agent,
    )


def _title(value: WorkingValue) -> str:
    """The beginning of a text, else the key. Entries with the same text get the same title."""
    first = value.value.strip().split("\n")[0] if isinstance(value.value, str) else ""
    titles = (shorten(first, LONGEST_TITLE, placeholder="..."), value.key)
    return next(filter(inline, titles), f"Short-term entry of {value.created}")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(turn, str) for turn in value):
        return "\n".join(f"> {line}" for turn in value for line in [*turn.splitlines(), ""])
    shown = msgspec.json.format(msgspec.json.encode(value)).decode()
    return f"```json\n{shown}\n```"


def _origin(value: WorkingValue) -> str:
    where = f"task {value.task}" if value.task else f"session {value.session}"
    if value.given_by:
        where = f"shared by {value.given_by}"
    return f"{where}, key {value.key}, used {count(value.uses, 'time')}"


def _join(
    runtime: Runtime, vault: Vault, path: str, value: WorkingValue, entry: WorkingEntry
) -> None:
    """Add an entry to a note. Both texts and their sources are kept."""
    before = disk.read(vault, path)
    domain = domain_to_write(runtime, vault, entry.agent, None)
    text, addition = decode(before)[0], _text(value.value).strip()
    fields = frontmatter.read(text).fields
    after = before if addition in text else frontmatter.append_text(before, addition)
    for key, more in (("source_context", _origin(value)), (MARK, entry.id)):
        after = frontmatter.edit(after, (key,), [*_as_list(fields.get(key)), more])
    if domain:
        # The text that is there already stays as hidden as it was.
        domains = domains_of(parse(path, before, vault.dialect))
        after = frontmatter.edit_fields(after, {DOMAIN: domain_value([*domains, domain])})
    with _change(runtime, entry) as changes:
        changes.rewrite(vault, path, before, after)


def _as_list(value: object) -> Sequence[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _run(context: JobContext) -> JobReport:
    entries = _earned(context.runtime.state, context.agents)
    if context.dry_run:
        planned = (f"{entry.agent}: {entry.key} becomes a note" for entry in entries)
        return JobReport(tuple(JobAction("promote", what) for what in planned))
    return _promote(context.runtime, context.agents) if entries else JobReport()


def _action(
    entry: WorkingEntry, vault: Vault, path: str, became: str = "became a note"
) -> JobAction:
    return JobAction("promote", f"{entry.agent}: {entry.key} {became}", vault.name, path)


JOB = Job(
    "promote",
    every=timedelta(days=1),
    at="04:00",
    does="Turns short-term entries of `djinn session working` that were used at least three times "
    "into notes.",
    cost="Reads working memory. Embeds a text and writes a note for each entry to promote.",
    run=_run,
)
