"""Consolidation writes each pattern once, and keeps what a person did to its note."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.patterns.requests import OutcomeResult
from tests.memories.patterns.years import BEGIN, noise, weekly

NAME = "Plans the week on Monday mornings around 9:15"
START = (BEGIN + timedelta(weeks=41)).astimezone()
START_DAY = BEGIN + timedelta(weeks=40)


class Clock:
    """The clock of a home, which a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Iterator[Djinn]:
    with Djinn(home, clock=clock) as djinn:
        yield djinn


def record(djinn: Djinn, *parts: list[Occasion]) -> None:
    turns = [
        Turn("interaction", occasion.text, "", occasion.at.astimezone(), "dig", "cli")
        for part in parts
        for occasion in part
    ]
    record_turns(djinn.runtime, "me", turns)


def notes(djinn: Djinn) -> dict[str, bytes]:
    root = djinn.home.root / "vaults"
    return {
        str(file.relative_to(root)): file.read_bytes()
        for file in root.rglob("*.md")
        if "journal" not in file.parts and ".trash" not in file.parts
    }


@pytest.fixture
def year(djinn: Djinn) -> Djinn:
    record(djinn, noise(1, a_day=2), weekly("Plan the week", 0, 9))
    return djinn


def test_a_pattern_has_a_name_fields_and_evidence(year: Djinn) -> None:
    report = year.patterns.consolidate()
    assert [(change.name, change.change) for change in report.changes if change.habit] == [
        (NAME, "written")
    ]
    [pattern] = year.patterns.list(habits=True).patterns
    assert (pattern.name, pattern.category, pattern.status) == (NAME, "behavioural", "active")
    assert (pattern.action, pattern.weekdays, pattern.around) == (
        "Plan the week",
        ("monday",),
        "09:15",
    )
    assert 9 in pattern.hours
    assert set(pattern.words) == {"plan", "week"}
    assert (pattern.support, pattern.evidence_count, pattern.strength) == (40, 40, 1.0)
    assert (pattern.first_seen, pattern.last_seen) == ("2025-01-06", "2025-10-06")
    assert pattern.q_value is not None and pattern.q_value < 1e-9
    assert len(pattern.evidence) == 20
    detail = year.patterns.show(NAME)
    assert "- Plan the week" in detail.text
    shown = year.memories.show(NAME, why=True)
    assert shown.why and len(shown.why.evidence) == 20
    assert {each.address for each in detail.episodes} == {each.place for each in shown.why.evidence}
    assert [each.date[:10] for each in detail.episodes][::19] == ["2025-10-06", "2025-05-26"]


def test_a_second_run_changes_nothing(year: Djinn) -> None:
    planned = year.patterns.consolidate(dry_run=True)
    assert notes(year) == {}
    done = year.patterns.consolidate()
    assert [change.name for change in planned.changes] == [change.name for change in done.changes]
    before = notes(year)
    again = year.patterns.consolidate()
    assert (again.episodes, again.changes, again.skipped) == (0, (), ())
    assert notes(year) == before
    # Also when it reads everything again.
    record(year, [Occasion(START - timedelta(days=8), "Check the roof", "one")])
    year.patterns.consolidate()
    assert notes(year).keys() == before.keys()


def test_a_usual_choice_is_reinforced_and_another_one_is_another_pattern(djinn: Djinn) -> None:
    def drinks(texts: list[str], first: int) -> list[Occasion]:
        return [
            Occasion(BEGIN + timedelta(days=first + number, hours=number % 15), text, str(number))
            for number, text in enumerate(texts)
        ]

    def preferences() -> list[tuple[str, int]]:
        patterns = djinn.patterns.list(habits=True).patterns
        return sorted((pattern.name, pattern.support) for pattern in patterns)

    record(djinn, drinks([*["Ordered an oat latte"] * 30, *["Ordered a tea"] * 4], 0))
    [change] = [change for change in djinn.patterns.consolidate().changes if change.habit]
    assert (change.name, change.category) == ("Usually orders an oat latte", "preference")
    why = djinn.memories.show(change.name, why=True).why
    assert why and len(why.evidence) == 20
    before = notes(djinn)
    assert djinn.patterns.consolidate().changes == ()
    assert notes(djinn) == before
    record(djinn, drinks(["Ordered an oat latte"] * 10, 40))
    djinn.patterns.consolidate()
    assert preferences() == [("Usually orders an oat latte", 40)]
    record(djinn, drinks(["Ordered a flat white"] * 120, 60))
    djinn.patterns.consolidate()
    assert [name for name, _ in preferences()] == [
        "Usually orders a flat white", "Usually orders an oat latte",
    ]  # fmt: skip


def test_a_known_pattern_is_reinforced_and_then_deprecated(year: Djinn, clock: Clock) -> None:
    year.patterns.consolidate()
    before = year.patterns.show(NAME)
    clock.now += timedelta(weeks=6)
    later = [occasion for occasion in noise(1, weeks=46, a_day=2) if occasion.at >= START_DAY]
    record(year, later, weekly("Plan the week", 0, 10, range(40, 46)))
    [change] = [change for change in year.patterns.consolidate().changes if change.habit]
    assert (change.change, change.name) == ("reinforced", NAME)
    after = year.patterns.show(NAME)
    assert (after.support, after.last_seen) == (46, "2025-11-17")
    assert (after.confidence or 0) > (before.confidence or 0)
    assert len(year.patterns.list(habits=True).patterns) == 1
    clock.now += timedelta(days=89)
    changes = year.patterns.consolidate().changes
    assert {change.change for change in changes} <= {"deprecated"}
    assert year.patterns.show(NAME).status == "deprecated"
    kept = notes(year)
    assert year.patterns.consolidate().changes == ()
    assert notes(year) == kept


