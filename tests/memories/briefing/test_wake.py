"""The context at the start of a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.briefing.markdown import markdown


@pytest.fixture
def full(home: Home) -> Djinn:
    own = home.root / "vaults" / "me"
    for name, head, body in (
        ("me", "type: person", "I mend kettles."),
        ("late", "type: commitment\ndue: 2020-01-01", "The offer to Ada."),
        ("later", "type: commitment\ndue: 2999-01-01", "The report."),
        ("never", "type: commitment", "Some day."),
        ("slip", "type: commitment\ndue: 2020-02-31", "The minutes."),
        ("done", "type: commitment\ndue: 2020-01-01\nstatus: Done", "The old offer."),
        ("shop", "type: project\nstatus: active", "A web shop."),
        ("past", "type: project\nstatus: archived", "An old shop."),
        ("anchor", "tags: [project-anchor]", "Root of the mill."),
        ("tabs", "type: preference\nimportance: 0.9", "Spaces."),
        ("tea", "type: preference", "Earl Grey."),
        ("rule", "tags: [rule]", "Never deploy on Fridays."),
        ("lesson", "type: lesson", "Vinegar descales a kettle."),
        ("visit", "type: observation", "Ada came by."),
        ("ada", "type: relationship", "Ada runs the mill."),
    ):
        (own / f"{name}.md").write_text(f"---\ntitle: {name}\n{head}\n---\n{body}\n")
    djinn = Djinn(home)
    djinn.index()
    return djinn


def test_what_holds_without_a_task(full: Djinn) -> None:
    found = full.wake()
    assert found.profile
    assert found.profile.text == "I mend kettles."
    assert [(one.title, one.overdue) for one in found.commitments] == [
        ("late", True), ("slip", False), ("later", False), ("never", False),
    ]  # fmt: skip
    assert {one.title for one in found.projects} == {"shop", "anchor"}
    assert found.preferences[0].title == "tabs"
    assert {one.title for one in found.preferences} == {"tabs", "tea", "rule"}
    assert [one.title for one in found.patterns] == ["lesson"]
    assert [one.title for one in found.episodes] == ["visit"]
    assert [one.title for one in found.entities] == ["ada"]
    assert (found.query_used, found.request_id, found.problems) == (None, None, ())
    assert "'late' was due on 2020-01-01." in found.suggestions


def test_a_revised_profile_is_told_as_it_is_now(djinn: Djinn) -> None:
    for text in ("I mend kettles.", "I mend lanterns."):
        djinn.remember("profile", "Me", text, existing="revise")
    found = djinn.wake().profile
    assert found
    assert found.text == "I mend lanterns."


def test_a_task_recalls_and_can_be_rated(full: Djinn) -> None:
    found = full.wake(task="descale the kettle")
    assert found.query_used == "descale the kettle"
    assert found.patterns[0].title == "lesson"
    assert found.patterns[0].rank == 1
    assert found.request_id
    full.rate(found.request_id, useful=[1])
    assert found.request_id in markdown(found)


def test_what_stands_above_is_not_said_twice(full: Djinn) -> None:
    found = full.wake(task="Earl Grey tea")
    assert "tea" in {one.title for one in found.preferences}
    assert markdown(found).count("Earl Grey.") == 1
    # There too it can be rated by its rank.
    assert [one.rank for one in found.preferences if one.title == "tea"] == [1]


def test_a_task_is_what_somebody_says_and_no_query(full: Djinn) -> None:
    found = full.wake(task='descale -kettle type:person "vinegar for kettles"')
    assert "lesson" in {one.title for one in found.patterns}
    assert full.wake(task="***").query_used is None


def test_a_task_about_which_nothing_is_known(full: Djinn) -> None:
    context = full.wake(task="file my tax return in Portugal")
    assert context.confident is False
    assert context.request_id is None
    recalled = (context.episodes, context.patterns, context.entities, context.documents)
    assert recalled == ((), (), (), ())
    assert "Nothing is known about this task." in markdown(context)
    # What holds whatever the task is stays.
    assert context.preferences
    assert not any(preference.rank for preference in context.preferences)
    assert full.wake(task="descale the kettle").confident
    assert full.wake().confident is None


def test_what_is_overdue_is_suggested_in_one_line(full: Djinn, home: Home) -> None:
    (home.root / "vaults" / "me" / "last.md").write_text(
        "---\ntype: commitment\ndue: 2021-01-01\n---\n"
    )
    found = full.wake().suggestions
    assert found == ("'late' was due on 2020-01-01, with 1 more overdue.",)


def test_an_agent_has_its_own(full: Djinn, home: Home) -> None:
    add_agent(home, "finn")
    (home.root / "vaults" / "shared" / "all.md").write_text(
        "---\ntype: preference\n---\nBe kind.\n"
    )
    found = full.wake(agent="finn", task="kettle")
    assert found.profile is None
    assert [one.title for one in found.preferences] == ["all"]
    assert "Vinegar" not in markdown(found)


def test_the_newest_note_counts_though_nobody_indexed_it(full: Djinn, home: Home) -> None:
    path = home.root / "vaults" / "me" / "shop.md"
    path.write_text(path.read_text().replace("active", "done"))
    assert {one.title for one in full.wake().projects} == {"anchor"}


@pytest.mark.parametrize("kind", ["checkpoint", "handoff"])
def test_a_mark_of_the_future_does_not_stay_the_last(djinn: Djinn, home: Home, kind: str) -> None:
    place = home.personal(home.agent(None)).root / f"{kind}s"
    place.mkdir(parents=True)
    for name, year in (("ahead", 2099), ("behind", 2019)):
        text = f"---\ntype: {kind}\ntitle: {name}\ncreated: {year}-01-01\n---\n\n{name}\n"
        (place / f"{name}.md").write_text(text)
    mark = getattr(djinn.wake(), kind)
    assert mark.title == "behind"
    djinn.checkpoint("half way")
    unfinished = djinn.wake().unfinished
    assert unfinished
    assert unfinished.checkpoint
    assert unfinished.checkpoint.text == "half way"
    djinn.sleep("done")
    context = djinn.wake()
    assert context.handoff
    assert (context.handoff.text, context.checkpoint) == ("done", None)


def test_a_small_budget_is_kept_and_says_what_it_left_out(full: Djinn, home: Home) -> None:
    for number in range(30):
        (home.root / "vaults" / "me" / f"long-{number}.md").write_text(
            f"---\ntype: preference\ntitle: long {number}\n---\n" + "one more word " * 300
        )
    full.index()
    for task in ("kettle", "descale the kettle " * 50, None):
        for budget in (100, 150, 200, 300, 1000, 4000):
            found = full.wake(task=task, budget=budget)
            assert found.left_out
            assert token_counts([markdown(found)]) == [found.tokens]
            assert found.tokens <= budget
            assert found.profile or (task and budget < 1000)
    assert any(one.cut for one in found.preferences)
    with pytest.raises(UsageError, match="budget 5"):
        full.wake(budget=5)


def test_an_empty_home_wakes(djinn: Djinn) -> None:
    found = djinn.wake(task="anything at all")
    assert found.suggestions
    assert markdown(found).startswith("# Context for me (session ")


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_nothing_in_a_note_is_a_heading_of_the_context(home: Home, text: str) -> None:
    own = home.root / "vaults" / "me"
    (own / "x.md").write_text(f"---\ntype: rule\n---\n# Suggestions\n## {text}\n", encoding="utf-8")
    djinn = Djinn(home)
    said = markdown(djinn.wake())
    djinn.close()
    heads = [line for line in said.split("\n") if line.startswith("# ")]
    assert [line.partition(" (")[0] for line in heads] == ["# Context for me"]
    assert "## Suggestions" not in said.split("\n") or "was not ended" in said


def test_a_note_that_is_gone_meanwhile(full: Djinn, home: Home) -> None:
    Path(home.root / "vaults" / "me" / "tea.md").unlink()
    assert "tea" not in {one.title for one in full.wake().preferences}
