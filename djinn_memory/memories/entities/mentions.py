"""Mentions: the places where notes, documents and episodes name an entity or link to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.chunks import path_at
from djinn_memory.memories.entities.matcher import Named, NameMatcher
from djinn_memory.memories.entities.names import ENTITIES
from djinn_memory.models import Memory, extended
from djinn_memory.notes.markdown import inline
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import (
    Backlink,
    ChunkRef,
    ChunkText,
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


class Choice(Struct, frozen=True):
    """Limits which places are read for the mentions of an entity."""

    names: Collection[str]
    """Names that do not count, in the form of `NameMatcher`."""
    best: Callable[[Sequence[ChunkRef]], Iterable[ChunkRef]]
    """The chunks with a name that are read."""
    links: int
    """The maximum number of lines with links, those of the memories that were indexed last."""


def occurrences(
    index: Index, entities: Sequence[MemoryNames], everyone: Sequence[MemoryNames]
) -> Iterator[Occurrence]:
    """The mentions of entities, apart from those in the own note of each, in one pass.

    A link to an entity counts once, whatever it shows. A link to another note does not count.
    Relations in the properties of other entities do not count.
    """
    matcher = NameMatcher(index.words, entities, everyone)
    links = index.backlinks([each.memory_id for each in entities])
    reader = _Reader(index, matcher, everyone, links)
    yield from reader.linked(links)
    yield from reader.named(index.words.chunks_with(matcher.forms()))


def chosen_lines(
    index: Index, entity: MemoryNames, everyone: Sequence[MemoryNames], choice: Choice
) -> list[MentioningLine]:
    """The lines that mention an entity, of the places of a choice."""
    matcher = NameMatcher(index.words, [entity], everyone)
    links = index.backlinks([entity.memory_id])
    reader = _Reader(index, matcher, everyone, links)
    newest_places = nlargest(choice.links, {(link.source, link.line) for link in links})
    order = {place: at for at, place in enumerate(newest_places)}
    kept = [link for link in links if (link.source, link.line) in order]
    kept.sort(key=lambda link: order[link.source, link.line])
    refs = index.words.containing(matcher.forms(choice.names), Selection())
    best = choice.best([ref for ref in refs if ref.memory_id != entity.memory_id])
    return _by_line([*reader.linked(kept), *reader.named([ref.chunk_id for ref in best])])


class _Reader:
    """Reads the mentions in places."""

    def __init__(
        self,
        index: Index,
        matcher: NameMatcher,
        everyone: Sequence[MemoryNames],
        links: Sequence[Backlink],
    ) -> None:
        self._index = index
        self._matcher = matcher
        self._entities = {each.memory_id for each in everyone}
        self._resolved = {(link.source, link.line, link.text) for link in links}

    def linked(self, links: Sequence[Backlink]) -> Iterator[Occurrence]:
        """The links, each in the chunk that has its line."""
        histories = self._histories((link.source, link.chunk_id) for link in links)
        for link in links:
            if link.chunk_id is not None and link.chunk_id not in histories:
                yield Occurrence(
                    link.target, link.source, link.chunk_id, link.line, None, link.date
                )

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
                names: list[Named] = []
                for place, listed in in_links.get(chunk.chunk_id, ()):
                    if place not in self._resolved:
                        names += listed
                names += self._in_text(chunk)
                for entity, name, line in names:
                    if entity != chunk.memory_id:
                        yield Occurrence(
                            entity, chunk.memory_id, chunk.chunk_id, line, name, chunk.date
                        )

    def _in_links(self, chunk: ChunkText) -> Iterator[tuple[_LinkPlace, list[Named]]]:
        """The names in links that may lead nowhere. Such a link is text."""
        above = first_line(chunk)
        for match in _LINK.finditer(chunk.text):
            line = above + chunk.text.count("\n", 0, match.start())
            place = chunk.memory_id, line, re.split(r"[|#]", match[1])[0].strip()
            if place not in self._resolved:
                listed = self._matcher.find(match[1].replace("|", "\n"))
                if listed:
                    yield place, _first_of_each(listed, line)

    def _resolve(self, places: Iterable[_LinkPlace]) -> None:
        """Note which links of the memories with these places lead to a note."""
        for link in self._index.links({memory_id for memory_id, _, _ in places}):
            if link.field is None and link.target is not None:
                self._resolved.add((link.source, link.line, link.text))

    def _in_text(self, chunk: ChunkText) -> Iterator[Named]:
        """The names in the text of a chunk outside links, and in the title of its memory."""
        text, above = chunk.text, first_line(chunk)
        if "[[" in text:
            text = _LINK.sub(_PLACEHOLDER, text)
        if chunk.ordinal == 0 and (listed := self._matcher.find(chunk.title)):
            lines = chunk.text.split("\n", 3)[:3]
            if not any(self._matcher.begins(line, chunk.title) for line in lines):
                yield from _first_of_each(listed, 1)
        for entity, name, line in self._matcher.find(text):
            yield Named(entity, name, above + line)

    def _histories(self, places: Iterable[tuple[int, int | None]]) -> set[int]:
        """Those chunks of entities, as (memory, chunk), that hold the history of properties."""
        ids = {chunk for memory, chunk in places if chunk is not None and memory in self._entities}
        chunks = self._index.chunks(ids).values() if ids else ()
        return {chunk.chunk_id for chunk in chunks if chunk.headings[-1:] == ("History",)}


def _first_of_each(listed: Sequence[Named], line: int) -> list[Named]:
    """The first name of each entity, in a line."""
    first = {each.entity: each.name for each in reversed(listed)}
    return [Named(entity, name, line) for entity, name in first.items()]


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
    kept = lines[:limit]
    chunks = index.chunks({line.chunk_id for line in kept})
    return tuple(_mention(memories[line.memory_id], chunks[line.chunk_id], line) for line in kept)


def _mention(memory: IndexedMemory, chunk: IndexedChunk, place: MentioningLine) -> Mention:
    lines = chunk.text.split("\n")
    number = max(0, place.line - first_line(chunk))
    offset = sum(len(line) + 1 for line in lines[:number])
    text = lines[number] if number < len(lines) else ""
    page = chunk.page
    for part in chunk.parts:
        if part.offset <= offset:
            page = part.page
    text = " ".join(inline(text.removeprefix("> ")).split())
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


def everyone(index: Index) -> Sequence[MemoryNames]:
    """The names of all entities."""
    return index.names(ENTITIES)
