"""Finds memories that contradict each other, among those that an agent sees.

Facts with one category and key are compared by their values. Other memories are compared sentence
by sentence: sentences with the same words, or with words that say the same, meet under one key,
apart from their numbers, dates and negations. So the cost grows with the number of sentences and
not with its square. Notes that are near each other in meaning, by the vectors of the index, are
also compared pair by pair; nothing is embedded for this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from itertools import combinations, islice
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.catalog import is_diary, ledger_name
from djinn_memory.memories.contradictions import statements
from djinn_memory.memories.facts.queries import Fact, IndexedFact, indexed_facts, read_fact
from djinn_memory.memories.writing.provenance import evidence_of
from djinn_memory.models import Filters, MemoryRef, Vault, Vectors, extended
from djinn_memory.notes.dates import moment
from djinn_memory.notes.ids import derived_id
from djinn_memory.notes.periods import period_of
from djinn_memory.notes.slugs import flat, fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.answers import times_in
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.sqlite import version

MOST_MEMORIES = 20_000
"""Memories that are compared, the newest first."""

MOST_ALIKE = 6
"""Memories with one sentence apart from its numbers. More are a form that was filled in."""

MOST_COMPARED = 20
"""Sentences of a note that are compared with those of a note that is near in meaning."""

PAGE = 500
"""Memories whose texts are read at once."""

OVER = frozenset({"superseded", "expired", "archived", "cancelled", "canceled", "dropped", "done"})
"""Values of `status` for memories that no longer hold."""

_SPOKEN = Filters(excluded=(("plane", "episodic"), ("plane", "documents"), ("type", "fact")))
"""Episodes quote speech, and documents quote others. Facts are compared by value."""

_FIELDS = (
    "status", "valid_from", "valid_to", "source", "rule", "author", "session", "evidence",
)  # fmt: skip


class ContradictionSide(MemoryRef, frozen=True, kw_only=True):
    """One of two memories that contradict each other."""

    title: str
    """The title of the memory."""
    text: str
    """The statement: the value of a fact, else the sentence."""
    date: str
    """The day or time of which it tells."""
    source: str | None
    """The source of the memory."""
    rule: str | None
    """The rule that derived it."""
    author: str | None
    """The person or the agent for whom it was derived."""
    session: str | None
    """The session of the evidence."""
    evidence: tuple[str, ...]
    """Links to the memories that it was derived from."""


_End = tuple[IndexedMemory, ContradictionSide]
"""A memory, and its side of a contradiction."""


class Contradiction(Struct, frozen=True):
    """Two memories that say different things and both hold now."""

    id: str
    """`con_` and 10 characters, made from the two memories and their statements."""
    difference: statements.Difference
    """In what they differ: the `value` of a fact, else a `number`, a `date` or a `negation`."""
    a: ContradictionSide
    """The side that `djinn review accept --keep A` keeps."""
    b: ContradictionSide
    """The other side."""


class Pair(Struct, frozen=True):
    """A contradiction with the index entries of its sides."""

    contradiction: Contradiction
    subjects: tuple[tuple[str, str], ...]
    """The names of the memories in the ledger, and the hashes of their texts."""


def find_pairs(runtime: Runtime, vaults: Sequence[Vault]) -> list[Pair]:
    """The contradictions between memories of these vaults, in order of their places.

    Notes that no agent sees both are not compared. The pairs are kept as long as the index stays as
    it is and no memory begins or ceases to hold.
    """
    connection, now = runtime.state.index, moment(runtime.now())
    with runtime.index(vaults) as index:
        state, kept = _KEPT.get(connection, (None, {}))
        if state != version(connection):
            state, kept = _KEPT[connection] = version(connection), {}
        since, until, pairs = kept.get((*vaults,), ("", "", []))
        if not since <= now < until:
            pairs = _compare(runtime, index)
            until = min((time for time in times_in(index) if time > now), default="~")
            kept[(*vaults,)] = now, until, pairs
    return pairs


_KEPT: WeakKeyDictionary[Any, tuple[int, dict[tuple[Vault, ...], tuple[str, str, list[Pair]]]]] = (
    WeakKeyDictionary()
)
"""By the connection to the index: its version, and by vaults the pairs with the first time, and the
time before which they hold."""


def _compare(runtime: Runtime, index: Index) -> list[Pair]:
    pairs: dict[str, Pair] = {}
    for pair in (*_between_facts(runtime, index), *_between_notes(runtime, index)):
        pairs.setdefault(pair.contradiction.id, pair)
    return sorted(
        pairs.values(), key=lambda pair: (pair.contradiction.a.address, pair.contradiction.id)
    )


def _between_facts(runtime: Runtime, index: Index) -> Iterator[Pair]:
    """Facts with one category and key in several vaults, whose values differ."""
    now = runtime.now()
    groups: dict[tuple[str, str], list[IndexedFact]] = {}
    for entry in indexed_facts(runtime.state, index.vaults, now):
        if not entry.expired and fold(entry.status or "") not in OVER:
            groups.setdefault(entry.meaning, []).append(entry)
    several = [group for group in groups.values() if len(group) > 1]
    memories = index.lookup([entry.memory_id for group in several for entry in group])
    for group in several:
        ends: list[_End] = []
        for entry in group:
            with suppress(OSError, DjinnError):
                fact = read_fact(entry.vault, entry.path, now).on(moment(now))
                ends += [_fact_side(memories[entry.memory_id], fact)] if fact else []
        for left, right in combinations(ends, 2):
            if flat(left[1].text) != flat(right[1].text):
                yield _pair("value", (left, right), index)


def _between_notes(runtime: Runtime, index: Index) -> Iterator[Pair]:
    """Memories with a sentence that differs from another's in a number, a date or a negation."""
    owners = {vault.name: vault.agent for vault in index.vaults}
    said: dict[tuple[str, ...], list[tuple[IndexedMemory, statements.ComparedSentence]]] = {}
    memories: list[IndexedMemory] = []
    compared: list[list[statements.ComparedSentence]] = []
    for memory, text in _current(runtime, index):
        memories.append(memory)
        compared.append([*{each.words: each for each in statements.statements(text)}.values()])
        for statement in compared[-1]:
            said.setdefault(statement.words, []).append((memory, statement))
    common: set[tuple[str | None, tuple[str, ...]]] = set()
    for words, group in said.items():
        for owner in {owners[memory.vault] for memory, _ in group} if len(group) > 1 else ():
            seen = [entry for entry in group if owners[entry[0].vault] in (None, owner)]
            if len(seen) > MOST_ALIKE:
                common.add((owner, words))
                continue
            for (left, first), (right, second) in combinations(seen, 2):
                kind = statements.difference(first, second)
                if kind and left.address != right.address:
                    yield _pair(kind, (_side(left, first), _side(right, second)), index)
    yield from _between_neighbours(index, memories, compared, common, owners)


