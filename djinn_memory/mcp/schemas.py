"""JSON Schemas for clients, reduced to the parts that a model needs for calls and answers.

Every session begins with the schemas of all tools. Nested definitions are therefore inlined, and
redundant parts are left out: titles, empty defaults, and lengths, which the server checks and
explains.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

Schema = dict[str, Any]

_NULL: Schema = {"type": "null"}
_UNSAID = ("minLength", "maxLength", "minItems", "maxItems", "minimum")
"""Bounds that a call rarely violates."""
_EMPTY: tuple[object, ...] = (None, False, [], (), "", {})


def arguments_schema(kind: type[Struct], hints: Mapping[str, str]) -> Schema:
    """The schema of a call. `hints` replace the descriptions of arguments, or remove them."""
    root, definitions = _document(kind)
    properties = {name: _argument(node, definitions) for name, node in root["properties"].items()}
    for name, hint in hints.items():
        if hint:
            properties[name]["description"] = hint
        else:
            del properties[name]["description"]
    schema: Schema = {"type": "object", "properties": properties}
    if root.get("required"):
        schema["required"] = root["required"]
    return schema


def answer_schema(kind: type[Struct]) -> Schema:
    """The schema of an answer: its fields, and the fields of nested records."""
    root, definitions = _document(kind)
    return _answer(root, definitions, 2)


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
        if key not in _UNSAID and not (key == "default" and part in _EMPTY)
    }
    if "enum" in slim:
        slim["type"] = "string"
    if "items" in slim:
        slim["items"] = _argument(slim["items"], definitions)
    if "anyOf" in slim:
        slim["anyOf"] = [_argument(choice, definitions) for choice in choices]
    return slim


def _answer(node: Schema, definitions: Schema, depth: int) -> Schema:
    node = _resolved(node, definitions)
    if "anyOf" in node:
        values = [choice for choice in node["anyOf"] if choice != _NULL]
        value = _answer(values[0], definitions, depth) if len(values) == 1 else {}
        return {**value, "type": [value["type"], "null"]} if "type" in value else {}
    schema: Schema = {"type": node["type"]} if "type" in node else {}
    if "enum" in node:
        schema["type"] = "string"
    if depth and "properties" in node:
        schema["properties"] = {
            name: _answer(part, definitions, depth - 1) for name, part in node["properties"].items()
        }
    if depth and (items := node.get("items")):
        schema["items"] = _answer(items, definitions, depth)
    return schema


def _resolved(node: Schema, definitions: Schema) -> Schema:
    while "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]]
    return node
