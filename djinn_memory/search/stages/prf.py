"""Pseudo-relevance feedback: what the best notes speak of is asked for too, without a model."""

from __future__ import annotations

import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

import apsw
from msgspec.structs import replace

from djinn_memory.models import Mode, SearchStep
from djinn_memory.search.legs import words as words_leg
from djinn_memory.search.legs.words import WordsQuery
from djinn_memory.search.pipeline import Candidate, Widen
from djinn_memory.store.index import words
from djinn_memory.store.sqlite import rows
from djinn_memory.system.plural import count

NOTES = 10
"""Notes that are taken for answers; with 8 the gain of hybrid on CACM is gone."""

TERMS = 20
"""Terms that are added, which bounds the time it takes; with 15 that gain is gone too."""

AGREEING = 2
"""Notes of these that must hold a term: what stands in one alone is that note's own matter."""

COMMON = 0.1
"""A term of more than this share of all chunks tells none apart."""

_READ = 5_000
"""Characters of a chunk that are looked at; only one without spaces is longer."""


def widening(mode: Mode, steps: list[SearchStep]) -> Widen | None:
    """What `pipeline.rank` calls between its passes; it tells `steps` what it did.

    None where the words leg is not asked. A question that is widened by parts of its own is left
    alone: whoever wrote them knows better what is meant.
    """
    if mode == "meaning":
        steps.append(
            SearchStep("expand", "prf adds words, which meaning alone does not ask for", 0.0)
        )
        return None

    def widen(
        connection: apsw.Connection, asked: WordsQuery | None, candidates: Sequence[Candidate]
    ) -> WordsQuery | None:
        began = time.perf_counter()
        wider = None
        if asked is None:
            what = "the question has no words to add to"
        elif asked.added:
            what = "the query brings its own words, so none were added"
        else:
            notes = _best_of_notes(candidates)
            found = terms(connection, asked.stems, notes)
            # Each a text by itself: neighbours in the list are no neighbours in a text.
            added = words_leg.compose(connection, found) if found else None
            wider = replace(asked, added=added) if added else None
            shown = ", ".join(found) if added else "nothing"
            what = f"added {shown} from the best {count(len(notes), 'note')}"
        steps.append(SearchStep("expand", what, (time.perf_counter() - began) * 1000))
        return wider

    return widen


def terms(
    connection: apsw.Connection, known: frozenset[str], feedback: Sequence[Candidate]
) -> list[str]:
    """The words that mark the chunks of `feedback`, best first; none has a stem of `known`.

    As the relevance model of Lavrenko and Croft (2001) has it, a term is worth the mean of its
    shares of the chunks, each counting as much as it answers; times BM25's idf over all chunks.
    RM3 (Abdul-Jaleel et al. 2004) mixes the best with the question, here by
    `words_leg.ADDED_SHARE`. A term is given in the form that the chunks use most.
    """
    total = connection.execute("select count(*) from chunk").get or 1
    held = words.languages(connection)
    texts = _texts(connection, feedback)
    weights: defaultdict[str, float] = defaultdict(float)
    holding: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for one in feedback:
        counts = _counts(connection, texts[one.chunk_id], held)
        length = sum(sum(spellings.values()) for spellings in counts.values())
        for stem, spellings in counts.items():
            weights[stem] += max(one.score, 0.0) * sum(spellings.values()) / length
            holding[stem] += 1
            forms.setdefault(stem, Counter()).update(spellings)
    worth: dict[str, float] = {}
    for stem, weight in weights.items():
        if holding[stem] >= AGREEING and stem not in known:
            frequency = words.frequency(connection, stem)
            if 0 < frequency <= COMMON * total:
                worth[stem] = weight * math.log((total - frequency + 0.5) / (frequency + 0.5))
    best = sorted(worth, key=lambda stem: (-worth[stem], stem))[:TERMS]
    return [forms[stem].most_common(1)[0][0] for stem in best]


def _counts(connection: apsw.Connection, text: str, held: Sequence[str]) -> dict[str, Counter[str]]:
    """By term as the index keeps it: the words of `text` that it stands for, and how often."""
    spoken: list[str] = []
    dropped = words_leg.stop_words()
    if held:
        from djinn_memory.languages import detection

        language = detection.detect(text, held)
        if language not in (None, detection.ENGLISH):
            spoken = [language]
            dropped |= detection.stop_words(language)
    found: dict[str, Counter[str]] = {}
    for word, times in Counter(words.split(connection, text)).items():
        if len(word) > 1 and word not in dropped and not word.isnumeric():
            for stem in words.stems(connection, word, spoken)[-1:]:
                found.setdefault(stem, Counter())[word] = times
    return found


def _best_of_notes(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best chunk of each of the best notes."""
    chosen: dict[int, Candidate] = {}
    for one in candidates:
        if len(chosen) == NOTES:
            break
        chosen.setdefault(one.note_id, one)
    return list(chosen.values())


def _texts(connection: apsw.Connection, feedback: Sequence[Candidate]) -> dict[int, str]:
    found = rows(
        connection,
        "select chunk.id, title || ' ' || text from chunk join memory on memory.id = memory_id "
        "where chunk.id in (select value from json_each(?))",
        (json.dumps([one.chunk_id for one in feedback]),),
    )
    return {chunk: text[:_READ] for chunk, text in found}
