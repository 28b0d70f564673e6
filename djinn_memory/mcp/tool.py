"""The definition of a tool: operations for clients, with schemas made from their structs.

Every session begins with the schemas of all tools. They are therefore reduced to the parts that a
model needs for calls: nested definitions are inlined, and redundant parts are left out, such as
titles, empty defaults, and lengths, which the server checks and explains.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Optional, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import FieldInfo, fields, replace

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, UsageError
from djinn_memory.operations import OPERATIONS, Verb
from djinn_memory.operations.caller import FOREIGN, Caller
from djinn_memory.operations.checks import field_types, misfit

Schema = dict[str, Any]

_NULL: Schema = {"type": "null"}
_UNSAID = ("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum")
"""Bounds that a call rarely violates."""


def _arguments_schema(
    kind: type[Struct], hints: Mapping[str, str], described: Collection[str]
) -> Schema:
    """The schema of a call. Only `described` arguments keep their descriptions; others get one from
    `hints`, or none.
    """
    root, definitions = _document(kind)
    properties = {name: _argument(node, definitions) for name, node in root["properties"].items()}
    for name, node in properties.items():
        if name in hints:
            node["description"] = hints[name]
        elif name not in described:
            node.pop("description", None)
    schema: Schema = {"type": "object", "properties": properties}
    if root.get("required"):
        schema["required"] = root["required"]
    return schema


def _document(kind: type[Struct]) -> tuple[Schema, Schema]:
    document = msgspec.json.schema(kind)
    definitions: Schema = document.pop("$defs", {})
    return definitions[document["$ref"].rpartition("/")[2]], definitions


def _argument(node: Schema, definitions: Schema) -> Schema:
    """An argument. Null and the empty default are equivalent to omitting the argument."""
    node = _resolved(node, definitions)
    choices = [choice for choice in node.get("anyOf", ()) if choice != _NULL]
    if len(choices) == 1:
        node = {**choices[0], **{key: part for key, part in node.items() if key != "anyOf"}}
    slim = {
        key: part
        for key, part in node.items()
        if key not in _UNSAID and not (key == "default" and not (part and isinstance(part, str)))
    }
    if "enum" in slim:
        slim["type"] = "string"
    if "items" in slim:
        slim["items"] = _argument(slim["items"], definitions)
    if "anyOf" in slim:
        slim["anyOf"] = [_argument(choice, definitions) for choice in choices]
    return slim


def _resolved(node: Schema, definitions: Schema) -> Schema:
    while "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]]
    return node


AGENT = Caller()
"""Any agent."""

_DAYS = frozenset({"since", "until", "as_of"})

OTHER_NARROWING = frozenset({"planes", "domains", "paths", "where"})
"""Filters that no tool offers, because a model that uses many filters misses memories."""

_HINTS = {"types": "Such as decision.", "since": "2026-03 or 30d.", "shared": "For all agents."}
"""Descriptions of arguments in the tools that have them, unless a tool has its own."""


class Argument(Struct, frozen=True):
    """An argument that differs from the request's field, or that only the tool has."""

    type: Any
    default: Any = None


def required_text(most: int, description: str) -> Argument:
    """A required text of 1 to `most` characters."""
    meta = Meta(min_length=1, max_length=most, description=description)
    return Argument(Annotated[str, meta], NODEFAULT)


def optional_text(
    most: int, description: str | None = None, *, least: int | None = None
) -> Argument:
    """An optional text of `least` to `most` characters."""
    meta = Meta(min_length=least, max_length=most, description=description)
    return Argument(Annotated[str, meta] | None)


def number(
    least: int, most: int, description: str | None = None, default: int | None = None
) -> Argument:
    """An optional whole number within bounds."""
    kind = Annotated[int, Meta(ge=least, le=most, description=description)]
    return Argument(kind | None if default is None else kind, default)


Text = Callable[[Any], Sequence[str]]


