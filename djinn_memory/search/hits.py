"""From ranked chunks to what a user sees: titles, places, snippets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence

import apsw

from djinn_memory.models import Hit, Vault
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.search.fusion import shown
from djinn_memory.search.pipeline import Candidate
from djinn_memory.search.snippet import answering, excerpt, place, snippet
from djinn_memory.store.index import words
from djinn_memory.store.sqlite import rows

Place = tuple[int, int | None, Sequence[str]]
"""As `models.Part`: an offset, the page and the headings from there on."""

MOST_WORDS = 50_000
"""Words whose stems a process that lives long keeps: a few MB."""

_STEMS: dict[tuple[str, ...], dict[str, list[str]]] = {}
"""By the languages of an index: the stems of words, which are the same whatever is asked."""

_SQL = """
select memory.id, ordinal, uid, type, plane, title, vault_id, path, first_line, last_line, page,
    parts, headings, text, created, updated, date, window.start, window.stop
from chunk join memory on memory.id = memory_id join note on note.id = note_id
left join window on window.id = ?
where chunk.id = ?
"""


def hit(
    connection: apsw.Connection,
    candidate: Candidate,
    rank: int,
    vaults: Mapping[int, Vault],
    matches: Callable[[str], bool],
    characters: int,
) -> Hit:
    """The hit for a candidate; its chunk must be in the index.

    Its excerpt has at most so many `characters`.
    """
    [row] = rows(connection, _SQL, (candidate.window_id, candidate.chunk_id))
    (memory, ordinal, uid, kind, plane, title, vault, path, first, last, page, parts, headings,
     text, created, updated, date, start, stop) = row  # fmt: skip
    window = (start, stop) if start is not None and stop > start else (0, len(text))
    heads = json.loads(headings)
    if parts:
        whole = [(0, page, heads), *json.loads(parts)]
        (_, page, heads), window = _answer(text, window, whole, matches)
    shown_part, marks = snippet(text, window, matches)
    filename, total = document(connection, memory) if plane == "documents" else (None, None)
    at = place(text, window, matches) if len(text) > characters else 0
    legs = {"words": candidate.words, "meaning": candidate.meaning, "rerank": candidate.rerank}
    return Hit(
        rank=rank,
        id=uid,
        type=kind,
        plane=plane,
        title=title,
        vault=vaults[vault].name,
        path=path,
        lines=(first, last),
        page_number=page,
        total_pages=total,
        document_id=uid if plane == "documents" else None,
        filename=filename,
        chunk_index=ordinal,
        heading=tuple(inline(heading) for heading in heads),
        snippet=shown_part,
        marks=marks,
        excerpt=excerpt(text, window, at, characters),
        tags=tags(connection, memory),
        created=created,
        updated=updated,
        date=date,
        score=shown(candidate.score),
        legs={name: leg for name, leg in legs.items() if leg is not None},
        context=context(vaults[vault], path),
        feedback=candidate.feedback,
        before=candidate.before,
    )


def _answer(
    text: str, window: tuple[int, int], parts: Sequence[Place], matches: Callable[[str], bool]
) -> tuple[Place, tuple[int, int]]:
    """Which of the pages and sections of a chunk answers, and where in it."""
    ends = [*(at for at, _, _ in parts[1:]), len(text)]
    spans = [(at, end) for (at, _, _), end in zip(parts, ends, strict=True)]
    best, inner = answering(text, window, spans, matches)
    return parts[best], inner


def document(connection: apsw.Connection, memory_id: int) -> tuple[str | None, int | None]:
    """The file that a document was made from, and how many pages it has."""
    sql = "select key, value from field where memory_id = ? and key in ('filename', 'total_pages')"
    found: dict[str, str] = dict(rows(connection, sql, (memory_id,)))
    pages = found.get("total_pages", "")
    return found.get("filename"), int(pages) if pages.isdecimal() and len(pages) < 10 else None


def context(vault: Vault, path: str) -> str | None:
    """What the user said of the innermost described folder that holds `path`."""
    found = [(len(prefix), text) for prefix, text in vault.contexts if path.startswith(prefix)]
    return max(found)[1] if found else None


def on_disk(vault: Vault, path: str) -> bool:
    """Whether a note's file is there, and may be looked at."""
    return os.path.isfile(os.path.join(vault.root, path))  # noqa: PTH113, PTH118 - never raises


def tags(connection: apsw.Connection, memory_id: int) -> tuple[str, ...]:
    """A memory's tags, as written."""
    found = rows(connection, "select tag from tag where memory_id = ?", (memory_id,))
    return tuple(tag for (tag,) in found)


def matcher(connection: apsw.Connection, stems: frozenset[str]) -> Callable[[str], bool]:
    """Tells whether a word of a text answers a query with these stems."""
    held = words.languages(connection)
    known = _STEMS.setdefault(held, {})
    if len(known) > MOST_WORDS:
        known.clear()

    def matches(word: str) -> bool:
        found = known.get(word)
        if found is None:
            # A run of a script without spaces is asked about pair by pair: the first is the pair.
            first = words.split(connection, word)[:1]
            found = known[word] = [
                stem for one in first for stem in words.stems(connection, one, held)
            ]
        return not stems.isdisjoint(found)

    return matches


def places(
    connection: apsw.Connection, note_ids: Sequence[int]
) -> dict[int, tuple[int, str, str | None]]:
    """By note: its vault's number, its path, its plane."""
    found = rows(
        connection,
        "select note.id, vault_id, path, plane from note join memory on note_id = note.id "
        "where note.id in (select value from json_each(?))",
        (json.dumps(list(note_ids)),),
    )
    return {key: (vault, path, plane) for key, vault, path, plane in found}
