"""The words leg: an FTS5 table over chunks, one column for each place where words stand."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import apsw

from djinn_memory.store.sqlite import rows

VERSION = 1
"""Raised when `prepare` gives other words: the index is then made anew."""

# Scripts written without spaces, and Hangul, whose particles cling to the word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul
    "\U00020000-\U0003134f"
)
_WEIGHTS = "3, 3, 2, 2, 1, 1"
"""Of title, aliases, headings, tags, path, body: where a word stands says what a note is about."""

_UNICODE61 = ["remove_diacritics", "2", "categories", "L* N* Co Mn Mc"]
"""The tokenizer's options, the same as in the schema."""

_MARKS = "[\u064b-\u065f\u0640\u0591-\u05c7]"
_CLUSTER = f"[{_UNSPACED}](?:[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309a])*"


def prepare(text: str) -> str:
    """`text` as FTS5 is to see it: case, accents and compatibility forms folded, CJK in bigrams.

    A run of n characters becomes its n-1 pairs and its last character, so that every single
    character begins a word and a query of one can be asked as a prefix.
    """
    if text.isascii():
        return text
    # `re` keeps what it compiled; an English query never pays for it.
    text = re.sub(_MARKS, "", unicodedata.normalize("NFKC", text).casefold())
    return re.sub(f"[{_UNSPACED}]+", _bigrams, text)


def _bigrams(match: re.Match[str]) -> str:
    units = re.findall(_CLUSTER, match[0])
    pairs = [first + second for first, second in itertools.pairwise(units)]
    return f" {' '.join([*pairs, *units[-1:]])} "


def add(
    connection: apsw.Connection,
    chunk_id: int,
    *,
    title: str,
    aliases: str,
    headings: str,
    tags: str,
    path: str,
    body: str,
) -> None:
    """Make a chunk findable by its words."""
    connection.execute(
        "insert into words (rowid, title, aliases, headings, tags, path, body) "
        "values (?, ?, ?, ?, ?, ?, ?)",
        (chunk_id, *map(prepare, (title, aliases, headings, tags, path, body))),
    )


def remove(connection: apsw.Connection, chunk_ids: Sequence[int]) -> None:
    """Forget the words of chunks."""
    connection.executemany("delete from words where rowid = ?", [(key,) for key in chunk_ids])


def split(connection: apsw.Connection, text: str) -> list[str]:
    """The words of `text` as the index sees them, before stemming."""
    return _tokens(connection, "unicode61", _UNICODE61, text)


def stem(connection: apsw.Connection, word: str) -> str:
    """The form under which the index keeps `word`; empty when it keeps none."""
    return next(iter(_tokens(connection, "porter", ["unicode61", *_UNICODE61], word)), "")


def _tokens(connection: apsw.Connection, name: str, options: list[str], text: str) -> list[str]:
    tokenizer = connection.fts5_tokenizer(name, options)
    found: Any = tokenizer(
        prepare(text).encode("utf-8", "replace"),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    # A combining accent by itself is a token of nothing.
    return [token for token in found if token]


def frequency(connection: apsw.Connection, stemmed: str) -> int:
    """In how many chunks a stemmed word stands."""
    return connection.execute("select doc from vocabulary where term = ?", (stemmed,)).get or 0


def search(
    connection: apsw.Connection,
    match: str,
    where: str,
    values: Sequence[object],
    limit: int,
    per_note: int = 1,
) -> list[int]:
    """Chunks that match and satisfy `where` (over note, memory, chunk), best first by BM25.

    No more than `per_note` of one, so that a long note cannot hide the others.
    """
    found = rows(
        connection,
        "with found as materialized ("
        f"select words.rowid as id, -bm25(words, {_WEIGHTS}) as score, note.id as note_id "
        "from words join chunk on chunk.id = words.rowid "
        "join memory on memory.id = chunk.memory_id join note on note.id = memory.note_id "
        f"where words match ? and {where}), "
        "placed as (select id, score, row_number() over "
        "(partition by note_id order by score desc, id) as place from found) "
        "select id from placed where place <= ? order by score desc, id limit ?",
        (match, *values, per_note, limit),
    )
    return [chunk_id for (chunk_id,) in found]


def scores(connection: apsw.Connection, match: str, chunk_ids: Sequence[int]) -> dict[int, float]:
    """BM25 of those of `chunk_ids` that match."""
    # The unary plus keeps the rowid out of the plan: else the match is run once for each id.
    return dict(
        connection.execute(
            f"select rowid, -bm25(words, {_WEIGHTS}) from words where words match ? "
            "and +rowid in (select value from json_each(?))",
            (match, json.dumps(list(chunk_ids))),
        )
    )