def _between_neighbours(
    index: Index,
    memories: Sequence[IndexedMemory],
    compared: Sequence[Sequence[statements.ComparedSentence]],
    common: Set[tuple[str | None, tuple[str, ...]]],
    owners: Mapping[str, str | None],
) -> Iterator[Pair]:
    """Notes near each other in meaning, with sentences of akin words.

    `common` are the words of forms, each for the agent who sees so many of them.
    """
    for left, right in _near_notes(index, memories, owners):
        by_length: dict[int, list[statements.ComparedSentence]] = {}
        for second in compared[right][:MOST_COMPARED]:
            by_length.setdefault(len(second.words), []).append(second)
        owner = owners[memories[left].vault] or owners[memories[right].vault]
        for first in compared[left][:MOST_COMPARED]:
            for second in by_length.get(len(first.words), ()):
                kind = None if first.words == second.words else statements.difference(first, second)
                if kind and common.isdisjoint(((owner, first.words), (owner, second.words))):
                    ends = _side(memories[left], first), _side(memories[right], second)
                    yield _pair(kind, ends, index)


def _current(runtime: Runtime, index: Index) -> Iterator[tuple[IndexedMemory, str]]:
    """The memories that hold now, with their texts. Diaries tell of their day."""
    selection = Selection(_SPOKEN, runtime.now(), whole_files=True)
    listed = index.memories(selection, limit=MOST_MEMORIES, fields=_FIELDS)
    now = moment(runtime.now())
    while page := list(islice(listed, PAGE)):
        memories = {memory.memory_id: memory for memory in page if _holds(memory, now)}
        for key, chunks in index.chunks_of(list(memories)).items():
            yield memories[key], "\n".join(chunk.text for chunk in chunks)


