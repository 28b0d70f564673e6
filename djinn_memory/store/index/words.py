"""The words of chunks: an FTS5 table for each vault, with a column for each field."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence

import apsw
from msgspec import Struct
from msgspec.structs import astuple

from djinn_memory.store.sqlite import rows

VERSION = 3
"""Increased when `prepare` returns different words. The index is then rebuilt."""

MAX_SEGMENTS = 8
"""FTS5 looks for a word in each segment. By default it keeps about 13 segments, at most 24, which
doubles the time of a search. Merging the segments of 5,000 notes takes 50 ms. They accumulate in
about 50 writes."""

_TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
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
    # An English query never pays for what the other languages need.
    from djinn_memory.languages import scripts

    text = scripts.cut(scripts.fold(text))
    return _stemmed(text, language) if language else text


def forms(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """The stored forms of a word of `split`: the English form, then a form for each language."""
    return (word, *(_stemmed(word, language) for language in languages))


def _stemmed(text: str, language: str) -> str:
    from djinn_memory.languages.detection import stemmed

    return stemmed(text, language)


class Columns(Struct, frozen=True):
    """The columns in which the words of a chunk are indexed."""

    title: str
    aliases: str
    headings: str
    tags: str
    path: str
    body: str


def create(connection: apsw.Connection, vault: int) -> None:
    """Create the tables for the words of a vault.

    A trigger deletes a chunk's words with the chunk.
    """
    connection.execute(
        f"create virtual table words_{vault:d} using fts5({', '.join(Columns.__struct_fields__)}, "
        f"content='', contentless_delete=1, tokenize=\"{_TOKENIZER}\");"
        f"create virtual table vocabulary_{vault:d} using fts5vocab(words_{vault:d}, row);"
        f"create trigger chunk_words_{vault:d} after delete on chunk when old.in_vault = {vault:d} "
        f"begin delete from words_{vault:d} where rowid = old.id; end"
    )


def drop(connection: apsw.Connection, vault: int) -> None:
    """Remove the tables of a vault."""
    connection.execute(
        f"drop trigger if exists chunk_words_{vault:d}; "
        f"drop table if exists vocabulary_{vault:d}; drop table if exists words_{vault:d}"
    )


def add(
    connection: apsw.Connection,
    vault: int,
    chunk_id: int,
    columns: Columns,
    language: str | None = None,
) -> None:
    """Index the words of a chunk, stemmed as in `language`; None for English."""
    if language and language not in (known := languages(connection, [vault])):
        spoken = " ".join(sorted({*known, language}))
        connection.execute("update vault set languages = ? where id = ?", (spoken, vault))
    texts = [prepare(text, language) for text in astuple(columns)]
    connection.execute(
        f"insert into words_{vault:d} (rowid, {', '.join(columns.__struct_fields__)}) "
        "values (?, ?, ?, ?, ?, ?, ?)",
        (chunk_id, *texts),
    )


def languages(connection: apsw.Connection, vaults: Collection[int]) -> tuple[str, ...]:
    """The languages, English aside, whose stemmers made words of these vaults."""
    listed = rows(
        connection,
        "select languages from vault where id in (select value from json_each(?))",
        (json.dumps(list(vaults)),),
    )
    return tuple(sorted({language for (spoken,) in listed for language in spoken.split()}))


def chunk_count(connection: apsw.Connection, vault: int) -> int:
    """The number of chunks of a vault that have words."""
    return int(connection.execute(f"select count(*) from words_{vault:d}_docsize").get or 0)


def merge_many(connection: apsw.Connection, vault: int) -> None:
    """Merge the segments of a vault's words when there are more than `MAX_SEGMENTS`."""
    segments: int = connection.execute(f"select count(distinct segid) from words_{vault:d}_idx").get
    if segments > MAX_SEGMENTS:
        _merge(connection, vault)


def compact(connection: apsw.Connection) -> None:
    """Remove the words of deleted chunks. Otherwise they stay until segments are merged."""
    for (vault,) in rows(connection, "select id from vault"):
        _merge(connection, vault)


def _merge(connection: apsw.Connection, vault: int) -> None:
    connection.execute(f"insert into words_{vault:d} (words_{vault:d}) values ('optimize')")


def idf(total: int, holding: int) -> float:
    """The rarity of a word that `holding` of `total` chunks contain, as in FTS5's BM25."""
    return max(1e-6, math.log((total - holding + 0.5) / (holding + 0.5)))
