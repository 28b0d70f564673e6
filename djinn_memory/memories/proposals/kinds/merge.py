"""Proposals to merge notes of one vault that say the same.

Pairs of near vectors are found without comparing all pairs. Random hyperplanes give each vector a
code of bits: the probability that two vectors differ in a bit is their angle divided by pi
(Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002). Only vectors
with an equal code in one of several bands are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, islice, product
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.catalog import is_diary, ledger_name
from djinn_memory.memories.contradictions.finder import vectors_of
from djinn_memory.memories.contradictions.statements import difference, statements
from djinn_memory.memories.entities.merge import add_merge
from djinn_memory.memories.proposals import kind
from djinn_memory.memories.proposals.log import Finding, dismissed_groups
from djinn_memory.memories.writing import duplicates
from djinn_memory.models import Filters, Vault, Vectors
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MOST = 6
"""Notes of one proposal. More notes with one text are a form that was filled in."""

MOST_STATEMENTS = 50
"""Statements of a note that are compared with those of another."""

PAGE = 500
"""Notes whose texts are read at once."""

NO_MODEL = "only equal texts were compared, because the notes are not embedded"

_APART = frozenset({"superseded", "archived", "proposed", "expired"})
"""Values of `status` for notes that are not merged: they are kept as they were."""

_LEFT_OUT = Filters(
    excluded=(
        ("plane", "documents"), ("plane", "episodic"), ("type", "profile"), ("type", "calendar"),
        ("type", "fact"),
    )
)  # fmt: skip
"""Facts are compared by category and key. `djinn entity merge` merges entities."""

_NO_PROSE = re.compile(r"!?\[\[[^\]]*\]\]|!?\[[^\]]*\]\([^)]*\)|^#+ .*|\{\{.*?\}\}", re.MULTILINE)

_KNOWLEDGE = frozenset({"relationship", "skill"})
"""Types of the plane `knowledge` that are no entities."""

_FIELDS = ("status", "source", "due", "rule", DOMAIN)


class _Note(Struct, frozen=True):
    """A note that may be merged."""

    memory: IndexedMemory
    name: str
    """Its name in the ledger."""
    text: str

    @property
    def words(self) -> tuple[str, ...]:
        """Its words, without case and white space."""
        return tuple(fold(self.text).split())

    @property
    def is_form(self) -> bool:
        """Whether it has too few words of its own besides headings, links and embeds."""
        return len(_NO_PROSE.sub(" ", self.text).split()) < duplicates.FEWEST_WORDS


_Edges = dict[tuple[int, int], str]
"""Pairs of positions of notes that say the same, and how that is known."""


def _find(runtime: Runtime, agent: str | None) -> list[Finding]:
    """The groups of notes that say the same and that only one agent reads, or with None all agents.

    Only notes of one vault, type and domain are compared. Without vectors, only equal texts count.
    """
    selection = kind.notes_of(runtime, agent, _LEFT_OUT, runtime.now())
    if selection is None:
        return []
    findings: list[Finding] = []
    with runtime.index(runtime.home.visible(agent)) as index:
        groups: dict[tuple[object, ...], list[IndexedMemory]] = {}
        for memory in index.memories(selection, fields=_FIELDS):
            if _may_merge(memory):
                groups.setdefault(_group(memory), []).append(memory)
        for memories in groups.values():
            findings += _found(runtime, index, memories)
    return findings


def find_new(runtime: Runtime, vault: Vault, paths: Sequence[str]) -> list[Finding]:
    """The groups among the notes at these paths of a vault and the nearest to each of them."""
    selection = kind.notes_of(runtime, vault.agent, _LEFT_OUT, runtime.now())
    if selection is None or vault.name not in selection.filters.vaults:
        return []
    selection = replace(selection, filters=replace(selection.filters, vaults=(vault.name,)))
    new = replace(selection, places=tuple((vault.name, path) for path in paths))
    findings: list[Finding] = []
    with runtime.index(runtime.home.visible(vault.agent)) as index:
        for memory in filter(_may_merge, index.memories(new, fields=_FIELDS)):
            group = {memory.memory_id: memory}
            for vector in vectors_of(index, [memory.first_chunk]).values():
                near = index.vectors.nearest(vector, selection, duplicates.NEIGHBOURS)
                group |= index.lookup([ref.memory_id for ref in near], fields=_FIELDS)
            same = [each for each in group.values() if _group(each) == _group(memory)]
            findings += _found(runtime, index, list(filter(_may_merge, same)))
    return findings


def _found(runtime: Runtime, index: Index, memories: Sequence[IndexedMemory]) -> list[Finding]:
    """The groups of notes that say the same among those with one key."""
    if len(memories) < 2:
        return []
    dismissed = dismissed_groups(runtime.state.ledger_if_any, KIND.name)
    vault = next(vault for vault in index.vaults if vault.name == memories[0].vault)
    notes = list(_notes(index, memories, vault))
    pairs = _edges(runtime, index, notes).items()
    edges = {pair: how for pair, how in pairs if _is_open(notes, pair, dismissed)}
    return list(_findings(index, notes, edges, vault))


def _may_merge(memory: IndexedMemory) -> bool:
    return (
        (memory.plane != "knowledge" or memory.type in _KNOWLEDGE)
        and fold(memory.field("status") or "") not in _APART
        and not (memory.type == "pattern" and memory.field("source") == "consolidation")
        and not is_diary(memory)
        and not kind.is_copy(memory)
        and memory.first_chunk is not None
    )


def _group(memory: IndexedMemory) -> tuple[object, ...]:
    """The key that must be equal in notes that are merged. It also decides who may read them."""
    domains = frozenset(fold(value) for key, value in memory.fields if key == DOMAIN)
    return memory.vault, memory.type, domains, memory.field("due")


def _notes(index: Index, memories: Sequence[IndexedMemory], vault: Vault) -> Iterator[_Note]:
    for start in range(0, len(memories), PAGE):
        page = memories[start : start + PAGE]
        chunks = index.chunks_of([memory.memory_id for memory in page])
        for memory in page:
            text = "\n".join(chunk.text for chunk in chunks.get(memory.memory_id, ()))
            yield _Note(memory, ledger_name(memory, vault).memory, text)


def _edges(runtime: Runtime, index: Index, notes: Sequence[_Note]) -> _Edges:
    """The pairs of notes of one group that say the same."""
    same: dict[tuple[str, ...], list[int]] = {}
    for at, note in enumerate(notes):
        # Of a few words the title says what they are about.
        title = (fold(note.memory.title),) if note.is_form else ()
        same.setdefault(title + note.words, []).append(at)
    embedded = index.vectors.space is not None
    how = "equal text" if embedded else f"equal text; {NO_MODEL}"
    alike = [group for group in same.values() if 1 < len(group) <= MOST]
    edges = {pair: how for group in alike for pair in combinations(group, 2)}
    forms = {at for group in same.values() if len(group) > MOST for at in group}
    if embedded:
        for first, second, cosine in _near(runtime, index, notes):
            if (first, second) not in edges and not {first, second} & forms:
                alike_by = _how_alike(runtime, index, notes[first], notes[second], cosine)
                edges |= {(first, second): alike_by} if alike_by else {}
    return edges


def _near(
    runtime: Runtime, index: Index, notes: Sequence[_Note]
) -> Iterator[tuple[int, int, float]]:
    """Pairs of notes whose beginnings are near each other in meaning, on the model's own scale."""
    import numpy as np

    places = {note.memory.first_chunk: at for at, note in enumerate(notes)}
    vectors = vectors_of(index, places)
    if len(vectors) < 2:
        return
    ends = sorted(places[chunk] for chunk in vectors)
    rows = np.stack([vectors[notes[at].memory.first_chunk] for at in ends])
    # Another day in front of a text lowers the cosine.
    for first, second, cosine in near_pairs(
        rows, _threshold(runtime, index) - duplicates.DAY_ALLOWANCE
    ):
        yield ends[first], ends[second], cosine


