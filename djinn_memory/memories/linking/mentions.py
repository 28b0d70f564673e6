"""Finds the places in notes that say a name of another note in plain text, without a link."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.languages.word_lists import stop_words
from djinn_memory.memories.catalog.catalog import find
from djinn_memory.memories.entities.mentions import WIDEST, forms_of
from djinn_memory.memories.entities.name_matcher import NameMatcher, Words
from djinn_memory.memories.entities.names import names_of
from djinn_memory.memories.linking import requests
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
from djinn_memory.search.backend import Index, Vocabulary
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.index.words import forms

FEWEST, COMMON = 20, 0.2
"""A single word is common if it is in so many parts of notes, and in this share of them. Of 388
names of one word in three real vaults, three are."""

SHORT = 2
"""A name of at most so many characters counts only in its own spelling: `Go`, but not `go`. So does
one in capitals, such as `WHO`."""

_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
"""Accents and vowel signs, which belong to the letter before them."""

_KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff"
"""The syllables of which Japanese writes names from other languages, one word in a run."""

_ASCII = re.compile(r"[^\W_]+|[^\w \t]|_")


@cache
def _words() -> re.Pattern[str]:
    from djinn_memory.languages.scripts import UNSPACED

    letters = rf"(?:(?![_{UNSPACED}])[\w{_MARKS}])+"
    return re.compile(rf"[{_KATAKANA}]+|[{UNSPACED}]|{letters}|[^\w\s]|\n|_")


class _Word(NamedTuple):
    """A word or a sign of a text, in the form in which names are compared."""

    word: str
    start: int
    end: int


def _exact_words(text: str) -> Iterator[_Word]:
    """The words, signs and line ends of a text. In scripts without spaces each letter is a word."""
    for match in (_ASCII if text.isascii() else _words()).finditer(text):
        yield _Word(fold(match[0]).replace("’", "'"), *match.span())


def words_of(name: str) -> Words:
    """The words and signs of a name."""
    return tuple(word for word, *_ in _exact_words(" ".join(name.split())))


class _SoughtNames(Struct, frozen=True):
    """The names of a note that are looked for."""

    names: tuple[str, ...]
    as_written: frozenset[Words]
    """Those that count only in their own spelling."""
    left_out: tuple[requests.NameLeftOut, ...]
    """Those that are not looked for, and single words that are common."""


def _sought_names(vocabulary: Vocabulary, memory: IndexedMemory) -> _SoughtNames:
    """The names of a note that are looked for in the vaults with a vocabulary."""
    names: list[str] = []
    as_written: set[Words] = set()
    left_out: list[requests.NameLeftOut] = []
    for name in names_of(memory):
        why, only = _unfit(vocabulary, name), len(name) <= SHORT or name.isupper()
        if not (why or only) and (holding := _common(vocabulary, name)):
            why = f"it is common, in {holding:,} parts of notes, so only this spelling counts"
            left_out.append(requests.NameLeftOut(name, why))
            only = True
        elif why:
            left_out.append(requests.NameLeftOut(name, why))
            continue
        names.append(name)
        as_written |= {words_of(name)} if only else set()
    return _SoughtNames(tuple(names), frozenset(as_written), tuple(left_out))


def _unfit(vocabulary: Vocabulary, name: str) -> str | None:
    """Why a name is not looked for."""
    if "[[" in name or "]]" in name:
        return "it has the brackets of a link, which no link can show"
    words = [word for word in words_of(name) if word[0].isalnum()]
    if not words or (len(words) == 1 and len(name) == 1 and name.isascii()):
        return "it is a single sign, which says too little"
    if len(words) == 1 and words[0].isdecimal():
        return "it is a number, which says too little"
    if name.isupper() or len(words) > 1:
        return None
    if words[0] in stop_words() or _is_stop_word(vocabulary, words[0]):
        return "it is a word that every text has"
    return None


def _is_stop_word(vocabulary: Vocabulary, word: str) -> bool:
    """Whether a word is a stop word of a language of the vaults other than English."""
    if not vocabulary.languages:
        return False
    from djinn_memory.languages import detection

    return any(word in detection.stop_words(language) for language in vocabulary.languages)


def _common(vocabulary: Vocabulary, name: str) -> int:
    """In how many parts of notes a name of one word is, if it is common; else 0."""
    words = vocabulary.split(name)
    if len(words) != 1:
        return 0
    holding = vocabulary.holding(forms(words[0], vocabulary.languages))
    return holding if holding >= max(FEWEST, COMMON * vocabulary.total) else 0


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


def find_mentions(runtime: Runtime, request: requests.FindMentions) -> requests.UnlinkedMentions:
    """Find mentions of a note; see `Memories.mentions`."""
    with runtime.index(runtime.fresh_scope(request.agent)) as index:
        finder = MentionFinder(index, find(index, request.name))
        listed = (_shown(note, place) for note in finder.notes() for place in note.places)
        mentions = tuple(islice(listed, request.limit + 1))
    memory, left_out = extended(finder.memory, Memory), finder.sought.left_out
    more = len(mentions) > request.limit
    return requests.UnlinkedMentions(memory, mentions[: request.limit], more, left_out)


class MentionFinder:
    """Finds the notes that mention a note without a link, the newest first.

    Journals, documents, facts, and notes that are superseded or only proposed do not count.
    """

    def __init__(self, index: Index, memory: IndexedMemory) -> None:
        self.memory = memory
        self.sought = _sought_names(index.words, memory)
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
        words, quoted = [*_exact_words(prose)], [*quotations(prose)]
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


def _shown(note: MentioningNote, place: Place) -> requests.UnlinkedMention:
    first = note.text.rfind("\n", 0, place.start) + 1
    line = note.text[first:].partition("\n")[0]
    # Of a long line the part around the words is shown.
    begin = max(0, min(place.start - first - WIDEST // 2, len(line) - WIDEST))
    part = inline(line[begin : begin + WIDEST])
    text = f"{'…' * (begin > 0)}{part}{'…' * (begin + WIDEST < len(line))}"
    return extended(
        note.memory,
        requests.UnlinkedMention,
        key=place.key,
        line=place.line,
        text=text,
        words=place.words,
        also=place.also,
    )
