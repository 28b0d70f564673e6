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
    """Show how usage and ratings affect ranking.

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
        empty="No memory was used or rated yet. Run `djinn recall`, then `djinn rate last`.",
    )


def _print_score(memory: MemoryScore) -> None:
    record, score = memory.record, memory.score
    place = dim(clean(f"{memory.vault}/{memory.path}"))
    say(f"{typer.style(clean(memory.title), bold=True)}  {place}")
    stated = {"importance": memory.importance, "confidence": memory.confidence}
    any_stated = any(value is not None for value in stated.values())
    numbers = {
        "score": f"{score.adaptive:.4f} = 0.5 + 0.5 x {score.signal:.4f}, from the floor to 1",
        "factor": f"{score.multiplier:.4f} (recall multiplies the search score by it)",
        "usefulness": f"{score.usefulness:.4f} ({score.usefulness_raw:.4f} from ratings; "
        f"bad ratings still count {score.rehabilitation:.0%})",
        "recency": f"{score.recency:.4f}",
        "frequency": f"{score.frequency:.4f}",
        "rated": f"{count(record.valuations, 'time')}, useful {record.useful}"
        + _last(record.last_valued),
        "used": count(record.uses, "time") + _last(record.last_used),
        **{key: "not set" if value is None else f"{value}" for key, value in stated.items()},
        **({"weight": f"{memory.own:.4f} (from importance and confidence)"} if any_stated else {}),
        "agents": ", ".join(memory.agents),
    }
    for label, text in numbers.items():
        say(f"  {label:<11} {clean(text)}")


def _last(time: str | None) -> str:
    return f", last {time[:19]}Z" if time else ""
