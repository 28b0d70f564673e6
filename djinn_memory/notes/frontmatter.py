"""The YAML block at the top of a note: finds it, reads it leniently, changes it by splicing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml
from msgspec import Struct

from djinn_memory.errors import Refused
from djinn_memory.notes.encoding import detect
from djinn_memory.system.yaml_edit import (
    UnspliceableYaml,
    extend_value,
    line_end,
    load,
    remove_value,
    scalar,
    set_value,
)

MAX_BLOCK = 150_000
"""Characters of front matter that are parsed, in half a second at worst; the largest of 10,000 real
notes has 9,000."""

MAX_VALUES = 10_000
"""Scalars in a block after its aliases are expanded. The limit stops an alias bomb."""

MAX_REASON = 200
"""Characters of a reason that a message repeats."""

_BLOCK = re.compile(
    r"(---[ \t]*(?:\r\n?|\n))(.*?)(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL
)
_ENTRY = re.compile(r"^[^\s#\-][^\n]*(?:\n(?:[ \t-][^\n]*|#[^\n]*)?(?=\n|\Z))*", re.MULTILINE)

_PLACEHOLDER = re.compile(r"(?m)^([ \t]*(?:[^\s:#][^:\n]*:|-)[ \t]+)(\{\{[^'\n]*\}\})[ \t]*$")
"""A template's placeholder for a program. To YAML it is a mapping with a mapping as its key."""

_CODE = re.compile(r"(?m)(?:^|[\s:,\[{-])(!!(?:python|ruby|perl|java|js)\b\S*)")
"""A tag that makes old YAML libraries run code from the file. Here it is ignored."""

Fields = Mapping[str, Any]


class FrontMatter(Struct, frozen=True):
    """The fields of a note. Scalars are text, as written; lists and mappings are nested."""

    fields: Fields
    body: int
    """The character offset of the text below the front matter."""
    problem: str | None = None


def read(text: str) -> FrontMatter:
    """The front matter of a note's text, whose line ends are `\\n`.

    Broken YAML is a `problem`; its entries that are readable alone still count. Values stay text,
    so an impossible date or a number of 6,000 digits is a value like any other.
    """
    block = _BLOCK.match(text)
    if not block:
        return FrontMatter({}, 0)
    source, body = block[2], block.end()
    if len(source) > MAX_BLOCK:
        return FrontMatter({}, body, f"front matter of {len(source):,} characters was not read")
    try:
        value = _load(source)
    except _Broken as error:
        fields = _salvage(source)
        return FrontMatter(fields, body if fields else 0, f"broken front matter: {error}")
    if value in (None, "", "null", "~"):
        return FrontMatter({}, body)
    if not isinstance(value, dict):
        # Two rules with prose between them look the same. Read as text, nothing is lost.
        return FrontMatter({}, 0, "front matter is not `key: value` lines; read as text")
    code = _CODE.search(source)
    why = f"front matter asks for {code[1][:60]}, which is not done" if code else None
    return FrontMatter(value, body, why)


def edit(data: bytes, keys: tuple[str, ...], value: object) -> bytes:
    """The note's bytes with one field set; every byte outside that field's lines stays.

    A field that has this value already stays as written, and a list that only grows keeps its
    entries as written. A note without front matter gets a block. Raises `Refused` when the block is
    broken, because an edit would have to guess.
    """
    new = load(scalar(value), typed=False)

    def change(text: str, newline: str) -> str:
        old: Any = load(text, typed=False)
        for key in keys:
            old = old.get(key) if isinstance(old, dict) else None
        if old == new:
            return text
        entries = value if isinstance(value, (list, tuple)) else ()
        if isinstance(old, list) and 0 < len(old) < len(entries) and new[: len(old)] == old:
            return extend_value(text, keys, entries)
        return set_value(text, keys, value, newline=newline)

    return _splice(data, change)


def remove(data: bytes, keys: tuple[str, ...]) -> bytes:
    """The note's bytes without a field; unchanged when it has no such field. Errors as `edit`."""
    return _splice(data, lambda text, _: remove_value(text, keys) if text else text)


def _splice(data: bytes, change: Callable[[str, str], str]) -> bytes:
    """The note's bytes with its YAML changed by `change(yaml, line end)`."""
    bom, encoding, text = opened(data)
    newline = line_end(text)
    block = _BLOCK.match(text)
    if block and len(block[2]) > MAX_BLOCK:
        raise Refused(f"front matter of {len(block[2]):,} characters is not read; shorten it first")
    try:
        changed = change(block[2] if block else "", newline)
    except (yaml.YAMLError, UnspliceableYaml) as error:
        raise Refused(f"broken front matter, mend it first: {_first_line(error)}") from None
    if not (block or changed):
        return data
    if block:
        text = text[: block.start(2)] + changed + text[block.end(2) :]
    else:
        text = f"---{newline}{changed}---{newline}{text}"
    return bom + text.encode(encoding)


def compose(fields: Fields, body: str) -> str:
    """The text of a new note; fields whose value is None are left out."""
    lines = (f"{key}: {scalar(value)}\n" for key, value in fields.items() if value is not None)
    return f"---\n{''.join(lines)}---\n{body}"


def opened(data: bytes) -> tuple[bytes, str, str]:
    """A note's byte order mark, encoding and text, for a change of the text.

    Raises `Refused` unless the note is UTF-8 or UTF-16: with a guessed encoding, writing could
    change other characters.
    """
    bom, encoding, _ = detect(data)
    try:
        text = data[len(bom) :].decode(encoding or "ascii")
    except UnicodeDecodeError:
        encoding = None
    if encoding in (None, "cp1252"):
        raise Refused("the note is not UTF-8 text; save it as UTF-8 first")
    return bom, encoding, text


def block_end(text: str) -> int:
    """The offset of the text below the front matter, for text with any line ends."""
    block = _BLOCK.match(text)
    return block.end() if block else 0


class _Broken(ValueError):
    pass


def _load(source: str) -> Any:
    try:
        value = load(_PLACEHOLDER.sub(r"\1'\2'", source), typed=False)
        _count(value, [0], 0)
        return value
    except yaml.YAMLError as error:
        raise _Broken(_first_line(error)) from None
    except (ValueError, RecursionError, TypeError) as error:
        raise _Broken(str(error) or "not readable") from None


def _count(value: Any, seen: list[int], depth: int) -> None:
    seen[0] += 1
    if seen[0] > MAX_VALUES or depth > 50:
        raise _Broken("it unfolds to too many values")
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise _Broken("a key is not text")
            _count(inner, seen, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _count(inner, seen, depth + 1)


def _salvage(source: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for entry in _ENTRY.findall(source)[:200]:
        try:
            value = _load(entry)
        except _Broken:
            # A reader understands `title: Plan: B`, but not half a quotation or list.
            key, _, rest = (part.strip() for part in entry.partition(":"))
            if key.isidentifier() and rest and "\n" not in rest and rest[0] not in "\"'[{&*!|>":
                fields.setdefault(key, rest)
            continue
        if isinstance(value, dict):
            fields.update(value)
    return fields


def _first_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    why = getattr(error, "problem", None) or str(error).split("\n")[0]
    # The reason may repeat a name from the note, of any length.
    why = why if len(why) <= MAX_REASON else f"{why[:MAX_REASON]}..."
    return f"line {mark.line + 2}: {why}" if mark else why
