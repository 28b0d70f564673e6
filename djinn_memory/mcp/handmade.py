"""Tools whose verbs are not operations yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import fields

from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.tool import Tool, _docstring, _slim_argument, schema

A = TypeVar("A", bound=Struct)
R = TypeVar("R", bound=Struct)


class HandTool(Struct, Generic[A, R], frozen=True):
    """A verb, as a client may call it."""

    name: str
    title: str
    _type: type[A]
    answer: type[R]
    work: Callable[[ClientContext, A], R]
    text: Callable[[R], str]
    writes: bool | frozenset[str] = False
    removes: bool = False
    operations: Mapping[str, str] = {}
    by_action: Mapping[str, Any] = {}

    def offers(self, *, read_only: bool) -> bool:
        return not (read_only and self.writes is True)

    parse = Tool.parse

    def run(self, context: ClientContext, arguments: A) -> R:
        if self.writes is True or (
            self.writes and getattr(arguments, "action", None) in self.writes
        ):
            context.may_write(self.name)
        return self.work(context, arguments)

    @property
    def argument_names(self) -> dict[str, str]:
        return {entry.name: entry.encode_name for entry in fields(self._type)}

    @property
    def description(self) -> str:
        return _docstring(self._type)

    def input_schema(self, *, read_only: bool = False) -> dict[str, Any]:
        root = schema(self._type)
        if read_only and isinstance(self.writes, frozenset):
            action = root["properties"]["action"]
            action["enum"] = [name for name in action["enum"] if name not in self.writes]
        for argument in root["properties"].values():
            _slim_argument(argument)
        return root

    @property
    def output_schema(self) -> dict[str, Any]:
        return schema(self.answer)
