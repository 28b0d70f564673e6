"""The job that archives observations past their time.

An observation is past its time after `upkeep.observation_days`. By default this is the time that
consolidation looks back, so that its patterns have been found. Its section of the journal gets
`status: archived`, and recalls leave it out. Messages and outcomes stay. `djinn undo` takes the
marks back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from itertools import islice
from pathlib import PurePosixPath

from msgspec import Struct

from djinn_memory.memories.changes.files import current
from djinn_memory.memories.changes.history import taken_back
from djinn_memory.memories.changes.plan import digest
from djinn_memory.memories.episodes.journals import home_name_if_any
from djinn_memory.memories.episodes.reading import EPISODES
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.models import Filters, Vault
from djinn_memory.notes import journal
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection
from djinn_memory.system.plural import count
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction

COMMAND = "maintain --only observations"

AT_ONCE = 100
"""Maximum number of journals in one change set, whose bytes are kept for an undo."""

_STATUS = ("status", "archived")


class _OldObservations(Struct, frozen=True):
    """The observations of one journal that are past their time."""

    path: str
    blocks: tuple[str, ...]
    before: bytes
    """The bytes of the journal now."""
    after: bytes
    """The bytes with the marks."""

    @property
    def day(self) -> str:
        """The day of the journal."""
        return PurePosixPath(self.path).name.partition(".")[0]


def _old_observations(runtime: Runtime, agent: str) -> list[_OldObservations]:
    """The observations of an agent that are older than `upkeep.observation_days`, by journal.

    Only journals of this home are read, because each home writes its own. A mark that was taken
    back is not made again.
    """
    vault, home = runtime.home.personal(agent), home_name_if_any(runtime.home)
    if home is None:
        return []
    age = timedelta(days=runtime.home.config.upkeep.observation_days)
    until = (runtime.now() - age).astimezone().date() - timedelta(days=1)
    filters = Filters(
        types=("observation",), planes=EPISODES.planes, paths=EPISODES.paths,
        until=until.isoformat(), excluded=(_STATUS,),
    )  # fmt: skip
    blocks: dict[str, list[str]] = {}
    own = re.compile(rf"journal/[\d-]+\.{re.escape(home)}(?:-\d+)?\.md")
    with runtime.index((vault,)) as index:
        for memory in index.memories(Selection(filters), fields=()):
            if isinstance(memory.block, str) and own.fullmatch(memory.path):
                blocks.setdefault(memory.path, []).append(memory.block)
    undone = taken_back(runtime.state, (vault,), COMMAND) if blocks else frozenset()
    journals = []
    for path, names in sorted(blocks.items()):
        before = current(vault, path)
        if before is None or (vault.id, path, digest(before)) in undone:
            continue
        after = journal.marked(path, before, names, *_STATUS)
        if after != before:
            journals.append(_OldObservations(path, tuple(names), before, after))
    return journals


def _archive(
    runtime: Runtime, agent: str, vault: Vault, journals: Sequence[_OldObservations]
) -> None:
    """Mark observations, in steps that `djinn undo` takes back."""
    listed = iter(journals)
    while part := list(islice(listed, AT_ONCE)):
        number = sum(len(each.blocks) for each in part)
        what = f"Archived {count(number, 'observation')} of {agent}"
        with change_set(runtime, COMMAND, what, agent) as changes:
            for each in part:
                changes.rewrite(vault, each.path, each.before, each.after)


def _run(context: JobContext) -> JobReport:
    runtime = context.runtime
    verb = "to be archived" if context.dry_run else "archived"

    def work(agent: str) -> Work:
        vault = runtime.home.personal(agent)
        runtime.refresh((vault,))
        journals = _old_observations(runtime, agent)
        if not context.dry_run:
            _archive(runtime, agent, vault, journals)
        actions = []
        for each in journals:
            what = f"{agent}: {count(len(each.blocks), 'observation')} of {each.day} {verb}"
            actions.append(JobAction("observations", what, vault.name, each.path))
        return actions, ()

    return for_each_agent(context, "observations", work)


JOB = Job(
    "observations",
    every=timedelta(days=1),
    does="Marks observations that are older than `upkeep.observation_days` as archived.",
    cost="Lists old observations in the index. Changes a line of each in its journal, once.",
    run=_run,
)
