"""Pseudo-relevance feedback: adds words from the best notes to a query, without a model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from djinn_memory.languages.stop_words import stop_words
from djinn_memory.search.backend import Index, Vocabulary
from djinn_memory.search.candidates import Candidate
from djinn_memory.store.index.words import idf

NOTES = 10
"""Number of notes that are assumed to answer. With 8, hybrid search loses its gain on CACM."""

TERMS = 20
"""Maximum number of added terms, which limits the time. With 15, that gain is lost too."""

AGREEING = 2
"""Minimum number of these notes that must contain a term. A term in a single note is specific to
it."""

COMMON = 0.1
"""Maximum share of all chunks that contain a term. More common terms do not discriminate."""

_READ = 5_000
"""Maximum characters of a chunk that are examined. Only a chunk without spaces is longer."""


def best_of_memories(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best chunk of each of the best memories."""
    chosen: dict[int, Candidate] = {}
    for candidate in candidates:
        if len(chosen) == NOTES:
            break
        chosen.setdefault(candidate.memory_id, candidate)
    return list(chosen.values())


def terms(index: Index, known: frozenset[str], feedback: Sequence[Candidate]) -> list[str]:
    """The words that distinguish the chunks of `feedback`, best first, without stems in `known`.

    As in the relevance model of Lavrenko and Croft (2001), the weight of a term is the mean of its
    shares of the chunks, weighted by the chunks' scores, and multiplied by BM25's idf over all
    chunks. RM3 (Abdul-Jaleel et al. 2004) mixes the best terms with the question, here by
    `legs.words_query.ADDED_SHARE`. A term is returned in the form that the chunks use most.
    """
    vocabulary = index.words
    total = vocabulary.total or 1
    texts = _texts(index, feedback)
    weights: defaultdict[str, float] = defaultdict(float)
    holding: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for candidate in feedback:
        counts = _counts(vocabulary, texts[candidate.chunk_id])
        length = sum(sum(spellings.values()) for spellings in counts.values())
        for stem, spellings in counts.items():
            weights[stem] += max(candidate.score, 0.0) * sum(spellings.values()) / length
            holding[stem] += 1
            forms.setdefault(stem, Counter()).update(spellings)
    worth: dict[str, float] = {}
    for stem, weight in weights.items():
        if holding[stem] >= AGREEING and stem not in known:
            frequency = vocabulary.frequency(stem)
            if 0 < frequency <= COMMON * total:
                worth[stem] = weight * idf(total, frequency)
    best = sorted(worth, key=lambda stem: (-worth[stem], stem))[:TERMS]
    return [forms[stem].most_common(1)[0][0] for stem in best]


def _counts(vocabulary: Vocabulary, text: str) -> dict[str, Counter[str]]:
    """For each index term in `text`: its words in the text, with their counts."""
    spoken: list[str] = []
    dropped = stop_words()
    if vocabulary.languages:
        from djinn_memory.languages import detection

        language = detection.detect(text, vocabulary.languages)
        if language not in (None, detection.ENGLISH):
            spoken = [language]
            dropped |= detection.stop_words(language)
    counts: dict[str, Counter[str]] = {}
    for word, times in Counter(vocabulary.split(text)).items():
        if len(word) > 1 and word not in dropped and not word.isnumeric():
            for stem in vocabulary.stems(word, spoken)[-1:]:
                counts.setdefault(stem, Counter())[word] = times
    return counts


def _texts(index: Index, feedback: Sequence[Candidate]) -> dict[int, str]:
    """The title of the memory and the start of the text, by chunk."""
    chunks = index.chunks([candidate.chunk_id for candidate in feedback])
    memories = index.lookup({candidate.memory_id for candidate in feedback}, fields=())
    return {
        key: f"{memories[chunk.memory_id].title} {chunk.text}"[:_READ]
        for key, chunk in chunks.items()
    }
