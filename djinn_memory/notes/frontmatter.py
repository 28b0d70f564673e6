"""The YAML block at the top of a note: finds it, parses it leniently, and edits it in place.

Blocks in TOML and JSON are read too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import Struct

from djinn_memory.errors import Refused
from djinn_memory.notes.encoding import decode, detect
from djinn_memory.notes.slugs import fold
from djinn_memory.system import yaml_edit

if TYPE_CHECKING:
    from djinn_memory.system.hugo_frontmatter import OtherBlock

MAX_BLOCK = 150_000
"""Maximum number of characters in parsed front matter, which takes at most half a second. The
largest front matter in 10,000 real notes has 9,000 characters."""

MAX_VALUES = 10_000
"""Maximum number of scalars in a block after alias expansion. It stops alias bombs."""

MAX_REASON = 200
"""Maximum number of characters of a reason in a message."""

_BLOCK = re.compile(
    r"(---[ \t]*(?:\r\n?|\n))(.*?)(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL
)
_ENTRY = re.compile(r"^[^\s#\-][^\n]*(?:\n(?:[ \t-][^\n]*|#[^\n]*)?(?=\n|\Z))*", re.MULTILINE)

_PLACEHOLDER = re.compile(r"(?m)^([ \t]*(?:[^\s:#][^:\n]*:|-)[ \t]+)(\{\{[^'\n]*\}\})[ \t]*$")
"""A template placeholder. YAML reads it as a mapping that has a mapping as its key."""

_KEY = re.compile(r"(?m)^[ \t-]*([^\s:#][^:\n]*):")

_CODE = re.compile(r"!!(?:python|ruby|perl|java|js)\b.*")
"""A tag that makes old YAML libraries run code from the file. djinn ignores it."""

_OPENED = re.compile(r"---[ \t]*\n[\w-]+:(?:[ \t\n]|\Z)")
"""A rule with a field below it. Without a second rule, it is front matter that is never closed."""

_BELOW = re.compile(r"(?m)^(?:[ \t]*$|#{1,6}[ \t]|(?=[^\s#:\-])[^:\n]*$)")
"""A line that ends the fields of unclosed front matter: blank, a heading, or prose."""

_FIELD = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*+(?<![^\n])(?:-[ \t]|[\w-]+:(?:[ \t\n]|\Z))")
"""A field at the beginning of a line, and the blank lines and comments above it."""

_USUAL = frozenset(
    """
    abstract alias aliases area author authors categories category class created cssclass
    cssclasses cover date day description draft due excerpt expires id image keywords kind lang
    language layout link location modified name owner parent people permalink priority project
    publish rating related slug source state status subject subtitle summary tag tags template
    title topic topics type uid up updated url version
    """.split()  # noqa: SIM905
)
"""Fields that many programs and people use. A block with one of them is front matter."""

Fields = Mapping[str, Any]


class FrontMatter(Struct, frozen=True):
    """The fields of a note. Scalars are text as written. Lists and mappings are nested."""

    fields: Fields
    body: int
    """The character offset of the text below the front matter."""
    problem: str | None = None


def read(text: str) -> FrontMatter:
    """The front matter of a note's text, whose line ends are `\\n`.

    Broken YAML is reported as `problem`, and only its readable entries count. Values stay text, so
    an impossible date or a number of 6,000 digits is a valid value.
    """
    if other := _other(text):
        return FrontMatter(other.fields, other.body, other.problem)
    block = _BLOCK.match(text)
    if not block:
        why = "the front matter is not closed; it was read as text" if _OPENED.match(text) else None
        return FrontMatter({}, 0, why)
    source, body = block[2], block.end()
    if len(source) > MAX_BLOCK:
        return FrontMatter(
            {}, body, f"the front matter is too long ({len(source):,} characters) and was not read"
        )
    try:
        value = _load(source)
    except _Broken as error:
        if unclosed := _unclosed(source):
            fields, length = unclosed
            line = source.count("\n", 0, length) + 2
            why = f"the front matter is not closed; it was read as text from line {line} on"
            return FrontMatter(fields, block.start(2) + length, why)
        fields = _salvage(source)
        return FrontMatter(fields, body if fields else 0, f"invalid front matter: {error}")
    if value in (None, "", "null", "~"):
        return FrontMatter({}, body)
    # Two rules with prose between them look the same. Read as text, nothing is lost.
    if not isinstance(value, dict):
        return FrontMatter(
            {}, 0, "the front matter does not consist of `key: value` lines; it was read as text"
        )
    if _is_prose(source, value):
        return FrontMatter({}, 0, "the lines between the first two rules are read as text")
    remarks = [
        f"the front matter has {key[:60]} more than once; the last value is used"
        for key in _repeated(_PLACEHOLDER.sub(r"\1'\2'", source))[:3]
    ]
    if tag := _code_tag(source):
        remarks.append(f"the front matter uses the YAML tag {tag[:60]}, which is ignored")
    return FrontMatter(value, body, "; ".join(remarks) or None)


def _other(text: str) -> OtherBlock | None:
    """The block of a text that begins as one in TOML or JSON does."""
    if not text.startswith(("+++", "{\n")):
        return None
    from djinn_memory.system.hugo_frontmatter import read_other

    return read_other(text, MAX_BLOCK)


def _is_prose(source: str, fields: Fields) -> bool:
    """Whether a block is text between two rules, such as `Note: the lamp is broken`."""
    if any(fold(key.strip()) in _USUAL for key in fields):
        return False
    least = 1 if source[:1] in "\r\n" else 2 if len(fields) == 1 else 4
    for key, value in fields.items():
        sentence = isinstance(value, str) and "\n" not in value and value[:2] != "[["
        if not (key[:1].isupper() or " " in key) or not sentence or len(value.split()) < least:
            return False
    return bool(fields)


def _repeated(source: str) -> list[str]:
    """The keys that occur more than once in a mapping of a block."""
    keys = [key.casefold() for key in _KEY.findall(source)]
    return yaml_edit.repeated_keys(source) if len({*keys}) < len(keys) or "{" in source else []


def _unclosed(source: str) -> tuple[Fields, int] | None:
    """The fields of a broken block above its text, and the length of their lines; else None."""
    below = _BELOW.search(source)
    if not below or _FIELD.match(source, below.start()):
        return None
    # A line of prose alone may be a value that lacks its indentation.
    if below[0].strip() and below[0][0] != "#" and _FIELD.search(source, below.end()):
        return None
    try:
        fields = _load(source[: below.start()])
    except _Broken:
        return None
    return (fields, below.start()) if fields and isinstance(fields, dict) else None


def _code_tag(source: str) -> str | None:
    """The first tag of a block that requests code execution. A tag in quotes is text."""
    return next(filter(_CODE.fullmatch, yaml_edit.tags(source)), None) if "!!" in source else None


def edit(data: bytes, keys: tuple[str, ...], value: object) -> bytes:
    """The note's bytes with one field set. All bytes outside the field's lines are unchanged.

    A field that already has the value stays as written. A list that only grows or shrinks keeps its
    entries as written. A note without front matter gets a block. Raises `Refused` when the block is
    broken, because an edit would have to guess.
    """
    new = yaml_edit.load(yaml_edit.scalar(value), typed=False)

    def change(text: str, newline: str) -> str:
        old: Any = yaml_edit.load(text, typed=False)
        for key in keys:
            old = old.get(key) if isinstance(old, dict) else None
        if old == new:
            return text
        entries = value if isinstance(value, (list, tuple)) else ()
        if isinstance(old, list) and 0 < len(old) < len(entries) and new[: len(old)] == old:
            return yaml_edit.extend_value(text, keys, entries)
        if isinstance(old, list) and 0 < len(entries) < len(old):
            with suppress(yaml_edit.UnspliceableYaml):
                return yaml_edit.shrink_value(text, keys, entries)
        return yaml_edit.set_value(text, keys, value, newline=newline)

    return _splice(data, change)


def edit_fields(data: bytes, fields: Fields) -> bytes:
    """The note's bytes with several fields set. Fields with the value None are removed."""
    for key, value in fields.items():
        data = remove(data, (key,)) if value is None else edit(data, (key,), value)
    return data


