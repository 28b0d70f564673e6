"""The text of the note of a fact: its exact value, then any other text, and its history."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.frontmatter import block_end, opened
from djinn_memory.notes.note import Note
from djinn_memory.notes.periods import Period, begin_key, first_end, held, period_date, period_of
from djinn_memory.scoring import share_of
from djinn_memory.system.yaml_edit import line_end

_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)", re.MULTILINE)
_FENCED = re.compile(r"^(`{3,})(text|json)\n((?:.*\n)*?)\1[ \t]*(?:\n|\Z)", re.MULTILINE)
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that a text file cannot keep: line ends, NUL, lone surrogates, byte order marks."""

HISTORY = "## History"
_HISTORY = re.compile(rf"^{HISTORY}[ \t]*(?:\n|\Z)", re.MULTILINE)
NOW = "now"
"""Written for the end of a value that still holds."""
_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
_PAST = re.compile(
    rf"^- (\S+) \(({_QUOTED}|[^,()\n]*), ([^,();\n]*)"
    rf"((?:; \w+ (?:{_QUOTED}|[^;()\"\n]*))*)\): (.*)$",
    re.MULTILINE,
)
"""`- UNTIL (SOURCE, CONFIDENCE; NAME TEXT; NAME TEXT): VALUE`. The names are those of `_NAMES`."""
_PART = re.compile(rf"; (\w+) ({_QUOTED}|[^;()\"\n]*)")
_NAMES = {
    "from": "valid_from", "recorded": "recorded", "rule": "rule", "author": "author",
    "client": "client", "session": "session", "evidence": "evidence",
}  # fmt: skip
"""The names in a line of the history, and the fields of `PastValue`."""
_LINKS = re.compile(r"\[\[[^\[\]\n]+\]\]")


class PastValue(Struct, frozen=True):
    """A value that a fact had, or once was believed to have had."""

    until: str | None
    """The day or time when it ceased to hold, as ISO 8601; null while it holds."""
    source: str | None
    """The source of the value."""
    confidence: float | None
    """The confidence of the value, from 0 to 1."""
    value: str
    """The value."""
    valid_from: str | None = None
    """The day or time when it began to hold; null if that is unknown."""
    recorded: str | None = None
    """The time when it was recorded, if the note tells it."""
    evidence: tuple[str, ...] = ()
    """Links to the memories that it was derived from."""
    rule: str | None = None
    """The rule that derived it; null for a value that a person or an agent set."""
    author: str | None = None
    """The person or the agent for whom it was recorded."""
    client: str | None = None
    """The program of that agent."""
    session: str | None = None
    """The session of the evidence."""

    @property
    def period(self) -> Period:
        """The time in which it held."""
        return Period(self.valid_from, self.until)


Entry = tuple[int, PastValue]
"""A value, and its place among others or in a text."""


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


def history_of(body: str, created: str | None = None) -> list[PastValue]:
    """The earlier values, the last to begin first, each with the whole of its period.

    A line that does not tell when its value began means the end of the value before; the oldest
    began when the fact was `created`. A value ends where the next one begins.
    """
    return [value for _, value in _entries(body, created)]


class Timeline(Struct, frozen=True):
    """All values of a key with their periods."""

    current: PastValue
    """The value in the text of the note. It has no end while none is known."""
    history: tuple[PastValue, ...]
    """The earlier values, the last to begin first."""

    def on(self, at: str) -> PastValue | None:
        """The value that held at a time of `end_of_day`; None if none did."""
        return held((self.current, *self.history), at)

    def whole_period(self, value: PastValue) -> Period:
        """The period of a value, from the first of the equal values that end where it begins."""
        start = value.valid_from
        for past in self.history:
            if start and past.value == value.value and past.until == start:
                start = past.valid_from
        return Period(start, value.until)

    def begun(self, created: str | None) -> Timeline:
        """The values with all beginnings; see `history_of`."""
        entries = _begun([*enumerate(self.history)], created)
        history = ordered((value for _, value in entries), self.current.valid_from)
        start = self.current.valid_from or (history[0].until if history else created)
        recorded = self.current.recorded or created
        return Timeline(replace(self.current, valid_from=start, recorded=recorded), history)


