"""Neighbours: the turns of a conversation before and after one that matches.

The answer often follows the question that has its words, and an answer such as "Yes, in May" has
none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from djinn_memory.models import LegScore
from djinn_memory.search.candidate import NEIGHBOUR, Candidate, once
from djinn_memory.search.state import Search
from djinn_memory.store.index.records import IndexedMemory

READ = 10
"""Candidates whose neighbours are raised. On turns of conversations 5 to 40 give the same."""

RAISED = (0.5, 0.4, 0.3)
"""By the distance of two turns: the share of the difference by which the better raises the other.
On turns of three conversations recall@10 rises from .718 to .810. With the nearest turns alone it
is .785; with a tenth less, .010 lower. Among them the memories of the same conversation that no leg
proposed cost .001, and are found in larger vaults only by this."""

SHORT = 800
"""Maximum characters of a turn: about a window. The longest of those conversations has 444."""

_TURN = re.compile(r"[\s>*_-]*[^\W\d_][\w.'-]*(?: [\w.'-]+){0,2}[*_]*:[*_]*\s+\S")
"""The beginning of a turn: the name of the speaker in up to three words, and a colon."""

_NUMBER = re.compile(r"\d+(?=\D*\.md\Z)")
"""The last number in the name of a note, such as 12 in `call-12.md`."""


def raise_neighbours(search: Search) -> None:
    """Raise the scores of turns near one that matches better.

    Turns are short records of a conversation in a journal, and short notes that begin with the name
    of the speaker. They follow each other in the journal, or in the last number of their names.
    """
    best = {candidate.memory_id: candidate for candidate in once(search.candidates[:READ])}
    memories = search.memories_of(best.values())
    turns = [memories[key] for key in best if _is_turn(search, memories[key])]
    own = {candidate.memory_id: candidate for candidate in once(search.candidates)}
    raised: dict[int, Candidate] = {}
    for turn, other, share in _near(search, turns) if turns else ():
        key, better = other.memory_id, best[turn.memory_id]
        if other.first_chunk is None or not _is_turn(search, other):
            continue
        unknown = Candidate(other.first_chunk, key, 0.0, better.scores, better.own_scores)
        candidate = own.get(key, unknown)
        score = candidate.score + share * (better.score - candidate.score)
        if score > raised.get(key, candidate).score:
            # A score is never below 0, but the sum of its parts may be.
            parts = (leg.part for leg in candidate.legs(search.weights).values())
            added = score - sum(parts) - candidate.feedback
            said = {**candidate.verdicts, NEIGHBOUR.name: LegScore(better.score, None, added)}
            raised[key] = replace(candidate, score=score, verdicts=said)
    chunks = {candidate.chunk_id for candidate in raised.values()}
    others = (candidate for candidate in search.candidates if candidate.chunk_id not in chunks)
    # Stable, so equal scores keep the order of before.
    search.candidates = sorted([*others, *raised.values()], key=lambda each: -each.score)


def _is_turn(search: Search, memory: IndexedMemory) -> bool:
    text = "" if memory.first_chunk is None else search.chunk(memory.first_chunk).text
    return len(text) <= SHORT and (memory.type == "interaction" or bool(_TURN.match(text)))


def _near(
    search: Search, turns: Sequence[IndexedMemory]
) -> Iterator[tuple[IndexedMemory, IndexedMemory, float]]:
    """Each turn, a memory near it, and the share of their distance."""
    places = {(turn.vault, path) for turn in turns for path in _places(turn)}
    series: dict[tuple[str, ...], dict[int, int]] = {}
    at: dict[int, tuple[dict[int, int], int]] = {}
    for name in search.index.names(replace(search.selection, places=tuple(places))):
        before, number, after = _numbered(name.path)
        of = series.setdefault((name.vault, *((name.path,) if name.block else (before, after))), {})
        at[name.memory_id] = of, len(of) if name.block else number
        of[at[name.memory_id][1]] = name.memory_id
    near = [
        (turn, of.get(place + step * distance), share)
        for turn in turns
        for of, place in [at.get(turn.memory_id, ({}, 0))]
        for distance, share in enumerate(RAISED, 1)
        for step in (-1, 1)
    ]
    known = search.lookup(key for _, key, _ in near if key is not None)
    search.load(chunk for _, key, _ in near if key and (chunk := known[key].first_chunk))
    yield from ((turn, known[key], share) for turn, key, share in near if key is not None)


def _numbered(path: str) -> tuple[str, int, str]:
    """The path of a note before its last number, that number or -1, and the rest."""
    match = _NUMBER.search(path)
    return (path[: match.start()], int(match[0]), path[match.end() :]) if match else (path, -1, "")


def _places(turn: IndexedMemory) -> Iterator[str]:
    """The path of a journal, or of a note and those near it, with and without leading zeros."""
    before, number, after = _numbered(turn.path)
    yield turn.path
    if not turn.block and number >= 0:
        width, reach = len(turn.path) - len(before) - len(after), len(RAISED)
        for near in range(max(0, number - reach), number + reach + 1):
            yield from {f"{before}{near}{after}", f"{before}{near:0{width}}{after}"}
