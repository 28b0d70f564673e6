"""Which names a mention may stand for: a name, a part of one, its initials, a misspelling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from djinn_memory.memories.entities.names import names_of
from djinn_memory.memories.entities.resolution.name_words import (
    HONORIFICS,
    WordMatch,
    aligned,
    compared,
    spoken_words,
    words_of,
    written,
)
from djinn_memory.notes.slugs import name_key
from djinn_memory.store.index.records import MemoryNames

NameMatch = Literal["name", "alias", "part", "form", "nickname", "initials", "spelling"]

STRENGTH: dict[NameMatch, float] = {
    "name": 1.0,
    "alias": 1.0,
    "part": 0.8,
    "form": 0.75,
    "nickname": 0.6,
    "initials": 0.7,
    "spelling": 0.6,
}
"""How well a mention fits a name. A name and an alias fit alike: people use both."""

MOST = 12
"""Maximum number of candidates. More share only a frequent name."""

_TIERS: tuple[tuple[NameMatch, ...], ...] = (
    ("name", "alias", "part", "form"),
    ("nickname", "initials"),
    ("spelling",),
)
"""A tier counts only if no name fits as in those above."""

_LEVELS: dict[WordMatch, NameMatch] = {
    "same": "name", "part": "part", "form": "form", "nickname": "nickname", "initial": "initials",
    "typo": "spelling", "spelling": "spelling",
}  # fmt: skip


class NamedCandidate(Struct, frozen=True):
    """An entity that a mention may stand for by its names."""

    entity: MemoryNames
    how: NameMatch
    name: str
    """The name that fits."""
    certain: bool = True
    """Whether it is meant if no other entity fits. A name that only looks alike may be another."""


def candidates(mention: str, entities: Sequence[MemoryNames]) -> list[NamedCandidate]:
    """The entities that a mention may stand for, those that fit best first.

    Initials and nicknames count only if no name fits otherwise, and misspellings only after them. A
    nickname also counts beside a part of another name: Bob Voss need not be the only Bob.
    """
    wanted, spoken = name_key(mention), spoken_words(mention)
    listed = [each for entity in entities if (each := _fits(entity, wanted, mention, spoken))]
    exact = [each for each in listed if each.how in ("name", "alias")]
    if exact and len(spoken) > 1:
        # A whole name of several words means its bearers alone.
        return exact[:MOST]
    chosen: list[NamedCandidate] = []
    for tier in _TIERS:
        chosen = [each for each in listed if each.how in tier]
        if chosen:
            break
    if chosen and not exact:
        chosen += [each for each in listed if each.how == "nickname" and each not in chosen]
    return sorted(chosen, key=lambda each: -STRENGTH[each.how])[:MOST]


def _fits(
    entity: MemoryNames, wanted: str, mention: str, spoken: Sequence[str]
) -> NamedCandidate | None:
    """The best way in which a mention fits a name of an entity."""
    best: NamedCandidate | None = None
    for name in names_of(entity):
        kind: NameMatch = "name" if name == entity.title else "alias"
        fit = (
            NamedCandidate(entity, kind, name)
            if name_key(name) == wanted
            else _fit(entity, kind, name, mention, spoken)
        )
        if fit and (best is None or STRENGTH[fit.how] > STRENGTH[best.how]):
            best = fit
    return best


def _fit(
    entity: MemoryNames, kind: NameMatch, name: str, mention: str, spoken: Sequence[str]
) -> NamedCandidate | None:
    words = tuple(word for word in words_of(name) if word not in HONORIFICS) or words_of(name)
    if not spoken or not words:
        return None
    if len(words) > 1 and _are_initials(mention, words):
        return NamedCandidate(entity, "initials", name)
    if not any(compared(spoken[0], word) for word in words) and len(spoken) <= len(words):
        return None
    if len(spoken) == 1 and len(spoken[0]) == 1 and words != tuple(spoken):
        # A single letter is no name by itself.
        return None
    matches = aligned(spoken, words)
    whole = len(spoken) == len(words)
    if matches is None and len(spoken) > len(words):
        # Initials between the names, as in Robert J. Alder.
        inner = [word for word in spoken if len(word) > 1]
        matches = aligned(inner, words) if len(inner) >= len(words) else None
        whole = False
    if matches is None:
        return NamedCandidate(entity, kind, name) if _joined(spoken) == _joined(words) else None
    levels = [_LEVELS[match] for match in matches]
    how = min(levels, key=lambda level: (STRENGTH[level], level))
    if how == "name":
        how = kind if whole else "part"
    certain = how != "spelling" or (
        len(spoken) > 1 and "same" in matches and "spelling" not in matches
    )
    return NamedCandidate(entity, how, name, certain)


def _are_initials(mention: str, words: Sequence[str]) -> bool:
    """`M.H.` and `MH` for Maren Holt."""
    letters = re.sub(r"[\s.]", "", mention)
    return (
        letters.isupper()
        and len(letters) == len(words)
        and written(letters) == "".join(written(word)[0] for word in words)
    )


def _joined(words: Sequence[str]) -> str:
    return "".join(map(written, words))