def timeline(note: Note) -> Timeline:
    """The values of the fact in a note. Its expiry ends the current value."""
    fields: dict[str, str] = dict(reversed(note.fields))
    period = period_of(fields.get("valid_from"), fields.get("valid_to"))
    body = note.text[note.body :]
    evidence = (text for key, text in note.fields if key == "evidence")
    current = PastValue(
        first_end(period.end, iso_date(fields.get("expires"))),
        fields.get("source"),
        share_of(fields.get("confidence")),
        value_of(body),
        period.start,
        note.updated,
        # The fields of a note come without the brackets of links.
        tuple(text if "[[" in text else f"[[{text}]]" for text in evidence),
        *map(fields.get, ("rule", "author", "client", "session")),
    )
    return Timeline(current, tuple(value for _, value in history_lines(body))).begun(note.created)


def readable(text: str) -> str:
    """A part of a fact's note, with the lines of its history in a form for people."""
    return "\n".join(map(_readable_line, text.split("\n")))


def with_current_values(text: str) -> str:
    """The text of an entity's note with the values of its properties that hold, for people.

    Values that have ended are left out, and so is the heading of the history.
    """
    lines = [
        _readable_line(line)
        for line in text.split("\n")
        if line.rstrip() != HISTORY and not ((past := value_of_line(line)) and past.until)
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def _readable_line(line: str) -> str:
    match = _PAST.match(line)
    if not match:
        return line
    past = _past(match)
    since = f"from {past.valid_from[:10]} " if past.valid_from else ""
    until = "" if match[1] == NOW else f"until {(past.until or match[1])[:10]}"
    period = f"{since}{until}".strip()
    return f"- {past.value} ({period})" if period else f"- {past.value}"


def line_of_value(value: PastValue) -> str:
    """A value as a line of a history. The end of a value that still holds is `now`."""
    return _line(value if value.until else replace(value, until=NOW))


def value_of_line(line: str) -> PastValue | None:
    """The value in a line of a history; None for any other line."""
    match = _PAST.match(line)
    return _past(match) if match else None


def history_span(body: str) -> tuple[int, int] | None:
    """The span of the lines below the heading of a history, up to the next heading."""
    heading = _HISTORY.search(body, _span(body)[1])
    if not heading:
        return None
    following = _HEADING.search(body, heading.end())
    return heading.end(), following.start() if following else len(body)


def history_lines(body: str) -> list[Entry]:
    """The values in the lines of a history as written, by their offsets."""
    span = history_span(body)
    lines = _PAST.finditer(body, *span) if span else ()
    return [(match.start(), _past(match)) for match in lines]


def line_of(note: Note, value: PastValue) -> int:
    """The line of a value in the file of its note, from 1."""
    period = period_of(dict(reversed(note.fields)).get("valid_from"), None)
    for at, past in _entries(note.text[note.body :], note.created, period.start):
        if past == value:
            return note.text.count("\n", 0, note.body + at) + 1
    return note.text.count("\n", 0, note.body) + 1


def with_value(data: bytes, value: str, before: PastValue) -> bytes:
    """The bytes of a note with a new value, and with the old value at the top of its history."""
    bom, encoding, newline, head, body = _split(data)
    start, stop = _span(body)
    fenced = _FENCED.match(body, start)
    stop = fenced.end() - fenced[0].endswith("\n") if fenced else stop
    body = body[:start] + written(value) + body[stop:]
    body = _with_line(body, None, _line(before))
    return bom + (head + body.replace("\n", newline)).encode(encoding)


def with_past(data: bytes, past: PastValue, created: str | None) -> bytes:
    """The bytes of a note whose history has one more value, in the order of their beginnings.

    The value before ends where the new one begins.
    """
    bom, encoding, newline, head, body = _split(data)
    began, at = past.valid_from or "", None
    entries = _entries(body, created)
    key = begin_key(began)
    if entry := next((each for each in entries if begin_key(each[1].valid_from) <= key), None):
        at, before = entry
        if before.valid_from != began and not before.period.ended(began):
            start = at + len("- ")
            body = body[:start] + began + body[body.index(" ", start) :]
    elif entries:
        at = body.find("\n", entries[-1][0]) + 1
        if not at:
            body, at = f"{body}\n", len(body) + 1
    body = _with_line(body, at, _line(past))
    return bom + (head + body.replace("\n", newline)).encode(encoding)


def _split(data: bytes) -> tuple[bytes, str, str, str, str]:
    """Byte order mark, encoding, line end, front matter, and text with `\\n` line ends."""
    bom, encoding, text = opened(data)
    end = block_end(text)
    body = text[end:].replace("\r\n", "\n").replace("\r", "\n")
    return bom, encoding, line_end(text), text[:end], body


def _with_line(body: str, at: int | None, line: str) -> str:
    """A text with a line of the history at an offset, or at the top of the history."""
    if at is not None:
        return f"{body[:at]}{line}\n{body[at:]}"
    span = history_span(body)
    if span is None:
        gap = "" if body.endswith("\n\n") else "\n" if body.endswith("\n") else "\n\n"
        return f"{body}{gap}{HISTORY}\n\n{line}\n"
    top = len(body) - len(body[span[0] :].lstrip("\n"))
    gap = "" if body[:top].endswith("\n") else "\n"
    return f"{body[:top]}{gap}{line}\n{body[top:]}"


def ordered(values: Iterable[PastValue], following: str | None = None) -> tuple[PastValue, ...]:
    """Values, the last to begin first.

    Each ends where the next one begins, if not before, and the last where the `following` does.
    """
    return tuple(value for _, value in _in_order(enumerate(values), following))


def _in_order(entries: Iterable[Entry], following: str | None) -> list[Entry]:
    closed: list[Entry] = []
    # The sort is stable: of values that began at once, the upper one was recorded last.
    for at, value in sorted(entries, key=lambda each: begin_key(each[1].valid_from), reverse=True):
        if following and not value.period.ended(following):
            value = replace(value, until=following)
        following = value.valid_from or following
        closed.append((at, value))
    return closed


def _entries(body: str, created: str | None, following: str | None = None) -> list[Entry]:
    """The lines of the history by their offsets, the last to begin first."""
    return _in_order(_begun(history_lines(body), created), following)


def _begun(entries: Sequence[Entry], created: str | None) -> Sequence[Entry]:
    """The entries of a history with their beginnings; see `history_of`."""
    began, known = created, []
    for at, value in reversed(entries):
        start = value.valid_from or began
        known.append((at, replace(value, valid_from=start, recorded=value.recorded or start)))
        began = value.until
    return known[::-1]


def _past(match: re.Match[str]) -> PastValue:
    until, source, confidence, parts, value = match.groups()
    texts = {name: _from_line(text) for name, text in _PART.findall(parts)}
    fields: dict[str, Any] = {
        field: texts[name].strip() for name, field in _NAMES.items() if texts.get(name)
    }
    if "evidence" in fields:
        fields["evidence"] = tuple(_LINKS.findall(fields["evidence"]))
    for key in ("valid_from", "recorded"):
        fields[key] = period_date(fields.get(key))
    source = _from_line(source).strip()
    source = None if source in ("", "-") else source
    return PastValue(period_date(until), source, share_of(confidence), _from_line(value), **fields)


def _line(past: PastValue) -> str:
    """The line of a value in the history. It has no names that tell nothing more."""
    fields: dict[str, Any] = {name: getattr(past, field) for name, field in _NAMES.items()}
    if past.recorded == past.valid_from:
        del fields["recorded"]
    fields["evidence"] = " ".join(past.evidence)
    parts = "".join(f"; {name} {_in_part(text)}" for name, text in fields.items() if text)
    confidence = "-" if past.confidence is None else f"{past.confidence:g}"
    about = f"{_in_part(past.source or '-')}, {confidence}{parts}"
    return f"- {past.until} ({about}): {_in_line(past.value)}"


def _in_part(text: str) -> str:
    plain = text.isprintable() and text == text.strip() and not re.search(r'[,;()"]', text)
    return text if plain else json.dumps(text, ensure_ascii=bool(_UNWRITABLE.search(text)))


def _span(body: str) -> tuple[int, int]:
    """The span of the value: up to the first heading."""
    start = len(body) - len(body.lstrip())
    fenced = _FENCED.match(body, start)
    if fenced:
        return start, fenced.end()
    heading = _HEADING.search(body, start)
    stop = heading.start() if heading else len(body)
    return (start, len(body[:stop].rstrip())) if stop > start else (start, start)


def _in_line(value: str) -> str:
    plain = value == value.strip() and value and value[0] != '"' and value.isprintable()
    return value if plain else json.dumps(value, ensure_ascii=bool(_UNWRITABLE.search(value)))


def _from_line(text: str) -> str:
    try:
        value = json.loads(text) if text.startswith('"') else text
    except ValueError:
        return text
    return value if isinstance(value, str) else text
