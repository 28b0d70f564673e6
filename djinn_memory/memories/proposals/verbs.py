"""Operations on proposals: list and show them, accept and dismiss them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from djinn_memory.errors import NotFound, Refused, Remedy, UsageError
from djinn_memory.memories.proposals.acceptance import COMMAND, add_steps, record
from djinn_memory.memories.proposals.kind import Acceptance
from djinn_memory.memories.proposals.log import DISMISSED, recorded_proposals
from djinn_memory.memories.proposals.propose import LOCK
from djinn_memory.memories.proposals.reading import LiveProposal, as_proposal, live_proposals
from djinn_memory.memories.proposals.registry import check_kind
from djinn_memory.memories.proposals.requests import (
    AcceptProposals,
    DismissProposals,
    ListProposals,
    Proposal,
    ProposalList,
    ProposalReport,
    ProposalStatus,
    ProposalView,
    ShowProposal,
)
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.models import Problem
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.search.suggest import near_names
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.store.ledger import Event
from djinn_memory.system.locks import lock

_LISTING = Remedy("proposals.list", purpose="list the open proposals")


class Proposals(Namespace, name="proposals"):
    """Operations on what upkeep proposes and a person decides."""

    @operation(ListProposals, rights="person")
    def list(self, request: ListProposals) -> ProposalList:
        """List the open proposals, oldest first.

        With an agent, those that concern this agent alone. A proposal is withdrawn, and no longer
        listed, when a note that it is about has changed or is gone.
        """
        check_kind(request.kind)
        proposals = self._proposals(request.agent)
        kinds = Counter(each.record.kind for each in proposals if each.status == "open")
        chosen = [
            proposal
            for proposal in proposals
            if (request.all or proposal.status == "open")
            and request.kind in (None, proposal.record.kind)
        ]
        shown = (self._shown(proposal) for proposal in chosen[: request.limit])
        return ProposalList(tuple(shown), len(chosen), dict(sorted(kinds.items())))

    @operation(ShowProposal, rights="person", positional=("proposal",))
    def show(self, request: ShowProposal) -> ProposalView:
        """Show a proposal. Raises `NotFound` with similar ids."""
        proposals = self._proposals(request.agent)
        return ProposalView(self._shown(_named(proposals, [request.proposal])[0]))

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
            if request.dry_run:
                return self._report(proposals, "open", None, problems)
            with (
                change_set(self.runtime, COMMAND, "", request.agent) as changes,
                # The snapshot is released before the files change: the index follows them then.
                self.runtime.index(self.runtime.home.visible(request.agent)) as index,
            ):
                acceptance = Acceptance(self.runtime, index, changes, request.agent)
                done, failed = add_steps(acceptance, proposals)
            record(acceptance, done)
        problems = [*problems, *failed, *acceptance.problems, *changes.result.problems]
        return self._report(done, "accepted", changes.result.id, problems)

    @operation(DismissProposals, writes=True, rights="person", positional=("proposals",))
    @within(WRITE_SECONDS)
    def dismiss(self, request: DismissProposals) -> ProposalReport:
        """Dismiss proposals permanently: they are never made again.

        Raises `NotFound` for an unknown id.
        """
        with lock(self._state.home.state / LOCK):
            proposals, problems = self._chosen(request)
            data = {"agent": request.agent}
            events = [Event(DISMISSED, proposal.record.id, data) for proposal in proposals]
            if events:
                self._state.ledger.append(events)
        return self._report(proposals, "dismissed", None, problems)

    def _proposals(self, agent: str | None) -> Sequence[LiveProposal]:
        """The proposals that an agent sees, or all of the home, with their notes as they are."""
        self.runtime.refresh(self.runtime.home.visible(agent))
        records = recorded_proposals(self._state.ledger_if_any).values()
        return live_proposals(self.runtime, records, agent)

    def _chosen(
        self, request: AcceptProposals | DismissProposals
    ) -> tuple[Sequence[LiveProposal], Sequence[Problem]]:
        """The open proposals that a request names, and a problem for each of the others."""
        check_kind(request.kind)
        if bool(request.proposals) == request.all:
            raise UsageError(
                "both ids and all are given" if request.all else "no proposals are given",
                Remedy(purpose="give the ids of proposals"),
                Remedy("", {"all": True}, "choose all open ones"),
            )
        if request.kind and not request.all:
            raise UsageError("is only for all proposals", argument="kind")
        proposals = self._proposals(request.agent)
        if request.all:
            kinds = (request.kind,) if request.kind else {each.record.kind for each in proposals}
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
        proposals: Sequence[LiveProposal],
        status: ProposalStatus,
        change: str | None,
        problems: Sequence[Problem],
    ) -> ProposalReport:
        shown = (self._shown(proposal, status, change) for proposal in proposals)
        return ProposalReport(tuple(shown), change, tuple(problems))

    def _shown(
        self,
        proposal: LiveProposal,
        status: ProposalStatus | None = None,
        change: str | None = None,
    ) -> Proposal:
        shown = as_proposal(proposal, status or proposal.status, self.runtime.home.vaults)
        return replace(shown, change=change) if change else shown


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
