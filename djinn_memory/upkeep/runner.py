"""Runs jobs, and records the time of each run in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime, time, timedelta
from time import monotonic

from msgspec.structs import replace

from djinn_memory.errors import Busy, DjinnError, Refused, Unavailable, UsageError
from djinn_memory.indexing.refresh import SWEEP, read
from djinn_memory.memories.changes.commit import recover_before_reading
from djinn_memory.models import Problem
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import Event
from djinn_memory.store.sqlite import DamagedDatabase, explained
from djinn_memory.store.state import State
from djinn_memory.system.choices import one_of
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, reason
from djinn_memory.upkeep.registry import JOBS
from djinn_memory.upkeep.requests import (
    JobAction,
    JobList,
    JobRun,
    JobState,
    MaintenanceReport,
)

NOUN = "job"
"""The noun of the events. Their subject is the name of the job."""

LOCK_SECONDS = 30.0
"""Seconds to wait for another process that runs the same job."""


def named_jobs(names: Sequence[str], skip: Sequence[str] = ()) -> tuple[Job, ...]:
    """The jobs with these names, also several in one text, separated by commas.

    Without names, all jobs but those of `skip`.

    `UsageError` lists the known jobs.
    """
    # `--only rot,gaps` is a usual way to write it.
    names = [part.strip() for name in names for part in name.split(",")]
    for name in names:
        if name not in JOBS:
            raise UsageError(f"{name}: unknown task; {one_of(JOBS, name)}", argument="only")
    for name in skip:
        if name not in JOBS:
            raise UsageError(f"upkeep.skip: no task {name[:40]!r}; {one_of(JOBS, name)}")
    wanted = names or [name for name in JOBS if name not in skip]
    return tuple(job for name, job in JOBS.items() if name in wanted)


def run_jobs(
    jobs: Iterable[Job],
    runtime: Runtime,
    *,
    dry_run: bool,
    agent: str | None = None,
    skipped: Sequence[str] = (),
) -> MaintenanceReport:
    """Run jobs in order, for all agents or for one. A dry run reports what they would do.

    A job that fails is a problem, and the others run. A run for one agent does not count as the
    last run. `skipped` are the names of jobs that the settings switch off.
    """
    home = runtime.home
    agents = tuple(home.config.agents) if agent is None else (home.agent(agent),)
    context = JobContext(runtime, agents, home.visible(agent), dry_run)
    jobs = tuple(jobs)
    actions: list[JobAction] = []
    problems: list[Problem] = _read_notes(context) if jobs else []
    runs: list[JobRun] = []
    for job in jobs:
        began = monotonic()
        report = _run(job, context)
        seconds = round(monotonic() - began, 3)
        runs.append(JobRun(job.name, len(report.actions), len(report.problems), seconds))
        actions += report.actions
        problems += report.problems
        if not dry_run and agent is None:
            _record(runtime.state, job, len(report.actions), len(report.problems))
    # All notes were read before the jobs. The next run reads later changes.
    problems += [problem for problem in runtime.state.problems if problem.what != SWEEP]
    tasks = tuple(run.task for run in runs)
    return MaintenanceReport(tasks, tuple(runs), tuple(skipped), tuple(actions), tuple(problems))


def _read_notes(context: JobContext) -> list[Problem]:
    """Index all changed notes, so that no job works on a part of them. Returns the problems.

    Files of an interrupted change are restored before, so that no job counts it as done.
    Raises `Busy` when another process holds the index.
    """
    state = context.runtime.state
    if not context.dry_run:
        recover_before_reading(state)
    try:
        with explained(state.home.index_path):
            return read(state, context.vaults, timeout=LOCK_SECONDS)
    except (Busy, DamagedDatabase):
        # No job can run while another process holds the index.
        raise
    except (DjinnError, OSError):
        # The index answers as it is. A job that must write says why it cannot.
        return []


def _run(job: Job, context: JobContext) -> JobReport:
    """Run a job, unless another process runs it. Where nothing can be written, say what is due."""
    if context.dry_run:
        return _guarded(job, context)
    with ExitStack() as stack:
        path = context.runtime.home.state / f"job-{job.name}.lock"
        try:
            # Two at once would both find the same to do.
            stack.enter_context(lock(path, timeout=LOCK_SECONDS))
        except Busy as error:
            return JobReport((), (Problem(f"task {job.name}", reason(error)),))
        except Unavailable as error:
            planned = _guarded(job, replace(context, dry_run=True))
            if not planned.actions:
                return planned
            why = f"{count(len(planned.actions), 'action')} not taken: {reason(error)}"
            return JobReport((), (Problem(f"task {job.name}", why), *planned.problems))
        return _guarded(job, context)


def _guarded(job: Job, context: JobContext) -> JobReport:
    """The report of a job. Its problems name the job, and each reason is given once."""
    try:
        with explained(context.runtime.home.index_path):
            report = job.run(context)
    except DamagedDatabase:
        # The operation sets the index aside, and runs the jobs again.
        raise
    except (DjinnError, OSError) as error:
        return JobReport((), (Problem(f"task {job.name}", reason(error)),))
    whys: dict[str, list[str]] = {}
    for problem in report.problems:
        whys.setdefault(problem.why, []).append(problem.what)
    problems = []
    # A reason that prevents all writing of a job is not repeated for each agent and note.
    for why, (first, *others) in whys.items():
        more = f" and {count(len(others), 'other')}" if others else ""
        problems.append(Problem(f"task {job.name}, {first}{more}", why))
    return JobReport(report.actions, tuple(problems))


def due(jobs: Iterable[Job], state: State, now: datetime) -> tuple[Job, ...]:
    """The jobs that have never run or whose last run is long enough ago.

    A job with a time of day is due once that time has passed since its last run. The settings
    `upkeep.skip` and `upkeep.times` apply.
    """
    ended, settings = last_runs(state), state.home.config.upkeep
    return tuple(
        job
        for job in jobs
        if job.name not in settings.skip
        and (
            job.name not in ended
            or _clock_was_ahead(job, ended[job.name], now)
            or _next(job, ended[job.name], settings.times.get(job.name, job.at)) <= now
        )
    )


def _clock_was_ahead(job: Job, ended: datetime, now: datetime) -> bool:
    """Whether the clock has been set back since a run, which could be years away otherwise."""
    return ended > now + job.every


def _next(job: Job, ended: datetime, at: str) -> datetime:
    """The time at which a job that ended is due again."""
    if not at:
        return ended + job.every
    local, clock = ended.astimezone(), time.fromisoformat(at)
    day = local.date() + timedelta(days=local.time() >= clock)
    # Without a zone, so that it is the time of that day's clock.
    return datetime.combine(day, clock).astimezone()


def last_runs(state: State) -> dict[str, datetime]:
    """The time of each job's last run, by name."""
    return {name: datetime.fromisoformat(event.at) for name, event in _last_events(state).items()}


def _last_events(state: State) -> dict[str, Event]:
    ledger = state.ledger_if_any
    return {event.subject: event for event in (ledger.latest(NOUN) if ledger else [])}


def list_jobs(state: State, now: datetime) -> JobList:
    """All jobs, with their last runs."""
    last, waiting = _last_events(state), due(JOBS.values(), state, now)
    states = []
    for job in JOBS.values():
        event = last.get(job.name)
        actions, problems = (
            int(event.data.get(key) or 0) if event else 0 for key in ("actions", "problems")
        )
        at = event.at if event else None
        states.append(JobState(job.name, job.does, at, actions, problems, job in waiting))
    return JobList(states)


def _record(state: State, job: Job, actions: int, problems: int) -> None:
    # A run whose record is lost is due again, which costs a run that finds nothing to do.
    with suppress(Unavailable, Refused):
        data = {"actions": actions, "problems": problems}
        event = Event(f"{NOUN}.ended", job.name, data)
        state.ledger.append([event], durable=False)
