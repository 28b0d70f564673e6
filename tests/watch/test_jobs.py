"""A watch runs the jobs that it was given, when they are due and nothing else is to be done."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport
from djinn_memory.upkeep.requests import JobAction
from djinn_memory.upkeep.runner import last_runs
from tests.watch.conftest import watched


def test_a_watch_runs_the_jobs_that_are_due_and_records_it(home: Home) -> None:
    runs: list[str] = []

    def tidy(context: JobContext) -> JobReport:
        assert not context.dry_run
        runs.append(context.runtime.now().isoformat())
        return JobReport((JobAction("tidy", "swept the mole"),))

    job = Job("tidy", every=timedelta(hours=6), does="Tidies.", cost="None.", run=tidy)
    with watched(home, jobs=[job]) as watch:
        watch.until(lambda: "tidy: swept the mole" in watch.of("update"))
    with watched(home, jobs=[job]) as watch:
        watch.until_idle()
    assert len(runs) == 1


def test_undo_without_an_id_is_not_of_what_upkeep_changed(home: Home, shared: Path) -> None:
    note = shared / "mole.md"
    note.write_text("The mole.\n")

    def sweep(context: JobContext) -> JobReport:
        [vault] = context.runtime.home.named(("shared",))
        with change_set(context.runtime, "maintain", "Swept the mole", None) as changes:
            changes.rewrite(vault, "mole.md", b"The mole.\n", b"The mole is swept.\n")
        return JobReport((JobAction("sweep", "swept the mole"),))

    Djinn(home).remember("lesson", "Lamp", "The lamp is lit.")
    job = Job("sweep", every=timedelta(hours=6), does="Sweeps.", cost="None.", run=sweep)
    with watched(home, jobs=[job]) as watch:
        watch.until(lambda: "sweep: swept the mole" in watch.of("update"))
    changes = Djinn(home).changes
    newest = changes.list().changes[0]
    assert (newest.what, newest.by) == ("Swept the mole", "djinn watch")
    assert changes.undo(dry_run=True).change.what == "Created me/lessons/lamp.md"
    assert changes.undo(newest.id).change.by == "djinn watch"
    assert note.read_text() == "The mole.\n"


def test_a_watch_without_jobs_runs_none(home: Home) -> None:
    from djinn_memory.store.state import State

    with watched(home):
        pass
    state = State(home, [])
    assert last_runs(state) == {}
    state.close()
