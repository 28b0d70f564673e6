"""Turns the chosen candidates into hits: titles, paths and snippets."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from djinn_memory.models import Hit, Part, Vault, extended
from djinn_memory.notes.dates import moment
from djinn_memory.notes.markdown import inline
from djinn_memory.notes.periods import Period, period_of, spoken_period
from djinn_memory.search.backend import Vocabulary
from djinn_memory.search.candidate import Candidate
from djinn_memory.search.fusion import shown
from djinn_memory.search.snippet import answering, excerpt, is_filler, snippet
from djinn_memory.search.state import Search, ValueThen
from djinn_memory.search.time.now import HISTORY
from djinn_memory.store.index.records import IndexedMemory

MOST_WORDS = 50_000
"""Number of words whose stems a long-lived process caches: a few MB."""

_COMPOUND = re.compile(r"\w+(?:-\w+)+")
_WORD = re.compile(r"\w")

_STEMS: dict[tuple[str, ...], dict[str, list[str]]] = {}
"""Stems of words, by the languages of an index. They do not depend on the query."""


def present(search: Search) -> None:
    """Turn the chosen candidates of a search into its hits."""
    search.memories_of(search.chosen)
    matches = _Matches(search.index.words, search.stems).__getitem__
    now = search.as_of or moment(search.runtime.now())
    hits = []
    for rank, candidate in enumerate(search.chosen, 1):
        hit = _hit(search, candidate, rank, matches, now)
        if then := search.time.values.get(candidate.memory_id):
            hit = _with_value(hit, then, matches, search.limits.excerpt)
        hits.append(hit)
    search.hits = tuple(hits)


def _hit(
    search: Search, candidate: Candidate, rank: int, matches: Callable[[str], bool], now: str
) -> Hit:
    chunk = search.chunk(candidate.shown_chunk)
    memory = search.lookup([candidate.memory_id])[candidate.memory_id]
    text = chunk.text
    if memory.plane == "knowledge":
        # Imported here: few searches find a fact or an entity.
        from djinn_memory.notes.fact_note import readable

        text = readable(text)
    as_indexed = text == chunk.text
    window = (0, 0) if candidate.stand_in or not as_indexed else candidate.window or (0, 0)
    # A window of links in a chunk that says more shows nothing.
    if window[1] <= window[0] or is_filler(text[slice(*window)]):
        window = (0, len(text))
    page, heads = chunk.page, chunk.headings
    if chunk.parts and as_indexed:
        parts = (Part(0, page, heads), *chunk.parts)
        (_, page, heads), window = _answer(text, window, parts, matches)
    shown_part, marks = snippet(text, window, matches)
    if not _WORD.search(shown_part):
        # A heading without text, or a picture, shows its name.
        label = heads[-1] if heads and _WORD.search(heads[-1]) else memory.title
        shown_part, marks = snippet(label, (0, len(label)), matches)
    document = memory.plane == "documents"
    period = period_of(memory.field("valid_from"), memory.field("valid_to"))
    if memory.type == "fact" and chunk.headings[-1:] == (HISTORY,):
        # The values that are shown held until the current one began.
        period = Period(None, period.start)
    return extended(
        memory,
        Hit,
        rank=rank,
        lines=chunk.lines,
        page_number=page,
        total_pages=_pages(memory) if document else None,
        document_id=memory.id if document else None,
        filename=memory.field("filename") if document else None,
        chunk_index=chunk.ordinal,
        heading=tuple(inline(heading) for heading in heads),
        snippet=shown_part,
        marks=marks,
        excerpt=excerpt(text, window, matches, search.limits.excerpt),
        score=shown(candidate.score),
        legs=candidate.legs(search.weights),
        context=_context(search.vault_of[memory.vault], memory.path),
        feedback=candidate.feedback,
        before=candidate.before,
        valid_from=period.start,
        valid_to=period.end,
        holds=spoken_period(period, now),
        via=_via(search, candidate),
    )


def _via(search: Search, candidate: Candidate) -> tuple[str, ...]:
    """The titles of the memories through which a leg came to a candidate."""
    path = next(filter(None, (leg.path(search, candidate) for leg in search.asked)), ())
    memories = search.lookup(path)
    return tuple(memories[key].title for key in path)


def _with_value(hit: Hit, then: ValueThen, matches: Callable[[str], bool], characters: int) -> Hit:
    """The hit for a fact with the value that it had at another time than now."""
    text = then.value.value
    window = (0, len(text))
    shown_part, marks = snippet(text, window, matches)
    # A word of `led-by` is highlighted with the whole key.
    keys = [key.span() for key in _COMPOUND.finditer(shown_part)]
    marks = tuple(
        dict.fromkeys(
            next(((low, high) for low, high in keys if low <= start < high), (start, end))
            for start, end in marks
        )
    )
    return replace(
        hit,
        lines=(then.line, then.line),
        snippet=shown_part,
        marks=marks,
        excerpt=excerpt(text, window, matches, characters),
        valid_from=then.value.valid_from,
        valid_to=then.value.until,
        holds=spoken_period(then.value.period, then.at),
        as_of=then.at,
    )


def _answer(
    text: str, window: tuple[int, int], parts: Sequence[Part], matches: Callable[[str], bool]
) -> tuple[Part, tuple[int, int]]:
    """The page or section of a chunk that answers, and the position of the answer in it."""
    ends = [*(part.offset for part in parts[1:]), len(text)]
    spans = [(part.offset, end) for part, end in zip(parts, ends, strict=True)]
    best, inner = answering(text, window, spans, matches)
    return parts[best], inner


def _pages(memory: IndexedMemory) -> int | None:
    """The number of pages of a document."""
    pages = memory.field("total_pages") or ""
    return int(pages) if pages.isdecimal() and len(pages) < 10 else None


def _context(vault: Vault, path: str) -> str | None:
    """The description of the innermost described folder that contains `path`."""
    texts = [(len(prefix), text) for prefix, text in vault.contexts if path.startswith(prefix)]
    return max(texts)[1] if texts else None


class _Matches(dict[str, bool]):
    """Whether a word matches a query with these stems, by word.

    It is a dictionary because a search tests thousands of words.
    """

    def __init__(self, vocabulary: Vocabulary, stems: AbstractSet[str]) -> None:
        self._vocabulary = vocabulary
        self._stems = stems
        self._known = _STEMS.setdefault(vocabulary.languages, {})
        if len(self._known) > MOST_WORDS:
            self._known.clear()

    def __missing__(self, word: str) -> bool:
        terms = self._known.get(word)
        if terms is None:
            # A run of a script without spaces is split pair by pair: the first is the pair.
            first = self._vocabulary.split(word)[:1]
            terms = [stem for each in first for stem in self._vocabulary.stems(each)]
            self._known[word] = terms
        answers = self[word] = not self._stems.isdisjoint(terms)
        return answers
