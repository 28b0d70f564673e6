"""djinn score show."""

from __future__ import annotations

from typing import Annotated

import typer

from djinn_memory.cli import candidates, options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean, dim, say, talk
from djinn_memory.system.plural import count


@plain('Examples: `djinn score show` · `djinn score show "Project: Harbourlight"`')
def show(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="An id, a path or a title; all that were used or rated if not given.",
                       autocompletion=candidates.titles, metavar="[NOTE]"),
    ] = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Show the score of a memory with every number behind it."""
    djinn = options.open_djinn(ctx)
    found = djinn.scores.show(name, agent=agent).scores
    if json:
        from djinn_memory.cli.schemas.score import ScoreShow

        output.print_json(ScoreShow(found, djinn.problems))
        return
    output.problems(djinn.problems)
    if not found:
        talk("nothing was used or rated yet; `djinn recall` and `djinn rate last` do")
    if name is None:
        output.columns(
            [
                [f"{one.score.adaptive:.3f}", f"x{one.score.multiplier:.3f}", str(one.record.uses),
                 f"{one.record.useful}/{one.record.valuations}", one.title,
                 f"{one.vault}/{one.path}"]
                for one in found
            ],
            head=("score", "factor", "uses", "useful", "title", "path"),
        )  # fmt: skip
        return
    [one] = found
    record, score = one.record, one.score
    say(f"{typer.style(clean(one.title), bold=True)}  {dim(clean(f'{one.vault}/{one.path}'))}")
    when = {"used": record.last_used, "rated": record.last_valued}
    last = {name: f", last {at[:19]}Z" if at else "" for name, at in when.items()}
    word = {"importance": one.importance, "confidence": one.confidence}
    for label, text in {
        "score": f"{score.adaptive:.4f} = 0.5 + 0.5 x {score.signal:.4f}, within the floor and 1",
        "factor": f"{score.multiplier:.4f} at recall",
        "usefulness": f"{score.usefulness:.4f}; its ratings say {score.usefulness_raw:.4f}, "
        f"bad ones still count {score.rehabilitation:.0%}",
        "recency": f"{score.recency:.4f}",
        "frequency": f"{score.frequency:.4f}",
        "rated": f"{count(record.valuations, 'time')}, useful {record.useful}{last['rated']}",
        "used": f"{count(record.uses, 'time')}{last['used']}",
        "own word": f"{one.own:.4f} of "
        + ", ".join(f"{key} {'-' if value is None else value}" for key, value in word.items()),
        "agents": ", ".join(one.agents),
    }.items():
        say(f"  {label:<11} {clean(text)}")
