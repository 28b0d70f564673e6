"""Which names a mention may stand for: a name, a part of one, its initials, a misspelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct

from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.store.index.records import MemoryNames

NameMatch = Literal["name", "alias", "part", "initials", "spelling"]

STRENGTH: dict[NameMatch, float] = {
    "name": 1.0,
    "alias": 1.0,
    "part": 0.8,
    "initials": 0.7,
    "spelling": 0.6,
}
"""How well a mention fits a name. A name and an alias fit alike: people use both."""

MOST = 12
"""Maximum number of candidates. More share only a frequent name."""

LIKE = 0.8
"""Minimum similarity of a misspelt word: `Marne` is 0.8 similar to `Maren`, `Karen` 0.8 too."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_HONORIFIC = frozenset({
    "capt", "captain", "doctor", "dr", "frau", "herr", "madam", "miss", "mr", "mrs", "ms", "mx",
    "prof", "professor", "sir", "the",
})  # fmt: skip


class NamedCandidate(Struct, frozen=True):
    """An entity that a mention may stand for by its names."""

    entity: MemoryNames
    how: NameMatch
    name: str
    """The name that fits."""


def candidates(mention: str, entities: Sequence[MemoryNames]) -> list[NamedCandidate]:
    """The entities that a mention may stand for, in their order.

    Initials and misspellings count only if no name fits otherwise.
    """
    wanted, words = name_key(mention), _words(mention)
    spoken = [word for word in words if word not in _HONORIFIC] or words
    listed = [each for entity in entities if (each := _fits(entity, wanted, spoken))]
    exact = [each for each in listed if each.how in ("name", "alias")]
    if exact and len(spoken) > 1:
        # A whole name of several words means its bearers alone.
        return exact[:MOST]
    if not listed:
        listed = [each for entity in entities if (each := _initials(entity, mention, spoken))]
    if not listed:
        listed = [each for entity in entities if (each := _misspelt(entity, spoken))]
    return sorted(listed, key=lambda each: -STRENGTH[each.how])[:MOST]


def _fits(entity: MemoryNames, wanted: str, spoken: Sequence[str]) -> NamedCandidate | None:
    if name_key(entity.title) == wanted:
        return NamedCandidate(entity, "name", entity.title)
    for alias in entity.aliases:
        if name_key(alias) == wanted:
            return NamedCandidate(entity, "alias", alias)
    for name in (entity.title, *entity.aliases):
        # Cheap, and true of every name that has the words.
        if all(word in fold(name) for word in spoken) and spoken:
            words = [word for word in _words(name) if word not in _HONORIFIC]
            if words == list(spoken):
                return NamedCandidate(entity, "name" if name == entity.title else "alias", name)
            if _subsequence(spoken, words):
                return NamedCandidate(entity, "part", name)
    return None


def _initials(entity: MemoryNames, mention: str, spoken: Sequence[str]) -> NamedCandidate | None:
    """`M. Holt`, `Maren H.`, `M.H.` and `MH` for Maren Holt."""
    letters = re.sub(r"[\s.]", "", mention)
    for name in (entity.title, *entity.aliases):
        words = _words(name)
        if len(words) < 2:
            continue
        if letters.isupper() and len(letters) > 1 and fold(letters) == "".join(w[0] for w in words):
            return NamedCandidate(entity, "initials", name)
        pairs = zip(spoken, words, strict=False)
        if len(spoken) == len(words) and all(
            word == other or (len(word) == 1 and other.startswith(word)) for word, other in pairs
        ):
            return NamedCandidate(entity, "initials", name)
    return None


def _misspelt(entity: MemoryNames, spoken: Sequence[str]) -> NamedCandidate | None:
    if not spoken:
        return None
    for name in (entity.title, *entity.aliases):
        words = _words(name)
        for at in range(len(words) - len(spoken) + 1):
            if all(map(_alike, spoken, words[at : at + len(spoken)])):
                return NamedCandidate(entity, "spelling", name)
    return None


def _alike(word: str, other: str) -> bool:
    if word == other:
        return True
    if min(len(word), len(other)) < 4 or abs(len(word) - len(other)) > 2:
        return False
    return SequenceMatcher(None, word, other, autojunk=False).ratio() >= LIKE


def _subsequence(spoken: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words occur in this order."""
    rest: Iterator[str] = iter(words)
    return all(word in rest for word in spoken)


def _words(text: str) -> list[str]:
    return [re.sub(r"['’]s$", "", word) for word in _WORD.findall(fold(text))]
