"""Dates: puts the memories of the period that a question asks about first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.languages.date_phrases import date_phrases
from djinn_memory.languages.day_window import DayWindow
from djinn_memory.models import AskedPeriod, Filters, LegScore
from djinn_memory.search.candidates import NEWEST, Candidate, Search
from djinn_memory.search.dates.events import dates_of_event
from djinn_memory.search.dates.memory_days import days_of
from djinn_memory.search.dates.question import dates_in_question, event_in_question
from djinn_memory.search.stages.names import NAME
from djinn_memory.search.stages.statements import answering, statements, then
from djinn_memory.store.index.records import IndexedChunk, IndexedMemory

DATES = "dates"
"""The name of this stage among a candidate's verdicts."""

FROM_PERIOD, ABOUT_PERIOD = 1.0, 0.5
"""The verdicts on a memory that is from the period, and on one whose text names a day of it."""

EARLIER = 10
"""How many years back the days of a question without a year are looked for."""

READ = 60
"""Candidates from other times whose text is searched for days of the period. For 69 questions with
dates about conversations, recall@5 of sessions is .978 with them, and .949 without."""

LONGEST_MENTION = 45
"""Maximum days of a period in a text. "Last year" in a text says little about a day."""

SAME_DAY = 0.9
"""The factor for each better memory of the same day, which spreads the first hits over the
period."""

SPREAD = 50
"""Number of candidates that are spread. Lower ones are rarely seen."""


class QuestionPeriod(Struct):
    """The period that a question asks about, and which memories are from it."""

    words: str
    windows: tuple[DayWindow, ...]
    yearly: bool
    """Whether the question names no year."""
    today: date
    everything: bool = False
    """Whether the question asks for all memories of the period, and names no subject."""
    events: tuple[str, ...] = ()
    """The events that could be meant, if there are several. The first one is."""
    days: dict[int, DayWindow | None] = field(default_factory=dict)
    """The days that a memory is from, for each memory that was looked up."""
    about: set[int] = field(default_factory=set)
    """Chunks of other times whose text names a day of the period."""

    def has(self, memory: IndexedMemory) -> bool:
        """Whether a memory is from the period."""
        key = memory.memory_id
        if key not in self.days:
            self.days[key] = days_of(memory, self.today)
        days = self.days[key]
        return days is not None and any(days.meets(window) for window in self.windows)

    def put_first(self, search: Search) -> None:
        """Put memories from the period, and those whose text names a day of it, before the others.

        They are spread over their days. A memory that was asked for by its name stays before all.
        If the question names no subject, the others say nothing about it and are left out.
        """
        memories = search.lookup(candidate.memory_id for candidate in search.candidates)
        named: list[Candidate] = []
        inside: list[Candidate] = []
        others: list[Candidate] = []
        for candidate in search.candidates:
            if NAME in candidate.verdicts:
                named.append(candidate)
            elif self.has(memories[candidate.memory_id]):
                inside.append(_marked(candidate, FROM_PERIOD))
            elif candidate.chunk_id in self.about:
                inside.append(_marked(candidate, ABOUT_PERIOD))
            else:
                others.append(candidate)
        if self.everything and inside:
            others = []
        search.candidates = [*named, *_spread(self, inside, memories), *others]

    def answered(self, chosen: Sequence[Candidate]) -> bool:
        """Whether the question asks for all memories of the period, and one of them is shown."""
        return self.everything and any(DATES in candidate.verdicts for candidate in chosen)

    def in_sequence(self, search: Search, chosen: list[Candidate]) -> list[Candidate]:
        """The chosen candidates; in order of time if all memories of the period are wanted."""
        if not self.answered(chosen):
            return chosen
        memories = search.lookup(candidate.memory_id for candidate in chosen)
        return sorted(chosen, key=lambda candidate: memories[candidate.memory_id].date)

    def shown(self) -> tuple[AskedPeriod, ...]:
        """The period for the answer."""
        return tuple(
            AskedPeriod(
                self.words,
                window.first.isoformat() if window.first else None,
                window.last.isoformat() if window.last else None,
                self.events,
            )
            for window in self.windows
        )


def gather_dated(search: Search) -> QuestionPeriod | None:
    """The period that a question asks about, with more candidates from it; None for no period.

    Candidates from the period may be below the depth of the legs. A period without a year is moved
    to the most recent year that has memories.
    """
    today = search.runtime.now().astimezone().date()
    question = search.query.text
    dates = dates_in_question(question, today)
    if dates is None and (event := event_in_question(question)):
        dates = dates_of_event(search, event, today)
    if dates is None:
        return None
    period = QuestionPeriod(
        " ".join(dates.words),
        dates.windows,
        dates.yearly,
        today,
        dates.everything,
        dates.events,
    )
    inside: list[Candidate] = []
    for years in range(EARLIER if dates.yearly else 1):
        period.windows = dates.earlier(years)
        if inside := _from_period(search, period):
            break
    else:
        period.windows = dates.windows
    known = {candidate.chunk_id for candidate in inside}
    others = [each for each in search.candidates if each.chunk_id not in known]
    period.about.update(_about(search, period, others[:READ]))
    search.candidates = [*inside, *others]
    return period


