"""djinn pattern, and djinn episode outcome: patterns in episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, clean_lines, columns, place, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.episodes.requests import RecordedEpisode
    from djinn_memory.memories.patterns import requests


@command("patterns.consolidate", fields={"min_age": Field("AGE")}, words="pattern find")
def _consolidate(call: Call, answer: requests.ConsolidationReport) -> None:
    """Find patterns in episodes, and write a note for each.

    Episodes that are 7 days old or older are read (`patterns.min_age`), and those that `djinn
    episode mark` named. A pattern that is known is reinforced. A note that you delete is not
    written again, and a field that you edit is kept. Running it twice changes nothing.

    Examples:
        djinn pattern find --dry-run
        djinn pattern find
        djinn pattern find --min-age 0d --json
    """
    for change in answer.changes:
        verb = "would be " if answer.dry_run else ""
        confidence = f"confidence {change.confidence:.2f}" if change.confidence is not None else ""
        place = "" if answer.dry_run else f"  {change.vault}/{change.path}"
        say(clean(f"{verb}{change.change}  {change.name}  ({change.status}, {confidence}){place}"))
    for pattern in answer.skipped:
        say(clean(f"skipped  {pattern.name}: {pattern.reason}"))
    if not answer.changes and not answer.skipped:
        talk(f"{count(answer.episodes, 'episode')} read; no new patterns")


@command("patterns.list")
def _list(call: Call, answer: requests.PatternList) -> None:
    """List patterns: habits first, the most certain of each kind first.

    The column `habit` tells habits from the rhythm of your activity (temporal, domain) and from
    the outcomes of actions (causal).

    Examples:
        djinn pattern list
        djinn pattern list --habits --status active
        djinn pattern list --category preference --json
    """
    columns(
        [
            (
                f"{pattern.confidence:.2f}" if pattern.confidence is not None else "-",
                pattern.status or "-",
                pattern.category or "-",
                "yes" if pattern.habit else "no",
                pattern.name,
            )
            for pattern in answer.patterns
        ],
        head="confidence status category habit pattern",
        empty="No patterns. `djinn pattern find` finds patterns in episodes.",
    )
    if len(answer.patterns) < answer.total:
        talk(f"{count(answer.total - len(answer.patterns), 'more pattern')}; -n shows more.")


@command("patterns.show", fields={"name": Field("PATTERN", candidates.patterns)})
def _show(call: Call, answer: requests.PatternDetail) -> None:
    """Show a pattern and its evidence.

    Examples:
        djinn pattern show "Plans the week on Monday mornings around 9"
        djinn pattern show mem_7k2m9q4dxw30hv5t --json
    """
    say(clean(f"{answer.name}  {place(answer)}"))
    confidence = f", confidence {answer.confidence:.2f}" if answer.confidence is not None else ""
    say(clean(f"{answer.category or 'pattern'}, {answer.status or 'no status'}{confidence}"))
    if answer.support:
        expected = answer.expected
        chance = "" if expected is None else f", of which chance explains {expected:g}"
        say(f"{count(answer.support, 'day')} with evidence{chance}")
    if answer.first_seen and answer.last_seen:
        say(clean(f"from {answer.first_seen} to {answer.last_seen}"))
    if answer.q_value is not None:
        say(f"probability by chance {answer.q_value:g}, corrected for the number of tests")
    say()
    say(clean_lines(answer.text))
    if answer.evidence:
        say()
        say(f"newest of {count(answer.evidence_count, 'episode')}:")
    for link in answer.evidence:
        say(clean(f"  {link}"))


@command("patterns.correlations")
def _correlations(call: Call, answer: requests.CorrelationList) -> None:
    """List things that occur together more often than chance explains.

    Domains, names and actions are compared with hours and weekdays, and names with domains. The
    rhythm of your activity is taken into account, and the number of pairs that were tested.

    Examples:
        djinn pattern correlations
        djinn pattern correlations --json
    """
    rows = [
        (
            f"{each.strength:.2f}",
            each.support,
            f"{each.expected:g}",
            f"{each.q_value:.1e}",
            f"{each.first} / {each.second}",
        )
        for each in answer.correlations
    ]
    columns(rows, head="strength days expected q-value pair", empty="No correlations.")
    talk(f"{count(answer.tests, 'pair')} tested")


@command(
    "outcomes.record",
    fields={
        "result": Field("success|failure|partial"),
        "context": Field("TEXT"),
        "at": Field("TIME"),
    },
)
def _record_outcome(call: Call, answer: RecordedEpisode) -> None:
    """Record how an action ended, as an episode.

    `djinn episode outcome list` shows how effective each action is, and `djinn pattern find` finds
    the contexts in which an action succeeds or fails more often.

    Examples:
        djinn episode outcome record "restart the router" success
        djinn episode outcome record "deploy" failure --context "on a Friday"
    """
    say(clean(f"{answer.id}  {place(answer)}"))


@command("outcomes.list")
def _list_outcomes(call: Call, answer: requests.OutcomeList) -> None:
    """List how effective actions were, by action and context.

    Effectiveness is the share of successes. A partial success counts half.

    Examples:
        djinn episode outcome list
        djinn episode outcome list --json
    """
    columns(
        [
            (
                f"{row.effectiveness:.2f}",
                row.successes,
                row.partial,
                row.failures,
                row.action if row.context is None else f"  {row.context}",
            )
            for row in answer.actions
        ],
        head="effect success partial failure action",
        empty="No outcomes. `djinn episode outcome record ACTION RESULT` records one.",
    )
