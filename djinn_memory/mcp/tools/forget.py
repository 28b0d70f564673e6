"""The tool that moves a note to the trash."""

from __future__ import annotations

from djinn_memory.mcp.answers import Answer, MemoryPlace, headline, project
from djinn_memory.mcp.tool import NAME_HINT, tool
from djinn_memory.memories.verbs import MemoryDeletion


class ForgetAnswer(Answer):
    """A memory in the trash."""

    memory: MemoryPlace
    moved_to: str
    """The path of the file in the trash."""


def _present(result: MemoryDeletion, _: object) -> ForgetAnswer:
    return ForgetAnswer(project(result.memory, MemoryPlace), str(result.moved_to))


@tool(
    "Forget a memory",
    "memories.delete",
    present=_present,
    without=frozenset({"digest", "dry_run"}),
    hints={"name": NAME_HINT},
)
def forget(answer: ForgetAnswer) -> list[str]:
    """Move a note with its earlier versions to the trash, from which a person can restore it.

    Use it when the user asks, or when you wrote the note by mistake. Not for outdated
    content: `remember` with existing=revise keeps the old version.
    Example: {"name": "shared:ideas/old.md"}
    """
    return [f"Moved to the trash: {headline(answer.memory)}", answer.moved_to]
