"""What a recall makes of what a search found: the agent's scores, the note's own word, a profile.

It works on the candidates of the search pipeline, so that there is one search. Where nothing is
known of any of them and the profile is after nothing, each is multiplied by exactly 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory import scoring
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.home.settings import ProfileConfig
from djinn_memory.memories.catalog.identity import LedgerName, former_names
from djinn_memory.models import Vault
from djinn_memory.notes.slugs import fold
from djinn_memory.scoring import (
    Rating,
    Record,
    Score,
    ScoringConfig,
    blended,
    own_word,
    pooled,
    score,
    share_of,
)
from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.search.fusion import NOISE
from djinn_memory.search.legs.words import content
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.ledger import Ledger, reading

SOURCES = 5
"""The best memories, whose links are followed: what a person would open."""

NEIGHBOURS = 20
"""Links followed from one memory: a hub leads everywhere."""


class ScoreBreakdown(Struct, frozen=True):
    """Why a memory came up where it did: its raw score, and all that it was multiplied by."""

    raw: float
    """The score of the search."""
    multiplier: float
    """By what the agent used and rated, as far as that says something about this question."""
    own: float
    """By the note's own importance and confidence."""
    type: float
    """By the profile, for its type."""
    status: float
    """By the profile, for the note's status."""
    recency: float
    """By the profile, for how new it is."""
    hops: int
    """Links from a memory that was found to this one; 0 where it was found itself."""
    via: str | None
    """The title of the memory whose link led here."""
    score: float
    """Raw, times all of these."""


_FIELDS = ("status", "importance", "confidence")
"""Front matter that moves a memory."""


