"""The notes of patterns: their front matter and text, and patterns read from notes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.patterns.requests import LearnedPattern, Pattern
from djinn_memory.memories.writing.provenance import Provenance, domain_value, evidence_of
from djinn_memory.models import extended
from djinn_memory.store.index.records import IndexedMemory

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


def text_of(pattern: LearnedPattern) -> str:
    """The text of the note of a pattern."""
    if not pattern.habit:
        return f"{pattern.name}. This is the rhythm of the episodes, not a habit in it."
    wordings = "\n".join(f"- {wording}" for wording in pattern.wordings)
    words = f"In the words of the episodes:\n\n{wordings}" if wordings else ""
    return "\n\n".join(filter(None, (f"{pattern.name}.", words)))


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