class Tool(Struct, frozen=True, dict=True, kw_only=True):
    """One operation, or several on a noun that the argument `action` distinguishes."""

    text: Text
    """Writes the answer as text for a model, in lines or paragraphs, without the problems. Its
    docstring tells a model what the tool does, and when to use it; `{required}` stands for the
    arguments that actions require. The tool has the function's name, and its answer has the type of
    the function's parameter."""
    operation: str
    """The name of the operation; with actions, the name of their namespace."""
    actions: Sequence[str] = ()
    """The names of the actions: operations in the namespace."""
    others: Mapping[str, str] = {}
    """Actions with another name than their operation, or of another namespace."""
    default: str = ""
    """The action of a call that names none."""
    separator: str = "\n"
    """The separator between the parts that `text` returns."""
    present: Callable[[Any, Any], Any] | None = None
    """Makes the tool's answer from the operation's answer and the arguments. By default, fields
    that the tool's answer shares with the operation's are copied."""
    without: frozenset[str] = frozenset()
    """Fields of the requests that clients cannot set. They keep their defaults."""
    names: Mapping[str, str] = {}
    """Arguments with a different name than their field, by field."""
    arguments: Mapping[str, Argument] = {}
    """Arguments that differ from the requests' fields."""
    hints: Mapping[str, str] = {}
    """Descriptions of arguments whose name is not enough, shorter than those of the fields."""
    prepare: Callable[[dict[str, Any]], None] = lambda _: None
    """Changes the fields of a request before it is created."""
    check: Callable[[Djinn, Caller, Any], Any] = lambda *given: given[-1]
    """The request as this caller may make it. Raises a `DjinnError` if only a person may."""
    finish: Callable[[Caller, Any], None] = lambda *_: None
    """Runs after the operation."""

    @property
    def name(self) -> str:
        """The name of the tool for clients."""
        return self.text.__name__.rstrip("_")

    @cached_property
    def answer(self) -> type[Struct]:
        """The type of the answer."""
        hints = get_type_hints(self.text)
        kind: type[Struct] = next(iter(hints.values()))
        return kind

    @cached_property
    def by_action(self) -> dict[str, Verb]:
        """The operations that agents may call. A tool without actions has one under the key ""."""
        named = {action: f"{self.operation}.{action}" for action in self.actions}
        names = {**named, **self.others}
        verbs = ((key, OPERATIONS[name]) for key, name in (names or {"": self.operation}).items())
        return {action: verb for action, verb in verbs if AGENT.may_call(verb)}

    def allowed(self, caller: Caller) -> dict[str, Verb]:
        """The operations that the caller may run; the tool is offered if there are any."""
        return {action: verb for action, verb in self.by_action.items() if caller.may_call(verb)}

    @property
    def reads(self) -> bool:
        """Whether no operation of the tool writes."""
        return not any(verb.writes for verb in self.by_action.values())

    @cached_property
    def description(self) -> str:
        """The description for a model: what the operations do, and when to use them."""
        required = ", ".join(filter(None, map(self._signature, self.by_action)))
        return inspect.cleandoc(self.text.__doc__ or "").replace(
            "{required}", f"Required: {required}."
        )

    def input_schema(self, caller: Caller = AGENT) -> dict[str, Any]:
        """The JSON Schema of the arguments, with the actions that the caller may run."""
        root = _arguments_schema(self._type, {**_HINTS, **self.hints}, self.arguments)
        if "" not in self.by_action:
            root["properties"]["action"]["enum"] = [*self.allowed(caller)]
        return root

    @cached_property
    def argument_names(self) -> dict[str, str]:
        """The arguments of the tool, by field of a request."""
        known = {entry.name: entry.encode_name for entry in fields(self._type)}
        return known | {field: known[name] for field, name in self.names.items()}

    def parse(self, arguments: Mapping[str, Any]) -> Struct:
        """Check the arguments of a call. Raises `UsageError` for invalid ones."""
        for name in sorted(FOREIGN & arguments.keys() - set(self.argument_names.values())):
            raise Refused(
                f"{self.name} takes no {name!r}, because this server serves only one agent; "
                "leave it out"
            )
        # A model often writes null for an omitted field, or an empty text for a day.
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None and not (name in _DAYS and value == "")
        }
        action = str(given.get("action", self.default))
        likely = self.offered(action) if action in self.by_action else ()
        name, why = misfit(self._type, given, [self.argument_names[name] for name in likely])
        if why:
            raise UsageError(f"{self.name}: {name}: {why}")
        return msgspec.convert(given, self._type)

    def offered(self, action: str) -> dict[str, FieldInfo]:
        """The fields of an action's request that clients can set."""
        return self._offered(self.by_action[action].request)

    def run(self, djinn: Djinn, caller: Caller, arguments: Struct) -> Any:
        """Run the operation and present its answer. Raises `Refused` on a read-only server."""
        action = getattr(arguments, "action", "")
        operation = self.by_action[action]
        if not caller.may_call(operation):
            called = f"{self.name} {action}".strip()
            raise Refused(f"this server is read-only, so {called} is not available; do not call it")
        request = self._request(caller, operation, arguments)
        result = operation.bind(djinn)(self.check(djinn, caller, request))
        self.finish(caller, result)
        answer: Any = (
            self.present(result, arguments)
            if self.present
            else msgspec.convert(result, self.answer, from_attributes=True)
        )
        if "problems" not in answer.__struct_fields__:
            return answer
        return replace(answer, problems=tuple(dict.fromkeys([*djinn.problems, *answer.problems])))

    def render(self, answer: Any) -> str:
        """The text of an answer with its problems."""
        problems = getattr(answer, "problems", ())
        notes = [f"Note: {problem.what}: {problem.why}" for problem in problems]
        return self.separator.join([*self.text(answer), *notes])

    def _request(self, caller: Caller, operation: Verb, arguments: Struct) -> Struct:
        request = operation.request
        known = {entry.name: entry for entry in fields(request)}
        types = field_types(request)
        served = known.keys() - self.without
        values: dict[str, Any] = {name: caller.own[name] for name in caller.own.keys() & served}
        for name in self._offered(request):
            value = getattr(arguments, self.names.get(name, name))
            if value is not None:
                values[name] = value
            elif known[name].required and not types[name].nullable:
                action = getattr(arguments, "action", "")
                needed = f"`{self.argument_names[name]}`{_meaning(types[name].description)}"
                raise UsageError(f"{self.name}: {action} needs {needed}")
            elif known[name].required:
                values[name] = None
        self.prepare(values)
        return request(**values)

    @cached_property
    def _type(self) -> type[Struct]:
        """The struct of the arguments: the fields of all requests."""
        rename: dict[str, str] = {}
        offered: dict[str, Argument] = {}
        if "" not in self.by_action:
            default = self.default or NODEFAULT
            offered["action"] = Argument(Literal[tuple(self.by_action)], default)
        for operation in self.by_action.values():
            for name, entry in self._offered(operation.request).items():
                argument = self.names.get(name, name)
                if argument not in offered:
                    offered[argument] = self._argument(entry)
                    if argument == name and entry.encode_name != name:
                        rename[name] = entry.encode_name
        offered |= self.arguments
        # Required arguments come first: a struct wants them before those with a default.
        listed = sorted(offered.items(), key=lambda pair: pair[1].default is not NODEFAULT)
        return msgspec.defstruct(
            f"{self.name.title()}Arguments",
            [(name, argument.type, argument.default) for name, argument in listed],
            rename=rename or None,
            forbid_unknown_fields=True,
        )

    def _argument(self, entry: FieldInfo) -> Argument:
        if entry.default is None or (entry.required and "" in self.by_action):
            return Argument(entry.type, entry.default)
        # Another action may do without it, or have another default.
        return Argument(Optional[entry.type], None)  # noqa: UP045 - the type is a value here

    def _offered(self, request: type[Struct]) -> dict[str, FieldInfo]:
        return {
            entry.name: entry
            for entry in fields(request)
            if AGENT.may_set(entry.name) and entry.name not in self.without
        }

    def _signature(self, action: str) -> str:
        types = field_types(self.by_action[action].request)
        needed = [
            self.argument_names[name]
            for name, entry in self.offered(action).items()
            if entry.required and not types[name].nullable
        ]
        return f"{action}({', '.join(needed)})" if needed else ""


def tool(operation: str, **settings: Any) -> Callable[[Text], Tool]:
    """Make a tool from the function that writes its answer as text."""

    def declare(text: Text) -> Tool:
        return Tool(text=text, operation=operation, **settings)

    return declare


def _meaning(description: str) -> str:
    return f", {description[:1].lower()}{description[1:].rstrip('.')}" if description else ""
