"""One search: the question asked of the index, the answer checked against the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import apsw
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import Filters, Hit, Mode, Vault
from djinn_memory.search import fusion, hits
from djinn_memory.search.filters import condition
from djinn_memory.search.pipeline import Candidate, Ranking, Widen, rank
from djinn_memory.search.query import Query
from djinn_memory.search.suggest import near_spellings
from djinn_memory.store.index.memories import vault_ids

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


Reorder = Callable[[apsw.Connection, Query, list[Candidate]], list[Candidate]]

Again = Callable[[Filters], Sequence[Candidate]]
"""Asks the same question of what other filters let pass."""


class Weigh(Protocol):
    """Gives candidates other scores, and leaves out or adds some."""

    def __call__(
        self,
        connection: apsw.Connection,
        candidates: Sequence[Candidate],
        vaults: Mapping[int, Vault],
        filters: Filters,
        again: Again,
    ) -> list[Candidate]:
        """The best first. `filters` are those of the question, its own words included."""


RERANKED = 30
"""Candidates that a cross-encoder reads: three screens of hits; lower ones are rarely seen."""


class HitLimits(Struct, frozen=True):
    """How many hits, in all and of one note, and how much of each."""

    hits: int
    per_note: int
    per_document: int
    excerpt: int
    """Characters of a hit's excerpt."""


def search(
    connection: apsw.Connection,
    query: Query,
    filters: Filters,
    vaults: Sequence[Vault],
    *,
    mode: Mode,
    vector: Vectors | None,
    limits: HitLimits,
    reorder: Reorder | None = None,
    widen: Widen | None = None,
    weigh: Weigh | None = None,
) -> tuple[tuple[Hit, ...], bool, tuple[str, ...]]:
    """Hits, whether they are likely meant, and near spellings where the words found nothing.

    A note that is gone from the disk is not shown, whatever the index says. `reorder` may change
    the order of the first of them, see `rerank`, `widen` what words are asked for, see `prf`, and
    `weigh` what each is worth, see `weighing`.
    """
    depth = limits if reorder is None else replace(limits, hits=max(limits.hits, RERANKED))
    numbered = vault_ids(connection, vaults)

    def ask(filters: Filters) -> Ranking:
        return rank(
            connection,
            query,
            filters,
            list(numbered),
            mode=mode,
            vector=vector,
            limit=depth.hits,
            per_note=max(limits.per_note, limits.per_document),
            widen=widen,
        )

    ranking = ask(filters)
    pool: Sequence[Candidate] = ranking.candidates
    if reorder and query.asks:
        pool = reorder(connection, query, _present(connection, pool, numbered, depth))
    if weigh:
        pool = weigh(connection, pool, numbered, filters, lambda other: ask(other).candidates)
    chosen = _present(connection, pool, numbered, limits)
    matches = hits.matcher(connection, ranking.stems)
    found = tuple(
        hits.hit(connection, candidate, place, numbered, matches, limits.excerpt)
        for place, candidate in enumerate(chosen, 1)
    )
    spellings: tuple[str, ...] = ()
    sure = not query.asks or _confident(ranking, chosen)
    # For whoever has them weighed the first is a find, however little it says.
    if query.asks and not (found and (sure or weigh)):
        where, values = condition(Filters(), list(numbered))
        spellings = near_spellings(connection, " ".join(query.for_words), where, values)
    return found, bool(found) and sure, spellings


def _confident(ranking: Ranking, chosen: Sequence[Candidate]) -> bool:
    """Judged by what is shown: a note that is gone from the disk vouches for nothing."""
    if any(one.chunk_id in ranking.looked_up for one in chosen):
        return True
    cosines = [one.cosine for one in chosen if one.cosine is not None]
    return fusion.confident((one.share for one in chosen), cosines or None)


def _present(
    connection: apsw.Connection,
    pool: Sequence[Candidate],
    vaults: dict[int, Vault],
    limits: HitLimits,
) -> list[Candidate]:
    """The candidates to show: of notes that are there, not too many of one."""
    places = hits.places(connection, list({one.note_id for one in pool}))
    there: dict[int, bool] = {}
    chosen: list[Candidate] = []
    taken: dict[int, int] = {}
    for one in pool:
        vault, path, plane = places[one.note_id]
        most = limits.per_document if plane == "documents" else limits.per_note
        if taken.get(one.note_id, 0) >= most:
            continue
        if one.note_id not in there:
            there[one.note_id] = hits.on_disk(vaults[vault], path)
        if there[one.note_id]:
            taken[one.note_id] = taken.get(one.note_id, 0) + 1
            chosen.append(one)
            if len(chosen) == limits.hits:
                break
    return chosen
