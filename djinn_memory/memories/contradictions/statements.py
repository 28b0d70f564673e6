"""Statements that differ only in a number, a date or a negation. Pure rules over their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from posixpath import commonprefix
from typing import Literal

from msgspec import Struct

from djinn_memory.notes.slugs import fold

_SAME = (
    "open opens opening opened", "begin begins began begun beginning start starts started commence",
    "end ends ended finish finishes finished", "cost costs price fee charge",
    "need needs needed require requires required necessary", "keep keeps kept retain retained",
    "take takes took last lasts lasted duration", "allow allows allowed permit permits permitted",
    "limit maximum max cap", "delete deletes deleted remove removes removed erase erased",
    "buy buys bought purchase purchased", "big large", "live lives lived reside resides",
    "minute minutes min mins", "hour hours hr hrs", "second seconds sec secs",
    "litre litres liter liters", "metre metres meter meters", "kilometre kilometres kilometer km",
    "euro euros eur", "dollar dollars usd", "percent percentage", "gigabyte gigabytes gb",
    "person persons people", "child children kid kids", "phone telephone",
    "hold holds held contain contains contained", "build builds built", "run runs ran running",
    "pay pays paid", "email e-mail mail", "holiday holidays vacation", "bike bicycle",
    "approve approves approved approval", "weigh weighs weighed weight", "allergic allergy",
    "restart restarts restarted reboot reboots rebooted", "retry retries", "salary wage",
    "inhabitant inhabitants resident residents",
)  # fmt: skip

WORDS = {word: words.split()[0] for words in _SAME for word in words.split()}
"""The word that stands for each word of a group."""

FRAMES = frozenset({
    "time", "happen", "happens", "occur", "occurs", "scheduled", "planned", "set", "amount",
    "amounts", "total", "value", "size", "length", "we", "us", "you", "every", "each", "per",
    "daily", "equal", "equals", "fixed", "following", "available", "located", "situated", "lie",
    "lies", "stand", "stands", "about",
})  # fmt: skip
"""Words without a meaning of their own beside others, as in `the opening time`."""


Kind = Literal["negation", "month", "date", "number", "filler", "word"]
Difference = Literal["value", "number", "date", "negation"]

FEWEST_WORDS = 3
"""Minimum words of a statement. Shorter ones are labels."""

FEWEST_NEGATED = 2
"""Minimum words of a statement, besides words such as `the`, for its negation to be the opposite of
another. `I do not think so` may be about anything."""

FEWEST_CONTENT = 2
"""Minimum words of a statement besides those that only frame it. Of a shorter one all words count.
"""

SHORTEST_STEM, STEM_SHARE = 5, 0.6
"""Minimum letters that akin words have in common, and the share of the longer one. `Port` and
`portal` are not akin."""

MOST_AKIN = 2
"""Maximum words of a statement that are only akin to words of the other."""

MOST_WORDS = 40
"""Maximum words of a statement. Longer ones are lists or several sentences."""

_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_UNREAD_LINE = re.compile(
    r"^\s*(?:[|>#`~=]|[-*+]\s+\[.\]|\S+::|[-*_]{3}|!\[|\[\^[^\]]*\]:|%%|\$\$|</?\w)"
)
_FENCE = re.compile(r"^\s*(```|~~~)")
_MARKUP = re.compile(r"!?\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]|!?\[([^\]]*)\]\([^)]*\)|[*_`]{1,3}")
_END = re.compile(r"(?<=[a-zäöüß\d)\"'][.!?;])\s+(?=[^a-z])|(?<=[.!?;])\s+(?=[A-ZÄÖÜ])")

_MONTHS = """january february march april may june july august september october november
december"""
_MONTH_OF = {month[:length]: month for month in _MONTHS.split() for length in (3, len(month))} | {
    "sept": "september"
}
_WORDS_TOO = frozenset({"may", "mar", "march"})
"""Names of months that are words, too. They are months beside numbers or after prepositions."""

_BEFORE_MONTH = frozenset({"in", "of", "by", "until", "since", "from", "early", "late", "on"})


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WEEKDAYS = _set("monday tuesday wednesday thursday friday saturday sunday")
_COUNTED = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty"""
_NUMBERS = {word: str(number) for number, word in enumerate(_COUNTED.split())} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "hundred": "100", "once": "1",
    "twice": "2", "noon": "12:00", "midnight": "0:00",
}  # fmt: skip
_NEGATIONS = _set("""not no never none nobody nothing without cannot neither nor nicht kein keine
keinen nie niemals""")
_FILLERS = _set("""a an i the is are was were be been being am do does did will has have had at in
on by of to for with it's that this our my your its his her their there just now currently still
really very also so then ever any all o'clock longer anymore exactly only it der die das ein eine
ist sind war im am um der den dem mit""")
_HEDGES = _set("""may might could sometimes often usually perhaps maybe probably some versus vs or
if unless when while example e.g""")
"""A statement with one of these words does not exclude another number or the opposite."""