def remove(data: bytes, keys: tuple[str, ...]) -> bytes:
    """The note's bytes without a field; unchanged when it has no such field. Errors as `edit`."""
    return _splice(data, lambda text, _: yaml_edit.remove_value(text, keys) if text else text)


def _splice(data: bytes, change: Callable[[str, str], str]) -> bytes:
    """The note's bytes with its YAML changed by `change(yaml, line end)`."""
    bom, encoding, text = opened(data)
    newline = yaml_edit.line_end(text)
    if other := _other(text.replace(newline, "\n")):
        raise Refused(
            f"djinn reads front matter in {other.format}, but does not edit it; change the note in "
            "an editor, or convert it with `hugo convert toYAML`"
        )
    block = _BLOCK.match(text)
    with suppress(_Broken):
        fields = _load(block[2]) if block else None
        if block and isinstance(fields, dict) and _is_prose(block[2], fields):
            block = None
    if block and len(block[2]) > MAX_BLOCK:
        raise Refused(
            f"front matter of {len(block[2]):,} characters is too long to be edited; shorten "
            "it first"
        )
    try:
        changed = change(block[2] if block else "", newline)
    except (yaml.YAMLError, yaml_edit.UnspliceableYaml) as error:
        raise Refused(f"invalid front matter, correct it first: {_first_line(error)}") from None
    if not (block or changed):
        return data
    if block:
        text = text[: block.start(2)] + changed + text[block.end(2) :]
    else:
        text = f"---{newline}{changed}---{newline}{text}"
    spliced = bom + text.encode(encoding)
    if detect(spliced)[:2] != (bom, encoding):
        raise Refused("NUL characters leave the note's encoding unclear; remove them first")
    return spliced


