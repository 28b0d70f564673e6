"""The description of the API: OpenAPI 3.1 from the structs of the operations, and a page of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
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
from djinn_memory.web.api.resources import JSON, Resource

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


def description(resources: Iterable[Resource]) -> Schema:
    """The OpenAPI document of the operations and of these resources."""
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
    for resource in resources:
        place = paths.setdefault(_path(resource), {})
        place[resource.method.lower()] = _resource(resource, known)
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


def _resource(resource: Resource, known: Mapping[Any, Schema]) -> Schema:
    path = _path(resource)
    content: Schema = {resource.answer: {"schema": {"type": "string"}}}
    if resource.answer in OPERATIONS:
        content = {JSON: {"schema": known[OPERATIONS[resource.answer].answer]}}
    elif resource.answer == JSON:
        content = {JSON: {"schema": {"type": "array" if resource.is_list else "object"}}}
    described: Schema = {
        "operationId": re.sub(r"\W+", "_", f"{resource.method.lower()}{path}").rstrip("_"),
        "summary": resource.summary,
        "tags": ["resources"],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in resource.param_convertors
        ],
        "responses": {
            "200": {"description": "The answer.", "content": content},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    fields = _fields_in(resource)
    types = field_types(resource.asks) if resource.asks else {}
    if resource.method not in ("POST", "PUT", "PATCH"):
        described["parameters"] += [_parameter(each, types[each.name], {}, {}) for each in fields]
    elif fields:
        file = {"file": {"type": "string", "format": "binary"}} if resource.upload else {}
        body: Schema = {
            "type": "object",
            "properties": file | {each.encode_name: _plain(types[each.name]) for each in fields},
            "required": [*file, *(each.encode_name for each in fields if each.required)],
        }
        media = "multipart/form-data" if resource.upload else JSON
        described["requestBody"] = {"required": True, "content": {media: {"schema": body}}}
    return described


def _path(resource: Resource) -> str:
    """The path of a resource as OpenAPI writes it."""
    return re.sub(r":\w+}", "}", resource.path)


def _fields_in(resource: Resource) -> list[FieldInfo]:
    """The fields of the request of a resource that are not in its path."""
    fields = fields_of(resource.asks) if resource.asks else ()
    return [field for field in fields if field.name not in resource.param_convertors]


def _operation(verb: Verb, known: Mapping[Any, Schema], prefix: str) -> Schema:
    noun = verb.name.rpartition(".")[0] or "everyday"
    return {
        "operationId": f"{prefix}{verb.name}".replace(".", "_"),
        "summary": summary(verb),
        "tags": [noun],
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {JSON: {"schema": known[verb.answer]}},
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
            "content": {JSON: content},
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
    "body{overflow-wrap:anywhere}:root{color-scheme:light dark}"
    "body{background:light-dark(#fbfaf7,#16171a)}a{color:light-dark(#7a3e00,#f0b35e)}"
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The policy of the page. It has no script, and its style is its own."""


def page(resources: Iterable[Resource]) -> str:
    """The description as a page, without scripts and without network."""
    return "".join(_page(resources))


def _page(resources: Iterable[Resource]) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><meta charset="utf-8"><title>djinn API</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<style>{_STYLE}</style><h1>djinn API</h1><p><a href="/">Pages</a></p>'
    yield "<p>Send a key as <code>Authorization: Bearer KEY</code>. "
    yield '<a href="/openapi.json">The same as OpenAPI.</a></p>'
    for verb in OPERATIONS.values():
        ways = [f"POST /v1/{verb.name}"]
        ways += [f"GET /v1/{verb.name}"] * (not (verb.writes or verb.logs))
        ways += [f"{each.method} {each.path}" for each in ALIASES if each.operation == verb.name]
        yield f'<h2 id="{verb.name}">{verb.name}</h2><p>{escape(summary(verb))}</p><p>'
        yield "<br>".join(f"<code>{escape(way)}</code>" for way in ways)
        body = msgspec.json.encode(example(verb)).decode()
        yield f"</p><p>Example: <code>{escape(body)}</code></p><table>"
        yield from _rows(verb.request, fields_of(verb.request), paths_in(verb))
        yield "</table>"
    for resource in resources:
        path = f"{resource.method} {_path(resource)}"
        yield f"<h2>{path}</h2><p>{escape(resource.summary)}</p><table>"
        if resource.asks:
            yield from _rows(resource.asks, _fields_in(resource), ())
        yield "</table>"
    yield "</html>"


def _rows(kind: type[Struct], fields: Iterable[FieldInfo], paths: Collection[str]) -> Iterator[str]:
    for field in fields:
        told = field_types(kind)[field.name]
        needed = " (required)" if field.required else ""
        closed = " Needs the scope administer." if field.name in paths else ""
        words = f" One of {', '.join(map(str, told.words))}." if told.words else ""
        text = escape(f"{told.description}{words}{closed}")
        yield f"<tr><th><code>{field.encode_name}</code>{needed}</th><td>{text}</td></tr>"
