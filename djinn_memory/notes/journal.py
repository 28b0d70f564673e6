"""Journals: files with a memory in each section, to which records are only appended. Pure.

The format is described in `docs/note-format.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.frontmatter import block_end
from djinn_memory.notes.markdown import blank
from djinn_memory.system.expressions import expression

TYPE = "journal"
"""The type of a file below `journal/` that is a journal, whatever its file name."""

HEADER_KEYS = frozenset({"type", "date", "home"})
"""The front matter keys that djinn writes in a journal."""

_NAME = expression(r"(\d{4}-\d{2}-\d{2})\.([\w-]+)")

_HEADING = expression(r"^#{1,2}[ \t][^\n]*", re.MULTILINE)
"""The start of a section, which ends the previous one. Quoted lines begin with `>`."""

_RECORD_HEADING = expression(r"##[ \t]+(?:\d\d:\d\d(?:[ \t]+|$))?(?P<title>[^\n]*)\n*")
_BLOCK = expression(r"^\^(?P<block>[A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
_DATA = expression(r"^%% (?P<data>\{[^\n]*\}) %%[ \t]*$", re.MULTILINE)
_QUOTED = expression(r"^>[^\n]*$", re.MULTILINE)

_BEGINNING_OF_RECORD = expression(
    r"""
    \#{1,2} \Z | \#\#[ ][\d:]{0,5} \Z | \#\#[ ]\d\d:\d\d[ ][^\n]*+
    (?: \Z | \n (?: \Z | \n (?:>[^\n]*+\n)*+
    (?: \Z | >[^\n]*+ \Z | \n (?: \Z | \^[A-Za-z0-9-]*+
    (?: \Z | \n (?: \Z | \n (?: \Z | % \Z | %%[^\n]*+ \Z )))))))
    """,
    re.VERBOSE,
)
"""An incomplete record, wherever it breaks off."""

_ACTIVE = expression(r"[#`~=\-%<$^*_\[\]]")
"""Characters in a title that could begin a link, a tag, code or a comment."""


class JournalRecord(Struct, frozen=True):
    """One memory of a journal, parsed from its section."""

    block: str
    """The id by which links and the ledger refer to it."""
    title: str
    """The words of its heading, including Markdown."""
    data: dict[str, Any]
    """The data in its comment. Numbers and booleans are text, as in front matter."""
    text: str
    """The section from its heading on, without trailing blank lines."""
    body: int
    """Offset in `text` after the heading and its blank lines."""
    start: int
    """Character offset of the section in the file's text."""
    line: int
    """The number of lines above it."""

    @property
    def span(self) -> tuple[int, int]:
        """The span of its section in the file's text."""
        return self.start, self.start + len(self.text)

    @property
    def content(self) -> str:
        """The content of the section: its text without heading, block id and comment."""
        return blank(self.text, self.marks)[self.body :].strip()

    @property
    def spoken(self) -> tuple[str, str | None]:
        """The message and the response without quote marks; None for no response."""
        quoted = (self.text[start:stop] for start, stop in self.quoted)
        lines = [line[1:].removeprefix(" ") for line in quoted]
        border = str(self.data.get("response", ""))
        if border.isdigit() and 0 < int(border) <= len(lines):
            # The number of the quoted line between the message and the response.
            return "\n".join(lines[: int(border) - 1]), "\n".join(lines[int(border) :])
        return "\n".join(lines), None

    @property
    def words(self) -> str:
        """The message and response without quote marks, then a person's additions."""
        message, response = self.spoken
        lines = self.content.split("\n")
        added = "\n".join(line for line in lines if not line.startswith(">")).strip("\n")
        return "\n\n".join(filter(None, (message, response, added)))

    @property
    def comment(self) -> dict[str, Any]:
        """The data in its comment, with the types of JSON."""
        match = _DATA.search(self.text, self.body)
        return dict(json.loads(match["data"])) if match else {}

    @property
    def quoted(self) -> Iterator[tuple[int, int]]:
        """The spans of its quoted lines in `text`."""
        return (line.span() for line in _QUOTED.finditer(self.text, self.body))

    @property
    def marks(self) -> Iterator[tuple[int, int]]:
        """The spans of the block id and the comment in `text`."""
        marks = chain(*(pattern.finditer(self.text, self.body) for pattern in (_BLOCK, _DATA)))
        return iter(sorted(mark.span() for mark in marks))


