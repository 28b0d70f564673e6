"""What a query says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.models import Filters
from djinn_memory.search.query import MAX_OPERATORS, Query, parse

SYNTAX = st.lists(
    st.sampled_from([*'ab -"":*^()+~\'\\/#[]{}%_\t\n\0\ud800\u202e日', "tag:", "type:", "OR "])
).map("".join)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("how do I link", Query("how do I link")),
        ('"exact words" here', Query("exact words here", phrases=("exact words",))),
        ("budget -draft", Query("budget", without=("draft",))),
        ('budget -"first draft"', Query("budget", without=("first draft",))),
        ("tag:x", Query("", tags=("x",))),
        ("tag:#project/x pricing", Query("pricing", tags=("project/x",))),
        ('TYPE:decision path:"my notes/a"', Query("", types=("decision",), paths=("my notes/a",))),
        ("-tag:x -type:y a", Query("a", excluded=(("tag", "x"), ("type", "y")))),
        ("well-known - fact", Query("well-known - fact")),
        ("-- --flag", Query("-- --flag")),
        ("-5 degrees", Query("degrees", without=("5",))),
        ('an "open quote', Query('an " open quote')),
        ('""', Query('""')),
        ("tag:", Query("tag:")),
        ("see https://x.org/a:b", Query("see https://x.org/a:b")),
        ("hashtag:x", Query("hashtag:x")),
        ("a\0b", Query("a b")),
        ("a\udcff", Query("a?")),
        ("   ", Query("")),
    ],
)
def test_a_query_is_taken_apart(written: str, expected: Query) -> None:
    assert parse(written) == expected


@given(SYNTAX | st.text())
def test_any_string_is_a_query_and_no_word_is_lost(written: str) -> None:
    query = parse(written)
    kept = " ".join(
        [query.text, *query.without, *query.tags, *query.types, *query.paths]
        + [value for _, value in query.excluded]
    )
    for letter in "ab日":
        # "tag" and the like are read as filters' names.
        plain = written
        for word in ("tag:", "type:", "path:"):
            plain = plain.replace(word, "")
        assert plain.count(letter) <= kept.count(letter)
    query.text.encode()


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1))
def test_plain_words_are_text_as_they_are(words: list[str]) -> None:
    assert parse(" ".join(words)) == Query(" ".join(words))


def test_operators_beyond_a_bound_are_text() -> None:
    query = parse("-w " * 5000)
    assert len(query.without) == MAX_OPERATORS
    assert query.text.count("-w") == 5000 - MAX_OPERATORS


def test_filters_of_the_query_add_to_those_of_the_options() -> None:
    narrowed = parse("tag:b type:note -path:old").narrow(Filters(tags=("a",), since="2026"))
    assert narrowed == Filters(
        tags=("a", "b"), types=("note",), excluded=(("path", "old"),), since="2026"
    )
