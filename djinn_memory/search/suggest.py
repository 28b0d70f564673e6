"""Near spellings of a query's words, from the words of the index."""

from __future__ import annotations

import difflib
import re

import apsw

from djinn_memory.search.words_leg import stop_words
from djinn_memory.store.index import words

MAX_CANDIDATES = 20_000


def near_spellings(
    connection: apsw.Connection, text: str, where: str, values: list[object]
) -> tuple[str, ...]:
    """For each word of `text` that the index does not hold, the most alike one that it does.

    Only words of chunks that satisfy `where` are told, so that nothing of a hidden vault shows.
    """
    found: dict[str, None] = {}
    for word in words.split(connection, text)[:20]:
        stem = words.stem(connection, word)
        if len(word) < 3 or word in stop_words() or words.frequency(connection, stem):
            continue
        near = [
            term
            for (term,) in connection.execute(
                "select term from vocabulary where length(term) between ? and ? limit ?",
                (len(stem) - 2, len(stem) + 2, MAX_CANDIDATES),
            )
        ]
        for term in difflib.get_close_matches(stem, near, 3, cutoff=0.7):
            spelled = _spelled(connection, term, where, values)
            if spelled:
                found[spelled] = None
                break
    return tuple(found)


def _spelled(
    connection: apsw.Connection, term: str, where: str, values: list[object]
) -> str | None:
    """A word of some visible chunk whose stem is `term`."""
    for (text,) in connection.execute(
        "select memory.title || ' ' || text from words join chunk on chunk.id = words.rowid "
        "join memory on memory.id = memory_id join note on note.id = note_id "
        f"where words match ? and {where} limit 3",
        (f'"{term}"*', *values),
    ):
        for word in re.findall(r"\w+", text):
            if words.stem(connection, word) == term:
                return str(word).lower()
    return None
