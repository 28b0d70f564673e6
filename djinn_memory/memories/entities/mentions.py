"""Mentions: the places where notes, documents and episodes name an entity or link to it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.chunks import path_at
from djinn_memory.memories.entities.name_matcher import NameMatcher, Words
from djinn_memory.memories.entities.names import Named
from djinn_memory.models import Memory, extended
from djinn_memory.notes.markdown import inline
from djinn_memory.search.backend import Index, Vocabulary
from djinn_memory.search.legs.words_query import MAX_TERMS, phrase, phrase_words
from djinn_memory.store.index.records import (
    Backlink,
    ChunkRef,
    ChunkText,
    Forms,
    IndexedChunk,
    IndexedMemory,
    MemoryNames,
    Selection,
)

BATCH = 500
"""Number of chunks whose texts are in memory at once."""

WIDEST = 200
"""Maximum characters of the line that a mention shows."""

_LINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")

_PLACEHOLDER = " zq9link "
"""Stands for a link among the words of a line, so that no name spans it."""

_LinkPlace = tuple[int, int, str]
"""A link: the number of its memory, its line, and its target as written."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_SIGNS = str.maketrans(dict.fromkeys("‘’‚“”„«»‹›–—…·•→←×°§©®™€£", " "))
"""Frequent signs that are no letters, so that a text with them is one of ASCII for its words."""


class Mention(Memory, frozen=True, kw_only=True):
    """A place where a memory mentions an entity, with that memory."""

    line: int
    """The line in the file, from 1."""
    page_number: int | None
    """The page of a document; null for a note, and for a document without pages."""
    heading: tuple[str, ...]
    """The headings above, from the outermost."""
    text: str
    """The line with the mention, shortened."""
    names: tuple[str, ...]
    """The names in the line, in the form in which names are compared."""
    linked: bool
    """Whether the line links to the entity."""
    count: int
    """How often the line mentions the entity."""


class Occurrence(NamedTuple):
    """A mention of an entity. A line may have several."""

    entity: int
    """The number of the entity in the index."""
    memory_id: int
    chunk_id: int
    line: int
    """The line in the file, from 1."""
    name: str | None
    """The name, in the form in which names are compared; None for a link."""
    date: str
    """The date of the memory."""


class MentioningLine(Struct, frozen=True):
    """A line of a chunk that mentions an entity."""

    memory_id: int
    chunk_id: int
    line: int
    names: tuple[str, ...]
    linked: bool
    count: int


def occurrences(
    index: Index, entities: Sequence[Named], everyone: Sequence[MemoryNames]
) -> Iterator[Occurrence]:
    """The mentions of entities, apart from those in the own note of each, in one pass.

    A link to an entity counts once, whatever it shows. A link to another note does not count.
    Relations in the properties of other entities do not count.
    """
    reader = _Reader(index, entities, everyone)
    yield from reader.linked(reader.links)
    yield from reader.named(index.words.chunks_with(reader.matcher.forms()))


def chosen_lines(
    index: Index,
    entity: MemoryNames,
    everyone: Sequence[MemoryNames],
    *,
    without: Collection[str],
    best: Callable[[Sequence[ChunkRef]], Iterable[ChunkRef]],
    most_links: int,
) -> list[MentioningLine]:
    """The lines that mention an entity, of some places.

    Names in `without`, in the form in which names are compared, do not count. `best` chooses the
    chunks with a name that are read. Of lines with links, those of the memories that were indexed
    last are read.
    """
    reader = _Reader(index, [entity], everyone)
    newest_places = nlargest(most_links, {(link.source, link.line) for link in reader.links})
    order = {place: at for at, place in enumerate(newest_places)}
    recent = [link for link in reader.links if (link.source, link.line) in order]
    recent.sort(key=lambda link: order[link.source, link.line])
    refs = index.words.containing(reader.matcher.forms(without), Selection())
    chosen = best([ref for ref in refs if ref.memory_id != entity.memory_id])
    return _by_line([*reader.linked(recent), *reader.named([ref.chunk_id for ref in chosen])])