def _how_alike(
    runtime: Runtime, index: Index, first: _Note, second: _Note, cosine: float
) -> str | None:
    """How two near notes say the same; None if they do not."""
    left, right = (f"{note.memory.title} {note.text}" for note in (first, second))
    if first.is_form or second.is_form or duplicates.numbers(left) != duplicates.numbers(right):
        return None
    if _contradict(first.text, second.text):
        return None
    if cosine >= _threshold(runtime, index):
        least = min(cosine, _least_cosine(index, first.memory, second.memory))
        if least >= _threshold(runtime, index):
            return f"cosine {least:.3f}"
    share = duplicates.likeness(first.text, second.text)
    return f"{share:.0%} of the words in common" if share >= duplicates.SAME_WORDS else None


def _contradict(first: str, second: str) -> bool:
    """Whether two texts differ in a number, a date or a negation."""
    sides = [list(islice(statements(text), MOST_STATEMENTS)) for text in (first, second)]
    return any(difference(left, right) for left, right in product(*sides))


def _least_cosine(index: Index, first: IndexedMemory, second: IndexedMemory) -> float:
    """The cosine of the part of either note that is least like all parts of the other."""
    import numpy as np

    chunks = index.chunks_of([first.memory_id, second.memory_id])
    parts = []
    for memory in (first, second):
        ids = [chunk.chunk_id for chunk in chunks[memory.memory_id]]
        vectors = vectors_of(index, ids)
        if len(vectors) < len(ids):
            return -1.0
        parts.append(np.stack([vectors[chunk] for chunk in ids]))
    cosines = parts[0] @ parts[1].T
    return float(min(cosines.max(axis=0).min(), cosines.max(axis=1).min()))