def test_a_reinforcement_can_be_undone(year: Djinn, clock: Clock) -> None:
    year.patterns.consolidate()
    before = notes(year)
    clock.now += timedelta(weeks=6)
    record(year, weekly("Plan the week", 0, 9, range(40, 46)))
    year.patterns.consolidate()
    assert notes(year) != before
    year.changes.undo()
    assert notes(year) == before


def test_what_outcomes_tell(djinn: Djinn, clock: Clock) -> None:
    for number in range(12):
        result: OutcomeResult = "failure" if number % 2 else "success"
        context = "on a Friday" if number % 2 else "on a Monday"
        djinn.outcomes.record("Deploy", result, context=context)
    for _ in range(12):
        djinn.outcomes.record("Restart the router", "success")
    clock.now += timedelta(days=8)
    names = [pattern.name for pattern in djinn.patterns.consolidate().changes]
    assert sorted(names) == [
        "\u201cDeploy\u201d mostly fails in the context \u201con a Friday\u201d",
        "\u201cDeploy\u201d mostly succeeds in the context \u201con a Monday\u201d",
        "\u201cRestart the router\u201d mostly succeeds",
    ]
    assert djinn.patterns.consolidate().changes == ()
    [pattern] = djinn.patterns.list(category="causal", limit=1).patterns
    assert len(pattern.evidence) == 12


def test_a_deleted_pattern_is_not_written_again(year: Djinn) -> None:
    year.patterns.consolidate()
    year.memories.delete(NAME)
    for round_ in range(3):
        record(year, [Occasion(START - timedelta(days=9 + round_), "Check the roof", str(round_))])
        report = year.patterns.consolidate()
        assert [(each.name, each.reason) for each in report.skipped] == [
            (NAME, "its note was deleted before")
        ]
    assert not year.patterns.list(habits=True).patterns


def test_what_a_person_edits_is_kept(year: Djinn, clock: Clock) -> None:
    year.patterns.consolidate()
    pattern = year.patterns.show(NAME)
    file = year.home.root / "vaults" / pattern.vault / pattern.path
    text = file.read_text().replace("status: active", "status: refuted")
    file.write_text(text.replace("- Plan the week", "I like this."))
    clock.now += timedelta(weeks=6)
    record(year, weekly("Plan the week", 0, 9, range(40, 46)))
    year.patterns.consolidate()
    after = year.patterns.show(NAME)
    assert (after.status, after.support) == ("refuted", 46)
    assert "I like this." in after.text


def test_young_episodes_wait_unless_they_are_marked(djinn: Djinn, clock: Clock) -> None:
    def counts() -> tuple[int, int, int]:
        stats = djinn.episodes.stats(since="1d")
        return stats.consolidated, stats.waiting, stats.ready

    clock.now = (BEGIN + timedelta(weeks=6)).astimezone()
    record(djinn, noise(1, weeks=5, a_day=2))
    aged = djinn.episodes.stats().total
    assert counts() == (0, aged, aged)
    djinn.patterns.consolidate()
    record(djinn, [Occasion(BEGIN + timedelta(weeks=6, hours=-3), "Check the roof", "young")])
    assert djinn.patterns.consolidate().episodes == 0
    assert counts() == (aged, 1, 0)
    [episode] = djinn.episodes.list(limit=1).episodes
    assert djinn.episodes.mark([episode.id]).marked == (episode.id,)
    assert counts() == (aged, 1, 1)
    assert djinn.patterns.consolidate().new == 1
    assert djinn.patterns.consolidate().episodes == 0
    assert counts() == (aged + 1, 0, 0)
    with pytest.raises(NotFound):
        djinn.episodes.mark(["nothing"])


def test_a_crash_between_the_note_and_its_event(
    year: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    from djinn_memory.memories.patterns.notes import ConsolidationLog

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ConsolidationLog, "write", killed)
        year.patterns.consolidate()
    assert len(notes(year)) == 1
    year.patterns.consolidate()
    assert len(year.patterns.list(habits=True).patterns) == 1


def test_the_ledger_has_no_words(year: Djinn) -> None:
    year.patterns.consolidate()
    events = year.home.ledger_path.read_bytes()
    assert b"Plan the week" not in events


def test_an_age_that_is_none(djinn: Djinn) -> None:
    with pytest.raises(UsageError, match="7d or 2w"):
        djinn.patterns.consolidate(min_age="soon")


def test_a_rebuilt_index_finds_the_same(year: Djinn, home: Home) -> None:
    year.patterns.consolidate()
    before = year.patterns.list()
    year.close()
    home.index_path.unlink()
    year.index()
    assert year.patterns.list() == before
    assert year.patterns.consolidate().changes == ()


def test_two_homes_find_the_same(year: Djinn, tmp_path: Path, clock: Clock) -> None:
    year.close()
    other = Path(shutil.copytree(year.home.root, tmp_path / "other"))
    with Djinn(Home(other), clock=clock) as twin:
        assert [each.name for each in twin.patterns.consolidate().changes] == [
            each.name for each in year.patterns.consolidate().changes
        ]
