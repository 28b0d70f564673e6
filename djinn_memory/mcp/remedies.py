"""How a model writes an operation: as a call of a tool with arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from djinn_memory.errors import Remedy, Wording
from djinn_memory.mcp.tool import Tool, properties
from djinn_memory.operations.commands import CommandWording


class ToolWording(Wording):
    """The words of one tool. A command that is no tool is for a person to run."""

    def __init__(self, tool: Tool[Any, Any] | None, tools: Iterable[Tool[Any, Any]]) -> None:
        self._tool = tool
        self._calls = {
            operation: (tool.name, action)
            for tool in tools
            for action, operation in tool.operations.items()
        }
        self._command = CommandWording()

    def remedy(self, remedy: Remedy) -> str | None:
        """A remedy as a clause; None where the tool does not have the argument."""
        if not remedy.operation and not (self._tool and self._has(remedy)):
            return None
        if not remedy.operation or remedy.operation in self._calls:
            return super().remedy(remedy)
        clause = f"ask a person to run {self._command.call(remedy)}"
        return f"{clause}, which {remedy.purpose}" if remedy.purpose else clause

    def call(self, remedy: Remedy) -> str:
        """The tool with its arguments, or only the arguments."""
        arguments = dict(remedy.arguments)
        tool, action = self._calls.get(remedy.operation, ("", ""))
        if action:
            arguments = {"action": action, **arguments}
        shown = " and ".join(_shown(name, value) for name, value in arguments.items())
        if not tool:
            return shown
        return f"`{tool}` with {shown}" if shown else f"`{tool}`"

    def _has(self, remedy: Remedy) -> bool:
        return (
            self._tool is not None
            and remedy.arguments.keys() <= properties(self._tool.arguments).keys()
        )


def _shown(name: str, value: object) -> str:
    if value is None:
        return f"`{name}`"
    return f"`{name}: {value if isinstance(value, str) else json.dumps(value)}`"