class _Reader:
    """Reads the mentions in places."""

    def __init__(
        self, index: Index, entities: Sequence[Named], everyone: Sequence[MemoryNames]
    ) -> None:
        self._index = index
        self.matcher = _NameMatcher(index.words, entities, everyone)
        self.links = index.backlinks([each.memory_id for each in entities])
        self._entities = {each.memory_id for each in everyone}
        self._resolved = {(link.source, link.line, link.text) for link in self.links}

    def linked(self, links: Sequence[Backlink]) -> Iterator[Occurrence]:
        """The links, each in the chunk that has its line."""
        histories = self._histories((link.source, link.chunk_id) for link in links)
        for link in links:
            if link.chunk_id is not None and link.chunk_id not in histories:
                where = link.source, link.chunk_id, link.line
                yield Occurrence(link.target, *where, None, link.date)

    def named(self, chunk_ids: Sequence[int]) -> Iterator[Occurrence]:
        """The names in chunks."""
        for start in range(0, len(chunk_ids), BATCH):
            chunks = [*self._index.texts(chunk_ids[start : start + BATCH])]
            histories = self._histories((chunk.memory_id, chunk.chunk_id) for chunk in chunks)
            in_links = {
                chunk.chunk_id: [*self._in_links(chunk)] for chunk in chunks if "[[" in chunk.text
            }
            self._resolve(place for listed in in_links.values() for place, _ in listed)
            for chunk in chunks:
                if chunk.chunk_id in histories:
                    continue
                names: list[_Named] = []
                for place, listed in in_links.get(chunk.chunk_id, ()):
                    if place not in self._resolved:
                        names += listed
                names += self._in_text(chunk)
                for entity, name, line in names:
                    if entity != chunk.memory_id:
                        where = chunk.memory_id, chunk.chunk_id, line
                        yield Occurrence(entity, *where, name, chunk.date)

    def _in_links(self, chunk: ChunkText) -> Iterator[tuple[_LinkPlace, list[_Named]]]:
        """The names in links that may lead nowhere. Such a link is text."""
        above = first_line(chunk)
        for match in _LINK.finditer(chunk.text):
            line = above + chunk.text.count("\n", 0, match.start())
            place = chunk.memory_id, line, re.split(r"[|#]", match[1])[0].strip()
            if place not in self._resolved:
                listed = self.matcher.find(match[1].replace("|", "\n"))
                if listed:
                    yield place, _first_of_each(listed, line)

    def _resolve(self, places: Iterable[_LinkPlace]) -> None:
        """Note which links of the memories with these places lead to a note."""
        for link in self._index.links({memory_id for memory_id, _, _ in places}):
            if link.field is None and link.target is not None:
                self._resolved.add((link.source, link.line, link.text))

    def _in_text(self, chunk: ChunkText) -> Iterator[_Named]:
        """The names in the text of a chunk outside links, and in the title of its memory."""
        text, above = chunk.text, first_line(chunk)
        if "[[" in text:
            text = _LINK.sub(_PLACEHOLDER, text)
        if chunk.ordinal == 0 and (listed := self.matcher.find(chunk.title)):
            lines = chunk.text.split("\n", 3)[:3]
            if not any(self.matcher.begins(line, chunk.title) for line in lines):
                yield from _first_of_each(listed, 1)
        for entity, name, line in self.matcher.find(text):
            yield _Named(entity, name, above + line)

    def _histories(self, places: Iterable[tuple[int, int | None]]) -> set[int]:
        """The ids of chunks, out of places (memory, chunk), that hold a history of properties."""
        ids = {chunk for memory, chunk in places if chunk is not None and memory in self._entities}
        chunks = self._index.chunks(ids).values() if ids else ()
        return {chunk.chunk_id for chunk in chunks if chunk.headings[-1:] == ("History",)}


def _first_of_each(listed: Sequence[_Named], line: int) -> list[_Named]:
    """The first name of each entity, in a line."""
    first = {each.entity: each.name for each in reversed(listed)}
    return [_Named(entity, name, line) for entity, name in first.items()]


def _by_line(listed: Iterable[Occurrence]) -> list[MentioningLine]:
    """The lines that mention an entity."""
    lines: dict[tuple[int, int], MentioningLine] = {}
    for _, memory_id, chunk_id, number, name, _ in listed:
        line = lines.get((memory_id, number))
        line = line or MentioningLine(memory_id, chunk_id, number, (), linked=False, count=0)
        lines[memory_id, number] = replace(
            line,
            names=line.names if name is None or name in line.names else (*line.names, name),
            linked=line.linked or name is None,
            count=line.count + 1,
        )
    return [*lines.values()]


