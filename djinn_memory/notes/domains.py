"""The domains of a memory, by which the access policy decides who may see it."""

from __future__ import annotations

import re

from djinn_memory.home.access import DOMAIN, domain_key
from djinn_memory.notes.note import Note
from djinn_memory.notes.slugs import fold

_KEYS = (DOMAIN, f"{DOMAIN}s")
"""The fields that hide a memory. People who know the setting `domains` write the second one."""

_FRONT = re.compile(r"^domains?[ \t]*:[ \t]*(\S.*)?$", re.MULTILINE | re.IGNORECASE)
_COMMENT = re.compile(r"^%%[^\n]*?\"domains?\"\s*:\s*\[?\s*\"([^\"\n]*)", re.MULTILINE)
"""The domain of a journal section, also in a comment that is no longer valid JSON."""

_UNPARSED = 2_000
"""Characters at the beginning of a text in which front matter without an end is looked for."""


def domains_of(note: Note) -> tuple[str, ...]:
    """The domains of a memory as written, without repetitions.

    A text that is not clear about its domains hides rather than shows: front matter with several
    lines for the domain, with a value that is no name, or that cannot be parsed, and the comment of
    a journal section that is not valid JSON.
    """
    domains = [value for key, value in note.fields if fold(key) in _KEYS and value.strip()]
    if note.text.startswith("---"):
        lines = _FRONT.findall(note.text[: note.body or _UNPARSED])
        if len(lines) > 1 or (any(lines) and not domains):
            domains += [line.strip(" \t\r\"'[]") for line in lines]
        nested = [
            key for key, _ in note.fields if fold(key).startswith(tuple(f"{k}." for k in _KEYS))
        ]
        domains += [key.partition(".")[2] for key in nested]
    if "%%" in note.text:
        domains += _COMMENT.findall(note.text)
    by_key = {domain_key(domain): domain for domain in reversed(domains) if domain.strip()}
    return tuple(reversed(by_key.values()))
