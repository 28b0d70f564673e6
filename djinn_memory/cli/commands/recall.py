"""djinn recall, rate: recalls, and ratings of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, Paged, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field

if TYPE_CHECKING:
    from djinn_memory.memories.recall.rating import RatingResult
    from djinn_memory.memories.recall.recall import RecallResult


class _RecallView(Paged, frozen=True):
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
        djinn recall --wide "what do we know about deployments"
    """
    from djinn_memory.cli.hits import print_recall

    print_recall(call, answer, explain=call.view.explain)


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
