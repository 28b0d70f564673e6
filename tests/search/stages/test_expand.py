"""What a chat model may add to a question, and what it may not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.settings import LlmConfig
from djinn_memory.search.query import Query
from djinn_memory.search.query import parse as parse_query
from djinn_memory.search.stages.expand import MAX_PASSAGE, MAX_WORDS, by_model, parse
from tests.growth import assert_linear
from tests.servers import ModelServer

GOOD = "words: ebb, flood\nmeaning: The sea rises twice a day."

HOSTILE = st.lists(
    st.sampled_from(
        ["words:", "meaning:", "\n", " ", '"', "-x", "tag:", "{", "}", "*", "OR", "</think>",
         "NEAR(", "<think>", "[", "\0", "\ud800", "\u202e", "a", "日本", "```", "_", ":", "\x1b[2J"]
    )
).map("".join)  # fmt: skip


@pytest.fixture
def ask(djinn: Djinn, home: Home, shared: Path, server: ModelServer) -> Djinn:
    """A home with notes that only the model's words or passage find."""
    (shared / "ebb.md").write_text("# Ebb\n\nEbb and flood fill the creek.\n")
    (shared / "bread.md").write_text("# Bread\n\nFlour and yeast for the galley.\n")
    home.edit((("llm", "model"), "m"), (("llm", "url"), f"{server.url}/v1"))
    home.trust(home.untrusted)
    opened = Djinn(home)
    opened.index()
    return opened


def config(server: ModelServer, **others: object) -> LlmConfig:
    return LlmConfig(**{"model": "m", "url": f"{server.url}/v1", **others})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (GOOD, ("ebb flood", "The sea rises twice a day.")),
        ("**Words:** ebb; flood\n\n**Meaning:** *It rises.*", ("ebb flood", "It rises.")),
        ("```\nwords: ebb\nmeaning: It rises.\n```", ("ebb", "It rises.")),
        ('{"words": ["ebb", "flood"], "meaning": "It rises."}', ("ebb flood", "It rises.")),
        ("<think>words: no\nmeaning: no</think>\nwords: ebb\nmeaning: yes", ("ebb", "yes")),
        ("Sure!\n1. Words: ebb\n2. Meaning: yes\nHope this helps", ("ebb", "yes")),
        ("words: ebb", ("ebb", "")),
        ("meaning: yes", ("", "yes")),
        ("words: -ebb \"flood\" tag:x OR ebb", ("ebb flood tag x OR", "")),
        ("I cannot help with that.", ("", "")),
        ("", ("", "")),
    ],
)  # fmt: skip
def test_an_answer_is_read_leniently(answer: str, expected: tuple[str, str]) -> None:
    assert parse(answer) == expected


@given(HOSTILE | st.text())
def test_no_answer_raises_or_becomes_an_operator(answer: str) -> None:
    words, passage = parse(answer)
    assert parse_query(words) == Query(words)
    assert len(words.split()) <= MAX_WORDS
    assert len(passage) <= MAX_PASSAGE
    assert "\n" not in words + passage
    passage.encode()


@pytest.mark.parametrize(
    "piece", ["words:", "*", "</think>", "{", "\n", "meaning: x\n", "<think>", '{"']
)
def test_a_long_hostile_answer_costs_little(piece: str) -> None:
    assert_linear(lambda size: parse(piece * size), 1_000_000)


def test_the_question_is_widened_and_filters_stay_the_users(server: ModelServer) -> None:
    server.reply = 'words: ebb tag:secret -tide "flood"\nmeaning: path:x "a" -b'
    query = parse_query('tide tag:mine "high water" -low')
    wider, step, problem = by_model(query, config(server))
    assert problem is None
    assert wider.added_words == ("ebb tag secret tide flood",)
    assert wider.added_meanings == ('path:x "a" -b',)
    assert (wider.text, wider.phrases, wider.without, wider.tags, wider.paths) == (
        query.text, query.phrases, query.without, query.tags, query.paths,
    )  # fmt: skip
    assert "ebb" in step.what
    assert "tide high water" in server.asked[0].body["messages"][0]["content"]


def test_a_query_with_parts_of_its_own_asks_no_model(server: ModelServer) -> None:
    query = parse_query("tide meaning: the sea")
    assert by_model(query, config(server))[0] == query
    assert not server.asked


@pytest.mark.parametrize("mood", ["never", "500", "not json", "dropped", "no text"])
def test_a_failing_model_leaves_the_query_and_says_so(server: ModelServer, mood: str) -> None:
    server.mood = mood
    query = parse_query("tide")
    began = time.monotonic()
    same, step, problem = by_model(query, config(server, timeout=0.5))
    assert time.monotonic() - began < 10
    assert same == query
    assert problem is not None
    assert problem.what == step.name == "expand"


def test_an_answer_of_no_use_is_a_problem(server: ModelServer) -> None:
    server.reply = "As a language model I would rather not."
    assert by_model(parse_query("tide"), config(server))[2] is not None


def test_a_search_finds_what_only_the_model_named(ask: Djinn, server: ModelServer) -> None:
    server.reply = GOOD
    plain = ask.search("water movement", mode="words")
    assert plain.hits == ()
    assert plain.steps == ()
    wider = ask.search("water movement", mode="words", expand="llm")
    assert [hit.path for hit in wider.hits] == ["ebb.md"]
    assert [step.name for step in wider.steps] == ["expand"]
    assert not wider.problems


def test_the_users_own_words_come_first(ask: Djinn, server: ModelServer) -> None:
    server.reply = "words: ebb flood creek\nmeaning: Ebb and flood fill the creek."
    for mode in ("words", "hybrid"):
        hits = ask.search("yeast flour bread", mode=mode, expand="llm").hits  # type: ignore[arg-type]
        assert [hit.path for hit in hits] == ["bread.md", "ebb.md"]
        assert all(0 <= hit.score <= 1 for hit in hits)


def test_without_a_model_the_search_answers_as_before(ask: Djinn, home: Home) -> None:
    home.edit((("llm", "model"), None))
    djinn = Djinn(home)
    before, after = djinn.search("flood"), djinn.search("flood", expand="llm")
    assert after.hits == before.hits
    [problem] = after.problems
    assert "llm.model is not set" in problem.why


def test_the_config_expands_and_an_option_says_otherwise(
    ask: Djinn, home: Home, server: ModelServer
) -> None:
    server.reply = GOOD
    home.edit((("search", "expand"), "llm"))
    djinn = Djinn(home)
    assert djinn.search("water").steps
    assert not djinn.search("water", expand="none").steps
    assert not djinn.search("path:ebb").steps
