"""Finds the exports in a file, a folder or an archive, by their content."""

from __future__ import annotations

import io
import os
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from msgspec import Struct

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.memories.imports.chat_exports import export_format
from djinn_memory.memories.imports.chat_log import MESSAGES, is_chat
from djinn_memory.memories.imports.records import (
    HEAD,
    LINES,
    BadRecord,
    Gate,
    Tree,
    open_tree,
    parsed,
    read_records,
)
from djinn_memory.memories.imports.requests import (
    FORMATS,
    FormatChoice,
    ImportFormat,
    ImportHistory,
)
from djinn_memory.models import Problem
from djinn_memory.system.files import expand

LISTS = (
    "users.json", "org_users.json", "channels.json", "groups.json", "dms.json", "mpims.json",
)  # fmt: skip
"""The files of a Slack export that name people and channels. People come first."""

_DAY = re.compile(r"(?:(?P<root>.+)/)?(?P<folder>[^/]+)/\d{4}-\d\d-\d\d\.json")

LOOKED_AT = 50
"""Maximum number of lines that are searched for a record of a known form."""


CALENDAR = b"BEGIN:VCALENDAR"

NEWLINE = b"\n"

AGAIN = "export or download it again"
"""The remedy for a file that is cut off."""


class Export(Struct, frozen=True):
    """Something to import: a file, or the folder of a Slack export with its files."""

    tree: Tree
    format: ImportFormat
    names: tuple[str, ...]
    """Its files in the tree, in the order in which they are read."""
    layout: str = LINES
    """Where the records are in a file; see `read_records`."""
    root: str = ""
    """The folder of a Slack export in the tree."""

    @property
    def shown(self) -> str:
        """Its path, for people."""
        return self.tree.shown(self.root if self.format == "slack" else self.names[0])

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return sum(self.tree.entries[name].size for name in self.names)


def requested_exports(
    request: ImportHistory, hides: Container[Path], problems: list[Problem]
) -> Iterator[Export]:
    """The exports at the paths of a request. Raises the first problem if there are none.

    For `hides` see `open_tree`.
    """
    if not request.paths:
        raise UsageError("give at least one path", argument="paths")
    kind: type[DjinnError] = DjinnError
    count = 0
    for path in dict.fromkeys(map(expand, request.paths)):
        number, before = 0, len(problems)
        try:
            tree = open_tree(path, hides)
            for export in _in_tree(tree, request, problems):
                number += 1
                yield export
            inner = any(name.lower().endswith(".zip") for name in tree.entries)
            if not number and inner and not tree.path.is_dir():
                raise UsageError("has only archives; unpack it, then import the folder")
            if not number and "" in tree.entries and not tree.entries[""].size:
                raise UsageError("is empty")
            if not number and len(problems) == before:
                raise UsageError(f"has no known format; djinn imports {FORMATS}")
        except DjinnError as error:
            if not problems:
                kind = type(error)
            problems.append(Problem(os.path.normpath(path), str(error)))
        count += number
    if not count:
        raise kind(f"{problems[0].what}: {problems[0].why}")


def _in_tree(tree: Tree, request: ImportHistory, problems: list[Problem]) -> Iterator[Export]:
    """The exports in a tree, and in the archives in a folder."""
    yield from _find_exports(tree, request.format, problems)
    for name in tree.entries:
        if name.lower().endswith(".zip") and tree.path.is_dir():
            try:
                yield from _find_exports(open_tree(tree.path / name), request.format, problems)
            except DjinnError as error:
                problems.append(Problem(tree.shown(name), str(error)))


def _find_exports(tree: Tree, form: FormatChoice, problems: list[Problem]) -> Iterator[Export]:
    """The exports in a tree. Files of an unknown form are left out.

    With a `form`, only files of that format are exports, and a single file is taken for one of
    them. A file that cannot be read is added to `problems`; a single one raises `DjinnError`.
    """
    rest = list(tree.entries)
    if form in ("auto", "slack"):
        for export in _workspaces(tree, rest):
            yield export
            taken = set(export.names)
            rest = [name for name in rest if name not in taken and not _beside(name, export)]
    for name in rest:
        try:
            kind, layout = _sniffed(tree, name)
        except DjinnError as error:
            if not name:
                raise
            problems.append(Problem(tree.shown(name), str(error)))
            continue
        if form != "auto":
            kind = form if kind == form or not name else None
        if kind:
            yield Export(tree, kind, (name,), layout or LINES)


def _beside(name: str, export: Export) -> bool:
    """Whether a file is a list of a Slack export."""
    folder, _, file = name.rpartition("/")
    return folder == export.root and file in LISTS


