"""Late interaction: the tokens of a question meet the tokens of the best candidates."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_starts
from djinn_memory.errors import DjinnError
from djinn_memory.models import LegScore, Problem
from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.store.index.words import forms

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder
    from djinn_memory.models import Vectors
    from djinn_memory.search.backend import Vocabulary

QUESTION = range(6, 26)
"""Tokens of a question that gains: fewer are a title, which the legs know better, and more blur."""

READ = 40
"""Candidates that are read: with 20, a third of the gain on conversations is lost; 60 add none."""

CHARACTERS = 8_000
"""Characters of windows without known tokens that are embedded: more would take over 0.1 s."""

SHORT = 200
"""Characters of a window that says as little as a turn of a conversation: it gains most."""

LEAST, MOST = 0.4, 1.0
"""What it counts for windows of two and a half times that length or more, and for `SHORT` ones.

On turns of conversations recall@10 rises by .046 with `LEAST` and by .062 with `MOST`. Long windows
gain with `LEAST` on four sets of five, and lose .0005 on the fifth; with .8 that one loses .005."""

LEVEL = 0.3
"""MaxSim of a candidate that does not answer: what has more rises, and what has less falls."""


def interact(search: Search, embedder: Embedder) -> None:
    """Add to the scores of the best candidates how well their tokens answer the question's.

    MaxSim of Khattab and Zaharia (ColBERT, 2020): for each token of the question the best cosine
    among a window's tokens; here the mean, weighted by how rare each token's word is in the vaults
    that are searched. Nothing is done where the question is too short or too long, where the model
    gives no vectors of tokens, or where too many windows were embedded before tokens were kept.
    """
    question = search.query.text
    if len(token_starts(question)) not in QUESTION:
        return
    read = search.candidates[:READ]
    spans = {candidate.chunk_id: candidate.window or (0, 0) for candidate in read}
    lengths = {chunk: stop - start for chunk, (start, stop) in spans.items()}
    try:
        signs = search.index.vectors.token_signs(
            {chunk: start for chunk, (start, _) in spans.items()}
        )
        unknown = [candidate for candidate in read if candidate.chunk_id not in signs]
        if sum(lengths[candidate.chunk_id] for candidate in unknown) > CHARACTERS:
            return
        asked = embedder.question_tokens(question)
        if asked is None:
            return
        if unknown:
            signs |= _embedded(search, unknown, embedder)
    except DjinnError as error:
        search.problems.append(
            Problem("embedding", f"{error}; the hits were not rescored by tokens")
        )
        return
    similar = maxsim(
        asked.vectors,
        rarity(search.index.words, question, asked.spans),
        [signs[candidate.chunk_id] for candidate in read],
    )
    search.candidates = _with_tokens(search.candidates, similar, weight(lengths.values()))


def weight(lengths: Collection[int]) -> float:
    """What MaxSim counts beside the legs, by the characters of the windows that are read."""
    return max(LEAST, min(MOST, SHORT * len(lengths) / max(1, sum(lengths))))


def _embedded(
    search: Search, candidates: Sequence[Candidate], embedder: Embedder
) -> dict[int, bytes]:
    from djinn_memory.search.stages.window_texts import window_texts

    _, signs = embedder.embed_documents(window_texts(search, candidates))
    chunks = [candidate.chunk_id for candidate in candidates]
    return dict(zip(chunks, signs, strict=True))


def rarity(vocabulary: Vocabulary, text: str, spans: Sequence[tuple[int, int]]) -> list[float]:
    """By token: BM25's idf of the word that it is part of; 0 outside of words."""
    rare: dict[int, float] = {}
    for word in re.finditer(r"\w+", text):
        split = vocabulary.split(word[0])
        spellings = (form for part in split for form in forms(part, vocabulary.languages))
        rare |= dict.fromkeys(range(*word.span()), vocabulary.rarity(spellings))
    return [rare.get(start, 0.0) for start, _ in spans]


def maxsim(question: Vectors, weights: Sequence[float], texts: Sequence[bytes]) -> list[float]:
    """Of each text, the weighted mean, over the question's tokens, of the best cosine.

    `question` are unit vectors; a text is the signs of its tokens. The cosine with signs alone is
    on average sqrt(2 / pi) of the cosine with the vector itself (Charikar, 2002), which is undone.
    """
    import numpy as np

    total, dimensions = sum(weights), question.shape[1]
    bits = np.frombuffer(b"".join(texts), np.uint8).reshape(-1, -(-dimensions // 8))
    held = np.unpackbits(bits, axis=1, count=dimensions).astype(np.float32)
    # With b of 0 and 1 for s of -1 and 1, q . s is 2 q . b - q . 1.
    products = 2 * (question @ held.T) - question.sum(axis=1, keepdims=True)
    cosines = products / (dimensions * 2 / np.pi) ** 0.5
    ends = np.cumsum([len(text) // bits.shape[1] for text in texts]).tolist()
    return [
        float(cosines[:, start:end].max(axis=1) @ weights / total) if end > start and total else 0.0
        for start, end in pairwise([0, *ends])
    ]


def _with_tokens(
    candidates: Sequence[Candidate], similar: Sequence[float], weight: float
) -> list[Candidate]:
    order = sorted(range(len(similar)), key=lambda at: -similar[at])
    ranks: Mapping[int, int] = {at: rank for rank, at in enumerate(order, 1)}
    # The legs count less beside it, so that a full match of both is 1.
    share = 1 / (1 + weight * (1 - LEVEL))
    result = []
    for at, candidate in enumerate(candidates):
        said, added = dict(candidate.verdicts), 0.0
        if at < len(similar):
            added = share * weight * (similar[at] - LEVEL)
            said["tokens"] = LegScore(similar[at], ranks[at], added)
        result.append(
            replace(
                candidate,
                score=max(0.0, share * candidate.score + added),
                share=share * candidate.share,
                feedback=share * candidate.feedback,
                verdicts=said,
            )
        )
    # Stable, so equal scores keep the order of before.
    return sorted(result, key=lambda candidate: -candidate.score)
