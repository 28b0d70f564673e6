"""djinn score show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, dim, say
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.recall.requests import ShowScores
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.recall.scores import MemoryScore, MemoryScores


@command("scores.show", ShowScores, fields={"name": Field("[NOTE]", candidates.titles)})
def show(call: Call, answer: MemoryScores) -> None:
    """Show the score of a memory with every number behind it.

    Examples:
        djinn score show
        djinn score show "Project: Harbourlight"
    """
    if call.request.name is not None:
        _print_score(answer.scores[0])
        return
    output.columns(
        [
            [
                f"{memory.score.adaptive:.3f}",
                f"x{memory.score.multiplier:.3f}",
                str(memory.record.uses),
                f"{memory.record.useful}/{memory.record.valuations}",
                memory.title,
                f"{memory.vault}/{memory.path}",
            ]
            for memory in answer.scores
        ],
        head="score factor uses useful title path",
        empty="no memory was used or rated yet; `djinn recall` and `djinn rate last` do that",
    )


def _print_score(memory: MemoryScore) -> None:
    record, score = memory.record, memory.score
    place = dim(clean(f"{memory.vault}/{memory.path}"))
    say(f"{typer.style(clean(memory.title), bold=True)}  {place}")
    own = {"importance": memory.importance, "confidence": memory.confidence}
    stated = ", ".join(f"{key} {'-' if value is None else value}" for key, value in own.items())
    numbers = {
        "score": f"{score.adaptive:.4f} = 0.5 + 0.5 x {score.signal:.4f}, within the floor and 1",
        "factor": f"{score.multiplier:.4f} at recall",
        "usefulness": f"{score.usefulness:.4f}; its ratings say {score.usefulness_raw:.4f}, "
        f"bad ones still count {score.rehabilitation:.0%}",
        "recency": f"{score.recency:.4f}",
        "frequency": f"{score.frequency:.4f}",
        "rated": f"{count(record.valuations, 'time')}, useful {record.useful}"
        + _last(record.last_valued),
        "used": count(record.uses, "time") + _last(record.last_used),
        "own word": f"{memory.own:.4f} of {stated}",
        "agents": ", ".join(memory.agents),
    }
    for label, text in numbers.items():
        say(f"  {label:<11} {clean(text)}")


def _last(time: str | None) -> str:
    return f", last {time[:19]}Z" if time else ""
