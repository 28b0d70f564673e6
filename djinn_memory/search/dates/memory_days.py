"""The days that a memory is from, as far as the memory itself says so."""

from __future__ import annotations

from datetime import UTC, date, datetime

from djinn_memory.languages.date_phrases import date_phrases
from djinn_memory.languages.day_window import DayWindow
from djinn_memory.store.index.records import IndexedMemory


def days_of(memory: IndexedMemory, today: date) -> DayWindow | None:
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
