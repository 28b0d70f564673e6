"""How words are cut for the index and for a query."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.search.words_leg import compose, phrase
from djinn_memory.store.index import words


@pytest.fixture(scope="module")
def connection() -> apsw.Connection:
    made = apsw.Connection(":memory:")
    made.execute(
        'create virtual table words using fts5(body, tokenize="porter unicode61 '
        "remove_diacritics 2 categories 'L* N* Co Mn Mc'\");"
        "create virtual table vocabulary using fts5vocab(words, row);"
        "create table chunk (id integer primary key)"
    )
    return made


def test_scripts_without_spaces_become_pairs() -> None:
    assert words.prepare("東京都").split() == ["東京", "京都", "都"]
    assert words.prepare("tide 港 low").split() == ["tide", "港", "low"]
    assert words.prepare("Ａ①ﬁ").split() == ["a1fi"]


@given(st.text())
def test_the_words_of_a_text_match_the_text(connection: apsw.Connection, text: str) -> None:
    connection.execute("delete from words")
    connection.execute(
        "insert into words (rowid, body) values (1, ?)",
        (words.prepare(text).encode("utf-8", "replace").decode(),),
    )
    asked = compose(connection, (text,))
    exact = phrase(connection, text)
    if asked is None:
        assert not words.split(connection, text)
        return
    match = "select count(*) from words where words match ?"
    assert connection.execute(match, (asked.terms,)).get == 1
    if asked.every:
        assert connection.execute(match, (asked.every,)).get == 1
    assert exact
    assert not any(word in ("", '""') for word in (asked.terms, exact))
    assert 0 <= asked.share(asked.full) <= 1


def test_stop_words_count_only_when_there_is_nothing_else(connection: apsw.Connection) -> None:
    asked = compose(connection, ("what is the tide",))
    assert asked
    assert asked.terms == '"tide"'
    alone = compose(connection, ("to be or not to be",))
    assert alone
    assert '"be"' in alone.terms
