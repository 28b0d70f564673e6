"""djinn context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean_lines, say
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.briefing.requests import BuildContext

if TYPE_CHECKING:
    from djinn_memory.memories.briefing.requests import ContextBundle


@command(
    "context",
    BuildContext,
    fields={"task": Field(words=True, stdin="value")},
)
def context(call: Call, answer: ContextBundle) -> None:
    """Print what memory knows about a task, within a token budget.

    It begins with the profile of the agent and the events of its day. One search ranks episodes,
    patterns, entities and documents. The best of each type are printed with their sources, and the
    type with the best memory comes first. Suggestions name due commitments, open gaps and patterns
    that apply now.

    Examples:
        djinn context "plan the trip to the island"
        djinn context "mend the login" --budget 2000 --limit-per-type 3
        djinn context
    """
    from djinn_memory.memories.briefing.markdown import markdown

    say(clean_lines(markdown(answer)).rstrip())
