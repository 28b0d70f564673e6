"""Opens exports: files, folders and zip archives, and reads their JSON records one at a time."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from msgspec import Struct

from djinn_memory.documents.sources import no_such_file
from djinn_memory.errors import DjinnError
from djinn_memory.notes.encoding import detect

HEAD = 65_536
"""Bytes at the start of a file that tell its encoding and its format."""

MOST_RATIO = 200
"""Maximum ratio of a member's size to its compressed size. Text rarely exceeds 20."""

SMALL = 50_000_000
"""Size in bytes up to which a member of an archive may have any ratio."""

UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError)
"""The errors of reading a file or a member of an archive."""


class _Entry(Struct, frozen=True):
    """A file in a tree."""

    size: int
    """Its size in bytes, unpacked."""
    at: datetime
    """The time of its last change."""


class Tree(Struct, frozen=True):
    """A single file, a folder or an archive, with the files in it."""

    path: Path
    """Its path, as it was given."""
    entries: dict[str, _Entry]
    """Its files in order, by their paths in the tree, with `/`; by "" for a single file."""
    opener: Callable[[str], IO[bytes]]

    def shown(self, name: str) -> str:
        """The path of a file, for people."""
        return os.path.normpath(self.path / name)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file as UTF-8, without a byte order mark.

        Raises `DjinnError` when it cannot be read.
        """
        try:
            with self.opener(name) as raw:
                yield _as_utf8(io.BufferedReader(cast(io.RawIOBase, raw), HEAD))
        except UNREADABLE as error:
            raise DjinnError(f"cannot be read: {reason(error)}") from None


def reason(error: BaseException) -> str:
    """Why a file cannot be read, as a clause."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, RuntimeError) and "encrypted" in str(error):
        return "it is encrypted; unpack it first"
    return f"it is damaged ({error})"


def open_tree(path: Path, hides: Container[Path] = ()) -> Tree:
    """The tree at a path. Raises `NotFound`, and `DjinnError` when it cannot be read.

    Nothing below a path in `hides` is looked at: it is treated as if it did not exist.
    """
    if path in hides:
        raise no_such_file()
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise no_such_file() from None
    except OSError as error:
        raise DjinnError(f"cannot be read: {reason(error)}") from None
    try:
        if stat.S_ISDIR(mode):
            return _folder(path, hides)
        if not stat.S_ISREG(mode):
            raise DjinnError("is not a regular file")
        if zipfile.is_zipfile(path):
            return _archive(path)
        return _file(path)
    except UNREADABLE as error:
        raise DjinnError(f"cannot be read: {reason(error)}") from None


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _file(path: Path) -> Tree:
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"PK\3\4":
        raise DjinnError(
            "cannot be read: the archive is damaged, or cut off after "
            f"{path.stat().st_size:,} bytes; download it again"
        )
    entry = _Entry(path.stat().st_size, _changed(path))
    return Tree(path, {"": entry}, lambda _: path.open("rb", buffering=0))


def _folder(root: Path, hides: Container[Path]) -> Tree:
    """A folder with its files, also in subfolders. Hidden files and links out of it are skipped."""
    entries = {}
    real = root.resolve()
    for folder, names, files in os.walk(root):
        names[:] = sorted(
            name for name in names if not name.startswith(".") and Path(folder, name) not in hides
        )
        for file in sorted(files):
            place = Path(folder, file)
            with suppress(OSError, RuntimeError):
                inside = not place.is_symlink() or (
                    place not in hides and place.resolve().is_relative_to(real)
                )
                if not file.startswith(".") and inside and place.is_file():
                    name = place.relative_to(root).as_posix()
                    entries[name] = _Entry(place.stat().st_size, _changed(place))
    return Tree(root, entries, lambda name: (root / name).open("rb", buffering=0))


def _archive(path: Path) -> Tree:
    archive = zipfile.ZipFile(path)
    entries = {}
    for info in archive.infolist():
        hidden = info.filename.startswith(("__MACOSX/", ".")) or "/." in info.filename
        if info.is_dir() or hidden:
            continue
        at = _changed(path)
        with suppress(ValueError):
            at = datetime(*info.date_time).astimezone(UTC)
        entries[info.filename] = _Entry(info.file_size, at)

    def opener(name: str) -> IO[bytes]:
        info = archive.getinfo(name)
        if info.file_size > SMALL and info.file_size > MOST_RATIO * max(info.compress_size, 1):
            raise DjinnError(
                f"would unpack {info.file_size:,} bytes from {info.compress_size:,}, as a zip bomb "
                "does; unpack it yourself if you trust it"
            )
        return archive.open(info)

    return Tree(path, dict(sorted(entries.items())), opener)


