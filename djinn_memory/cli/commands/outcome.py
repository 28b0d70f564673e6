"""djinn outcome record, list."""

from __future__ import annotations

from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, columns, say
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.episodes.requests import RecordedEpisode
from djinn_memory.memories.patterns import requests


@command(
    "outcomes.record",
    requests.RecordOutcome,
    fields={
        "result": Field("success|failure|partial"),
        "context": Field("TEXT"),
        "at": Field("TIME"),
    },
)
def record(call: Call, answer: RecordedEpisode) -> None:
    """Record how an action ended, as an episode.

    `djinn outcome list` shows how effective each action is, and `djinn consolidate` finds the
    contexts in which an action succeeds or fails more often.

    Examples:
        djinn outcome record "restart the router" success
        djinn outcome record "deploy" failure --context "on a Friday"
    """
    say(clean(f"{answer.id}  {answer.vault}/{answer.path}"))


@command("outcomes.list", requests.ListOutcomes)
def list_(call: Call, answer: requests.OutcomeList) -> None:
    """List how effective actions were, by action and context.

    Effectiveness is the share of successes. A partial success counts half.

    Examples:
        djinn outcome list
        djinn outcome list --json
    """
    rows = [
        (
            f"{row.effectiveness:.2f}",
            str(row.successes),
            str(row.partial),
            str(row.failures),
            row.action if row.context is None else f"  {row.context}",
        )
        for row in answer.actions
    ]
    columns(
        rows,
        head="effect success partial failure action",
        empty="No outcomes. `djinn outcome record ACTION RESULT` records one.",
    )
