"""The notes of patterns, and their records in the ledger.

A pattern that was written is not written again, whatever becomes of its note. Two events stand
around the writing. The ledger has digests of words and of fields, never the words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.episodes.occasions import ReadingLog
from djinn_memory.memories.patterns.requests import LearnedPattern, Pattern
from djinn_memory.memories.writing.provenance import Provenance, domain_value, evidence_of
from djinn_memory.models import extended
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import Event
from djinn_memory.store.state import State

TYPE, SOURCE, KEY = "pattern", "consolidation", "pattern"
"""The type and the source of the notes, and the field with a pattern's key."""

FIELDS = (
    "status", "category", "habit", "action", "after", "words", "wordings", "weekdays", "hours",
    "around", "month_day", "domain", "entities", "support", "evidence_count", "strength",
    "expected", "p_value", "q_value", "first_seen", "last_seen", "evidence", "confidence", "source",
)  # fmt: skip
"""The front matter of the note of a pattern."""

_FIXED = frozenset({"category", "habit", "action", "after", "words", "wordings", "source"})
"""The fields that do not change when a pattern is reinforced."""


def fields_of(pattern: LearnedPattern, agent: str) -> dict[str, Any]:
    """The front matter of the note of a pattern, without the fields of any memory."""
    rule = f"consolidate.{'habit' if pattern.habit else pattern.category}"
    values = {
        name: [*value] if isinstance(value := getattr(pattern, name), tuple) else value
        for name in FIELDS
        if name != "source"
    }
    origin = Provenance(rule, pattern.evidence, agent).fields()
    values[DOMAIN] = domain_value(pattern.domains)
    return {
        key: value for key, value in {**values, **origin}.items() if value not in (None, [], "")
    }


