"""What is known of an entity, as sentences that a context can be compared with."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.entities.detail import description
from djinn_memory.memories.entities.mentions import (
    Choice,
    MentioningLine,
    chosen_lines,
    first_line,
)
from djinn_memory.memories.entities.properties import timelines
from djinn_memory.memories.entities.relations import Relation, read_note, relations_of
from djinn_memory.notes.markdown import plain
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import ChunkRef, IndexedChunk, MemoryNames

SENTENCES = 12
"""Maximum number of sentences of a note that count."""

MENTIONS = 16
"""Maximum number of lines with mentions that count."""

LINKS = 50
"""Maximum number of links that are read."""

LONGEST = 300
"""Maximum characters of a sentence."""

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_BREAK = re.compile(r"(?:> ?)?(?:[ \t]*$|[ \t]*(?:[-*+|#]|\d+[.)]) )")
"""A line that begins another paragraph or list entry."""
_LINKS = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]\n]+)\]\]")


class Evidence(Struct, frozen=True):
    """What is known of an entity."""

    sentences: tuple[str, ...]
    """Its kind, its properties and relations, its text, and lines that mention it."""
    relations: tuple[Relation, ...]
    """Its relations to other entities, also those that have ended."""


class EvidenceReader(Struct, frozen=True):
    """Reads what is known of entities."""

    index: Index
    entities: Sequence[MemoryNames]
    """All entities that the asker sees."""
    shared: Collection[str]
    """Names that may mean another entity, in the form of `NameMatcher`. They do not count."""
    best: Callable[[Sequence[ChunkRef]], Sequence[ChunkRef]]
    """The chunks with mentions that are worth reading."""
    now: str

    def read(self, entity: MemoryNames) -> Evidence:
        """What is known of an entity."""
        # Of two people the kind tells nothing.
        sentences: list[str] = [entity.type] if entity.type and entity.type != "person" else []
        relations: list[Relation] = []
        vaults = {vault.name: vault for vault in self.index.vaults}
        with suppress(OSError, DjinnError):
            note = read_note(vaults[entity.vault], entity.path)
            for key, values in timelines(note).items():
                for value in (values.current, *values.history[:2]):
                    shown = _LINKS.sub(r"\1", value.value)
                    sentences.append(f"{key}: {shown}"[:LONGEST])
            sentences += islice(_sentences(description(note)), SENTENCES)
            known = {each.memory_id for each in self.entities}
            relations = relations_of(self.index, entity.memory_id, entity, self.now, among=known)
        sentences += [
            f"{each.relation} {each.name}" for each in relations if each.direction == "from"
        ]
        sentences += self._mentions(entity)
        return Evidence(tuple(dict.fromkeys(filter(None, sentences))), tuple(relations))

    def _mentions(self, entity: MemoryNames) -> Iterator[str]:
        choice = Choice(self.shared, self.best, LINKS)
        listed = chosen_lines(self.index, entity, self.entities, choice)
        taken = set(self.shared)
        sure = [each for each in listed if each.linked or not taken.issuperset(each.names)]
        chunks = self.index.chunks({each.chunk_id for each in sure})
        for each in sure[: 2 * MENTIONS]:
            if each.chunk_id in chunks:
                yield from islice(_around(chunks[each.chunk_id], each), 4)


def _around(chunk: IndexedChunk, place: MentioningLine) -> Iterator[str]:
    """The sentences of the line that mentions an entity, and of the rest of its paragraph."""
    lines = chunk.text.split("\n")
    number = place.line - first_line(chunk)
    # The title of a note stands above its text.
    lines = lines[max(0, number) :]
    end = next((at for at, line in enumerate(lines) if at and _BREAK.match(line)), len(lines))
    if number < 0:
        end = len(lines)
    return _sentences("\n".join(line.removeprefix("> ") for line in lines[: min(end, 4)]))


def _sentences(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(plain(_LINKS.sub(r"\1", text))):
        sentence = " ".join(match[0].split())
        if any(map(str.isalnum, sentence)):
            yield sentence[:LONGEST]
