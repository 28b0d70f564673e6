"""The job that imports into the shared vault the notes that agents mark to be shared.

An agent shares a note of its own vault with `share: true` in the front matter. Only notes of the
semantic plane are shared, such as lessons, decisions and preferences: facts and entities have a
shared form of their own. `djinn undo` takes a copy back.

A copy is made from its original alone, so the same original always gives the same bytes. It follows
edits of the original, and is removed when the mark or the original is. A copy that somebody edited
is left as it is, which is reported once, and one that was removed from the shared vault does not
return until the original is marked anew. The events in the ledger are `learning.shared`,
`learning.kept` and `learning.withdrawn`, with the digest of the copy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.catalog import ledger_name, notes_on_disk
from djinn_memory.memories.changes.files import current
from djinn_memory.memories.changes.plan import digest
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.memories.writing.provenance import LEARNINGS_RULE, Provenance
from djinn_memory.models import Dialect, Filters, Problem, Vault, plane_of
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.ids import derived_id
from djinn_memory.notes.note import domains_of, parse
from djinn_memory.notes.slugs import fold, folder, slug, unique
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import guard
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.sqlite import DamagedDatabase
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent, reason
from djinn_memory.upkeep.requests import JobAction

MARK = "share"
"""The field of a note that its agent shares."""

COMMAND = "maintain --only learnings"

COPIED, KEPT, WITHDRAWN = "learning.shared", "learning.kept", "learning.withdrawn"

_COPIED = (
    "tags", "aliases", "created", "updated", DOMAIN, "importance", "confidence", "status", "due",
    "expires", "valid_from", "valid_to",
)  # fmt: skip
"""Fields of a copy. Others may name the agent's private sessions and notes."""

_MARKED = re.compile(MARK.encode(), re.IGNORECASE)

_OVER = frozenset({"proposed", "superseded", "archived", "expired"})

Step = Literal["share", "update", "keep", "withdraw"]


class _SharingStep(Struct, frozen=True):
    """The step that is due for one learning of an agent."""

    step: Step
    """`keep` leaves an edited copy as it is, and only reports it."""
    copy_id: str
    title: str
    path: str
    """The path of the copy in the shared vault; empty if there is none yet."""
    before: bytes | None
    """The bytes of the copy now."""
    after: bytes | None
    """The bytes that the copy has to have; None if it is to go."""


class _Learning(Struct, frozen=True):
    title: str
    type: str
    data: bytes
    """The bytes of the copy."""


def _sharing_steps(runtime: Runtime, agent: str) -> Iterator[_SharingStep]:
    """The steps that are due for the learnings of an agent, in the order of their titles."""
    if not runtime.home.personal(agent).root.is_dir():
        return  # A vault on a missing disk withdraws nothing.
    marked = _marked(runtime, agent)
    ledger = runtime.state.ledger_if_any
    kinds = (COPIED, KEPT, WITHDRAWN)
    events = reading.agent_events(ledger, kinds, agent) if ledger else []
    last = {event.subject: event for event in events}
    written = {event.subject: event.data.get("copy") for event in events if event.kind == COPIED}
    copies = _copies(runtime, [*marked, *last])
    for key, learning in sorted(marked.items(), key=lambda pair: (pair[1].title, pair[0])):
        path, data = copies.get(key, ("", None))
        event = last.get(key)
        known = data is not None and written.get(key) == digest(data)
        if data == learning.data:
            if not (known and event and event.kind == COPIED):
                # A run was interrupted, and only the event is missing.
                yield _SharingStep("share", key, learning.title, path, data, data)
            continue
        if data is None and event and event.kind != WITHDRAWN:
            continue
        step: Step = "share" if data is None else "update"
        if data is not None and not known:
            if event and event.kind == KEPT and event.data.get("copy") == digest(learning.data):
                continue
            step = "keep"
        yield _SharingStep(step, key, learning.title, path, data, learning.data)
    gone = {key for key in last if key not in marked and last[key].kind != WITHDRAWN}
    if gone:
        # An index that lost a note must not take its copy away from the others.
        gone -= _marked_on_disk(runtime, runtime.home.personal(agent))
    for key in last:
        if key in gone:
            path, data = copies.get(key, ("", None))
            untouched = data is not None and written.get(key) == digest(data)
            step = "withdraw" if untouched or data is None else "keep"
            yield _SharingStep(step, key, PurePosixPath(path).stem or key, path, data, None)


def _carry_out(runtime: Runtime, agent: str, step: _SharingStep) -> str | None:
    """Carry out a step. Returns the path of the copy in the shared vault, if there is one."""
    vault, path = runtime.home.shared, step.path
    what = f"{_DONE[step.step]} the learning {step.title} of {agent}"
    if step.step != "keep" and step.before != step.after:
        if step.after is not None:
            # The agent may keep a secret in its own note, but not share it.
            text = step.after.decode("utf-8", "replace")
            guard(text, what=step.title, settings=runtime.home.config.secrets, option=False)
        with change_set(runtime, COMMAND, what, agent) as changes:
            if step.before is None and step.after is not None:
                path = _free_path(vault, step)
                changes.create(vault, path, step.after)
            elif step.before is not None and step.after is not None:
                changes.rewrite(vault, path, step.before, step.after)
            elif step.before is not None:
                changes.remove(vault, path, step.before)
    kind = WITHDRAWN if step.after is None else KEPT if step.step == "keep" else COPIED
    copy = digest(step.after)
    event = Event(kind, step.copy_id, {"agent": agent, "copy": copy})
    runtime.state.ledger.append([event])
    return path or None


