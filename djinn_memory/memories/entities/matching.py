"""Which names a mention may stand for: a name, a part of one, its initials, a misspelling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal
from unicodedata import normalize

from msgspec import Struct

from djinn_memory.languages.scripts import unspaced
from djinn_memory.languages.word_lists import is_short_form
from djinn_memory.memories.entities.names import names_of
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.store.index.records import MemoryNames

_WordMatch = Literal["same", "part", "form", "nickname", "initial", "typo", "spelling"]
"""How a word stands for a word of a name.

`part` is a part of a name in a script without spaces. `form` is inflected. A `typo` has one letter
too many, too few or wrong, or two swapped, within the word. Other words that look alike are a
`spelling`: Karen and Maren may be two people.
"""

LIKE = 0.8
"""Minimum similarity of a misspelt word: `Marne` is 0.8 similar to `Maren`, `Karen` 0.8 too."""

_TYPO_LENGTH = 6
"""Minimum letters of a word in which a wrong letter is a typo. Marin is not Maren."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_TAIL = re.compile(r"(?<=\w{3})['’][^\W\d_]{1,4}$")
"""The ending after an apostrophe that follows a name: `Bob's`, `Ayşe'nin`; not in O'Brien."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_LETTERS = str.maketrans({
    "ł": "l", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i",
})  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})

_HONORIFICS = frozenset({
    "capt", "captain", "don", "doña", "doctor", "dona", "dr", "frau", "fräulein", "fru", "hr",
    "herr", "lady", "lord", "madam", "madame", "miss", "mister", "mlle", "mme", "monsieur", "mr",
    "mrs", "ms", "mx", "pan", "pani", "prof", "professor", "rev", "señor", "señora", "signor",
    "signora", "sir", "sr", "sra", "the", "der", "die", "das", "le", "la", "el", "our", "my",
    "доктор", "господин", "госпожа",
})  # fmt: skip
"""Titles and articles, which are no part of a name. A name may begin with one: The Hague."""

_SUFFIX_TITLES = (
    "先生", "女士", "小姐", "さん", "ちゃん", "くん", "さま", "様", "氏", "君", "씨", "님",
)  # fmt: skip
_PARTICLES = frozenset("은 는 이 가 을 를 의 와 과 도 에게 한테 씨 님 씨는 씨가 씨의".split())  # noqa: SIM905
_CASES = frozenset({
    "", "а", "я", "у", "ю", "ы", "и", "е", "о", "ой", "ей", "ом", "ем", "ою", "ею", "ого", "его",
    "ому", "ему", "ым", "им", "ых", "их", "ую", "ая", "яя", "ии", "ию", "ия", "ий", "ый", "й", "ь",
})  # fmt: skip
"""Case endings of names in Cyrillic."""


@lru_cache(maxsize=50_000)
def _written(text: str) -> str:
    """A word in the form in which words of names are compared: without case and accents."""
    text = fold(text)
    if text.isascii():
        return text
    bare = _ACCENTS.sub("", normalize("NFKD", text.translate(_LETTERS)))
    return normalize("NFC", bare)


@lru_cache(maxsize=50_000)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, folded. `Alder, Bob` is Bob Alder."""
    last, comma, first = name.partition(",")
    if comma and first.strip() and "," not in first:
        name = f"{first} {last}"
    return tuple(_TAIL.sub("", word) for word in _WORD.findall(fold(name)))


def spoken_words(mention: str) -> tuple[str, ...]:
    """The words of a mention without titles, unless it has no others."""
    words = words_of(mention)
    return tuple(word for word in words if word not in _HONORIFICS) or words


@lru_cache(maxsize=100_000)
def compared(spoken: str, word: str) -> _WordMatch | None:
    """How a word of a mention may stand for a word of a name; both are of `words_of`."""
    first, second = _written(spoken), _written(word)
    if first == second or spoken.translate(_UMLAUTS) == word.translate(_UMLAUTS):
        return "same"
    if not first.isascii() and unspaced(first) and unspaced(second):
        return _unspaced(first, second)
    if len(first) == 1 or len(second) == 1:
        return "initial" if first[0] == second[0] else None
    if _inflected(spoken, word):
        return "form"
    if is_short_form(first, second, _written):
        return "nickname"
    if min(len(first), len(second)) < 4 or abs(len(first) - len(second)) > 2:
        return None
    if _is_typo(first, second):
        return "typo"
    # Cheap, and true of most words that look alike.
    if first[0] != second[0] and first[-1] != second[-1]:
        return None
    alike = SequenceMatcher(None, first, second, autojunk=False).ratio() >= LIKE
    return "spelling" if alike else None


def _unspaced(spoken: str, word: str) -> _WordMatch | None:
    """田中さん and 田中 for 田中太郎."""
    bare = next((spoken.removesuffix(t) for t in _SUFFIX_TITLES if spoken.endswith(t)), spoken)
    if bare == word:
        return "same"
    if spoken.startswith(word) and spoken.removeprefix(word) in _PARTICLES:
        return "form"
    enough = len(bare) > 1 or (bare and bare != spoken)
    return "part" if enough and (word.startswith(bare) or word.endswith(bare)) else None


def _inflected(spoken: str, word: str) -> bool:
    if spoken.isascii():
        return len(word) > 3 and spoken == f"{word}s"
    if not "\u0400" <= spoken[0] <= "\u052f":
        return False
    same = next(
        (at for at, (a, b) in enumerate(zip(spoken, word, strict=False)) if a != b),
        min(len(spoken), len(word)),
    )
    # The ending of the name may begin before the letters differ: Соколова, Соколовой.
    return any(
        spoken[at:] in _CASES and word[at:] in _CASES for at in range(max(3, same - 1), same + 1)
    )


def _is_typo(spoken: str, word: str) -> bool:
    """Whether one letter differs, or two are swapped, and neither the first nor the last."""
    if min(len(spoken), len(word)) < 5 or spoken[0] != word[0] or spoken[-1] != word[-1]:
        return False
    if len(spoken) == len(word):
        places = [at for at, (a, b) in enumerate(zip(spoken, word, strict=True)) if a != b]
        if len(places) == 1:
            return len(word) >= _TYPO_LENGTH
        first, second = places[0], places[-1]
        swapped = spoken[first] == word[second] and spoken[second] == word[first]
        return len(places) == 2 and second == first + 1 and swapped
    long, short = sorted((spoken, word), key=len, reverse=True)
    return len(long) == len(short) + 1 and any(
        long[:at] + long[at + 1 :] == short for at in range(1, len(long) - 1)
    )


def _aligned(spoken: Sequence[str], words: Sequence[str]) -> list[_WordMatch] | None:
    """How each word of a mention stands for a word of a name, in the order of the name.

    None unless every word stands for one.
    """
    if not spoken:
        return []
    for at in range(len(words) - len(spoken) + 1):
        match = compared(spoken[0], words[at])
        if match:
            rest = _aligned(spoken[1:], words[at + 1 :])
            if rest is not None:
                return [match, *rest]
    return None


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

_LEVELS: dict[_WordMatch, NameMatch] = {
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
    by_tier = ([each for each in listed if each.how in tier] for tier in _TIERS)
    chosen = next(filter(None, by_tier), [])
    if chosen and not exact:
        chosen += [each for each in listed if each.how == "nickname" and each not in chosen]
    return sorted(chosen, key=lambda each: -STRENGTH[each.how])[:MOST]


def _fits(
    entity: MemoryNames, wanted: str, mention: str, spoken: Sequence[str]
) -> NamedCandidate | None:
    """The best way in which a mention fits a name of an entity."""
    fits: list[NamedCandidate | None] = []
    for name in names_of(entity):
        kind: NameMatch = "name" if name == entity.title else "alias"
        whole = NamedCandidate(entity, kind, name) if name_key(name) == wanted else None
        fits.append(whole or _fit(entity, kind, name, mention, spoken))
    return max(filter(None, fits), key=lambda fit: STRENGTH[fit.how], default=None)


def _fit(
    entity: MemoryNames, kind: NameMatch, name: str, mention: str, spoken: Sequence[str]
) -> NamedCandidate | None:
    words = spoken_words(name)
    if not spoken or not words:
        return None
    if len(words) > 1 and _are_initials(mention, words):
        return NamedCandidate(entity, "initials", name)
    if not any(compared(spoken[0], word) for word in words) and len(spoken) <= len(words):
        return None
    if len(spoken) == 1 and len(spoken[0]) == 1 and words != tuple(spoken):
        # A single letter is no name by itself.
        return None
    matches = _aligned(spoken, words)
    whole = len(spoken) == len(words)
    if matches is None and len(spoken) > len(words):
        # Initials between the names, as in Robert J. Alder.
        inner = [word for word in spoken if len(word) > 1]
        matches = _aligned(inner, words) if len(inner) >= len(words) else None
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
        and _written(letters) == "".join(_written(word)[0] for word in words)
    )


def _joined(words: Sequence[str]) -> str:
    return "".join(map(_written, words))
