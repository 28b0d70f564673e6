"""The memories in one Markdown file: a note is one memory, a journal has one in each section."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath

from msgspec import Struct

from djinn_memory.models import Dialect
from djinn_memory.notes import frontmatter, journal
from djinn_memory.notes.dialects.rules import RULES, DialectRules
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.frontmatter import FrontMatter
from djinn_memory.notes.journal import JournalRecord
from djinn_memory.notes.markdown import blank
from djinn_memory.notes.note import Note, parse, understand

_TITLE = re.compile(r"^#[ \t][^\n]*", re.MULTILINE)
"""The heading of a journal. It is not a memory by itself."""


class NoteMemory(Struct, frozen=True):
    """A memory of a file. `parse` reads it, which is only needed when `digest` is new."""

    block: str | None
    """The block id of a journal's section; None for a whole note."""
    digest: bytes
    """A hash of its text, its dialect and the day of its journal: all input to `parse`."""
    line: int
    """The number of lines in the file above its text."""
    offset: int
    """The start of its text in the text of the file, in characters."""
    parse: Callable[[], Note]


class NoteFile(Struct, frozen=True):
    """The memories read from a file, and any problem."""

    memories: tuple[NoteMemory, ...]
    """At least one. In a journal, at most one has no block id: the text outside of records."""
    problem: str | None


def content_hash(data: bytes) -> bytes:
    """The hash of a file's bytes, by which the index knows a note."""
    return hashlib.blake2b(data, digest_size=16).digest()


def parse_file(path: str, data: bytes, dialect: Dialect = "obsidian") -> NoteFile:
    """The memories in a file's bytes. `path` is relative to the vault."""
    if path.startswith("journal/") and (file := _journal(path, data, dialect)):
        return file
    note = parse(path, data, dialect)
    digest = _digest(dialect, data)
    return NoteFile((NoteMemory(None, digest, 0, 0, lambda: note),), note.problem)


def parse_appended(path: str, data: bytes, size: int, dialect: Dialect) -> NoteFile | None:
    """The memories of the records that were appended to a journal's first `size` bytes.

    None where there may be anything else: then the whole file is to be read. The cost depends on
    the records alone, apart from a copy of the file.
    """
    if not path.startswith("journal/") or journal.appendable(path, data) != len(data):
        return None
    # `appendable` takes UTF-8 alone.
    start, text = len(data[:size].decode("utf-8", "replace")), data.decode("utf-8")
    rules = RULES[dialect]
    front = rules.front(text, frontmatter.read(text))
    content = journal.read(path, text, start)
    blank_lines = all(not text[begin:end].strip() for begin, end in content.others)
    if not blank_lines or content.problem or front.problem:
        return None
    return NoteFile(_memories(content, _day(path, front, rules), rules, dialect), None)


def _journal(path: str, data: bytes, dialect: Dialect) -> NoteFile | None:
    """The memories of a journal; None for another file, or for a journal without a record.

    A file without djinn's header is a journal only if it has a complete record. Otherwise its last
    section may be an ordinary section rather than an incomplete record.
    """
    text, remark = decode(journal.intact(data))
    rules = RULES[dialect]
    front = rules.front(text, frontmatter.read(text))
    kind = front.fields.get("type")
    if not journal.is_journal(path, kind if isinstance(kind, str) else None):
        return None
    content = journal.read(path, text)
    problem = "; ".join(filter(None, (front.problem, remark, content.problem))) or None
    memories = [*_memories(content, _day(path, front, rules), rules, dialect)]
    torn = content.torn if journal.begun_by_djinn(path, text, front.fields) else None
    if not memories and torn is None:
        return None
    spans = [*content.others]
    if content.torn is not None and torn is None:
        spans.append((content.torn, len(text)))
    others = [(start, text[start:end]) for start, end in spans]
    if any(_TITLE.sub("", other[max(front.body - start, 0) :]).strip() for start, other in others):
        whole = blank(text[:torn], [record.span for record in content.records])
        digest = _digest(dialect, repr(others))
        read = partial(understand, PurePosixPath(path).stem, whole, front, rules)
        memories.append(NoteMemory(None, digest, 0, 0, read))
    return NoteFile(tuple(memories), problem)


def _day(path: str, front: FrontMatter, rules: DialectRules) -> str | None:
    """The day of a journal: from its front matter, else from its name."""
    written = front.fields.get("date")
    day = rules.moment(written) if isinstance(written, str) else None
    return day or rules.day(PurePosixPath(path).stem)


def _memories(
    content: journal.Journal, day: str | None, rules: DialectRules, dialect: Dialect
) -> tuple[NoteMemory, ...]:
    return tuple(
        NoteMemory(
            record.block,
            _digest(dialect, day or "", record.text),
            record.line,
            record.start,
            partial(_record_note, record, day, rules),
        )
        for record in content.records
    )


def _record_note(record: JournalRecord, day: str | None, rules: DialectRules) -> Note:
    fields = record.data
    if day and not any(fields.get(key) for key in ("date", *rules.created)):
        fields = {**fields, "date": day}
    return understand(
        record.block,
        record.text,
        FrontMatter(fields, record.body),
        rules,
        title=record.title,
        quoted=record.quoted,
        marks=record.marks,
    )


def _digest(*parts: str | bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(encoded).to_bytes(8) + encoded)
    return digest.digest()
