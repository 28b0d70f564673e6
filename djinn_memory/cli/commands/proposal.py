"""djinn proposal list, show, accept, dismiss."""

from __future__ import annotations

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, dim, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.proposals import requests
from djinn_memory.memories.proposals.log import CONTRADICTION
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

KIND = Field("KIND", lambda ctx: candidates.proposal_kinds())
IDS = Field("[ID]...", candidates.proposals)


@command("proposals.list", requests.ListProposals, fields={"kind": KIND})
def list_(call: Call, answer: requests.ProposalList) -> None:
    """List what upkeep proposes to change, oldest first.

    Jobs of `djinn maintain` make proposals. Nothing changes until you accept one. A proposal is
    withdrawn when one of its notes changes or when its reason no longer holds.

    Examples:
        djinn proposal list
        djinn proposal list --kind archive -n 200
        djinn proposal list --all --json
    """
    status = call.request.all
    output.columns(
        [
            [
                proposal.id,
                local_day(proposal.since),
                *([proposal.status] if status else []),
                proposal.kind,
                _titles(proposal),
                next(iter(proposal.evidence), ""),
                proposal.reason,
            ]
            for proposal in answer.proposals
        ],
        head=f"id day {'status ' if status else ''}kind notes evidence reason",
        empty="No open proposals. `djinn maintain` makes them.",
    )
    if left := answer.total - len(answer.proposals):
        talk(f"{count(left, 'more proposal')}; -n shows more.")
    kinds = {proposal.kind for proposal in answer.proposals if proposal.status == "open"}
    if kinds - {CONTRADICTION}:
        talk("Run `djinn proposal accept ID` or `djinn proposal dismiss ID` to decide.")
    if CONTRADICTION in kinds:
        settle = "`djinn contradiction settle ID --keep A`, `B` or `both`"
        talk(f"Run {settle} to settle a contradiction.")


@command(
    "proposals.show",
    requests.ShowProposal,
    fields={"proposal": Field("ID", candidates.proposals)},
)
def show(call: Call, answer: requests.ProposalView) -> None:
    """Show a proposal: its notes, its reason and its evidence.

    Examples:
        djinn proposal show prp_3v9qk2m7xd
    """
    proposal = answer.proposal
    say(f"{proposal.id}  {proposal.kind}  {proposal.status} since {local_day(proposal.since)}")
    say(clean(proposal.reason))
    if proposal.evidence:
        say(dim(clean("  ".join(proposal.evidence))))
    _print_subjects(proposal)
    if proposal.status == "open":
        talk(f"Acceptance: {proposal.action}")
    if proposal.change:
        talk(f"Run `djinn undo {proposal.change}` to take it back.")


@command("proposals.accept", requests.AcceptProposals, fields={"proposals": IDS, "kind": KIND})
def accept(call: Call, answer: requests.ProposalReport) -> None:
    """Carry out proposals in one step.

    `djinn undo` takes the step back byte for byte. The proposals are then open again. `--all`
    leaves contradictions out: `djinn contradiction settle` chooses a side.

    Examples:
        djinn proposal accept prp_3v9qk2m7xd
        djinn proposal accept --all --kind archive --dry-run
    """
    _print_decided(answer, "would accept" if call.request.dry_run else "accepted")
    if answer.change:
        talk(f"Run `djinn undo {answer.change}` to take it back.")


@command("proposals.dismiss", requests.DismissProposals, fields={"proposals": IDS, "kind": KIND})
def dismiss(call: Call, answer: requests.ProposalReport) -> None:
    """Dismiss proposals, so that they are not made again.

    The dismissal of a contradiction records that both notes hold, until one of them changes.
    `--all` leaves contradictions out, unless `--kind` names them.

    Examples:
        djinn proposal dismiss prp_3v9qk2m7xd
        djinn proposal dismiss --all --kind archive
    """
    _print_decided(answer, "dismissed")


def _print_decided(answer: requests.ProposalReport, verb: str) -> None:
    for proposal in answer.proposals:
        say(clean(f"{verb} {proposal.id}: {proposal.kind} {_titles(proposal)}"))
    if not (answer.proposals or answer.problems):
        talk("No open proposals; nothing was done.")


def _print_subjects(proposal: requests.Proposal) -> None:
    for subject in proposal.subjects:
        place = f"{subject.vault}/{subject.path}" if subject.vault else subject.name
        say(clean(f"  {subject.title or '(gone)'}  {place}"))


def _titles(proposal: requests.Proposal) -> str:
    return " + ".join(subject.title or subject.name for subject in proposal.subjects)