def _threshold(runtime: Runtime, index: Index) -> float:
    """The cosine of texts that say the same, on the model's own scale."""
    space, settings = index.vectors.space, runtime.home.config.thresholds
    if space is None or not space.calibration.scale:
        return 2.0
    line = space.calibration
    return (settings.models.get(space.identity, settings).duplicate - line.shift) / line.scale


def _is_open(
    notes: Sequence[_Note], pair: tuple[int, int], dismissed: Collection[frozenset[str]]
) -> bool:
    """Whether a pair is in no group that was dismissed, by its names or by its texts."""
    first, second = ({notes[at].name, notes[at].memory.hash} for at in pair)
    return not any(group & first and group & second for group in dismissed)


def _findings(
    index: Index, notes: Sequence[_Note], edges: _Edges, vault: Vault
) -> Iterator[Finding]:
    """Groups of notes of which every two say the same. The first note of each is kept."""
    linked: dict[int, set[int]] = {}
    for first, second in edges:
        linked.setdefault(first, set()).add(second)
        linked.setdefault(second, set()).add(first)
    if not linked:
        return
    listed = index.links([notes[at].memory.memory_id for at in linked])
    links = Counter(link.target for link in listed if link.source != link.target)

    def rank(at: int) -> tuple[int, bool, str, str]:
        """The most linked note first, then one with an id, then the oldest."""
        memory = notes[at].memory
        return -links[memory.memory_id], memory.id is None, memory.date, memory.path

    free = set(linked)
    for target in sorted(linked, key=rank):
        if target not in free:
            continue
        group = [target]
        for other in sorted(linked[target] & free, key=rank):
            if len(group) < MOST and all(other in linked[member] for member in group):
                group.append(other)
        if len(group) > 1:
            free -= {*group}
            how = [edges[min(pair), max(pair)] for pair in combinations(group, 2)]
            yield _finding([notes[at] for at in group], how, vault)


def _finding(notes: Sequence[_Note], how: Sequence[str], vault: Vault) -> Finding:
    equal = all(each.startswith("equal") for each in how)
    reason = f"{count(len(notes), 'note')} have {'the same' if equal else 'nearly the same'} text."
    subjects = tuple((note.name, note.memory.hash) for note in notes)
    return Finding(subjects, reason, tuple(dict.fromkeys(how)), vault.id)


def _carry_out(acceptance: kind.Acceptance, proposal: kind.LiveProposal) -> None:
    target, *gone = proposal.memories
    for memory in proposal.memories:
        acceptance.check(memory)
    for memory in gone:
        left = add_merge(acceptance.changes, acceptance.index, memory, target, acceptance.joined)[2]
        acceptance.problems += left


KIND = kind.ProposalKind(
    "merge",
    action="Merges the notes into the first, which keeps what all of them say. Links to the others "
    "lead to it.",
    describe=lambda titles: f"Merged {' and '.join(titles[1:])} into {titles[0]}",
    find=_find,
    carry_out=_carry_out,
)


BANDS = 64
"""The number of codes of a vector. With 16 bits, pairs with a cosine of .92 share at least one code
with a probability of .9995, and pairs with .82 of .87."""

FEWEST_BITS, MOST_BITS = 8, 16
"""The length of a code. About as many codes as vectors, so that few share one by chance."""

WIDEST = 50
"""Vectors with one code are compared with so many that follow. Hundreds of near vectors are a form
that was filled in."""


def near_pairs(vectors: Vectors, least: float) -> Iterator[tuple[int, int, float]]:
    """Pairs of rows with a cosine of at least `least`, and that cosine. Rows have the length 1.

    The pairs are the same each time. The cost grows with the number of rows, not with its square.
    """
    import numpy as np

    count, dimensions = vectors.shape
    bits = min(MOST_BITS, max(FEWEST_BITS, count.bit_length()))
    random, weights = np.random.default_rng(0), 1 << np.arange(bits)
    near: dict[tuple[int, int], float] = {}
    for _ in range(BANDS):
        planes = random.standard_normal((dimensions, bits)).astype("<f4")
        codes = ((vectors @ planes) > 0) @ weights
        for left, right in _with_equal_codes(codes):
            cosines = np.einsum("ij,ij->i", vectors[left], vectors[right])
            close = cosines >= least
            pairs = zip(left[close].tolist(), right[close].tolist(), strict=True)
            near |= zip(pairs, cosines[close].tolist(), strict=True)
    for (first, second), cosine in sorted(near.items()):
        yield first, second, cosine


def _with_equal_codes(
    codes: NDArray[np.int64],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of positions with equal codes, as arrays of their first and of their second ends."""
    import numpy as np

    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    for distance in range(1, min(WIDEST, len(codes) - 1) + 1):
        at = np.flatnonzero(ordered[distance:] == ordered[:-distance])
        if not len(at):
            return
        # A stable sort keeps the order of equal codes, so that the first is the smaller.
        yield order[at], order[at + distance]
