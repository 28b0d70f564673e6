"""The text around a mention, compared with statements about the entities that it may mean."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property
from itertools import islice

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.languages.days import DayWindow
from djinn_memory.memories.entities.detail import Relation, description, read_note, relations_of
from djinn_memory.memories.entities.matching import NamedCandidate
from djinn_memory.memories.entities.mentions import MentioningLine, chosen_lines, first_line
from djinn_memory.memories.entities.names import names_of
from djinn_memory.memories.entities.properties import timelines
from djinn_memory.memories.entities.requests import ResolveMention
from djinn_memory.models import Problem, Vectors
from djinn_memory.notes.dates import local_day, moment
from djinn_memory.notes.markdown import plain
from djinn_memory.notes.periods import first_day, last_day
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.search.legs.words_query import content, phrase_words
from djinn_memory.search.time.question import dates_in_question
from djinn_memory.store.index.records import ChunkRef, IndexedChunk, MemoryNames, WordMatch

SENTENCES = 12
"""Maximum number of sentences of a note that count."""

MENTIONS = 16
"""Maximum number of lines with mentions that count."""

LINKS = 50
"""Maximum number of links that are read."""

LONGEST = 300
"""Maximum characters of a sentence."""

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_BREAK = re.compile(r"(?:> ?)?(?:[ \t]*$|[ \t]*(?:[-*+|#]|\d+[.)]) )")
"""A line that begins another paragraph or list entry."""
_LINKS = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]\n]+)\]\]")

MEANING = 44.0
"""The weight of a cosine. Measured with `benchmarks/entities.py`, like the values below."""

SECOND = 0.1
"""The share of the second-best sentence of a candidate."""

WORDS = 0.7
"""The weight of a word of the context that only one candidate's evidence has."""

RELATED = 4.0
"""The weight of a related entity that the context names."""

NOTHING = 0.25
"""How much nearer a sentence must be to those of `NEUTRAL` than to statements about a candidate, to
be as likely to tell nothing."""

FLOOR = 0.05
"""The cosine up to which a sentence tells nothing of a candidate."""

GENERAL = 0.15
"""How much of the cosine of a candidate's sentence with those of `NEUTRAL` is taken off: a general
sentence is near to everything."""

BRIEF = 0.2
"""How much nearer a sentence of one content word must be to the statements about a candidate. Two
words need a quarter of it, three a ninth."""

MANY = 0.02
"""The deduction, times the logarithm of the number of a candidate's sentences. More sentences are
nearer by chance."""

NEUTRAL = (
    "She rang me yesterday.", "He sent me an email.", "Let us meet again soon.",
    "I do not know more about it.", "Please remind me next week.", "They said hello.",
    "We spoke on the phone.", "I have to answer her letter.", "Somebody asked about him.",
    "The name came up again.", "I heard nothing new.", "We will see each other later.",
    "He was there too.", "She wants to know more.", "I forgot what it was about.",
    "It was nice to see them.", "Ask me again another day.", "He is on the list.",
    "We have not decided anything yet.", "I am waiting for a reply.",
    "Someone agreed.", "Someone wrote to me.", "Tell someone about it.", "That was a good idea.",
    "I had dinner with someone.", "It is not important.", "The weather is cold today.",
    "We were late.", "I am tired.", "See you on Monday.", "Thank you for everything.",
    "That is everything at the moment.", "Someone phoned at noon.", "There is a note from someone.",
)  # fmt: skip
"""Sentences that tell nothing about the person who is meant."""

SOMEONE = "someone"
"""Stands for the names of the candidates, which all of them have in common."""

_MOST = 8
"""Maximum number of sentences of a context that count."""

_NEUTRAL: dict[str, Vectors] = {}
"""The vectors of `NEUTRAL`, by the identity of the model."""


class _Evidence(Struct, frozen=True):
    """The statements about an entity that a context is compared with."""

    sentences: tuple[str, ...]
    """Its kind, its properties and relations, its text, and lines that mention it."""
    relations: tuple[Relation, ...]
    """Its relations to other entities, also those that have ended."""


def _gain(cosines: Vectors, general: Vectors, levels: Vectors) -> float:
    """How much the sentences of a context tell for a candidate, in logarithms of odds.

    `cosines` has a row for each sentence of the context and a column for each sentence that is
    known of the candidate. `general` has for each column how near it is to sentences that tell
    nothing, and `levels` for each row the cosine below which it tells nothing. A sentence of the
    context is either about the candidate or tells nothing, whichever is likelier.
    """
    import numpy as np

    level = MEANING * levels
    count = cosines.shape[1]
    if not count:
        return float(np.logaddexp(0.0, level).sum())
    ranked = np.sort(cosines - GENERAL * np.maximum(general, 0.0), axis=1)
    best = ranked[:, -1]
    if count > 1:
        best = (1 - SECOND) * best + SECOND * ranked[:, -2]
    known = MEANING * (best - MANY * math.log(count))
    return float(np.logaddexp(known, level).sum())


