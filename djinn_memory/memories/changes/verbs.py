"""Operations on changes that djinn made to notes: list them, and take them back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext

from djinn_memory.errors import NotFound, Refused, Remedy
from djinn_memory.memories.changes import commit, files, requests
from djinn_memory.memories.changes.history import PastChange, past_changes
from djinn_memory.memories.changes.plan import ChangePlan, FileChange, KeptBytes, digest
from djinn_memory.models import Vault
from djinn_memory.notes.dates import moment
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.system.plural import count

_LIST = Remedy("changes.list", {}, "list the changes")

_Key = tuple[str, str]


class Changes(Namespace, name="changes"):
    """Operations on the changes that djinn made to notes."""

    @operation(requests.ListChanges, recover=False)
    def list(self, request: requests.ListChanges) -> requests.ChangeList:
        """List the changes of notes in the vaults that an agent sees, newest first."""
        vaults = self._visible(request.agent)
        changes = past_changes(self._state, vaults)[: request.limit]
        return requests.ChangeList(tuple(_entry(change, vaults) for change in changes))

    @operation(requests.UndoChange, writes=True, positional=("change",))
    def undo(self, request: requests.UndoChange) -> requests.UndoReport:
        """Take back a change, by default the caller's last one that was not taken back.

        An agent takes back only its own changes, a person all. Each file gets the bytes, the
        permissions and the time of saving that it had before. Sections of journals are removed,
        whatever was appended since. The undo is a change itself, so that it can be taken back.
        Raises `NotFound` when there is no such change, and `Refused` when a file was edited since,
        when the bytes are no longer kept, for a change of another agent, and for a read-only vault.
        """
        vaults = self._visible(request.agent)
        with nullcontext() if request.dry_run else commit.locked(self._state, vaults):
            changes = past_changes(self._state, vaults)
            change = _chosen(changes, request.change, request.agent)
            entry = _entry(change, vaults)
            by_id = {vault.id: vault for vault in vaults}
            plan, before, after, times = self._plan(change, changes, by_id, request.agent)
            result = commit.Commit()
            if not request.dry_run:
                result = commit.commit(self.runtime, plan, before, after, times)
                files.remove_folders(by_id, change.record.plan.folders)
        if not request.dry_run:
            commit.index_changed(self.runtime, plan, result)
        changed = tuple(_files(plan.files, vaults))
        undone = not request.dry_run
        return requests.UndoReport(entry, changed, undone, result.id, tuple(result.problems))

    def _visible(self, agent: str | None) -> Sequence[Vault]:
        """The vaults that an agent sees, or all.

        For a limited agent the index is refreshed first, because it tells which notes are hidden.
        """
        self.runtime.recover_changes()
        vaults = self.runtime.home.visible(agent)
        if any(vault.reader for vault in vaults):
            return self.runtime.fresh_scope(agent)
        return vaults

    def _plan(
        self,
        change: PastChange,
        changes: Sequence[PastChange],
        by_id: Mapping[str, Vault],
        agent: str | None,
    ) -> tuple[ChangePlan, commit.Content, commit.Content, commit.Times]:
        """The plan of an undo, the bytes of its files before and after it, and their times."""
        record, store = change.record, KeptBytes(self._state.home)
        before, after = dict[_Key, bytes | None](), dict[_Key, bytes | None]()
        times, steps = dict[_Key, int | None](), list[FileChange]()
        for number, file in enumerate(record.plan.files):
            vault = by_id[file.vault]
            if vault.read_only:
                raise Refused(f"vault {vault.name} is read-only, so the change stays")
            key = file.vault, file.path
            if file.sections:
                data = files.current(vault, file.path)
                try:
                    rest = data and files.without_sections(file.path, dict(file.sections), data)
                except ValueError:
                    raise _edited(vault, file, change, changes, "edited") from None
                if rest != data:
                    before[key], after[key] = data, rest
                    steps.append(FileChange(*key, digest(data), digest(rest), domains=file.domains))
                continue
            state = files.state(vault, file)
            if state != file.after:
                edit = "removed" if state is None else "edited"
                raise _edited(vault, file, change, changes, edit)
            steps.append(file.reversed())
            if file.moved is not None:
                if files.moved_state(vault, file.moved) != file.before:
                    place = f"{vault.name}/{file.moved}"
                    raise Refused(f"{place} was changed since, so nothing was taken back")
                continue
            before[key] = files.current(vault, file.path)
            after[key] = store.read(record.id, number) if file.before is not None else None
            times[key] = store.saved_ns(record.id, number)
            # A power cut can have damaged them.
            if digest(after[key]) != file.before:
                raise Refused(f"the bytes before {record.id} are no longer kept, so it stays")
        if not steps:
            raise Refused(f"nothing that {record.id} added is left", _LIST)
        undone = tuple(reversed(steps))
        folders = files.new_folders(by_id, undone)
        what = f"Took back: {record.plan.what}" if record.plan.what else ""
        # A journal of which only the header is left is no note.
        trash = record.plan.trash and not any(file.sections for file in record.plan.files)
        plan = ChangePlan("undo", what, undone, folders, record.id, agent, trash)
        return plan, before, after, times


def _chosen(changes: Sequence[PastChange], identity: str | None, agent: str | None) -> PastChange:
    """The change with an id, or the caller's last one that can be taken back and is no undo."""
    if identity is None:
        for change in changes:
            plan = change.record.plan
            if change.status == "done" and plan.undoes is None and plan.by == agent:
                return change
        raise NotFound("there is no change to take back", _LIST)
    for change in changes:
        if change.record.id != identity:
            continue
        if agent not in (None, change.record.plan.by):
            by = change.record.plan.by or "a person"
            raise Refused(f"{identity} was made by {by}, so {agent} cannot take it back", _LIST)
        if change.status == "taken back":
            raise Refused(f"{identity} was already taken back", _LIST)
        if change.status == "expired":
            raise Refused(f"the bytes before {identity} are no longer kept, so it stays")
        return change
    raise NotFound(f"no change {identity!r}", _LIST)


