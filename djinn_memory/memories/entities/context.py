"""The text around a mention, compared with statements about the entities that it may mean."""

from __future__ import annotations

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
_MARKED = re.compile("\x02[^\x02\x03]*\x03")
_MARKS = str.maketrans({"\x02": None, "\x03": None})
"""Stand around the target of a link."""

STATEMENTS = 6
"""Number of statements about an entity that are compared as one text."""

TELLING = 3
"""Minimum content words of the sentences with the mention if those around them do not count."""

MEANING = 30.0
"""The weight of a cosine. Measured with `benchmarks/entities.py tune`, like the values below: at
20 and 45 .01 to .02 fewer mentions are right if 3 % are wrong."""

NOTHING = 0.5
"""The nearness to the sentences of `NEUTRAL` at which a sentence is as likely to tell nothing. Of
200 mentions at .4, .45 and .5, 1, 3 and 3 are wrong; of the decidable .43, .51 and .54 right."""

STEEP = 12.0
"""How quickly that chance grows, in logarithms of odds."""

BRIEF = 0.3
"""How much nearer to them a sentence of one content word is taken to be. Two words count half."""

ALIKE = 0.5
"""The cosine from which the statements about two candidates may say the same. From there to 1, a
growing share of what a context tells for one is told for both."""

WORDS = 0.9
"""The weight of a word of the context that only one candidate's evidence has. Two such words
suffice without a model."""

RELATED = 4.0
"""The weight of a related entity that the context names."""

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

_VECTORS: dict[tuple[str, str], Vectors] = {}
"""The vectors of sentences, by the identity of the model and the text."""

_KEPT = 4_000
"""Maximum number of them, which take 6 MB."""


