"""djinn proposal, contradiction and gap: changes to decide on, and questions without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, dim, place, say, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.contradictions.finder import ContradictionSide
    from djinn_memory.memories.proposals import gaps, requests
    from djinn_memory.memories.proposals.verbs import ContradictionList, SettledContradiction

KIND = Field("KIND", candidates.proposal_kinds)
IDS = Field("[ID]...", candidates.proposals)


@command("proposals.list", fields={"kind": KIND})
def _list(call: Call, answer: requests.ProposalList) -> None:
    """List the changes that upkeep proposes, oldest first.

    Jobs of `djinn maintain` make proposals. Nothing changes until you accept one. A proposal is
    withdrawn when one of its notes changes or when its reason no longer holds.

    Examples:
        djinn proposal list
        djinn proposal list --kind archive -n 200
        djinn proposal list --all --json
    """
    from djinn_memory.memories.proposals.log import CONTRADICTION

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


@command("proposals.show", fields={"proposal": Field("ID", candidates.proposals)})
def _show(call: Call, answer: requests.ProposalView) -> None:
    """Show a proposal: its notes, its reason and its evidence.

    Examples:
        djinn proposal show prp_3v9qk2m7xd
    """
    proposal = answer.proposal
    say(f"{proposal.id}  {proposal.kind}  {proposal.status} since {local_day(proposal.since)}")
    say(clean(proposal.reason))
    if proposal.evidence:
        say(dim(clean("  ".join(proposal.evidence))))
    for subject in proposal.subjects:
        name = place(subject) if subject.vault else subject.name
        say(clean(f"  {subject.title or '(gone)'}  {name}"))
    if proposal.status == "open":
        talk(f"Acceptance: {proposal.action}")
    if proposal.change:
        talk(f"Run `djinn undo {proposal.change}` to take it back.")


@command("proposals.accept", fields={"proposals": IDS, "kind": KIND})
def _accept(call: Call, answer: requests.ProposalReport) -> None:
    """Carry out proposals in one step.

    `djinn undo` takes the step back byte for byte. The proposals are then open again. `--kind`
    takes all of a kind. `--all` leaves contradictions out: `djinn contradiction settle` chooses a
    side.

    Examples:
        djinn proposal accept prp_3v9qk2m7xd
        djinn proposal accept --kind statement
        djinn proposal accept --all --kind archive --dry-run
    """
    _print_decided(answer, "would accept" if call.request.dry_run else "accepted")
    if answer.change:
        talk(f"Run `djinn undo {answer.change}` to take it back.")


@command("proposals.dismiss", fields={"proposals": IDS, "kind": KIND})
def _dismiss(call: Call, answer: requests.ProposalReport) -> None:
    """Dismiss proposals, so that they are not made again.

    The dismissal of a contradiction records that both notes hold, until one of them changes. That
    of a statement removes its note, and `djinn undo` brings it back.
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


def _titles(proposal: requests.Proposal) -> str:
    return " + ".join(subject.title or subject.name for subject in proposal.subjects)


DIFFERENCES = {
    "value": "one fact has two values",
    "number": "the numbers differ",
    "date": "the dates differ",
    "negation": "one says the opposite of the other",
}
"""The words for each kind of difference."""

WIDEST = 200
"""Maximum characters of the statement of a side."""


@command("contradictions.list")
def _list_contradictions(call: Call, answer: ContradictionList) -> None:
    """List memories that contradict each other and both hold now.

    Facts with one category and key are compared by value. Sentences of other notes are compared
    when they differ only in a number, a date or a negation. Nothing is changed.

    Examples:
        djinn contradiction list
    """
    if not answer.contradictions:
        talk("No contradictions.")
    for contradiction in answer.contradictions:
        say(f"{contradiction.id}  {DIFFERENCES[contradiction.difference]}")
        _print_side("A", contradiction.a)
        _print_side("B", contradiction.b)
    if left := answer.total - len(answer.contradictions):
        talk(f"{count(left, 'more contradiction')}; -n shows more.")
    if answer.contradictions:
        talk("Run `djinn contradiction settle ID --keep A`, `B` or `both` to settle one.")