def _edited(
    vault: Vault, file: FileChange, change: PastChange, changes: Sequence[PastChange], edit: str
) -> Refused:
    """The error for a file that is not as the change left it."""
    place = f"{vault.name}/{file.path}"
    merges = change.record.plan.command == "entity merge"
    split = [Remedy("entities.split", {"name": None}, "take the merge apart")] if merges else []
    for later in changes[: changes.index(change)]:
        touched = {
            (other.vault, other.path)
            for other in later.record.plan.files
            if not (file.sections and other.sections)
        }
        counts = later.status == "done" and later.record.plan.undoes is None
        if counts and (file.vault, file.path) in touched:
            first = Remedy("changes.undo", {"change": later.record.id}, "take that back first")
            return Refused(f"{place} was changed by {later.record.id} since", first, *split)
    remedies = split or ([_LIST] if edit == "removed" else [Remedy(purpose="edit it yourself")])
    return Refused(f"{place} was {edit} since, so nothing was taken back", *remedies)


def _entry(change: PastChange, vaults: Sequence[Vault]) -> requests.ChangeEntry:
    record, plan = change.record, change.record.plan
    changed = tuple(_files(plan.files, vaults))
    # Not in the ledger, where a purge then has to find nothing but the paths.
    file, more = changed[0], len(changed) - 1
    named = f"{file.action.capitalize()} {file.vault}/{file.path}"
    named += f" and {count(more, 'other file')}" if more else ""
    gone = next((each for each in changed if each.action == "removed"), None)
    if gone and file.action == "created":
        named = f"Moved {gone.vault}/{gone.path} to {file.vault}/{file.path}"
    return requests.ChangeEntry(
        record.id,
        moment(record.at),
        plan.command,
        plan.what or named,
        change.status,
        changed,
        plan.undoes,
        plan.by,
    )


def _files(
    changes: Sequence[FileChange], vaults: Sequence[Vault]
) -> Iterator[requests.ChangedFile]:
    names = {vault.id: vault.name for vault in vaults}
    for file in changes:
        action = "changed" if file.before or file.sections else "created"
        action = action if file.after or file.sections else "removed"
        yield requests.ChangedFile(names[file.vault], file.path, action)
