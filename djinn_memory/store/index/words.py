"""The words leg: an FTS5 table over chunks, one column for each place where words stand."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import apsw

from djinn_memory.store.index import meta
from djinn_memory.store.index.records import ChunkRef, Phrase, WordMatch
from djinn_memory.store.sqlite import rows

VERSION = 3
"""Raised when `prepare` gives other words: the index is then made anew."""

_WEIGHTS = "3, 3, 2, 2, 1, 1"
"""Of title, aliases, headings, tags, path, body: where a word stands says what a note is about."""

COMPOUND_PART = 4
"""Letters of the shortest stem that is looked for in compounds: `Rad` is in too many words."""

MAX_COMPOUNDS = 12
"""Compounds that one word may stand for."""

_UNICODE61 = ["remove_diacritics", "2", "categories", "L* N* Co Mn Mc"]
"""The tokenizer's options, the same as in the schema."""


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


def languages(connection: apsw.Connection) -> tuple[str, ...]:
    """The languages, English aside, whose stemmers made words of this index."""
    return tuple((meta.get(connection, "languages") or "").split())


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
    language: str | None = None,
) -> None:
    """Make a chunk findable by its words, stemmed as in `language`; None for English."""
    if language and language not in (known := languages(connection)):
        meta.put(connection, "languages", " ".join(sorted({*known, language})))
    connection.execute(
        "insert into words (rowid, title, aliases, headings, tags, path, body) "
        "values (?, ?, ?, ?, ?, ?, ?)",
        (
            chunk_id,
            *(prepare(text, language) for text in (title, aliases, headings, tags, path, body)),
        ),
    )


def remove(connection: apsw.Connection, chunk_ids: Sequence[int]) -> None:
    """Forget the words of chunks."""
    connection.executemany("delete from words where rowid = ?", [(key,) for key in chunk_ids])


def compact(connection: apsw.Connection) -> None:
    """Leave no word of chunks that were removed, which else stay until words come to be merged."""
    connection.execute("insert into words (words) values ('optimize')")


class SqliteVocabulary:
    """The words of an index; `search.backend.Vocabulary` says what each method does."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages, English aside, whose stemmers made words of this index."""
        return languages(self._connection)

    @cached_property
    def total(self) -> int:
        """How many chunks there are."""
        return int(self._connection.execute("select count(*) from chunk").get or 0)

    def split(self, text: str) -> list[str]:
        """The words of `text` before FTS5 stems them."""
        return _tokens(self._connection, "unicode61", _UNICODE61, prepare(text))

    def stems(self, word: str, spoken: Sequence[str] | None = None) -> list[str]:
        """The terms under which the index may keep a word of `split`.

        `spoken` are the languages it may be of; None stands for all languages of the index.
        """
        terms: dict[str, None] = {}
        for form in dict.fromkeys(forms(word, self.languages if spoken is None else spoken)):
            terms.update(dict.fromkeys(self.stemmed(form)))
        return list(terms)

    def stemmed(self, text: str) -> list[str]:
        """The words of `text` as FTS5 stems them, which is as in English."""
        return _tokens(self._connection, "porter", ["unicode61", *_UNICODE61], text)

    def frequency(self, stem: str) -> int:
        """In how many chunks a stemmed word stands."""
        sql = "select doc from vocabulary where term = ?"
        return int(self._connection.execute(sql, (stem,)).get or 0)

    def compounds(self, stem: str) -> list[str]:
        """Terms, English aside, that a marked stem begins or ends, or that do so to it.

        `Müll` is in `Mülltonne`, `Torte` in `Kirschtorte`. The vocabulary is read whole.
        """
        bare = stem[:-1]
        if len(bare) < COMPOUND_PART:
            return []
        listed = rows(
            self._connection,
            "select term from (select term, substr(term, 1, length(term) - 1) as bare "
            "from vocabulary where substr(term, -1) = ?1 and length(term) > ?2) "
            "where substr(bare, 1, length(?3)) = ?3 or substr(bare, -length(?3)) = ?3 "
            "or substr(?3, 1, length(bare)) = bare or substr(?3, -length(bare)) = bare limit ?4",
            (stem[-1], COMPOUND_PART, bare, MAX_COMPOUNDS),
        )
        return [term for (term,) in listed]

    def near(self, stem: str, limit: int) -> list[str]:
        """Terms with the first letter of a stem and about its length, at most `limit`."""
        listed = rows(
            self._connection,
            "select term from vocabulary where term >= ? and term < ? "
            "and length(term) between ? and ? limit ?",
            (stem[0], chr(ord(stem[0]) + 1), len(stem) - 2, len(stem) + 2, limit),
        )
        return [term for (term,) in listed]


def _tokens(connection: apsw.Connection, name: str, options: list[str], text: str) -> list[str]:
    tokenizer = connection.fts5_tokenizer(name, options)
    tokens: Any = tokenizer(
        text.encode("utf-8", "replace"),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    # A combining accent by itself is a token of nothing.
    return [token for token in tokens if token]


def expression(match: WordMatch, *, prefixes: bool = True) -> str:
    """Words to look for as FTS5 reads them.

    With `prefixes` a lone character of a script cut into pairs begins a pair in the index.
    """

    def quoted(words: Phrase) -> str:
        lone = prefixes and len(words) == 1 and len(words[0]) == 1 and _unspaced(words[0])
        return f'"{" ".join(words)}"{"*" if lone else ""}'

    terms = [" OR ".join(map(quoted, forms)) for forms in match.terms]
    return " AND ".join(f"({term})" for term in terms) if match.every else " OR ".join(terms)


def _unspaced(word: str) -> bool:
    if word.isascii():
        return False
    from djinn_memory.languages import scripts

    return scripts.unspaced(word)


def ranked(
    connection: apsw.Connection,
    match: WordMatch,
    where: str,
    values: Sequence[object],
    limit: int,
    per_memory: int,
) -> list[ChunkRef]:
    """Chunks that match and satisfy `where` (over note, memory, chunk), best first by BM25.

    No more than `per_memory` of one, so that a long memory cannot hide the others.
    """
    listed = rows(
        connection,
        "with matching as materialized ("
        f"select words.rowid as id, -bm25(words, {_WEIGHTS}) as score, memory.id as memory_id "
        "from words join chunk on chunk.id = words.rowid "
        "join memory on memory.id = chunk.memory_id join note on note.id = memory.note_id "
        f"where words match ? and {where}), "
        "placed as (select id, memory_id, score, row_number() over "
        "(partition by memory_id order by score desc, id) as place from matching) "
        "select id, memory_id from placed where place <= ? order by score desc, id limit ?",
        (expression(match), *values, per_memory, limit),
    )
    return [ChunkRef(chunk, memory) for chunk, memory in listed]


def bm25(
    connection: apsw.Connection, match: WordMatch, chunk_ids: Collection[int]
) -> dict[int, float]:
    """BM25 of those of `chunk_ids` that match."""
    # The unary plus keeps the rowid out of the plan: else the match is run once for each id.
    return dict(
        connection.execute(
            f"select rowid, -bm25(words, {_WEIGHTS}) from words where words match ? "
            "and +rowid in (select value from json_each(?))",
            (expression(match), json.dumps(list(chunk_ids))),
        )
    )