def _holds(memory: IndexedMemory, now: str) -> bool:
    period = period_of(memory.field("valid_from"), memory.field("valid_to"))
    over = fold(memory.field("status") or "") in OVER
    return not over and period.covers(now) and not is_diary(memory)


def _fact_side(memory: IndexedMemory, fact: Fact) -> _End:
    title, date = memory.title, fact.valid_from or memory.date
    return memory, extended(fact, ContradictionSide, title=title, text=fact.value, date=date)


def _side(memory: IndexedMemory, sentence: statements.ComparedSentence) -> _End:
    fields = {name: memory.field(name) for name in ("source", "rule", "author", "session")}
    evidence = evidence_of(memory.fields)
    text = sentence.text
    return memory, extended(memory, ContradictionSide, text=text, evidence=evidence, **fields)


def _pair(kind: statements.Difference, ends: tuple[_End, _End], index: Index) -> Pair:
    vaults = {vault.name: vault for vault in index.vaults}
    (left, first), (right, second) = sorted(ends, key=lambda end: end[0].address)
    names = [ledger_name(memory, vaults[memory.vault]).memory for memory in (left, right)]
    # With the texts: who settles a contradiction has read these and no others.
    said = (f"{name} {side.text}" for name, side in zip(names, (first, second), strict=True))
    both = "\n".join(sorted(said))
    identity = f"con_{derived_id(both).removeprefix('mem_')[:10]}"
    subjects = zip(names, (left.hash, right.hash), strict=True)
    return Pair(Contradiction(identity, kind, first, second), tuple(subjects))


MOST_NOTES = 5_000
"""Notes whose vectors are compared, the newest first. Comparing them takes a few seconds."""

NEAREST = 5
"""Number of nearest notes with which a note is compared."""

LEAST = 0.5
"""The minimum cosine of two notes. Contradictory notes in other words have .6 or more, with the
packaged model and different titles."""

BLOCK = 500
"""Notes that are compared with all others at once."""


def _near_notes(
    index: Index, memories: Sequence[IndexedMemory], owners: Mapping[str, str | None]
) -> Iterator[tuple[int, int]]:
    """Pairs of positions in `memories` of notes whose beginnings are near each other in meaning.

    An agent sees both notes. There are none without vectors, as long as no note is embedded.
    """
    chunks = {memory.first_chunk: at for at, memory in enumerate(memories[:MOST_NOTES])}
    embedded = vectors_of(index, chunks)
    if len(embedded) < 2:
        return
    import numpy as np

    places = [chunks[chunk] for chunk in embedded]
    vectors = np.stack([*embedded.values()])
    readers = [owners[memories[place].vault] for place in places]
    pairs: set[tuple[int, int]] = set()
    for owner in {*readers} - {None} or {None}:
        seen = [at for at, reader in enumerate(readers) if reader in (None, owner)]
        own, nearest = vectors[seen], min(NEAREST, len(seen) - 1)
        for start in range(0, len(seen), BLOCK):
            cosines = own[start : start + BLOCK] @ own.T
            best = np.argpartition(-cosines, nearest, axis=1)[:, : nearest + 1]
            for row, column in np.argwhere(np.take_along_axis(cosines, best, 1) >= LEAST).tolist():
                first, second = sorted((places[seen[start + row]], places[seen[best[row, column]]]))
                if first != second:
                    pairs.add((first, second))
    yield from sorted(pairs)


def vectors_of(index: Index, chunks: Iterable[int | None]) -> Mapping[int | None, Vectors]:
    """The vector of each chunk that has one."""
    import numpy as np

    space = index.vectors.space
    if space is None:
        return {}
    # Any vector does: only the vectors of the chunks are wanted.
    probe = np.zeros(space.dimensions, dtype="<f4")
    measured = index.vectors.measure(probe, [chunk for chunk in chunks if chunk is not None])
    return {key: near.vector for key, near in measured.items()}
