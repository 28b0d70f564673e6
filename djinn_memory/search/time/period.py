"""The period that a question asks about: puts the memories from it first.

A period may lie beside an event, as in `before the launch`. Memories tell the days of the event.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.languages.date_phrases import DatePhrase, date_phrases
from djinn_memory.languages.days import DayWindow
from djinn_memory.languages.word_lists import stop_words
from djinn_memory.models import AskedPeriod, Filters
from djinn_memory.search.candidate import DATES, NAME, Candidate
from djinn_memory.search.legs.words_query import compose, content
from djinn_memory.search.query import QuestionDates
from djinn_memory.search.stages.gather import NEWEST, gather
from djinn_memory.search.state import Search
from djinn_memory.search.time.now import Now
from djinn_memory.search.time.question import NamedEvent, around_event, event_in_question
from djinn_memory.search.time.statements import answering, statements, stems, then
from djinn_memory.store.index.records import IndexedChunk, IndexedMemory, MemorySize, WordMatch

CHUNKS_OF_EVENT = 200
"""Chunks with all words of the event that are read. An event in more chunks is no single one."""

LONGEST_EVENT = timedelta(days=3)
"""Maximum length of an event. Memories further apart speak of several events."""

MOST_EVENTS = 3
"""Maximum number of events that could be meant. More are a recurring event, or a common word."""


class _DatedEvent(Struct, frozen=True):
    """Memories that tell of one event."""

    memories: tuple[IndexedMemory, ...]
    """The memories, the one that the words of the event match best first."""
    window: DayWindow
    """From the first of their days to the last."""


def _days_of(memory: IndexedMemory, today: date) -> DayWindow | None:
    """The days that a memory is from; None if only its file has a time.

    They are its own date, or a date with a year in its title. The day on which a document was
    ingested does not count.
    """
    if memory.plane == "documents":
        return None
    if memory.dated:
        day = _local_day(memory.date)
        return DayWindow(day, day) if day else None
    for phrase in date_phrases(memory.title, today):
        if not phrase.yearly and phrase.window.first and phrase.window.last:
            return phrase.window
    return None


def _local_day(text: str) -> date | None:
    try:
        if "T" not in text:
            return date.fromisoformat(text[:10])
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone().date()
    except (ValueError, OverflowError):
        return None


def _dates_of_event(search: Search, event: NamedEvent, today: date) -> QuestionDates | None:
    """The period before, after or during an event; None if its days are uncertain.

    The days are those of the memories that are called like the event, else of those with all its
    words in the title, else of those with all its words in the text. If they tell of several
    events, the one that answers the whole question best is meant.
    """
    words = compose(search.index.words, (event.name,), ())
    if words is None or not words.terms:
        return None
    match = WordMatch(words.terms, every=True)
    refs = search.index.words.search(match, search.selection, CHUNKS_OF_EVENT)
    if len(refs) == CHUNKS_OF_EVENT:
        return None
    memories = search.lookup({ref.memory_id for ref in refs})
    for group in _groups(search, event, [memories[ref.memory_id] for ref in refs]):
        events = _events(group, today)
        if len(events) > MOST_EVENTS:
            return None
        if events:
            events = _best_first(search, events)
            first, last = events[0].window.first, events[0].window.last
            assert first and last
            window = around_event(event, first, last)
            several = tuple(map(_shown, events)) if events[1:] else ()
            # The event is a subject: statements about it come first.
            return QuestionDates((event.words,), (window,), False, False, events=several)
    return None


def _events(memories: Sequence[IndexedMemory], today: date) -> list[_DatedEvent]:
    """The events that memories tell of, by their days. Memories without days tell of none."""
    dated = [(days, memory) for memory in memories if (days := _days_of(memory, today))]
    events: list[_DatedEvent] = []
    for days, memory in sorted(dated, key=lambda entry: (entry[0].first, entry[0].last)):
        first, last = days.first, days.last
        assert first and last
        before = events[-1].window if events else None
        if before and before.first and before.last and last - before.first <= LONGEST_EVENT:
            window = DayWindow(before.first, max(before.last, last))
            events[-1] = _DatedEvent((*events[-1].memories, memory), window)
        else:
            events.append(_DatedEvent((memory,), days))
    return [
        replace(event, memories=tuple(sorted(event.memories, key=memories.index)))
        for event in events
    ]


def _best_first(search: Search, events: list[_DatedEvent]) -> list[_DatedEvent]:
    """Events in the order in which their memories answer the question."""
    scores: dict[int, float] = {}
    for candidate in search.candidates:
        key = candidate.memory_id
        scores[key] = max(scores.get(key, 0.0), candidate.score)

    def score(event: _DatedEvent) -> float:
        return max(scores.get(memory.memory_id, 0.0) for memory in event.memories)

    return sorted(events, key=score, reverse=True)


def _shown(event: _DatedEvent) -> str:
    return f"{event.memories[0].title} ({event.window.first})"


def _groups(
    search: Search, event: NamedEvent, memories: list[IndexedMemory]
) -> Iterator[list[IndexedMemory]]:
    """The memories called like the event, those with its words in the title, and all of them."""
    vocabulary = search.index.words
    name = content(vocabulary, event.name)
    titles = [content(vocabulary, memory.title) for memory in memories]
    pairs = [*zip(memories, titles, strict=True)]
    yield [memory for memory, title in pairs if title == name]
    yield [memory for memory, title in pairs if name <= title]
    yield memories


_WORD = re.compile(r"[^\W_]{2,}")

CANCELLED = frozenset({"cancelled", "canceled", "dropped"})
"""The statuses of plans that never began, which no period orders."""

FROM_PERIOD, ABOUT_PERIOD = 1.0, 0.5
"""The verdicts on a memory that is from the period, and on one whose text names a day of it."""

MATCH = 0.6
"""The share of the best candidate's values, fused and by each leg, that a candidate needs to come
first because it is from the period. Measured by `benchmarks/dated_questions.py`: with .6 one of 200
dated forms of questions about one note loses its first hit, with .5 six; sessions about a topic
reach .7."""

SAME_SUBJECT = 0.4
"""The share of the best score that a statement needs to be ordered among statements. They differ in
their verbs: "moved to" answers "where did she live"."""

EARLIER = 10
"""How many years back the days of a question without a year are looked for."""

READ = 60
"""Candidates whose text is searched for days of the period. For 69 questions with dates about
conversations, recall@5 of sessions is .978 with them, and .949 without."""

STATEMENT = 300
"""Maximum characters of a memory that is one statement, which holds until the next one."""

LONGEST_MENTION = 45
"""Maximum days of a period in a text. "Last year" in a text says little about a day."""

SAME_DAY = 0.9
"""The factor for each better memory of the same day, which spreads the first hits over the
period."""

SPREAD = 50
"""Number of candidates that are spread. Lower ones are rarely seen."""


def asked_period(search: Search) -> _QuestionPeriod | None:
    """The period that a question asks about, read from its words; None for no period."""
    today = search.runtime.now().astimezone().date()
    dates = search.query.dates
    if dates is None and (event := event_in_question(search.query.text)):
        dates = _dates_of_event(search, event, today)
    return _QuestionPeriod(search, dates, today) if dates else None


class _Arranged(Struct):
    """Candidates by their relation to a period, each list best first."""

    named: list[Candidate]
    """Those that were asked for by their names."""
    inside: list[Candidate]
    """Those from the period, those that held in it, and those whose text names a day of it."""
    others: list[Candidate]
    began: dict[int, date]
    """The chunks of the others that are statements, with the day on which what they say began."""


class _QuestionPeriod(Now):
    """The period that a question asks about, and which memories are from it.

    Only what matches the question is put in the order of time. Candidates from the period may be
    below the depth of the legs, so more are gathered. A period without a year is moved to the most
    recent year that has memories.
    """

    def __init__(self, search: Search, dates: QuestionDates, today: date) -> None:
        super().__init__(search)
        self._dates = dates
        self._today = today
        self._days: dict[int, DayWindow | None] = {}
        """The days that a memory is from, for each memory that was looked up."""
        self._phrases: dict[int, list[DatePhrase]] = {}
        """The expressions of time in the texts of chunks that were read."""
        self._sizes: dict[int, MemorySize] = {}
        """The sizes of the memories of these chunks."""
        self.windows = dates.windows
        self.time_words = content(search.index.words, " ".join(dates.words))
        self._gather(search)

    def _gather(self, search: Search) -> None:
        """Add candidates from the period."""
        proposed = search.candidates
        for years in range(EARLIER if self._dates.yearly else 1):
            self.windows = self._dates.earlier(years)
            search.candidates = self._with_more(search, proposed)
            if self._arrange(search).inside:
                return
        self.windows = self._dates.windows
        search.candidates = proposed

    def _with_more(self, search: Search, proposed: Sequence[Candidate]) -> list[Candidate]:
        """The candidates, and others from the period, best first."""
        candidates = {each.chunk_id: each for each in proposed}
        for window in self.windows:
            filters = _narrowed(search.selection.filters, window)
            selection = replace(search.selection, filters=filters)
            if search.index.count(selection):
                for candidate in gather(search, filters):
                    candidates.setdefault(candidate.chunk_id, candidate)
            if self._dates.everything:
                for memory in search.index.memories(selection, limit=NEWEST, fields=()):
                    if memory.first_chunk is not None:
                        listed = Candidate(memory.first_chunk, memory.memory_id)
                        candidates.setdefault(memory.first_chunk, listed)
        return sorted(candidates.values(), key=lambda candidate: -candidate.score)

    def _arrange(self, search: Search) -> _Arranged:
        memories = search.memories_of(search.candidates)
        candidates = sorted(search.candidates, key=lambda candidate: -candidate.score)
        best_match_first = sorted(search.candidates, key=lambda candidate: -candidate.fused)
        same = self._same_subject(search, best_match_first, memories)
        near = {candidate.chunk_id for candidate in best_match_first[:READ]}
        arranged = _Arranged([], [], [], {})
        self.values.clear()
        self.answered.clear()
        for candidate in candidates:
            memory = memories[candidate.memory_id]
            if NAME.name in candidate.verdicts:
                arranged.named.append(candidate)
                continue
            verdict, read = None, candidate.chunk_id in near
            held = (read or candidate.chunk_id in same) and self._held_then(search, memory)
            if memory.memory_id in self.answered:
                # Such as the leader of a project, asked for as "the project".
                verdict = FROM_PERIOD
            elif candidate.chunk_id in same and memory.field("status") not in CANCELLED:
                is_from = self._has(memory)
                if self._matches(search, candidate, best_match_first[0]):
                    if is_from or held:
                        verdict = FROM_PERIOD
                    elif read and self._may_be_from(search, candidate, memory):
                        verdict = ABOUT_PERIOD
                if verdict is None and read and (began := self._began(search, candidate)):
                    arranged.began[candidate.chunk_id] = began
            if verdict is None:
                arranged.others.append(candidate)
            else:
                arranged.inside.append(candidate.marked(DATES, verdict))
        return arranged

    def _matches(self, search: Search, candidate: Candidate, best: Candidate) -> bool:
        """Whether a candidate matches the question about as well as the best one."""
        return self._dates.everything or (
            candidate.fused >= MATCH * best.fused
            and all(
                candidate.value(leg.name) >= MATCH * best.value(leg.name) for leg in search.asked
            )
        )

    def _same_subject(
        self, search: Search, candidates: Sequence[Candidate], memories: Mapping[int, IndexedMemory]
    ) -> set[int]:
        """The chunks that match the question, and have the names in it that the best one has.

        A word is a name if the texts write it with a capital in the middle of a sentence.
        """
        if self._dates.everything:
            chosen = candidates
        else:
            chosen = [
                each
                for each in candidates
                if each.fused >= SAME_SUBJECT * candidates[0].fused
                and all(leg.scores_all or each.value(leg.name) for leg in search.asked)
            ]
        first, chunks = chosen[:READ], {each.chunk_id for each in chosen}
        search.load(each.chunk_id for each in first)
        self._sizes |= search.index.sizes({each.memory_id for each in first} - self._sizes.keys())
        if self._dates.everything:
            return chunks
        texts = [_text(memories[each.memory_id], search.chunk(each.chunk_id)) for each in first]
        together = "\n".join(texts)
        names = {
            word.casefold()
            for word in set(_WORD.findall(search.query.text)) - stop_words()
            if re.search(rf"[a-z,;] {word.capitalize()}\b", together)
        }
        held = [names.intersection(_WORD.findall(text.casefold())) for text in texts]
        pairs = zip(first, held, strict=True)
        return chunks - {each.chunk_id for each, own in pairs if not held[0] <= own}

    def _has(self, memory: IndexedMemory) -> bool:
        """Whether a memory is from the period."""
        days = self._days_of(memory)
        return days is not None and any(days.meets(window) for window in self.windows)

    def _days_of(self, memory: IndexedMemory) -> DayWindow | None:
        key = memory.memory_id
        if key not in self._days:
            self._days[key] = _days_of(memory, self._today)
        return self._days[key]

    def _held_then(self, search: Search, memory: IndexedMemory) -> bool:
        """Whether a fact had a value in the period, or an entity a property that answers."""
        self.held(search, memory, search.vault_of[memory.vault])
        return memory.memory_id in self.values

    def put_first(self, search: Search) -> None:
        """Put what matches the question in the order of time, before all else.

        First comes what is from the period, spread over its days. Other statements about the same
        take their places among the rest so that the last one to begin before the end of the period
        is first. A memory that was asked for by its name stays before all. If the question names no
        subject, the others say nothing about it and are left out.
        """
        arranged = self._arrange(search)
        inside = self._spread(arranged.inside, search.memories_of(arranged.inside))
        others = [] if self._dates.everything and inside else self._by_begin(arranged)
        search.candidates = [*arranged.named, *inside, *others]

    def _by_begin(self, arranged: _Arranged) -> list[Candidate]:
        began, end = arranged.began, max(window.last or date.max for window in self.windows)

        def order(candidate: Candidate) -> tuple[bool, int]:
            day = began[candidate.chunk_id]
            return day > end, 0 if day > end else -day.toordinal()

        statements = [each for each in arranged.others if each.chunk_id in began]
        ordered = iter(sorted(statements, key=order))
        return [next(ordered) if each.chunk_id in began else each for each in arranged.others]

    def judged(self, chosen: Sequence[Candidate]) -> bool | None:
        """Whether a memory of the period is shown, if all of them are asked for.

        For another question None, or False if no memory is from the period: what held or happened
        then is not known.
        """
        shown = any(DATES in candidate.verdicts for candidate in chosen)
        return shown if self._dates.everything or not shown else None

    def arranged(self, search: Search, chosen: list[Candidate]) -> list[Candidate]:
        """The chosen candidates; in order of time if all memories of the period are wanted."""
        chosen = super().arranged(search, chosen)
        if not self.judged(chosen):
            return chosen
        memories = search.memories_of(chosen)
        return sorted(chosen, key=lambda candidate: memories[candidate.memory_id].date)

    def shown(self) -> tuple[AskedPeriod, ...]:
        """The period for the answer."""
        return tuple(
            AskedPeriod(
                " ".join(self._dates.words),
                window.first.isoformat() if window.first else None,
                window.last.isoformat() if window.last else None,
                self._dates.events,
            )
            for window in self.windows
        )

    def _may_be_from(self, search: Search, candidate: Candidate, memory: IndexedMemory) -> bool:
        """Whether the text of a candidate names a day of the period, or its name the words of it.

        A memory without a date may be from a period that is open on one side.
        """
        headings = search.chunk(candidate.chunk_id).headings
        called = " ".join([memory.title, *memory.aliases, *headings])
        words = {stem for text in self._dates.words for stem in stems(search.index.words, text)}
        if words.issubset(stems(search.index.words, called)):
            return True
        if self._days[candidate.memory_id] is None and any(
            not (window.first and window.last) for window in self.windows
        ):
            return True
        if self._stated(search, search.chunk(candidate.chunk_id)):
            return True
        dated = self._days[candidate.memory_id] is not None
        for phrase in self._phrases_of(search, candidate):
            years = range(1)
            if phrase.yearly and dated:
                # A plan for May lies ahead of its text.
                years = range(-1, 1)
            elif phrase.yearly:
                # A text without a date could be from any year.
                years = range(-1, EARLIER if self._dates.yearly else -1)
            said = (phrase.window.earlier(number) for number in years)
            if any(_names(day, window) for day in said for window in self.windows):
                return True
        return False

    def _phrases_of(self, search: Search, candidate: Candidate) -> list[DatePhrase]:
        """The expressions of time in a text. Relative ones count from the day of the memory."""
        key = candidate.chunk_id
        if key not in self._phrases:
            chunk, days = search.chunk(key), self._days[candidate.memory_id]
            today = days.first if days and days.first else self._today
            text = "\n".join([*chunk.headings[-1:], chunk.text])
            self._phrases[key] = date_phrases(text, today, subjects=True)
        return self._phrases[key]

    def _began(self, search: Search, candidate: Candidate) -> date | None:
        """The day on which what a statement says began; None for other texts.

        It is the day that its text names, else that of the memory.
        """
        days, chunk = self._days[candidate.memory_id], search.chunk(candidate.chunk_id)
        single = self._sizes[candidate.memory_id].chunks == 1 and len(chunk.text) <= STATEMENT
        if not (single and days and days.first):
            return None
        said = {self._nearest(phrase, days.first) for phrase in self._phrases_of(search, candidate)}
        return said.pop() if len(said) == 1 else days.first

    def _nearest(self, phrase: DatePhrase, day: date) -> date | None:
        """The beginning of a period; without a year, the one that is nearest to a day."""
        years = range(-1, 1) if phrase.yearly and phrase.window.last else range(1)
        begins = (phrase.window.earlier(number).first for number in years)
        return min(filter(None, begins), key=lambda first: abs(first - day), default=None)

    def _stated(self, search: Search, chunk: IndexedChunk) -> bool:
        """Whether a history of an entity has a property that held then and answers."""
        if "\n- " not in f"\n{chunk.text}":
            return False
        listed = then([*statements(chunk.text)], None, self.windows)
        return bool(answering(listed, search.asked_words, search.index.words))

    def _spread(
        self, candidates: Sequence[Candidate], memories: Mapping[int, IndexedMemory]
    ) -> list[Candidate]:
        """Candidates in an order in which a day counts less each time that it was taken.

        If all memories of the period are wanted, a recurring event, such as a weekly meeting, is
        taken once before it is taken again.
        """
        days: Counter[DayWindow | None] = Counter()
        titles: Counter[str] = Counter()

        def order(candidate: Candidate) -> tuple[float, ...]:
            times = days[self._days_of(memories[candidate.memory_id])]
            if self._dates.everything:
                title = memories[candidate.memory_id].title
                return titles[title], times, -candidate.score
            return (-candidate.score * SAME_DAY**times,)

        left = list(candidates)
        chosen: list[Candidate] = []
        while left and len(chosen) < SPREAD:
            best = min(left, key=order)
            left.remove(best)
            days[self._days_of(memories[best.memory_id])] += 1
            titles[memories[best.memory_id].title] += 1
            chosen.append(best)
        return [*chosen, *left]


def _text(memory: IndexedMemory, chunk: IndexedChunk) -> str:
    return "\n".join([memory.title, *chunk.headings, chunk.text])


def _narrowed(filters: Filters, window: DayWindow) -> Filters:
    """The filters, and the days of a window."""
    begins = [filters.since] if filters.since else []
    begins += [window.first.isoformat()] if window.first else []
    ends = [filters.until] if filters.until else []
    ends += [window.last.isoformat()] if window.last else []
    return replace(filters, since=max(begins, default=None), until=min(ends, default=None))


def _names(said: DayWindow, wanted: DayWindow) -> bool:
    """Whether a period in a text is short enough to name days of the wanted one."""
    if not (said.first and said.last):
        return False
    longest = timedelta(days=LONGEST_MENTION)
    if wanted.first and wanted.last:
        longest = max(longest, wanted.last - wanted.first)
    return said.last - said.first <= longest and said.meets(wanted)
