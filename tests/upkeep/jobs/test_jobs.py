"""Jobs: their list, when they are due, and what the ledger records of them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault
from djinn_memory.indexing import indexer
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.models import Problem
from djinn_memory.store.state import State
from djinn_memory.upkeep import jobs
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport
from djinn_memory.upkeep.registry import JOBS
from djinn_memory.upkeep.requests import JobAction
from djinn_memory.upkeep.runner import due, last_runs, named_jobs, run_jobs

DAY = timedelta(days=1)

_EVERY = {DAY: "daily", timedelta(hours=1): "hourly"}


def test_the_list_of_jobs_is_complete() -> None:
    folder = Path(jobs.__file__).parent
    modules = [import_module(f"{jobs.__name__}.{path.stem}") for path in folder.glob("[!_]*.py")]
    declared = [value for module in modules for value in vars(module).values()]
    assert {job.name for job in declared if isinstance(job, Job)} == set(JOBS)
    page = Path(jobs.__file__).parents[3] / "docs" / "how-to" / "upkeep.md"
    rows = re.findall(r"(?m)^\| `(\w+)` \| (\S+) \|.*\|.*\|$", page.read_text())
    assert rows == [(job.name, job.at or _EVERY[job.every]) for job in JOBS.values()]
    for job in JOBS.values():
        assert job.does.endswith(".") and job.cost.endswith(".")
        assert job.every >= timedelta(hours=1)
    assert [job.name for job in named_jobs(["expire", "promote"])] == ["promote", "expire"]
    assert [job.name for job in named_jobs(["rot, expire"])] == ["expire", "rot"]
    for names in (["nap"], ["rot,nap"]):
        with pytest.raises(UsageError, match="only nap: unknown task"):
            named_jobs(names)


def test_a_job_is_due_until_it_ran_and_again_after_its_time(djinn: Djinn) -> None:
    state, every = djinn.runtime.state, tuple(JOBS.values())
    now = datetime.now(UTC)
    assert due(every, state, now) == every and last_runs(state) == {}
    djinn.maintain(dry_run=True)
    assert due(every, state, now) == every
    djinn.maintain(["promote"])
    assert [job.name for job in due(every, state, now)] == [
        name for name in JOBS if name != "promote"
    ]
    assert abs(last_runs(state)["promote"] - now) < timedelta(minutes=5)
    jobs = djinn.jobs().jobs
    assert [job.name for job in jobs] == [*JOBS]
    assert {job.name for job in jobs if job.last} == {"promote"}
    assert {job.name for job in jobs if not job.due} == {"promote"}
    djinn.maintain()
    assert due(every, state, now) == ()
    assert due(every, state, now + DAY + timedelta(minutes=10)) == every
    # The clock was wrong when they ran, and was set back.
    assert due(every, state, now - timedelta(days=365)) == every


def test_a_job_of_ones_own_runs_like_the_others(djinn: Djinn, home: Home) -> None:
    seen: list[bool] = []

    def tidy(context: JobContext) -> JobReport:
        seen.append(context.dry_run)
        return JobReport((JobAction("tidy", f"looked at {context.runtime.home.root.name}"),))

    job = Job("tidy", every=timedelta(hours=6), does="Tidies.", cost="None.", run=tidy)
    report = run_jobs([job], djinn.runtime, dry_run=True)
    assert report.tasks == ("tidy",) and report.deeds[0].what == f"looked at {home.root.name}"
    run_jobs([job], djinn.runtime, dry_run=False)
    assert seen == [True, False]
    now = datetime.now(UTC)
    assert due([job], djinn.runtime.state, now) == ()
    assert due([job], djinn.runtime.state, now + timedelta(hours=7)) == (job,)


def test_a_job_with_a_time_of_day_is_due_at_that_time(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    try:
        promote, state = JOBS["promote"], djinn.runtime.state
        djinn.maintain(["promote"])
        ended = last_runs(state)["promote"].astimezone()
        four = ended.replace(hour=4, minute=0, second=0, microsecond=0)
        four += DAY * (ended >= four)
        assert promote.at == "04:00"
        assert due([promote], state, four - timedelta(seconds=1)) == ()
        assert due([promote], state, four) == (promote,)
        djinn.home.edit((("upkeep", "times", "promote"), "04:01"))
        assert due([promote], state, four) == ()
        assert due([promote], state, four + timedelta(minutes=1)) == (promote,)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_job_can_be_switched_off(djinn: Djinn) -> None:
    djinn.home.edit((("upkeep", "skip"), ["trash", "promote"]))
    report = djinn.maintain(dry_run=True)
    assert "trash" not in report.tasks and "expire" in report.tasks
    assert report.skipped == ("trash", "promote")
    assert djinn.maintain(["trash"]).tasks == ("trash",)
    listed = due(tuple(JOBS.values()), djinn.runtime.state, datetime.now(UTC))
    assert {"trash", "promote"}.isdisjoint(job.name for job in listed)
    djinn.home.edit((("upkeep", "skip"), ["nap"]))
    with pytest.raises(UsageError, match="no task 'nap'; give one of promote"):
        djinn.maintain()


def test_old_trash_and_old_kept_bytes_are_deleted(home: Home, shared: Path) -> None:
    now = [datetime.now(UTC)]
    djinn = Djinn(home)
    djinn.runtime.now = lambda: now[0]
    (shared / "old.md").write_text("# Old\n")
    other = home.root / "notes"
    (other / ".trash").mkdir(parents=True)
    (other / ".trash" / "mine.md").write_text("x")
    add_vault(home, "notes", other)
    djinn.memories.delete("Old")
    with change_set(djinn.runtime, "test", "Wrote a note") as changes:
        changes.create(home.shared, "new.md", b"# New\n")
    assert djinn.maintain(["trash"]).deeds == ()
    now[0] += timedelta(days=31)
    planned = djinn.maintain(["trash"], dry_run=True).deeds
    assert [action.path for action in planned] == [".trash/old.md", None, None]
    assert (shared / ".trash" / "old.md").exists()
    assert len(djinn.maintain(["trash"]).deeds) == 3
    assert not list((shared / ".trash").iterdir()) and (other / ".trash" / "mine.md").exists()
    assert djinn.maintain(["trash"]).deeds == ()
    with pytest.raises(NotFound, match="no change to take back"):
        djinn.changes.undo()
    assert djinn.changes.list().changes[0].status == "expired"


def test_what_jobs_change_in_notes_is_taken_back(home: Home, djinn: Djinn) -> None:
    djinn.facts.set("boat", "berth", "12", expires="1d")
    note = home.root / "vaults" / "me" / "facts" / "boat-berth.md"
    before = note.read_bytes()
    djinn.runtime.now = lambda: datetime.now(UTC) + 3 * DAY
    assert len(djinn.maintain(["expire"]).deeds) == 1
    assert b"status: expired" in note.read_bytes() and djinn.maintain(["expire"]).deeds == ()
    djinn.changes.undo()
    assert note.read_bytes() == before
    djinn.working.set("plan", "Rig the second mast before the regatta", short=True)
    for _ in range(3):
        djinn.working.get("plan")
    [action] = djinn.maintain(["promote"]).deeds
    promoted = home.root / "vaults" / "me" / (action.path or "")
    assert promoted.exists() and djinn.maintain(["promote"]).deeds == ()
    assert djinn.changes.undo().change.command == "maintain --only promote"
    assert not promoted.exists()


def test_a_day_with_episodes_gets_a_note_once(home: Home) -> None:
    now = [datetime.now(UTC)]
    djinn = Djinn(home)
    djinn.runtime.now = lambda: now[0]
    assert djinn.maintain(["daily"]).deeds == ()
    djinn.episodes.record_observation(text="The pier is wet")
    djinn.remember("lesson", "Piers dry [slowly]", "After rain, wait an hour.", force=True)
    day = now[0].astimezone().date().isoformat()
    assert djinn.maintain(["daily"]).deeds == ()
    now[0] += DAY
    [planned] = djinn.maintain(["daily"], dry_run=True).deeds
    assert planned.what == f"the note about {day} with 1 episode of me is to be written"
    [action] = djinn.maintain(["daily"]).deeds
    assert (action.vault, action.path) == ("me", f"days/{day}.md")
    shown = djinn.memories.show(f"Summary of {day}")
    assert shown.type == "day" and "[[lessons/piers-dry-slowly]] Piers dry (slowly)" in shown.text
    assert [link.title for link in djinn.memories.links(f"Summary of {day}").links] == [
        "The pier is wet", "Piers dry [slowly]",
    ]  # fmt: skip
    assert djinn.maintain(["daily"]).deeds == ()
    djinn.changes.undo()
    assert djinn.maintain(["daily"]).deeds == () and not (home.root / "vaults/me/days").exists()


def test_a_job_that_fails_is_one_problem_and_the_others_run(djinn: Djinn) -> None:
    def full(context: JobContext) -> JobReport:
        raise OSError(28, "No space left on device")

    def closed(context: JobContext) -> JobReport:
        why = "vault me is read-only"
        return JobReport((), tuple(Problem(f"note {number}", why) for number in range(3)))

    def tidy(context: JobContext) -> JobReport:
        return JobReport((JobAction("tidy", "swept the mole"),))

    chores = [
        Job(run.__name__, every=DAY, does="Works.", cost="None.", run=run)
        for run in (full, closed, tidy)
    ]
    report = run_jobs(chores, djinn.runtime, dry_run=False)
    assert [(problem.what, problem.why) for problem in report.problems] == [
        ("task full", "No space left on device"),
        ("task closed, note 0 and 2 others", "vault me is read-only"),
    ]
    assert [(run.task, run.actions, run.problems) for run in report.runs] == [
        ("full", 0, 1), ("closed", 0, 1), ("tidy", 1, 0),
    ]  # fmt: skip


def test_a_job_is_not_to_blame_for_what_another_process_is_reading(djinn: Djinn) -> None:
    def look(context: JobContext) -> JobReport:
        (djinn.home.shared.root / "new.md").write_text("The mole was swept.\n")
        with State(djinn.home, []).lock():
            djinn.runtime.fresh_scope(None)
        return JobReport()

    job = Job("look", every=DAY, does="Looks.", cost="None.", run=look)
    assert run_jobs([job], djinn.runtime, dry_run=False).problems == ()
    assert djinn.search("mole").hits


def test_an_index_that_cannot_be_written_is_a_problem(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = djinn.home.index_path

    def full(*_: object, **__: object) -> NoReturn:
        raise Unavailable(f"{path} cannot be written: the disk is full")

    def look(context: JobContext) -> JobReport:
        (djinn.home.shared.root / "new.md").write_text("The mole was swept.\n")
        monkeypatch.setattr(indexer, "update", full)
        djinn.runtime.fresh_scope(None)
        return JobReport()

    job = Job("look", every=DAY, does="Looks.", cost="None.", run=look)
    report = run_jobs([job], djinn.runtime, dry_run=False)
    assert report.problems == (Problem(str(path), f"{path} cannot be written: the disk is full"),)
