"""Lists of words: stop words of English, short forms of given names, and keys of facts.

Keys of facts mean the same only if they are equal in every sentence: a person's home town is not
where they live, and what they work as is not whom they work for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from djinn_memory.notes.slugs import fold


@cache
def stop_words() -> frozenset[str]:
    """English words that do not affect the meaning of a question, in lower case."""
    return frozenset(Path(__file__).with_name("english.txt").read_text().split())


@cache
def _full_names(written: Callable[[str], str]) -> dict[str, frozenset[str]]:
    """The full names of each name in the form of `written`. A full name is one of itself."""
    table: dict[str, set[str]] = {}
    for line in Path(__file__).with_name("nicknames.txt").read_text("utf-8").splitlines():
        full, _, short = line.partition(":")
        for name in (full, *short.split()):
            table.setdefault(written(name), set()).add(written(full))
    return {name: frozenset(names) for name, names in table.items()}


def is_short_form(name: str, other: str, written: Callable[[str], str]) -> bool:
    """Whether one of two names is a short form of the other, as Bob is of Robert.

    `written` makes the form in which names are compared; both names have it.
    """
    table = _full_names(written)
    return name != other and (
        other in table.get(name, frozenset()) or name in table.get(other, frozenset())
    )


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
    """The keys of facts that a question asks for: `where did I live` asks for `user/city`."""

    def __init__(self, question: str) -> None:
        self._stems = frozenset(_stems(question))
        self._of_speaker = not _SPEAKER.isdisjoint(_WORD.findall(question.casefold()))

    def asks_for(self, key: str) -> bool:
        """Whether a question has all words of a key, or of another key that means the same."""
        names = (set(_stems(name)) for name in same_keys(key))
        return any(stems and stems <= self._stems for stems in names)

    def distance(self, category: str) -> int:
        """The rank of a category: 0 if the question names it, 1 for the speaker, otherwise 2."""
        stems = set(_stems(category))
        if stems and stems <= self._stems:
            return 0
        return 1 if self._of_speaker and fold(category.strip()) in _USER else 2


def _stems(text: str) -> Iterator[str]:
    """The words of a text without their endings. Words without content are left out."""
    for word in _WORD.findall(fold(text)):
        if word not in _FILLERS:
            yield _ENDING.sub("", word)
