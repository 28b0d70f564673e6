"""The words of chunks: an FTS5 table for each compartment, with a column for each field.

`StoredWords` answers about words, in whichever database their counts are.
"""

from __future__ import annotations

import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Generic

import apsw
from msgspec import Struct
from msgspec.structs import astuple

from djinn_memory.store.index.records import ChunkRef, Forms, Phrase, Selection
from djinn_memory.store.index.selection import P, Selections
from djinn_memory.store.sqlite import rows

VERSION = 3
"""Increased when `prepare` returns different words. The index is then rebuilt."""

MAX_SEGMENTS = 8
"""FTS5 looks for a word in each segment. By default it keeps about 13 segments, at most 24, which
doubles the time of a search. Merging the segments of 5,000 notes takes 50 ms. They accumulate in
about 50 writes."""

_TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
_UNICODE61 = ["remove_diacritics", "2", "categories", "L* N* Co Mn Mc"]
"""`prepare` folds and splits texts first, so that scripts without spaces become pairs of characters
and the file opens without a custom tokenizer."""


def prepare(text: str, language: str | None = None) -> str:
    """`text` for FTS5: case, accents and compatibility forms folded, CJK as pairs.

    Cyrillic and Arabic words are stemmed here, and Latin words when `language` is in
    `languages.LATIN`. FTS5 stems English. Apply it only once, because a stem may itself have a
    stem.
    """
    if text.isascii() and not language:
        return text
    # An English query never pays for the data of the other languages.
    from djinn_memory.languages import scripts

    text = scripts.cut(scripts.fold(text))
    return _stemmed(text, language) if language else text


