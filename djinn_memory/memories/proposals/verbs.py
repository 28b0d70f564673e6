"""Operations on proposals: list and show them, accept and dismiss them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from djinn_memory.errors import NotFound, Refused, Remedy, UsageError
from djinn_memory.memories.proposals.kind import LiveProposal
from djinn_memory.memories.proposals.kinds import KINDS, check_kind
from djinn_memory.memories.proposals.lifecycle import LOCK, accept, dismiss
from djinn_memory.memories.proposals.log import recorded_proposals
from djinn_memory.memories.proposals.reading import as_proposal, live_proposals
from djinn_memory.memories.proposals.requests import (
    AcceptProposals,
    DismissProposals,
    ListProposals,
    ProposalList,
    ProposalReport,
    ProposalStatus,
    ProposalView,
    ShowProposal,
)
from djinn_memory.models import Problem
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.search.suggest import near_names
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.system.locks import lock

COMMAND = "proposal accept"
"""The command of the change sets."""

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
                self.runtime, proposals, request.agent, COMMAND, dry_run=request.dry_run
            )
        failed = [Problem(each.record.id, str(error)) for each, error in accepted.failed]
        problems = [*problems, *failed, *accepted.problems]
        status: ProposalStatus = "open" if request.dry_run else "accepted"
        return self._report(accepted.done, status, accepted.changes.result.id, problems)

    @operation(DismissProposals, writes=True, rights="person", positional=("proposals",))
    @within(WRITE_SECONDS)
    def dismiss(self, request: DismissProposals) -> ProposalReport:
        """Dismiss proposals permanently: they are never made again.

        A contradiction is made again once one of its notes has changed. Raises `NotFound` for an
        unknown id.
        """
        with lock(self._state.home.state / LOCK):
            proposals, problems = self._chosen(request)
            dismiss(self.runtime, proposals, request.agent)
        return self._report(proposals, "dismissed", None, problems)

    def _proposals(self, agent: str | None) -> Sequence[LiveProposal]:
        """The proposals that an agent sees, or all of the home, with their notes as they are."""
        self.runtime.refresh(self.runtime.home.visible(agent))
        records = recorded_proposals(self._state.ledger_if_any).values()
        return live_proposals(self.runtime, [each for each in records if each.subjects], agent)

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
        proposals: Sequence[LiveProposal],
        status: ProposalStatus,
        change: str | None,
        problems: Sequence[Problem],
    ) -> ProposalReport:
        vaults = self.runtime.home.vaults
        shown = (as_proposal(proposal, vaults, status, change) for proposal in proposals)
        return ProposalReport(tuple(shown), change, tuple(problems))


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