class _Recoded(io.RawIOBase):
    """A stream in another encoding, as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._text = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._rest or self._text.read(len(view) // 4 or 1).encode("utf-8", "replace")
        part, self._rest = data[: len(view)], data[len(view) :]
        view[: len(part)] = part
        return len(part)


def _as_utf8(stream: io.BufferedReader) -> BinaryIO:
    """A stream as UTF-8 without a byte order mark, whatever its encoding."""
    head = stream.peek(HEAD)[:HEAD]
    # The last character may be cut off.
    for end in range(4):
        bom, encoding, _ = detect(head[: len(head) - end])
        if encoding == "utf-8":
            break
    else:
        bom, encoding, _ = detect(head)
    stream.read(len(bom))
    if encoding in ("utf-8", None):
        return stream
    return io.BufferedReader(_Recoded(stream, encoding))


MOST_BYTES = 64_000_000
"""Maximum size of a record. A longer one is not held in memory."""

SKIPPED_BYTES = 65_536
"""Bytes of a longer one that are read at once."""

MOST_DEPTH = 500
"""Maximum depth of nested arrays and objects."""

MOST_DIGITS = 2_000
"""Maximum digits of a number. Python refuses 4,300, and a number may lie in two blocks."""

_INNER = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
_STRING = re.compile(rb'"%b"|(")%b(\\?)\Z' % (_INNER, _INNER), re.DOTALL)
"""A string. The groups are of the last one, if it does not end here: its quote, and a backslash
that escapes the next character."""

_BRACKET = re.compile(rb"[\[\]{}]")
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MOST_DIGITS + 1))

LINES = "lines"
"""The layout of a file with a record on each line."""


_CUT_LITERAL = re.compile(
    r"(?:(?:^|[\s:,\[])(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-)|(?:^|\d)(?:\.|\.?\d*[eE][+-]?))\Z"
)
"""A word or a number that breaks off, and is not JSON so far."""


class BadRecord(Struct, frozen=True):
    """A record that cannot be read."""

    why: str
    cut: bool = False
    """Whether the file ends within it."""


def read_records(
    stream: BinaryIO, layout: str, advance: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[str, Any]]:
    """The records of a UTF-8 stream, each with its place, such as `line 3`.

    `layout` is `LINES`, or the prefix of the records as ijson writes it: `item` for the elements of
    an array. `advance` gets the number of bytes that were read. A record that cannot be read is a
    `BadRecord`.
    """
    if layout == LINES:
        yield from _lines(stream, advance)
    else:
        yield from _elements(stream, layout, advance)


def _lines(stream: BinaryIO, advance: Callable[[int], None]) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := stream.readline(MOST_BYTES):
        number += 1
        advance(len(line))
        if len(line) == MOST_BYTES and not line.endswith(b"\n"):
            # The first part of the line must not stay in memory beside the rest.
            line = b""
            while rest := stream.readline(SKIPPED_BYTES):
                advance(len(rest))
                if rest.endswith(b"\n"):
                    break
            yield f"line {number}", BadRecord(f"it is longer than {MOST_BYTES:,} bytes")
        elif line.strip(b" \t\r\n\x1e"):
            record = parsed(line)
            if isinstance(record, BadRecord) and record.cut and not line.endswith(b"\n"):
                record = BadRecord("the file is cut off in this line", True)
            yield f"line {number}", record


def parsed(line: bytes) -> Any:
    """The JSON value of a line, or a `BadRecord`."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("cp1252", "replace")
    try:
        return json.loads(text.strip("\x1e \t\r\n\0"))
    except RecursionError:
        return BadRecord("it is nested too deep")
    except json.JSONDecodeError as error:
        return BadRecord(f"it is not JSON ({error})", _breaks_off(error))
    except ValueError as error:
        return BadRecord(f"it is not JSON ({error})")


def _breaks_off(error: json.JSONDecodeError) -> bool:
    """Whether a text that is not JSON could be the beginning of JSON."""
    rest = error.doc[error.pos :]
    return (
        not rest.strip()
        or error.msg.startswith(("Unterminated string", "Invalid \\uXXXX"))
        or _CUT_LITERAL.fullmatch(rest) is not None
    )


def _elements(
    stream: BinaryIO, prefix: str, advance: Callable[[int], None]
) -> Iterator[tuple[str, Any]]:
    import ijson

    gate, number = Gate(stream, advance), 0
    try:
        for element in ijson.items(gate, prefix, use_float=True):
            number += 1
            gate.since = 0
            yield f"element {number}" if prefix else "", element
    except (ijson.JSONError, ValueError, RecursionError) as error:
        why = str(error).split("\n", 1)[0].strip() or type(error).__name__
        place = f"after element {number:,}" if number else ""
        if "premature EOF" in why or _CUT_LITERAL.search(gate.tail.decode("ascii", "replace")):
            yield (
                place,
                BadRecord(f"the file is cut off from here on, at byte {gate.size:,}", True),
            )
        else:
            yield place, BadRecord(f"the file is not JSON from here on ({why})")


class Gate:
    """A stream of JSON that refuses input which the parser cannot handle, with `ValueError`.

    That is a record that would fill the memory, deep nesting, of which the parser keeps the square,
    and a number with thousands of digits, at which it crashes.
    """

    def __init__(
        self, stream: BinaryIO | BytesIO, advance: Callable[[int], None] = lambda _: None
    ) -> None:
        """`advance` gets the number of bytes that were read."""
        self._stream, self._advance = stream, advance
        self.since = 0
        """The bytes that were read of the current record. The parser's caller resets it."""
        self.size = 0
        """The bytes that were read."""
        self.tail = b""
        """The last of them."""
        self._depth = 0
        self._opened = b""
        """The start of the string that the bytes so far end in; empty outside of strings."""

    def read(self, size: int = -1) -> bytes:
        if self.since > MOST_BYTES:
            raise ValueError(f"a record is longer than {MOST_BYTES:,} bytes")
        data = self._stream.read(size)
        self.since += len(data)
        self.size += len(data)
        self.tail = (self.tail + data[-8:])[-8:]
        self._advance(len(data))
        self._check(self._opened + data)
        return data

    def _check(self, data: bytes) -> None:
        structure, *opened = _STRING.sub(rb"\1\2", data).partition(b'"')
        self._opened = b"".join(opened)
        if _LONG_NUMBER.search(structure):
            raise ValueError(f"a number has more than {MOST_DIGITS:,} digits")
        opens = structure.count(b"[") + structure.count(b"{")
        if self._depth + opens > MOST_DEPTH:
            depth = self._depth
            for bracket in _BRACKET.findall(structure):
                depth += 1 if bracket in b"[{" else -1
                if depth > MOST_DEPTH:
                    raise ValueError("it is nested too deep")
        self._depth += opens - structure.count(b"]") - structure.count(b"}")