def forms(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """The stored forms of a word of `split`: the English form, then a form for each language."""
    return (word, *(_stemmed(word, language) for language in languages))


def _stemmed(text: str, language: str) -> str:
    from djinn_memory.languages.detection import stemmed

    return stemmed(text, language)


class Tokenizer:
    """Splits and stems texts as the index does. It needs no index."""

    def __init__(self, connection: apsw.Connection | None = None) -> None:
        connection = connection or apsw.Connection(":memory:")
        self._split = connection.fts5_tokenizer("unicode61", _UNICODE61)
        self._stem = connection.fts5_tokenizer("porter", ["unicode61", *_UNICODE61])

    def split(self, text: str) -> list[str]:
        """The words of `text` before FTS5 stems them."""
        # A combining accent by itself is a token of nothing.
        return [token for token in _tokens(self._split, prepare(text)) if token]

    def stemmed(self, text: str) -> list[str]:
        """The words of `text` as FTS5 stems them, with its English stemmer."""
        return [token for token in _tokens(self._stem, text) if token]

    def terms(self, text: str, language: str | None) -> list[str]:
        """The terms that FTS5 stores for `text`, in order. They include tokens of nothing."""
        return _tokens(self._stem, prepare(text, language))


def _tokens(tokenizer: Any, text: str) -> list[str]:
    tokens: list[str] = tokenizer(
        text.encode("utf-8", "replace"),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return tokens


class Columns(Struct, frozen=True):
    """The columns in which the words of a chunk are indexed."""

    title: str
    aliases: str
    headings: str
    tags: str
    path: str
    body: str


def create(connection: apsw.Connection, compartment: int) -> None:
    """Create the tables for the words of a compartment.

    A trigger deletes a chunk's words with the chunk.
    """
    words, vocabulary = f"words_{compartment:d}", f"vocabulary_{compartment:d}"
    connection.execute(
        f"create virtual table {words} using fts5({', '.join(Columns.__struct_fields__)}, "
        f"content='', contentless_delete=1, tokenize=\"{_TOKENIZER}\");"
        f"create virtual table {vocabulary} using fts5vocab({words}, row);"
        f"create trigger chunk_{words} after delete on chunk "
        f"when old.in_compartment = {compartment:d} "
        f"begin delete from {words} where rowid = old.id; end"
    )


def drop(connection: apsw.Connection, compartment: int) -> None:
    """Remove the tables of a compartment."""
    words, vocabulary = f"words_{compartment:d}", f"vocabulary_{compartment:d}"
    connection.execute(
        f"drop trigger if exists chunk_{words}; "
        f"drop table if exists {vocabulary}; drop table if exists {words}"
    )


def add(
    connection: apsw.Connection,
    compartment: int,
    chunk_id: int,
    columns: Columns,
    language: str | None = None,
) -> None:
    """Index the words of a chunk, stemmed as in `language`; None for English."""
    if language and language not in (known := languages(connection, [compartment])):
        spoken = " ".join(sorted({*known, language}))
        connection.execute(
            "update compartment set languages = ? where id = ?", (spoken, compartment)
        )
    texts = [prepare(text, language) for text in astuple(columns)]
    connection.execute(
        f"insert into words_{compartment:d} (rowid, {', '.join(columns.__struct_fields__)}) "
        "values (?, ?, ?, ?, ?, ?, ?)",
        (chunk_id, *texts),
    )


def languages(connection: apsw.Connection, compartments: Collection[int]) -> tuple[str, ...]:
    """The languages, English aside, whose stemmers made words of these compartments."""
    listed = rows(
        connection,
        "select languages from compartment where id in (select value from json_each(?))",
        (json.dumps(list(compartments)),),
    )
    return tuple(sorted({language for (spoken,) in listed for language in spoken.split()}))


def chunk_count(connection: apsw.Connection, compartment: int) -> int:
    """The number of chunks of a compartment that have words."""
    return int(connection.execute(f"select count(*) from words_{compartment:d}_docsize").get or 0)


def merge_many(connection: apsw.Connection, compartment: int) -> None:
    """Merge the segments of a compartment's words when there are more than `MAX_SEGMENTS`."""
    segments: int = connection.execute(
        f"select count(distinct segid) from words_{compartment:d}_idx"
    ).get
    if segments > MAX_SEGMENTS:
        _merge(connection, compartment)


def compact(connection: apsw.Connection) -> None:
    """Remove the words of deleted chunks. Otherwise they stay until segments are merged."""
    for (compartment,) in rows(connection, "select id from compartment"):
        _merge(connection, compartment)


def _merge(connection: apsw.Connection, compartment: int) -> None:
    connection.execute(
        f"insert into words_{compartment:d} (words_{compartment:d}) values ('optimize')"
    )


def idf(total: int, holding: int) -> float:
    """The rarity of a word that `holding` of `total` chunks contain, as in FTS5's BM25."""
    return max(1e-6, math.log((total - holding + 0.5) / (holding + 0.5)))


COMPOUND_PART = 4
"""Minimum letters of a stem that is looked for in compounds: `Rad` is in too many words."""

MAX_COMPOUNDS = 12
"""Maximum number of compounds for a word."""

MOST_PHRASES = 100
"""Maximum number of phrases that one statement looks for."""


class StoredWords(ABC, Generic[P]):
    """The words of some vaults. `search.backend.WordIndex` documents the methods."""

    def __init__(self, selections: Selections[P]) -> None:
        self._selections = selections
        selections.chunks_with = self.holding_phrase

    @property
    @abstractmethod
    def _tokenizer(self) -> Tokenizer:
        """Splits texts as the index does."""

    @property
    @abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages, English aside, whose stemmers made words of these vaults."""

    @property
    @abstractmethod
    def total(self) -> int:
        """The number of chunks."""

    @abstractmethod
    def frequency(self, stem: str) -> int:
        """The number of chunks that contain a stemmed word."""

    @abstractmethod
    def compounds_of(self, bare: str, mark: str) -> Iterable[str]:
        """Terms with the mark of a language that have `bare` at an end, or stand at an end of it.

        The least `MAX_COMPOUNDS` terms are enough.
        """

    @abstractmethod
    def terms_between(
        self, first: str, last: str, lengths: tuple[int, int], limit: int
    ) -> Iterable[str]:
        """The first terms from `first` to before `last` whose lengths are in a range."""

    @abstractmethod
    def chunks_with(self, phrases: Forms) -> list[int]:
        """The chunks with one of these phrases in the title or the text, sorted by number."""

    @abstractmethod
    def holding_phrase(self, spellings: Forms) -> list[int]:
        """The chunks with a phrase in any of its forms, wherever it stands."""

    def containing(self, phrases: Forms, selection: Selection) -> list[ChunkRef]:
        """The chunks with one of these phrases in the title or the text, sorted by place."""
        if not phrases:
            return []
        conditions = self._selections.conditions(selection)
        refs = self._selections.refs(self.chunks_with(phrases), conditions).values()
        return sorted(refs, key=lambda ref: ref.place)

    def split(self, text: str) -> list[str]:
        """The words of `text` before they are stemmed."""
        return self._tokenizer.split(text)

    def stems(self, word: str, spoken: Sequence[str] | None = None) -> list[str]:
        """The terms that the index may store for a word of `split`.

        `spoken` are the possible languages; None stands for all languages of the vaults.
        """
        terms: dict[str, None] = {}
        for form in dict.fromkeys(forms(word, self.languages if spoken is None else spoken)):
            terms.update(dict.fromkeys(self.stemmed(form)))
        return list(terms)

    def stemmed(self, text: str) -> list[str]:
        """The words of `text` with English stems."""
        return self._tokenizer.stemmed(text)

    def compounds(self, stem: str) -> list[str]:
        """Non-English terms that share their beginning or end with a marked stem.

        One is a part of the other: `Müll` is in `Mülltonne`, `Torte` in `Kirschtorte`. The whole
        vocabulary is read.
        """
        bare = stem[:-1]
        if len(bare) < COMPOUND_PART:
            return []
        return sorted(set(self.compounds_of(bare, stem[-1])))[:MAX_COMPOUNDS]

    def near(self, stem: str, limit: int) -> list[str]:
        """Terms with the first letter of a stem and about its length, at most `limit`."""
        lengths = len(stem) - 2, len(stem) + 2
        listed = self.terms_between(stem[0], chr(ord(stem[0]) + 1), lengths, limit)
        return sorted(set(listed))[:limit]

    def holding(self, forms: Iterable[str]) -> int:
        """The number of chunks that contain the most frequent form of a word."""
        stems = itertools.chain.from_iterable(map(self.stemmed, forms))
        return max(map(self.frequency, stems), default=0)

    def rarity(self, forms: Iterable[str]) -> float:
        """BM25's idf of a word."""
        return idf(self.total or 1, self.holding(forms))


def lone(words: Phrase) -> bool:
    """Whether a phrase is a single character of an unspaced script, which begins pairs."""
    if len(words) != 1 or len(words[0]) != 1 or words[0].isascii():
        return False
    from djinn_memory.languages import scripts

    return scripts.unspaced(words[0])
