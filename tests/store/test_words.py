"""How words are cut for the index and for a query."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from djinn_memory.languages.detection import LATIN
from djinn_memory.models import Vault
from djinn_memory.search.legs.words_query import MAX_TERMS, MAX_TIMES, compose, phrase
from djinn_memory.store.index import words
from djinn_memory.store.index.local.sqlite_index import SqliteWordIndex
from djinn_memory.store.index.local.sqlite_tables import SqliteSelections
from djinn_memory.store.index.records import WordMatch


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    with contextlib.closing(apsw.Connection(":memory:")) as opened:
        opened.execute(
            "create table vault (id integer primary key, uuid text);"
            "create table compartment (id integer primary key, vault_id integer, "
            "excluded text default '', languages text not null default '');"
            "insert into vault values (1, '1'), (2, '2');"
            "insert into compartment (id, vault_id) values (1, 1), (2, 2);"
            "create table chunk (id integer primary key, in_compartment integer)"
        )
        for vault in (1, 2):
            words.create(opened, vault)
        yield opened


def add(
    connection: apsw.Connection, vault: int, chunk: int, text: str, language: str | None = None
) -> None:
    words.add(connection, vault, chunk, words.Columns("", "", "", "", "", text), language)


def selections(connection: apsw.Connection, *vaults: int) -> SqliteSelections:
    return SqliteSelections(connection, {key: Vault(str(key), Path(), str(key)) for key in vaults})


def index_of(connection: apsw.Connection, *vaults: int) -> SqliteWordIndex:
    return SqliteWordIndex(connection, selections(connection, *vaults))


TIDE = WordMatch(((("tide",),),))


def scores(index: SqliteWordIndex, match: WordMatch = TIDE) -> dict[int, float]:
    return index.score(match, range(20))


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
def test_the_words_of_a_text_match_the_text(text: str, language: str | None) -> None:
    readable = text.encode("utf-8", "replace").decode()
    with contextlib.contextmanager(connection.__wrapped__)() as opened:  # type: ignore[attr-defined]
        add(opened, 1, 1, readable, language)
        vocabulary = index_of(opened, 1)
        for part in (text, *text.split()):
            query = compose(vocabulary, (part,))
            exact = phrase(vocabulary, part)
            if query is None:
                assert not vocabulary.split(part)
                continue
            assert list(scores(vocabulary, query.any)) == [1]
            if query.looked_up:
                assert list(scores(vocabulary, WordMatch(query.looked_up, every=True))) == [1]
            assert exact
            assert vocabulary.holding_phrase(exact) == [1]
            assert 0 <= query.share(query.full) <= 1


def test_stop_words_count_only_when_there_is_nothing_else(connection: apsw.Connection) -> None:
    vocabulary = index_of(connection, 1)
    query = compose(vocabulary, ("what is the tide",))
    assert query
    assert query.any.terms == ((("tide",),),)
    alone = compose(vocabulary, ("to be or not to be",))
    assert alone
    assert (("be",),) in alone.any.terms


def test_a_word_and_a_phrase_are_looked_for_so_often_and_so_long(
    connection: apsw.Connection,
) -> None:
    vocabulary = index_of(connection, 1)
    query = compose(vocabulary, ("tide " * 50 + "kettle",))
    assert query
    assert query.any.terms == (((("tide",),),) * MAX_TIMES + ((("kettle",),),))
    assert phrase(vocabulary, "tide " * 20_000) == (("tide",) * MAX_TERMS,)


def test_a_vault_counts_only_for_those_who_read_it(connection: apsw.Connection) -> None:
    add(connection, 1, 1, "the tide comes in")
    add(connection, 1, 2, "a kettle sings")
    before = index_of(connection, 1)
    numbers = before.total, before.frequency("tide"), scores(before), before.near("tode", 9)
    add(connection, 2, 3, "tide and todes")
    add(connection, 2, 4, "die Häuser am Meer", "german")
    after = index_of(connection, 1)
    assert numbers == (
        after.total,
        after.frequency("tide"),
        scores(after),
        after.near("tode", 9),
    )
    assert after.languages == ()
    both = index_of(connection, 1, 2)
    assert (both.total, both.frequency("tide"), both.languages) == (4, 2, ("german",))
    assert scores(both).keys() == {1, 3}
    assert scores(both)[1] < scores(before)[1] or scores(before)[1] < 1e-3


def test_a_word_is_as_rare_as_in_all_vaults_together(connection: apsw.Connection) -> None:
    """The only chunk of a small vault counts like one of a large vault that reads the same."""
    for number in range(10):
        add(connection, 1, number, "the tide comes in" if number == 0 else "a kettle often sings")
    add(connection, 2, 10, "the tide comes in")
    both = scores(index_of(connection, 1, 2))
    assert both[10] == pytest.approx(both[0], rel=0.05)
    assert both[10] > 1


def test_words_go_with_their_chunk_and_tables_with_their_vault(connection: apsw.Connection) -> None:
    connection.execute("insert into chunk values (1, 1), (2, 1)")
    add(connection, 1, 1, "the tide")
    add(connection, 1, 2, "the kettle")
    connection.execute("delete from chunk where id = 1")
    assert index_of(connection, 1).total == 1
    assert not scores(index_of(connection, 1))
    words.drop(connection, 1)
    assert not connection.execute("select 1 from sqlite_schema where name glob '*_1*'").get
