"""From a query to ranked chunks: both legs, fusion, feedback."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import apsw
from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.models import Filters, LegScore, Mode
from djinn_memory.search import fusion
from djinn_memory.search.filters import condition
from djinn_memory.search.legs import words as words_leg
from djinn_memory.search.legs.words import WordsQuery
from djinn_memory.search.query import Query
from djinn_memory.store.index import vectors, words
from djinn_memory.store.index.vectors import VectorSpace

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

DEPTH = 200
"""Candidates taken from each leg; on two collections 50 give the same order as 400."""

ROUNDING = 1e-6
"""Cosines of float32 vectors that are no further apart are equal."""


class Candidate(Struct):
    """A chunk that may answer."""

    chunk_id: int
    note_id: int
    score: float = 0.0
    share: float = 0.0
    """What the words are worth, 0 to 1."""
    words: LegScore | None = None
    meaning: LegScore | None = None
    feedback: float = 0.0
    window_id: int | None = None
    """The window nearest to the query's meaning."""
    cosine: float | None = None
    """Its cosine on the scale that all models share; None where only words were asked."""
    rerank: LegScore | None = None
    """What a cross-encoder said, the raw score as a probability."""
    before: int | None = None
    """Its place before the cross-encoder read it."""


Widen = Callable[[apsw.Connection, WordsQuery | None, Sequence[Candidate]], WordsQuery | None]
"""Makes a wider query of one and the candidates that it found, best first; None leaves it."""


class Ranking(Struct, frozen=True):
    """The answer in ids."""

    candidates: tuple[Candidate, ...]
    looked_up: frozenset[int] = frozenset()
    """Chunks that hold every word of a short query."""
    stems: frozenset[str] = field(default_factory=frozenset)
    """Stems of the query's words, which a snippet marks."""


def rank(
    connection: apsw.Connection,
    query: Query,
    filters: Filters,
    vault_ids: Sequence[int],
    *,
    mode: Mode,
    vector: Vectors | None,
    limit: int,
    per_note: int,
    widen: Widen | None = None,
) -> Ranking:
    """Candidates, best first, enough for `limit` hits with `per_note` of a note.

    `vector` is the query's, float32 of (dimensions,); without one the words answer alone. A query
    of filters only lists the newest first. `widen` may have the words asked once more with others,
    for which no snippet is marked and which make no answer a confident one.
    """
    where, values = _restrict(connection, query, filters, vault_ids)
    if not query.asks:
        return Ranking(tuple(_newest(connection, where, values)))
    # Parts for the meaning leg alone are asked for by words where there is no other leg.
    texts = query.for_words if vector is not None else query.for_words or query.meanings
    asked = words_leg.compose(connection, texts, query.more_words)
    depth = max(DEPTH, limit)
    by_words: list[int] = []
    if asked and mode != "meaning":
        by_words = words.search(connection, asked.any, where, values, depth, per_note)
    looked_up: frozenset[int] = frozenset()
    if asked and asked.every and mode != "meaning":
        looked_up = frozenset(words.search(connection, asked.every, where, values, limit))
    space = vectors.serving(connection)
    if mode == "words" or vector is None or space is None:
        scored = partial(_by_words, connection)
    else:
        open_to_all = not (
            query.phrases or query.without or replace(filters, vaults=()) != Filters()
        )
        restrict = None if open_to_all else (where, values)
        by_meaning = _nearest(connection, space, vector, vault_ids, restrict, limit)
        scored = partial(_by_both, connection, space, vector, mode, by_meaning)
    candidates = scored(asked, by_words)
    if widen and (wider := widen(connection, asked, candidates)):
        more = words.search(connection, wider.any, where, values, depth, per_note)
        shares = {one.chunk_id: one.share for one in candidates}
        candidates = scored(wider, list(dict.fromkeys([*by_words, *more])))
        for one in candidates:
            one.share = shares.get(one.chunk_id, 0.0)
    return Ranking(tuple(candidates), looked_up, asked.marked if asked else frozenset())


