"""Rerank: a model reads the best candidates together with the question."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.models import LegScore, Problem, SearchStep
from djinn_memory.search.candidates import RERANKED, Candidate, Search
from djinn_memory.search.reranker import Reranker, Verdict
from djinn_memory.search.stages.window_texts import window_texts

SHARE = 0.5
"""The weight of the model's verdict relative to the legs' score."""


def rerank(search: Search, reranker: Reranker) -> None:
    """Sort the candidates by a reranker.

    Either all of the best RERANKED are read, or the order does not change. The new score of a hit
    is the mean of its score and the verdict. Candidates that were not read get the lowest verdict,
    so they stay below.
    """
    began = time.monotonic()
    read = search.candidates[:RERANKED]
    try:
        texts = window_texts(search, read)
        verdicts = reranker.judge(search.query.question, texts) if texts else []
    except DjinnError as error:
        search.problems.append(Problem("rerank", f"{error}; the hits were not reranked"))
        what = f"{reranker.name} did not change the order"
    else:
        search.candidates = _blend(search.candidates, verdicts)
        ranked = enumerate(search.candidates[: len(read)], 1)
        moved = sum(candidate.before != rank for rank, candidate in ranked)
        what = f"{reranker.name} read the best {len(read)}, {moved} of them changed rank"
    search.steps.append(SearchStep("rerank", what, (time.monotonic() - began) * 1000))


def _blend(candidates: Sequence[Candidate], verdicts: Sequence[Verdict]) -> list[Candidate]:
    order = sorted(range(len(verdicts)), key=lambda at: (-verdicts[at].likelihood, at))
    places = {at: place for place, at in enumerate(order, 1)}
    lowest = min((verdict.score for verdict in verdicts), default=0.0)
    result = []
    for at, candidate in enumerate(candidates):
        read = at < len(verdicts)
        part = SHARE * (verdicts[at].score if read else lowest)
        said = {
            name: replace(mark, part=(1 - SHARE) * mark.part)
            for name, mark in candidate.verdicts.items()
        }
        if read:
            said["rerank"] = LegScore(verdicts[at].likelihood, places[at], part)
        result.append(
            replace(
                candidate,
                score=(1 - SHARE) * candidate.score + part,
                share=(1 - SHARE) * candidate.share,
                verdicts=said,
                feedback=(1 - SHARE) * candidate.feedback,
                before=at + 1,
            )
        )
    # Stable, so equal scores keep the order of before.
    return sorted(result, key=lambda candidate: -candidate.score)