class Journal(Struct, frozen=True):
    """The content of a journal's text."""

    records: tuple[JournalRecord, ...]
    others: tuple[tuple[int, int], ...]
    """Spans that belong to no record: the front matter, and text from a person."""
    torn: int | None
    """The start of an incomplete record; None when all are complete."""
    problem: str | None
    """Sections that look like records but are not."""


def is_journal(path: str, kind: str | None) -> bool:
    """Whether the file at a path of a vault, with a type from its front matter, is a journal."""
    place = PurePosixPath(path)
    return place.parts[0] == "journal" and (kind == TYPE or _NAME.fullmatch(place.stem) is not None)


def intact(data: bytes) -> bytes:
    """A journal's bytes without a character that was cut off or trailing zero bytes."""
    data = data.rstrip(b"\0")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.end == len(data):
            return data[: error.start]
    return data


def read(path: str, text: str, start: int = 0) -> Journal:
    """The records of a journal's text, whose line ends are `\\n`, from an offset on.

    The offset is the end of the header or of a record.
    """
    torn = _torn(path, text)
    whole = text if torn is None else text[:torn]
    body = start or block_end(whole)
    starts = [*(match.start() for match in _HEADING.finditer(whole, body)), len(whole)]
    records: list[JournalRecord] = []
    others = [(start, starts[0])]
    blocks: set[str] = set()
    problems = []
    line, counted = whole.count("\n", 0, start), start
    for begin, end in pairwise(starts):
        line += whole.count("\n", counted, begin)
        counted = begin
        record = _record(whole[begin:end].rstrip(), begin, line)
        if isinstance(record, JournalRecord) and record.block.lower() not in blocks:
            records.append(record)
            blocks.add(record.block.lower())
            continue
        others.append((begin, end))
        if isinstance(record, JournalRecord):
            problems.append(
                f"line {line + 1}: an earlier section also has the block id {record.block}"
            )
        elif record:
            problems.append(f"line {line + 1}: {record}")
    if torn is not None:
        number = text.count("\n", 0, torn) + 1
        problems.append(f"line {number}: the last record is incomplete and was not read")
    return Journal(tuple(records), tuple(others), torn, "; ".join(problems[:3]) or None)


def find(path: str, text: str, block: str) -> JournalRecord | None:
    """The record with a block id in a journal's text; None when it no longer exists."""
    torn = _torn(path, text)
    whole = text if torn is None else text[:torn]
    starts = [match.start() for match in _HEADING.finditer(whole, block_end(whole))]
    key = block.lower()
    for begin, end in pairwise([*starts, len(whole)]):
        # Only sections with the id are parsed, because a journal has hundreds.
        if f"^{key}" not in whole[begin:end].lower():
            continue
        record = _record(whole[begin:end].rstrip(), begin, whole.count("\n", 0, begin))
        if isinstance(record, JournalRecord) and record.block.lower() == key:
            return record if record.block == block else None
    return None


def header(day: str, home: str) -> str:
    """The start of a new journal."""
    return f"---\ntype: {TYPE}\ndate: {day}\nhome: {home}\n---\n# {day}\n"


