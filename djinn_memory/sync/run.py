"""Synchronizes a vault with the server: pulls, pushes, and starts again where another was faster.

Every run compares states. The next run therefore finds the rest of a killed run. The plan
in the ledger only tells it which changes were its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import Refused, Remedy, Unavailable
from djinn_memory.models import Problem
from djinn_memory.store.ledger import sync_state, uuid7
from djinn_memory.store.ledger.sync_state import ScopeState
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.store.postgres.notes import ServerHead, ServerNote
from djinn_memory.store.postgres.scopes import large_files, record_home
from djinn_memory.store.sqlite import erase
from djinn_memory.sync import purges
from djinn_memory.sync.notes import derived, listing, pull, push
from djinn_memory.sync.notes.link import Reason, Unfinished, VaultLink, unregistered
from djinn_memory.sync.notes.names import unfit, why_not
from djinn_memory.sync.notes.plan import PullStep, PushStep, SyncPlan, SyncStates, make_plan
from djinn_memory.sync.requests import FileElsewhere, VaultExchange

Direction = Literal["pull", "push", "both"]

MANY = 20
"""Fewer deletions than this are never taken for an unplugged disk."""

ROUNDS = 20
"""Number of times that a run starts again when other homes write at the same time."""


class _Snapshot(Struct):
    """The state of the server at one moment."""

    head: ServerHead
    mark: dict[int, UUID]
    notes: dict[UUID, ServerNote]
    unfit: dict[UUID, str]
    """Rows that are left out, with their paths."""


def exchange(
    link: VaultLink, direction: Direction = "both", *, dry_run: bool = False
) -> VaultExchange:
    """Synchronize a vault. The caller holds the home's lock for synchronization.

    With `dry_run`, nothing is written but the index of this home, which is brought up to date.
    Raises `Unavailable` if other homes write faster than this one, and `Refused` if the server has
    vectors of another model.
    """
    derived.check_model(link)
    if dry_run:
        _, states = _compare(link, listing.preview_history(link))
        return _planned(link, _plan(link, states), direction)
    result = VaultExchange(link.vault.name)
    listing.recover_steps(link)
    if direction != "pull":
        purges.send_sections(link)
    unpurged = purges.receive_sections(link) if direction != "push" else set[str]()
    replaced: set[str] = set()
    seen = max(sync_state.seen(link.ledger, link.scope), default=0)
    for _ in range(ROUNDS):
        snapshot, states = _compare(link, listing.current_history(link))
        sync_state.advance(link.ledger, link.scope, states.scope, snapshot.mark)
        plan = _plan(link, states)
        if direction != "pull":
            _check_deletions(link, plan, len(states.bases))
        replaced |= {step.before.path for step in plan.pulls if step.before}
        if not _carry_out(link, plan, direction, unpurged, result):
            break
    else:
        raise Unavailable(
            f"other homes change vault {link.vault.name} faster than this one can follow",
            Remedy(purpose="run the command again"),
        )
    link.purges_wait = bool(
        unpurged or link.has_unfinished("unpurged") or purges.waiting_sections(link)
    )
    if direction != "push":
        purges.empty_trash(link, states.server.values())
    unerased = _erase_purged(link, states, seen)
    if direction == "both" and not link.lacks_changes:
        _follow_links(link, states, plan, replaced)
    _finish(link, snapshot, states.scope)
    if direction != "pull":
        purges.send(link)
    derived.embed_notes(link)
    if link.base_texts:
        link.base_texts.prune({base.hash for base in states.bases.values()})
    result.waiting = sorted({*(note.path for note in link.unfinished.values()), *unerased})
    result.too_large = list(link.too_large)
    result.elsewhere = _elsewhere(link)
    return result


def _erase_purged(link: VaultLink, states: SyncStates, seen: int) -> list[str]:
    """Erase what was purged from the bytes of the databases. Returns those that may still have it.

    While the home lacks changes, each run reads the same purges again. Purges up to the revision
    `seen` were erased by an earlier run, and are erased once more when nothing is lacking.
    """
    purged = [row.rev for row in states.server.values() if row.purged and row.deleted]
    if any(rev > seen or not link.lacks_changes for rev in purged):
        sync_state.mark_unerased(link.ledger, link.scope)
    if not sync_state.is_unerased(link.ledger, link.scope):
        return []
    state = link.runtime.state
    databases: dict[Path, Callable[[], None]] = {
        # Its path may be its title, and was in the tables about the server.
        state.home.ledger_path: link.ledger.erase,
        # Again, if that was not possible when it was purged.
        state.home.index_path: partial(erase, state.index),
    }
    unerased = []
    for path, rewrite in databases.items():
        try:
            rewrite()
        except Unavailable as error:
            link.add(Problem(str(path), str(error)))
            unerased.append(str(path))
    if not unerased:
        sync_state.mark_erased(link.ledger, link.scope)
    return unerased


def _follow_links(
    link: VaultLink, states: SyncStates, plan: SyncPlan, replaced: Collection[str]
) -> None:
    """Let links on the server lead where they do here, after other homes wrote notes.

    `replaced` are the paths of notes before they were received.
    """
    if paths := {row.path for row in states.server.values()}.union(replaced):
        derived.follow_links(link, paths, {step.path for step in plan.pushes})


def _check_deletions(link: VaultLink, plan: SyncPlan, known: int) -> None:
    """Raise `Refused` if most files are missing: a disk may be unplugged, or a folder moved."""
    missing = sum(step.after is None and not step.purged for step in plan.pushes)
    if missing >= MANY and missing > known / 2 and not link.deletes_many:
        raise Refused(
            f"{missing:,} of {known:,} files of vault {link.vault.name} are missing in "
            f"{link.vault.root}; restore the folder",
            Remedy(arguments={"delete_many": True}, purpose="delete them on the server"),
        )


def _compare(link: VaultLink, common: listing.ScopeHistory) -> tuple[_Snapshot, SyncStates]:
    """Read the states of all notes, here and on the server.

    The notes that are left out as they are, are unfinished.
    """
    bases = listing.exchanged(link, common.bases)
    files = listing.list_files(link, bases)
    snapshot = _read_server(link, common.state)
    state = common.state
    if snapshot.head.purged_rev > state.rev:
        # Deletions that this home has not seen were forgotten.
        state = replace(state, whole=True)
    left = listing.unlisted(link, files, bases)
    server = listing.exchanged(link, snapshot.notes)
    link.unfinished = {
        note_id: Unfinished(path, "unfit") for note_id, path in snapshot.unfit.items()
    }
    for note_id in left & server.keys():
        if server[note_id].rev > state.rev:
            link.unfinished[note_id] = Unfinished(server[note_id].path, "unlisted")
    return snapshot, SyncStates(files, bases, server, state, common.past, left, snapshot.unfit)


def _plan(link: VaultLink, states: SyncStates) -> SyncPlan:
    return make_plan(states, link.scope, link.home_name, lambda: UUID(uuid7()))


def _read_server(link: VaultLink, state: ScopeState) -> _Snapshot:
    """Read what changed on the server, and the notes that the last round did not finish."""
    with link.server.reading() as cursor:
        head = server_notes.head(cursor, link.scope)
        if head is None:
            raise unregistered(link.server.address, link.vault)
        whole = state.whole or head.purged_rev > state.rev
        changed = server_notes.changed(cursor, link.scope, -1 if whole else state.rev)
        notes = {note.note_id: note for note in changed}
        others = list(link.unfinished.keys() - notes.keys())
        unfinished = server_notes.states(cursor, link.scope, others)
        mark = server_notes.marks(cursor, link.scope, [head.rev])
    refused = unfit([*changed, *unfinished.values()])
    for note, why in refused.values():
        link.report_row(note, why)
    unfit_paths = {note_id: row.path for note_id, (row, _) in refused.items()}
    return _Snapshot(head, mark, notes | unfinished, unfit_paths)


def _carry_out(
    link: VaultLink,
    plan: SyncPlan,
    direction: Direction,
    unpurged: Collection[str],
    result: VaultExchange,
) -> bool:
    """Carry out a plan. Returns whether anything changed, here or on the server.

    The journals at the paths `unpurged` stay as they are.
    """
    pulls = plan.pulls if direction != "push" and not link.vault.read_only else []
    pulls = [step for step in pulls if not (step.before and step.before.path in unpurged)]
    derived.fetch_vectors(link, plan.adopted)
    _write_plan(link, plan, pulls)
    pulled = pull.pull(link, pulls) if pulls else {}
    _count_pulls(result, [step for step in pulls if step.note_id in pulled], pulled)
    for step in plan.pulls:
        if step.note_id not in pulled and (shown := step.after or step.before):
            # A read-only vault keeps for good what was purged elsewhere.
            purged = step.purged and not link.vault.read_only
            reason: Reason = "unpurged" if purged else "unreceived"
            link.unfinished[step.note_id] = Unfinished(shown.path, reason)
    if direction == "pull":
        return bool(pulled)
    # A note that another home changed, and that could not be written here, is not sent either.
    pushes = [step for step in plan.pushes if step.note_id not in link.unfinished]
    if not pushes:
        return bool(pulled)
    if pulled:
        listing.list_notes(link)
    derived.embed_notes(link)
    derived.check_model(link)
    pushed = push.push(link, pushes)
    _count_pushes(result, [step for step in pushes if step.note_id in pushed])
    return bool(pulled or pushed or link.has_unfinished("overtaken"))


def _write_plan(link: VaultLink, plan: SyncPlan, pulls: list[PullStep]) -> None:
    if plan.agreed:
        sync_state.record_bases(link.ledger, link.scope, plan.agreed)
    steps = [*map(pull.planned, pulls), *map(push.planned, plan.pushes)]
    sync_state.plan(link.ledger, link.scope, [step for step in steps if step])


def _count_pulls(
    result: VaultExchange, steps: Iterable[PullStep], done: Mapping[UUID, str | None]
) -> None:
    for step in steps:
        result.received += step.after is not None
        result.removed += step.after is None
    result.conflicts += [copy for copy in done.values() if copy]


def _count_pushes(result: VaultExchange, steps: Iterable[PushStep]) -> None:
    counts = Counter(step.after is not None for step in steps)
    result.sent += counts[True]
    result.withdrawn += counts[False]


def _planned(link: VaultLink, plan: SyncPlan, direction: Direction) -> VaultExchange:
    """The changes that a plan would make."""
    result = VaultExchange(link.vault.name)
    if direction != "push":
        _count_pulls(result, plan.pulls, {step.note_id: step.conflict for step in plan.pulls})
    if direction != "pull":
        _count_pushes(result, plan.pushes)
    if direction == "both":
        # A run sends the copies that it makes.
        result.sent += len(result.conflicts)
    return result


def _finish(link: VaultLink, snapshot: _Snapshot, state: ScopeState) -> None:
    """Record how far this home has come. The next run reads the unwritten changes again."""
    after = state if link.lacks_changes else ScopeState(snapshot.head.rev, whole=False)
    sync_state.advance(link.ledger, link.scope, after, snapshot.mark)
    sync_state.plan(link.ledger, link.scope, [])
    with link.server.transaction() as cursor:
        record_home(cursor, link.scope, link.home_id, link.home_name, after.rev, link.too_large)


def _elsewhere(link: VaultLink) -> list[FileElsewhere]:
    if not link.attachment_bytes:
        return []
    with link.server.reading() as cursor:
        files = large_files(cursor, link.scope, link.home_id)
    return [
        FileElsewhere(path, home)
        for path, home in files
        if not why_not(path) and not link.files.exists(path)
    ]
