"""Takes a merge of two entities apart, also after other edits of the notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from djinn_memory.errors import NotFound, Refused, Remedy
from djinn_memory.memories.changes import files
from djinn_memory.memories.changes.history import past_changes
from djinn_memory.memories.changes.plan import FileChange, KeptBytes, digest
from djinn_memory.memories.entities.detail import EntityDetail, detail_in, written_entity
from djinn_memory.memories.entities.merge import COMMAND, EntityNote, merged
from djinn_memory.memories.entities.names import find_entity
from djinn_memory.memories.entities.requests import SplitEntity
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.dates import moment
from djinn_memory.notes.slugs import name_key
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def taken_back(before: bytes, after: bytes, now: bytes) -> bytes | None:
    """`now` without the change from `before` to `after`, line by line.

    None if a line that the change wrote, or a neighbour of one that it removed, was changed since.
    """
    if now == after:
        return before
    old, new, current = (_LINE.findall(data) for data in (before, after, now))
    places = {-1: -1, len(new): len(current)}
    for block in SequenceMatcher(None, new, current, autojunk=False).get_matching_blocks():
        places |= {block.a + step: block.b + step for step in range(block.size)}
    result = [*current]
    changes = SequenceMatcher(None, new, old, autojunk=False).get_opcodes()
    for kind, start, stop, old_start, old_stop in reversed(changes):
        if kind == "equal":
            continue
        at = _place(places, start, stop)
        if at is None:
            return None
        result[at : at + stop - start] = old[old_start:old_stop]
    return b"".join(result)


def _place(places: dict[int, int], start: int, stop: int) -> int | None:
    """Where lines of a text stand in a changed one; None if they no longer stand together.

    Of no lines it is the place between their neighbours.
    """
    first = start if start < stop else start - 1
    stand = [places.get(line) for line in range(first, max(stop, start + 1))]
    at = stand[0]
    if at is None or stand != [*range(at, at + len(stand))]:
        return None
    return at + start - first


class EntitySplit(Struct, frozen=True):
    """The result of taking a merge apart."""

    entity: EntityDetail
    """The entity into which the other was merged, without its mentions; as it is for a dry run."""
    other: EntityDetail
    """The entity that was merged, as it was before."""
    change: str | None
    """The id of the change, for `djinn undo`; null for a dry run."""
    notes: tuple[str, ...]
    """The notes with links that were changed, or would be, as `vault/path`."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the notes from being searchable at once."""


class _Merge(Struct, frozen=True):
    """A merge, and its files before it."""

    what: str
    gone: FileChange
    into: FileChange
    before: dict[FileChange, EntityNote]

    def after(self, file: FileChange) -> bytes | None:
        """The bytes of a file after the merge, made anew; None if that fails."""
        gone, into = self.before[self.gone], self.before[self.into]
        leads = gone.by_name()
        # Links lead to the title, or to the path if several notes have the title.
        for name in (into.note.title, into.path.removesuffix(".md")):
            if file == self.into:
                data = merged(gone, into, name)
            else:
                data = self.before[file].relinked(leads, name, into.path).data
            if digest(data) == file.after:
                return data
        return None


def split(runtime: Runtime, request: SplitEntity) -> EntitySplit:
    """Take a merge apart; see `Entities.split`."""
    scope = runtime.fresh_scope(request.agent)
    with runtime.index(scope) as index:
        memory = find_entity(index, request.name)
    # A merge that changed notes in a vault that the asker does not see is none of theirs.
    vaults = {vault.id: vault for vault in runtime.home.visible(request.agent)}
    [own] = runtime.home.named((memory.vault,))
    merge = _found(runtime, vaults, (own.id, memory.path), request)
    _require_visible(runtime, scope, merge)
    what, notes = f"Took apart: {merge.what}", []
    with change_set(
        runtime, "entity split", what, agent=request.agent, dry_run=request.dry_run
    ) as changes:
        for file, before in merge.before.items():
            now = files.current(before.vault, before.path)
            if file == merge.gone:
                changes.create(before.vault, before.path, before.data)
            elif now is not None:
                data = _without_merge(merge, file, now)
                if data != now:
                    changes.rewrite(before.vault, before.path, now, data)
                    notes += [] if file == merge.into else [before.place]
            elif file == merge.into:
                raise _edited(before, "no longer exists")
    result, at = changes.result, moment(runtime.now())
    into, gone = merge.before[merge.into], merge.before[merge.gone]
    entity = written_entity(into.vault, into.path, at)
    other = detail_in(gone.note, gone.vault, gone.path, at)
    return EntitySplit(entity, other, result.id, tuple(notes), tuple(result.problems))


def _require_visible(runtime: Runtime, scope: Sequence[Vault], merge: _Merge) -> None:
    """Raise `Refused` if the merge changed a note that the asker does not see."""
    places = {
        (note.vault.name, note.path)
        for file, note in merge.before.items()
        if file not in (merge.into, merge.gone) and files.current(note.vault, note.path) is not None
    }
    with runtime.index(scope) as index:
        listed = index.memories(Selection(places=tuple(places)), fields=())
        if places - {(memory.vault, memory.path) for memory in listed}:
            raise Refused(
                "the merge changed notes that this agent does not see; nothing was changed"
            )


def _without_merge(merge: _Merge, file: FileChange, now: bytes) -> bytes:
    before = merge.before[file]
    if digest(now) == file.after:
        return before.data
    after = merge.after(file)
    data = taken_back(before.data, after, now) if after is not None else None
    if data is None:
        raise _edited(before, "was edited in the lines that the merge changed")
    return data


def _found(
    runtime: Runtime, vaults: dict[str, Vault], place: tuple[str, str], request: SplitEntity
) -> _Merge:
    """The last merge into a note that can be taken apart.

    A merge that was taken apart before is passed over: the note that was merged exists again.
    """
    again: Refused | None = None
    for merge in _merges(runtime, vaults, place):
        gone = merge.before[merge.gone]
        if request.other is None or name_key(request.other) in gone.names:
            if files.current(gone.vault, gone.path) is None:
                return merge
            again = again or _edited(gone, "exists again; rename or remove it first")
    if again:
        raise again
    what = f" of {request.other!r}" if request.other else ""
    raise NotFound(
        f"no merge{what} into {request.name!r} that can be taken apart",
        Remedy("changes.list", purpose="list the changes"),
    )


def _merges(runtime: Runtime, vaults: dict[str, Vault], place: tuple[str, str]) -> Iterator[_Merge]:
    """The merges into a note whose bytes are kept, the last first."""
    store = KeptBytes(runtime.home)
    for change in past_changes(runtime.state, [*vaults.values()]):
        plan = change.record.plan
        into = next(
            (file for file in plan.files if (file.vault, file.path) == place and file.after), None
        )
        gone = next((file for file in plan.files if file.after is None), None)
        if plan.command != COMMAND or change.status != "done" or not (into and gone):
            continue
        before = {
            file: EntityNote(vaults[file.vault], file.path, data)
            for number, file in enumerate(plan.files)
            if (data := store.read(change.record.id, number)) is not None
        }
        if len(before) == len(plan.files):
            yield _Merge(plan.what, gone, into, before)


def _edited(note: EntityNote, why: str) -> Refused:
    return Refused(f"{note.place} {why}; nothing was changed")
