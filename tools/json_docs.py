"""docs/json.md: the JSON Schema of what each command prints with --json, and an example."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import config_docs
import msgspec
from msgspec.structs import fields

from djinn_memory.cli import tree
from djinn_memory.cli.app import ERROR_SCHEMA, ErrorReport
from djinn_memory.cli.command import NoRequest
from djinn_memory.home import settings
from djinn_memory.models import Problem
from djinn_memory.scoring import ScoringConfig

ROOT = Path(__file__).resolve().parent.parent
DIALECT = "https://json-schema.org/draft/2020-12/schema"
EXAMPLE_LINES = 70
LINE = 100
USUAL = {
    "schema": "Names the shape of this object, and its version.",
    "problems": "What went wrong beside the answer.",
}
SETTINGS = {
    settings.Config: "",
    settings.VaultConfig: "vaults.*.",
    settings.ChannelConfig: "channels.*.",
    settings.DomainConfig: "domains.*.",
    settings.EmbeddingConfig: "embedding.",
    settings.SearchConfig: "search.",
    settings.DocumentsConfig: "documents.",
    settings.LlmConfig: "llm.",
    settings.WatchConfig: "watch.",
    settings.WorkingConfig: "working.",
    settings.SessionsConfig: "sessions.",
    settings.PatternsConfig: "patterns.",
    settings.SyncConfig: "sync.",
    settings.SecretsConfig: "secrets.",
    settings.Thresholds: "thresholds.",
    settings.ThresholdsConfig: "thresholds.",
    ScoringConfig: "scoring.",
    settings.RecallConfig: "recall.",
    settings.ProfileConfig: "recall.profiles.*.",
    settings.ContextConfig: "context.",
    settings.BackupConfig: "backup.",
    settings.HooksConfig: "hooks.",
    settings.ServerConfig: "server.",
    settings.UpkeepConfig: "upkeep.",
}
"""Where in the settings a struct stands: their descriptions are the comments of the example."""
HEAD = """# JSON output

Made by `make docs` from the transcripts of the tests.

With `--json` a command prints one JSON object to stdout, in UTF-8, followed by a line break, and
nothing else. `schema` names the shape of the object and its version. `problems` lists what went
wrong beside the answer. Characters that could control a terminal are escaped (`\\u001b`), and so is
half a surrogate pair, which stands in a file name that is not text.

`djinn help --json` lists the shapes, and `djinn help --json list` prints the JSON Schema of what a
command prints. The schemas are part of the package, in `djinn_memory/schemas/`, and exact for this
version of djinn.
The number of a shape rises when a field is removed or changes its meaning, not for a new field.

A command that fails ends with 2, 3, 4 or 5, or with 130 when it was interrupted. It prints one
line to stderr that begins with `error: `, and to stdout an object of the schema `djinn.error/1`:
what went wrong, and what to do. With 0, and with 1 for partly done, stdout has the answer. A
question, such as that of `djinn memory delete`, goes to stderr.

In the examples, from the sample memory, N stands for a number and TIME, UUID and TMP for a time, an
id and a folder.
"""
EXAMPLES = (
    "search", "recall", "remember", "memory.list", "fact.get", "gap.list", "ingest", "status",
    "error",
)  # fmt: skip
"""The shapes that the page shows."""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for name in EXAMPLES:
        if example := _example(f"djinn.{name}/1"):
            parts.append(f"## `djinn.{name}/1`\n\n```text\n{example}\n```\n")
    return "\n".join(parts)


def answers() -> dict[str, type[msgspec.Struct]]:
    """The type of what each schema describes, by the name of the schema."""
    kinds: dict[str, type[msgspec.Struct]] = {}
    for words in tree.COMMANDS:
        declaration = tree.load(words)
        declaration.build(words)
        if declaration.prints is not NoRequest:
            kinds |= declaration.answers()
    return {**kinds, ERROR_SCHEMA: ErrorReport}


def files() -> dict[str, str]:
    """The schema files of the package, by name."""
    return {f"{name}.json": f"{_json(schema(name, kind))}\n" for name, kind in answers().items()}


def schema(name: str, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of what `output.as_json` prints for a struct."""
    (reference, _), components = msgspec.json.schema_components(
        [kind, Problem], schema_hook=_text, ref_template="#/$defs/{name}"
    )
    for component, inner in components.items():
        _complete(inner, Problem if component == "Problem" else _struct(component, kind))
    title = f"djinn.{name}/1"
    own = components.pop(reference["$ref"].rpartition("/")[2])
    own["properties"].pop("problems", None)
    own["required"] = [name for name in own["required"] if name != "problems"]
    properties = {
        "schema": {"description": USUAL["schema"], "const": title},
        **own["properties"],
        "problems": {
            "description": USUAL["problems"],
            "type": "array",
            "items": {"$ref": "#/$defs/Problem"},
        },
    }
    if kind is ErrorReport:
        del properties["problems"], components["Problem"]
    optional = own["properties"].keys() - own["required"]
    required = [name for name in properties if name not in optional]
    own |= {"title": title, "properties": properties, "required": required}
    definitions = {"$defs": components}
    return {"$schema": DIALECT, "$id": f"urn:{title}", **own, **definitions}


