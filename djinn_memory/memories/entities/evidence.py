"""What is known of an entity, as sentences that a context can be compared with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from djinn_memory.errors import DjinnError
from djinn_memory.memories.entities.detail import description, read_note
from djinn_memory.memories.entities.mentions import newest, occurrences
from djinn_memory.memories.entities.properties import timelines
from djinn_memory.notes.markdown.plain_text import plain
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import MemoryNames

SENTENCES = 12
"""Maximum number of sentences of a note that count."""

MENTIONS = 12
"""Maximum number of mentions that count, newest first."""

LONGEST = 300
"""Maximum characters of a sentence."""

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_LINKS = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]\n]+)\]\]")


def evidence(
    index: Index, entity: MemoryNames, everyone: Sequence[MemoryNames], shared: Iterable[str]
) -> list[str]:
    """Sentences about an entity: its kind and properties, its text, and its mentions.

    Mentions by a name in `shared`, in the form of `NameMatcher`, do not count: they may mean
    another entity.
    """
    vaults = {vault.name: vault for vault in index.vaults}
    # Of two people the kind tells nothing.
    sentences: list[str] = [entity.type] if entity.type and entity.type != "person" else []
    with suppress(OSError, DjinnError):
        note = read_note(vaults[entity.vault], entity.path)
        for key, values in timelines(note).items():
            for value in (values.current, *values.history[:2]):
                shown = _LINKS.sub(r"\1", value.value)
                sentences.append(f"{key}: {shown}"[:LONGEST])
        sentences += islice(_sentences(description(note)), SENTENCES)
    taken = set(shared)
    sure = [
        place
        for place in occurrences(index, entity, everyone)
        if place.linked or not taken.issuperset(place.names)
    ]
    for mention in newest(index, sure, MENTIONS):
        sentences += islice(_sentences(mention.text), 3)
    return list(dict.fromkeys(filter(None, sentences)))


def _sentences(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(plain(_LINKS.sub(r"\1", text))):
        sentence = " ".join(match[0].split())
        if any(map(str.isalnum, sentence)):
            yield sentence[:LONGEST]
