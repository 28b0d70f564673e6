"""What a query says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from djinn_memory.models import Filters
from djinn_memory.search.query import MAX_MARKS, MAX_OPERATORS, OWN_SHARE, Query, parse
from tests.growth import assert_linear

SYNTAX = st.lists(
    st.sampled_from(
        [
            *'ab -"":*^()+~\'\\/#[]{}%_\t\n\0\ud800\u202e日',
            "tag:",
            "type:",
            "OR ",
            " words:",
            " meaning:",
        ]
    )
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
        (
            "words: tide meaning: the sea rises",
            Query("", words=("tide",), meanings=("the sea rises",)),
        ),
        ("boats Words: hull keel", Query("boats", words=("hull keel",))),
        ("boats\nwords: hull\nwords: keel", Query("boats", words=("hull", "keel"))),
        ("meaning: x\n  b meaning: c", Query("", meanings=("x b", "c"))),
        (
            'x tag:t words: "big hull" -draft type:note meaning: it\'s "so" -low tag:u',
            Query(
                "x",
                ("big hull",),
                ("draft",),
                ("t",),
                ("note",),
                words=("big hull",),
                meanings=('it\'s "so" -low tag:u',),
            ),
        ),
        ("what is the meaning: x", Query("what is the meaning: x")),
        ("what is the\nmeaning: x", Query("what is the", meanings=("x",))),
        (
            "words: ebb meaning: of the meaning: b",
            Query("", words=("ebb",), meanings=("of the meaning: b",)),
        ),
        ("boats meaning:", Query("boats meaning:")),
        ("words: meaning: x", Query("words:", meanings=("x",))),
        ("words:", Query("words:")),
        ("keywords: x, my:meaning: y", Query("keywords: x, my:meaning: y")),
        ('"last words: x" y', Query("last words: x y", phrases=("last words: x",))),
        ("words: tag:x", Query("", tags=("x",))),
    ],
)
def test_a_query_is_taken_apart(written: str, expected: Query) -> None:
    assert parse(written) == expected


@given(SYNTAX | st.text())
def test_any_string_is_a_query_and_no_word_is_lost(written: str) -> None:
    query = parse(written)
    kept = " ".join(
        [
            query.text,
            *query.words,
            *query.meanings,
            *query.without,
            *query.tags,
            *query.types,
            *query.paths,
        ]
        + [value for _, value in query.excluded]
    )
    for letter in "ab日":
        # "tag" and the like are read as filters' names.
        plain = written
        for word in ("tag:", "type:", "path:", "words:", "meaning:"):
            plain = plain.replace(word, "")
        assert plain.count(letter) <= kept.count(letter)
    query.text.encode()


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1))
def test_plain_words_are_text_as_they_are(words: list[str]) -> None:
    assert parse(" ".join(words)) == Query(" ".join(words))


def test_parts_beyond_a_bound_are_text_and_cost_nothing() -> None:
    query = parse("meaning: x " * 50_000)
    assert len(query.meanings) == MAX_MARKS
    assert query.meanings[-1].count("meaning:") == 50_000 - MAX_MARKS
    assert_linear(lambda size: parse("meaning: x " * size), 50_000)


@given(SYNTAX, SYNTAX)
def test_parts_do_not_change_what_stands_before_them(plain: str, passage: str) -> None:
    before, both = parse(plain), parse(f"{plain}\nmeaning: {passage}")
    if (
        before.text.count('"') % 2
        or not passage.replace("\0", " ").strip()
        or ":" in passage + plain
    ):
        return
    assert both.text == before.text
    assert both.phrases == before.phrases
    assert both.meanings[0].split() == parse(f"meaning: {passage}").meanings[0].split()


@pytest.mark.parametrize(
    ("written", "texts", "meant"),
    [
        ("tide", ("tide",), ("tide",)),
        ("tide words: ebb", ("tide",), ("tide",)),
        ("tide meaning: the sea", ("tide",), ("tide", "the sea")),
        ("words: ebb flow words: low", ("ebb flow", "low"), ("ebb flow",)),
        ("meaning: the sea", (), ("the sea",)),
        ("tag:x", (), ()),
    ],
)
def test_each_leg_is_asked_its_own_texts(
    written: str, texts: tuple[str, ...], meant: tuple[str, ...]
) -> None:
    query = parse(written)
    assert query.for_words == texts
    assert query.for_meaning[0] == meant
    assert query.asks == bool(texts or meant)


def test_what_a_model_adds_counts_less_than_all_of_the_users_own() -> None:
    query = replace(parse("x meaning: b"), added_meanings=("c", "d", "e"))
    texts, weights = query.for_meaning
    assert texts == ("x", "b", "c", "d", "e")
    assert sum(weights) == pytest.approx(1)
    assert sum(weights[:2]) == pytest.approx(OWN_SHARE)


def test_operators_beyond_a_bound_are_text() -> None:
    query = parse("-w " * 5000)
    assert len(query.without) == MAX_OPERATORS
    assert query.text.count("-w") == 5000 - MAX_OPERATORS


def test_filters_of_the_query_add_to_those_of_the_options() -> None:
    narrowed = parse("tag:b type:note -path:old").narrow(Filters(tags=("a",), since="2026"))
    assert narrowed == Filters(
        tags=("a", "b"), types=("note",), excluded=(("path", "old"),), since="2026"
    )


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ('"exact words"', True),
        ('"exact words" "and these" -draft tag:x', True),
        ('words: "exact words"', True),
        ('what does "exact words" mean', False),
        ("exact words", False),
        ("tag:x", False),
    ],
)
def test_a_query_of_phrases_alone(text: str, only: bool) -> None:
    assert parse(text).only_phrases is only
