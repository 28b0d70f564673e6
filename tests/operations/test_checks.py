"""Values that do not fit a request are refused on one line, which names the argument."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.mcp.tool import Tool
from djinn_memory.mcp.tools import TOOLS

HOSTILE: tuple[Any, ...] = (
    True, 0, -1, 50, 99, 2.5, 3.0, 1e300, 10**30, 10**400, math.nan, math.inf, -math.inf,
    "", "a\nb", "x" * 300_000, [], ["a"], [1], [None], [[]], ["x" * 9999], ["a"] * 1500,
    {}, {"a": 1}, [{"a": [1]}],
)  # fmt: skip

REQUIRED = {"action": "list", "paths": ["/no/such/file"]}


def calls(tool: Tool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of a tool, each with a value that may not fit, and the name of its argument."""
    schema = tool.input_schema()
    most = {name: REQUIRED.get(name, "x") for name in schema.get("required", ())}
    if "action" in most:
        most["action"] = next(iter(tool.by_action))
    for name in schema["properties"]:
        for value in HOSTILE:
            yield name, {**most, name: value}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_hostile_arguments(tool: Tool) -> None:
    """What is refused is what msgspec could not convert."""
    for name, given in calls(tool):
        try:
            msgspec.convert(given, tool._type)
        except msgspec.ValidationError:
            with pytest.raises(UsageError) as refused:
                tool.parse(given)
            said = str(refused.value)
            assert said.startswith((f"{tool.name}: {name}: ", f"{tool.name}: {name}[0]: "))
            assert said.isprintable() and len(said) < 200
        else:
            assert tool.parse(given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "title: missing required field"),
        ({"a\nb" * 100: 1}, f"{('ab' * 100)[:100]}: no such argument; known: "),
        ({"title": {"a": [1]}}, "title: expected str, got object"),
        ({"tags": ["a", 7]}, "tags[1]: expected str, got int"),
        ({"tags": ["a", "x" * 501]}, "tags[1]: give at most 500 characters"),
        ({"tags": ["a"] * 51}, "tags: give at most 50 values"),
        ({"importance": "high"}, "importance: expected float | null, got str"),
        ({"importance": 10**400}, "importance: give a number from 0 to 1"),
        ({"importance": math.nan}, "importance: give a number from 0 to 1"),
        ({"existing": "a\nb" * 100}, "existing: invalid enum value 'a\\nb"),
        ({"force": 1}, "force: expected bool | null, got int"),
    ],
)  # fmt: skip
def test_what_is_said_of_them(given: dict[str, Any], said: str) -> None:
    [remember] = [tool for tool in TOOLS if tool.name == "remember"]
    with pytest.raises(UsageError) as refused:
        remember.parse({"type": "x", **({"title": "x"} if given else {}), **given})
    assert str(refused.value).startswith(f"remember: {said}")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limit": "many"}, "limit 'many': give a whole number"),
        ({"limit": [3]}, r"limit \[3\]: give a whole number"),
        ({"limit": math.nan}, "limit nan: give a whole number"),
        ({"rerank": "yes"}, "rerank 'yes': give True or False"),
        ({"mode": 3}, "mode 3: give one of hybrid, words, meaning, graph"),
        ({"tags": {"a": 1}}, "tags {'a': 1}: give a list, even for a single value"),
    ],
)
def test_what_python_is_told(djinn: Djinn, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=f"^{said}$"):
        djinn.search("lamp", **given)
