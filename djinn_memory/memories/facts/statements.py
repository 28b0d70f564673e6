"""Statements about facts: what a new value does to the note of a fact. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import UsageError
from djinn_memory.memories.facts.queries import Fact
from djinn_memory.memories.facts.requests import CONFIDENCES, DEFAULT_SOURCE
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.provenance import ORIGIN, Provenance
from djinn_memory.models import extended
from djinn_memory.notes.dates import moment
from djinn_memory.notes.fact_note import PastValue, with_past, with_value, written
from djinn_memory.notes.frontmatter import edit_fields
from djinn_memory.notes.periods import Period, begin_key, first_end

FACT = "fact"
"""The type of a fact's note."""

DEFAULT_CONFIDENCE = 0.70
"""The confidence of a fact from a source that is not in `CONFIDENCES`."""

MOST_EVIDENCE = 20
"""Links that a fact keeps as evidence of its current value. The first tell most."""

Action = Literal["created", "changed", "verified", "recorded"]
Fields: TypeAlias = Mapping[str, object]
"""Front matter of a fact. As arguments: source, source_context, confidence and expires."""


class Statement(Struct, frozen=True):
    """A value that somebody states for a fact, with the period in which it holds."""

    value: str
    given: Fields
    period: Period = Period()
    """The start and the end that were given. By default a value holds from now on."""
    origin: Provenance = Provenance()

    @property
    def written(self) -> Fields:
        """The front matter of this value alone. Fields without a value are None.

        The domain is left out, because the note has those of all its values.
        """
        period = {"valid_from": self.period.start, "valid_to": self.period.end}
        origin = self.origin.fields()
        return {**period, **{name: origin.get(name) for name in ORIGIN}}


def draft_of_fact(category: str, key: str, statement: Statement, now: datetime) -> Draft:
    """The draft of a new fact."""
    _check_period(statement.period.start or moment(now), statement.period.end)
    fields = {
        "category": category,
        "key": key,
        **_with_source(statement.given),
        **statement.written,
        **statement.origin.fields(),
        "last_verified": moment(now),
    }
    return Draft(FACT, f"{category}/{key}", written(statement.value), fields)


def with_statement(
    data: bytes, fact: Fact, statement: Statement, at: datetime
) -> tuple[Action, bytes]:
    """The bytes of a fact's note after a statement, and what it did.

    A value that began before the current one takes its place in the history. A value that began
    later becomes the current one, and the history keeps the other. The current value is confirmed.
    """
    at = _not_before(fact, at)
    statement = _aligned(_until_planned(statement, fact, at), fact, at)
    now, period = moment(at), statement.period
    began = period.start or now
    same = fact.value == statement.value
    if period.start and begin_key(period.start) < begin_key(fact.valid_from):
        _check_period(began, period.end)
        return _in_the_past(data, fact, statement, now)
    # A beginning of its own makes a value of its own: another may turn out to lie between.
    confirms = same and period.start in (None, fact.valid_from)
    if confirms and not fact.current.period.ended(began):
        confirmed = _confirmed(data, fact, statement, at)
        if period.end in (None, fact.valid_to):
            return "verified", confirmed
        _check_period(fact.valid_from or began, period.end)
        return "changed", edit_fields(confirmed, {"valid_to": period.end, "updated": now})
    _check_period(began, period.end)
    current = fact.current
    # The history tells when a value began if it began when it was set, and has no gap. The index
    # takes a note without `valid_from` for one of values that began after it was created.
    values = (current, *fact.history)
    plain = all(begin_key(value.valid_from) >= (fact.created or "") for value in values)
    past = replace(current, until=first_end(current.until, began))
    fields = {
        **_with_source(statement.given),
        **statement.written,
        "valid_from": None if plain and not period.start and past.until == began else began,
        "last_verified": now,
        "updated": now,
        "status": None if fact.status == "expired" else fact.status,
    }
    # An expired value that is stated again held before its expiry, and holds from now on.
    action: Action = (
        "verified" if confirms and not Period(None, fact.valid_to).ended(began) else "changed"
    )
    return action, edit_fields(with_value(data, statement.value, past), fields)


