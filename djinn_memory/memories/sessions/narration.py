"""Tells what is known in a few sentences of prose, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import groupby, islice

from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.catalog.standing import StandingMemories
from djinn_memory.memories.episodes.reading import EpisodeText
from djinn_memory.memories.facts.queries import Fact, IndexedFact, read_fact
from djinn_memory.memories.sessions.extraction.claims import key_of
from djinn_memory.memories.writing.provenance import NO_MARKUP
from djinn_memory.notes.dates import iso_date, local_day, moment
from djinn_memory.notes.markdown import inline
from djinn_memory.notes.periods import Period, spoken_period
from djinn_memory.notes.slugs import fold
from djinn_memory.secrets import mask
from djinn_memory.system.plural import count

SUBJECTS = 3
"""Maximum sentences about facts. Each is about the facts of one category."""

ITEMS = 4
"""Maximum things that one sentence names."""

FEWEST = 3
"""With fewer sentences, the summary also says what is not known."""

PHRASE = 90
"""Maximum characters of a value or of a title."""

TELLING = 4
"""Words of the shortest sentence of a turn that is quoted. Shorter ones are mostly greetings."""

READ = 2_000
"""Characters of a turn among which such a sentence is looked for."""

LONG = 6
"""A value with more words is likely a clause, which `is` cannot introduce."""

UNSURE = 0.5
"""A fact with less confidence is marked as unsure."""

_VERBS = {"from": "is from", "born": "was born in", "preferred name": "is called"}
"""Predicates of keys that are no nouns. A key such as `lives in` is one itself."""

_VERB = re.compile(r"(?:is|has|was|does|\w{2,}[^\Ws]s) (?:at|in|on|for|with|from|to|as|by|of|near)")
_SAYS = re.compile(r"(?:Prefers|Likes|Enjoys|Loves|Hates|Wants|Needs|Avoids|Uses|Dislikes) ")
_SENTENCE = re.compile(r"(?<=[.!?…])\s")
_ARTICLE = re.compile(r"^(?:The|An?|My|Our|His|Her|Their) ")
_NO_SUBJECT = frozenset({"user", "me", "self", "remembered", ""})


def narrated(facts: Sequence[IndexedFact], standing: StandingMemories, now: datetime) -> str:
    """What is known, in three to seven sentences; "" if nothing is known."""
    sentences = _of_facts(facts, now)
    parts = (
        (_of_preferences, standing.preferences(), "No preference is known."),
        (partial(_counted, "active project"), standing.projects(), "No project is active."),
        (partial(_counted, "latest decision"), standing.decisions(), ""),
        (partial(_counted, "open commitment"), standing.commitments(), "No commitment is open."),
    )
    missing = []
    for tell, memories, nothing in parts:
        if told := tell([*memories]):
            sentences.append(_sentence(told))
        else:
            missing.append(nothing)
    if sentences:
        sentences += filter(None, missing[: max(0, FEWEST - len(sentences))])
    return " ".join(sentences)


def last_conversation(turns: Sequence[EpisodeText], *, whole: bool) -> str:
    """A sentence about the last conversation: its day, and how it ended, and if `whole`, began."""
    said = [text for turn in turns if (text := _telling(turn.message))]
    if not said:
        return ""
    told = [f"began with “{said[0]}”"] if whole and len(said) > 1 else []
    told.append(f"ended with “{said[-1]}”")
    return f"The last conversation, on {_day(turns[-1].memory.date)}, {_joined(told)}."


def _telling(text: str) -> str:
    """The first sentence of a text that is more than a greeting; "" if there is none."""
    phrases = map(_phrase, _SENTENCE.split(" ".join(text[:READ].split())))
    return next((phrase for phrase in phrases if len(phrase.split()) >= TELLING), "")


def _of_facts(facts: Sequence[IndexedFact], now: datetime) -> list[str]:
    """A sentence for each of the categories with the most facts, the user's own first."""
    by_name = sorted(facts, key=lambda fact: fact.name)
    groups = [[*group] for _, group in groupby(by_name, key=lambda fact: fold(fact.category))]
    groups.sort(key=lambda group: (fold(group[0].category) not in _NO_SUBJECT, -len(group)))
    told, sentences = 0, list[str]()
    for group in groups[:SUBJECTS]:
        surest = sorted(group, key=lambda fact: fact.confidence, reverse=True)[:ITEMS]
        if known := [fact for indexed in surest if (fact := _read(indexed, now))]:
            told += len(known)
            sentences.append(_about(known[0].category, known, now))
    if sentences and (left := len(facts) - told):
        more = f"{count(left, 'more fact')} {'is' if left == 1 else 'are'} known"
        sentences[-1] = f"{sentences[-1][:-1]}; {more}."
    return sentences


