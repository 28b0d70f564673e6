"""The description of the API: OpenAPI 3.1 from the structs of the operations, and a page of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from djinn_memory import __version__
from djinn_memory.models import Problem
from djinn_memory.operations import OPERATIONS, Verb
from djinn_memory.operations.checks import FieldType, field_types, fields_of
from djinn_memory.web.api.operations import ALIASES, paths_in
from djinn_memory.web.api.problems import MEDIA_TYPE, ProblemDetail

Schema = dict[str, Any]

_REF = "#/components/schemas/{name}"

_SAMPLES: Mapping[str, Any] = {
    "action": "restart",
    "aliases": ["Ada"],
    "category": "server",
    "description": "Which port does the proxy use?",
    "field": "type",
    "file": "memory.tar.gz",
    "gap": "gap_0123456789",
    "into": "Ada Lovelace",
    "items": ["1"],
    "key": "port",
    "mentions": ["all"],
    "name": "Use Postgres",
    "names": ["ep_0123456789"],
    "other": "Ada Byron",
    "paths": ["report.pdf"],
    "query": "why did we choose Postgres",
    "result": "success",
    "target": "last",
    "task": "add a second database",
    "text": "It has row locks, and we know it.",
    "title": "Use Postgres",
    "to": "MyApp",
    "type": "decision",
    "value": "8080",
    "values": ["Ask first."],
}
"""Values of required fields in examples."""


@cache
def description() -> Schema:
    """The OpenAPI document."""
    verbs = OPERATIONS.values()
    kinds = [kind for verb in verbs for kind in (verb.request, verb.answer)]
    schemas, components = msgspec.json.schema_components(
        [*kinds, Problem, ProblemDetail], schema_hook=_schema_of, ref_template=_REF
    )
    components = _simple(components)
    known = dict(zip([*kinds, Problem, ProblemDetail], schemas, strict=True))
    for verb in verbs:
        answer = components[known[verb.answer]["$ref"].rpartition("/")[2]]
        problems = {"type": "array", "items": known[Problem]}
        answer["properties"].setdefault("problems", problems)
        if "skip" in field_types(verb.request):
            answer["properties"]["next_cursor"] = {"type": "string"}
    paths: dict[str, Schema] = {}
    for verb in verbs:
        paths[f"/v1/{verb.name}"] = {"post": _write(verb, known, "")}
        if not (verb.writes or verb.logs):
            paths[f"/v1/{verb.name}"]["get"] = _read(verb, known, "get.", {})
    for alias in ALIASES:
        verb = OPERATIONS[alias.operation]
        path = paths.setdefault(alias.path, {})
        make = _write(verb, known, "alias.") if alias.method == "POST" else _read(
            verb, known, "alias.get.", {field: name for name, field in alias.names.items()}
        )  # fmt: skip
        path.setdefault(alias.method.lower(), make)
    for method, place, told, answer in _RESOURCES:
        schema = known[OPERATIONS[answer].answer] if answer in OPERATIONS else None
        paths.setdefault(place, {})[method] = _resource(method, place, told, answer, schema)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "djinn",
            "version": __version__,
            "description": "Long-term memory for people and their AI agents.",
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"key": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": components,
            "responses": {
                "Problem": {
                    "description": "The request failed; `remedies` say what to do.",
                    "content": {MEDIA_TYPE: {"schema": known[ProblemDetail]}},
                }
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _simple(schema: Any) -> Any:
    """A schema in the parts of JSON Schema that generators of clients know: no tuples."""
    if isinstance(schema, list):
        return [_simple(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    simple = {name: _simple(part) for name, part in schema.items()}
    parts = simple.pop("prefixItems", None)
    if parts:
        different = [part for number, part in enumerate(parts) if part not in parts[:number]]
        simple["items"] = different[0] if len(different) == 1 else {"anyOf": different}
    return simple


def _schema_of(kind: type) -> Schema:
    if issubclass(kind, Path):
        return {"type": "string"}
    raise NotImplementedError


_RESOURCES = (
    ("get", "/v1/notes/{name}", "Show a note, by its id or `vault/path`.", "memories.show"),
    ("put", "/v1/notes/{name}", "Write a whole note, with If-Match or If-None-Match: *.",
     "memories.write"),
    ("patch", "/v1/notes/{name}", "Edit fields, tags and status of a note.", "memories.edit"),
    ("get", "/v1/memory-scoring/config", "Show the parameters of scoring.", "application/json"),
    ("put", "/v1/memory-scoring/config", "Set parameters of scoring.", "application/json"),
    ("delete", "/v1/memory-scoring/config", "Restore the defaults.", "application/json"),
    ("get", "/v1/graph", "The graph of links as binary arrays.", "application/octet-stream"),
    ("get", "/events", "Server-sent events: changes of the index, and your own writes.",
     "text/event-stream"),
    ("get", "/metrics", "Numbers of the server and of the index, for Prometheus.", "text/plain"),
)  # fmt: skip
"""The routes that are no operations: method, path, summary, and the operation with the answer, or
the media type."""


def _resource(method: str, path: str, told: str, answer: str, schema: Schema | None) -> Schema:
    media, content = (answer, {}) if schema is None else ("application/json", {"schema": schema})
    resource: Schema = {
        "operationId": re.sub(r"\W+", "_", f"{method}{path}").rstrip("_"),
        "summary": told,
        "tags": ["resources"],
        "responses": {
            "200": {"description": "The answer.", "content": {media: content}},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if "{name}" in path:
        name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
        resource["parameters"] = [name]
    if method in ("put", "patch"):
        body = {"application/json": {"schema": {"type": "object"}}}
        resource["requestBody"] = {"required": True, "content": body}
    return resource


def _operation(verb: Verb, known: Mapping[Any, Schema], prefix: str) -> Schema:
    noun = verb.name.rpartition(".")[0] or "everyday"
    return {
        "operationId": f"{prefix}{verb.name}".replace(".", "_"),
        "summary": summary(verb),
        "tags": [noun],
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {"application/json": {"schema": known[verb.answer]}},
            },
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }


def _write(verb: Verb, known: Mapping[Any, Schema], prefix: str) -> Schema:
    content = {"schema": known[verb.request], "example": example(verb)}
    return {
        **_operation(verb, known, prefix),
        "requestBody": {
            "required": any(field.required for field in fields_of(verb.request)),
            "content": {"application/json": content},
        },
    }


def _read(verb: Verb, known: Mapping[Any, Schema], prefix: str, names: Mapping[str, str]) -> Schema:
    types, sample = field_types(verb.request), example(verb)
    parameters = [
        _parameter(field, types[field.name], names, sample) for field in fields_of(verb.request)
    ]
    return {**_operation(verb, known, prefix), "parameters": parameters}


def _parameter(
    field: FieldInfo, kind: FieldType, names: Mapping[str, str], sample: Mapping[str, Any]
) -> Schema:
    name = names.get(field.encode_name, field.encode_name)
    parameter: Schema = {
        "name": name,
        "in": "query",
        "required": field.required,
        "description": kind.description,
        "schema": _plain(kind),
    }
    if field.encode_name in sample:
        parameter["example"] = sample[field.encode_name]
    return parameter


_NAMES = {bool: "boolean", int: "integer", float: "number", list: "array"}


def _plain(kind: FieldType) -> Schema:
    """The schema of a value in a query, where nothing is null."""
    if kind.words:
        return {"type": "string", "enum": [*kind.words]}
    schema: Schema = {
        "type": next((_NAMES[each] for each in kind.kinds if each in _NAMES), "string")
    }
    if schema["type"] == "array":
        schema["items"] = _plain(kind.element or FieldType((str,)))
    return schema


def summary(verb: Verb) -> str:
    """What an operation does, in a sentence."""
    return verb.line or (verb.request.__doc__ or verb.name).partition("\n")[0]


def example(verb: Verb) -> dict[str, Any]:
    """A request with its required fields."""
    types = field_types(verb.request)
    needed = [field for field in fields_of(verb.request) if field.required or field.name == "query"]
    return {field.encode_name: _sample(field.name, types[field.name]) for field in needed}


def _sample(name: str, kind: FieldType) -> Any:
    if kind.words and _SAMPLES.get(name) not in kind.words:
        return kind.words[0]
    return _SAMPLES.get(name, _SAMPLES["text"])


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{font-family:ui-monospace,monospace}h2{margin:2rem 0 0}table{border-collapse:collapse}"
    "td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0}"
    "@media(prefers-color-scheme:dark){:root{color-scheme:dark}}"
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The policy of the page. It has no script, and its style is its own."""


