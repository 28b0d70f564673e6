"""Gaps as they are reported, and the memories that answer them.

A memory answers a gap for certain, so that upkeep may close the gap, if it is newer than the gap
and has a sentence that, with the title, contains every content word of the gap, says something
besides, and neither asks nor denies. If the gap asks for a time or a number, the sentence has one.
A memory that is near the gap in meaning is a likely answer. Episodes do not answer: they tell what
was asked, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.home.settings import SecretsConfig
from djinn_memory.memories.catalog.catalog import body_of, find_memory, ledger_name
from djinn_memory.memories.recall.requests import LONGEST_GAP
from djinn_memory.models import Calibration, Hit, Vault
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.ids import crockford
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.legs.words_query import content
from djinn_memory.search.query import SearchOptions, plain
from djinn_memory.search.search import search
from djinn_memory.secrets import guard, mask
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.ledger.reading import Gap

CLOSED, REOPENED = "gap.closed", "gap.reopened"

LOOKED_AT = 5
"""Number of hits for a gap that may answer it."""

FEWEST_WORDS = 2
"""Minimum content words of a gap. One word matches every memory about it."""

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


class PossibleAnswer(Struct, frozen=True):
    """A memory that answers a gap."""

    gap: Gap
    hit: Hit
    """The hit of the memory."""
    memory: IndexedMemory
    vault: Vault
    """The vault of the memory."""
    name: str
    """The name of the memory in the ledger."""
    sentence: str = ""
    """The sentence that answers for certain; empty for a likely answer."""
    likeness: float = 0.0
    """Of a likely answer: its cosine with the gap, on the scale of the packaged model."""


def reported(
    settings: SecretsConfig, agent: str, session: str | None, description: str, query: str | None
) -> Event:
    """The event that records a gap. Its subject is the id of the gap.

    Raises `Refused` when the description contains a secret. Secrets in the query are masked.
    """
    text = " ".join(description.split())
    if not text or len(text) > LONGEST_GAP:
        raise UsageError(f"describe what was missing in 1 to {LONGEST_GAP:,} characters")
    guard(text, what="the gap", settings=settings, option=False)
    query = mask(query) if query else query
    data = {"agent": agent, "session": session, "description": text, "query": query}
    return Event("gap.reported", f"gap_{crockford(50)}", data)


def certain_answers(runtime: Runtime, agent: str) -> Iterator[PossibleAnswer]:
    """The open gaps of an agent that newer memories answer for certain, oldest first."""
    return _first_answers(runtime, agent, _certain)


def likely_answers(runtime: Runtime, agent: str) -> Iterator[PossibleAnswer]:
    """The open gaps of an agent that have a near newer memory. There are none without a model."""
    return _first_answers(runtime, agent, _likely)


def _first_answers(
    runtime: Runtime, agent: str, answers: Callable[[Runtime, str, Gap], Iterator[PossibleAnswer]]
) -> Iterator[PossibleAnswer]:
    """The first answer to each open gap. A gap that was opened again needs another memory."""
    ledger = runtime.state.ledger_if_any
    gaps = reading.gaps(ledger, agent, "open") if ledger else []
    closed = reading.events_of(ledger, [CLOSED], [gap.id for gap in gaps]) if ledger else []
    refused = {(event.subject, event.data.get("by")) for event in closed}
    for gap in gaps:
        for answer in answers(runtime, agent, gap):
            if (gap.id, answer.name) not in refused:
                yield answer
                break


def _certain(runtime: Runtime, agent: str, gap: Gap) -> Iterator[PossibleAnswer]:
    with runtime.index(runtime.home.scope(agent)) as index:
        vocabulary = index.words
    lack = content(vocabulary, _LACK)
    wanted = content(vocabulary, gap.description) - lack
    if len(wanted) < FEWEST_WORDS:
        return
    options = SearchOptions(plain(gap.description), limit=2 * LOOKED_AT, agent=agent)
    for hit in search(runtime, options).hits:
        written = max(hit.created or "", hit.updated or "")
        if not _is_newer(gap, written) or hit.plane == "episodic" or hit.type in _MADE:
            continue
        with suppress(OSError, DjinnError):
            answer = _answer(runtime, agent, gap, hit)
            if fold(answer.memory.field("status") or "") in _OVER:
                continue
            title = content(vocabulary, answer.memory.title)
            for sentence in _SENTENCE.split(body_of(answer.vault, answer.memory)):
                said = content(vocabulary, sentence)
                if _says(gap, sentence) and wanted <= said | title and said - wanted - title:
                    yield replace(answer, sentence=" ".join(sentence.split()))
                    break


def _likely(runtime: Runtime, agent: str, gap: Gap) -> Iterator[PossibleAnswer]:
    least, _ = thresholds(runtime, agent)
    text = gap.description if not gap.query else f"{gap.description}\n{gap.query}"
    options = SearchOptions(plain(text), mode="meaning", limit=LOOKED_AT, agent=agent)
    for hit in search(runtime, options).hits:
        meaning = hit.legs.get("meaning")
        newer = may_be_newer(gap, hit.created or hit.updated or "") and hit.plane != "episodic"
        if newer and meaning is not None and meaning.part >= least:
            likeness = round(meaning.part, 4)
            yield replace(_answer(runtime, agent, gap, hit), likeness=likeness)


def _answer(runtime: Runtime, agent: str, gap: Gap, hit: Hit) -> PossibleAnswer:
    memory = find_memory(runtime.state, hit.address, runtime.home.scope(agent))
    [vault] = runtime.home.named((memory.vault,))
    return PossibleAnswer(gap, hit, memory, vault, ledger_name(memory, vault).memory)


def _says(gap: Gap, sentence: str) -> bool:
    """Whether a sentence states something, and a number if the gap asks for one."""
    if _DENIES.search(sentence):
        return False
    return not _NUMBERED.search(gap.description) or bool(_SAID_NUMBER.search(sentence))


def _is_newer(gap: Gap, written: str) -> bool:
    """Whether a note of a time in UTC, or of a local day, was certainly written after a gap."""
    return written > (gap.created if "T" in written else local_day(gap.created))


def may_be_newer(gap: Gap, written: str) -> bool:
    """Whether a note of a time in UTC, or of a local day, may have been written after a gap."""
    # A note that only has a day may have been written before the gap, or after it.
    return written >= (gap.created if "T" in written else local_day(gap.created))


def thresholds(runtime: Runtime, agent: str) -> tuple[float, float]:
    """The minimum cosine of texts about one topic, and its value on the model's own scale."""
    home = runtime.home
    with runtime.index(home.scope(agent)) as index:
        space = index.vectors.space
    line = space.calibration if space else Calibration()
    settings = home.config.thresholds
    threshold = settings.models.get(space.identity if space else "", settings).gap
    # A model whose cosines mean nothing groups nothing.
    return threshold, (threshold - line.shift) / line.scale if line.scale else 2.0
