"""Finds the places in notes that say a name of another note in plain text, without a link."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.catalog import find
from djinn_memory.memories.entities.mentions import WIDEST, forms_of
from djinn_memory.memories.entities.name_matcher import NameMatcher, Words
from djinn_memory.memories.entities.names import names_of
from djinn_memory.memories.linking.names import exact_words, sought_names, words_of
from djinn_memory.memories.linking.requests import FindMentions, UnlinkedMention, UnlinkedMentions
from djinn_memory.memories.writing.provenance import LEARNINGS_RULE, UNKNOWN
from djinn_memory.models import Memory, extended
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dialects.plain_text import plain_text, quotations
from djinn_memory.notes.dialects.rules import Span, of_vault
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.frontmatter import read
from djinn_memory.notes.markdown import blank, inline
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, Selection

_BEFORE = re.compile(r"(?:[#@/\\$&]|[^\W_][-.:_])\Z")
_AFTER = re.compile(r"[+#]|[-.:/@\\_][^\W_]")
"""Signs that make the words before them a part of a longer word, such as `lamp-post` or `C++`."""


class Place(Struct, frozen=True):
    """A place in a text that says a name."""

    key: str
    """Its name in the home. It changes with the text of its line."""
    start: int
    end: int
    """Its span in the text of the file with `\\n` line ends."""
    line: int
    """Its line, from 1."""
    words: str
    """The name as it stands there."""
    also: tuple[str, ...]
    """The other memories with this name, as `vault:path`."""


class MentioningNote(Struct, frozen=True):
    """A note that mentions another."""

    memory: IndexedMemory
    data: bytes
    """Its bytes."""
    text: str
    """Its text, with `\\n` line ends."""
    places: tuple[Place, ...]
    """At least one."""


def find_mentions(runtime: Runtime, request: FindMentions) -> UnlinkedMentions:
    """Find mentions of a note; see `Memories.mentions`."""
    with runtime.index(runtime.fresh_scope(request.agent)) as index:
        finder = MentionFinder(index, find(index, request.name))
        listed = (_shown(note, place) for note in finder.notes() for place in note.places)
        mentions = tuple(islice(listed, request.limit + 1))
    memory, left_out = extended(finder.memory, Memory), finder.sought.left_out
    more = len(mentions) > request.limit
    return UnlinkedMentions(memory, mentions[: request.limit], more, left_out)


class MentionFinder:
    """Finds the notes that mention a note without a link, the newest first.

    Journals, documents, facts, and notes that are superseded or only proposed do not count.
    """

    def __init__(self, index: Index, memory: IndexedMemory) -> None:
        self.memory = memory
        self.sought = sought_names(index.words, memory)
        self._rules = {vault.name: of_vault(vault) for vault in index.vaults}
        self._vaults = {vault.name: vault for vault in index.vaults}
        known = index.lookup(self._saying(index), fields=("status", "rule"))
        self._memories = [each for each in known.values() if each.memory_id != memory.memory_id]
        self._others = _with_names(index, memory, self.sought.names)
        left_out = {*names_of(memory)}.difference(self.sought.names)
        self._matcher = NameMatcher(
            lambda name: () if name in left_out else words_of(name), [memory], self._memories
        )

    def _saying(self, index: Index) -> set[int]:
        """The numbers of the memories in which the index has a name."""
        names = self.sought.names
        refs = index.words.containing(forms_of(index.words, names), Selection(whole_files=True))
        if not self.sought.as_written.issuperset(map(words_of, names)):
            return {ref.memory_id for ref in refs}
        # Every note may have a word of which only one spelling counts.
        texts = index.texts([ref.chunk_id for ref in refs])
        return {
            each.memory_id
            for each in texts
            if any(name in each.text or name in each.title for name in names)
        }

    def notes(self) -> Iterator[MentioningNote]:
        """The notes with mentions, read from the disk now."""
        sources = [memory for memory in self._memories if _may_link(memory)]
        sources.sort(key=lambda memory: (memory.vault, memory.path))
        sources.sort(key=lambda memory: memory.date, reverse=True)
        for memory in sources:
            with suppress(OSError, DjinnError):
                data = disk.read(self._vaults[memory.vault], memory.path)
                text = decode(data)[0]
                if places := tuple(self._places(memory, text)):
                    yield MentioningNote(memory, data, text, places)

    def _places(self, memory: IndexedMemory, text: str) -> Iterator[Place]:
        folded = fold(text)
        if not any(words[0] in folded for words in self._matcher.own):
            return
        prose = plain_text(text, self._rules[memory.vault])
        if memory.plane == "knowledge":
            prose = _without_history(text, prose)
        words, quoted = [*exact_words(prose)], [*quotations(prose)]
        seen: Counter[tuple[str, Words]] = Counter()
        for _, name, at in self._matcher.among([word for word, *_ in words]):
            start, end = words[at].start, words[at + len(name) - 1].end
            written = text[start:end]
            if _BEFORE.search(text, max(0, start - 2), start) or _AFTER.match(text, end):
                continue
            if name in self.sought.as_written and written != self._matcher.written[name]:
                continue
            if any(_is_speech(text, span, start, end) for span in quoted):
                continue
            first = text.rfind("\n", 0, start) + 1
            line = text[first:].partition("\n")[0]
            seen[line, name] += 1
            parts = memory.vault, memory.path, line, *name, str(seen[line, name])
            digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=5)
            number = text.count("\n", 0, start) + 1
            also = self._others.get(name, ())
            if memory.address not in also:
                yield Place(digest.hexdigest(), start, end, number, written, also)


def _with_names(
    index: Index, memory: IndexedMemory, names: Sequence[str]
) -> dict[Words, tuple[str, ...]]:
    """The other memories with each name of a note, as `vault:path`."""
    others: dict[Words, tuple[str, ...]] = {}
    for name in names:
        same = index.memories(Selection(name=name), order="title", fields=())
        others[words_of(name)] = tuple(
            each.address for each in same if each.memory_id != memory.memory_id
        )
    return others


def _is_speech(text: str, quoted: Span, start: int, end: int) -> bool:
    """Whether a quoted text has a name and more words."""
    first, last = quoted
    around = text[first:start] + text[end:last]
    return first <= start and end <= last and bool(re.search(r"\w", around))


def _may_link(memory: IndexedMemory) -> bool:
    """Whether djinn may write links into a note. The words of a fact are its value."""
    return (
        memory.plane != "documents"
        and memory.type != "fact"
        and fold(memory.field("status") or "") not in UNKNOWN
        and memory.field("rule") != LEARNINGS_RULE
    )


def _without_history(text: str, prose: str) -> str:
    """`prose` without the earlier values of the properties of an entity."""
    from djinn_memory.notes.fact_note import history_span

    body = read(text).body
    span = history_span(text[body:])
    return blank(prose, [(body + span[0], body + span[1])]) if span else prose


def _shown(note: MentioningNote, place: Place) -> UnlinkedMention:
    first = note.text.rfind("\n", 0, place.start) + 1
    line = note.text[first:].partition("\n")[0]
    # Of a long line the part around the words is shown.
    begin = max(0, min(place.start - first - WIDEST // 2, len(line) - WIDEST))
    part = inline(line[begin : begin + WIDEST])
    text = f"{'…' * (begin > 0)}{part}{'…' * (begin + WIDEST < len(line))}"
    return extended(
        note.memory,
        UnlinkedMention,
        key=place.key,
        line=place.line,
        text=text,
        words=place.words,
        also=place.also,
    )
