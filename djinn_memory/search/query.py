"""Parses a query into words, phrases, excluded words, filters, and parts for a single leg."""

from __future__ import annotations

import itertools
import re
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from djinn_memory.languages.days import DayWindow
from djinn_memory.models import Backend, Expand, Filters, Mode
from djinn_memory.operations.checks import RawText
from djinn_memory.search.narrowing import Narrowing

MOST_HOPS = 3
"""Maximum number of links that are followed from a memory."""

HOPS = 2
"""The number of links that the mode `graph` follows unless a request says otherwise. On questions
over two notes 1, 2 and 3 give the same."""

Hops = Annotated[
    Annotated[int, Meta(ge=1, le=MOST_HOPS)] | None,
    Meta(description="Follow so many links from the best memories, by the mode `graph`."),
]


class SearchOptions(Narrowing, frozen=True):
    """Search by words and by meaning in all vaults that the agent sees."""

    query: Annotated[
        RawText,
        Meta(
            description='A question or words. "a b" asks for the phrase, -word leaves out, '
            "tag:x type:x path:x domain:x filter. words: and meaning: begin text for one leg alone."
        ),
    ]
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | None, Meta(description="The maximum number of hits.")
    ] = None
    expired: Annotated[bool, Meta(description="Include memories that have expired.")] = False
    mode: Annotated[
        Mode | None,
        Meta(
            description="Search with both legs (keywords and meaning), with one of them, or also "
            "along links (graph)."
        ),
    ] = None
    hops: Hops = None
    rerank: Annotated[
        bool | None, Meta(description="Rerank the best hits with the model of search.rerank.")
    ] = None
    expand: Annotated[
        Expand | None,
        Meta(
            description="Expand the query with words of the best notes (prf), or with the "
            "chat model (llm)."
        ),
    ] = None
    backend: Annotated[
        Backend | None,
        Meta(
            description="Search the index of this home (sqlite), or that of its server (postgres)."
        ),
    ] = None


MAX_OPERATORS = 50
"""The maximum number of phrases, excluded words and filters in a query; the rest is text."""

MAX_MARKS = 20
"""Maximum number of parts of a query for a single leg: each meaning part is embedded. Text after
the limit is plain."""

OWN_SHARE = 0.6
"""The weight of the user's own texts when they are averaged with a model's texts. Values from .5 to
.8 gain on two collections."""

_PART = re.compile(
    r'(?P<minus>-?)(?:(?P<key>tag|type|path|domain):(?P<value>"[^"]+"|[^\s"]+)'
    r'|"(?P<phrase>[^"]*)"|(?P<text>[^\s"]+|"))',
    re.IGNORECASE,
)


_MARK = re.compile(r'"[^"]*"|(?<!\S)(?P<leg>words|meaning):', re.IGNORECASE)
"""The start of a part for one leg. A mark in quotes is text, so the pattern skips quotes."""


class QuestionDates(Struct, frozen=True):
    """The periods that a question asks about."""

    words: tuple[str, ...]
    """The words of the question that name them."""
    windows: tuple[DayWindow, ...]
    """The periods. A memory of any of them is wanted."""
    yearly: bool
    """Whether no year was named, so that the same days of an earlier year could be meant."""
    everything: bool
    """Whether the question names no subject, so that it asks for all memories of the time."""
    rest: str = ""
    """The question without these words; all of it if it names no subject."""
    events: tuple[str, ...] = ()
    """The events that could be meant, with their days, if there are several. The first one is."""

    def earlier(self, years: int) -> tuple[DayWindow, ...]:
        """The same periods, this number of years earlier."""
        return tuple(window.earlier(years) for window in self.windows)


