import base64
import random
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.chunking.tokens import estimated_starts, token_counts, token_starts
from tests.growth import assert_linear


def test_tokens_begin_where_words_do() -> None:
    assert list(token_starts("")) == []
    assert list(token_starts(" \n\t")) == []
    assert list(token_starts("the cat, the dog")) == [0, 4, 7, 9, 13]
    assert list(token_starts("  the\r\n\r\ncat")) == [2, 9]
    assert len(token_starts("小明 sits")) == 3
    # Combining marks and what the tokenizer drops move no offset behind them.
    assert token_starts("e\u0301\ufeff\u200b the")[-1] == 5
    assert list(token_starts("\0 the")) == [2]


@given(st.text() | st.text(st.sampled_from("aé小 \n.🎉\u0301\u200d\ufffd")))
def test_starts_ascend_and_lie_in_the_text(text: str) -> None:
    starts = token_starts(text)
    assert list(starts) == sorted(set(starts))
    assert not starts or (starts[0] >= 0 and starts[-1] < len(text))


@pytest.mark.parametrize("size", [19_990, 40_000, 100_000])
@pytest.mark.parametrize("word", ["word ", "word\n", "小", "word"])
def test_a_long_text_counts_as_its_parts(word: str, size: int) -> None:
    text = word * (size // len(word))
    starts = token_starts(text)
    assert list(starts) == sorted(set(starts))
    if word != "word":
        assert len(starts) == size // len(word)
    else:
        assert len(starts) == pytest.approx(size / 4, rel=0.01)


WORDS = st.sampled_from(
    ["the ", "kite", "小明", "ไทย", "a1b2" * 25, "f" * 101, "0e" * 60, " ", "\n"]
)


@given(st.lists(WORDS, max_size=12).map("".join))
def test_counts_and_starts_agree(text: str) -> None:
    assert token_counts([text]) == [len(token_starts(text))]


def test_a_long_word_is_as_long_as_it_is() -> None:
    texts = ["kite " + "0123456789abcdef" * 6_250, "x" * 100, "小" * 5_000, "a kite"]
    assert token_counts(texts) == [25_001, token_counts(["x" * 100])[0], 5_000, 2]


SOAK = [pytest.param(unit, marks=pytest.mark.soak) for unit in ("x-", "ab12", "小", "\u0301", "=")]


@pytest.mark.parametrize("unit", ["x", *SOAK])
def test_one_line_without_spaces(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    token_starts("warm")
    tracemalloc.start()
    starts = token_starts(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_linear(lambda size: token_starts(text[:size]), len(text))
    assert peak < 100_000_000
    assert list(starts) == sorted(set(starts))
    gaps = [after - before for before, after in pairwise(starts)]
    assert max(gaps, default=0) <= 100


@pytest.mark.parametrize("bare", [" ", "\n", "\u200b", "\u0301", "\t "])
@pytest.mark.parametrize(("head", "tail"), [("tide ", " sea"), ("", " sea"), ("tide ", "")])
def test_what_has_no_tokens_has_a_size_where_it_is_long(bare: str, head: str, tail: str) -> None:
    short = token_starts(head + bare * 100 + tail)
    assert len(short) == bool(head) + bool(tail)
    text = head + bare * 50_000 + tail
    found = list(token_starts(text))
    assert found == sorted(set(found))
    assert max(after - before for before, after in pairwise([0, *found, len(text)])) <= 1_000


BASE64 = base64.b64encode(random.Random(4).randbytes(30_000)).decode()
PROSE = "The boat lies at pontoon C, and the harbour master wants to be paid in advance. " * 40
ZEROS = "\0" * 40_000


@given(st.lists(st.sampled_from([BASE64, PROSE, ZEROS, "小明" * 500, " ", "\n"])).map("".join))
def test_estimates_ascend_and_are_exact_for_prose(text: str) -> None:
    starts, counted = estimated_starts(text)
    assert list(starts) == sorted(set(starts))
    assert not starts or (starts[0] >= 0 and starts[-1] < len(text))
    if BASE64 not in text and ZEROS not in text:
        assert counted
    if counted:
        assert starts == token_starts(text)


@pytest.mark.parametrize("data", [BASE64, BASE64.replace("A", "\n"), ZEROS, "{[(" * 10_000])
def test_data_has_a_size(data: str) -> None:
    starts, counted = estimated_starts(PROSE + data + PROSE)
    assert not counted
    assert len(starts) >= len(data) / 100
    assert max(after - before for before, after in pairwise(starts)) <= 200


@pytest.mark.parametrize("data", [BASE64, "a(b){c.d}", "{[(", "\0", "=", "x"])
def test_the_estimate_of_data_costs_little(data: str) -> None:
    text = data * (1_000_000 // len(data))
    assert_linear(lambda size: estimated_starts(text[:size]), 1_000_000)