def compose(time: str, title: str, block: str, text: str, data: Mapping[str, Any]) -> str:
    """The text of a record. Append it only to a journal without an incomplete record.

    `time` is `HH:MM`, `block` has letters, digits and `-`, and `data` is serialisable as JSON.
    `title` and `text` cannot add structure. In `text`, line ends become `\\n`, and characters that
    UTF-8 cannot encode are replaced.
    """
    words = _ACTIVE.sub(r"\\\g<0>", " ".join(writable(title).split()))
    lines = writable(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    quoted = "\n".join(f"> {line}" if line else ">" for line in lines)
    encoded = writable(json.dumps(data, ensure_ascii=False)).replace("%%", "%\\u0025")
    return f"\n## {time} {words}\n\n{quoted}\n\n^{block}\n\n%% {encoded} %%\n"


def path_of(day: str, home: str, number: int = 1) -> str:
    """The path of a home's journal of a day, or of a further one when that is full."""
    return f"journal/{day}.{home}{f'-{number}' if number > 1 else ''}.md"


def appendable(path: str, data: bytes) -> int | None:
    """How many bytes of a journal stay when a record is appended: all but a torn last record.

    None for a file that djinn did not begin, or that is not UTF-8 with line ends `\\n`.
    """
    whole = intact(data)
    try:
        text = whole.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\r" in text or text.startswith("\ufeff"):
        return None
    if _has_torn_header(path, text) or not text:
        return 0
    if not begun_by_djinn(path, text, frontmatter.read(text).fields):
        return None
    torn = _torn(path, text)
    return len(whole) if torn is None else len(text[:torn].encode("utf-8"))


def without(path: str, blocks: Collection[str], data: bytes) -> bytes:
    """The bytes of a journal that is `appendable`, without the sections with these block ids."""
    whole = intact(data)
    text, keys = whole.decode("utf-8"), {block.lower() for block in blocks}
    while True:
        records = [record for record in read(path, text).records if record.block.lower() in keys]
        if not records:
            return text.encode("utf-8") + data[len(whole) :]
        for record in reversed(records):
            start, end = record.span
            before, after = text[:start], text[end:].lstrip("\n")
            text = before + after if after else before.rstrip("\n") + "\n"


def marked(path: str, data: bytes, blocks: Collection[str], key: str, value: str) -> bytes:
    """The bytes of a journal with a field added to the data of the sections with these block ids.

    All other bytes stay. A section that has the field is left as it is, and so is a journal that is
    not `appendable`.
    """
    if appendable(path, data) != len(data):
        return data
    text = data.decode("utf-8")
    field = f"{json.dumps(key)}: {json.dumps(value)}"
    for record in reversed(read(path, text).records):
        comment = _DATA.search(record.text, record.body)
        if record.block not in blocks or key in record.data or comment is None:
            continue
        end = record.start + comment.end("data") - 1
        separator = ", " if record.data else ""
        text = f"{text[:end]}{separator}{field}{text[end:]}"
    return text.encode("utf-8")


def begun_by_djinn(path: str, text: str, fields: Mapping[str, Any]) -> bool:
    """Whether a journal's text and its front matter are those of a journal that djinn began."""
    whole = fields.get("type") == TYPE and fields.keys() >= HEADER_KEYS
    return whole or _has_torn_header(path, text)


def _has_torn_header(path: str, text: str) -> bool:
    """Whether a journal's text ends within the header that djinn writes."""
    named = _NAME.fullmatch(PurePosixPath(path).stem)
    if not (named and text):
        return False
    whole = header(*named.groups())
    return text != whole and whole.startswith(text)


def _torn(path: str, text: str) -> int | None:
    """The start of an incomplete record or header at the end of the text."""
    if _has_torn_header(path, text):
        return 0
    start = text.rfind("\n#") + 1
    if not _BEGINNING_OF_RECORD.match(text, start):
        return None
    # An editor may have taken away the last line's end.
    last = _DATA.fullmatch(text, text.rfind("\n") + 1)
    return None if last and _decoded(last["data"]) is not None else start


def _record(text: str, start: int, line: int) -> JournalRecord | str | None:
    """The record in a section, or a description of its fault; None for a section by a person."""
    heading, block, comment = _RECORD_HEADING.match(text), _BLOCK.search(text), _DATA.search(text)
    if not (heading and block and comment):
        return None
    data = _decoded(comment["data"])
    if data is None:
        return "the data in %% is not a JSON object, so the section is read as text"
    return JournalRecord(
        block["block"], heading["title"].strip(), data, text, heading.end(), start, line
    )


def _decoded(source: str) -> dict[str, Any] | None:
    try:
        data = _as_text(json.loads(source, parse_float=str, parse_int=str, parse_constant=str))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _as_text(value: Any) -> Any:
    """A JSON value as front matter returns it: scalars are text that UTF-8 can encode."""
    if isinstance(value, dict):
        return {writable(key): _as_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_text(inner) for inner in value]
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else writable(value)
