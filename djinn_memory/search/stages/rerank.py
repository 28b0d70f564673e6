"""Rerank: a cross-encoder reads the best candidates together with the question."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.models import LegScore, Problem, SearchStep
from djinn_memory.search.candidates import RERANKED, Candidate, Search
from djinn_memory.search.stages.window_texts import window_texts
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


def rerank(search: Search, encoder: CrossEncoder, milliseconds: int) -> None:
    """Put the candidates in the order of a cross-encoder.

    All of the best RERANKED are read within `milliseconds`, or the order stays. The score of a hit
    is the mean of its score and of `sigmoid(log-odds / SOFTENED)`: 0 to 1, with one meaning for
    all queries. What was not read counts as the worst of what was, so it stays below.
    """
    began = time.monotonic()
    read = search.candidates[:RERANKED]
    why = ""
    try:
        texts = window_texts(search, read)
        odds = _within(encoder, search.query.question, texts, began + milliseconds / 1000)
    except DjinnError as error:
        why = f"{error}; the order is that without it"
    except TimeoutError as error:
        why = f"{error} in {milliseconds:,} ms (search.rerank_ms), so the order is that without it"
    if why:
        search.problems.append(Problem("rerank", why))
        what = f"{encoder.name} changed nothing"
    else:
        search.candidates = _blend(search.candidates, odds)
        ranked = enumerate(search.candidates[: len(read)], 1)
        moved = sum(candidate.before != rank for rank, candidate in ranked)
        what = f"{encoder.name} read the best {len(read)}, {moved} of them changed place"
    search.steps.append(SearchStep("rerank", what, (time.monotonic() - began) * 1000))


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
    for at, candidate in enumerate(candidates):
        read = at < len(odds)
        verdict = SHARE * (verdicts[at] if read else lowest)
        said = {
            name: replace(mark, part=(1 - SHARE) * mark.part)
            for name, mark in candidate.verdicts.items()
        }
        if read:
            said["rerank"] = LegScore(_sigmoid(odds[at]), places[at], verdict)
        result.append(
            replace(
                candidate,
                score=(1 - SHARE) * candidate.score + verdict,
                share=(1 - SHARE) * candidate.share,
                verdicts=said,
                feedback=(1 - SHARE) * candidate.feedback,
                before=at + 1,
            )
        )
    # Stable, so equal scores keep the order of before.
    return sorted(result, key=lambda candidate: -candidate.score)


def _sigmoid(value: float) -> float:
    # Both forms, for `exp` overflows on one side.
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
