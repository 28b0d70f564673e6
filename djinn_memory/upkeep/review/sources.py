"""The sources of the inbox, each adapted to one struct.

A source lists its items, and decides about those that it listed. Proposals and contradictions are
kept by `memories.proposals`, conflict copies by the vaults, and unfinished extractions by the
ledger: the inbox stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from msgspec import Struct, field

from djinn_memory.errors import DjinnError, NotFound, Refused, Remedy
from djinn_memory.memories.contradictions.finder import Contradiction, find_pairs
from djinn_memory.memories.proposals.kinds.contradiction import KIND
from djinn_memory.memories.proposals.requests import (
    AcceptProposals,
    DismissProposals,
    Keep,
    ListProposals,
    ProposalSubject,
    SettleContradiction,
)
from djinn_memory.memories.proposals.verbs import (
    Contradictions,
    Proposals,
    open_contradictions,
)
from djinn_memory.memories.sessions.extraction.turns import ExtractionLog, unread_sessions
from djinn_memory.memories.sessions.requests import ExtractSessions
from djinn_memory.memories.sessions.verbs import Sessions
from djinn_memory.memories.writing.change_set import ChangeSet, change_set
from djinn_memory.models import Problem
from djinn_memory.notes.dates import moment
from djinn_memory.notes.ids import derived_id
from djinn_memory.runtime import Runtime
from djinn_memory.sync import session as synchronization
from djinn_memory.sync.notes.names import original_path
from djinn_memory.sync.requests import ListConflicts
from djinn_memory.system.plural import count
from djinn_memory.upkeep.review.requests import ReviewItem, ReviewKind

UNFINISHED = timedelta(days=1)
"""How old the last turn of a session is when its extraction counts as unfinished. Idle sessions are
extracted when another session begins or ends, and by each maintenance."""


class Decision(Struct):
    """A decision about items, and what came of it."""

    runtime: Runtime
    accept: bool
    agent: str | None
    keep: Keep | None
    note: str | None
    dry_run: bool
    done: list[ReviewItem] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def command(self) -> str:
        """The command of the changes."""
        return "review accept" if self.accept else "review dismiss"


def _proposals(runtime: Runtime, agent: str | None) -> Iterator[ReviewItem]:
    for proposal in Proposals(runtime).list(ListProposals(limit=100_000, agent=agent)).proposals:
        # Contradictions are listed as they are now, whether or not a job has recorded them.
        if proposal.kind != KIND.name:
            yield _item(
                proposal.id, cast(ReviewKind, proposal.kind), proposal.subjects, proposal.reason,
                proposal.action, proposal.evidence, proposal.since, proposal.agent,
            )  # fmt: skip


def _contradictions(runtime: Runtime, agent: str | None) -> Iterator[ReviewItem]:
    readers = [agent] if agent else runtime.home.config.agents
    for reader in readers:
        runtime.fresh_scope(reader)
    pairs, _ = find_pairs(runtime, runtime.home.visible(agent))
    seen: set[str] = set()
    for reader in readers if pairs else ():
        for contradiction, _ in open_contradictions(runtime, pairs, reader):
            if contradiction.id not in seen:
                yield _contradiction(contradiction, reader)
            seen.add(contradiction.id)


def _contradiction(pair: Contradiction, reader: str) -> ReviewItem:
    sides = {"A": pair.a, "B": pair.b}
    return _item(
        pair.id,
        "contradiction",
        tuple(
            ProposalSubject(side.address, side.title, side.vault, side.path)
            for side in sides.values()
        ),
        "Both notes hold now and say different things.",
        KIND.action,
        (pair.difference, *(f"{name}: {side.text}" for name, side in sides.items())),
        max(pair.a.date, pair.b.date),
        reader,
    )


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


def _decide_proposals(decision: Decision, items: Sequence[ReviewItem]) -> None:
    by_id, verbs = {entry.id: entry for entry in items}, Proposals(decision.runtime)
    ids, dry_run, agent = [*by_id], decision.dry_run, decision.agent
    report = (
        verbs.accept(AcceptProposals(ids, dry_run=dry_run, agent=agent))
        if decision.accept
        else verbs.dismiss(DismissProposals(ids, dry_run=dry_run, agent=agent))
    )
    decision.done += [by_id[proposal.id] for proposal in report.proposals]
    decision.changes += [report.change] if report.change else []
    decision.problems += report.problems


def _settle(decision: Decision, entry: ReviewItem) -> None:
    keep: Keep | None = decision.keep if decision.accept else "both"
    if keep is None:
        raise Refused("it does not say which side holds", Remedy("", {"keep": None}, "choose one"))
    if not decision.dry_run:
        request = SettleContradiction(entry.id, keep, decision.note, entry.agent)
        decision.problems += Contradictions(decision.runtime).settle(request).problems
    decision.done.append(entry)


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
                "The note gets the text of the copy, and the copy goes. Dismissal keeps the text "
                "of the note, and the copy goes.",
                () if copy.original else ("the note is gone",),
                moment(saved) if saved else "",
                vault.agent,
            )


def _decide_conflict(decision: Decision, entry: ReviewItem) -> None:
    note, copy = (subject.path or "" for subject in entry.subjects)
    [vault] = decision.runtime.home.named([entry.subjects[0].vault or ""])
    what = f"Decided the conflict of {note}"
    made = change_set(decision.runtime, decision.command, what, decision.agent)
    with nullcontext(ChangeSet()) if decision.dry_run else made as changes:
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
                    "What was stated in the session was not extracted, or not to the end.",
                    "Extracts it now. Dismissal leaves its turns out for good.",
                    (count(len(unread.turns), "unread turn"),),
                    last,
                    reader,
                )


def _decide_extraction(decision: Decision, entry: ReviewItem) -> None:
    runtime, reader = decision.runtime, entry.agent or ""
    if decision.accept:
        request = ExtractSessions(entry.id, decision.dry_run, reader)
        decision.problems += Sessions(runtime).extract(request).problems
    else:
        log = ExtractionLog(runtime.state, reader, keep=not decision.dry_run)
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
