"""Rescores by the agent's ratings, by the note's own fields, and by a profile.

It is a stage of the search, so that recall and search share one implementation. Without uses,
ratings or fields, and with a neutral profile, every factor is exactly 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory import scoring
from djinn_memory.errors import DjinnError
from djinn_memory.home.settings import ProfileConfig
from djinn_memory.memories.catalog.catalog import MERGED, LedgerName
from djinn_memory.memories.recall.records import LedgerRecords, records_of
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.scoring import Rating, Score, ScoringConfig, blended, note_factor, score, share_of
from djinn_memory.search.candidate import Candidate, once
from djinn_memory.search.fusion import NOISE
from djinn_memory.search.legs.words_query import content
from djinn_memory.search.stages.gather import gather
from djinn_memory.search.state import Search
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.ledger import reading
from djinn_memory.store.ledger.reading import QuestionRating

COMPARED = 50
"""Number of best memories that are compared with each other: several times the usual result."""

ALIKE = 0.85
"""Minimum cosine of two memories that say nearly the same, on the scale of the packaged model."""

SAME_WORDS = 0.6
"""Minimum share of common words (Jaccard) of such memories, when no model is available."""

_WORD = re.compile(r"\w+")


def _alike_in_meaning(search: Search, candidates: Sequence[Candidate]) -> list[list[bool]]:
    """Compare the windows that answer.

    A memory without one, added by a link or its age, is unlike all.
    """
    import numpy as np

    space = search.index.vectors.space
    known = {
        at: candidate.vector
        for at, candidate in enumerate(candidates)
        if candidate.vector is not None
    }
    alike = np.zeros((len(candidates), len(candidates)), bool)
    if space and known:
        matrix, line = np.stack(list(known.values())), space.calibration
        alike[np.ix_(list(known), list(known))] = (
            line.scale * (matrix @ matrix.T) + line.shift >= ALIKE
        )
    rows: list[list[bool]] = alike.tolist()
    return rows


def _alike_in_words(search: Search, candidates: Sequence[Candidate]) -> list[list[bool]]:
    """Compare the words of the chunks that answer."""
    chunks = search.index.chunks([candidate.chunk_id for candidate in candidates])
    words = [
        frozenset(_WORD.findall(fold(chunks[candidate.chunk_id].text))) for candidate in candidates
    ]
    return [
        [len(mine & other) >= SAME_WORDS * len(mine | other) for other in words] for mine in words
    ]


_FIELDS = ("status", "importance", "confidence", MERGED)
"""Front matter fields that affect the score of a memory."""


class ScoreBreakdown(Struct, frozen=True):
    """The parts of the score of a memory: the raw score and its factors."""

    raw: float
    """The score from the search."""
    multiplier: float
    """The factor of the agent's uses and ratings, as far as they apply to this question."""
    own: float
    """The factor of the note's own importance and confidence."""
    type: float
    """The profile's factor for its type."""
    status: float
    """The profile's factor for the note's status."""
    recency: float
    """The profile's factor for its age."""
    variety: float
    """The factor for memories that repeat a better one: 1/2 after the first of these, then 1/3."""
    score: float
    """The raw score times all factors."""


class Judgement(Struct, frozen=True):
    """The result of rescoring one memory."""

    name: LedgerName
    """The name of the memory in the ledger."""
    record: Score | None
    """The score of its uses and ratings for any question; None if there are none."""
    weight: ScoreBreakdown
    """The new score."""


Judged = tuple[Candidate, Judgement]