class Rescorer:
    """Weighs candidates for one recall; what it did is in `weights` and `references` then."""

    def __init__(
        self,
        profile: ProfileConfig,
        scoring: ScoringConfig,
        agent: str,
        shared: str | None,
        ledger: Ledger | None,
        question: str,
        now: datetime,
    ) -> None:
        """`shared` is the id of the vault in which all agents' ratings count, if any is."""
        self._profile = profile
        self._scoring = scoring
        self._agent = agent
        self._shared = shared
        self._question = question
        self._content: dict[str, frozenset[str]] = {}
        self._ledger = ledger
        self.now = now
        self.weights: dict[tuple[str, str], ScoreBreakdown] = {}
        self.scores: dict[tuple[str, str], Score] = {}
        """What their records say, whatever is asked."""
        self.references: dict[tuple[str, str], LedgerName] = {}

    def rescore(self, search: Search) -> list[Candidate]:
        """One candidate of each memory, the best first."""
        candidates = _once([*search.candidates, *self._pulled(search)])
        loaded = search.index.lookup([each.memory_id for each in candidates], fields=_FIELDS)
        memories = dict(loaded)
        for memory in self._newest(search):
            if memory.first_chunk is not None:
                memories[memory.memory_id] = memory
                candidates.append(Candidate(memory.first_chunk, memory.memory_id, NOISE))
        rescored = self._weigh(search, _once(candidates), memories)
        if self._profile.hops:
            rescored = self._linked(search, rescored, memories)
        for candidate, weight in rescored:
            memory = memories[candidate.memory_id]
            self.weights[memory.vault, memory.path] = weight
        # Stable: equals keep the search's order.
        ordered = sorted(rescored, key=lambda pair: -pair[1].score)
        return [replace(candidate, score=weight.score) for candidate, weight in ordered]

    def _pulled(self, search: Search) -> Sequence[Candidate]:
        filters = search.selection.filters
        if not self._profile.pull or filters.types:
            return ()
        return search.gather(replace(filters, types=tuple(self._profile.pull)))

    def _newest(self, search: Search) -> Iterator[IndexedMemory]:
        filters, most = search.selection.filters, self._profile.newest
        if not most or filters.types:
            return
        for kind in self._profile.pull:
            selection = Selection(replace(filters, types=(kind,)), search.selection.now)
            yield from search.index.memories(selection, limit=most, fields=_FIELDS)

    def _weigh(
        self,
        search: Search,
        candidates: Sequence[Candidate],
        memories: Mapping[int, IndexedMemory],
    ) -> list[tuple[Candidate, ScoreBreakdown]]:
        """What each is worth, without those that the profile leaves out."""
        vaults = {vault.name: vault for vault in search.index.vaults}
        known = {
            each.memory_id: _ledger_name(memories[each.memory_id], vaults) for each in candidates
        }
        scores = self._scores(search, known, memories, vaults)
        weighed = []
        for candidate in candidates:
            memory = memories[candidate.memory_id]
            place = (memory.vault, memory.path)
            self.references[place] = known[memory.memory_id]
            known_score, multiplier = scores.get(memory.memory_id, (None, 1.0))
            if known_score:
                self.scores[place] = known_score
            weight = self._weight(candidate.score, memory, multiplier)
            if weight:
                weighed.append((candidate, weight))
        return weighed

    def _weight(
        self, raw: float, memory: IndexedMemory, multiplier: float
    ) -> ScoreBreakdown | None:
        profile = self._profile
        fields = {key: fold(value) for key, value in reversed(memory.fields)}
        kind = profile.types.get(memory.type or "", profile.others)
        status = profile.status.get(fields.get("status", ""), 1.0)
        if not kind or not status or self._too_old(memory):
            return None
        own = 1.0
        if "importance" in fields or "confidence" in fields:
            importance, confidence = (
                share_of(fields.get(key, "")) for key in ("importance", "confidence")
            )
            own = own_word(importance, confidence, self._scoring)
        recency = self._recency(memory)
        score = blended(raw, multiplier * own * kind * status * recency)
        return ScoreBreakdown(raw, multiplier, own, kind, status, recency, 0, None, score)

    def _too_old(self, memory: IndexedMemory) -> bool:
        days = self._profile.since_days
        if days is None or memory.type in self._profile.lasting:
            return False
        return memory.date[:10] < (self.now - timedelta(days=days)).date().isoformat()

    def _recency(self, memory: IndexedMemory) -> float:
        if not self._profile.recency_weight:
            return 1.0
        try:
            age = max(0, (self.now.date() - date.fromisoformat(memory.date[:10])).days)
        except ValueError:
            return 1.0
        return float(
            1 + self._profile.recency_weight * 2 ** -(age / self._profile.recency_half_life_days)
        )

    def _scores(
        self,
        search: Search,
        known: Mapping[int, LedgerName],
        memories: Mapping[int, IndexedMemory],
        vaults: Mapping[str, Vault],
    ) -> dict[int, tuple[Score, float]]:
        """The scores of those that have one, and by what this question's result is multiplied."""
        if self._ledger is None:
            return {}
        called = former_names(search.runtime.connection, self._ledger, known)
        records = reading.records(self._ledger, [name for each in called.values() for name in each])
        if not records:
            return {}
        ratings = reading.ratings(self._ledger, list(records))
        at = self.now.isoformat()
        scores = {}
        for key, own_names in called.items():
            everybody = vaults[memories[key].vault].id == self._shared
            mine = counted(records, own_names, self._agent, everybody=everybody)
            if mine:
                record = pooled(list(mine.values()))
                rated = [
                    Rating(rating.useful, self._alike(search, rating.question))
                    for name, agent in mine
                    for rating in ratings.get(name, {}).get(agent, ())
                ]
                scores[key] = (
                    score(record, self._scoring, at),
                    scoring.at_question(record, rated, self._scoring, at),
                )
        return scores

    def _alike(self, search: Search, question: str) -> float:
        """How like another question is to this one."""
        for text in (self._question, question):
            if text not in self._content:
                self._content[text] = content(search.index.vocabulary, text)
        return scoring.alike(self._content[self._question], self._content[question])

    def _linked(
        self,
        search: Search,
        rescored: list[tuple[Candidate, ScoreBreakdown]],
        memories: dict[int, IndexedMemory],
    ) -> list[tuple[Candidate, ScoreBreakdown]]:
        """With what the best lead to, and what leads to them, as many hops as the profile says."""
        best = {candidate.memory_id: (candidate, weight) for candidate, weight in rescored}
        sources = sorted(rescored, key=lambda pair: -pair[1].score)[:SOURCES]
        for hop in range(1, self._profile.hops + 1):
            reached: list[tuple[Candidate, ScoreBreakdown]] = []
            for source, weight in sources:
                selection = Selection(
                    search.selection.filters, search.selection.now, linked=source.memory_id
                )
                near = {
                    memory.memory_id: (memory, memory.first_chunk)
                    for memory in search.index.memories(selection, limit=NEIGHBOURS, fields=_FIELDS)
                }
                title = memories[source.memory_id].title
                memories |= {key: memory for key, (memory, _) in near.items()}
                raw = weight.raw * self._profile.hop_weight
                ends = [
                    Candidate(chunk, key, raw)
                    for key, (_, chunk) in near.items()
                    if chunk is not None
                ]
                for end, value in self._weigh(search, ends, memories):
                    before = best.get(end.memory_id)
                    if before is None or before[1].score < value.score:
                        best[end.memory_id] = (
                            before[0] if before else end, replace(value, hops=hop, via=title)
                        )  # fmt: skip
                        reached.append(best[end.memory_id])
            sources = reached[:SOURCES]
        return list(best.values())


def _ledger_name(memory: IndexedMemory, vaults: Mapping[str, Vault]) -> LedgerName:
    place = f"{vaults[memory.vault].id}/{memory.path}"
    if memory.id and memory.owns_id:
        return LedgerName(memory.id, None, place)
    return LedgerName(place, memory.hash, place)


def _once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The first of each memory, best first; equals in the order in which they came."""
    best: dict[int, Candidate] = {}
    for candidate in candidates:
        best.setdefault(candidate.memory_id, candidate)
    return list(best.values())


def counted(
    records: Mapping[str, Mapping[str, Record]],
    called: Iterable[str],
    agent: str,
    *,
    everybody: bool,
) -> dict[tuple[str, str], Record]:
    """By name and agent: the records of a memory, `called` so, that count for `agent`."""
    return {
        (name, who): record
        for name in called
        for who, record in records.get(name, {}).items()
        if everybody or who == agent
    }


def pool_of(home: Home) -> str | None:
    """The id of the vault in which the ratings of all agents count, if in any."""
    if not home.config.scoring.shared:
        return None
    vault = access.own_vault(home.vaults, None)
    return vault.id if vault else None
