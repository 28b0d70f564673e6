"""Late interaction: compares the tokens of a question with those of the best candidates."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from djinn_memory.chunking.chunks import prefix, window_text
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.errors import DjinnError
from djinn_memory.models import LegScore, Problem, Vectors
from djinn_memory.search.candidate import TOKENS, Candidate
from djinn_memory.search.stages.planes import front
from djinn_memory.search.state import Search
from djinn_memory.store.index.words import forms

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder
    from djinn_memory.search.backend import Vocabulary

QUESTION = range(6, 26)
"""Numbers of tokens in questions for which this helps. A shorter question is like a title, which
the legs match better. In a longer question the effect is lost."""

READ = 40
"""Candidates that are read. With 20, a third of the gain on conversations is lost; 60 add
nothing."""

CHARACTERS = 8_000
"""Maximum characters of windows without stored tokens. Embedding more would take over 0.1 s."""

SHORT = 200
"""Characters of a short window, such as a turn of a conversation. Short windows gain most."""

LEAST, MOST = 0.4, 1.0
"""The weight for windows of two and a half times that length or more, and for `SHORT` windows. On
turns of conversations recall@10 increases by .046 with `LEAST` and by .062 with `MOST`. Long
windows gain with `LEAST` on four of five collections, and lose .0005 on the fifth; with .8 they
lose .005 there."""

LEVEL = 0.3
"""MaxSim of a candidate that does not answer. Higher values raise a score, lower values reduce
it."""


def interact(search: Search) -> None:
    """Add to the scores of the best candidates how well their tokens match the question's tokens.

    This is MaxSim of Khattab and Zaharia (ColBERT, 2020): for each token of the question, the best
    cosine with a token of the window. The result is the mean over the question's tokens, weighted
    by the rarity of each token's word in the searched vaults.

    Nothing is changed without a model, when the question is too short or too long, when the model
    returns no token vectors, or when too many windows have no stored tokens.
    """
    question = search.query.text
    embedder = next((leg.embedder for leg in search.answering if leg.embedder), None)
    if embedder is None or len(token_starts(question)) not in QUESTION:
        return
    read = front(search, READ)
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
    by_chunk = dict(zip((candidate.chunk_id for candidate in read), similar, strict=True))
    search.candidates = _with_tokens(search.candidates, by_chunk, weight(lengths.values()))


def weight(lengths: Collection[int]) -> float:
    """The weight of MaxSim relative to the legs, by the lengths of the windows in characters."""
    return max(LEAST, min(MOST, SHORT * len(lengths) / max(1, sum(lengths))))


def _embedded(
    search: Search, candidates: Sequence[Candidate], embedder: Embedder
) -> dict[int, bytes]:
    _, signs = embedder.embed_documents(window_texts(search, candidates))
    chunks = [candidate.chunk_id for candidate in candidates]
    return dict(zip(chunks, signs, strict=True))


def rarity(vocabulary: Vocabulary, text: str, spans: Sequence[tuple[int, int]]) -> list[float]:
    """The rarity of each token: BM25's idf of its word, or 0 outside of words."""
    rare: dict[int, float] = {}
    for word in re.finditer(r"\w+", text):
        split = vocabulary.split(word[0])
        spellings = (form for part in split for form in forms(part, vocabulary.languages))
        rare |= dict.fromkeys(range(*word.span()), vocabulary.rarity(spellings))
    return [rare.get(start, 0.0) for start, _ in spans]


def maxsim(question: Vectors, weights: Sequence[float], texts: Sequence[bytes]) -> list[float]:
    """For each text, the weighted mean, over the question's tokens, of the best cosine.

    `question` contains unit vectors. A text is the signs of its tokens. A cosine with signs alone
    is on average sqrt(2 / pi) of the cosine with the vector itself (Charikar, 2002); the result is
    corrected for this.
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
    candidates: Sequence[Candidate], similar: Mapping[int, float], weight: float
) -> list[Candidate]:
    """The candidates with the MaxSim of those that were read, given by chunk."""
    order = sorted(similar, key=lambda chunk: -similar[chunk])
    ranks = {chunk: rank for rank, chunk in enumerate(order, 1)}
    # The legs count less beside it, so that a full match of both is 1.
    share = 1 / (1 + weight * (1 - LEVEL))
    result = []
    for candidate in candidates:
        said, added = dict(candidate.verdicts), 0.0
        chunk = candidate.chunk_id
        if chunk in similar:
            added = share * weight * (similar[chunk] - LEVEL)
            said[TOKENS.name] = LegScore(similar[chunk], ranks[chunk], added)
        read = candidate.weighted(share, added, said, candidate.before)
        read.score = max(0.0, read.score)
        result.append(read)
    # Stable, so equal scores keep the order of before.
    return sorted(result, key=lambda candidate: -candidate.score)


def window_texts(search: Search, candidates: Sequence[Candidate]) -> list[str]:
    """The embedded text of each candidate's best window, or the whole text if it has no window."""
    chunks = search.index.chunks([candidate.chunk_id for candidate in candidates])
    memories = search.memories_of(candidates)
    texts = []
    for candidate in candidates:
        chunk, memory = chunks[candidate.chunk_id], memories[candidate.memory_id]
        line = prefix(
            memory.title, chunk.headings, memory.date if memory.dated else None, memory.type
        )
        texts.append(window_text(line, chunk.text[slice(*(candidate.window or (None, None)))]))
    return texts