def _in_the_past(data: bytes, fact: Fact, statement: Statement, now: str) -> tuple[Action, bytes]:
    """The bytes of a fact with a value that began before the current one."""
    began = statement.period.start
    for past in fact.history:
        if (past.value, past.valid_from) == (statement.value, began):
            return "verified", data
    starts = [past.valid_from for past in fact.history]
    later = (each for each in (*starts, fact.valid_from) if begin_key(each) > begin_key(began))
    following = min(later, key=begin_key, default=None)
    about = _with_source(statement.given)
    past = extended(
        statement.origin,
        PastValue,
        rule=statement.origin.rule or None,
        value=statement.value,
        until=first_end(statement.period.end, following),
        source=about["source"],
        confidence=about["confidence"],
        valid_from=began,
        recorded=now,
    )
    # From now on the beginning of the current value cannot be told from the history.
    data = edit_fields(data, {"valid_from": fact.valid_from})
    return "recorded", with_past(data, past, fact.created)


def _confirmed(data: bytes, fact: Fact, statement: Statement, now: datetime) -> bytes:
    """The bytes of a fact whose current value was stated again. More evidence is added."""
    stronger = {
        key: new for key, new in _stronger(statement.given, fact).items() if new is not None
    }
    evidence = dict.fromkeys((*fact.evidence, *statement.origin.evidence))
    if len(evidence) > len(fact.evidence):
        stronger["evidence"] = list(evidence)[:MOST_EVIDENCE]
    return verified(data, now, stronger, revive=fact.expired)


def _aligned(statement: Statement, fact: Fact, now: datetime) -> Statement:
    """A statement for the day on which a known value began holds from that beginning on.

    Otherwise a value of `today` would begin before one that was set this morning.
    """
    start = statement.period.start
    values = (fact.valid_from, *(past.valid_from for past in fact.history))
    for known in values:
        if start and len(start) == 10 and known and "T" in known:
            local = datetime.fromisoformat(known).astimezone(now.astimezone().tzinfo)
            if start in (known[:10], local.date().isoformat()):
                return replace(statement, period=replace(statement.period, start=known))
    return statement


def _not_before(fact: Fact, now: datetime) -> datetime:
    """The time of a statement: not before the current value was set.

    Another process, or another machine whose clock is ahead, may have set it a moment ago.
    """
    begins, recorded = begin_key(fact.valid_from), fact.updated or fact.created or ""
    return datetime.fromisoformat(begins) if recorded >= begins > moment(now) else now


def _until_planned(statement: Statement, fact: Fact, now: datetime) -> Statement:
    """A statement without a beginning holds from now until a value that was set for the future."""
    if statement.period.start or begin_key(fact.valid_from) <= moment(now):
        return statement
    return replace(statement, period=replace(statement.period, start=moment(now)))


def _check_period(start: str, end: str | None) -> None:
    if Period(None, end).ended(start):
        raise UsageError(
            f"{end}: the value would end before it begins ({start}); correct valid_from or "
            "valid_to",
            argument="valid_to",
        )


def _with_source(given: Fields) -> Fields:
    """`given` with a source, and with the default confidence of that source unless one is given."""
    source, confidence = str(given["source"] or DEFAULT_SOURCE), given["confidence"]
    if confidence is None:
        confidence = CONFIDENCES.get(source, DEFAULT_CONFIDENCE)
    return {**given, "source": source, "confidence": confidence}


def _stronger(given: Fields, fact: Fact) -> Fields:
    """The fields to write when a fact is confirmed.

    A less certain source does not replace a better one.
    """
    if given["source"] is None:
        return given
    by_source = CONFIDENCES.get(str(given["source"]), DEFAULT_CONFIDENCE)
    weaker = given["confidence"] is None and by_source < (fact.confidence or 0)
    return {"expires": given["expires"]} if weaker else _with_source(given)


def verified(data: bytes, now: datetime, fields: Fields, *, revive: bool) -> bytes:
    """The bytes of a fact after it was confirmed. With `revive` it is no longer expired."""
    if revive:
        data = edit_fields(data, {"expires": None, "status": None})
    return edit_fields(data, {**fields, "last_verified": moment(now)})
