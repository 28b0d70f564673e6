"""djinn recall, rate, score: recalls, and the reasons for their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, dim, place, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.recall.rating import RatingResult
    from djinn_memory.memories.recall.recall import RecallResult
    from djinn_memory.memories.recall.scores import MemoryScore, MemoryScores


class _RecallView(Struct, frozen=True):
    """Options for printing a recall."""

    explain: Annotated[
        bool,
        Meta(description="Show the numbers behind the ranking. `--json` always includes them."),
    ] = False


@command(
    "recall",
    without=["paths", "session"],
    fields={
        "query": Field(words=True, stdin="value"),
        "profile": Field("NAME", candidates.profiles),
    },
    view=_RecallView,
    warns=False,
)
def _recall(call: Call, answer: RecallResult) -> None:
    """Print memories that help with a question, best first.

    A recall is a search whose ranking also uses your ratings, your usage, and the importance that
    notes state. Of a long memory the passage that answers is printed. Of what may answer, excerpts
    are printed, and of what is only near, titles. A recall is logged, so that `djinn rate last` can
    refer to it.

    Examples:
        djinn recall "how do we deploy"
        djinn recall "what is next" --profile planning --budget 4000
        djinn recall "tide tables" --explain
    """
    from djinn_memory.cli.hits import print_recall

    print_recall(answer, explain=call.view.explain)


def _run_rate(call: Call) -> Any:
    from djinn_memory.memories.recall.rating import ranks_and_names

    for name in ("useful", "not_useful"):
        call.values[name] = ranks_and_names(call.values[name] or ())
    return call.run()


@command(
    "rate",
    without=["session"],
    fields={
        "target": Field(
            complete=lambda: ["last"],
            help="`last`, or the id that a recall printed. Without it, ranks refer to the last "
            "recall, and names are those of any memory.",
        ),
        "useful": Field(
            "RANKS",
            help="What helped: ranks such as 1,3, or the id, path or title of a memory; "
            "repeatable.",
        ),
        "not_useful": Field("RANKS", help="What did not help, in the same form."),
    },
    run=_run_rate,
)
def _rate(call: Call, answer: RatingResult) -> None:
    """Rate the memories of a recall, so that later recalls improve.

    Memories that you do not name are not rated. Negative ratings count from the third on. Rating
    the same recall again corrects the earlier rating.

    Examples:
        djinn rate last --useful 1,3 --not-useful 2
        djinn rate last --gap "no word on backups" --gap-query "restore a backup"
        djinn rate --useful mem_7k2m9q4dxw30hv5t
    """
    for rating in answer.judged:
        rank = f"{rating.rank}. " if rating.rank else ""
        say(f"{'useful' if rating.useful else 'not useful'}: {rank}{clean(rating.title)}")
    if answer.gap_id:
        say(f"gap {answer.gap_id}")
        talk("run `djinn gap suggest` to find notes that answer it")


@command("scores.show", fields={"name": Field("[NOTE]", candidates.titles)})
def _show_score(call: Call, answer: MemoryScores) -> None:
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
                memory.record.uses,
                f"{memory.record.useful}/{memory.record.valuations}",
                memory.title,
                place(memory),
            ]
            for memory in answer.scores
        ],
        head="score factor uses useful title path",
        empty="No memory was used or rated yet. Run `djinn recall`, then `djinn rate last`.",
    )


def _print_score(memory: MemoryScore) -> None:
    record, score = memory.record, memory.score
    say(f"{typer.style(clean(memory.title), bold=True)}  {dim(place(memory))}")
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
        + _last_time(record.last_valued),
        "used": count(record.uses, "time") + _last_time(record.last_used),
        **{key: "not set" if value is None else f"{value}" for key, value in stated.items()},
        **({"weight": f"{memory.own:.4f} (from importance and confidence)"} if any_stated else {}),
        "agents": ", ".join(memory.agents),
    }
    for label, text in numbers.items():
        say(f"  {label:<11} {clean(text)}")


def _last_time(time: str | None) -> str:
    return f", last {time[:19]}Z" if time else ""
