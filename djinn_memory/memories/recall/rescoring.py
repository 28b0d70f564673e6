"""What a recall makes of what a search found: the agent's scores, the note's own word, a profile.

It works on the candidates of the search pipeline, so that there is one search. Where nothing is
known of any of them and the profile is after nothing, each is multiplied by exactly 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

import apsw
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory import scoring
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.home.settings import ProfileConfig
from djinn_memory.memories.catalog.identity import LedgerName, former_names, ledger_names
from djinn_memory.models import Filters, Vault
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
from djinn_memory.search.filters import condition
from djinn_memory.search.fusion import NOISE
from djinn_memory.search.legs.words import content
from djinn_memory.search.pipeline import Candidate
from djinn_memory.search.search import Again
from djinn_memory.store.ledger import Ledger, reading
from djinn_memory.store.sqlite import rows

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


class _Note(Struct):
    id: int
    vault: int
    path: str
    title: str
    type: str | None
    date: str
    chunk: int
    fields: dict[str, str]


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
        self._filters = Filters()
        self._ledger = ledger
        self.now = now
        self.weights: dict[tuple[str, str], ScoreBreakdown] = {}
        self.scores: dict[tuple[str, str], Score] = {}
        """What their records say, whatever is asked."""
        self.references: dict[tuple[str, str], LedgerName] = {}

    def __call__(
        self,
        connection: apsw.Connection,
        candidates: Sequence[Candidate],
        vaults: Mapping[int, Vault],
        filters: Filters,
        again: Again,
    ) -> list[Candidate]:
        """One candidate of each memory, the best first."""
        self._filters = filters
        best = _once([*candidates, *self._pulled(again)])
        notes = _notes(connection, "note.id in (select value from json_each(?))",
                       [json.dumps([one.note_id for one in best])])  # fmt: skip
        for note in self._newest(connection, vaults):
            notes[note.id] = note
            best += [Candidate(note.chunk, note.id, NOISE)]
        best = _once(best)
        weighed = self._weigh(connection, best, notes, vaults)
        if self._profile.hops:
            weighed = self._linked(connection, weighed, notes, vaults)
        self._told(weighed, notes, vaults)
        # Stable: equals keep the search's order.
        ordered = sorted(weighed, key=lambda pair: -pair[1].score)
        return [replace(one, score=weight.score) for one, weight in ordered]

    def _pulled(self, again: Again) -> Iterable[Candidate]:
        if not self._profile.pull or self._filters.types:
            return ()
        return again(replace(self._filters, types=tuple(self._profile.pull)))

    def _newest(self, connection: apsw.Connection, vaults: Mapping[int, Vault]) -> list[_Note]:
        if not self._profile.newest or self._filters.types:
            return []
        found: list[_Note] = []
        for kind in self._profile.pull:
            where, values = condition(replace(self._filters, types=(kind,)), vaults)
            sql = f"{where} order by memory.date desc, note.path limit ?"
            found += _notes(connection, sql, [*values, self._profile.newest]).values()
        return found

    def _weigh(
        self,
        connection: apsw.Connection,
        candidates: Sequence[Candidate],
        notes: Mapping[int, _Note],
        vaults: Mapping[int, Vault],
    ) -> list[tuple[Candidate, ScoreBreakdown]]:
        """What each is worth, without those that the profile leaves out."""
        known = ledger_names(connection, [one.note_id for one in candidates], vaults)
        scores = self._scores(connection, known, notes, vaults)
        weighed = []
        for one in candidates:
            note = notes[one.note_id]
            place = (vaults[note.vault].name, note.path)
            self.references[place] = known[note.id]
            known_score, multiplier = scores.get(note.id, (None, 1.0))
            if known_score:
                self.scores[place] = known_score
            weight = self._weight(one.score, note, multiplier)
            if weight:
                weighed.append((one, weight))
        return weighed

    def _weight(self, raw: float, note: _Note, multiplier: float) -> ScoreBreakdown | None:
        profile = self._profile
        kind = profile.types.get(note.type or "", profile.others)
        status = profile.status.get(note.fields.get("status", ""), 1.0)
        if not kind or not status or self._too_old(note):
            return None
        fields = note.fields
        own = 1.0
        if "importance" in fields or "confidence" in fields:
            said = [share_of(fields.get(key, "")) for key in ("importance", "confidence")]
            own = own_word(said[0], said[1], self._scoring)
        recency = self._recency(note)
        score = blended(raw, multiplier * own * kind * status * recency)
        return ScoreBreakdown(raw, multiplier, own, kind, status, recency, 0, None, score)

    def _too_old(self, note: _Note) -> bool:
        days = self._profile.since_days
        if days is None or note.type in self._profile.lasting:
            return False
        return note.date[:10] < (self.now - timedelta(days=days)).date().isoformat()

    def _recency(self, note: _Note) -> float:
        if not self._profile.recency_weight:
            return 1.0
        try:
            age = max(0, (self.now.date() - date.fromisoformat(note.date[:10])).days)
        except ValueError:
            return 1.0
        return float(
            1 + self._profile.recency_weight * 2 ** -(age / self._profile.recency_half_life_days)
        )

    def _scores(
        self,
        connection: apsw.Connection,
        known: Mapping[int, LedgerName],
        notes: Mapping[int, _Note],
        vaults: Mapping[int, Vault],
    ) -> dict[int, tuple[Score, float]]:
        """The scores of those that have one, and by what this question's result is multiplied."""
        if self._ledger is None:
            return {}
        called = former_names(connection, self._ledger, known)
        every = [name for some in called.values() for name in some]
        records = reading.records(self._ledger, every)
        if not records:
            return {}
        ratings = reading.ratings(self._ledger, list(records))
        at = self.now.isoformat()
        found = {}
        for key, some in called.items():
            everybody = vaults[notes[key].vault].id == self._shared
            mine = counted(records, some, self._agent, everybody=everybody)
            if mine:
                record = pooled(list(mine.values()))
                said = [
                    Rating(one.useful, self._alike(connection, one.question))
                    for name, agent in mine
                    for one in ratings.get(name, {}).get(agent, ())
                ]
                found[key] = (
                    score(record, self._scoring, at),
                    scoring.at_question(record, said, self._scoring, at),
                )
        return found

    def _alike(self, connection: apsw.Connection, question: str) -> float:
        """How like another question is to this one."""
        for one in (self._question, question):
            if one not in self._content:
                self._content[one] = content(connection, one)
        return scoring.alike(self._content[self._question], self._content[question])

    def _linked(
        self,
        connection: apsw.Connection,
        weighed: list[tuple[Candidate, ScoreBreakdown]],
        notes: dict[int, _Note],
        vaults: Mapping[int, Vault],
    ) -> list[tuple[Candidate, ScoreBreakdown]]:
        """With what the best lead to, and what leads to them, as many hops as the profile says."""
        found = {one.note_id: (one, weight) for one, weight in weighed}
        sources = sorted(weighed, key=lambda pair: -pair[1].score)[:SOURCES]
        where, values = condition(self._filters, vaults)
        for hop in range(1, self._profile.hops + 1):
            reached: list[tuple[Candidate, ScoreBreakdown]] = []
            for one, weight in sources:
                title = notes[one.note_id].title
                near = _notes(connection, f"{where} and {_NEAR}",
                              [*values, one.note_id, one.note_id, NEIGHBOURS])  # fmt: skip
                notes |= near
                raw = weight.raw * self._profile.hop_weight
                ends = [Candidate(note.chunk, note.id, raw) for note in near.values()]
                for end, value in self._weigh(connection, ends, notes, vaults):
                    before = found.get(end.note_id)
                    if before is None or before[1].score < value.score:
                        found[end.note_id] = (
                            before[0] if before else end, replace(value, hops=hop, via=title)
                        )  # fmt: skip
                        reached.append(found[end.note_id])
            sources = reached[:SOURCES]
        return list(found.values())

    def _told(
        self,
        weighed: Sequence[tuple[Candidate, ScoreBreakdown]],
        notes: Mapping[int, _Note],
        vaults: Mapping[int, Vault],
    ) -> None:
        for one, weight in weighed:
            note = notes[one.note_id]
            self.weights[vaults[note.vault].name, note.path] = weight


