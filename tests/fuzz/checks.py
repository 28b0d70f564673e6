"""What holds of every input, however hostile: called with made-up ones and by the fuzzer."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from djinn_memory.chunking.chunks import sections, windows
from djinn_memory.errors import Refused
from djinn_memory.indexing.indexer import cut
from djinn_memory.models import Dialect
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import iso_date, spoken_date
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.markdown import code_blocks, mask
from djinn_memory.notes.note import MAX_TITLE, Note, parse
from djinn_memory.notes.slugs import slug
from djinn_memory.search import query as queries

DIALECTS: tuple[Dialect, ...] = ("obsidian", "foam", "dendron", "logseq", "markdown")
NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?")


LONGEST = 20.0
"""Seconds of the processor that no input may cost: none costs a tenth of it."""


@contextmanager
def swiftly(seconds: float = LONGEST) -> Iterator[None]:
    """Fail when what is inside takes the processor for longer."""
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < seconds, f"took {took:.1f} s"


def check_front_matter(data: bytes, key: str, value: object) -> None:
    """A note's front matter is read without harm, and an edit changes one field alone."""
    with swiftly():
        text, remark = decode(data)
        front = frontmatter.read(text)
    assert 0 <= front.body <= len(text)
    _check_one_line(remark)
    _check_one_line(front.problem)
    _check_plain(front.fields)
    try:
        with swiftly():
            changed = frontmatter.edit(data, (key,), value)
    except Refused as refused:
        _check_one_line(str(refused))
        return
    text_after, _ = decode(changed)
    after = frontmatter.read(text_after)
    # What asks for code to be run is told, and stays as it is. A key that is there in other letters
    # is named too.
    assert after.problem in (None, front.problem) or "more than once" in after.problem
    assert after.fields == {**front.fields, key: value}
    assert text_after[after.body :] == text[front.body :]
    assert frontmatter.edit(changed, (key,), value) == changed


def check_note(data: bytes, dialect: Dialect, path: str) -> None:
    """Any bytes are a note, whose chunks hold all of its text and know where they stand."""
    with swiftly():
        note = parse(path, data, dialect)
    _check_note(note)
    outline = RULES[dialect].outline
    with swiftly():
        parts = list(cut(note, outline=outline))
    assert parts
    covered = bytearray(len(note.text))
    for chunk, spans in parts:
        assert note.body <= chunk.start <= chunk.end <= len(note.text)
        assert 1 <= chunk.first_line <= chunk.last_line
        assert chunk.last_line <= note.text.count("\n", 0, chunk.end) + 1
        assert spans and spans[0].start == 0 and spans[-1].end == chunk.end - chunk.start
        for before, after in pairwise(spans):
            assert before.start < after.start <= before.end < after.end
        covered[chunk.start : chunk.end] = b"x" * (chunk.end - chunk.start)
    fences = code_blocks(note.searched, outline=outline)
    for section in sections(note.searched, note.body, fences):
        for at in range(section.start, section.end):
            assert covered[at] or note.searched[at].isspace(), (at, note.searched[at])


def check_query(text: str) -> None:
    """Any text is a query, of which nothing is asked that cannot be written to the index."""
    with swiftly():
        found = queries.parse(text)
    for part in (found.text, *found.words, *found.meanings, *found.phrases, *found.without,
                 *found.tags, *found.types, *found.paths):  # fmt: skip
        part.encode()
        assert "\0" not in part
    assert len(found.meanings) <= queries.MAX_MARKS
    assert all(key in ("tag", "type", "path") and value for key, value in found.excluded)
    assert found.asks == bool(found.for_words or found.for_meaning[0])
    assert len(found.for_meaning[0]) == len(found.for_meaning[1])


def check_dates(text: str) -> None:
    """A date is ISO or None; a slug is its own."""
    with swiftly():
        found = iso_date(text)
        spoken = spoken_date(text, NOW)
        name = slug(text)
    if found is not None:
        assert _ISO.fullmatch(found)
        assert iso_date(found) == found
    if spoken is not None:
        assert re.fullmatch(rf"{_ISO.pattern}|[0-9]{{4}}(-[0-9]{{2}})?", spoken)
    assert name and slug(name) == name
    assert not set(name) & set("/\\\0\n:") and not name.startswith((".", "-"))


def check_windows(start: int, end: int, tokens: list[int], limit: int) -> None:
    """Windows cover what they are asked to, and none has more tokens than `limit`."""
    spans = windows(start, end, tokens, limit)
    assert spans[0][0] == start and spans[-1][1] == end
    for low, high in spans:
        assert sum(low <= token < high for token in tokens) <= limit


def _check_note(note: Note) -> None:
    assert 0 <= note.body <= len(note.text) == len(note.searched)
    assert [at for at, one in enumerate(note.searched) if one == "\n"] == [
        at for at, one in enumerate(note.text) if one == "\n"
    ]
    assert note.title and len(note.title) <= MAX_TITLE
    _check_one_line(note.problem)
    for text in (note.text, note.title, *note.tags, *note.aliases, note.type or ""):
        text.encode()
        assert "\0" not in text
    for moment in (note.created, note.updated, note.date):
        assert moment is None or _ISO.fullmatch(moment)
    body = note.text[note.body :]
    assert len(mask(body)) == len(body)
    for link in note.links:
        if link.field is None:
            assert 0 <= link.start < link.end <= len(body)
            assert link.line == body.count("\n", 0, link.start) + 1
            assert body[link.start] in "![({" and body[link.end - 1] in "])}"
        assert link.target or link.heading or link.block


def _check_one_line(text: str | None) -> None:
    assert text is None or (len(text) < 500 and len(text.splitlines()) <= 1), text


def _check_plain(value: Any) -> None:
    """Nothing but mappings, lists and texts."""
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            _check_plain(inner)
    else:
        assert isinstance(value, str)