def _by_both(
    connection: apsw.Connection,
    space: VectorSpace,
    vector: Vectors,
    mode: Mode,
    by_meaning: Sequence[int],
    asked: WordsQuery | None,
    by_words: Sequence[int],
) -> list[Candidate]:
    found = _measure(connection, space, [*by_words, *by_meaning], vector)
    shares = _shares(connection, asked, list(found), mode)
    return _candidates(space.calibration.scale, found, shares, by_words, mode)


def _candidates(
    scale: float,
    found: dict[int, _Measured],
    shares: dict[int, tuple[float, float]],
    by_words: Sequence[int],
    mode: Mode,
) -> list[Candidate]:
    """Both legs' measures as one score with its parts, best first."""
    ranks = {chunk: place for place, chunk in enumerate(by_words, 1)}
    near = sorted((c for c in found if found[c].window_id), key=lambda c: -found[c].cosine)
    places = {chunk: place for place, chunk in enumerate(near, 1)}
    base = {
        chunk: fusion.fuse(shares[chunk][1], one.cosine) if mode == "hybrid" else one.cosine
        for chunk, one in found.items()
    }
    final = _feedback(base, found, scale) if mode == "hybrid" else base
    half = fusion.MEANING_SHARE if mode == "hybrid" else 1.0
    candidates = [
        Candidate(
            chunk,
            one.note_id,
            final[chunk],
            shares[chunk][1],
            LegScore(shares[chunk][0], ranks.get(chunk), (1 - half) * shares[chunk][1]),
            LegScore(one.raw, places.get(chunk), half * one.cosine),
            final[chunk] - base[chunk],
            one.window_id,
            one.cosine,
        )
        for chunk, one in found.items()
        if mode == "meaning" or shares[chunk][1] or final[chunk] >= fusion.NOISE
    ]
    candidates.sort(key=lambda one: (-one.score, one.chunk_id))
    return candidates


class _Measured(Struct):
    note_id: int
    raw: float = 0.0
    """The cosine as the model gives it."""
    cosine: float = 0.0
    """What it is worth on the scale that all models share."""
    window_id: int | None = None
    vector: Vectors | None = None


def _restrict(
    connection: apsw.Connection, query: Query, filters: Filters, vault_ids: Sequence[int]
) -> tuple[str, list[object]]:
    """What a chunk must satisfy, as SQL over note, memory and chunk."""
    where, values = condition(filters, vault_ids)
    for text in dict.fromkeys(query.phrases):
        match = words_leg.phrase(connection, text)
        if match:
            where += " and chunk.id in (select rowid from words where words match ?)"
            values.append(match)
    for text in dict.fromkeys(query.without):
        match = words_leg.phrase(connection, text)
        if match:
            where += (
                " and memory.id not in (select memory_id from chunk where id in "
                "(select rowid from words where words match ?))"
            )
            values.append(match)
    return where, values


def _newest(connection: apsw.Connection, where: str, values: Sequence[object]) -> list[Candidate]:
    rows = connection.execute(
        "select chunk.id, note.id from chunk join memory on memory.id = memory_id "
        f"join note on note.id = note_id where ordinal = 0 and {where} "
        "order by memory.date desc, note.path limit 1000",
        values,
    )
    return [Candidate(chunk, note, 1.0) for chunk, note in rows]


def _by_words(
    connection: apsw.Connection, asked: WordsQuery | None, found: list[int]
) -> list[Candidate]:
    if asked is None:
        return []
    notes = _notes(connection, found)
    scores = words_leg.score(connection, asked, found)
    best = sorted(found, key=lambda chunk: (-scores[chunk], chunk))
    return [
        Candidate(
            chunk,
            notes[chunk],
            asked.share(scores[chunk]),
            asked.share(scores[chunk]),
            LegScore(scores[chunk], place, asked.share(scores[chunk])),
        )
        for place, chunk in enumerate(best, 1)
    ]


