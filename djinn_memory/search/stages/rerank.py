"""Rerank: a cross-encoder reads the best candidates together with the question."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw
from msgspec.structs import replace

from djinn_memory.chunking.window_text import prefix, window_text
from djinn_memory.errors import DjinnError
from djinn_memory.models import LegScore, Problem, SearchStep
from djinn_memory.search.pipeline import Candidate
from djinn_memory.search.query import Query
from djinn_memory.search.search import RERANKED, Reorder
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.embedding.cross_encoder import CrossEncoder

BATCH = 8
"""Texts between two looks at the clock."""

SHARE = 0.5
"""What the cross-encoder's verdict counts against the legs' score."""

SOFTENED = 4.0
"""Cross-encoders trained on clicks say -11 to 11 in log-odds and mean less by it: divided by this,
two poor texts are still told apart, and a model that knows nothing (all near 0) moves nothing."""

_SQL = """
select text, start, stop, headings, title, iif(dated, date, null)
from chunk join memory on memory.id = memory_id left join window on window.id = ?
where chunk.id = ?
"""


def reordering(
    encoder: CrossEncoder, milliseconds: int, steps: list[SearchStep], problems: list[Problem]
) -> Reorder:
    """`rerank` as a part of a search; what it did and what went wrong is added to the lists."""

    def reorder(
        connection: apsw.Connection, query: Query, candidates: list[Candidate]
    ) -> list[Candidate]:
        result, step, problem = rerank(
            connection, encoder, query.question, candidates, milliseconds
        )
        steps.append(step)
        problems.extend([problem] if problem else [])
        return result

    return reorder


def rerank(
    connection: apsw.Connection,
    encoder: CrossEncoder,
    question: str,
    candidates: Sequence[Candidate],
    milliseconds: int,
) -> tuple[list[Candidate], SearchStep, Problem | None]:
    """The candidates in their new order, what was done, and why not if it was not.

    All of the best RERANKED are read within `milliseconds`, or the order stays. The score of a hit
    is the mean of its score and of `sigmoid(log-odds / SOFTENED)`: 0 to 1, with one meaning for
    all queries. What was not read counts as the worst of what was, so it stays below.
    """
    began = time.monotonic()
    read = list(candidates[:RERANKED])
    odds: list[float] = []
    why = ""
    try:
        texts = [_text(connection, one) for one in read]
        odds = _within(encoder, question, texts, began + milliseconds / 1000)
    except DjinnError as error:
        why = f"{error}; the order is that without it"
    except TimeoutError as error:
        why = f"{error} in {milliseconds:,} ms (search.rerank_ms), so the order is that without it"
    spent = (time.monotonic() - began) * 1000
    if why:
        return (
            list(candidates),
            SearchStep("rerank", f"{encoder.name} changed nothing", spent),
            Problem("rerank", why),
        )
    result = _blend(candidates, odds)
    moved = sum(one.before != place for place, one in enumerate(result[: len(read)], 1))
    what = f"{encoder.name} read the best {len(read)}, {moved} of them changed place"
    return result, SearchStep("rerank", what, spent), None


def _text(connection: apsw.Connection, one: Candidate) -> str:
    """What is embedded of the candidate's best window; its whole text where there is none."""
    [(text, start, stop, headings, title, date)] = connection.execute(
        _SQL, (one.window_id, one.chunk_id)
    )
    return window_text(prefix(title, tuple(json.loads(headings)), date), text[start:stop])


def _within(
    encoder: CrossEncoder, question: str, texts: Sequence[str], deadline: float
) -> list[float]:
    """Log-odds of all texts; `TimeoutError` says how many there were at the deadline."""
    odds: list[float] = []
    failed: list[DjinnError] = []
    late = threading.Event()

    def run() -> None:
        try:
            for at in range(0, len(texts), BATCH):
                if late.is_set():
                    return
                odds.extend(encoder.scores(question, texts[at : at + BATCH]))
        except DjinnError as error:
            failed.append(error)
        except (
            Exception
        ) as error:  # a runtime's own errors share no class, and none may end a search
            why = " ".join(str(error).split())[:200]
            failed.append(DjinnError(f"{encoder.name} failed: {type(error).__name__}: {why}"))

    # Loading and a batch cannot be broken off, so they are left behind on a thread of their own;
    # what was loaded serves the next search of this process.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    late.set()
    if failed:
        raise failed[0]
    done = list(odds)
    if len(done) < len(texts):
        raise TimeoutError(f"{encoder.name} read {len(done)} of {count(len(texts), 'text')}")
    if not all(map(math.isfinite, done)):
        raise DjinnError(f"{encoder.name} gives scores that are no numbers; try another model")
    return done


def _blend(candidates: Sequence[Candidate], odds: Sequence[float]) -> list[Candidate]:
    verdicts = [_sigmoid(value / SOFTENED) for value in odds]
    order = sorted(range(len(odds)), key=lambda at: (-odds[at], at))
    places = {at: place for place, at in enumerate(order, 1)}
    lowest = min(verdicts, default=0.0)
    result = []
    for at, one in enumerate(candidates):
        read = at < len(odds)
        verdict = SHARE * (verdicts[at] if read else lowest)
        result.append(
            replace(
                one,
                score=(1 - SHARE) * one.score + verdict,
                words=_weighed(one.words),
                meaning=_weighed(one.meaning),
                feedback=(1 - SHARE) * one.feedback,
                rerank=LegScore(_sigmoid(odds[at]), places[at], verdict) if read else None,
                before=at + 1,
            )
        )
    # Stable, so equal scores keep the order of before.
    return sorted(result, key=lambda one: -one.score)


def _weighed(leg: LegScore | None) -> LegScore | None:
    return leg and replace(leg, part=(1 - SHARE) * leg.part)


def _sigmoid(value: float) -> float:
    # Both forms, for `exp` overflows on one side.
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
