"""djinn gap: questions without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, place, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.notes.dates import local_day

if TYPE_CHECKING:
    from djinn_memory.memories.proposals import gaps


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