_HEDGES_OF_NUMBERS = _set("""about around approximately roughly nearly almost circa least most up
more less over under ca etwa minimum maximum than to""")
"""The same, within two words before a number."""

_NAMING = _set("""version chapter step figure table section part level page issue ticket room phase
stage no number row line item exercise question option appendix volume week day sprint release build
episode unit lesson case test example rule article bus flight train route highway lecture method
group type class python java model gate platform floor house apartment pull pr bug task window round
season grade form layer ring lane tier kapitel schritt seite""")
"""Words before a number that is a name. Another number then is another thing."""

_EVENTS = _set("""met meet meets meeting visited call called went ran paid bought sold sent saw
spoke talked held deployed released wrote updated published logged walked ate had watched read
posted finished started took gave received ordered shipped fixed added removed changed reviewed
discussed attended""")
"""Verbs of things that happen more than once, on several dates."""

_NO_SUBJECT = _set("""it this that these those they he she there here its his her their such both
all one if when unless while then and but or so also because which who what where how why""")
"""First words of a statement whose subject stands in another."""

_WORD = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d{2}(?:\s?[ap]\.?m\b)?"
    r"|\d+(?:st|nd|rd|th)\b|\d{1,3}(?:[, ]\d{3})+(?!\d)|\d+(?:[.,]\d+)*(?:\s?[ap]m\b)?"
    r"(?![\w.-]*[^\W\d_])|[^\W_](?:[\w'’.-]*[\w])?"
)
_SEVERAL = re.compile(r"\b(?:(?:every|each) day|(?:takes?|took) place)\b")
"""Several words that only frame a statement, as `daily` does."""

_NUMBER = re.compile(r"\d[\d., ]*|\d{1,2}:\d{2}.*|\d+\s?[ap]m")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d+(?:st|nd|rd|th)")


class ComparedSentence(Struct, frozen=True):
    """The content of a sentence: its words, and separately its numbers, dates and negation."""

    text: str
    """The sentence as written, on one line."""
    words: tuple[str, ...]
    """The stems of its words in their normal form, in alphabetical order. Statements about one
    thing have the same."""
    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    negated: bool = False
    hedged: bool = False
    """Whether it leaves room for another number or for its opposite."""
    names: bool = False
    """Whether one of its numbers is a name, as in `chapter 3`."""
    happens: bool = False
    """Whether it tells of something that may have happened on other dates too."""


def statements(text: str) -> Iterator[ComparedSentence]:
    """The statements in a Markdown text. Code, tables, quotations and questions have none."""
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not _UNREAD_LINE.match(line):
            plain = _MARKUP.sub(lambda match: match[1] or match[2] or "", line)
            for sentence in _END.split(_LIST_MARK.sub("", plain)):
                if parsed := parse_statement(sentence):
                    yield parsed


# The inbox compares all notes again after each change.
@lru_cache(maxsize=50_000)
def parse_statement(sentence: str) -> ComparedSentence | None:
    """The statement of a sentence; None for one that is not comparable with others."""
    text = " ".join(sentence.split())
    if text.endswith(("?", ":", ",")) or "…" in text or "..." in text or "://" in text:
        return None
    tokens = _tokens(text)
    if len(tokens) > MOST_WORDS or not tokens or tokens[0] in _NO_SUBJECT:
        return None
    words: list[str] = []
    frames: list[str] = []
    numbers: list[str] = []
    dates: list[str] = []
    negations = 0
    names = hedged = False
    for at, token in enumerate(tokens):
        kind, plain = _kind(token)
        before = tokens[at - 1] if at else ""
        if kind == "month" and not _is_month(token, before, "".join(tokens[at + 1 : at + 2])):
            kind, plain = "word", _stem(token)
        if kind == "negation":
            negations += 1
        elif kind in ("date", "month"):
            dates.append(plain)
        elif kind == "number":
            names |= before in _NAMING
            hedged |= not _HEDGES_OF_NUMBERS.isdisjoint(tokens[max(0, at - 2) : at])
            (dates if before in _MONTH_OF else numbers).append(plain)
        elif kind == "word":
            hedged |= token in _HEDGES
            (frames if token in FRAMES else words).append(plain)
    if len(set(words)) < FEWEST_CONTENT:
        words += frames
    content = any(any(map(str.isalpha, word)) for word in words)
    if not content or len(tokens) < FEWEST_WORDS:
        return None
    dates = _joined(dates, numbers, tokens)
    return ComparedSentence(
        text, tuple(sorted(words)), tuple(numbers), tuple(dates),
        negations % 2 == 1, hedged, names, not _EVENTS.isdisjoint(tokens),
    )  # fmt: skip