def _read(indexed: IndexedFact, now: datetime) -> Fact | None:
    with suppress(OSError, DjinnError):
        fact = read_fact(indexed.vault, indexed.path, now)
        return fact.on(moment(now)) or fact
    return None


def _about(category: str, facts: Sequence[Fact], now: datetime) -> str:
    """The facts of a category in one sentence."""
    if fold(category) == "remembered":
        return f"To be remembered: {'; '.join(_phrase(fact.value) for fact in facts)}."
    subject = "the user" if fold(category) in _NO_SUBJECT else _name(category)
    verbs, nouns, said = [], [], []
    for fact in facts:
        key = _name(fact.key)
        whole = key_of(category, fact.value)
        if whole == fact.key or (" " in fact.key and whole.endswith(fact.key)):
            said.append(f"{_phrase(fact.value)}{_doubt(fact, now)}")
            continue
        value = f"{_ARTICLE.sub(_lowered, _phrase(fact.value))}{_doubt(fact, now)}"
        if verb := _VERBS.get(fold(key)) or (key if _VERB.fullmatch(key) else ""):
            verbs.append(f"{verb} {value}")
        else:
            plural = key.endswith("s") and not key.endswith(("ss", "us", "is"))
            is_clause = len(value.split()) > LONG
            verb = ":" if is_clause else " are" if plural else " is"
            nouns.append(f"{key}{verb} {value}")
    told = [f"{subject} {_joined(verbs)}"] if verbs else []
    told += [f"{subject}’s {_joined(nouns)}"] if nouns else []
    if said and fold(category) in _NO_SUBJECT:
        said = [f"{subject} said {_joined(f'“{text}”' for text in said)}"]
    told += said
    return _sentence("; ".join(told))


def _name(text: str) -> str:
    """A key or a category as a person would say it."""
    return _phrase(re.sub(r"[-_]", " ", text))


def _lowered(match: re.Match[str]) -> str:
    return match[0].lower()


def _doubt(fact: Fact, now: datetime) -> str:
    until = f", {fact.holds}" if fact.current.period.ended(moment(now)) else ""
    unsure = fact.confidence is not None and fact.confidence < UNSURE
    return f"{until} (unsure)" if unsure else until


def _of_preferences(memories: Sequence[MemoryExcerpt]) -> str:
    """A clause about preferences; "" without any."""
    titles = [_phrase(memory.title) for memory in memories]
    says = [title[0].lower() + title[1:] for title in titles if _SAYS.match(title)]
    others = [
        memory
        for memory, title in zip(memories, titles, strict=True)
        if title and not _SAYS.match(title)
    ]
    told = [f"the user {_joined(says[:ITEMS])}"] if says else []
    told += [_counted("other preference" if says else "preference", others)] if others else []
    return "; ".join(told)


def _counted(noun: str, memories: Sequence[MemoryExcerpt]) -> str:
    """A clause that names memories of one kind; "" without any."""
    plural = "s are" if len(memories) > 1 else " is"
    return f"the {noun}{plural} {_named(memories)}" if memories else ""


def _named(memories: Sequence[MemoryExcerpt]) -> str:
    """The titles of memories, with their days and what their texts add."""
    names = []
    for memory in islice(memories, ITEMS):
        title = _phrase(memory.title)
        lines = (line for line in memory.text.splitlines() if line.strip(" #"))
        text = _phrase(next(lines, ""))
        more = [f"due {_day(memory.due)}"] if memory.due else []
        more += [text] if text and fold(text) != fold(title) and not text.endswith("…") else []
        title = f"“{title}”" if "," in title else title
        names.append(f"{title} ({'; '.join(more)})" if more else title)
    left = len(memories) - len(names)
    return _joined([*names, *([f"{left} more"] if left > 0 else [])])


def _phrase(text: str) -> str:
    """The first sentence of a text as plain words, in which nothing is a link, a tag or code."""
    words = inline(_SENTENCE.split(" ".join(text.split()), maxsplit=1)[0]).translate(NO_MARKUP)
    # Masked before it is cut, because a part of a secret does not look like one.
    line = mask(" ".join(words.split())).rstrip(" .;,:")
    return line if len(line) <= PHRASE else f"{line[: PHRASE - 2].rsplit(' ', 1)[0]} …"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _joined(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def _day(time: str) -> str:
    """A day in words, such as `3 May 2026`."""
    day = local_day(time) if "T" in time else (iso_date(time) or time)[:10]
    return (spoken_period(Period(day), "9999") or "").removeprefix("since ")
