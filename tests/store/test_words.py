"""How words are cut for the index and for a query."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from djinn_memory.languages.detection import LATIN
from djinn_memory.search.legs.words import MAX_TERMS, MAX_TIMES, compose, phrase
from djinn_memory.store.index import words
from djinn_memory.store.index.records import WordMatch


@pytest.fixture(scope="module")
def connection() -> apsw.Connection:
    made = apsw.Connection(":memory:")
    made.execute(
        "create virtual table words using fts5(title, aliases, headings, tags, path, body, "
        'tokenize="porter unicode61 '
        "remove_diacritics 2 categories 'L* N* Co Mn Mc'\");"
        "create virtual table vocabulary using fts5vocab(words, row);"
        "create table meta (key text primary key, value text not null) without rowid;"
        "create table chunk (id integer primary key)"
    )
    return made


def test_scripts_without_spaces_become_pairs() -> None:
    assert words.prepare("東京都").split() == ["東京", "京都", "都"]
    assert words.prepare("tide 港 low").split() == ["tide", "港", "low"]
    assert words.prepare("Ａ①ﬁ").split() == ["a1fi"]


TEXTS = st.text() | st.lists(
    st.sampled_from(
        [
            *("die", "Häuser", "straße", "l'été", "naïve", "x86", "a_b", "e\u0301", "\ue000", "´"),
            *("собаки", "ёлка", "в", "والمكتبة", "هل", "مَكتب", "หนังสือ", "ที่ไหน", "병원에", "언제"),
            *("東京都の", "犬は", "りんごですか", "届きます", "什么", "护照", "日x", "ﾊﾞｽ"),
        ]
    )
).map(" ".join)


@given(TEXTS, st.sampled_from([None, *LATIN]))
@example("0\u0323A", "german")
@example("A\u03240 x", "german")
def test_the_words_of_a_text_match_the_text(
    connection: apsw.Connection, text: str, language: str | None
) -> None:
    readable = text.encode("utf-8", "replace").decode()
    connection.execute("delete from words; delete from meta")
    words.add(
        connection, 1, title="", aliases="", headings="", tags="", path="", body=readable,
        language=language,
    )  # fmt: skip
    match = "select count(*) from words where words match ?"
    vocabulary = words.SqliteVocabulary(connection)
    for part in (text, *text.split()):
        query = compose(vocabulary, (part,))
        exact = phrase(vocabulary, part)
        if query is None:
            assert not vocabulary.split(part)
            continue
        terms = words.expression(query.any)
        assert connection.execute(match, (terms,)).get == 1
        if query.looked_up:
            every = words.expression(WordMatch(query.looked_up, every=True))
            assert connection.execute(match, (every,)).get == 1
        assert exact
        whole = words.expression(WordMatch((exact,)), prefixes=False)
        assert connection.execute(match, (whole,)).get == 1
        assert not any(expression in ("", '""') for expression in (terms, whole))
        assert 0 <= query.share(query.full) <= 1


def test_stop_words_count_only_when_there_is_nothing_else(connection: apsw.Connection) -> None:
    connection.execute("delete from meta")
    vocabulary = words.SqliteVocabulary(connection)
    query = compose(vocabulary, ("what is the tide",))
    assert query
    assert words.expression(query.any) == '"tide"'
    alone = compose(vocabulary, ("to be or not to be",))
    assert alone
    assert '"be"' in words.expression(alone.any)


def test_a_word_and_a_phrase_are_looked_for_so_often_and_so_long(
    connection: apsw.Connection,
) -> None:
    connection.execute("delete from meta")
    vocabulary = words.SqliteVocabulary(connection)
    query = compose(vocabulary, ("tide " * 50 + "kettle",))
    assert query
    assert words.expression(query.any).split(" OR ") == ['"tide"'] * MAX_TIMES + ['"kettle"']
    exact = WordMatch((phrase(vocabulary, "tide " * 20_000),))
    assert words.expression(exact) == f'"{" ".join(["tide"] * MAX_TERMS)}"'
