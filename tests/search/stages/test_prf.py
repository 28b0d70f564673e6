"""What feedback adds to a question, and what it may not."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, init
from djinn_memory.models import Mode, SearchResult
from djinn_memory.search.stages.expand import NOTES, TERMS
from tests.examples import examples

MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning")

ABOUT = {
    "first.md": "The tide follows the moon: at springs it is high, at neaps low, 1200 k 1200.\n",
    "second.md": "---\ntags: [sea]\n---\nA tide of springs and neaps, as the moon wills, 1200 k.\n",
    "third.md": "Every tide has its ebb, and the moon makes neaps. Flood, 1200 k.\n",
}
OTHER = {"other.md": "At neaps and springs alike the moon pulls at the sea, and the pilot waits.\n"}
FILLERS = {f"filler{n}.md": f"Ballast{n} crate{n} and lamp{n}, stowed.\n" for n in range(80)}
"""So many that what the notes about tides share is rare."""

SECRET = ("zanzibar", "quokka")

SYNTAX = st.lists(
    st.sampled_from(
        ["tide", "moon", "neap", "springs", '"', '"the moon"', "-ebb", "tag:sea", "words: neap",
         "meaning: water", "*", "OR", "NEAR(", "\0", "\ud800", "ß", "日本", "の", "1200", "\n",
         "zanzibar", "gezeiten", ":", "^"]
    ),
    max_size=8,
).map(" ".join)  # fmt: skip

PIECES = st.lists(
    st.sampled_from(
        ["tide", "moon", "Flut", "die", "und", "ist", "größer", "月の引力", "潮汐", "ไทย", "ค่ะ",
         "прилив", "الجزر", "12", "½", "e\u0301", "\u0301", "🜁", "a", "---\n", "# ", "\n\n",
         "OR", '"']
    )
).map(" ".join)  # fmt: skip


def fill(home: Home, vault: str, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        (home.root / "vaults" / vault / path).write_text(text)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Djinn:
    """Notes of which one has none of the words of a question about tides; some are finn's own."""
    home, _ = init(tmp_path_factory.mktemp("prf") / "home")
    home.edit((("embedding", "provider"), "hashing"))
    add_agent(home, "finn")
    fill(home, "shared", ABOUT | OTHER | FILLERS)
    said = f"The tide and the moon of {' '.join(SECRET)}, {SECRET[0]}.\n"
    fill(home, "finn", {f"{n}.md": said for n in range(3)})
    djinn = Djinn(home)
    djinn.index()
    return djinn


def added(result: SearchResult) -> list[str]:
    """The words that were added, by the step."""
    [step] = result.steps
    assert step.name == "expand"
    assert step.milliseconds >= 0
    if not step.what.startswith("added "):
        return []
    listed = step.what.removeprefix("added ").rpartition(" from the best ")[0]
    return [] if listed == "nothing" else listed.split(", ")


def paths(result: SearchResult) -> list[str]:
    return [hit.path for hit in result.hits]


def test_a_note_with_the_words_of_the_best_comes_up(ask: Djinn) -> None:
    plain = ask.search("tide", mode="words")
    assert set(paths(plain)) == set(ABOUT)
    wider = ask.search("tide", mode="words", expand="prf")
    assert set(paths(wider)[:3]) == set(ABOUT)
    assert paths(wider)[3:] == list(OTHER)
    assert set(added(wider)) == {"moon", "neaps", "springs"}
    assert all(0 <= hit.score <= 1 for hit in wider.hits)
    assert wider.steps[0].what.endswith("from the best 3 notes")


def test_it_comes_up_beside_meaning(ask: Djinn) -> None:
    plain, wider = (
        ask.search("tide", limit=100, expand=how)  # type: ignore[arg-type]
        for how in ("none", "prf")
    )
    assert "other.md" not in paths(plain)
    assert "other.md" in paths(wider)
    assert set(paths(wider)[:3]) == set(ABOUT)


def test_what_is_added_tells_something(ask: Djinn) -> None:
    # Not the question's word, a number, a letter, or what one note alone says.
    found = added(ask.search("tide", mode="words", expand="prf"))
    assert not {"tide", "1200", "k", "ebb", "flood", "the", "at", "and"} & set(found)


def test_snippets_mark_what_the_user_said(ask: Djinn) -> None:
    for hit in ask.search("tide", mode="words", expand="prf").hits:
        marked = {hit.snippet[low:high].lower() for low, high in hit.marks}
        assert marked == ({"tide"} if hit.path in ABOUT else set())


