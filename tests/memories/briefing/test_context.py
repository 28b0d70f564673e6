"""The context of a task: one ranking for all planes, within a budget."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.briefing.briefing import PARTS
from djinn_memory.memories.briefing.markdown import markdown
from djinn_memory.memories.briefing.requests import ContextBundle
from djinn_memory.memories.catalog.requests import MemoryExcerpt

NOTES = {
    "decisions/kettle.md": "type: decision\n---\n"
    "We descale the kettle of the harbour with vinegar.",
    "patterns/tea.md": "type: pattern\nsource: consolidation\nstatus: active\n"
    "weekdays: [monday, fri]\nhours: [9, 10]\n---\nMakes tea with the kettle in the morning.",
    "people/ada.md": "type: person\n---\nAda repairs every kettle at the harbour.",
    "documents/manual.md": "type: document\nfilename: manual.pdf\n---\n"
    "The manual of the kettle. Fill the kettle with water and descale it once a month.",
    "plain.md": "aliases: []\n---\nThe kettle stands in the shed at the harbour.",
    "old.md": "type: decision\nstatus: superseded\n---\nWe descale the kettle with lemon.",
    "tram.md": "type: lesson\n---\nThe tram to the airport leaves from platform nine.",
}
"""Memories of all planes about a kettle, and one about something else."""

AT = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)
"""A Monday."""


def write(home: Home) -> None:
    own = home.root / "vaults" / "me"
    for path, text in NOTES.items():
        note = own / path
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"---\ntitle: {note.stem}\ncreated: 2026-04-01\n{text}\n")


@pytest.fixture
def djinn(home: Home) -> Djinn:
    home.edit((("embedding", "provider"), "local"))
    write(home)
    djinn = Djinn(Home(home.root), clock=lambda: AT)
    djinn.facts.set("kettle", "limescale", "The kettle has a limit of four bars.")
    djinn.episodes.record_interaction(
        message="The kettle at the harbour is full of limescale.", response="Descale it."
    )
    return djinn


def memories(bundle: ContextBundle) -> list[MemoryExcerpt]:
    """The memories of all parts, best first."""
    listed = [memory for part in PARTS.values() for memory in getattr(bundle, part)]
    return sorted(listed, key=lambda memory: memory.rank or 0)


TASK = "descale the kettle at the harbour"


def test_one_ranking_covers_all_planes(djinn: Djinn) -> None:
    bundle = djinn.context(TASK)
    assert {memory.title for memory in bundle.patterns} == {"kettle", "tea", "plain"}
    assert {memory.title for memory in bundle.entities} == {"ada", "kettle/limescale"}
    assert [memory.title for memory in bundle.documents] == ["manual"]
    assert len(bundle.episodes) == 1
    listed = memories(bundle)
    assert [memory.rank for memory in listed] == [*range(1, len(listed) + 1)]
    scores = [memory.score for memory in listed]
    assert scores == sorted(scores, reverse=True)
    assert bundle.query_used == TASK
    assert bundle.built_at == "2026-05-04T09:30:00Z"
    assert bundle.confident
    assert not bundle.problems


def test_sources_are_cited(djinn: Djinn) -> None:
    bundle = djinn.context(TASK)
    text = markdown(bundle)
    assert "## RELEVANT DOCUMENTS\n\n" in text
    assert "[me:documents/manual.md, line 7]" in text
    assert bundle.episodes[0].address in text
    # The part with the best memory comes first.
    first = memories(bundle)[0]
    assert text.index(f"1. **{first.title}**") < text.index("2. **")


def test_what_does_not_match_is_left_out(djinn: Djinn) -> None:
    assert "tram" not in {memory.title for memory in memories(djinn.context(TASK))}
    djinn.home.edit((("context", "documents"), 9.0), (("context", "semantic"), 9.0))
    with Djinn(Home(djinn.home.root)) as strict:
        # Where nothing matches so well, the closest are shown, as a recall shows them.
        recalled = [memory.title for memory in strict.recall(TASK).memories]
        assert [memory.title for memory in memories(strict.context(TASK))][:8] == recalled


def test_a_plane_that_knows_nothing_is_left_out(djinn: Djinn) -> None:
    bundle = djinn.context("which platform does the tram to the airport leave from")
    assert [memory.title for memory in memories(bundle)] == ["tram"]


def test_nothing_is_known(djinn: Djinn) -> None:
    bundle = djinn.context("quantum chromodynamics of gluons")
    assert bundle.confident is False
    assert not memories(bundle)
    assert "Nothing is known about this task." in markdown(bundle)


def test_a_task_that_is_not_utf8(djinn: Djinn) -> None:
    djinn.remember("decision", "Harbour", "The cafe at the harbour opens at nine.")
    bundle = djinn.context("harbour caf\udce9")
    assert bundle.query_used == "harbour caf?"
    assert memories(bundle)


def test_the_limit_of_each_type(djinn: Djinn) -> None:
    bundle = djinn.context(TASK, limit_per_type=1)
    assert all(len(getattr(bundle, part)) == 1 for part in PARTS.values())


def test_a_large_plane_does_not_crowd_out_a_small_one(djinn: Djinn) -> None:
    for number in range(110):
        djinn.episodes.record_observation(text=f"Descale the kettle at the harbour, {number}.")
    djinn.index()
    bundle = djinn.context(TASK, limit_per_type=3)
    assert len(bundle.episodes) == 3
    assert len(bundle.documents) == 1
    assert len(bundle.entities) == 2


REPEATED = [
    "Please descale the kettle at the harbour before the guests arrive on Monday",
    "please descale the kettle, at the harbour, before the guests arrive on Monday!",
    "Please descale the kettle at the harbour before all guests arrive on Monday",
]


@pytest.mark.parametrize("task", [TASK, None])
def test_what_repeats_takes_no_place(djinn: Djinn, task: str | None) -> None:
    for text in [*REPEATED, *REPEATED, *REPEATED]:
        djinn.episodes.record_interaction(message=text, response="I will do so today.")
    for number in (3, 4):
        text = f"The kettle at the harbour was descaled {number} times in the last year."
        djinn.episodes.record_observation(text=text)
    bundle = djinn.context(task, limit_per_type=4)
    texts = [memory.text for memory in bundle.episodes]
    assert len(texts) == 4
    assert sum("guests" in text for text in texts) == 1
    assert sum("times in the last year" in text for text in texts) == 2


def test_the_summary_has_its_own_place(djinn: Djinn) -> None:
    djinn.summary.set("I look after the kettles of the harbour.")
    bundle = djinn.context()
    assert bundle.summary and "kettles" in bundle.summary.text
    assert "summary" not in {memory.type for memory in memories(bundle)}
    text = markdown(bundle)
    assert text.index("## SUMMARY\n\n**Summary**") < text.index("## RELEVANT")
    assert djinn.context(TASK).summary is None
    assert djinn.context(domains=["harbour"]).summary is None


def test_without_a_task_the_newest_of_each_plane(djinn: Djinn) -> None:
    bundle = djinn.context()
    assert bundle.query_used is bundle.request_id is bundle.confident is None
    assert len(bundle.episodes) == len(bundle.documents) == 1
    assert {memory.title for memory in bundle.patterns} >= {"kettle", "tea", "tram"}


def test_a_recall_that_can_be_rated(djinn: Djinn) -> None:
    bundle = djinn.context(TASK)
    assert bundle.request_id
    best = memories(bundle)[0]
    assert djinn.rate(bundle.request_id, useful=[1]).judged[0].title == best.title
    assert any(bundle.request_id in suggestion for suggestion in bundle.suggestions)


def test_suggestions(djinn: Djinn) -> None:
    own = djinn.home.root / "vaults" / "me"
    for name, due in (("late", "2026-05-01"), ("soon", "2026-05-08"), ("later", "2026-08-01")):
        (own / f"{name}.md").write_text(f"---\ntype: commitment\ndue: {due}\n---\nA letter.\n")
    djinn.gaps.report("How often to descale the kettle?", query="descale kettle")
    djinn.gaps.report("Who keeps the keys of the tram?")
    said = "\n".join(djinn.context(TASK).suggestions)
    assert "Commitment 'late' was due on 2026-05-01 (me:late.md)." in said
    assert "Commitment 'soon' is due on 2026-05-08 (me:soon.md)." in said
    assert "later" not in said
    assert "Open gap: How often to descale the kettle?" in said
    assert "1 more open gap about other things" in said
    assert "Applies now: tea" in said
    assert "gap" not in "\n".join(djinn.context(TASK, domains=["harbour"]).suggestions)
    with Djinn(djinn.home, clock=lambda: AT.replace(hour=22)) as evening:
        assert "Applies now" not in "\n".join(evening.context(TASK).suggestions)


def test_the_previous_conversation_if_it_is_wanted(djinn: Djinn) -> None:
    djinn.sessions.start(session="talk")
    djinn.episodes.record_interaction(message="Tides?", response="At noon.", session="talk")
    assert not djinn.context(TASK).conversation
    djinn.home.edit((("context", "turns"), 5))
    with Djinn(Home(djinn.home.root), clock=lambda: AT) as remembers:
        bundle = remembers.context(TASK)
        assert [turn.text for turn in bundle.conversation] == ["User: Tides?\nAgent: At noon."]
        assert "## PREVIOUS CONVERSATION (session talk)" in markdown(bundle)


def test_a_long_note_is_represented_by_the_passage_that_answers(djinn: Djinn) -> None:
    filler = "The weather was fine and nobody came to the pier. " * 8
    sections = [f"## Day {day}\n\n{filler}\n" for day in range(40)]
    sections[30] = f"## Kettle\n\nUse citric acid to descale a kettle. {filler}\n"
    note = djinn.home.root / "vaults" / "me" / "log.md"
    note.write_text("# Log\n\n" + "\n".join(sections))
    bundle = djinn.context("citric acid for the kettle")
    log = next(memory for memory in bundle.patterns if memory.title == "Log")
    assert "citric acid" in log.text
    assert log.cut
    assert log.lines
    assert log.lines[0] > 100


@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(budget=st.integers(100, 1200), task=st.sampled_from([TASK, None, "kettle " * 60]))
def test_the_budget_is_kept(djinn: Djinn, budget: int, task: str | None) -> None:
    bundle = djinn.context(task, budget=budget)
    tokens = token_counts([markdown(bundle)])[0]
    assert tokens == bundle.tokens <= budget


def test_a_bound_names_its_argument(djinn: Djinn) -> None:
    with pytest.raises(UsageError, match="budget"):
        djinn.context(TASK, budget=5)


def test_an_empty_home_says_that_nothing_is_known(home: Home) -> None:
    with Djinn(home) as djinn:
        text = markdown(djinn.context())
        assert "Nothing is known yet. Save what you learn with `remember()`." in text
        djinn.remember("lesson", "Kettle", "Descale it.")
        assert "Nothing is known" not in markdown(djinn.context())