class Rescorer:
    """The search stage that turns a search into a recall. `judgements` contains its results.

    It leaves out memories that the profile excludes, and adds memories that the profile requires.
    """

    def __init__(
        self,
        runtime: Runtime,
        profile: ProfileConfig,
        agent: str,
        question: str,
        parameters: ScoringConfig | None = None,
    ) -> None:
        """Without `parameters`, those of the settings hold."""
        self._state = runtime.state
        self._profile = profile
        self._scoring = parameters or runtime.home.config.scoring
        self._agent = agent
        self._question = question
        self._content: dict[str, frozenset[str]] = {}
        self.failure: DjinnError | None = None
        """The reason why the ledger cannot be read. Uses and ratings then do not count."""
        self._now = runtime.now()
        self.asks_for_newest = False
        """Whether the question has only words of the profile. The newest memories are then
        added."""
        self._asks_for_past = False
        self.judgements: dict[str, Judgement] = {}
        """Judgements by the address of the memory."""

    def rescore(self, search: Search) -> list[Candidate]:
        """One candidate of each memory, best first."""
        self._asks_for_past = search.time.past
        candidates = once([*search.candidates, *self._pulled(search)])
        memories = dict(search.memories_of(candidates))
        for memory in self._newest(search):
            if memory.first_chunk is not None:
                memories[memory.memory_id] = memory
                candidates.append(Candidate(memory.first_chunk, memory.memory_id, NOISE))
                self.asks_for_newest = self._says_only_the_profile(search)
        judged = self._judge(search, once(candidates), memories)
        # Stable: equals keep the order of the search.
        judged = _varied(search, sorted(judged, key=_by_score))
        self.judgements = {
            memories[candidate.memory_id].address: judgement for candidate, judgement in judged
        }
        judged.sort(key=_by_score)
        return [
            replace(candidate, score=judgement.weight.score, before_recall=candidate.score)
            for candidate, judgement in judged
        ]

    def _pulled(self, search: Search) -> Sequence[Candidate]:
        filters = search.selection.filters
        if not self._profile.pull or filters.types:
            return ()
        return gather(search, replace(filters, types=tuple(self._profile.pull)))

    def _newest(self, search: Search) -> Iterator[IndexedMemory]:
        filters, most = search.selection.filters, self._profile.newest
        if not most or filters.types:
            return
        for kind in self._profile.pull:
            selection = Selection(replace(filters, types=(kind,)), search.selection.now)
            yield from search.index.memories(selection, limit=most, fields=_FIELDS)

    def _says_only_the_profile(self, search: Search) -> bool:
        said = (self._content_of(search, words) for words in self._profile.words)
        return self._content_of(search, self._question) <= frozenset[str]().union(*said)

    def _judge(
        self, search: Search, candidates: Sequence[Candidate], memories: Mapping[int, IndexedMemory]
    ) -> list[Judged]:
        """Judge each candidate, and leave out those that the profile excludes."""
        entries, ratings = self._known([memories[each.memory_id] for each in candidates])
        judged = []
        for candidate in candidates:
            entry = entries[candidate.memory_id]
            current, multiplier = None, 1.0
            if entry.records:
                record, at = entry.pooled, self._now.isoformat()
                current = score(record, self._scoring, at)
                alike = [
                    Rating(rating.useful, self._alike(search, rating.question))
                    for name, agent in entry.records
                    for rating in ratings.get(name, {}).get(agent, ())
                ]
                multiplier = scoring.at_question(record, alike, self._scoring, at)
            used = entry.pooled.last_used if entry.records else None
            weight = self._weight(candidate.score, memories[candidate.memory_id], multiplier, used)
            if weight:
                judged.append((candidate, Judgement(entry.name, current, weight)))
        return judged

    def _known(
        self, memories: Sequence[IndexedMemory]
    ) -> tuple[dict[int, LedgerRecords], dict[str, dict[str, list[QuestionRating]]]]:
        """The ledger's records of memories, and their ratings by name and agent."""
        if not self.failure:  # A ledger that failed once is not asked again.
            try:
                ledger = self._state.ledger_if_any
                known = records_of(self._state, ledger, memories, self._agent)
                rated = [name for entry in known.values() for name, _ in entry.records]
                return known, reading.ratings(ledger, rated) if ledger and rated else {}
            except DjinnError as error:
                self.failure = error
        return records_of(self._state, None, memories, self._agent), {}

    def _weight(
        self, raw: float, memory: IndexedMemory, multiplier: float, used: str | None
    ) -> ScoreBreakdown | None:
        profile = self._profile
        kind = profile.types.get(memory.type or "", profile.others)
        state = fold(memory.field("status") or "")
        # A memory that is superseded now may have held at the time that is asked about.
        past = self._asks_for_past and state == "superseded"
        status = 1.0 if past else profile.status.get(state, 1.0)
        if not kind or not status or self._too_old(memory):
            return None
        confidence = share_of(memory.field("confidence"))
        own = note_factor(self._importance(memory, used), confidence, self._scoring)
        recency = self._recency(memory)
        score = blended(raw, multiplier * own * kind * status * recency)
        return ScoreBreakdown(raw, multiplier, own, kind, status, recency, 1.0, score)

    def _importance(self, memory: IndexedMemory, used: str | None) -> float | None:
        """The importance of a memory, less when it was neither used nor changed for long."""
        importance = share_of(memory.field("importance"))
        # The date of an episode is the time at which it happened.
        if importance is None or memory.plane == "episodic":
            return importance
        latest = max(memory.updated or "", memory.date, used or "")
        idle = days_since(latest, self._now) or 0
        return scoring.decayed(importance, idle, self._scoring)

    def _too_old(self, memory: IndexedMemory) -> bool:
        days = self._profile.since_days
        if days is None or memory.type in self._profile.lasting:
            return False
        first = self._now.astimezone().date() - timedelta(days=days)
        return local_day(memory.date) < first.isoformat()

    def _recency(self, memory: IndexedMemory) -> float:
        if not self._profile.recency_weight:
            return 1.0
        age = days_since(memory.date, self._now)
        if age is None:
            return 1.0
        halvings = max(0, age) / self._profile.recency_half_life_days
        return float(1 + self._profile.recency_weight * 2**-halvings)

    def _alike(self, search: Search, question: str) -> float:
        """How similar another question is to the current one."""
        return scoring.alike(
            self._content_of(search, self._question), self._content_of(search, question)
        )

    def _content_of(self, search: Search, text: str) -> frozenset[str]:
        """The stems of the content words of a text."""
        if text not in self._content:
            self._content[text] = content(search.index.words, text)
        return self._content[text]


def days_since(day: str, now: datetime) -> int | None:
    """Days from an ISO date or time to `now`, negative for a later date; None for other text."""
    try:
        return (now.date() - date.fromisoformat(day[:10])).days
    except ValueError:
        return None


def _by_score(judged: Judged) -> float:
    return -judged[1].weight.score


def _varied(search: Search, judged: Sequence[Judged]) -> list[Judged]:
    """The same order, with lower scores for memories that nearly repeat a better one."""
    find_alike = _alike_in_meaning if search.scores_all else _alike_in_words
    alike = find_alike(search, [candidate for candidate, _ in judged[:COMPARED]])
    varied = []
    for at, (candidate, judgement) in enumerate(judged):
        count = sum(alike[at][:at]) if at < COMPARED else 0
        weight, variety = judgement.weight, 1 / (1 + count)
        if count:
            weight = replace(weight, variety=variety, score=blended(weight.score, variety))
        varied.append((candidate, replace(judgement, weight=weight)))
    return varied
