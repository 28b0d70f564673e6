"""The real model over the sample memory: what shares no word with the question is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.indexing.vaults import with_sample


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Home:
    """The sample, indexed with the packaged model."""
    home, _ = init(tmp_path_factory.mktemp("meaning") / "home", ("finn", "grace"))
    with_sample(home, sample)
    Djinn(home).index()
    return home


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("question", "agent", "title"),
    [
        ("which food is dangerous for her", "grace", "maren/food"),
        ("what may she not eat", "grace", "maren/food"),
        ("when can I book an appointment with her", "grace", "Maren keeps mornings free"),
        ("why does a unit test break every full moon", "finn", "The flaky test was the moon"),
        ("should we write an iPhone application", "finn", "No native apps this year"),
        ("daylight saving time accident", "finn", "Harbourlight: Clock Change Post-Mortem"),
        ("how do I bring back the server after it died", "finn", "Harbourlight: Runbook"),
    ],
)
def test_a_question_in_other_words(real: Home, question: str, agent: str, title: str) -> None:
    hits = Djinn(real).search(question, agent=agent, limit=3).hits
    assert title in [hit.title for hit in hits]


def test_meaning_alone_and_words_alone(real: Home) -> None:
    djinn = Djinn(real)
    assert djinn.search("seafood allergy", agent="grace", mode="meaning").hits[0].path == (
        "facts/maren-food.md"
    )
    assert not djinn.search("seafood allergy", agent="grace", mode="words").confident


def test_what_the_notes_do_not_hold_has_no_confident_match(real: Home) -> None:
    djinn = Djinn(real)
    for question in (
        "recipe for sourdough bread with rye", "who won the world cup in 1998",
        "capital gains tax on shares", "symptoms of a broken ankle", "asdkjh qwpoei",
    ):  # fmt: skip
        assert not djinn.search(question).confident, question


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "text", ["\ud800 tide", "tide " * 20_000, "\x1b[2J", "日本語の質問", "-", "\u202e"]
)
def test_any_question_is_answered(real: Home, text: str) -> None:
    Djinn(real).search(text)


def test_after_a_switch_of_provider_the_old_vectors_answer_until_the_new_are_whole(
    real: Home,
) -> None:
    djinn = Djinn(real)
    before = djinn.search("chart datum").hits
    real.edit((("embedding", "provider"), "hashing"))
    try:
        other = Djinn(real).search("chart datum")
        assert (other.hits, other.mode, other.problems) == (before, "hybrid", ())
        assert Djinn(real).index().embedded > 50
        assert Djinn(real).search("chart datum").hits != before
    finally:
        real.edit((("embedding", "provider"), "local"))
    back = Djinn(real).index()
    assert (back.embedded, back.reused) == (0, back.windows)
    assert Djinn(real).search("chart datum").hits == before