@command("contradictions.settle", fields={"contradiction": Field("ID"), "keep": Field("A|B|both")})
def _settle(call: Call, answer: SettledContradiction) -> None:
    """Settle a contradiction: keep one side, or both.

    The note of a closed side gets `valid_to` and `status: superseded`; nothing is deleted. The
    ledger records the decision. If both hold, the contradiction is listed again once one of the
    notes has changed.

    Examples:
        djinn contradiction settle con_3v9qk2m7xd --keep A --note "Anna said so."
    """
    if answer.closed:
        say(clean(f"closed {answer.closed.title} -> {place(answer.closed)}"))
    else:
        say(f"recorded that both hold: {answer.contradiction.id}")


def _print_side(name: str, side: ContradictionSide) -> None:
    about = [local_day(side.date), place(side)]
    about += [text for text in (side.source, side.rule, side.author) if text]
    about += side.evidence
    say(f"  {name}  {clean(side.title)}: {shortened(side.text, WIDEST)}")
    say(f"     {dim(clean('  '.join(about)))}")


@command("gaps.list")
def _list_gaps(call: Call, answer: gaps.GapGroups) -> None:
    """List open gaps, grouped by topic.

    Examples:
        djinn gap list
        djinn gap list --closed --json
    """
    if not answer.groups:
        talk("No gaps.")
    for group in answer.groups:
        for number, gap in enumerate(group.gaps):
            query = f"  (asked: {gap.query})" if gap.query else ""
            by = f" by {gap.closed_by}" if gap.closed_by else ""
            status = f"  closed{by}" if gap.status == "closed" else ""
            indent = "  " if number else ""
            about = f"{local_day(gap.created)}  {gap.description}{query}{status}"
            say(clean(f"{indent}{gap.id}  {about}"))


@command("gaps.report")
def _report_gap(call: Call, answer: gaps.ReportedGap) -> None:
    """Report a gap without rating a recall.

    Examples:
        djinn gap report "nothing on how to restore a backup" --query "restore"
    """
    say(f"gap {answer.gap_id}")


@command(
    "gaps.close",
    fields={"gap": Field(complete=candidates.gaps), "by": Field("NOTE", candidates.titles)},
)
def _close_gap(call: Call, answer: gaps.GapChange) -> None:
    """Close a gap that a note answers or that no longer matters.

    Examples:
        djinn gap close gap_3v9qk2m7xd --by "Backups: Restore"
    """
    say(clean(f"closed {answer.gap.id}: {answer.gap.description}"))


@command("gaps.reopen")
def _reopen_gap(call: Call, answer: gaps.GapChange) -> None:
    """Open a closed gap again.

    `djinn maintain` closes gaps that newer memories answer. It does not close a gap with the same
    memory again.

    Examples:
        djinn gap reopen gap_3v9qk2m7xd
    """
    say(clean(f"opened {answer.gap.id}: {answer.gap.description}"))


@command("gaps.suggest")
def _suggest_answers(call: Call, answer: gaps.GapSuggestions) -> None:
    """Find notes written after a gap was reported that may answer it.

    Examples:
        djinn gap suggest
        djinn gap suggest --close
    """
    if not answer.suggestions:
        talk("No note answers an open gap.")
    for suggestion in answer.suggestions:
        say(clean(f"{suggestion.gap.id}  {suggestion.gap.description}"))
        relation = "closed by" if suggestion.closed else "maybe"
        note = f"{suggestion.title}  ({place(suggestion)})"
        say(clean(f"  {relation} {note}  {suggestion.likeness:.2f}"))
    if answer.suggestions and not call.request.close:
        talk(
            "Run `djinn gap suggest --close` to close all of them, or `djinn gap close ID "
            "--by NOTE` for one."
        )
