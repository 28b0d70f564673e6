"""The words leg: an FTS5 table over chunks, one column for each place where words stand."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import apsw

VERSION = 1
"""Raised when `prepare` gives other words: the index is then made anew."""

# Scripts written without spaces, and Hangul, whose particles cling to the word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul
    "\U00020000-\U0003134f"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_MARKS = re.compile("[\u064b-\u065f\u0640\u0591-\u05c7]")
_CLUSTER = re.compile(f"[{_UNSPACED}](?:[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309a])*")


def prepare(text: str) -> str:
    """`text` as FTS5 is to see it: case, accents and compatibility forms folded, CJK in bigrams.

    A run of n characters becomes its n-1 pairs and its last character, so that every single
    character begins a word and a query of one can be asked as a prefix.
    """
    if text.isascii():
        return text
    text = _MARKS.sub("", unicodedata.normalize("NFKC", text).casefold())
    return _RUN.sub(_bigrams, text)


def _bigrams(match: re.Match[str]) -> str:
    units = _CLUSTER.findall(match[0])
    pairs = [first + second for first, second in zip(units, units[1:], strict=False)]
    return f" {' '.join([*pairs, *units[-1:]])} "


def is_unspaced(text: str) -> bool:
    """Whether `text` begins in a script that is cut into bigrams."""
    return bool(_RUN.match(text))


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


def terms(connection: apsw.Connection, text: str) -> list[str]:
    """The index's own words in `text`, stemmed, in order: what a match is made of."""
    tokenizer = connection.fts5_tokenizer(
        "porter",
        ["unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc"],
    )
    prepared = prepare(text).encode()
    return list(tokenizer(prepared, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False,
                          include_colocated=False))  # fmt: skip
