"""The sources of the inbox, each adapted to one struct.

A source lists its items, and decides about those that it listed. Proposals and contradictions are
kept by `memories.proposals`, conflict copies by the vaults, and unfinished extractions by the
ledger: the inbox stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, NotFound
from djinn_memory.memories.contradictions.finder import Contradiction, Pair, find_pairs
from djinn_memory.memories.proposals.kind import LiveProposal
from djinn_memory.memories.proposals.kinds import KINDS
from djinn_memory.memories.proposals.kinds.contradiction import KIND, finding
from djinn_memory.memories.proposals.lifecycle import (
    LOCK,
    decide,
    live_proposals,
    shown_subjects,
    undecided,
)
from djinn_memory.memories.proposals.log import CONTRADICTION, recorded_proposals
from djinn_memory.memories.proposals.requests import Keep, ProposalSubject
from djinn_memory.memories.sessions.extraction.turns import ExtractionLog, unread_sessions
from djinn_memory.memories.sessions.requests import ExtractSessions
from djinn_memory.memories.sessions.verbs import Sessions
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.models import Problem
from djinn_memory.notes.dates import moment
from djinn_memory.notes.ids import derived_id
from djinn_memory.runtime import Runtime
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.sync import session as synchronization
from djinn_memory.sync.notes.names import original_path
from djinn_memory.sync.requests import ListConflicts
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count
from djinn_memory.upkeep.review.requests import AcceptReview, DismissReview, ReviewItem, ReviewKind

UNFINISHED = timedelta(days=1)
"""How old the last turn of a session is when its extraction counts as unfinished. Idle sessions are
extracted when another session begins or ends, and by each maintenance."""


class Decision(Struct):
    """A decision about items, and what came of it."""

    runtime: Runtime
    request: AcceptReview | DismissReview
    done: list[ReviewItem] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def accept(self) -> bool:
        """Whether the items are accepted."""
        return isinstance(self.request, AcceptReview)

    @property
    def command(self) -> str:
        """The command of the changes."""
        return "review accept" if self.accept else "review dismiss"


def _open_proposals(runtime: Runtime, agent: str | None) -> list[LiveProposal]:
    """What upkeep proposed, in the order in which it did.

    Contradictions are listed as they are now, whether or not a job has recorded them.
    """
    runtime.refresh(runtime.home.visible(agent))
    recorded = recorded_proposals(runtime.state.ledger_if_any).values()
    records = [each for each in recorded if each.subjects and each.kind != CONTRADICTION]
    return [each for each in live_proposals(runtime, records, agent) if each.status == "open"]


def _open_contradictions(
    runtime: Runtime, pairs: Sequence[Pair], agent: str
) -> Iterator[tuple[LiveProposal, Contradiction]]:
    """The contradictions among these that an agent sees and that are not settled."""
    by_id = {pair.contradiction.id: pair.contradiction for pair in pairs}
    for proposal in undecided(runtime, KIND, map(finding, pairs), agent):
        yield proposal, by_id[proposal.record.id]


def _proposals(runtime: Runtime, agent: str | None) -> Iterator[ReviewItem]:
    for proposal in _open_proposals(runtime, agent):
        yield _item_of(runtime, proposal)


def _contradictions(runtime: Runtime, agent: str | None) -> Iterator[ReviewItem]:
    readers = [agent] if agent else runtime.home.config.agents
    for reader in readers:
        runtime.fresh_scope(reader)
    pairs = find_pairs(runtime, runtime.home.visible(agent))
    seen: set[str] = set()
    for reader in readers if pairs else ():
        for proposal, pair in _open_contradictions(runtime, pairs, reader):
            if pair.id not in seen:
                seen.add(pair.id)
                evidence = pair.difference, f"A: {pair.a.text}", f"B: {pair.b.text}"
                since = max(pair.a.date, pair.b.date)
                yield replace(_item_of(runtime, proposal), evidence=evidence, since=since)


def _item_of(runtime: Runtime, proposal: LiveProposal) -> ReviewItem:
    record, subjects = proposal.record, shown_subjects(proposal, runtime.home.vaults)
    return _item(
        record.id, cast(ReviewKind, record.kind), subjects, record.reason,
        KINDS[record.kind].action, record.evidence, record.since, record.agent,
    )  # fmt: skip


def _item(
    identity: str,
    kind: ReviewKind,
    subjects: tuple[ProposalSubject, ...],
    reason: str,
    action: str,
    evidence: tuple[str, ...],
    since: str,
    agent: str | None,
) -> ReviewItem:
    title = " + ".join(subject.title or subject.name for subject in subjects)
    return ReviewItem(0, identity, kind, title, reason, action, evidence, subjects, since, agent)


@within(WRITE_SECONDS)
def _decide_proposals(decision: Decision, items: Sequence[ReviewItem]) -> None:
    """Decide about proposals in one change, which `djinn undo` takes back.

    Two decisions at once would carry out both, so what is open is looked up under a lock.
    """
    runtime, agent = decision.runtime, decision.request.agent
    with lock(runtime.home.state / LOCK):
        _decide(decision, items, _open_proposals(runtime, agent), agent)


@within(WRITE_SECONDS)
def _settle(decision: Decision, entry: ReviewItem) -> None:
    request, runtime = decision.request, decision.runtime
    keep = request.keep if isinstance(request, AcceptReview) else None
    with lock(runtime.home.state / LOCK):
        pairs = find_pairs(runtime, runtime.fresh_scope(entry.agent))
        proposals = [each for each, _ in _open_contradictions(runtime, pairs, entry.agent or "")]
        _decide(decision, [entry], proposals, entry.agent, keep)


def _decide(
    decision: Decision,
    items: Sequence[ReviewItem],
    still_open: Sequence[LiveProposal],
    agent: str | None,
    keep: Keep | None = None,
) -> None:
    by_id = {entry.id: entry for entry in items}
    chosen = [each for each in still_open if each.record.id in by_id]
    decided = decide(
        decision.runtime,
        chosen,
        "accepted" if decision.accept and keep != "both" else "dismissed",
        agent,
        decision.command,
        keep=keep,
        note=decision.request.note,
        dry_run=decision.request.dry_run,
    )
    gone = by_id.keys() - {each.record.id for each in chosen}
    decision.done += [by_id[each.record.id] for each in decided.done]
    decision.changes += filter(None, [decided.changes.result.id])
    decision.problems += [Problem(identity, "is no longer open") for identity in sorted(gone)]
    decision.problems += [Problem(each.record.id, str(error)) for each, error in decided.failed]
    decision.problems += decided.problems


def _conflicts(runtime: Runtime, agent: str | None) -> Iterator[ReviewItem]:
    if not runtime.home.synced:
        return
    seen = {vault.name: vault for vault in runtime.home.visible(agent)}
    for copy in synchronization.conflicts(runtime, ListConflicts()).conflicts:
        if vault := seen.get(copy.vault):
            path = vault.root / copy.path
            saved = datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.exists() else None
            original = copy.original or original_path(copy.path) or copy.path
            yield _item(
                f"cfl_{derived_id(f'{vault.id}/{copy.path}')[4:14]}",
                "conflict",
                tuple(
                    ProposalSubject(f"{copy.vault}:{name}", None, copy.vault, name)
                    for name in (original, copy.path)
                ),
                "The note was changed in two homes.",
                "The note gets the text of the copy, which is removed. Dismissal keeps the text of "
                "the note, and removes the copy.",
                () if copy.original else ("the note is gone",),
                moment(saved) if saved else "",
                vault.agent,
            )


def _decide_conflict(decision: Decision, entry: ReviewItem) -> None:
    note, copy = (subject.path or "" for subject in entry.subjects)
    [vault] = decision.runtime.home.named([entry.subjects[0].vault or ""])
    agent, dry_run = decision.request.agent, decision.request.dry_run
    with change_set(decision.runtime, decision.command, "", agent, dry_run=dry_run) as changes:
        old, new = changes.content(vault, note), changes.content(vault, copy)
        if new is None:
            raise NotFound(f"{vault.name}/{copy} is gone")
        if decision.accept and old is None:
            changes.create(vault, note, new)
        elif decision.accept and old is not None:
            changes.rewrite(vault, note, old, new)
        changes.remove(vault, copy, new)
    decision.changes += [changes.result.id] if changes.result.id else []
    decision.problems += changes.result.problems
    decision.done.append(entry)


def _extractions(runtime: Runtime, agent: str | None) -> Iterator[ReviewItem]:
    latest = moment(runtime.now() - UNFINISHED)
    agents = [agent] if agent else runtime.home.config.agents
    for reader in agents if runtime.home.config.sessions.extract else ():
        log = ExtractionLog(runtime.state, reader)
        for unread in unread_sessions(runtime, reader, log, None):
            last = unread.turns[-1].memory.date
            if last <= latest:
                yield _item(
                    unread.session,
                    "extraction",
                    (ProposalSubject(unread.session, None),),
                    "The session was not extracted, or not to its end.",
                    "Extracts it now. Dismissal never extracts its turns so far.",
                    (count(len(unread.turns), "unread turn"),),
                    last,
                    reader,
                )


def _decide_extraction(decision: Decision, entry: ReviewItem) -> None:
    runtime, reader = decision.runtime, entry.agent or ""
    if decision.accept:
        request = ExtractSessions(entry.id, decision.request.dry_run, reader)
        decision.problems += Sessions(runtime).extract(request).problems
    else:
        log = ExtractionLog(runtime.state, reader, keep=not decision.request.dry_run)
        for unread in unread_sessions(runtime, reader, log, None):
            if unread.session == entry.id:
                log.read(entry.id, unread.mark)
    decision.done.append(entry)


def _each(
    decide: Callable[[Decision, ReviewItem], None],
) -> Callable[[Decision, Sequence[ReviewItem]], None]:
    """Decide about items one by one. An item that cannot be decided is a problem."""

    def run(decision: Decision, items: Sequence[ReviewItem]) -> None:
        for entry in items:
            try:
                decide(decision, entry)
            except (DjinnError, OSError) as error:
                decision.problems.append(Problem(entry.id, str(error)))

    return run


class ReviewSource(NamedTuple):
    """Lists items for an agent, or with None for the whole home, and decides about them."""

    items: Callable[[Runtime, str | None], Iterator[ReviewItem]]
    decide: Callable[[Decision, Sequence[ReviewItem]], None]


SOURCES: dict[tuple[ReviewKind, ...], ReviewSource] = {
    ("conflict",): ReviewSource(_conflicts, _each(_decide_conflict)),
    ("contradiction",): ReviewSource(_contradictions, _each(_settle)),
    ("extraction",): ReviewSource(_extractions, _each(_decide_extraction)),
    ("statement", "merge", "gap", "archive"): ReviewSource(_proposals, _decide_proposals),
}
"""The sources by the kinds of their items."""
