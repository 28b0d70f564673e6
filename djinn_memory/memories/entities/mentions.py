"""Mentions: the places where notes, documents and episodes name an entity or link to it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.window_text import path_at
from djinn_memory.memories.entities.names import ENTITIES, names_of
from djinn_memory.models import Memory, extended
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.search.backend import Index
from djinn_memory.search.legs.words_query import phrase, phrase_words
from djinn_memory.store.index.records import (
    ChunkRef,
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

_ALL = Selection()
_LINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
MOST_IN_PATTERN = 300
"""Maximum number of names in a pattern. It takes a millisecond for each name to be compiled."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_SIGNS = str.maketrans(dict.fromkeys("‘’‚“”„«»‹›–—…·•→←×°§©®™€£", " "))
"""Frequent signs that are no letters, so that a text with them is one of ASCII for its words."""

_PLACEHOLDER = " zq9link "
"""Stands for a link among the words of a line, so that no name spans it."""

Words = tuple[str, ...]


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


class Occurrence(Struct, frozen=True):
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
    """The maximum number of links, those of the memories that were indexed last."""


class NameMatcher:
    """Finds the names of one entity in texts, as whole names.

    A name within a longer name of another entity does not count.
    """

    def __init__(self, index: Index, entity: MemoryNames, everyone: Sequence[MemoryNames]) -> None:
        self._words = index.words
        self._own = {words for name in names_of(entity) if (words := self._split(name))}
        self.forms = tuple(
            dict.fromkeys(form for name in names_of(entity) for form in phrase(self._words, name))
        )
        parts = {word for words in self._own for word in words}
        longer: set[Words] = set()
        for other in everyone:
            if other.memory_id == entity.memory_id:
                continue
            for name in names_of(other):
                # Most names share no word with these, and need not be split.
                if _may_contain(name, parts):
                    words = self._split(name)
                    if words not in self._own and any(_within(own, words) for own in self._own):
                        longer.add(words)
        self._by_first: defaultdict[str, list[tuple[Words, bool]]] = defaultdict(list)
        for words, own in [*((w, True) for w in self._own), *((w, False) for w in longer)]:
            self._by_first[words[0]].append((words, own))
        for listed in self._by_first.values():
            listed.sort(key=lambda entry: -len(entry[0]))
        self._pattern = _pattern(self._own | longer)

    def forms_without(self, names: Collection[str]) -> Forms:
        """The forms of the names, apart from some of them."""
        kept = [words for words in self._own if " ".join(words) not in names]
        listed = (form for words in sorted(kept) for form in phrase(self._words, " ".join(words)))
        return tuple(dict.fromkeys(listed))

    def lines(self, text: str) -> Iterator[tuple[int, str]]:
        """The names in a text, each with the number of its line from 0."""
        plain = text if text.isascii() else text.translate(_SIGNS)
        if self._pattern and plain.isascii():
            yield from self._ascii_lines(self._pattern, plain)
            return
        words = self._words.split_lines(text)
        at = 0
        while at < len(words):
            for name, own in self._by_first.get(words[at][0], ()):
                if tuple(word for word, _ in words[at : at + len(name)]) == name:
                    if own:
                        yield words[at][1], " ".join(name)
                    at += len(name) - 1
                    break
            at += 1

    def _ascii_lines(self, pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
        """The same for a text of ASCII, which needs no tokenizer. It takes a tenth of the time."""
        line = at = 0
        for match in pattern.finditer(text):
            name = tuple(_ASCII_WORD.findall(match[0].lower()))
            if name in self._own:
                line += text.count("\n", at, match.start())
                at = match.start()
                yield line, " ".join(name)

    def begins(self, line: str, title: str) -> bool:
        """Whether a line begins with the words of a title."""
        words = self._words.split(title)
        return self._words.split(line)[: len(words)] == words

    def names(self, text: str) -> bool:
        """Whether a text contains one of the names."""
        return next(self.lines(text), None) is not None

    def _split(self, name: str) -> Words:
        return tuple(phrase_words(self._words, name))


def _pattern(names: Collection[Words]) -> re.Pattern[str] | None:
    """Matches these names in a text of ASCII, longer ones first.

    None if there are too many, or if one is not ASCII.
    """
    if not 0 < len(names) <= MOST_IN_PATTERN or not all(
        word.isascii() and word.isalnum() for name in names for word in name
    ):
        return None
    listed = sorted(names, key=lambda words: (-len(words), words))
    forms = "|".join(r"[^a-z0-9]+".join(words) for words in listed)
    return re.compile(rf"(?<![a-z0-9])(?:{forms})(?![a-z0-9])", re.IGNORECASE)


def _may_contain(name: str, parts: Collection[str]) -> bool:
    return len(name.split()) > 1 or not name.isascii() or any(p in name.lower() for p in parts)


def _within(inner: Words, outer: Words) -> bool:
    size = len(inner)
    return any(outer[at : at + size] == inner for at in range(len(outer) - size + 1))


def occurrences(
    index: Index,
    entity: MemoryNames,
    everyone: Sequence[MemoryNames],
    selection: Selection = _ALL,
    choice: Choice | None = None,
) -> list[Occurrence]:
    """Where memories of a selection mention an entity, apart from its own note.

    A link to it counts once, whatever it shows. A link to another note does not count. Relations
    in the properties of other entities do not count. With a `choice`, only its places are read.
    """
    matcher = NameMatcher(index, entity, everyone)
    forms = matcher.forms if choice is None else matcher.forms_without(choice.names)
    refs = [
        ref for ref in index.words.containing(forms, selection) if ref.memory_id != entity.memory_id
    ]
    linked = Counter(
        (link.source, link.line)
        for link in index.links([entity.memory_id])
        if link.target == entity.memory_id != link.source and link.field is None
    )
    if choice:
        refs = [*choice.best(refs)]
        newest_links = nlargest(choice.links, linked)
        linked = Counter({place: linked[place] for place in newest_links})
    entities = {each.memory_id for each in everyone}
    listed = [*_linked(index, linked, selection, entities)]
    resolved = _resolved_lines(index, {ref.memory_id for ref in refs})
    titles = index.lookup({ref.memory_id for ref in refs if ref.place[3] == 0}, fields=())
    for start in range(0, len(refs), BATCH):
        chunks = index.chunks([ref.chunk_id for ref in refs[start : start + BATCH]])
        for ref in refs[start : start + BATCH]:
            chunk = chunks.get(ref.chunk_id)
            if chunk and not (ref.memory_id in entities and _is_history(chunk)):
                title = titles[ref.memory_id].title if ref.memory_id in titles else ""
                listed += _in_chunk(matcher, chunk, title if chunk.ordinal == 0 else "", resolved)
    return _by_line(listed)


def _by_line(listed: Iterable[Occurrence]) -> list[Occurrence]:
    """The occurrences with those of one line joined."""
    lines: dict[tuple[int, int], Occurrence] = {}
    for each in listed:
        known = lines.get((each.memory_id, each.line))
        if known:
            each = replace(
                known,
                names=tuple(dict.fromkeys((*known.names, *each.names))),
                linked=known.linked or each.linked,
                count=known.count + each.count,
            )
        lines[each.memory_id, each.line] = each
    return [*lines.values()]


def _resolved_lines(index: Index, memory_ids: Collection[int]) -> dict[tuple[int, int], set[str]]:
    """The targets, as written, of links to notes in these memories, by memory and line."""
    lines: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for link in index.links(memory_ids):
        if link.field is None and link.target is not None:
            lines[link.source, link.line].add(link.text)
    return lines


def _linked(
    index: Index, linked: Counter[tuple[int, int]], selection: Selection, entities: Collection[int]
) -> Iterator[Occurrence]:
    """The links to an entity as occurrences, each in the chunk that has its line."""
    chunks = index.chunks_of({source for source, _ in linked})
    allowed = _allowed(index, chunks, selection)
    for (source, line), count in linked.items():
        for chunk in chunks.get(source, ()):
            if chunk.lines[0] <= line <= chunk.lines[1] and source in allowed:
                if not (source in entities and _is_history(chunk)):
                    yield Occurrence(source, chunk.chunk_id, line, (), True, count)
                break


def _allowed(index: Index, memory_ids: Iterable[int], selection: Selection) -> Collection[int]:
    ids = [*memory_ids]
    if selection == _ALL:
        return ids
    places = tuple((each.vault, each.path) for each in index.lookup(ids, fields=()).values())
    narrowed = replace(selection, places=places)
    return {memory.memory_id for memory in index.memories(narrowed, fields=())}


def _in_chunk(
    matcher: NameMatcher,
    chunk: IndexedChunk,
    title: str,
    resolved: dict[tuple[int, int], set[str]],
) -> Iterator[Occurrence]:
    """The names in the text of a chunk, and in the title of its memory."""
    lines = chunk.text.split("\n")
    above = first_line(chunk)
    counts: Counter[tuple[int, str]] = Counter()
    shown = []
    for number, line in enumerate(lines):
        targets = resolved.get((chunk.memory_id, above + number), ())
        text = line
        if "[[" in line:
            for match in _LINK.finditer(line):
                target = re.split(r"[|#]", match[1])[0].strip()
                # A link counts with its target. What leads nowhere is text.
                names = [*matcher.lines(match[1].replace("|", "\n"))]
                if names and target not in targets:
                    counts[number, names[0][1]] += 1
            text = _LINK.sub(_PLACEHOLDER, line)
        shown.append(text)
    for number, name in matcher.lines("\n".join(shown)):
        counts[number, name] += 1
    if (
        title
        and matcher.names(title)
        and not any(matcher.begins(line, title) for line in lines[:3])
    ):
        yield Occurrence(
            chunk.memory_id, chunk.chunk_id, 1, (next(matcher.lines(title))[1],), False, 1
        )
    for (number, name), count in counts.items():
        yield Occurrence(chunk.memory_id, chunk.chunk_id, above + number, (name,), False, count)


def first_line(chunk: IndexedChunk) -> int:
    """The line of the first character of a chunk. Its heading is above its text."""
    return chunk.lines[1] - chunk.text.rstrip("\n").count("\n")


def _is_history(chunk: IndexedChunk) -> bool:
    return chunk.headings[-1:] == ("History",)


def count_of(listed: Iterable[Occurrence]) -> int:
    """The number of mentions."""
    return sum(each.count for each in listed)


def newest(index: Index, listed: Sequence[Occurrence], limit: int) -> tuple[Mention, ...]:
    """The mentions in the newest memories, at most `limit`."""
    memories = index.lookup({each.memory_id for each in listed}, fields=())
    ordered = sorted(
        (each for each in listed if each.memory_id in memories),
        key=lambda each: (memories[each.memory_id].path, each.line),
    )
    ordered.sort(key=lambda each: memories[each.memory_id].date, reverse=True)
    kept = [*islice(ordered, limit)]
    chunks = index.chunks({each.chunk_id for each in kept})
    return tuple(
        _mention(memories[each.memory_id], chunks[each.chunk_id], each)
        for each in kept
        if each.chunk_id in chunks
    )


def _mention(memory: IndexedMemory, chunk: IndexedChunk, place: Occurrence) -> Mention:
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
