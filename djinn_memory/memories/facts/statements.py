"""Statements: the effect of a new value on the values of a fact, or of a property. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import UsageError
from djinn_memory.memories.facts.requests import CONFIDENCES, DEFAULT_SOURCE
from djinn_memory.memories.writing.provenance import Provenance
from djinn_memory.models import extended
from djinn_memory.notes.dates import moment
from djinn_memory.notes.fact_note import PastValue, Timeline, ordered
from djinn_memory.notes.periods import Period, begin_key, first_day, first_end, given_date

DEFAULT_CONFIDENCE = 0.70
"""The confidence of a value from a source that is not in `CONFIDENCES`."""

MOST_EVIDENCE = 20
"""Links that a value keeps as its evidence. The first tell most."""

Action = Literal["created", "changed", "verified", "recorded"]


class Statement(Struct, frozen=True):
    """A value that somebody states, with the period in which it holds."""

    value: str
    period: Period = Period()
    """The start and the end that were given. By default a value holds from now on."""
    source: str | None = None
    """The source that was given."""
    confidence: float | None = None
    """The confidence that was given. By default it depends on the source."""
    origin: Provenance = Provenance()
    source_context: str | None = None
    """Details about the source of a fact."""
    expires: str | None = None
    """When a fact expires."""

    def holding(self, began: str, now: str) -> PastValue:
        """The value as it is known from now on."""
        _check_period(began, self.period.end)
        source = self.source or DEFAULT_SOURCE
        usual = CONFIDENCES.get(source, DEFAULT_CONFIDENCE)
        return extended(
            self.origin,
            PastValue,
            rule=self.origin.rule or None,
            value=self.value,
            until=self.period.end,
            source=source,
            confidence=usual if self.confidence is None else self.confidence,
            valid_from=began,
            recorded=now,
        )

    def first(self, now: datetime) -> PastValue:
        """The value of a key that has none yet."""
        at = moment(now)
        return self.holding(self.period.start or at, at)

    def weakens(self, known: PastValue) -> bool:
        """Whether its source is less certain than that of the same value."""
        usual = CONFIDENCES.get(self.source or "", DEFAULT_CONFIDENCE)
        return bool(self.source) and self.confidence is None and usual < (known.confidence or 0)


class Stated(Struct, frozen=True):
    """The effect of a statement on the values of a key."""

    action: Action
    values: Timeline
    """The values after it: the same object if the history had the value already."""
    at: str
    """The time of the statement: not before the current value was set."""
    past: PastValue | None = None
    """The value that the history gets: the one before, or the stated one."""


def given_period(valid_from: str | None, valid_to: str | None, now: datetime) -> Period:
    """The period in a request. A month or a year begins with its first day."""
    start = given_date("valid_from", valid_from, now)
    return Period(start and first_day(start), given_date("valid_to", valid_to, now))


def stated(
    values: Timeline, statement: Statement, now: datetime, expires: str | None = None
) -> Stated:
    """The values of a key after a statement, and its effect.

    A value that began before the current one takes its place in the history. A value that began
    later becomes the current one, and the history keeps the other. The current value is confirmed,
    unless it `expires` before.
    """
    current = values.current
    now = _not_before(current, now)
    start = _start(values, statement, now)
    at = moment(now)
    began = start or at
    if start and begin_key(start) < begin_key(current.valid_from):
        return _in_the_past(values, statement.holding(start, at), at)
    # A beginning of its own makes a value of its own: another may turn out to lie between.
    confirms = current.value == statement.value and start in (None, current.valid_from)
    end = first_end(current.until, expires)
    if confirms and not Period(None, end).ended(began):
        return _confirmed(values, statement, began, at)
    # An expired value that is stated again held before its expiry, and holds from now on.
    holds = confirms and not current.period.ended(began)
    past = replace(current, until=first_end(end, began))
    after = Timeline(statement.holding(began, at), (past, *values.history))
    return Stated("verified" if holds else "changed", after, at, past)


def _in_the_past(values: Timeline, value: PastValue, at: str) -> Stated:
    """The values with one that began before the current one."""
    known = {(past.value, past.valid_from) for past in values.history}
    if (value.value, value.valid_from) in known:
        return Stated("verified", values, at)
    starts = (each.valid_from for each in (*values.history, values.current))
    later = (start for start in starts if begin_key(start) > begin_key(value.valid_from))
    past = replace(value, until=first_end(value.until, min(later, key=begin_key, default=None)))
    history = ordered((past, *values.history), values.current.valid_from)
    return Stated("recorded", Timeline(values.current, history), at, past)


def _confirmed(values: Timeline, statement: Statement, began: str, at: str) -> Stated:
    """The values after the current one was stated again. More evidence is added.

    A less certain source does not replace a better one.
    """
    current = values.current
    new = statement.holding(current.valid_from or began, at)
    given = statement.source or statement.confidence is not None
    if given and not statement.weakens(current):
        source = statement.source or current.source
        current = replace(current, source=source, confidence=new.confidence)
    evidence = tuple(dict.fromkeys((*current.evidence, *new.evidence)))
    if len(evidence) > len(current.evidence):
        current = replace(current, evidence=evidence[:MOST_EVIDENCE])
    ends = new.until not in (None, current.until)
    if ends:
        current = replace(current, until=new.until, recorded=at)
    after = Timeline(current, values.history)
    return Stated("changed" if ends else "verified", after, at)


def _start(values: Timeline, statement: Statement, now: datetime) -> str | None:
    """When a stated value begins; None if it does so now.

    A value for the day on which a known value began holds from that beginning on. Otherwise a value
    of `today` would begin before one that was set this morning. A value without a beginning holds
    from now until a value that was set for the future.
    """
    start = statement.period.start
    if not start:
        planned = begin_key(values.current.valid_from) > moment(now)
        return moment(now) if planned else None
    for value in (values.current, *values.history):
        known = value.valid_from
        if len(start) == 10 and known and "T" in known:
            local = datetime.fromisoformat(known).astimezone(now.astimezone().tzinfo)
            if start in (known[:10], local.date().isoformat()):
                return known
    return start


def _not_before(current: PastValue, now: datetime) -> datetime:
    """The time of a statement: not before the current value was set.

    Another process, or another machine whose clock is ahead, may have set it a moment ago.
    """
    begins = begin_key(current.valid_from)
    ahead = (current.recorded or "") >= begins > moment(now)
    return datetime.fromisoformat(begins) if ahead else now


def _check_period(start: str, end: str | None) -> None:
    if Period(None, end).ended(start):
        raise UsageError(
            f"{end}: the value would end before it begins ({start}); correct valid_from or "
            "valid_to",
            argument="valid_to",
        )