class _Evidence(Struct, frozen=True):
    """The statements about an entity that a context is compared with."""

    sentences: tuple[str, ...]
    """Its kind, its properties and relations, its text, and lines that mention it."""
    relations: tuple[Relation, ...]
    """Its relations to other entities, also those that have ended."""


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
        sentences: list[str] = []
        relations: list[Relation] = []
        index, now = self._index, moment(self._runtime.now())
        vaults = {vault.name: vault for vault in index.vaults}
        with suppress(OSError, DjinnError):
            note = read_note(vaults[entity.vault], entity.path)
            for key, values in timelines(note).items():
                for value in (values.current, *values.history[:2]):
                    shown = _LINKS.sub(r"\1", value.value)
                    sentences.append(f"{key}: {shown}"[:LONGEST])
            sentences += islice(self._statements(description(note)), SENTENCES)
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
                yield from islice(self._statements(_around(chunks[each.chunk_id], each)), 4)

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

    def _statements(self, text: str) -> Iterator[str]:
        """The sentences of a text, without those that only link, such as `Met through [[Ada]].`"""
        for match in _SENTENCE.finditer(plain(_LINKS.sub("\x02\\1\x03", text))):
            sentence = " ".join(match[0].translate(_MARKS).split())
            rest = _MARKED.sub(" ", match[0])
            links = rest != match[0] and len(self._content(rest)) < 2
            if not links and any(map(str.isalnum, sentence)):
                yield sentence[:LONGEST]

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
        """What the sentences of the context tell for each candidate, in logarithms of odds.

        A sentence tells nothing with the chance of `_empty`. Else it means a candidate the likelier
        the nearer it is to the statements about it than sentences that tell nothing are.
        """
        parts = self._parts()
        texts = [[*map(self._without_names, each.sentences)] for each in known]
        joined = [
            [" ".join(each[at : at + STATEMENTS]) for at in range(0, len(each), STATEMENTS)]
            for each in texts
        ]
        flat = list(dict.fromkeys(text for each in (*texts, *joined) for text in each))
        none: list[str | None] = [None] * len(known)
        vectors = self._embedded(problems, [*parts, *flat]) if flat and parts else None
        neutral = self._embedded(problems, NEUTRAL) if vectors is not None else None
        if vectors is None or neutral is None:
            return [0.0] * len(known), none
        import numpy as np

        rows = vectors[: len(parts)]
        at = {text: vectors[number] for number, text in enumerate(flat, len(parts))}
        cosines, means = [], []
        for each in joined:
            columns = np.array([at[text] for text in each]) if each else np.zeros((1, len(rows[0])))
            cosines.append(
                (columns @ rows.T - (columns @ neutral.T).mean(axis=1)[:, None]).max(axis=0)
            )
            means.append(columns[0])
        told = np.exp(MEANING * (np.array(cosines) - np.max(cosines, axis=0)))
        empty = self._empty(parts, _nearest(rows @ neutral.T))
        chances = (1 - empty) * told / told.sum(axis=0) + empty / len(known)
        gains = np.prod(chances, axis=1)
        alike = np.clip((np.array(means) @ np.array(means).T - ALIKE) / (1 - ALIKE), 0.0, 1.0)
        np.fill_diagonal(alike, 1.0)
        gains = alike @ (gains / alike.sum(axis=0))
        reasons = [
            max(
                zip(each.sentences, bare, strict=True),
                key=lambda pair: float((rows @ at[pair[1]]).max()),
                default=(None, None),
            )[0]
            for each, bare in zip(known, texts, strict=True)
        ]
        return [float(gain) for gain in np.log(gains)], reasons

    def _empty(self, parts: Sequence[str], neutral: Vectors) -> Vectors:
        """The chance of each sentence of the context that it tells nothing."""
        import numpy as np

        brief = [BRIEF / max(1, len(self._content(part))) for part in parts]
        chances: Vectors = 1 / (1 + np.exp(STEEP * (NOTHING - neutral - np.array(brief))))
        return chances

    def _parts(self) -> list[str]:
        """The sentences with the mention, without it; if they tell little, all sentences."""
        mention = re.escape(self._mention)
        named = rf"(?<!\w){mention}(?!\w)(?:['’]s\b)?"
        # A mention may contain full stops.
        text = re.sub(named, "\x02", self._text, flags=re.IGNORECASE)
        sentences = [match[0] for match in _SENTENCE.finditer(text)]
        own = [each for each in sentences if "\x02" in each]
        chosen = own if len(self._content(" ".join(own))) >= TELLING else sentences
        listed = (
            " ".join(self._without_names(each.replace("\x02", " ")).split()) for each in chosen
        )
        return [each for each in listed if any(map(str.isalnum, each))][:_MOST]

    def _embedded(self, problems: list[Problem], texts: Sequence[str]) -> Vectors | None:
        import numpy as np

        embedder = self._runtime.models.embedder
        if embedder is None or not embedder.ready or problems:
            return None
        model = embedder.identity
        # Another thread may clear the vectors meanwhile.
        held = {text: _VECTORS.get((model, text)) for text in texts}
        missing = [text for text, vector in held.items() if vector is None]
        try:
            fresh = dict(zip(missing, embedder.embed(missing), strict=True)) if missing else {}
        except DjinnError as error:
            problems.append(Problem("meaning", f"{error.message}; only words were compared"))
            return None
        if len(_VECTORS) + len(fresh) > _KEPT:
            _VECTORS.clear()
        _VECTORS.update({(model, text): vector for text, vector in fresh.items()})
        held.update(fresh)
        rows: Vectors = np.array([held[text] for text in texts])
        return rows

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


def _around(chunk: IndexedChunk, place: MentioningLine) -> str:
    """The text of the line that mentions an entity, and of the rest of its paragraph."""
    lines = chunk.text.split("\n")
    number = place.line - first_line(chunk)
    # The title of a note stands above its text.
    lines = lines[max(0, number) :]
    end = next((at for at, line in enumerate(lines) if at and _BREAK.match(line)), len(lines))
    if number < 0:
        end = len(lines)
    return "\n".join(line.removeprefix("> ") for line in lines[: min(end, 4)])


def _nearest(cosines: Vectors) -> Vectors:
    """The mean of the three best cosines of each row."""
    import numpy as np

    nearest: Vectors = np.sort(cosines, axis=1)[:, -3:].mean(axis=1)
    return nearest


def _date(day: str | None) -> date | None:
    return date.fromisoformat(day) if day else None
