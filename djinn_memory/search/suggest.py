"""Near spellings of a query's words, from the words of the index."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import apsw

from djinn_memory.search.legs.words import stop_words
from djinn_memory.store.index import words

MAX_WORDS = 20
"""Words of a query that are looked at."""

MIN_LENGTH = 3
"""A shorter word is like too many others."""

LIKENESS = 0.7
"""By `difflib`: one letter of four wrong, or two of seven."""

MAX_CANDIDATES = 20_000
"""Words of the index that one word is compared with: a tenth of a second."""


def near_spellings(
    connection: apsw.Connection, text: str, where: str, values: Sequence[object]
) -> tuple[str, ...]:
    """For each word of `text` that the notes do not hold, the most alike one that they do.

    Only chunks that satisfy `where` count, so that nothing of a hidden vault shows, not even that
    a word is there. The first letter is taken to be right.
    """
    found: dict[str, None] = {}
    held = words.languages(connection)
    for word in dict.fromkeys(words.split(connection, text)[:MAX_WORDS]):
        forms = " OR ".join(f'"{form}"' for form in dict.fromkeys(words.forms(word, held)))
        if _short(word) or words.search(connection, forms, where, values, 1):
            continue
        for stem in words.stems(connection, word, held):
            near = _near(connection, stem)
            spelled = (_spelled(connection, term, held, where, values) for term in near)
            best = next((one for one in spelled if one and _like(connection, word, one)), None)
            if best:
                found[best] = None
                break
    return tuple(found)


def _near(connection: apsw.Connection, stem: str) -> list[str]:
    """Terms of the index that are like `stem`, the most alike first."""
    known = connection.execute(
        "select term from vocabulary where term >= ? and term < ? "
        "and length(term) between ? and ? limit ?",
        (stem[0], chr(ord(stem[0]) + 1), len(stem) - 2, len(stem) + 2, MAX_CANDIDATES),
    )
    return difflib.get_close_matches(stem, [term for (term,) in known], 20, cutoff=LIKENESS)


def _like(connection: apsw.Connection, word: str, spelled: str) -> bool:
    return bool(difflib.get_close_matches(word, words.split(connection, spelled), cutoff=LIKENESS))


def _short(word: str) -> bool:
    return len(word) < MIN_LENGTH or word in stop_words()


def _spelled(
    connection: apsw.Connection,
    term: str,
    languages: Sequence[str],
    where: str,
    values: Sequence[object],
) -> str | None:
    """A word of some visible chunk whose stem is `term`."""
    for (text,) in connection.execute(
        "select memory.title || ' ' || text from words join chunk on chunk.id = words.rowid "
        "join memory on memory.id = memory_id join note on note.id = note_id "
        f"where words match ? and {where} limit 3",
        (f'"{term}"*', *values),
    ):
        for word in dict.fromkeys(re.findall(r"\w+", text.lower())):
            found = [] if _short(word) else words.split(connection, word)
            if any(term in words.stems(connection, one, languages) for one in found):
                return str(word)
    return None