_NEAR = (
    "note.id in (select target_note_id from link where note_id = ? "
    "union select note_id from link where target_note_id = ?) "
    "order by memory.date desc, note.path limit ?"
)


def _notes(connection: apsw.Connection, where: str, values: Sequence[object]) -> dict[int, _Note]:
    """The notes of which a condition over `note` and `memory` holds, in its order."""
    found = rows(
        connection,
        "select note.id, vault_id, path, title, type, date, memory.id, "
        "(select min(id) from chunk where memory_id = memory.id) "
        f"from note join memory on memory.note_id = note.id where {where}",
        values,
    )
    said: dict[int, dict[str, str]] = {}
    for memory, key, value in rows(
        connection,
        "select memory_id, key, folded from field where key in "
        "('status', 'importance', 'confidence') "
        "and memory_id in (select value from json_each(?))",
        (json.dumps([row[6] for row in found]),),
    ):
        said.setdefault(memory, {}).setdefault(key, value)
    return {
        key: _Note(key, vault, path, title, kind, day, chunk, said.get(memory, {}))
        for key, vault, path, title, kind, day, memory, chunk in found
        if chunk is not None
    }


def _once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The first of each note, best first; equals in the order in which they came."""
    found: dict[int, Candidate] = {}
    for one in candidates:
        found.setdefault(one.note_id, one)
    return list(found.values())


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
