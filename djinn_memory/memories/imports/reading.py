"""Reads an export as messages: opens its files and hands their records to the reader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.memories.imports.calendar import read_calendar
from djinn_memory.memories.imports.chat_exports import Workspace, read_chatgpt, read_claude
from djinn_memory.memories.imports.chat_log import ChatLog
from djinn_memory.memories.imports.detect import AGAIN, LISTS, Export
from djinn_memory.memories.imports.messages import Read
from djinn_memory.memories.imports.occurrences import ImportPeriod
from djinn_memory.memories.imports.records import UNREADABLE, BadRecord, read_records, reason
from djinn_memory.models import Problem

MOST_PROBLEMS = 20
"""Maximum number of problems of a file that are reported by themselves."""

Advance = Callable[[int], None]
Reader = Callable[[Any], Iterator[Read]]


class Reading(Struct):
    """The reading of one export."""

    export: Export
    user: str
    """The name of the user, in lower case; may be empty."""
    now: datetime
    period: ImportPeriod
    """The time whose occurrences of repeating events are read."""
    advance: Advance
    """Gets the number of bytes that were read."""
    bad: int = 0
    """The number of problems so far."""

    def messages(self) -> Iterator[Read]:
        """The messages of the export. An unreadable part is a problem, and the rest is read."""
        for read in self._read():
            if isinstance(read, Problem):
                self.bad += 1
                if self.bad > MOST_PROBLEMS:
                    continue
            yield read
        if self.bad > MOST_PROBLEMS:
            more = self.bad - MOST_PROBLEMS
            yield Problem(self.export.shown, f"{more:,} more records cannot be read")

    def _read(self) -> Iterator[Read]:
        if self.export.format == "slack":
            yield from self._slack()
            return
        [name] = self.export.names
        readers: dict[str, Callable[[str, BinaryIO], Iterator[Read]]] = {
            "calendar": self._calendar,
            "claude": partial(self._records, read_claude),
            "chatgpt": partial(self._records, read_chatgpt),
            "jsonl": self._log,
        }
        yield from self._opened(name, readers[self.export.format])

    def _opened(self, name: str, read: Callable[[str, BinaryIO], Iterator[Read]]) -> Iterator[Read]:
        """The items that `read` yields from a file. An unreadable part becomes a problem."""
        shown = self.export.tree.shown(name)
        try:
            with self.export.tree.open(name) as stream:
                yield from read(shown, stream)
        except DjinnError as error:
            yield Problem(shown, str(error))
        except UNREADABLE as error:
            yield Problem(shown, f"cannot be read to its end: {reason(error)}")

    def _records(self, reader: Reader, shown: str, stream: BinaryIO) -> Iterator[Read]:
        for place, record in read_records(stream, self.export.layout, self.advance):
            where = f"{shown}, {place}" if place else shown
            if not isinstance(record, dict):
                yield Problem(where, _left_out(record))
                continue
            try:
                # As a whole, so that a conversation with a fault is left out as a whole.
                messages = [*reader(record)]
            except (ValueError, RecursionError) as error:
                yield Problem(where, f"it {error}; it was left out")
                continue
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                yield Problem(where, f"cannot be read ({why}) and was left out; report this bug")
                continue
            yield from (_named(message, where) for message in messages)

    def _log(self, shown: str, stream: BinaryIO) -> Iterator[Read]:
        name = PurePosixPath(self.export.names[0] or self.export.shown).stem
        log = ChatLog(" ".join(name.split())[:60] or "log", self.user)
        yield from self._records(log.read, shown, stream)

    def _calendar(self, shown: str, stream: BinaryIO) -> Iterator[Read]:
        for read in read_calendar(stream, self.now, self.period, self.advance):
            yield _named(read, shown)

    def _slack(self) -> Iterator[Read]:
        export, workspace = self.export, Workspace()
        for name in LISTS:
            place = f"{export.root}/{name}" if export.root else name
            if place in export.tree.entries:
                add = workspace.add_conversations
                if "users" in name:
                    add = partial(workspace.add_people, user=self.user)
                yield from self._opened(place, partial(self._list, add))
        folders: dict[str, list[str]] = defaultdict(list)
        for name in export.names:
            folder = PurePosixPath(name or export.tree.shown("")).parent.name
            folders[folder].append(name)
        for folder, names in folders.items():
            read = partial(self._conversation, workspace, folder)
            for name in names:
                yield from self._opened(name, read)

    def _list(self, add: Callable[[Any], None], shown: str, stream: BinaryIO) -> Iterator[Read]:
        """Read a list of people or of channels."""
        for _, entry in read_records(stream, "item"):
            if isinstance(entry, BadRecord):
                yield Problem(shown, entry.why)
            else:
                add([entry])

    def _conversation(
        self, workspace: Workspace, folder: str, shown: str, stream: BinaryIO
    ) -> Iterator[Read]:
        place = workspace.conversation(folder)
        yield from self._records(
            lambda message: iter([workspace.read(message, place)]), shown, stream
        )


def _left_out(record: object) -> str:
    """Why a record is left out."""
    if not isinstance(record, BadRecord):
        return "it is not a JSON object; it was left out"
    if record.cut:
        return f"{record.why}; the records before were read; {AGAIN}"
    return f"{record.why}; it was left out"


def _named(read: Read, where: str) -> Read:
    """A problem with the file in which it is."""
    return replace(read, what=f"{where}: {read.what}") if isinstance(read, Problem) else read
