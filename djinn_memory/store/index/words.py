"""The words of chunks: an FTS5 table of each vault, a column for each place of words."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence

import apsw
from msgspec import Struct
from msgspec.structs import astuple

from djinn_memory.store.sqlite import rows

VERSION = 3
"""Raised when `prepare` gives other words: the index is then made again."""

MAX_SEGMENTS = 8
"""FTS5 looks for a word in each segment. By itself it leaves about 13, up to 24, which double the
time of a search; to merge those of 5,000 notes takes 50 ms, and about 50 writes make so many."""

_TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""Texts are folded and cut by `prepare` first, so that scripts without spaces come in pairs and no
tokenizer of our own is needed to open the file."""


def prepare(text: str, language: str | None = None) -> str:
    """`text` as FTS5 is to see it: case, accents and compatibility forms folded, CJK in pairs.

    Cyrillic and Arabic words are stemmed here, Latin ones when `language` is one of
    `languages.LATIN`; English is FTS5's own business. Applied once: a stem may have a stem.
    """
    if text.isascii() and not language:
        return text
    # An English query never pays for what the other languages need.
    from djinn_memory.languages import scripts

    text = scripts.cut(scripts.fold(text))
    return _stemmed(text, language) if language else text


def forms(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """How a word of `split` may stand in the index: as English has it, then as each language."""
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
    """Make the tables for the words of a vault. The words of a chunk go with it, as its rows do."""
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
    """Make a chunk findable by its words, stemmed as in `language`; None for English."""
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
    """How many chunks of a vault have words."""
    return int(connection.execute(f"select count(*) from words_{vault:d}_docsize").get or 0)


def merge_many(connection: apsw.Connection, vault: int) -> None:
    """Merge the segments of the words of a vault when there are more than `MAX_SEGMENTS`."""
    segments: int = connection.execute(f"select count(distinct segid) from words_{vault:d}_idx").get
    if segments > MAX_SEGMENTS:
        _merge(connection, vault)


def compact(connection: apsw.Connection) -> None:
    """Leave no word of chunks that were removed, which else stay until words come to be merged."""
    for (vault,) in rows(connection, "select id from vault"):
        _merge(connection, vault)


def _merge(connection: apsw.Connection, vault: int) -> None:
    connection.execute(f"insert into words_{vault:d} (words_{vault:d}) values ('optimize')")


def idf(total: int, holding: int) -> float:
    """How rare a word is that `holding` of `total` chunks hold, as FTS5's BM25 has it."""
    return max(1e-6, math.log((total - holding + 0.5) / (holding + 0.5)))
