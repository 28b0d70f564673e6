"""Operations on proposals and contradictions: list and show them, decide about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.errors import NotFound, Refused, Remedy, UsageError
from djinn_memory.memories.contradictions.finder import (
    MOST_MEMORIES,
    Contradiction,
    ContradictionSide,
    Pair,
    find_pairs,
)
from djinn_memory.memories.proposals.kind import Acceptance, LiveProposal
from djinn_memory.memories.proposals.kinds import KINDS
from djinn_memory.memories.proposals.kinds.contradiction import KIND, finding
from djinn_memory.memories.proposals.lifecycle import (
    LOCK,
    accept,
    as_proposal,
    dismiss,
    live_proposals,
    undecided,
)
from djinn_memory.memories.proposals.log import recorded_proposals
from djinn_memory.memories.proposals.requests import (
    AcceptProposals,
    DismissProposals,
    Keep,
    ListContradictions,
    ListProposals,
    ProposalList,
    ProposalReport,
    ProposalStatus,
    ProposalView,
    SettleContradiction,
    ShowProposal,
)
from djinn_memory.models import Problem
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.runtime import Runtime
from djinn_memory.search.suggest import near_names
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.system.choices import one_of
from djinn_memory.system.locks import lock

ACCEPT, DISMISS = "review accept", "review dismiss"
"""The commands of the change sets."""

_LISTING = Remedy("proposals.list", purpose="list the open proposals")


class Proposals(Namespace, name="proposals"):
    """Operations on changes that upkeep proposes and a person decides."""

    @operation(ListProposals, rights="person")
    def list(self, request: ListProposals) -> ProposalList:
        """List the open proposals, oldest first.

        With an agent, those that concern this agent alone. A proposal is withdrawn, and no longer
        listed, when a note that it is about has changed or is gone.
        """
        _check_kind(request.kind)
        proposals = self._proposals(request.agent)
        kinds = Counter(each.record.kind for each in proposals if each.status == "open")
        chosen = [
            proposal
            for proposal in proposals
            if (request.all or proposal.status == "open")
            and request.kind in (None, proposal.record.kind)
        ]
        vaults = self.runtime.home.vaults
        shown = (as_proposal(proposal, vaults) for proposal in chosen[: request.limit])
        return ProposalList(tuple(shown), len(chosen), dict(sorted(kinds.items())))

    @operation(ShowProposal, rights="person", positional=("proposal",))
    def show(self, request: ShowProposal) -> ProposalView:
        """Show a proposal. Raises `NotFound` with similar ids."""
        proposals = self._proposals(request.agent)
        [proposal] = _named(proposals, [request.proposal])
        return ProposalView(as_proposal(proposal, self.runtime.home.vaults))

    @operation(AcceptProposals, writes=True, rights="person", positional=("proposals",))
    @within(WRITE_SECONDS)
    def accept(self, request: AcceptProposals) -> ProposalReport:
        """Carry out proposals in one change, which `djinn undo` takes back.

        The notes are compared once more with those that the proposals are about. A proposal that
        cannot be carried out is a problem, and the others are carried out. After an undo the
        proposals are open again. Raises `NotFound` for an unknown id, and `Unavailable` when a
        folder cannot be written; then nothing is changed.
        """
        with lock(self._state.home.state / LOCK):
            proposals, problems = self._chosen(request)
            accepted = accept(
                self.runtime, proposals, request.agent, ACCEPT, dry_run=request.dry_run
            )
        status: ProposalStatus = "open" if request.dry_run else "accepted"
        return self._report(accepted, status, problems)

    @operation(DismissProposals, writes=True, rights="person", positional=("proposals",))
    @within(WRITE_SECONDS)
    def dismiss(self, request: DismissProposals) -> ProposalReport:
        """Dismiss proposals permanently: they are never made again.

        A contradiction is made again once one of its notes has changed. Raises `NotFound` for an
        unknown id.
        """
        with lock(self._state.home.state / LOCK):
            proposals, problems = self._chosen(request)
            dismissed = dismiss(
                self.runtime, proposals, request.agent, DISMISS, dry_run=request.dry_run
            )
        return self._report(dismissed, "open" if request.dry_run else "dismissed", problems)

    def _proposals(self, agent: str | None) -> Sequence[LiveProposal]:
        """The proposals that an agent sees, or all of the home, with their notes as they are."""
        self.runtime.refresh(self.runtime.home.visible(agent))
        records = recorded_proposals(self._state.ledger_if_any).values()
        return live_proposals(self.runtime, [each for each in records if each.subjects], agent)

    def _chosen(
        self, request: AcceptProposals | DismissProposals
    ) -> tuple[Sequence[LiveProposal], Sequence[Problem]]:
        """The open proposals that a request names, and a problem for each of the others."""
        _check_kind(request.kind)
        every = request.all or request.kind is not None
        if request.kind and request.proposals:
            raise UsageError("is only for all proposals", argument="kind")
        if bool(request.proposals) == every:
            raise UsageError(
                "both ids and all are given" if request.all else "no proposals are given",
                Remedy(purpose="give the ids of proposals"),
                Remedy("", {"all": True}, "choose all open ones"),
            )
        proposals = self._proposals(request.agent)
        if every:
            kinds = [request.kind] if request.kind else [k for k in KINDS if not KINDS[k].singly]
            return [
                each for each in proposals if each.status == "open" and each.record.kind in kinds
            ], ()
        named = _named(proposals, request.proposals)
        closed = [each for each in named if each.status != "open"]
        if len(closed) == len(named) == 1:
            raise Refused(f"{closed[0].record.id} is {_why(closed[0])}", _LISTING)
        problems = [Problem(each.record.id, f"is {_why(each)}") for each in closed]
        return [each for each in named if each.status == "open"], problems

    def _report(
        self,
        decided: Acceptance,
        status: ProposalStatus,
        problems: Sequence[Problem],
    ) -> ProposalReport:
        vaults, change = self.runtime.home.vaults, decided.changes.result.id
        shown = (as_proposal(proposal, vaults, status, change) for proposal in decided.done)
        failed = (Problem(each.record.id, str(error)) for each, error in decided.failed)
        return ProposalReport(tuple(shown), change, (*problems, *failed, *decided.problems))


def _named(proposals: Sequence[LiveProposal], ids: Sequence[str]) -> Sequence[LiveProposal]:
    """The proposals with these ids, each once. `NotFound` suggests similar ids."""
    by_id = {proposal.record.id: proposal for proposal in proposals}
    for identity in ids:
        if identity not in by_id:
            open_ids = [key for key, proposal in by_id.items() if proposal.status == "open"]
            near = " or ".join(near_names(identity, open_ids))
            remedy = Remedy(purpose=f"did you mean {near}?") if near else _LISTING
            raise NotFound(f"no proposal {identity!r}", remedy)
    return [by_id[identity] for identity in dict.fromkeys(ids)]


def _why(proposal: LiveProposal) -> str:
    """Why a proposal is not open, after `is`."""
    if proposal.status == "withdrawn":
        return "withdrawn, because a note has changed or the reason no longer holds"
    return f"already {proposal.status}"


class ContradictionList(Struct, frozen=True):
    """The contradictions that an agent sees."""

    contradictions: tuple[Contradiction, ...]
    """The contradictions, in order of the places of their first sides."""
    total: int
    """The number of contradictions, also of those that the limit leaves out."""
    problems: tuple[Problem, ...] = ()
    """Memories that were not compared."""


class SettledContradiction(Struct, frozen=True):
    """The result of settling a contradiction."""

    contradiction: Contradiction
    """The contradiction before it was settled."""
    keep: Keep
    """The side that was kept, or both."""
    closed: ContradictionSide | None = None
    """The side that was closed: its note has `status: superseded` and `valid_to`."""
    problems: Sequence[Problem] = ()
    """Problems that keep the change from being searchable at once."""


class Contradictions(Namespace, name="contradictions"):
    """Contradictions between the memories of a home."""

    @operation(ListContradictions)
    def list(self, request: ListContradictions) -> ContradictionList:
        """List the contradictions between memories that an agent sees and that hold now.

        A contradiction of which both sides hold is listed again once one of them has changed.
        """
        proposals, complete = self._open(request.agent)
        why = f"the newest {MOST_MEMORIES:,} memories were compared"
        return ContradictionList(
            tuple(contradiction for contradiction, _ in proposals[: request.limit]),
            len(proposals),
            () if complete else (Problem("contradictions", why),),
        )

    @operation(SettleContradiction, writes=True, positional=("contradiction",))
    @within(WRITE_SECONDS)
    def settle(self, request: SettleContradiction) -> SettledContradiction:
        """Settle a contradiction: close the side that is not kept, or record that both hold.

        The closed note gets `valid_to` and `status: superseded`, and a link to the kept one if the
        same agents read both. Raises `Refused` for a read-only vault, for a section of a journal,
        and for a shared note that a private one would close.
        """
        home, note = self.runtime.home, request.note
        # Two at once would close both sides.
        with lock(home.state / LOCK):
            contradiction, proposal = self._named(request)
            if request.keep == "both":
                dismiss(self.runtime, [proposal], request.agent, DISMISS, note)
                return SettledContradiction(contradiction, request.keep)
            accepted = accept(
                self.runtime, [proposal], request.agent, ACCEPT, keep=request.keep, note=note
            )
        for _, error in accepted.failed:
            raise error
        closed = contradiction.b if request.keep == "A" else contradiction.a
        return SettledContradiction(contradiction, request.keep, closed, accepted.problems)

    def _named(self, request: SettleContradiction) -> tuple[Contradiction, LiveProposal]:
        for contradiction, proposal in self._open(request.agent)[0]:
            if contradiction.id == request.contradiction:
                return contradiction, proposal
        listing = Remedy("contradictions.list", purpose="list the open contradictions")
        raise NotFound(f"no open contradiction {request.contradiction!r}", listing)

    def _open(self, agent: str | None) -> tuple[Sequence[tuple[Contradiction, LiveProposal]], bool]:
        """The contradictions that are not settled, and whether all memories were compared."""
        pairs, complete = find_pairs(self.runtime, self._scope(agent))
        return open_contradictions(self.runtime, pairs, agent), complete


def open_contradictions(
    runtime: Runtime, pairs: Sequence[Pair], agent: str | None
) -> Sequence[tuple[Contradiction, LiveProposal]]:
    """The contradictions among these that an agent sees and that are not settled."""
    proposals = undecided(runtime, KIND, map(finding, pairs), runtime.home.agent(agent))
    contradictions = {pair.contradiction.id: pair.contradiction for pair in pairs}
    return [(contradictions[each.record.id], each) for each in proposals]


def _check_kind(name: str | None) -> None:
    """Raise `UsageError` for an unknown kind."""
    if name is not None and name not in KINDS:
        raise UsageError(f"{name[:40]!r}: {one_of(KINDS, name)}", argument="kind")
