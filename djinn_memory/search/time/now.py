"""Now: what a search prefers and shows when its question asks about no other time.

Former values are its opposite: `where did I live before?` asks for values that have ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.languages.days import DayWindow
from djinn_memory.languages.word_lists import AskedKeys
from djinn_memory.models import AskedPeriod, Hit, Vault
from djinn_memory.notes.dates import moment
from djinn_memory.notes.periods import Period, period_of
from djinn_memory.notes.slugs import fold
from djinn_memory.search.candidate import FORMER, Candidate
from djinn_memory.search.state import Search, ValueThen
from djinn_memory.store.index.records import IndexedMemory

if TYPE_CHECKING:
    from djinn_memory.notes.fact_note import PastValue

ENDED = 0.8
"""The factor for a memory that no longer holds: below one that answers about as well, but above one
that hardly answers."""

FRONT = 50
"""Number of best candidates whose periods are compared. Few hits come from lower ranks."""


def _period(memory: IndexedMemory) -> Period:
    """The period of a memory in its front matter."""
    return period_of(memory.field("valid_from"), memory.field("valid_to"))


class Now:
    """The present, or the time of the filters. Other times extend it; see `search.state.AskedTime`.

    The index cannot tell which value a fact or an entity had at a time. Their notes are read.
    """

    windows: tuple[DayWindow, ...] = ()
    time_words: frozenset[str] = frozenset()
    """The stems of the words of the question that name the time."""

    def __init__(self, search: Search) -> None:
        self.past = bool(search.as_of)
        self.now = moment(search.runtime.now())
        self.values: dict[int, ValueThen] = {}
        self.answered: set[int] = set()
        self.read_notes = False

    def put_first(self, search: Search) -> None:
        """Nothing: the present is preferred by `prefer_current`."""

    def prefer_current(self, search: Search) -> None:
        """Lower the scores of memories whose period has ended, and sort again.

        A search as of a day leaves those out that had ended by then.
        """
        if search.as_of:
            return
        front = search.candidates[:FRONT]
        memories = search.memories_of(front)
        ended = [each for each in front if _period(memories[each.memory_id]).ended(self.now)]
        for candidate in ended:
            candidate.score *= ENDED
        if ended:
            search.candidates.sort(key=lambda candidate: -candidate.score)

    def arranged(self, search: Search, chosen: list[Candidate]) -> list[Candidate]:
        """The chosen candidates, those that answer wholly first."""
        return sorted(chosen, key=lambda candidate: candidate.memory_id not in self.answered)

    def judged(self, chosen: Sequence[Candidate]) -> bool | None:
        """None: the scores decide."""
        return None

    def shown(self) -> tuple[AskedPeriod, ...]:
        """No period."""
        return ()

    def held(self, search: Search, memory: IndexedMemory, vault: Vault) -> bool:
        """Whether a memory held at the time of the filters.

        Without a time this is asked for a fact whose current value has not begun.
        """
        at = search.as_of
        if memory.plane != "knowledge" or memory.block is not UNSET:
            return True
        if memory.type != "fact":
            return self._entity_held(search, memory, vault)
        if not (at or self.windows) and _period(memory).begun(self.now):
            return True
        # Imported here: few searches read a fact.
        from djinn_memory.notes.fact_note import line_of, timeline
        from djinn_memory.notes.note import parse
        from djinn_memory.search.time.statements import holding, joined

        self.read_notes = True
        best: list[PastValue] = []
        with suppress(OSError, DjinnError):
            note = parse(memory.path, search.source.read(vault, memory.path), vault.dialect)
            values = timeline(note)
            when = at or (None if self.windows else self.now)
            best = holding((values.current, *values.history), when, self.windows)
            if best and (at or self.windows or best != [values.current]):
                line = line_of(note, best[0])
                self.values[memory.memory_id] = ValueThen(at or self.now, line, joined(best))
        return bool(best) or not at

    def _entity_held(self, search: Search, memory: IndexedMemory, vault: Vault) -> bool:
        """Whether an entity was known at the time of a search, or had a property then.

        If one of its properties answers the question, it is added to the values.
        """
        from djinn_memory.search.time.statements import (
            answering,
            answers,
            joined,
            names_subject,
            statements,
            then,
        )

        at, asks_for_time = search.as_of, bool(search.as_of or self.windows)
        if not (asks_for_time or names_subject(search, memory)):
            return True
        from djinn_memory.notes.note import parse

        self.read_notes = True
        with suppress(OSError, DjinnError):
            note = parse(memory.path, search.source.read(vault, memory.path), vault.dialect)
            listed = then([*statements(note.text)], at if asks_for_time else self.now, self.windows)
            best = answers(search, memory, listed, self.time_words)
            if best:
                self.answered.add(memory.memory_id)
            elif asks_for_time:
                best = answering(listed, search.asked_words, search.index.words)
            if best:
                line = best[0][0] + 1
                value = joined([value for _, value in best])
                self.values[memory.memory_id] = ValueThen(at or self.now, line, value)
            if listed or not asks_for_time:
                return True
        if not at or memory.created is None:
            return True
        return _period(memory).covers(at) and memory.created <= at


SHARE = 0.5
"""The share of the best score that a memory needs to come first because it no longer holds."""

MOST_FACTS = 2_000
"""Facts whose keys are compared with the question, the newest first, in a tenth of a second."""

_NAME_FIELDS = ("category", "key")

HISTORY = "History"
"""The heading in the note of a fact above its earlier values."""

_FORMER = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?)\b"
    r"|\bbefore(?=\s*(?:[?.!]|\Z)|\s+(?:that|then|this|now|I\s+(?:moved|came|changed))\b)"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )\bused\s+to\s+(?!\w+ing\b)"
    r"|\bdid(?:n['\u2019]t)?\s+\w+\s+use\s+to\b",
    re.IGNORECASE,
)


def asks_for_former(question: str) -> bool:
    """Whether a question asks for values that held before, and no longer hold."""
    return _FORMER.search(question) is not None


def shows_history(hit: Hit, question: str) -> bool:
    """Whether a hit shows the earlier values of a fact for which the question asks."""
    return is_history(hit) and asks_for_former(question)


def is_history(hit: Hit) -> bool:
    """Whether a hit shows the earlier values of a fact."""
    return hit.type == "fact" and hit.heading[-1:] == (HISTORY,)


class FormerValues(Now):
    """The values that a question asks for and that no longer hold.

    No leg may find the facts that it asks for, so they are added: `where did I live` has no word of
    `user/city`.
    """

    def __init__(self, search: Search) -> None:
        super().__init__(search)
        self.past = True
        self.asked = AskedKeys(search.query.text)
        self.histories: dict[int, int] = {}
        """The chunk with the earlier values of each fact, by the number of its memory."""
        self._add_facts(search)

    def _add_facts(self, search: Search) -> None:
        filters = search.selection.filters
        if filters.types:
            return
        known = {candidate.memory_id for candidate in search.candidates}
        facts = replace(search.selection, filters=replace(filters, types=("fact",)))
        search.candidates += [
            Candidate(memory.first_chunk, memory.memory_id)
            for memory in search.index.memories(facts, limit=MOST_FACTS, fields=_NAME_FIELDS)
            if memory.memory_id not in known
            and memory.first_chunk is not None
            and self.asked.asks_for(_name(memory)[1])
        ]

    def prefer_current(self, search: Search) -> None:
        """Nothing: the question does not ask for current values."""

    def put_first(self, search: Search) -> None:
        """Put former values before current ones, as far as they answer the question.

        Former values are the earlier values of facts, superseded memories and memories whose period
        has ended. The facts that the question names by their keys come first, with any score.
        """
        memories = search.memories_of(search.candidates)
        least = SHARE * max((candidate.score for candidate in search.candidates), default=0.0)
        named: dict[int, tuple[int, Candidate]] = {}
        former: dict[int, Candidate] = {}
        self._find_histories(search, [memories[each.memory_id] for each in search.candidates])
        for candidate in search.candidates:
            memory = memories[candidate.memory_id]
            chunk = self.histories.get(memory.memory_id)
            if chunk is not None:
                category, key = _name(memory)
                earlier = replace(candidate, chunk_id=chunk, stand_in=None)
                if self.asked.asks_for(key):
                    distance = self.asked.distance(category)
                    named.setdefault(chunk, (distance, earlier.marked(FORMER, 1.0)))
                elif candidate.score >= least:
                    former.setdefault(chunk, earlier)
            elif candidate.score >= least and _ended(memory, self.now):
                former.setdefault(candidate.chunk_id, candidate)
        nearest = min((distance for distance, _ in named.values()), default=0)
        first = [candidate for distance, candidate in named.values() if distance == nearest]
        others = [each for chunk, each in former.items() if chunk not in named]
        taken = {candidate.chunk_id for candidate in (*first, *others)}
        rest = [each for each in search.candidates if each.chunk_id not in taken]
        search.candidates = [*first, *others, *rest]

    def _find_histories(self, search: Search, memories: Sequence[IndexedMemory]) -> None:
        facts = {each.memory_id for each in memories if each.type == "fact" and each.block is UNSET}
        for key, chunks in search.index.chunks_of(facts - self.histories.keys()).items():
            for chunk in chunks:
                if chunk.headings[-1:] == (HISTORY,):
                    self.histories[key] = chunk.chunk_id
                    break


def _name(memory: IndexedMemory) -> tuple[str, str]:
    """The category and the key of a fact."""
    before, slash, after = memory.title.partition("/")
    category, key = memory.field("category"), memory.field("key")
    return category or (before if slash else ""), key or (after if slash else memory.title)


def _ended(memory: IndexedMemory, now: str) -> bool:
    superseded = fold(memory.field("status") or "") == "superseded"
    return superseded or _period(memory).ended(now)
