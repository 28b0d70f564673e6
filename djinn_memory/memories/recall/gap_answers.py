"""Finds memories that answer an open gap for certain, so that upkeep may close it.

A memory answers a gap if it is newer than the gap and has a sentence that, with the title, contains
every content word of the gap, says something besides, and neither asks nor denies. If the gap asks
for a time or a number, the sentence has one. Episodes do not answer: they tell what was asked, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.catalog import body_of, find_memory
from djinn_memory.memories.catalog.identity import ledger_name
from djinn_memory.models import Hit
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.legs.words_query import content
from djinn_memory.search.options import SearchOptions
from djinn_memory.search.query import plain
from djinn_memory.search.search import search
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.ledger.reading import Gap

CLOSED, REOPENED = "gap.closed", "gap.reopened"

LOOKED_AT = 5
"""Number of hits for a gap that may answer it."""

FEWEST_WORDS = 2
"""Minimum content words of a gap. One word matches whatever is about it."""

_LACK = """nothing no any anything unknown missing lacking information info details detail note
notes documentation documented found find know knows known need needed want wanted memory"""
"""Words of gaps that say that something is missing, and not what."""

_DENIES = re.compile(
    r"\?|\b(?:not|no|nothing|nobody|none|never|without|cannot|unknown|unclear|unsure|undecided|"
    r"whether|maybe|perhaps|probably|might|todo|tbd|ask|asked|find out|wonder\w*|gap|missing|"
    r"\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
"""A sentence with one of these does not answer for certain."""

_NUMBERED = re.compile(
    r"\b(?:when|how (?:many|much|long|often|old|far|big|large|high|deep)|which (?:port|version|day|"
    r"date|year|number)|what (?:port|version|day|date|year|number|time))\b",
    re.IGNORECASE,
)
_SAID_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|daily|"
    r"weekly|monthly|yearly|noon|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|"
    r"february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

_OVER = frozenset({"superseded", "expired", "archived", "proposed", "dropped", "cancelled"})
_MADE = frozenset({"pattern", "day"})
"""Types of notes that djinn makes from episodes."""


class AnsweredGap(Struct, frozen=True):
    """A memory that answers a gap for certain."""

    gap: Gap
    memory: str
    """The name of the memory in the ledger."""
    hit: Hit
    """The hit of the memory."""
    sentence: str
    """The sentence that answers."""


def answered(runtime: Runtime, agent: str) -> Iterator[AnsweredGap]:
    """The open gaps of an agent that newer memories answer, oldest first.

    A gap that was closed with a memory and opened again is not closed with the same memory.
    """
    ledger = runtime.state.ledger_if_any
    gaps = reading.gaps(ledger, agent, "open") if ledger else []
    before = refused(runtime, gaps)
    for gap in gaps:
        for answer in _answers(runtime, agent, gap):
            if answer.memory not in before.get(gap.id, ()):
                yield answer
                break


def close(runtime: Runtime, answer: AnsweredGap, rule: str) -> None:
    """Close a gap with the memory that answers it. `gaps.reopen` takes this back."""
    data = {"by": answer.memory, "rule": rule}
    runtime.state.ledger.append([Event(CLOSED, answer.gap.id, data)])


def refused(runtime: Runtime, gaps: Sequence[Gap]) -> dict[str, set[str]]:
    """The memories with which each gap was closed before it was opened again."""
    ledger = runtime.state.ledger_if_any
    names: dict[str, set[str]] = {}
    if ledger and gaps:
        for event in reading.events_of(ledger, [CLOSED], [gap.id for gap in gaps]):
            if isinstance(by := event.data.get("by"), str):
                names.setdefault(event.subject, set()).add(by)
    return names


def is_newer(gap: Gap, written: str) -> bool:
    """Whether a note of a time in UTC, or of a local day, was certainly written after a gap."""
    return written > (gap.created if "T" in written else local_day(gap.created))


def may_be_newer(gap: Gap, written: str) -> bool:
    """Whether a note of a time in UTC, or of a local day, may have been written after a gap."""
    # A note that only has a day may have been written before the gap, or after it.
    return written >= (gap.created if "T" in written else local_day(gap.created))


def _answers(runtime: Runtime, agent: str, gap: Gap) -> Iterator[AnsweredGap]:
    scope = runtime.home.scope(agent)
    with runtime.index(scope) as index:
        vocabulary = index.words
    lack = content(vocabulary, _LACK)
    wanted = content(vocabulary, gap.description) - lack
    if len(wanted) < FEWEST_WORDS:
        return
    options = SearchOptions(plain(gap.description), limit=2 * LOOKED_AT, agent=agent)
    for hit in search(runtime, options).hits:
        written = max(hit.created or "", hit.updated or "")
        if not is_newer(gap, written) or hit.plane == "episodic" or hit.type in _MADE:
            continue
        with suppress(OSError, DjinnError):
            memory = find_memory(runtime.state, hit.address, scope)
            [vault] = runtime.home.named((memory.vault,))
            if fold(memory.field("status") or "") in _OVER:
                continue
            title = content(vocabulary, memory.title)
            for sentence in _SENTENCE.split(body_of(vault, memory)):
                said = content(vocabulary, sentence)
                if _says(gap, sentence) and wanted <= said | title and said - wanted - title:
                    name = ledger_name(memory, vault).memory
                    yield AnsweredGap(gap, name, hit, " ".join(sentence.split()))
                    break


def _says(gap: Gap, sentence: str) -> bool:
    """Whether a sentence states something, and a number if the gap asks for one."""
    if _DENIES.search(sentence):
        return False
    return not _NUMBERED.search(gap.description) or bool(_SAID_NUMBER.search(sentence))