class MentionContext:
    """The text around a mention, and the candidates."""

    def __init__(
        self,
        runtime: Runtime,
        index: Index,
        request: ResolveMention,
        fitting: Sequence[NamedCandidate],
        entities: Sequence[MemoryNames],
    ) -> None:
        self._runtime = runtime
        self._index = index
        self._text = request.context
        self._mention = request.mention
        self._fitting = fitting
        self._entities = entities
        self._judged: dict[str, bool] = {}
        vocabulary = index.words
        self._names = {
            word
            for each in fitting
            for name in (*names_of(each.entity), request.mention)
            for word in vocabulary.split(name)
        }
        counts = Counter(
            " ".join(vocabulary.split(name))
            for each in fitting
            for name in dict.fromkeys(map(fold, names_of(each.entity)))
        )
        self._shared = {name for name, count in counts.items() if count > 1}
        self._shared.add(" ".join(vocabulary.split(request.mention)))
        """Names that may mean another entity. They do not count."""
        self._stems = frozenset(vocabulary.stemmed(" ".join(sorted(self._names))))
        self._words = vocabulary.split(self._text)
        self._wanted = self._content(self._text)

    def compare(self, problems: list[Problem]) -> tuple[list[float], list[str | None]]:
        """The gain of each candidate, in logarithms of odds, and the sentence that fits it best."""
        vector = self._embedded(problems, [self._text])
        self._vector = None if vector is None else vector[0]
        known = [self._known(each.entity) for each in self._fitting]
        gains, reasons = self._by_meaning(known, problems)
        words = self._by_words([each.sentences for each in known])
        related = [max(map(self._named, each.relations), default=0.0) for each in known]
        total = [
            gain + WORDS * shared + RELATED * relation
            for gain, shared, relation in zip(gains, words, related, strict=True)
        ]
        return total, reasons

    def _known(self, entity: MemoryNames) -> _Evidence:
        """The statements about an entity."""
        # Of two people the kind tells nothing.
        sentences: list[str] = [entity.type] if entity.type and entity.type != "person" else []
        relations: list[Relation] = []
        index, now = self._index, moment(self._runtime.now())
        vaults = {vault.name: vault for vault in index.vaults}
        with suppress(OSError, DjinnError):
            note = read_note(vaults[entity.vault], entity.path)
            for key, values in timelines(note).items():
                for value in (values.current, *values.history[:2]):
                    shown = _LINKS.sub(r"\1", value.value)
                    sentences.append(f"{key}: {shown}"[:LONGEST])
            sentences += islice(_sentences(description(note)), SENTENCES)
            known = {each.memory_id for each in self._entities}
            relations = relations_of(index, entity, now, among=known)
        sentences += [
            f"{each.relation} {each.name}" for each in relations if each.direction == "from"
        ]
        sentences += self._mentions(entity)
        return _Evidence(tuple(dict.fromkeys(filter(None, sentences))), tuple(relations))

    def _mentions(self, entity: MemoryNames) -> Iterator[str]:
        """The sentences around the mentions of an entity that mean no other."""
        listed = chosen_lines(
            self._index,
            entity,
            self._entities,
            without=self._shared,
            best=self._best,
            most_links=LINKS,
        )
        sure = [each for each in listed if each.linked or not self._shared.issuperset(each.names)]
        chunks = self._index.chunks({each.chunk_id for each in sure})
        for each in sure[: 2 * MENTIONS]:
            if each.chunk_id in chunks:
                yield from islice(_around(chunks[each.chunk_id], each), 4)

    def _best(self, refs: Sequence[ChunkRef]) -> Sequence[ChunkRef]:
        """The chunks that are nearest to the context, by meaning and by words."""
        if len(refs) <= MENTIONS:
            return refs
        ids = [ref.chunk_id for ref in refs]
        chosen: set[int] = set()
        if self._vector is not None:
            near = self._index.vectors.measure(self._vector, ids)
            chosen |= {*sorted(near, key=lambda each: (-near[each].cosine, each))[: MENTIONS // 2]}
        if self._wanted:
            terms = tuple(((stem,),) for stem in sorted(self._wanted))
            near_words = self._index.words.score(WordMatch(terms), ids)
            best = sorted(near_words, key=lambda each: (-near_words[each], each))
            chosen |= {*best[: MENTIONS // 2]}
        chosen |= {*ids[-(MENTIONS - len(chosen)) :]} if len(chosen) < MENTIONS else set()
        return [ref for ref in refs if ref.chunk_id in chosen]

    def _by_words(self, known: Sequence[Sequence[str]]) -> list[float]:
        """The words of the context, weighted by how few candidates have them."""
        held = [frozenset().union(*map(self._content, sentences)) for sentences in known]
        total = len(known)
        result = []
        for each in held:
            gain = 0.0
            for stem in self._wanted & each:
                count = sum(stem in other for other in held)
                gain += 1 - (count - 1) / max(1, total - 1)
            result.append(min(gain, 3.0))
        return result

    def _content(self, text: str) -> frozenset[str]:
        return content(self._index.words, text) - self._stems

    @cached_property
    def _windows(self) -> tuple[DayWindow, ...]:
        dates = dates_in_question(self._text, self._runtime.now().date())
        return dates.windows if dates else ()

    def _named(self, relation: Relation) -> float:
        """Whether the context names the other entity, and a time at which the relation held."""
        words = phrase_words(self._index.words, relation.name)
        if not words or all(word in self._names for word in words):
            return 0.0
        starts = range(len(self._words) - len(words) + 1)
        if not any(self._words[at : at + len(words)] == words for at in starts):
            return 0.0
        if not self._windows:
            return 1.0 if relation.current else 0.8
        start, end = relation.valid_from, relation.valid_to
        held = DayWindow(
            _date(first_day(local_day(start))) if start else None,
            _date(last_day(local_day(end))) if end else None,
        )
        return float(any(held.meets(window) for window in self._windows))

    def _by_meaning(
        self, known: Sequence[_Evidence], problems: list[Problem]
    ) -> tuple[list[float], list[str | None]]:
        texts = list(dict.fromkeys(text for each in known for text in each.sentences))
        parts = self._parts()
        bare = [self._without_names(text) for text in (*parts, *texts)]
        vectors = self._embedded(problems, bare) if texts and parts else None
        none: list[str | None] = [None] * len(known)
        neutral = self._neutral(problems) if vectors is not None else None
        if vectors is None or neutral is None:
            return [0.0] * len(known), none
        rows, columns = vectors[: len(parts)], vectors[len(parts) :]
        cosines, levels = rows @ columns.T, self._levels(parts, _nearest(rows @ neutral.T))
        general = _nearest(columns @ neutral.T)
        at = {text: number for number, text in enumerate(texts)}
        gains, reasons = [], []
        for each in known:
            own = [at[text] for text in each.sentences]
            gains.append(_gain(cosines[:, own], general[own], levels))
            best = max(own, key=lambda number: float(cosines[:, number].max()), default=None)
            reasons.append(None if best is None else texts[best])
        return gains, reasons

    def _levels(self, parts: Sequence[str], neutral: Vectors) -> Vectors:
        """The cosine of each sentence of the context below which it tells nothing."""
        import numpy as np

        counts = [len(self._content(part.replace(SOMEONE, " "))) for part in parts]
        brief = BRIEF / np.maximum(np.array(counts), 1) ** 2
        levels: Vectors = np.maximum(neutral - NOTHING, FLOOR) + brief
        return levels

    def _parts(self) -> list[str]:
        """The sentences of the context, without the mention, which may contain full stops."""
        mention = re.escape(self._mention)
        named = rf"(?<!\w){mention}(?!\w)(?:['’]s\b)?"
        text = re.sub(named, SOMEONE, self._text, flags=re.IGNORECASE)
        sentences = [match[0].strip() for match in _SENTENCE.finditer(text)]
        return [each for each in sentences if any(map(str.isalnum, each))][:_MOST]

    def _neutral(self, problems: list[Problem]) -> Vectors | None:
        embedder = self._runtime.models.embedder
        if embedder is not None and embedder.identity not in _NEUTRAL:
            vectors = self._embedded(problems, NEUTRAL)
            if vectors is None:
                return None
            _NEUTRAL[embedder.identity] = vectors
        return _NEUTRAL[embedder.identity] if embedder is not None else None

    def _embedded(self, problems: list[Problem], texts: Sequence[str]) -> Vectors | None:
        embedder = self._runtime.models.embedder
        if embedder is None or not embedder.ready or problems:
            return None
        try:
            return embedder.embed(texts)
        except DjinnError as error:
            problems.append(Problem("meaning", f"{error.message}; only words were compared"))
            return None

    def _without_names(self, text: str) -> str:
        """A text without the names of the candidates, which all of them have in common."""
        words = [SOMEONE if self._is_name(word) else word for word in text.split()]
        unique = [word for at, word in enumerate(words) if at == 0 or words[at - 1] != word]
        return " ".join(unique)

    def _is_name(self, word: str) -> bool:
        known = self._judged.get(word)
        if known is None:
            words = self._index.words.split(re.sub(r"['’]s\b", "", word))
            known = bool(words) and all(each in self._names for each in words)
            self._judged[word] = known
        return known


def _around(chunk: IndexedChunk, place: MentioningLine) -> Iterator[str]:
    """The sentences of the line that mentions an entity, and of the rest of its paragraph."""
    lines = chunk.text.split("\n")
    number = place.line - first_line(chunk)
    # The title of a note stands above its text.
    lines = lines[max(0, number) :]
    end = next((at for at, line in enumerate(lines) if at and _BREAK.match(line)), len(lines))
    if number < 0:
        end = len(lines)
    return _sentences("\n".join(line.removeprefix("> ") for line in lines[: min(end, 4)]))


def _sentences(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(plain(_LINKS.sub(r"\1", text))):
        sentence = " ".join(match[0].split())
        if any(map(str.isalnum, sentence)):
            yield sentence[:LONGEST]


def _nearest(cosines: Vectors) -> Vectors:
    """The mean of the three best cosines of each row."""
    import numpy as np

    nearest: Vectors = np.sort(cosines, axis=1)[:, -3:].mean(axis=1)
    return nearest


def _date(day: str | None) -> date | None:
    return date.fromisoformat(day) if day else None