def _text(kind: type) -> dict[str, str]:
    if kind is Path:
        return {"type": "string"}
    raise NotImplementedError(kind)


def _complete(made: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    """Say that every field is printed and no other, and what each is."""
    said = {**USUAL, **descriptions(kind)}
    if kind in SETTINGS:
        place = SETTINGS[kind]
        said = {key: text.strip() for key, text in config_docs.descriptions().items()}
        said = {key.removeprefix(place): text for key, text in said.items()}
    for name, inner in made["properties"].items():
        inner.pop("default", None)
        if text := said.get(name):
            inner["description"] = text
    unset = {field.encode_name for field in fields(kind) if field.default is msgspec.UNSET}
    made["required"] = [name for name in made["properties"] if name not in unset]
    made["additionalProperties"] = False
    _without_patterns(made)


def _without_patterns(made: Any) -> None:
    # Python's dialect of regular expressions is another than that of JSON Schema.
    if isinstance(made, dict):
        made.pop("pattern", None)
        if names := made.pop("propertyNames", None):
            names.pop("pattern", None)
        for inner in made.values():
            _without_patterns(inner)


def _json(value: Any, indent: str = "") -> str:
    """Indented JSON, with what fits on a line on one."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) < LINE or not value or not isinstance(value, (dict, list)):
        return short
    deeper = f"{indent}  "
    if isinstance(value, list):
        return "[\n" + ",\n".join(deeper + _json(one, deeper) for one in value) + f"\n{indent}]"
    rows = (f"{deeper}{json.dumps(key)}: {_json(one, deeper)}" for key, one in value.items())
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


@cache
def _structs(kind: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct]]:
    """The structs in a struct, by name."""
    found: dict[str, type[msgspec.Struct]] = {}

    def walk(info: object) -> None:
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls.__name__ in found:
                return
            found[info.cls.__name__] = info.cls
        for name in getattr(info, "__struct_fields__", ()):
            inner = getattr(info, name)
            for one in inner if isinstance(inner, tuple) else (inner,):
                if isinstance(one, (msgspec.inspect.Type, msgspec.inspect.Field)):
                    walk(one)

    walk(msgspec.inspect.type_info(kind))
    return found


def _struct(name: str, inside: type[msgspec.Struct]) -> type[msgspec.Struct]:
    return _structs(inside)[name]


@cache
def descriptions(kind: type) -> dict[str, str]:
    """What the docstrings below the fields of a class and of its bases say."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("djinn_memory."):
            continue
        module = ast.parse(Path(inspect.getfile(base)).read_text(encoding="utf-8"))
        [body] = [
            node.body
            for node in module.body
            if isinstance(node, ast.ClassDef) and node.name == base.__name__
        ]
        for field, below in pairwise(body):
            if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
                continue
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                found[field.target.id] = " ".join(str(below.value.value).split())
    return found


@cache
def _played() -> str:
    places = sorted((ROOT / "tests" / "cli" / "transcripts").glob("*.txt"))
    return "\n".join(place.read_text(encoding="utf-8") for place in places)


def _example(title: str) -> str:
    """The first output of that schema in the transcripts, with its command, cut short."""
    pattern = rf'(?m)^\$ (djinn .*)\n(\{{\n  "schema": "{re.escape(title)}",\n(?:.*\n)*?\}})$'
    found = re.search(pattern, _played())
    if not found:
        return ""
    lines = [f"$ {found[1]}", *found[2].splitlines()]
    if len(lines) > EXAMPLE_LINES:
        lines[EXAMPLE_LINES:] = ["  ..."]
    return "\n".join(f"{line[:160]}…" if len(line) > 160 else line for line in lines)


if __name__ == "__main__":
    sys.stdout.write(page())
