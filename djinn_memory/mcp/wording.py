"""Says in a tool's words what the verbs say in those of the command line."""

from __future__ import annotations

import re
from typing import Any

_OPTION = re.compile(r"(?<![\w-])--(?P<option>[a-z][a-z-]*)")
_WORDS = re.compile(
    # What a client said itself stays as it was said.
    r"(?<!\w)(?P<quoted>'[^']*'|\"[^\"]*\")(?!\w)"
    r"|`djinn (?P<command>[a-z]+(?: [a-z]+)?)(?P<rest>[^`]*)`"
    rf"|(?P<choice>give )?{_OPTION.pattern}(?P<otherwise>, or )?"
)

_NAMES = {"memory list": "list", "memory search": "search", "memory show": "read"}
"""Tools that are not called as their command."""


def in_arguments(said: str, tool: Any | None) -> str:
    """A remedy with tools instead of commands, and arguments of `tool` instead of options.

    A command that is no tool is for a person to run. A choice that `tool` does not have goes.
    """

    def worded(match: re.Match[str]) -> str:
        if match["quoted"]:
            return match[0]
        if match["command"]:
            return _call(match["command"], match["rest"]) or f"{match[0]} (ask a person)"
        name = match["option"]
        found = _argument(tool, name) if tool else None
        if found is None and match["choice"] and match["otherwise"]:
            return ""
        shown = _shown(*found) if found else f"`{name.replace('-', '_')}`"
        return f"{match['choice'] or ''}{shown}{match['otherwise'] or ''}"

    return _WORDS.sub(worded, said)


def _call(command: str, rest: str) -> str | None:
    """The tool that does what a command does, with its arguments; None where there is none."""
    from djinn_memory.mcp.tools import TOOLS

    tools = {one.name: one for one in TOOLS}
    noun, _, verb = command.partition(" ")
    tool = tools.get(_NAMES.get(command, noun))
    if tool is None:
        return None
    found = [_argument(tool, name) for name in (verb, *_OPTION.findall(rest)) if name]
    # `working list --tasks` is an action of its own: of two that exclude each other the last.
    given = dict(one for one in found if one)
    if not given:
        return f"`{tool.name}`"
    return f"`{tool.name}` with {' and '.join(_shown(*one) for one in given.items())}"


def _argument(tool: Any, option: str) -> tuple[str, str] | None:
    """The argument of a tool that is an option of its command, and its value if it has but one."""
    name = option.replace("-", "_")
    known = tool.input_schema()["properties"]
    for argument in (name, f"{name}s"):
        if argument in known:
            return argument, "true" if known[argument].get("type") == "boolean" else ""
    return next(
        ((argument, name) for argument, one in known.items() if name in one.get("enum", ())), None
    )


def _shown(argument: str, value: str) -> str:
    return f"`{argument}: {value}`" if value else f"`{argument}`"