_DONE = {"share": "Shared", "update": "Updated", "keep": "Kept", "withdraw": "Withdrew"}


def _free_path(vault: Vault, step: _SharingStep) -> str:
    fields = frontmatter.read((step.after or b"").decode("utf-8", "replace")).fields
    place = folder(str(fields.get("type", "lesson")))
    root = vault.root / place
    name = unique(slug(step.title), lambda name: os.path.lexists(root / f"{name}.md"))
    return f"{place}/{name}.md"


def _marked(runtime: Runtime, agent: str) -> dict[str, _Learning]:
    """The learnings that an agent shares, by the ids of their copies."""
    vault = runtime.home.personal(agent)
    filters = Filters(vaults=(vault.name,), where=((MARK, "true"),))
    with runtime.index((vault,)) as index:
        selection = Selection(filters, whole_files=True)
        memories = [*index.memories(selection, order="title", fields=("status",))]
    learnings: dict[str, _Learning] = {}
    for memory in memories:
        if _is_learning(memory.type, memory.field("status")):
            key = _copy_id(vault, ledger_name(memory, vault).memory)
            data = _copy_of(disk.read(vault, memory.path), memory, vault.dialect, key, agent)
            learnings[key] = _Learning(memory.title, memory.type or "", data)
    return learnings


def _marked_on_disk(runtime: Runtime, vault: Vault) -> set[str]:
    """The ids of the copies of the learnings that an agent shares, by its files alone.

    Raises `OSError` or `Unavailable` if a file cannot be read.
    """
    keys: set[str] = set()
    for path, note in notes_on_disk(runtime.home, vault, _MARKED):
        fields = dict(note.fields)
        if fold(fields.get(MARK, "")) == "true" and _is_learning(note.type, fields.get("status")):
            names = filter(None, (note.id, f"{vault.id}/{path}"))
            keys.update(_copy_id(vault, name) for name in names)
    return keys


def _copy_id(vault: Vault, name: str) -> str:
    """The id of the copy of a memory with a name in the ledger."""
    return derived_id(f"{LEARNINGS_RULE} {vault.id} {name}")


def _is_learning(kind: str | None, status: str | None) -> bool:
    """Whether a memory may be shared: no episode, no fact or entity, and no note of djinn's own."""
    if kind is None or plane_of(kind) != "semantic" or kind in ("day", "profile", "summary"):
        return False
    return fold(status or "") not in _OVER


def _copy_of(data: bytes, memory: IndexedMemory, dialect: Dialect, key: str, agent: str) -> bytes:
    # The access policy also knows domains that are written in another way.
    domains = domains_of(parse(memory.path, data, dialect))
    origin = Provenance(LEARNINGS_RULE, author=agent, domains=domains).fields()
    fields = {**frontmatter.read(decode(data)[0]).fields, DOMAIN: None, **origin}
    head: dict[str, object] = {"id": key, "title": memory.title, "type": memory.type}
    head |= {name: fields[name] for name in _COPIED if fields.get(name) not in (None, "", [])}
    head |= origin
    text = frontmatter.compose(head, f"{frontmatter.text_of(data).strip()}\n")
    return text.encode("utf-8", "replace")


def _copies(runtime: Runtime, ids: list[str]) -> dict[str, tuple[str, bytes | None]]:
    """The paths and bytes of the copies in the shared vault, by their ids."""
    vault = runtime.home.shared
    with runtime.index((vault,)) as index:
        memories = [*index.memories(Selection(ids=tuple(ids), whole_files=True))]
    places = {memory.id: memory.path for memory in memories if memory.id}
    return {key: (path, current(vault, path)) for key, path in places.items()}


_WORDS = {
    "share": ("is to be shared", "is shared"),
    "update": ("is to be updated in the shared vault", "is updated in the shared vault"),
    "keep": ("was edited in the shared vault and is to be left", "was edited in the shared vault "
             "and is left as it is there"),
    "withdraw": ("is to be withdrawn from the shared vault", "is withdrawn from the shared vault"),
}  # fmt: skip


def _run(context: JobContext) -> JobReport:
    runtime = context.runtime

    def work(agent: str) -> Work:
        runtime.refresh((runtime.home.personal(agent), runtime.home.shared))
        actions: list[JobAction] = []
        problems: list[Problem] = []
        for step in [*_sharing_steps(runtime, agent)]:
            try:
                path = step.path if context.dry_run else _carry_out(runtime, agent, step)
            except DamagedDatabase:
                raise
            except (DjinnError, OSError) as error:
                problems.append(Problem(f"{step.title!r} of {agent}", reason(error)))
            else:
                actions.append(_action(context, agent, step, path))
        return actions, problems

    return for_each_agent(context, "learnings", work)


def _action(context: JobContext, agent: str, step: _SharingStep, path: str | None) -> JobAction:
    verb = _WORDS[step.step][not context.dry_run]
    vault = context.runtime.home.shared.name if path else None
    return JobAction("learnings", f"{agent}: {step.title!r} {verb}", vault, path or None)


JOB = Job(
    "learnings",
    every=timedelta(hours=1),
    does="Copies notes that an agent marks with `share: true` into the shared vault, and follows "
    "their edits.",
    cost="Reads the marked notes of each agent. Writes a note for each that is new or changed.",
    run=_run,
)
