"""Names of patterns, from the words of their episodes and their window of time. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date

from djinn_memory.languages.days import MONTH_NAMES, WEEKDAY_NAMES
from djinn_memory.memories.patterns.detection import windows
from djinn_memory.memories.patterns.detection.history import WORD, History, stem_of, stems_of

LONGEST = 60
"""Maximum characters of an action in a name."""

MOST_WORDINGS = 5
"""The wordings that the note of a pattern shows."""

LEAST_OFTEN = 0.1
"""The least ratio of the uses of a wording to those of the most frequent one. Rarer ones may be of
another action that was in the window once."""

MOST_TEXTS = 100
"""The different texts of which the most typical one is chosen."""

PARTS_OF_DAY = (
    (21, "night"), (17, "evening"), (12, "afternoon"), (5, "morning"), (0, "night"),
)  # fmt: skip
"""The first hours of the parts of the day, the last one first."""

MOST_NAMED = 4
"""The most weekdays that a name lists."""

_LEAD = re.compile(
    r"^(?:(?:please|let's|let us|time to|i|i've|i have|i'm|we|just|now|ok|okay|need to|want to|"
    r"going to|have to|remind me to|can you|could you)[,:]?\s+)+",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[ -](?:[\w'’]{1,4} ){0,2}(?:the |a |an |my |our |your )?")
"""What may stand between two telling words of one phrase: an article, a preposition."""

_MARKUP = re.compile(r"!?\[\[|\]\]|<!--|-->")
_OBJECT = re.compile(r"(?:the|an?|my|our|some)\s", re.IGNORECASE)
_DONE = re.compile(r"(?:ed|ing)$", re.IGNORECASE)
_VERBS = frozenset(
    """
    answer ask back book bring build buy call cancel charge check choose clean clear close
    compare cook decide deploy discuss do draft drink drive eat edit empty feed file finish fix
    go have learn list log look make meet mend move open opt order organise organize pack pay
    pick plan play practise prefer prepare publish put read refactor rehearse renew rent repair
    reply review run save select send set settle shop sketch sort start stretch submit summarise
    summarize swim take tidy train translate update use visit walk wash watch wear wipe work
    write
    """.split()  # noqa: SIM905
)
"""Verbs that begin an action in its base form, so that the name says what the person does."""


OWN = 3.0
"""The least ratio of the share of a word in some episodes to that in all, with which it tells what
they are about."""


def action_of(history: History, episodes: Sequence[int], features: Collection[str]) -> str:
    """What some episodes are about: the most typical of the phrases in them.

    A phrase goes from the first word of a text to the last one that tells what the episodes are
    about. That of a text without such a word is its first sentence.
    """
    texts = [history.occasions[number].text for number in episodes]
    own = Counter(stem for text in texts for stem in {*stems_of(text)})
    telling = {
        stem for stem, times in own.items()
        if stem in features or times / len(texts) >= OWN * history.share_of(stem)
    }  # fmt: skip
    counts = Counter(_telling_part(text, telling) or _phrase(text) for text in texts)
    listed = counts.most_common(MOST_TEXTS)
    stems = {text: frozenset(stems_of(text)) for text, _ in listed}
    key = {*features}

    def typical(entry: tuple[str, int]) -> tuple[float, int, str]:
        own = stems[entry[0]]
        alike = sum(
            times * len(own & stems[text]) / max(1, len(own | stems[text]))
            for text, times in listed
        )
        # The words by which the episodes were found count double.
        return -alike * (1 + min(2, len(own & key))), len(entry[0]), entry[0]

    return min(listed, key=typical)[0] if listed else ""


def _telling_part(text: str, telling: Collection[str]) -> str:
    """The words of a text from the first to the last telling one, if they are few."""
    spans = [match.span() for match in WORD.finditer(text) if stem_of(match[0]) in telling]
    runs: list[list[int]] = []
    for start, end in spans:
        if runs and _BETWEEN.fullmatch(text, runs[-1][1], start):
            runs[-1][1] = end
        else:
            runs.append([start, end])
    longest = max(runs, key=lambda run: run[1] - run[0], default=[0, 0])
    part = text[longest[0] : longest[1]]
    return part if len(part) <= LONGEST else ""


def wordings_of(texts: Sequence[str]) -> tuple[str, ...]:
    """The most frequent wordings of an action, without those that are rare among them."""
    counts = Counter(filter(None, map(_phrase, texts)))
    least = max(counts.values(), default=0) * LEAST_OFTEN
    often = [text for text in counts if counts[text] >= least]
    return tuple(sorted(often, key=lambda text: (-counts[text], text))[:MOST_WORDINGS])


def sentence(action: str) -> str:
    """An action in the third person: `plan the week` becomes `Plans the week`."""
    first, _, rest = action.partition(" ")
    if first.casefold() in _VERBS or (_OBJECT.match(rest) and not _DONE.search(first)):
        first = _third_person(first)
    text = f"{first} {rest}".strip()
    return text[:1].upper() + text[1:]


def when(window: windows.TimeWindow, around: str | None) -> str:
    """A window in words: `on Monday mornings around 9`."""
    part = _part_of_day(window, around)
    return " ".join(filter(None, (_days(window, part), _hours(window, around, part))))


def period(first: date, last: date | None) -> str:
    """A period in words: `from 24 June to 2 September 2026`, or `since 24 June 2026`."""
    begin = f"{first.day} {MONTH_NAMES[first.month - 1]}"
    if last is None:
        return f"since {begin} {first.year}"
    if first.year != last.year:
        begin = f"{begin} {first.year}"
    return f"from {begin} to {last.day} {MONTH_NAMES[last.month - 1]} {last.year}"


def _part_of_day(window: windows.TimeWindow, around: str | None) -> str:
    """The part of the day with all hours of a window, or with the time around which it is."""
    if window.width == 24 or window.month_day is not None:
        return ""
    hours = (int(around[:2]),) if around else window.hours
    parts = {next(name for first, name in PARTS_OF_DAY if hour >= first) for hour in hours}
    return parts.pop() if len(parts) == 1 else ""


def _days(window: windows.TimeWindow, part: str) -> str:
    if window.month_day == windows.LAST:
        return "on the last day of the month"
    if window.month_day is not None:
        day = window.month_day
        suffix = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        return f"on the {day}{suffix} of the month"
    days = window.weekdays
    if days == windows.EVERY_DAY:
        return f"every {part or 'day'}"
    if days in windows.KINDS_OF_DAYS:
        kind = "weekend" if 6 in days else "weekday"
        return f"on {kind} {part}s" if part else f"{'at' if 6 in days else 'on'} {kind}s"
    if len(days) >= 3 and days == (*range(days[0], days[-1] + 1),):
        run = f"{WEEKDAY_NAMES[days[0]]} to {WEEKDAY_NAMES[days[-1]]}"
        return f"on {run} {part}s" if part else f"from {run}"
    if len(days) > MOST_NAMED:
        return f"on most {part or 'day'}s"
    *names, last = [f"{WEEKDAY_NAMES[day]}{'' if part else 's'}" for day in days]
    listed = f"{', '.join(names)} and {last}" if names else last
    return f"on {listed} {part}s" if part else f"on {listed}"


def _hours(window: windows.TimeWindow, around: str | None, part: str) -> str:
    if window.width == 24:
        return ""
    if around and part:
        hour, minute = divmod(int(around.replace(":", "")), 100)
        return f"around {hour % 12 or 12}{f':{minute:02}' if minute else ''}"
    if around:
        return f"around {around}"
    return f"between {window.start:02}:00 and {(window.start + window.width) % 24:02}:00"


def _phrase(text: str) -> str:
    """The beginning of a message as an action: its first sentence without polite words.

    It becomes a title, so that links, comments and control characters are left out.
    """
    plain = "".join(char for char in _MARKUP.sub("", text) if char.isprintable() or char == "\n")
    line = next((part for part in plain.split("\n") if any(map(str.isalnum, part))), "").strip()
    line = _LEAD.sub("", re.split(r"(?<=\w)[.!?;](?:\s|$)", line)[0]).strip(" .,:;!?-*#>")
    if len(line) <= LONGEST:
        return line
    return line[:LONGEST].rpartition(" ")[0] or line[:LONGEST]


def _third_person(verb: str) -> str:
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return "has" if verb == "have" else f"{verb}es"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ies"
    return "has" if verb.casefold() == "have" else f"{verb}s"