def _workspaces(tree: Tree, names: Sequence[str]) -> Iterator[Export]:
    """The Slack exports in a tree: folders of channels with a file for each day."""
    days: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if match := _DAY.fullmatch(name):
            days[match["root"] or ""].append(name)
    for root, files in days.items():
        listed = any(_below(root, name) in tree.entries for name in LISTS)
        if listed or any(_is_slack_day(tree, name) for name in files[:5]):
            yield Export(tree, "slack", tuple(sorted(files)), "item", root)


def _is_slack_day(tree: Tree, name: str) -> bool:
    """Whether a file has messages of Slack. One that cannot be read is reported later."""
    with suppress(DjinnError):
        return _sniffed(tree, name)[0] == "slack"
    return False


def _below(root: str, name: str) -> str:
    return f"{root}/{name}" if root else name


def _sniffed(tree: Tree, name: str) -> tuple[ImportFormat | None, str]:
    """The format of a file and the layout of its records; an empty layout for no JSON.

    Raises `DjinnError` for a file that is cut off before its format can be told.
    """
    with tree.open(name) as stream:
        head = stream.read(HEAD)
        text = head.lstrip(b" \t\r\n\x1e")
        start = text[: len(CALENDAR)].upper()
        if start == CALENDAR:
            return "calendar", LINES
        if start and CALENDAR.startswith(start):
            raise DjinnError(f"is cut off in its first line; {AGAIN}")
        if text[:1] == b"[":
            return _first(head, stream, "item"), "item"
        if text[:1] != b"{":
            return None, ""
        line, end, more = text.partition(b"\n")
        while not end and (block := stream.read(HEAD)):
            # A first line that is longer than the head may be all that there is.
            before, end, more = block.partition(b"\n")
            line += before
            if len(line) > 1_000_000:
                break
        record = parsed(line)
        if isinstance(record, BadRecord):
            kind, layout = _document(head, stream)
            if kind is None and record.cut and not stream.read(1):
                _refuse_cut(line if not end else head, not end)
            return kind, layout
        inner = record.get("conversations") if isinstance(record, dict) else None
        if isinstance(inner, list) and inner and _is_conversation(inner[0]):
            return _record_format(inner[0]), "conversations.item"
        following = map(parsed, more.split(b"\n")[:LOOKED_AT])
        return next(filter(None, map(_record_format, chain([record], following))), None), LINES


def _refuse_cut(data: bytes, one_line: bool) -> None:
    """Raise `DjinnError` for a JSON document that breaks off, if these bytes are all of it."""
    whole = parsed(data)
    if isinstance(whole, BadRecord) and whole.cut:
        where = "its first line" if one_line else f"line {data.count(NEWLINE) + 1:,}"
        raise DjinnError(f"is cut off in {where}; {AGAIN}")


def _is_conversation(record: Any) -> bool:
    """Whether a record is a conversation rather than a message."""
    whole = ("chatgpt", "claude")
    return _record_format(record) in whole or (isinstance(record, dict) and "messages" in record)


def _first(head: bytes, stream: Any, prefix: str) -> ImportFormat | None:
    """The format of the first elements of a file whose head was read."""
    both = _Joined(head, stream)
    for place, element in islice(read_records(cast(BinaryIO, both), prefix), 5):
        if isinstance(element, BadRecord) and element.cut:
            why = element.why.removeprefix("the file ")
            raise DjinnError(f"{why.replace('here', place or 'its first record')}; {AGAIN}")
        if kind := _record_format(element):
            return kind
    return None


def _document(head: bytes, stream: Any) -> tuple[ImportFormat | None, str]:
    """The format of a file with one JSON object over several lines."""
    import ijson

    keys = []
    try:
        for place, event, value in ijson.parse(Gate(io.BytesIO(head))):
            if place == "" and event == "map_key":
                keys.append(value)
    except (ijson.JSONError, ValueError):
        pass
    if "conversations" in keys and (kind := _first(head, stream, "conversations.item")):
        return kind, "conversations.item"
    if "mapping" in keys:
        return "chatgpt", ""
    if "chat_messages" in keys:
        return "claude", ""
    return ("jsonl" if set(keys) & set(MESSAGES) else None), ""


def _record_format(record: Any) -> ImportFormat | None:
    """The format of a record."""
    return export_format(record) or ("jsonl" if is_chat(record) else None)


class _Joined:
    """The head of a stream, then the rest of it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def read(self, size: int = -1) -> bytes:
        return self._head.read(size) or self._rest.read(size)
