"""The folders of memories, which are named by the plural of the memories' type."""

from __future__ import annotations

import re

from djinn_memory.notes.slugs import slug

_PEOPLE = {"person": "people"}


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
