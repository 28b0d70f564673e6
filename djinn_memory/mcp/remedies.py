"""Writes operations as a model calls them: as tools with arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from djinn_memory.errors import Remedy, Wording
from djinn_memory.mcp.tool import AGENT, Tool
from djinn_memory.operations.caller import Caller
from djinn_memory.operations.wording import CommandWording


class ToolWording(Wording):
    """The wording for clients of one tool. A person must run what no tool offers.

    Without `tools`, it is for a process that reads documents.
    """

    referred_clause = "ask a person to {}"
    referred_call = "{} (ask a person)"

    def __init__(
        self, tool: Tool | None = None, tools: Iterable[Tool] = (), caller: Caller = AGENT
    ) -> None:
        self._names = tool.argument_names if tool else {}
        self._calls = {
            operation.name: (tool, action)
            for tool in tools
            for action, operation in tool.allowed(caller).items()
        }

    def offers(self, remedy: Remedy) -> bool:
        """Whether a tool offers the operation with these arguments, or this tool the arguments."""
        if not remedy.operation:
            return remedy.arguments.keys() <= self._names.keys()
        if remedy.operation not in self._calls:
            return False
        tool, action = self._calls[remedy.operation]
        return remedy.arguments.keys() <= tool.offered(action).keys()

    def other(self) -> Wording:
        """The wording of the command line, which a person uses."""
        return CommandWording()

    def written(self, remedy: Remedy) -> str:
        """The tool with its arguments, or only the arguments."""
        if not remedy.operation:
            return _shown(remedy.arguments, self._names)
        tool, action = self._calls[remedy.operation]
        named = {} if action == tool.default else {"action": action}
        parts = _shown(named, {}), _shown(remedy.arguments, tool.argument_names)
        shown = " and ".join(filter(None, parts))
        return f"`{tool.name}` with {shown}" if shown else f"`{tool.name}`"

    def argument(self, name: str) -> str:
        """The argument of the tool for a field."""
        return f"`{self._names.get(name, name)}`"


def _shown(arguments: Mapping[str, object], names: Mapping[str, str]) -> str:
    return " and ".join(
        f"`{names.get(name, name)}{_given(value)}`" for name, value in arguments.items()
    )


def _given(value: object) -> str:
    if value is None:
        return ""
    return f": {value if isinstance(value, str) else json.dumps(value)}"
