"""A claim: a statement in a turn that is to be kept, and the digest that identifies it. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import Literal

from msgspec import Struct

from djinn_memory.languages.word_lists import meaning_of
from djinn_memory.notes.slugs import flat, fold

ClaimType = Literal["fact", "preference", "decision", "commitment", "lesson"]

TITLE = 80
"""Maximum characters of a title."""

_WORD = re.compile(r"[\w@#+]+")


class Claim(Struct, frozen=True):
    """A statement to be kept, in the words of the person who made it."""

    rule: str
    """The rule that found it, such as `preference` or `call-me`."""
    type: ClaimType
    """The type of the memory that it becomes."""
    title: str
    """The title of the memory."""
    text: str
    """The statement on one line; for a fact, its value."""
    category: str = ""
    """The category of a fact."""
    key: str = ""
    """The key of a fact."""
    due: str | None = None
    """The day by which a commitment is due, as ISO 8601."""
    tags: tuple[str, ...] = ()
    """Tags of the memory."""

    @property
    def is_keyed(self) -> bool:
        """Whether it is a fact, which has one value at a time."""
        return self.type == "fact"


def title_of(text: str, most: int = TITLE) -> str:
    """The first words of a text, as a title."""
    line = " ".join(text.replace("`", "").split())
    if len(line) > most:
        line = f"{line[:most].rpartition(' ')[0] or line[:most]} ..."
    return line[:1].upper() + line[1:]


def claim_digest(agent: str, claim: Claim) -> str:
    """A hash of a normalised claim. It is the same for other case, spacing and punctuation.

    It does not reveal the text. Each agent has its own.
    """
    fact = f"{fold(claim.category)}/{fold(claim.key)}" if claim.is_keyed else ""
    words = " ".join(_WORD.findall(flat(claim.text)))
    return _hash(agent, claim.type, fact, claim.due or "", words)


def key_digest(agent: str, claim: Claim) -> str:
    """A hash of the meaning of a fact, whose values follow each other; "" for other claims."""
    if not claim.is_keyed:
        return ""
    return _hash(agent, "key", fold(claim.category), meaning_of(claim.key))


def _hash(*parts: str) -> str:
    data = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.blake2b(data, digest_size=16, person=b"djinn.extract").hexdigest()