def changing(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a reinforcement changes."""
    return {name: fields[name] for name in FIELDS if name in fields and name not in _FIXED}


def pattern_in(memory: IndexedMemory) -> Pattern:
    """The pattern in a note. A note that a person wrote may have only some of the fields."""
    values = {name: [each for key, each in memory.fields if key == name] for name in FIELDS}

    def text(name: str) -> str | None:
        return next(iter(values[name]), None)

    def number(name: str) -> float | None:
        with suppress(TypeError, ValueError):
            return float(text(name) or "")
        return None

    def whole(name: str) -> int | None:
        value = number(name)
        return int(value) if value is not None and abs(value) < 1e9 else None

    hours = [int(hour) for hour in values["hours"] if hour.isdigit() and int(hour) < 24]
    return extended(
        memory, Pattern,
        name=memory.title, category=text("category"), habit=text("habit") == "true",
        confidence=number("confidence"), status=text("status"), action=text("action"),
        after=text("after"),
        words=tuple(values["words"]), wordings=tuple(values["wordings"]),
        weekdays=tuple(values["weekdays"]), hours=tuple(hours),
        around=text("around"), month_day=whole("month_day"),
        domain=text(DOMAIN) if len(values[DOMAIN]) == 1 else None, domains=tuple(values[DOMAIN]),
        entities=tuple(values["entities"]), support=whole("support") or 0,
        evidence_count=whole("evidence_count") or 0, strength=number("strength"),
        expected=number("expected"), p_value=number("p_value"), q_value=number("q_value"),
        first_seen=text("first_seen"), last_seen=text("last_seen"),
        evidence=evidence_of(memory.fields), source=text("source"),
    )  # fmt: skip


BEGUN, WRITTEN = "pattern.begun", "pattern.written"


class KnownPattern(Struct, frozen=True):
    """A pattern that was written before, as the ledger knows it."""

    key: str
    """Its digest."""
    memory: str | None
    """The id of its note; None if writing was interrupted."""
    category: str
    habit: bool
    marks: frozenset[str]
    """The digests of its words."""
    weekdays: frozenset[str]
    hours: frozenset[int]
    month_day: int | None
    fields: Mapping[str, frozenset[str]]
    """The digests of all values that djinn wrote, or was about to write, by field."""


class ConsolidationLog(ReadingLog):
    """The consolidations of one agent. Without `keep` nothing is written to the ledger."""

    kinds = (*ReadingLog.kinds, BEGUN, WRITTEN)

    def __init__(self, state: State, agent: str, *, keep: bool = True) -> None:
        self.patterns: dict[str, KnownPattern] = {}
        """The patterns that were written or begun, by key."""
        super().__init__(state, agent, keep=keep)

    def begin(self, pattern: LearnedPattern) -> str:
        """Record that the note of a pattern is about to be written. Returns the pattern's key."""
        key = key_of(self._agent, pattern)
        self._append(Event(BEGUN, key, {"agent": self._agent, **_described(pattern)}))
        return key

    def write(
        self, key: str, pattern: LearnedPattern, memory: str | None, fields: Mapping[str, str]
    ) -> None:
        """Record that a note was written, or is about to be changed, with digests of fields."""
        data = {"agent": self._agent, **_described(pattern), "memory": memory, "fields": {**fields}}
        self._append(Event(WRITTEN, key, data))

    def _apply(self, event: Event) -> None:
        super()._apply(event)
        if event.kind in (BEGUN, WRITTEN):
            known = _known(event.subject, event.data)
            if before := self.patterns.get(event.subject):
                fields = {
                    name: known.fields.get(name, frozenset()) | before.fields.get(name, frozenset())
                    for name in {**before.fields, **known.fields}
                }
                known = replace(known, memory=known.memory or before.memory, fields=fields)
            self.patterns[event.subject] = known


def key_of(agent: str, pattern: LearnedPattern) -> str:
    """The digest of a pattern of an agent, from its words and its window."""
    return digest([agent, pattern.category, pattern.name, *sorted(pattern.words)])


def digest(value: object) -> str:
    """The digest of a value, the same for a number and its text."""
    if isinstance(value, list | tuple):
        text = json.dumps([str(each) for each in value])
    else:
        text = str(value)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def similar(known: KnownPattern, pattern: LearnedPattern) -> float:
    """How similar a pattern is to a known one, from 0 to 2; 0 for another pattern."""
    if (known.category, known.habit) != (pattern.category, pattern.habit):
        return 0.0
    marks = _marks(pattern)
    if not known.habit:
        return 2.0 if known.marks == marks else 0.0
    words = len(known.marks & marks) / max(1, min(len(known.marks), len(marks)))
    if (
        words <= 0.5
        or known.month_day != pattern.month_day
        or not _near(known.hours, pattern.hours)
    ):
        return 0.0
    weekdays = known.weekdays, {*pattern.weekdays}
    both = weekdays[0] & weekdays[1]
    if all(weekdays) and not both:
        return 0.0
    return words + (len(both) / len(weekdays[0] | weekdays[1]) if any(weekdays) else 1.0)


def _near(known: frozenset[int], hours: Sequence[int]) -> bool:
    """Whether hours are the same, but for two."""
    if not known or not hours:
        return not known and not hours
    return any((hour + step) % 24 in known for hour in hours for step in (-2, -1, 0, 1, 2))


def _marks(pattern: LearnedPattern) -> frozenset[str]:
    words = pattern.words
    if not words and pattern.category == "domain":
        words = (f"domain:{pattern.domain}",)
    return frozenset(map(digest, words))


def _described(pattern: LearnedPattern) -> dict[str, Any]:
    return {
        "category": pattern.category,
        "habit": pattern.habit,
        "marks": sorted(_marks(pattern)),
        "weekdays": [*pattern.weekdays],
        "hours": [*pattern.hours],
        "month_day": pattern.month_day,
    }


def _known(key: str, data: Mapping[str, Any]) -> KnownPattern:
    memory, fields, month_day = (data.get(name) for name in ("memory", "fields", "month_day"))
    return KnownPattern(
        key,
        memory if isinstance(memory, str) else None,
        str(data.get("category")),
        bool(data.get("habit")),
        frozenset(map(str, _as_list(data.get("marks")))),
        frozenset(map(str, _as_list(data.get("weekdays")))),
        frozenset(hour for hour in _as_list(data.get("hours")) if isinstance(hour, int)),
        month_day if isinstance(month_day, int) else None,
        {str(name): frozenset({str(value)}) for name, value in fields.items()}
        if isinstance(fields, dict) else {},
    )  # fmt: skip


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
