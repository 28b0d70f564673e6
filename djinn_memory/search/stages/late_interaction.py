"""Late interaction: the tokens of a question meet the tokens of the best candidates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_starts
from djinn_memory.errors import DjinnError
from djinn_memory.models import LegScore, Problem
from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.store.index.words import forms

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder, TokenVectors
    from djinn_memory.search.backend import Vocabulary

QUESTION = range(6, 26)
"""Tokens of a question that gains: fewer are a title, which the legs know better, and more blur."""

READ = 40
"""Candidates that are read: with 20, a third of the gain on conversations is lost; 60 add none."""

CHARACTERS = 8_000
"""Characters of all windows that are read: more would cost a search over 0.1 s. Short memories,
such as the turns of a conversation, gain most, and `READ` of them stay below it."""

WEIGHT = 1.0
"""What it counts: between .8 and 1.2, recall@10 on turns of conversations rises by .06."""

LEVEL = 0.3
"""MaxSim of a candidate that does not answer: what has more rises, and what has less falls."""

SHARE = 1 / (1 + WEIGHT * (1 - LEVEL))
"""What the legs' score counts beside it, so that a full match of both is 1."""


def interact(search: Search, embedder: Embedder) -> None:
    """Add to the scores of the best candidates how well their tokens answer the question's.

    MaxSim of Khattab and Zaharia (ColBERT, 2020): for each token of the question the best cosine
    among a window's tokens; here the mean, weighted by how rare each token's word is in the vaults
    that are searched. Nothing is done where the question or the windows are too long, or where the
    model gives no vectors of tokens.
    """
    read = search.candidates[:READ]
    question = search.query.text
    spans = [candidate.window or (0, 0) for candidate in read]
    if sum(stop - start for start, stop in spans) > CHARACTERS:
        return
    if len(token_starts(question)) not in QUESTION:
        return
    from djinn_memory.search.stages.window_texts import window_texts

    try:
        asked = embedder.tokens([question])
        if asked is None:
            return
        texts = embedder.tokens(window_texts(search, read)) or []
    except DjinnError as error:
        search.problems.append(Problem("embedding", f"{error}; the order is that without tokens"))
        return
    weights = rarity(search.index.words, question, asked[0].spans)
    similar = [maxsim(asked[0], weights, text) for text in texts]
    search.candidates = _with_tokens(search.candidates, similar)


def rarity(vocabulary: Vocabulary, text: str, spans: Sequence[tuple[int, int]]) -> list[float]:
    """By token: BM25's idf of the word that it is part of; 0 outside of words."""
    rare: dict[int, float] = {}
    for word in re.finditer(r"\w+", text):
        split = vocabulary.split(word[0])
        spellings = (form for part in split for form in forms(part, vocabulary.languages))
        rare |= dict.fromkeys(range(*word.span()), vocabulary.rarity(spellings))
    return [rare.get(start, 0.0) for start, _ in spans]


def maxsim(question: TokenVectors, weights: Sequence[float], text: TokenVectors) -> float:
    """The weighted mean, over the question's tokens, of the best cosine among the text's."""
    if not (len(text.vectors) and any(weights)):
        return 0.0
    best = (question.vectors @ text.vectors.T).max(axis=1)
    return float(best @ weights / sum(weights))


def _with_tokens(candidates: Sequence[Candidate], similar: Sequence[float]) -> list[Candidate]:
    order = sorted(range(len(similar)), key=lambda at: -similar[at])
    ranks: Mapping[int, int] = {at: rank for rank, at in enumerate(order, 1)}
    result = []
    for at, candidate in enumerate(candidates):
        said, added = dict(candidate.verdicts), 0.0
        if at < len(similar):
            added = SHARE * WEIGHT * (similar[at] - LEVEL)
            said["tokens"] = LegScore(similar[at], ranks[at], added)
        result.append(
            replace(
                candidate,
                score=max(0.0, SHARE * candidate.score + added),
                share=SHARE * candidate.share,
                feedback=SHARE * candidate.feedback,
                verdicts=said,
            )
        )
    # Stable, so equal scores keep the order of before.
    return sorted(result, key=lambda candidate: -candidate.score)
