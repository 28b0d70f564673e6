"""Consolidation: reads the episodes of an agent, and writes the patterns that it finds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.home.settings import PatternsConfig
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.patterns.log import ConsolidationLog
from djinn_memory.memories.patterns.outcomes import Outcome, read_outcomes
from djinn_memory.memories.patterns.reading import EpisodeScope
from djinn_memory.memories.patterns.requests import (
    Consolidate,
    ConsolidationReport,
    LearnedPattern,
    PatternChange,
    SkippedPattern,
)
from djinn_memory.memories.patterns.writer import PatternWriter
from djinn_memory.models import Problem
from djinn_memory.runtime import Runtime
from djinn_memory.system.durations import duration
from djinn_memory.system.locks import lock

if TYPE_CHECKING:
    from djinn_memory.memories.patterns.detection.occasion import Occasion

PATIENCE = 30.0
"""Seconds to wait for another consolidation for the same agent."""


def consolidate(runtime: Runtime, request: Consolidate) -> ConsolidationReport:
    """Find and write patterns; see `Patterns.consolidate`."""
    agent = runtime.home.agent(request.agent)
    age = _age(request.min_age or runtime.home.config.patterns.min_age)
    runtime.take_in(agent)
    problems = read(runtime.state, [runtime.home.personal(agent)])
    if request.dry_run:
        return _run(runtime, agent, age, problems, dry_run=True)
    # Two runs at once would write the same patterns.
    with lock(runtime.home.state / f"consolidate-{agent}.lock", timeout=PATIENCE):
        return _run(runtime, agent, age, problems, dry_run=False)


def _run(
    runtime: Runtime, agent: str, age: timedelta, problems: list[Problem], *, dry_run: bool
) -> ConsolidationReport:
    config, now = runtime.home.config.patterns, runtime.now()
    log = ConsolidationLog(runtime.state, agent, keep=not dry_run)
    scope = EpisodeScope(runtime.home.personal(agent), now - age, tuple(log.marked))
    writer = PatternWriter(runtime, agent, log, dry_run=dry_run)
    today = now.astimezone().date()
    with runtime.index([scope.vault]) as index:
        total = scope.count(index)
        new = max(0, total - log.read[0])
        is_new = log.read != (total, frozenset(log.marked))
        occasions = scope.occasions(index, config.history_days) if is_new and total else []
    outcomes = read_outcomes(runtime, (scope.vault,)) if is_new and total else []
    changes: list[PatternChange] = []
    skipped: list[SkippedPattern] = []
    try:
        if occasions or outcomes:
            patterns = _patterns(occasions, outcomes, today, config)
            changes, skipped = writer.take(patterns)
        changes += writer.deprecate(today, config, {change.id for change in changes})
        problems += writer.apply()
        if is_new:
            log.consolidated(total, scope.cutoff)
    except (OSError, DjinnError) as error:
        # What was written is logged. The next run continues.
        why = getattr(error, "strerror", None) or str(error)
        problems.append(Problem("patterns", f"{why}; run it again"))
    return ConsolidationReport(
        len(occasions), new, tuple(changes), tuple(skipped), dry_run, tuple(problems)
    )


def _patterns(
    occasions: Sequence[Occasion], outcomes: Sequence[Outcome], today: date, config: PatternsConfig
) -> list[LearnedPattern]:
    # numpy takes longer to load than a run that finds nothing new.
    from djinn_memory.memories.patterns.causes import find_causes
    from djinn_memory.memories.patterns.detection.history import History
    from djinn_memory.memories.patterns.detection.learn import learn

    return [*learn(History(occasions), today, config), *find_causes(outcomes, today, config)]


def _age(text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError:
        why = f"{text}: not an age; write 7d or 2w"
        raise UsageError(why, argument="min_age") from None
