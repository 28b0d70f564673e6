"""djinn gap list, report, close, reopen, suggest."""

from __future__ import annotations

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.proposals import gaps
from djinn_memory.notes.dates import local_day


@command("gaps.list", gaps.ListGaps)
def list_(call: Call, answer: gaps.GapGroups) -> None:
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
            closed = f"  closed{f' by {gap.closed_by}' if gap.closed_by else ''}"
            status = closed if gap.status == "closed" else ""
            indent = "  " if number else ""
            say(
                clean(
                    f"{indent}{gap.id}  {local_day(gap.created)}  {gap.description}{query}{status}"
                )
            )


@command("gaps.report", gaps.ReportGap)
def report(call: Call, answer: gaps.ReportedGap) -> None:
    """Report a gap without rating a recall.

    Examples:
        djinn gap report "nothing on how to restore a backup" --query "restore"
    """
    say(f"gap {answer.gap_id}")


@command(
    "gaps.close",
    gaps.CloseGap,
    fields={"gap": Field(complete=candidates.gaps), "by": Field("NOTE", candidates.titles)},
)
def close(call: Call, answer: gaps.ClosedGap) -> None:
    """Close a gap that a note answers or that no longer matters.

    Examples:
        djinn gap close gap_3v9qk2m7xd --by "Backups: Restore"
    """
    say(clean(f"closed {answer.gap.id}: {answer.gap.description}"))


@command("gaps.reopen", gaps.ReopenGap)
def reopen(call: Call, answer: gaps.ReopenedGap) -> None:
    """Open a closed gap again.

    `djinn maintain` closes gaps that newer memories answer. It does not close a gap with the same
    memory again.

    Examples:
        djinn gap reopen gap_3v9qk2m7xd
    """
    say(clean(f"opened {answer.gap.id}: {answer.gap.description}"))


@command("gaps.suggest", gaps.SuggestAnswers)
def suggest(call: Call, answer: gaps.GapSuggestions) -> None:
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
        place = f"{suggestion.vault}/{suggestion.path}"
        say(clean(f"  {relation} {suggestion.title}  ({place})  {suggestion.likeness:.2f}"))
    if answer.suggestions and not call.request.close:
        talk(
            "Run `djinn gap suggest --close` to close all of them, or `djinn gap close ID "
            "--by NOTE` for one."
        )
