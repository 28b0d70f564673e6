"""Former values: `where did I live before?` asks for what no longer holds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from djinn_memory.languages.fact_keys import AskedKeys
from djinn_memory.models import Hit
from djinn_memory.notes.slugs import fold
from djinn_memory.search.candidate import FORMER, Candidate
from djinn_memory.search.state import Search
from djinn_memory.search.time.now import Now, period
from djinn_memory.store.index.records import IndexedMemory

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
    """Whether a question asks for what held before, and no longer holds."""
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
        """Nothing: what holds is not asked for."""

    def put_first(self, search: Search) -> None:
        """Put what no longer holds before what holds, as far as it answers the question.

        These are the earlier values of facts, superseded memories and memories whose period has
        ended. The facts that the question asks for by their keys come first, whatever their score.
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
    return superseded or period(memory).ended(now)
