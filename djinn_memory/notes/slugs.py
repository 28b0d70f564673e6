"""Turns a title into a file name, and a type into a folder name."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain, count
from unicodedata import category, normalize

# A fallback name is this long; a shorter limit could not hold one.
_SHORTEST_LIMIT = len("note-12345678")

# Windows opens a device for these names, whatever extension follows.
_RESERVED = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9¹²³]")

_PEOPLE = {"person": "people"}

# They select how the character before them, mostly an emoji, is drawn; alone they are invisible.
_VARIATION_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def fold(text: str) -> str:
    """Return `text` in the form (NFC, case folded) in which names are compared."""
    return text.lower() if text.isascii() else normalize("NFC", normalize("NFC", text).casefold())


def flat(text: str) -> str:
    """A text in the form for comparisons that ignore case and white space."""
    return fold(" ".join(text.split()))


def letters(text: str) -> str:
    """The letters and digits of a text, folded, in which headings and titles are compared."""
    return re.sub(r"[\W_]+", "", fold(text))


def tag_key(tag: str) -> str:
    """The form in which tags are compared."""
    return fold(tag.strip().lstrip("#").strip("/"))


def name_key(name: str) -> str:
    """The form in which a title, an alias or a file name is looked up as a whole.

    A run of white space becomes a single space. Quotes are removed, because a query cannot contain
    them.
    """
    return fold(" ".join(name.replace('"', "").split())).removesuffix(".md")


def slug(title: str, *, max_bytes: int = 100) -> str:
    """Return a file name without extension: letters and digits of any script, joined by `-`.

    Never empty: a title without a letter or digit becomes `note-` and a hash of it. A slug is
    its own slug. `max_bytes` counts UTF-8 and must be at least 13.
    """
    if max_bytes < _SHORTEST_LIMIT:
        raise ValueError(f"max_bytes must be at least {_SHORTEST_LIMIT}, not {max_bytes}")
    words = _words(fold(_VARIATION_SELECTORS.sub("", title)))
    name = "-".join(words).encode()[:max_bytes].decode(errors="ignore").rstrip("-")
    if not name:
        from hashlib import sha256

        return f"note-{sha256(fold(title).encode(errors='backslashreplace')).hexdigest()[:8]}"
    return f"{name}-note" if _RESERVED.fullmatch(name) else name


def folder(kind: str) -> str:
    """The folder for memories of a type: `decisions`, `summaries`, `people`.

    A type in another script has no English plural, so its folder has the name of the type.
    """
    name = slug(kind)
    if name in _PEOPLE:
        return _PEOPLE[name]
    if not re.search(r"[a-z]$", name):
        return name
    if re.search(r"[^aeiou]y$", name):
        return f"{name[:-1]}ies"
    return name + ("es" if re.search(r"(s|x|z|ch|sh)$", name) else "s")


def unique(base: str, taken: Callable[[str], bool]) -> str:
    """Return `base`, or the first of `base-2`, `base-3` ... that is not `taken`.

    The number may exceed the length limit of `slug`.
    """
    names = chain([base], (f"{base}-{number}" for number in count(2)))
    return next(name for name in names if not taken(name))


def _words(text: str) -> list[str]:
    """Return the runs of letters and digits, each with the combining marks that follow one."""
    if text.isascii():
        return re.findall(r"[a-z0-9]+", text)
    spaced, in_word = "", False
    for char in text:
        in_word = char.isalnum() or (in_word and category(char) in ("Mn", "Mc"))
        spaced += char if in_word else " "
    return spaced.split()