def _nearest(
    connection: apsw.Connection,
    space: VectorSpace,
    vector: Vectors,
    vault_ids: Sequence[int],
    restrict: tuple[str, Sequence[object]] | None,
    limit: int,
) -> list[int]:
    """Chunks by meaning, asked vault by vault so that a large one cannot crowd out a small one.

    Where a few long notes fill the answer, more is asked for, until there are `limit` notes.
    """
    chunks: list[int] = []
    for vault in vault_ids:
        depth = max(DEPTH, limit)
        while True:
            windows = vectors.nearest(
                connection, space, vector.tobytes(), vault, depth, restrict=restrict
            )
            found = _chunks_of(connection, windows)
            notes = set(_notes(connection, found).values())
            if len(notes) >= limit or len(windows) < depth or depth >= vectors.MAX_NEIGHBOURS:
                break
            depth = min(4 * depth, vectors.MAX_NEIGHBOURS)
        chunks += found
    return chunks


def _chunks_of(connection: apsw.Connection, windows: Sequence[int]) -> list[int]:
    rows = connection.execute(
        "select distinct chunk_id from window where id in (select value from json_each(?))",
        (json.dumps(windows),),
    )
    return [chunk for (chunk,) in rows]


def _measure(
    connection: apsw.Connection, space: VectorSpace, chunk_ids: Sequence[int], vector: Vectors
) -> dict[int, _Measured]:
    """The exact cosine of every candidate: that of its best window."""
    import numpy as np

    scale = space.calibration
    notes = _notes(connection, chunk_ids)
    found = {chunk: _Measured(note) for chunk, note in notes.items()}
    # In order, and apart by more than BLAS rounds: of equal windows the first is always the one.
    rows = sorted(vectors.of_chunks(connection, space, list(found)), key=lambda row: row[1])
    if not rows:
        return found
    matrix = np.frombuffer(b"".join(row[2] for row in rows), dtype="<f4").reshape(len(rows), -1)
    for (chunk, window, _), cosine, one in zip(
        rows, (matrix @ vector).tolist(), matrix, strict=True
    ):
        measured = found[chunk]
        if measured.window_id is None or cosine > measured.raw + ROUNDING:
            measured.raw, measured.window_id, measured.vector = cosine, window, one
    for measured in found.values():
        if measured.window_id is not None:
            measured.cosine = scale.scale * measured.raw + scale.shift
    return found


def _shares(
    connection: apsw.Connection, asked: WordsQuery | None, chunks: list[int], mode: Mode
) -> dict[int, tuple[float, float]]:
    """By chunk: BM25, and what it is worth between 0 and 1."""
    if asked is None or mode == "meaning":
        return dict.fromkeys(chunks, (0.0, 0.0))
    scores = words_leg.score(connection, asked, chunks)
    return {
        chunk: (scores.get(chunk, 0.0), asked.share(scores.get(chunk, 0.0))) for chunk in chunks
    }


def _feedback(
    base: dict[int, float], found: dict[int, _Measured], scale: float
) -> dict[int, float]:
    """Scores with the likeness of each chunk's best window to the best notes'."""
    import numpy as np

    best = fusion.best_notes(base, {chunk: one.note_id for chunk, one in found.items()})
    examples = [one for chunk in best if (one := found[chunk].vector) is not None]
    if not examples:
        return base
    mean = np.mean(examples, axis=0)
    likeness = {
        chunk: scale * float(one.vector @ mean)
        for chunk, one in found.items()
        if one.vector is not None
    }
    return fusion.with_feedback(base, likeness, best)


def _notes(connection: apsw.Connection, chunk_ids: Sequence[int]) -> dict[int, int]:
    return dict(
        connection.execute(
            "select chunk.id, note_id from chunk join memory on memory.id = memory_id "
            "where chunk.id in (select value from json_each(?))",
            (json.dumps(list(chunk_ids)),),
        )
    )
