"""Stubs: chunks that say nothing by themselves, such as a heading, an embed or a template."""

from __future__ import annotations

import re
from contextlib import suppress

from djinn_memory.errors import DjinnError
from djinn_memory.notes.dialects.templates import is_template
from djinn_memory.notes.encoding import decode
from djinn_memory.search.candidate import NAME, Candidate
from djinn_memory.search.legs.words_query import content
from djinn_memory.search.snippet import is_filler
from djinn_memory.search.state import Search
from djinn_memory.store.index.records import IndexedMemory

STUB_TITLE = 2
"""Maximum words of a title that is only a name. A longer title may be the whole content."""

_LISTED = re.compile(
    r"(?m)^[ \t>]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?\[(?:\[|[^\[\]\n]+\][(\[])"
    r"|^ {0,3}\[[^\[\]\n]+\]:[ \t]"
)
"""An item of a list that is a link, or the definition of a link or a footnote."""

_FRONT_MATTER = re.compile(r"---\r?\n(.*?)\r?\n---", re.DOTALL)
_FIELD = re.compile(r"(?m)^[^\s:#-][^:\n]*:")
_BLANK = re.compile(_FIELD.pattern + r"""[ \t]*(?:|""|''|\[\]|.*\{\{.*)[ \t\r]*$(?!\n[ \t]*-)""")
"""A field without a value, or with a placeholder."""

FIELDS = 3
"""Minimum filled fields of a note that says something by its front matter alone. Templates and
pages of categories in a public vault have one or two."""


def is_stub(search: Search, candidate: Candidate) -> bool:
    """Whether the chunk of a candidate says nothing by itself, and is not asked for by its name.

    It is a chunk without a sentence or a filled item, a chunk of a template, or a list of links
    that was found only by meaning. A search by meaning alone finds lists of links too.
    """
    memory = search.lookup([candidate.memory_id])[candidate.memory_id]
    if memory.plane == "knowledge" or NAME.name in candidate.verdicts:
        return False
    template = is_template(search.vault_of[memory.vault].root, memory.path)
    if not (template or _is_empty(search, candidate, memory)):
        return False
    return content(search.index.words, memory.title) != search.asked_words


def _is_empty(search: Search, candidate: Candidate, memory: IndexedMemory) -> bool:
    """Whether neither a chunk, nor the title or the front matter above it, says anything."""
    chunk = search.chunk(candidate.shown_chunk)
    if not is_filler(chunk.text):
        return False
    has_words = any(candidate.value(leg.name) for leg in search.answering if not leg.scores_all)
    only_meant = search.mode == "hybrid" and candidate.scores and not has_words
    if _LISTED.search(chunk.text) and not only_meant:
        return False
    filled, blank = (0, 0) if chunk.ordinal else _fields(search, memory)
    if filled >= FIELDS and filled > blank:
        return False
    return bool(chunk.text.strip() or blank) or len(memory.title.split()) <= STUB_TITLE


def _fields(search: Search, memory: IndexedMemory) -> tuple[int, int]:
    """The numbers of filled and of blank fields in the front matter of a note."""
    with suppress(OSError, DjinnError):
        text = decode(search.source.read(search.vault_of[memory.vault], memory.path))[0]
        if head := _FRONT_MATTER.match(text):
            blank = len(_BLANK.findall(head[1]))
            return len(_FIELD.findall(head[1])) - blank, blank
    return 0, 0
