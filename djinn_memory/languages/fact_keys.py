"""Keys of facts: which of them mean the same, and which a question asks for. Pure.

Keys mean the same only if they are equal in every sentence: a person's home town is not where they
live, and what they work as is not whom they work for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from djinn_memory.notes.slugs import fold

_SAME = (
    "city, lives in, living in, current city, home city, city of residence, residence",
    "from, home town, hometown",
    "job, occupation, profession, job title, works as",
    "employer, works at, works for, company, workplace",
    "phone, phone number, telephone, telephone number, mobile, mobile number",
    "email, e-mail, email address, e-mail address, mail address",
    "birthday, date of birth, birth date, birthdate",
    "time zone, timezone",
    "preferred name, goes by",
    "website, homepage",
    "address, home address, postal address",
)

_GROUPS = tuple(tuple(names.split(", ")) for names in _SAME)
_MEANINGS = {key: names[0] for names in _GROUPS for key in names}
_NAMES = {names[0]: names for names in _GROUPS}

_WORD = re.compile(r"[^\W_]+")
_FILLERS = frozenset({
    "a", "an", "as", "at", "by", "current", "for", "from", "goes", "in", "my", "of", "on", "place",
    "the", "to",
})  # fmt: skip
_ENDING = re.compile(r"(?<=\w{3})(?:ing|es|ed|s|e)$")

_SPEAKER = frozenset({"i", "me", "my", "mine", "myself"})
_USER = frozenset({"user", "me", "self", "person"})
"""Categories of facts about the person who asks."""


def meaning_of(key: str) -> str:
    """The key that stands for all keys that mean the same, in the form for comparisons."""
    folded = fold(" ".join(key.replace("_", " ").split()))
    return _MEANINGS.get(folded, fold(key.strip()))


def same_keys(key: str) -> tuple[str, ...]:
    """A key, and the keys that mean the same."""
    return (key, *_NAMES.get(meaning_of(key), ()))


class AskedKeys:
    """Which facts the words of a question ask for: `where did I live` asks for `user/city`."""

    def __init__(self, question: str) -> None:
        self._stems = frozenset(_stems(question))
        self._of_speaker = not _SPEAKER.isdisjoint(_WORD.findall(question.casefold()))

    def asks_for(self, key: str) -> bool:
        """Whether a question has all words of a key, or of another key that means the same."""
        names = (set(_stems(name)) for name in same_keys(key))
        return any(stems and stems <= self._stems for stems in names)

    def distance(self, category: str) -> int:
        """How far a category is from the question: 0 for one that is named, 1 for the speaker."""
        stems = set(_stems(category))
        if stems and stems <= self._stems:
            return 0
        return 1 if self._of_speaker and fold(category.strip()) in _USER else 2


def _stems(text: str) -> Iterator[str]:
    """The words of a text that say something, without their endings."""
    for word in _WORD.findall(fold(text)):
        if word not in _FILLERS:
            yield _ENDING.sub("", word)
