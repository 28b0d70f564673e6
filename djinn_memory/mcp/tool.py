"""What a tool is: its arguments and its answer are structs, and its schemas are made of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from djinn_memory.errors import Refused, UsageError
from djinn_memory.mcp.context import ClientContext

A = TypeVar("A", bound=Struct)
R = TypeVar("R", bound=Struct)

FOREIGN = frozenset({"agent", "agent_id", "home", "user"})
"""What a client may try to say of whose memory is meant: that was settled when the server began."""


class Tool(Struct, Generic[A, R], frozen=True):
    """A verb, as a client may call it."""

    name: str
    title: str
    arguments: type[A]
    """Its docstring tells a model when to use the tool and when not."""
    answer: type[R]
    run: Callable[[ClientContext, A], R]
    text: Callable[[R], str]
    """The answer as a model reads it best."""
    writes: bool | frozenset[str] = False
    """Whether it writes into the memory; of a tool with an `action`, which of them do."""
    removes: bool = False
    """Whether it may take away what was remembered."""
    operations: Mapping[str, str] = {}
    """The operation of each action, such as `gaps.list` for `list`."""

    def asked(self, given: Mapping[str, Any]) -> A:
        """The arguments as a value; `UsageError` says what is wrong with them."""
        for name in sorted(FOREIGN & given.keys() - properties(self.arguments).keys()):
            raise Refused(
                f"{self.name} takes no {name!r}: this server speaks for one agent, fixed at its "
                "start; leave it out"
            )
        # What a model leaves out it often writes as null.
        filled = {key: value for key, value in given.items() if value is not None}
        try:
            return msgspec.convert(filled, self.arguments)
        except msgspec.ValidationError as error:
            raise UsageError(f"{self.name}: {_plain(str(error))}") from None

    def writing(self, asked: A) -> bool:
        """Whether a call with these arguments writes into the memory."""
        if isinstance(self.writes, bool):
            return self.writes
        return getattr(asked, "action", None) in self.writes

    @property
    def description(self) -> str:
        """For a model."""
        return inspect.cleandoc(self.arguments.__doc__ or "")

    def input_schema(self, *, read_only: bool = False) -> dict[str, Any]:
        """The JSON Schema of its arguments; on a server that only reads, without what writes."""
        found = schema(self.arguments)
        if read_only and not isinstance(self.writes, bool):
            action = found["properties"]["action"]
            action["enum"] = [one for one in action["enum"] if one not in self.writes]
        return found

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of its answer."""
        return schema(self.answer)


def schema(kind: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct, an object at its root as the protocol wants it."""
    made = msgspec.json.schema(kind)
    parts = made.pop("$defs", {})
    root: dict[str, Any] = parts.pop(made["$ref"].rpartition("/")[2])
    for name in ("title", "description"):
        root.pop(name, None)
    if parts:
        root["$defs"] = parts
    _slim(root)
    return root


def properties(kind: type[Struct]) -> dict[str, Any]:
    """The schema of each argument."""
    found: dict[str, Any] = schema(kind)["properties"]
    return found


def _slim(node: Any) -> None:
    """Take out what a model has to read and learns nothing from, and say each type."""
    if isinstance(node, list):
        for one in node:
            _slim(one)
    if not isinstance(node, dict):
        return
    if "default" in node and node["default"] in (None, [], "", {}):
        del node["default"]
    if "enum" in node and "type" not in node:
        node["type"] = "string"
    if "prefixItems" in node:
        # Clients that validate by an older draft take its `items: false` for the items themselves.
        first, *others = node.pop("prefixItems")
        node["items"] = first if all(one == first for one in others) else {}
    if isinstance(node.get("anyOf"), list):
        some = [one for one in node["anyOf"] if one != {"type": "null"}]
        if len(some) == 1 and "description" in node:
            # Left out and null mean the same, see `Tool.asked`.
            del node["anyOf"]
            node |= some[0] | {"description": node["description"]}
    for one in node.values():
        _slim(one)


def _plain(text: str) -> str:
    """An error of msgspec as one says it: `limit: expected int <= 50`."""
    what, at, where = text.partition(" - at `$")
    name = where.strip("`").lstrip(".")
    what = what.replace("Object ", "").replace("`", "")
    what = what[:1].lower() + what[1:]
    return f"{name}: {what}" if at and name else what