def test_what_is_added_makes_no_answer_sure(ask: Djinn) -> None:
    # Half of the question is about nothing here: the notes that share a word are a weak answer.
    question = "ebb bicycle helmet granite trumpet orchard violin"
    assert not ask.search(question, mode="words").confident
    assert not ask.search(question, mode="words", expand="prf").confident


@pytest.mark.parametrize("mode", ["hybrid", "words"])
def test_what_the_query_demands_holds_for_what_is_added(ask: Djinn, mode: Mode) -> None:
    def found(text: str, **filters: tuple[str, ...]) -> set[str]:
        return set(paths(ask.search(text, mode=mode, expand="prf", **filters)))  # type: ignore[arg-type]

    assert found('"tide"') == set(ABOUT)
    assert "other.md" not in found("tide -pilot")
    assert found("tide tag:sea") == {"second.md"}
    assert found("tide", tags=("sea",)) == {"second.md"}
    assert found("tide path:other") <= {"other.md"}


@pytest.mark.parametrize(
    ("question", "about", "other"),
    [
        ("Gezeiten",
         "Die Gezeiten {n} kommen nicht ohne den Mond und die Springflut ist die höchste.\n",
         "Bei den Springfluten ist das Wasser hoch und die Mole nicht zu sehen.\n"),
        ("прилив", "Прилив {n} приходит, когда луна высоко.\n", "Луной правит ночь.\n"),
        ("潮汐", "潮汐{n}は月の引力で起こる。\n", "引力は強い。\n"),
    ],
)  # fmt: skip
def test_languages(home: Home, djinn: Djinn, question: str, about: str, other: str) -> None:
    fill(home, "shared", FILLERS)
    fill(home, "shared", {f"about{n}.md": about.format(n=n) for n in range(3)})
    fill(home, "shared", {"other.md": other})
    djinn.index()
    assert "other.md" not in paths(djinn.search(question, mode="words"))
    wider = djinn.search(question, mode="words", expand="prf")
    assert paths(wider)[3:] == ["other.md"], wider.steps


def test_meaning_alone_is_left_as_it_is(ask: Djinn) -> None:
    plain, wider = (ask.search("tide", mode="meaning", expand=how) for how in ("none", "prf"))  # type: ignore[arg-type]
    assert wider.hits == plain.hits
    assert "meaning" in wider.steps[0].what


def test_a_query_with_words_of_its_own_is_left_as_it_is(ask: Djinn) -> None:
    plain = ask.search("tide words: ebb")
    wider = ask.search("tide words: ebb", expand="prf")
    assert wider.hits == plain.hits
    assert "the query has `words:` parts of its own" in wider.steps[0].what


def test_the_config_widens_and_an_option_says_otherwise(
    home: Home, shared: Path, djinn: Djinn
) -> None:
    fill(home, "shared", ABOUT)
    djinn.index()
    home.edit((("search", "expand"), "prf"))
    djinn = Djinn(home)
    assert djinn.search("tide").steps
    assert not djinn.search("tide", expand="none").steps
    assert not djinn.search("path:first").steps


@given(SYNTAX | st.text(), st.sampled_from(MODES))
@settings(max_examples=examples(100), deadline=None)
def test_any_question_is_widened_by_what_the_asker_sees(ask: Djinn, text: str, mode: Mode) -> None:
    query = f"{text} moon"
    wider = ask.search(query, agent="me", mode=mode, expand="prf")
    assert all(hit.vault != "finn" for hit in wider.hits)
    found = added(wider) if wider.steps else []
    assert not set(SECRET) & set(found)
    assert len(found) <= TERMS <= 2 * NOTES
    again = ask.search(query, agent="me", mode=mode, expand="prf")
    assert (again.hits, added(again) if again.steps else []) == (wider.hits, found)
    off, usual = (ask.search(query, agent="me", mode=mode, expand=how) for how in ("none", None))
    assert off.hits == usual.hits
    assert not off.steps


@given(st.lists(PIECES | st.text(), min_size=1, max_size=5), PIECES, st.sampled_from(MODES))
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
def test_no_note_makes_it_fail(notes: list[str], question: str, mode: Mode) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        home, _ = init(folder / "home")
        home.edit((("embedding", "provider"), "hashing"))
        for place, text in enumerate(notes * 2):
            path = home.root / "vaults" / "shared" / f"{place}.md"
            path.write_bytes(text.encode("utf-8", "replace"))
        fill(home, "shared", FILLERS)
        djinn = Djinn(home)
        djinn.index()
        result = djinn.search(f"moon {question}", mode=mode, expand="prf")
        assert len(added(result) if result.steps else []) <= TERMS
    finally:
        shutil.rmtree(folder)