def first_line(chunk: IndexedChunk | ChunkText) -> int:
    """The line of the first character of a chunk. Its heading is above its text."""
    return chunk.lines[1] - chunk.text.rstrip("\n").count("\n")


def newest(index: Index, listed: Sequence[Occurrence], limit: int) -> tuple[Mention, ...]:
    """The mentions in the newest memories, at most `limit` lines."""
    dates = {each.memory_id: each.date for each in listed}
    oldest = min(nlargest(limit, dates.values()), default="")
    lines = _by_line(each for each in listed if limit and each.date >= oldest)
    memories = index.lookup({line.memory_id for line in lines}, fields=())
    lines.sort(key=lambda line: (memories[line.memory_id].path, line.line))
    lines.sort(key=lambda line: memories[line.memory_id].date, reverse=True)
    shown = lines[:limit]
    chunks = index.chunks({line.chunk_id for line in shown})
    return tuple(_mention(memories[line.memory_id], chunks[line.chunk_id], line) for line in shown)


def _mention(memory: IndexedMemory, chunk: IndexedChunk, place: MentioningLine) -> Mention:
    lines = chunk.text.split("\n")
    number = max(0, place.line - first_line(chunk))
    offset = sum(len(line) + 1 for line in lines[:number])
    text = lines[number] if number < len(lines) else ""
    page = chunk.page
    for part in chunk.parts:
        if part.offset <= offset:
            page = part.page
    text = inline(text.removeprefix("> "))
    return extended(
        memory,
        Mention,
        line=place.line,
        page_number=page if memory.plane == "documents" else None,
        heading=tuple(map(inline, path_at(chunk.headings, chunk.parts, offset))),
        text=f"{text[:WIDEST]}…" if len(text) > WIDEST else text,
        names=place.names,
        linked=place.linked,
        count=place.count,
    )


class _Named(NamedTuple):
    """A name in a text."""

    entity: int
    """The number of the entity in the index."""
    name: str
    """The name, in the form in which names are compared."""
    line: int
    """The line of the text, from 0."""


class _NameMatcher(NameMatcher):
    """Finds the names of some entities in texts, in one pass over each text."""

    def __init__(
        self, vocabulary: Vocabulary, entities: Sequence[Named], everyone: Sequence[MemoryNames]
    ) -> None:
        self._vocabulary = vocabulary
        super().__init__(self._phrase, entities, everyone)

    def forms(self, without: Collection[str] = ()) -> Forms:
        """The forms in which the index may contain the names, apart from some names."""
        own = sorted(words for words in self.own if " ".join(words) not in without)
        return forms_of(self._vocabulary, [self.written[words] for words in own])

    def find(self, text: str) -> list[_Named]:
        """The names in a text, in order."""
        words, starts = self._split(text)
        return [
            _Named(entity, " ".join(name), bisect_right(starts, at) - 1)
            for entity, name, at in self.among(words)
        ]

    def begins(self, line: str, title: str) -> bool:
        """Whether a line begins with the words of a title."""
        words, _ = self._split(title)
        return self._split(line)[0][: len(words)] == words

    def _phrase(self, name: str) -> Words:
        if name.isascii():
            return tuple(_ASCII_WORD.findall(name.lower())[:MAX_TERMS])
        return tuple(phrase_words(self._vocabulary, name))

    def _split(self, text: str) -> tuple[list[str], list[int]]:
        """The words of a text, and the position of the first word of each line among them.

        ASCII needs no tokenizer. It takes a tenth of the time.
        """
        plain = (text if text.isascii() else text.translate(_SIGNS)).lower()
        words: list[str] = []
        starts: list[int] = []
        for line, written in zip(plain.split("\n"), text.split("\n"), strict=True):
            starts.append(len(words))
            words += (
                _ASCII_WORD.findall(line) if line.isascii() else self._vocabulary.split(written)
            )
        return words, starts


def forms_of(vocabulary: Vocabulary, names: Iterable[str]) -> Forms:
    """The forms in which the index may contain names."""
    return tuple(dict.fromkeys(form for name in names for form in phrase(vocabulary, name)))
