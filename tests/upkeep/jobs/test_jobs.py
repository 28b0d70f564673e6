"""Jobs: their list, when they are due, and what the ledger records of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.upkeep.jobs import registry
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport
from djinn_memory.upkeep.jobs.registry import JOBS
from djinn_memory.upkeep.jobs.runner import due, last_runs, named_jobs, run_jobs
from djinn_memory.upkeep.requests import JobAction

DAY = timedelta(days=1)


def test_the_list_of_jobs_is_complete() -> None:
    folder = Path(registry.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {
        "__init__", "job", "registry", "runner",
    }  # fmt: skip
    assert set(JOBS) == modules
    assert list(JOBS) == ["promote", "expire", "extract", "consolidate", "summary"]
    assert all(job.cost.endswith(".") and job.every >= timedelta(hours=1) for job in JOBS.values())
    assert [job.name for job in named_jobs(["expire", "promote"])] == ["promote", "expire"]
    with pytest.raises(UsageError, match="only nap: unknown task"):
        named_jobs(["nap"])


def test_a_job_is_due_until_it_ran_and_again_after_its_time(djinn: Djinn) -> None:
    state, jobs = djinn.runtime.state, tuple(JOBS.values())
    now = datetime.now(UTC)
    assert due(jobs, state, now) == jobs and last_runs(state) == {}
    djinn.maintain(dry_run=True)
    assert due(jobs, state, now) == jobs
    djinn.maintain(["promote"])
    assert [job.name for job in due(jobs, state, now)] == [
        "expire",
        "extract",
        "consolidate",
        "summary",
    ]
    assert abs(last_runs(state)["promote"] - now) < timedelta(minutes=5)
    djinn.maintain()
    assert due(jobs, state, now) == ()
    assert due(jobs, state, now + DAY + timedelta(minutes=10)) == jobs


def test_a_job_of_ones_own_runs_like_the_others(djinn: Djinn, home: Home) -> None:
    seen: list[bool] = []

    def tidy(context: JobContext) -> JobReport:
        seen.append(context.dry_run)
        return JobReport((JobAction("tidy", f"looked at {context.runtime.home.root.name}"),))

    job = Job("tidy", every=timedelta(hours=6), cost="Nothing.", run=tidy)
    report = run_jobs([job], djinn.runtime, dry_run=True)
    assert report.tasks == ("tidy",) and report.deeds[0].what == f"looked at {home.root.name}"
    run_jobs([job], djinn.runtime, dry_run=False)
    assert seen == [True, False]
    now = datetime.now(UTC)
    assert due([job], djinn.runtime.state, now) == ()
    assert due([job], djinn.runtime.state, now + timedelta(hours=7)) == (job,)
