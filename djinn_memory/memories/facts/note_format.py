"""The text of the note of a fact: its exact value, then any other text, and its history."""

from __future__ import annotations

import json
import re

from msgspec import Struct

from djinn_memory.notes.frontmatter import block_end, opened
from djinn_memory.scoring import share_of
from djinn_memory.system.yaml_edit import line_end

_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)", re.MULTILINE)
_FENCED = re.compile(r"^(`{3,})(text|json)\n((?:.*\n)*?)\1[ \t]*(?:\n|\Z)", re.MULTILINE)
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that a text file cannot keep: line ends, NUL, lone surrogates, byte order marks."""

HISTORY = "## History"
_PAST = re.compile(r"^- (\S+) \(([^,()]*), ([^,()]*)\): (.*)$")


class PastValue(Struct, frozen=True):
    """An earlier value of a fact."""

    until: str
    """The time when another value replaced it, as ISO 8601 in UTC."""
    source: str | None
    """The source of the value."""
    confidence: float | None
    """The confidence of the value, from 0 to 1."""
    value: str
    """The value."""


def written(value: str) -> str:
    """A value as Markdown that `value_of` reads unchanged. It is plain text if possible."""
    if _UNWRITABLE.search(value):
        return f"```json\n{json.dumps(value)}\n```"
    plain = value and value == value.strip() and not _HEADING.search(value)
    if plain and not value.startswith(("```", "---", "%%", "<!--")):
        return value
    longest = max(map(len, re.findall("`+", value)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{value}\n{fence}"


def value_of(body: str) -> str:
    """The value in the text of a note below its front matter, with `\\n` line ends."""
    start, stop = _span(body)
    fenced = _FENCED.match(body, start)
    if not fenced:
        return body[start:stop]
    inner = fenced[3].removesuffix("\n")
    if fenced[2] == "json":
        try:
            value = json.loads(inner)
        except ValueError:
            return inner
        return value if isinstance(value, str) else inner
    return inner


def history_of(body: str) -> list[PastValue]:
    """The earlier values, newest first."""
    at = _history(body)
    values = []
    for line in body[at:].split("\n")[1:] if at >= 0 else ():
        if line.startswith("#"):
            break
        if match := _PAST.match(line):
            until, source, confidence, value = match.groups()
            past = PastValue(until, _source(source), share_of(confidence), _from_line(value))
            values.append(past)
    return values


def with_value(data: bytes, value: str, before: PastValue) -> bytes:
    """The bytes of a note with a new value, and with the old value at the top of its history."""
    bom, encoding, text = opened(data)
    newline = line_end(text)
    end = block_end(text)
    head, body = text[:end], text[end:].replace("\r\n", "\n").replace("\r", "\n")
    start, stop = _span(body)
    fenced = _FENCED.match(body, start)
    stop = fenced.end() - fenced[0].endswith("\n") if fenced else stop
    body = body[:start] + written(value) + body[stop:]
    line = f"- {before.until} ({before.source or '-'}, {_shown(before.confidence)}): "
    line += _in_line(before.value)
    at = _history(body)
    if at < 0:
        gap = "" if body.endswith("\n\n") else "\n" if body.endswith("\n") else "\n\n"
        body = f"{body}{gap}{HISTORY}\n\n{line}\n"
    else:
        top = re.compile(r"[^\n]*\n*").match(body, at)
        assert top
        gap = "" if top[0].endswith("\n") else "\n"
        body = f"{body[: top.end()]}{gap}{line}\n{body[top.end() :]}"
    return bom + (head + body.replace("\n", newline)).encode(encoding)


def _span(body: str) -> tuple[int, int]:
    """The span of the value: up to the first heading."""
    start = len(body) - len(body.lstrip())
    fenced = _FENCED.match(body, start)
    if fenced:
        return start, fenced.end()
    heading = _HEADING.search(body, start)
    stop = heading.start() if heading else len(body)
    return (start, len(body[:stop].rstrip())) if stop > start else (start, start)


def _history(body: str) -> int:
    """The start of the history, or -1 if there is none yet."""
    heading = re.compile(r"^## History[ \t]*$", re.MULTILINE).search(body, _span(body)[1])
    return heading.start() if heading else -1


def _in_line(value: str) -> str:
    plain = value == value.strip() and value and value[0] != '"' and value.isprintable()
    return value if plain else json.dumps(value, ensure_ascii=bool(_UNWRITABLE.search(value)))


def _from_line(text: str) -> str:
    try:
        value = json.loads(text) if text.startswith('"') else text
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _source(text: str) -> str | None:
    return None if text.strip() in ("", "-") else text.strip()


def _shown(confidence: float | None) -> str:
    return "-" if confidence is None else f"{confidence:g}"