def compose(fields: Fields, body: str) -> str:
    """The text of a new note. Fields with the value None are left out."""
    lines = (
        f"{key}: {yaml_edit.scalar(value)}\n" for key, value in fields.items() if value is not None
    )
    return f"---\n{''.join(lines)}---\n{body}"


def opened(data: bytes) -> tuple[bytes, str, str]:
    """A note's byte order mark, encoding and text, for editing the text.

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
    if "\r" not in text:
        return read(text).body
    lines = [0, *(end.end() for end in re.finditer(r"\r\n?|\n", text))]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not (body := read(text).body):
        return 0
    return lines[text.count("\n", 0, body)] if text[body - 1 : body] == "\n" else lines[-1]


class _Broken(ValueError):
    pass


def _load(source: str) -> Any:
    try:
        value = yaml_edit.load(_PLACEHOLDER.sub(r"\1'\2'", source), typed=False)
        _count(value, [0], 0)
        return value
    except yaml.YAMLError as error:
        raise _Broken(_first_line(error)) from None
    except (ValueError, RecursionError, TypeError) as error:
        raise _Broken(str(error) or "invalid YAML") from None


def _count(value: Any, seen: list[int], depth: int) -> None:
    seen[0] += 1
    if seen[0] > MAX_VALUES or depth > 50:
        raise _Broken("it expands to too many values")
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


def text_of(data: bytes) -> str:
    """The text of a note's file, without its front matter."""
    text = decode(data)[0]
    return text[block_end(text) :]


def append_text(data: bytes, text: str) -> bytes:
    """The note's bytes with a paragraph appended; `Refused` unless the note is UTF-8 or UTF-16."""
    bom, encoding, before = opened(data)
    newline = yaml_edit.line_end(before)
    gap = newline * 2 if before[block_end(before) :].strip() else ""
    after = f"{before.rstrip()}{gap or newline}{_lines_of(text, newline)}"
    return bom + after.encode(encoding)


def replace_text(data: bytes, text: str) -> bytes:
    """The note's bytes with a different text; `Refused` unless the note is UTF-8 or UTF-16."""
    bom, encoding, before = opened(data)
    newline = yaml_edit.line_end(before)
    head = before[: block_end(before)]
    # A file may end with its front matter, without a line end.
    head += newline if head and head[-1] not in "\r\n" else ""
    return bom + f"{head}{_lines_of(text, newline)}".encode(encoding)


def _lines_of(text: str, newline: str) -> str:
    return newline.join([*text.rstrip().split("\n"), ""])
