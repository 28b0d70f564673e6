"""JSON Schemas for clients, reduced to the parts that a model needs for calls.

Every session begins with the schemas of all tools. Nested definitions are therefore inlined, and
redundant parts are left out: titles, empty defaults, and lengths, which the server checks and
explains.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Struct

Schema = dict[str, Any]

_NULL: Schema = {"type": "null"}
_UNSAID = ("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum")
"""Bounds that a call rarely violates."""


def arguments_schema(
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
