"""What a query says: words, phrases, words to leave out, filters, and parts for one leg alone."""

from __future__ import annotations

import itertools
import re

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.models import Filters

MAX_OPERATORS = 50
"""The maximum number of phrases, excluded words and filters in a query; the rest is text."""

MAX_MARKS = 20
"""Parts of one query for one leg: each of meaning is embedded. What comes after them is text."""

OWN_SHARE = 0.6
"""What the user's own texts count in the mean with a model's; .5 to .8 gain on two collections."""

_PART = re.compile(
    r'(?P<minus>-?)(?:(?P<key>tag|type|path):(?P<value>"[^"]+"|[^\s"]+)'
    r'|"(?P<phrase>[^"]*)"|(?P<text>[^\s"]+|"))',
    re.IGNORECASE,
)


_MARK = re.compile(r'"[^"]*"|(?<!\S)(?P<leg>words|meaning):', re.IGNORECASE)
"""Where a part for one leg begins. A quoted mark is text, so quotes are passed over."""


class Query(Struct, frozen=True):
    """A query taken apart; `text` is what is searched for by meaning and by words."""

    text: str
    phrases: tuple[str, ...] = ()
    """Stand in a hit word for word: always if the query is `only_phrases`, else where they can."""
    without: tuple[str, ...] = ()
    """Must not stand in a note that answers."""
    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    """Filters with a minus, as ("tag", value)."""
    words: tuple[str, ...] = ()
    """What the words leg is asked beside `text`."""
    meanings: tuple[str, ...] = ()
    """What the meaning leg is asked beside `text`."""
    added_words: tuple[str, ...] = ()
    """What a model would look for too; counts less than what the user said."""
    added_meanings: tuple[str, ...] = ()
    """How a model thinks that an answer reads; counts less than what the user said."""

    @property
    def asks(self) -> bool:
        """Whether there is anything to search for; else the filters alone answer."""
        return bool(self.text or self.words or self.meanings)

    @property
    def only_phrases(self) -> bool:
        """Whether all that is looked for stands in quotes."""
        return bool(self.phrases) and " ".join(self.for_words) == " ".join(self.phrases)

    @property
    def for_words(self) -> tuple[str, ...]:
        """The texts of the words leg: the plain text, or the parts where there is none."""
        return (self.text,) if self.text else self.words

    @property
    def more_words(self) -> tuple[str, ...]:
        """Additional keywords with a lower weight, because a full weight misleads the search."""
        return (self.words if self.text else ()) + self.added_words

    @property
    def for_meaning(self) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """The texts of the meaning leg, and what each counts in the mean of their vectors.

        The plain text is one of them beside parts of meaning: without it these mislead
        (nDCG@10 on CACM .49 against .57).
        """
        own = tuple(text for text in (self.text, *self.meanings) if text) or self.words[:1]
        if not (own and self.added_meanings):
            return own, (1.0,) * len(own)
        theirs = (1 - OWN_SHARE) / len(self.added_meanings)
        weights = (OWN_SHARE / len(own),) * len(own) + (theirs,) * len(self.added_meanings)
        return own + self.added_meanings, weights

    @property
    def question(self) -> str:
        """The query as one text, for a model that reads it."""
        return self.text or " ".join(self.words or self.meanings)

    def narrow(self, filters: Filters) -> Filters:
        """`filters` with those written in the query."""
        return replace(
            filters,
            tags=filters.tags + self.tags,
            types=filters.types + self.types,
            paths=filters.paths + self.paths,
            excluded=filters.excluded + self.excluded,
        )


def parse(query: str) -> Query:
    """Take a query apart. Anything is a query: what is not understood is text.

    `"a b"` asks for the phrase, which filters by itself and counts more in a question; `-word` or
    `-"a b"` leaves out notes with it; `tag:x`, `type:x` and `path:x` filter, and with a minus they
    leave out. A minus inside a word or alone is just text. `words:` and `meaning:` begin a part
    for that leg alone, see `_parts`; a part of words is read like the rest, a part of meaning is
    text as it stands.
    """
    operators = _Operators()
    plain: list[str] = []
    words: list[str] = []
    meanings: list[str] = []
    for leg, part in _parts(readable(query)):
        if leg == "meaning":
            meanings.append(" ".join(part.split()))
        else:
            text = _take_operators(part, operators)
            (words if leg else plain).append(text)
    return Query(
        " ".join(text for text in plain if text),
        tuple(operators.phrases),
        tuple(operators.without),
        tuple(operators.wanted["tag"]),
        tuple(operators.wanted["type"]),
        tuple(operators.wanted["path"]),
        tuple(operators.excluded),
        tuple(text for text in words if text),
        tuple(meanings),
    )


def readable(query: str) -> str:
    """A query without the characters that no text holds."""
    return query.replace("\0", " ").encode("utf-8", "replace").decode()


class _Operators(Struct):
    """The operators of a query, gathered from all of its parts."""

    phrases: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    wanted: dict[str, list[str]] = field(
        default_factory=lambda: {"tag": [], "type": [], "path": []}
    )
    excluded: list[tuple[str, str]] = field(default_factory=list)
    spare: int = MAX_OPERATORS


def _parts(query: str) -> list[tuple[str, str]]:
    """The query cut at its marks, as (leg, text); the leg of plain text is "".

    A mark stands at the start of a line or after white space. It is text where nothing follows it
    before the next one, and within a line behind a stop word: in "what is the meaning: x" a person
    goes on speaking.
    """
    marks = [mark for mark in _MARK.finditer(query) if mark["leg"]][:MAX_MARKS]
    if not marks:
        return [("", query)]
    parts = [("", query[: marks[0].start()])]
    for mark, after in itertools.zip_longest(marks, marks[1:]):
        text = query[mark.end() : after.start() if after else None]
        if text.strip() and not _spoken(query, mark.start()):
            parts.append((mark["leg"].lower(), text))
        else:
            leg, before = parts[-1]
            parts[-1] = (leg, f"{before}{mark[0]}{text}")
    return parts


def _spoken(query: str, at: int) -> bool:
    """Whether the line before `at` breaks off at a stop word, so that a sentence goes on."""
    from djinn_memory.languages.stop_words import stop_words

    line = query[max(query.rfind("\n", 0, at) + 1, at - 50) : at].split()
    return bool(line) and line[-1].lower() in stop_words()


def _take_operators(part: str, operators: _Operators) -> str:
    """The text of a part without its operators, which are added to `operators`."""
    text: list[str] = []
    for token in _PART.finditer(part):
        minus, phrase, word = token["minus"], token["phrase"], token["text"]
        value = (token["value"] or "").strip('"').lstrip("#")
        if not operators.spare:
            text.append(token[0])
            continue
        if value and minus:
            operators.excluded.append((token["key"].lower(), value))
        elif value:
            operators.wanted[token["key"].lower()].append(value)
        elif minus and re.match(r"\w", phrase or word or ""):
            operators.without.append(phrase or word)
        elif phrase and re.search(r"\w", phrase):
            operators.phrases.append(phrase)
            text.append(phrase)
        else:
            text.append(token[0])
            continue
        operators.spare -= 1
    return " ".join(text).strip()


def plain(text: str) -> str:
    """A text as a query without operators: quotes, `-word` and `type:x` are plain words."""
    return " ".join(re.findall(r"\w+", text))
