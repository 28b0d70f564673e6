"""docs/config.md: every setting, from the model of the settings and the comments of the example."""

from __future__ import annotations

import json
import re
import sys
import types
import typing
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from djinn_memory.home.settings import HOME_ONLY, Config, ProfileConfig, VaultConfig

ROOT = Path(__file__).resolve().parent.parent
HEAD = f"""# Settings

Made by `make docs` from the model of the settings and the comments of `config.example.yaml`.

A home's settings are in its `config.yaml`, where `djinn init` writes every key with its default and
a line that explains it. Every key is optional. `djinn config show` shows what holds,
`djinn config get search.limit` one of it, and `djinn config set search.limit 20` changes one and
keeps comments and order. A key that djinn does not know is an error which names the ones it knows.

## What holds

From the weakest to the strongest; sections are merged key by key. Where a home names another
provider than your own settings, your model, address, key, dimensions and prompts do not count there.

1. the default
2. your own settings, which hold in every home: `djinn config path --user` shows where,
   `djinn config set --user search.limit 20` changes one. {", ".join(f"`{key}`" for key in HOME_ONLY)}
   belong to one home and are refused there.
3. the home's `config.yaml`
4. an environment variable, for one command: `DJINN_SEARCH__LIMIT=20`. Its value is read as YAML.
5. the option of a command, such as `--limit 20`

What a home's settings would reach beyond djinn's own model (a server, or a model that would be
fetched) does not count until you said `djinn config trust`, so that a home that you cloned cannot send your
notes anywhere; until then your own settings hold in its place. What your own settings name needs no
trust.

## The environment

| variable | means |
|---|---|
| `DJINN_HOME` | the home to use; else the nearest folder with `.djinn/`, or `~/djinn`. `--home` wins over it |
| `DJINN_SESSION` | the session of an agent that works beside others of its name; else the one that `djinn wake` opened |
| `DJINN_CONFIG_DIR` | the folder of your own settings and of what you trusted; else your system's place for settings |
| `DJINN_CACHE` | where exported models are kept, for all homes; else your system's place for caches |
| `DJINN_POSTGRES_URL` | the Postgres server, with its password or without; it wins over `sync.url` and needs no trust |
| `DJINN_SECTION__KEY` | a setting, as the tables below name it |
| `OPENAI_API_KEY`, `OLLAMA_API_KEY`, `ANTHROPIC_API_KEY` | keys, or the variables that `key_env` names; keys never stand in a file |
"""  # noqa: E501


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    sections = {key: kind for key, kind in _hints(Config).items() if _is_struct(kind)}
    top = [key for key in _hints(Config) if key not in sections and key != "vaults"]
    parts.append("## A home\n\n" + _table(Config, (), top))
    said = descriptions()
    parts.append(
        "## vaults\n\nFolders of notes, by name, of letters, digits, '.', '-' and '_'. "
        "`djinn vault add NAME PATH`\nwrites an entry, which may have these keys; no variable sets "
        f"one.\n\n{_table(VaultConfig, ('vaults', '*'))}"
    )
    for section, kind in sections.items():
        parts.append(f"## {section}\n\n{said[section]}\n\n{_table(kind, (section,))}")
        if section == "recall":
            parts.append(f"A profile:\n\n{_table(ProfileConfig, (section, 'profiles', '*'))}")
    return "\n".join(parts)


@cache
def descriptions() -> dict[str, str]:
    """By dotted key, `*` for any vault or profile: the comment above it in the example."""
    found: dict[str, str] = {}
    keys: dict[str, str] = {}
    section = ""
    comment: list[str] = []
    for line in (ROOT / "config.example.yaml").read_text(encoding="utf-8").splitlines():
        inside = section if line.startswith(" ") else ""
        entry = re.match(r"(?:  )?(?:# )?(\w+):(?: |$)", line)
        listed = re.match(r"( *)#   (\w+): (.*)", line)
        if listed:
            keys[listed[2]] = listed[3]
        elif entry and entry[1] in _keys(inside):
            name = f"{inside}.{entry[1]}".lstrip(".")
            found[name] = " ".join(comment)
            found |= {f"{name}.*.{key}": text for key, text in keys.items()}
            keys = {}
            section = inside or entry[1]
            comment = []
        elif line.lstrip().startswith("#"):
            comment.append(line.lstrip("# "))
        else:
            comment = []
    return found


def _keys(section: str) -> set[str]:
    kind = _hints(Config).get(section) if section else Config
    return set(_hints(kind)) if kind and _is_struct(kind) else set()


def _table(kind: type[msgspec.Struct], path: tuple[str, ...], only: list[str] | None = None) -> str:
    head = "| key | value | default | variable | |\n|---|---|---|---|---|\n"
    rows = []
    for field in msgspec.structs.fields(kind):
        key = field.encode_name
        if only is not None and key not in only:
            continue
        variable = (
            f"`DJINN_{path[0].upper()}__{key.upper()}`"
            if path and path[0] != "vaults" and "*" not in path
            else ""
        )
        said = descriptions()[".".join([*path, key])]
        cells = (f"`{key}`", _values(_hints(kind)[key]), _default(field), variable, said)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    return head + "".join(rows)


def _values(kind: Any) -> str:
    """What may stand at a key."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_values(one) for one in arguments)
    if origin is Annotated:
        return _values(arguments[0]) + _bounds(arguments[1])
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in arguments)
    if origin is list:
        return f"list of {_values(arguments[0])}"
    if origin is dict and _is_struct(arguments[1]):
        return "mapping of names to the keys below"
    if origin is dict:
        return f"mapping of {_values(arguments[0])} to {_values(arguments[1])}"
    if _is_struct(kind):
        return f"mapping of {', '.join(f'`{key}`' for key in _hints(kind))}"
    return {int: "whole number", float: "number", bool: "`true` or `false`", str: "text",
            types.NoneType: "`null`"}[kind]  # fmt: skip


def _bounds(meta: msgspec.Meta) -> str:
    if meta.ge is not None:
        return f" from {meta.ge} to {meta.le}" if meta.le is not None else f" from {meta.ge} on"
    return ", not empty" if meta.min_length else f", {meta.description}" * bool(meta.description)


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "none: it must be given"
    made = field.default_factory
    value = field.default if made is msgspec.NODEFAULT else made()
    if isinstance(value, dict) and any(isinstance(one, msgspec.Struct) for one in value.values()):
        return ", ".join(f"`{name}`" for name in value)
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _hints(kind: type) -> dict[str, Any]:
    """The type of each key, named as in the file."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(kind)}


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


if __name__ == "__main__":
    sys.stdout.write(page())