def _from_period(search: Search, period: QuestionPeriod) -> list[Candidate]:
    """The candidates that are from the period by their own dates, best first."""
    candidates = {each.chunk_id: each for each in search.candidates}
    for window in period.windows:
        filters = _narrowed(search.selection.filters, window)
        selection = replace(search.selection, filters=filters)
        if search.index.count(selection):
            for candidate in search.gather(filters):
                candidates.setdefault(candidate.chunk_id, candidate)
        if period.everything:
            for memory in search.index.memories(selection, limit=NEWEST, fields=()):
                if memory.first_chunk is not None:
                    listed = Candidate(memory.first_chunk, memory.memory_id)
                    candidates.setdefault(memory.first_chunk, listed)
    memories = search.lookup(candidate.memory_id for candidate in candidates.values())
    inside = [each for each in candidates.values() if period.has(memories[each.memory_id])]
    return sorted(inside, key=lambda candidate: -candidate.score)


def _narrowed(filters: Filters, window: DayWindow) -> Filters:
    """The filters, and the days of a window."""
    begins = [filters.since] if filters.since else []
    begins += [window.first.isoformat()] if window.first else []
    ends = [filters.until] if filters.until else []
    ends += [window.last.isoformat()] if window.last else []
    return replace(filters, since=max(begins, default=None), until=min(ends, default=None))


def _about(
    search: Search, period: QuestionPeriod, candidates: Sequence[Candidate]
) -> Iterator[int]:
    """The chunks of candidates whose text names a day of the period.

    Relative words such as `yesterday` count from the day of the memory.
    """
    chunks = search.index.chunks([candidate.chunk_id for candidate in candidates])
    for candidate in candidates:
        days = period.days.get(candidate.memory_id)
        today = days.first if days and days.first else period.today
        chunk = chunks[candidate.chunk_id]
        if _stated(search, period, chunk):
            yield candidate.chunk_id
            continue
        text = "\n".join([*chunk.headings[-1:], chunk.text])
        for phrase in date_phrases(text, today, subjects=True):
            years = range(1)
            if phrase.yearly and days:
                # What a text plans for May lies ahead.
                years = range(-1, 1)
            elif phrase.yearly:
                # A text without a date could be from any year.
                years = range(-1, EARLIER if period.yearly else -1)
            said = (phrase.window.earlier(number) for number in years)
            if any(_names(day, window) for day in said for window in period.windows):
                yield candidate.chunk_id
                break


def _stated(search: Search, period: QuestionPeriod, chunk: IndexedChunk) -> bool:
    """Whether the history of an entity has a property that held then and answers the question."""
    if "\n- " not in f"\n{chunk.text}":
        return False
    listed = then([*statements(chunk.text)], None, period.windows)
    return bool(answering(listed, search.asked_words, search.index.words))


def _names(said: DayWindow, wanted: DayWindow) -> bool:
    """Whether a period in a text is short enough to name days of the wanted one."""
    if not (said.first and said.last):
        return False
    longest = timedelta(days=LONGEST_MENTION)
    if wanted.first and wanted.last:
        longest = max(longest, wanted.last - wanted.first)
    return said.last - said.first <= longest and said.meets(wanted)


def _marked(candidate: Candidate, verdict: float) -> Candidate:
    # It changes the order and not the score, which says how well the text matches.
    return replace(candidate, verdicts={**candidate.verdicts, DATES: LegScore(verdict, None, 0.0)})


def _spread(
    period: QuestionPeriod, candidates: Sequence[Candidate], memories: Mapping[int, IndexedMemory]
) -> list[Candidate]:
    """Candidates in an order in which a day counts less each time that it was taken.

    If all memories of the period are wanted, what recurs, such as a weekly meeting, is taken once
    before it is taken again.
    """
    days: Counter[DayWindow | None] = Counter()
    titles: Counter[str] = Counter()

    def order(candidate: Candidate) -> tuple[float, ...]:
        times = days[period.days[candidate.memory_id]]
        if period.everything:
            title = memories[candidate.memory_id].title
            return titles[title], times, -candidate.score
        return (-candidate.score * SAME_DAY**times,)

    left = list(candidates)
    chosen: list[Candidate] = []
    while left and len(chosen) < SPREAD:
        best = min(left, key=order)
        left.remove(best)
        days[period.days[best.memory_id]] += 1
        titles[memories[best.memory_id].title] += 1
        chosen.append(best)
    return [*chosen, *left]