@cache
def page() -> str:
    """The description as a page, without scripts and without network."""
    return "".join(_page())


def _page() -> Iterator[str]:
    yield '<!doctype html><html lang="en"><meta charset="utf-8"><title>djinn API</title>'
    yield f"<style>{_STYLE}</style><h1>djinn API</h1><p>Send a key as <code>Authorization: Bearer "
    yield 'KEY</code>. <a href="/openapi.json">The same as OpenAPI.</a></p>'
    for verb in OPERATIONS.values():
        ways = [f"POST /v1/{verb.name}"]
        ways += [f"GET /v1/{verb.name}"] * (not (verb.writes or verb.logs))
        ways += [f"{each.method} {each.path}" for each in ALIASES if each.operation == verb.name]
        yield f'<h2 id="{verb.name}">{verb.name}</h2><p>{escape(summary(verb))}</p><p>'
        yield "<br>".join(f"<code>{escape(way)}</code>" for way in ways)
        body = msgspec.json.encode(example(verb)).decode()
        yield f"</p><p>Example: <code>{escape(body)}</code></p><table>"
        yield from _rows(verb.request, paths_in(verb))
        yield "</table>"
    yield "</html>"


def _rows(kind: type[Struct], paths: Iterable[str]) -> Iterator[str]:
    for field in fields_of(kind):
        told = field_types(kind)[field.name]
        needed = " (required)" if field.required else ""
        closed = " Needs the scope administer." if field.name in paths else ""
        words = f" One of {', '.join(map(str, told.words))}." if told.words else ""
        text = escape(f"{told.description}{words}{closed}")
        yield f"<tr><th><code>{field.encode_name}</code>{needed}</th><td>{text}</td></tr>"
