"""djinn contradiction list, settle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, dim, say, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.proposals import requests
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.contradictions.finder import ContradictionSide
    from djinn_memory.memories.proposals.verbs import (
        ContradictionList,
        SettledContradiction,
    )

DIFFERENCES = {
    "value": "one fact has two values",
    "number": "the numbers differ",
    "date": "the dates differ",
    "negation": "one says the opposite of the other",
}
"""What each difference is called."""

WIDEST = 200
"""Maximum characters of what a side says."""


@command("contradictions.list", requests.ListContradictions)
def list_(call: Call, answer: ContradictionList) -> None:
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


@command(
    "contradictions.settle",
    requests.SettleContradiction,
    fields={"contradiction": Field("ID"), "keep": Field("A|B|both")},
)
def settle(call: Call, answer: SettledContradiction) -> None:
    """Settle a contradiction: keep one side, or both.

    The note of a closed side gets `valid_to` and `status: superseded`; nothing is deleted. The
    ledger records the decision. If both hold, the contradiction is listed again once one of the
    notes has changed.

    Examples:
        djinn contradiction settle con_3v9qk2m7xd --keep A --note "Anna said so."
    """
    if answer.closed:
        say(clean(f"closed {answer.closed.title} -> {answer.closed.vault}/{answer.closed.path}"))
    else:
        say(f"recorded that both hold: {answer.contradiction.id}")


def _print_side(name: str, side: ContradictionSide) -> None:
    about = [local_day(side.date), f"{side.vault}/{side.path}"]
    about += [text for text in (side.source, side.rule, side.author) if text]
    about += side.evidence
    say(f"  {name}  {clean(side.title)}: {shortened(side.text, WIDEST)}")
    say(f"     {dim(clean('  '.join(about)))}")
