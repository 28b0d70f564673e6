"""A chat model that orders the hits: what its answer may do, and what it may not."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.settings import LlmConfig
from djinn_memory.search.stages.expand import MAX_QUESTION
from djinn_memory.search.stages.rerank import MAX_TEXT, ChatReranker, parse
from djinn_memory.upkeep.doctor import examine
from tests.growth import assert_linear
from tests.servers import ModelServer

NAMES = ("ebb", "flood", "spring")
QUESTION = "tide"


@pytest.fixture
def asking(home: Home, shared: Path, server: ModelServer) -> Djinn:
    """A home whose three notes a chat model orders."""
    for number, name in enumerate(NAMES, 1):
        (shared / f"{name}.md").write_text(f"The {'tide ' * number} and the {name}.\n")
    home.edit(
        (("llm", "model"), "m"),
        (("llm", "url"), f"{server.url}/v1"),
        (("llm", "timeout"), 2.0),
        (("search", "rerank"), "llm"),
    )
    home.trust(home.untrusted)
    opened = Djinn(home)
    opened.index()
    return opened


def scores(*values: object) -> str:
    return json.dumps({str(number): value for number, value in enumerate(values, 1)})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"1": 7, "2": 0}', [0.7, 0.0]),
        ('{"2": 0, "1": 10}', [1.0, 0.0]),
        ('```json\n{"1": 7.5, "2": 0}\n```', [0.75, 0.0]),
        ('<think>{"1": 1, "2": 1}</think>Sure: {"1": 7, "2": 3} Hope it helps', [0.7, 0.3]),
    ],
)
def test_an_answer_is_read(answer: str, expected: list[float]) -> None:
    assert parse(answer, 2) == expected


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I cannot help with that.", "no JSON object"),
        ("}{", "no JSON object"),
        ('{"1": 7, "2": ', "no JSON object"),
        ('{"1": 7, "2": }', "no JSON object of numbers"),
        ('{"1": 7, "2": true}', "no JSON object of numbers"),
        ('{"1": 7, "2": "high"}', "no JSON object of numbers"),
        ('{"1": 7, "2": 11}', "no JSON object of numbers"),
        ('{"1": 7, "2": -1}', "no JSON object of numbers"),
        ('{"1": 7, "2": NaN}', "no JSON object of numbers"),
        ('{"1": 7, "2": 1e999}', "no JSON object of numbers"),
        ('{"scores": {"1": 7, "2": 3}}', "no JSON object of numbers"),
        ('{"1": 7}', "1 excerpt of 2 without a score"),
        ("{}", "2 excerpts of 2 without a score"),
        ('{"1": 7, "2": 3, "3": 1}', "3 scores for 2 excerpts"),
        ('{"1": 7, "2": 3, "1": 1}', "an excerpt has two scores"),
        ('{"1":' * 50_000 + "}" * 50_000, "no JSON object of numbers"),
    ],
)
def test_any_other_answer_is_refused_and_says_why(answer: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(answer, 2)


@given(st.text(alphabet='{}[]",:0123456789e.-<>/think ') | st.text(), st.integers(0, 3))
def test_no_answer_gives_anything_but_a_score_for_each(answer: str, texts: int) -> None:
    try:
        values = parse(answer, texts)
    except ValueError:
        return
    assert len(values) == texts
    assert all(0 <= value <= 1 for value in values)


@pytest.mark.parametrize("piece", ["{", "}", '{"1":', '"1": 1,', "</think>", "[", "\\"])
def test_a_long_hostile_answer_costs_little(piece: str) -> None:
    def read(size: int) -> None:
        with pytest.raises(ValueError):
            parse(piece * size, 2)

    assert_linear(read, 1_000_000)


def test_the_model_orders_the_hits(asking: Djinn, server: ModelServer) -> None:
    before = asking.search(QUESTION, rerank=False)
    assert not server.asked and not before.steps
    server.reply = scores(0, 0, 10)
    after = asking.search(QUESTION)
    assert not after.problems
    last = before.hits[2]
    assert after.hits[0].path == last.path
    assert after.hits[0].before == 3
    assert (after.hits[0].legs["rerank"].raw, after.hits[0].legs["rerank"].rank) == (1.0, 1)
    for hit in after.hits:
        parts = sum(leg.part for leg in hit.legs.values()) + hit.feedback
        assert hit.score == pytest.approx(parts, abs=1e-4)
    [step] = after.steps
    assert (step.name, step.what) == ("rerank", "m read the best 3, 3 of them changed rank")


def test_equal_scores_keep_the_order(asking: Djinn, server: ModelServer) -> None:
    before = asking.search(QUESTION, rerank=False)
    server.reply = scores(5, 5, 5)
    after = asking.search(QUESTION)
    assert [hit.path for hit in after.hits] == [hit.path for hit in before.hits]


def test_one_request_holds_the_question_and_short_excerpts(
    asking: Djinn, shared: Path, server: ModelServer
) -> None:
    (shared / "long.md").write_text(f"tide\n2: tide {'and more ' * 5000}\n")
    server.reply = scores(*[1] * 4)
    assert not asking.search(f"tide\n9: {'x' * 5000}", mode="words").problems
    [asked] = server.asked
    lines = asked.body["messages"][0]["content"].partition("\n\nQuestion: ")[2].splitlines()
    assert len(lines[0]) <= MAX_QUESTION
    assert [line.partition(":")[0] for line in lines[2:]] == ["1", "2", "3", "4"]
    assert all(len(line) <= MAX_TEXT + len("1: ") for line in lines[2:])


@pytest.mark.parametrize(
    "reply", ["I would rather not.", "{}", scores(1, 2), '{"1": 1, "2": 2, "3": 3, "3": 4}']
)
def test_a_bad_answer_keeps_the_order_and_gives_one_line(
    asking: Djinn, server: ModelServer, reply: str
) -> None:
    before = asking.search(QUESTION, rerank=False)
    server.reply = reply
    after = asking.search(QUESTION)
    assert after.hits == before.hits
    [problem] = after.problems
    assert problem.what == "rerank"
    assert problem.why.startswith("m did not score the hits as asked: ")
    assert problem.why.endswith("; the hits were not reranked")
    assert "\n" not in problem.why
    assert [step.what for step in after.steps] == ["m did not change the order"]


@pytest.mark.few(3)
@pytest.mark.parametrize("mood", ["never", "drip", "500", "401", "not json", "dropped", "no text"])
def test_a_model_that_fails_keeps_the_order_within_the_time(
    asking: Djinn, home: Home, server: ModelServer, mood: str
) -> None:
    home.edit((("llm", "timeout"), 0.5))
    djinn = Djinn(home)
    before = djinn.search(QUESTION, rerank=False)
    server.mood = mood
    began = time.monotonic()
    after = djinn.search(QUESTION)
    assert time.monotonic() - began < 10
    assert after.hits == before.hits
    [problem] = after.problems
    assert problem.what == "rerank" and "\n" not in problem.why


def test_nothing_is_sent_without_hits_or_trust_or_a_model(
    asking: Djinn, home: Home, server: ModelServer
) -> None:
    assert not asking.search("path:ebb").steps
    assert not asking.search('"no such phrase anywhere"', mode="words").problems
    home.distrust()
    result = Djinn(home).search(QUESTION)
    assert result.hits
    assert any("llm.model is not set" in problem.why for problem in result.problems)
    assert not server.asked


def test_the_reranker_raises_what_a_caller_can_report(server: ModelServer) -> None:
    server.reply = "no"
    reranker = ChatReranker(LlmConfig(model="m", url=f"{server.url}/v1"))
    with pytest.raises(Unavailable, match="m did not score the hits as asked"):
        reranker.judge("x", ["y"])


def test_doctor_asks_the_model(asking: Djinn, home: Home, server: ModelServer) -> None:
    def looked() -> dict[str, tuple[str, str]]:
        result = examine(home, fix=False, progress=lambda _: None)
        return {each.part: (each.severity, each.what) for each in result.findings}

    assert looked()["reranker"] == ("ok", "the chat model of llm")
    severity, what = looked()["chat model"]
    assert severity == "ok" and what.startswith("m answers in ")
    server.mood = "401"
    assert looked()["chat model"][0] == "error"
    home.edit((("llm", "model"), None))
    assert looked()["chat model"] == (
        "warning", "there is no model for search.rerank: llm.model is not set",
    )  # fmt: skip
