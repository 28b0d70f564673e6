"""How a document is cut: from a model's name, a setting, or what its front matter says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.chunking.strategies import (
    CONTEXTS,
    Plan,
    context_window,
    count,
    plan,
    written_plan,
)
from djinn_memory.errors import UsageError


@pytest.mark.parametrize(
    ("model", "window", "size"),
    [
        ("claude-3-5-sonnet", 200_000, 4096),
        ("claude-3-opus", 200_000, 4096),
        ("gpt-4-turbo", 128_000, 4096),
        ("llama-3.1-70b", 128_000, 4096),
        ("gpt-4", 8192, 409),
        ("default", 8192, 409),
        ("1000", 1000, 256),
        ("32000", 32_000, 1600),
        ("999999999", 999_999_999, 4096),
    ],
)
def test_the_table_of_the_spec(model: str, window: int, size: int) -> None:
    assert context_window(model, {}) == window
    assert plan("adaptive", window=window) == Plan("adaptive", size, size // 10)


@pytest.mark.parametrize("name", ["gpt-5", "", "0", "-8", "1e6", "8.5", "1" * 10, " 8192"])
def test_a_model_that_is_not_known_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(UsageError) as raised:
        context_window(name, {"mine": 5})
    assert all(known in str(raised.value) for known in (*CONTEXTS, "mine", "model_contexts"))


def test_settings_add_models_and_say_otherwise_of_known_ones() -> None:
    assert context_window("mine", {"mine": 32_000}) == 32_000
    assert context_window("gpt-4", {"gpt-4": 20_000}) == 20_000
    assert context_window("7", {"7": 64_000}) == 64_000


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({}, None),
        ({"chunk_size": "300"}, None),
        ({"chunk_strategy": "fixed"}, Plan("fixed", 1000, 0)),
        ({"chunk_strategy": "fixed", "chunk_size": "300"}, Plan("fixed", 300, 0)),
        ({"chunk_strategy": "fixed", "chunk_size": "7"}, Plan("fixed", 1000, 0)),
        ({"chunk_strategy": "fixed", "chunk_size": "9" * 5000}, Plan("fixed", 1000, 0)),
        ({"chunk_strategy": "fixed", "chunk_size": "3e2"}, Plan("fixed", 1000, 0)),
        (
            {"chunk_strategy": "fixed", "chunk_size": "300", "chunk_overlap": "200"},
            Plan("fixed", 300, 0),
        ),
        ({"chunk_strategy": "words", "chunk_size": "5000"}, Plan("words", 5000, 0)),
        ({"chunk_strategy": "adaptive", "chunk_size": "5000"}, Plan("adaptive", 409, 40)),
        ({"chunk_strategy": "foo", "chunk_size": "300"}, Plan("adaptive", 300, 30)),
        ({"chunk_strategy": "PAGE_BASED"}, Plan("adaptive", 409, 40)),
    ],
)
def test_what_front_matter_says(said: dict[str, str], wanted: Plan | None) -> None:
    assert written_plan(said.items()) == wanted


NONSENSE = st.one_of(st.text(max_size=12), st.integers().map(str))


@given(st.sampled_from(["words", "fixed", "foo"]), NONSENSE, NONSENSE)
def test_nonsense_is_never_a_crash(strategy: str, size: str, overlap: str) -> None:
    said = [("chunk_strategy", strategy), ("chunk_size", size), ("chunk_overlap", overlap)]
    made = written_plan(said)
    assert made
    assert count("*Page 1* ^p1\n\nkettle\n", made) == 1


@given(st.sampled_from(["adaptive", "semantic", "words", "recursive"]), st.integers(100, 2048))
def test_what_was_written_is_read_back(strategy: str, size: int) -> None:
    made = plan(strategy, window=8192, size=size, overlap=size // 4)  # type: ignore[arg-type]
    said = {
        "chunk_strategy": made.strategy,
        "chunk_size": str(made.size),
        "chunk_overlap": str(made.overlap),
    }
    assert written_plan(said.items()) == made


def test_marks_of_pages_are_not_counted_as_text() -> None:
    text = "".join(f"*Page {number}* ^p{number}\n\nA word.\n\n" for number in range(1, 41))
    assert count(text, plan("page_based", window=8192)) == 40
    assert count(text, plan("fixed", window=8192)) == 1
    assert count("", plan("fixed", window=8192)) == 1