def difference(first: ComparedSentence, second: ComparedSentence) -> Difference | None:
    """How two statements with the same or akin words contradict each other; None if they do not.

    They differ in one thing only: with another date or another number beside it, a statement tells
    of something else.
    """
    if first.hedged or second.hedged or not _says_the_same(first.words, second.words):
        return None
    differences: list[Difference] = []
    if Counter(first.numbers) != Counter(second.numbers):
        differences.append("number")
    if Counter(first.dates) != Counter(second.dates):
        differences.append("date")
    if first.negated != second.negated:
        differences.append("negation")
    if len(differences) != 1:
        return None
    [kind] = differences
    same_shape = (len(first.numbers), len(first.dates)) == (len(second.numbers), len(second.dates))
    if kind == "negation" and len(set(first.words)) < FEWEST_NEGATED:
        return None
    if kind != "negation" and (not same_shape or (first.negated and second.negated)):
        return None
    if kind == "number" and (first.names or second.names or not _alike(first, second)):
        return None
    if kind == "date" and (first.happens or second.happens):
        return None
    return kind


def _says_the_same(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether each word has the same or an akin one in the other statement."""
    if first == second or len(first) != len(second):
        return first == second
    words = set(first)
    # Most pairs end here.
    if len(words.intersection(second)) < len(words) - MOST_AKIN:
        return False
    left, right = Counter(first), Counter(second)
    rest, others = sorted((left - right).elements()), sorted((right - left).elements())
    akin = len(rest) <= MOST_AKIN and len(rest) < len(first)
    return akin and all(map(_are_akin, rest, others))


def _are_akin(first: str, second: str) -> bool:
    """Whether two words have one stem, such as `deploy` and `deployment`."""
    shared = len(commonprefix((first, second)))
    return shared >= SHORTEST_STEM and shared >= STEM_SHARE * max(len(first), len(second))


def _alike(first: ComparedSentence, second: ComparedSentence) -> bool:
    """Whether all numbers but one are the same."""
    left, right = Counter(first.numbers), Counter(second.numbers)
    return (left - right).total() == 1 == (right - left).total()


@lru_cache(maxsize=50_000)
def _kind(token: str) -> tuple[Kind, str]:
    """The kind of a word by itself, and its form for comparisons."""
    if token in _NEGATIONS:
        return "negation", ""
    if token in _MONTH_OF:
        return "month", _MONTH_OF[token]
    if token in _WEEKDAYS or re.fullmatch(r"(?:1[5-9]|20)\d\d", token):
        return "date", token
    if _DATE.fullmatch(token):
        return "date", _plain_date(token)
    if _NUMBER.fullmatch(token):
        return "number", _plain_number(token)
    return ("filler", "") if token in _FILLERS else ("word", _stem(WORDS.get(token, token)))


def _tokens(text: str) -> list[str]:
    folded = fold(text).replace("’", "'").replace("can't", "can not").replace("won't", "will not")
    folded = _SEVERAL.sub("daily", folded)
    folded = re.sub(r"\bcannot\b", "can not", re.sub(r"n't\b", " not", folded))
    tokens = [token.strip(".-'") for token in _WORD.findall(folded)]
    return [_NUMBERS.get(token, token) for token in tokens if token]


def _is_month(token: str, before: str, after: str) -> bool:
    if token not in _WORDS_TOO:
        return token in _MONTH_OF
    return before in _BEFORE_MONTH or before.isdecimal() or after[:1].isdecimal()


def _plain_number(token: str) -> str:
    text = re.sub(r"[ ,](?=\d{3}(?!\d))", "", token).replace(",", ".")
    return re.sub(r"(?<=\.\d)0+$|\.0+$", "", text) if text.count(".") == 1 else text


def _plain_date(token: str) -> str:
    return re.sub(r"(?<!\d)0|(?:st|nd|rd|th)$", "", token)


def _joined(dates: list[str], numbers: list[str], tokens: list[str]) -> list[str]:
    """The dates, with the days that stand beside a month: `3 May` and `May 3` are one date."""
    for at, token in enumerate(tokens):
        if token not in _MONTH_OF:
            continue
        for near in (at - 1, at + 1):
            day = tokens[near] if 0 <= near < len(tokens) else ""
            if day.isdecimal() and len(day) <= 2 and day in numbers:
                numbers.remove(day)
                dates.append(day)
                break
    return dates


def _stem(word: str) -> str:
    """A rough stem, so that `needs` and `need` are one word."""
    word = word.removesuffix("'s")
    for ending in ("ies", "es", "s", "ed", "ing"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word