class Query(Struct, frozen=True):
    """A parsed query. Both legs look for `text`."""

    text: str
    phrases: tuple[str, ...] = ()
    """Phrases that a hit must contain if the query is `only_phrases`. Otherwise hits contain them
    if possible."""
    without: tuple[str, ...] = ()
    """Phrases that a note must not contain."""
    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    """Filters with a minus sign, as ("tag", value)."""
    words: tuple[str, ...] = ()
    """Texts only for the words leg."""
    meanings: tuple[str, ...] = ()
    """Texts only for the meaning leg."""
    added_words: tuple[str, ...] = ()
    """Words that a model added. They have a lower weight than the user's words."""
    added_meanings: tuple[str, ...] = ()
    """Passages that a model wrote as possible answers. They have a lower weight than the user's
    text."""
    domains: tuple[str, ...] = ()
    dates: QuestionDates | None = None
    """The periods that the question named in words, which `text` does not contain."""

    @property
    def asks(self) -> bool:
        """Whether there is anything to search for. Otherwise the filters alone select the hits."""
        return bool(self.text or self.words or self.meanings)

    @property
    def only_phrases(self) -> bool:
        """Whether the whole query is in quotes."""
        return bool(self.phrases) and " ".join(self.for_words) == " ".join(self.phrases)

    @property
    def for_words(self) -> tuple[str, ...]:
        """The texts of the words leg: the plain text, or the parts when there is no plain text."""
        return (self.text,) if self.text else self.words

    @property
    def more_words(self) -> tuple[str, ...]:
        """Additional keywords with a lower weight, because a full weight misleads the search."""
        return (self.words if self.text else ()) + self.added_words

    @property
    def for_meaning(self) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """The texts of the meaning leg, each with its weight in the mean of their vectors.

        The plain text is included even if there are meaning parts, because without it they mislead
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
        """The query as one text, for a model."""
        return self.text or " ".join(self.words or self.meanings)

    def narrow(self, filters: Filters) -> Filters:
        """`filters` combined with the filters in the query."""
        return replace(
            filters,
            tags=filters.tags + self.tags,
            types=filters.types + self.types,
            paths=filters.paths + self.paths,
            domains=filters.domains + self.domains,
            excluded=filters.excluded + self.excluded,
        )


def parse(query: str) -> Query:
    """Parse a query. Any text is a valid query: anything unrecognised is plain text.

    `"a b"` is a phrase. It filters by itself and has more weight in a question. `-word` or `-"a b"`
    excludes notes that contain it. `tag:x`, `type:x`, `path:x` and `domain:x` are filters, and
    exclude with a minus. A minus inside a word or alone is plain text. `words:` and `meaning:`
    begin a part for that leg alone, see `_parts`. Operators apply in a words part, but not in a
    meaning part.
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
        domains=tuple(operators.wanted["domain"]),
    )


def readable(query: str) -> str:
    """A query without characters that occur in no text."""
    return query.replace("\0", " ").encode("utf-8", "replace").decode()


class _Operators(Struct):
    """The operators of a query, collected from all of its parts."""

    phrases: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    wanted: dict[str, list[str]] = field(
        default_factory=lambda: {"tag": [], "type": [], "path": [], "domain": []}
    )
    excluded: list[tuple[str, str]] = field(default_factory=list)
    spare: int = MAX_OPERATORS


def _parts(query: str) -> list[tuple[str, str]]:
    """Split a query at its marks into (leg, text). The leg of plain text is "".

    A mark is at the start of a line or after white space. It is plain text when nothing follows it
    before the next mark. Within a line it is also plain text after a stop word, because in "what is
    the meaning: x" the sentence continues.
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
    """Whether the line before `at` ends with a stop word, so that the sentence continues."""
    from djinn_memory.languages.word_lists import stop_words

    line = query[max(query.rfind("\n", 0, at) + 1, at - 50) : at].split()
    return bool(line) and line[-1].lower() in stop_words()


def _take_operators(part: str, operators: _Operators) -> str:
    """The text of a part without its operators. They are added to `operators`."""
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
    """A query of plain text, in which quotes, `-word` and `type:x` are ordinary words."""
    return " ".join(re.findall(r"\w+", text))


def without_operators(text: str) -> str:
    """A query for what somebody said: the text itself, or its words if it has operators."""
    words = plain(text)
    return text if words and replace(parse(text), text="") == Query("") else words
