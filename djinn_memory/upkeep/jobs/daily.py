"""The job that writes a note about each day with links to its episodes and notes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.catalog import domains_in
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.provenance import Provenance, evidence_line
from djinn_memory.models import Filters, Vault
from djinn_memory.notes.slugs import folder
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.system.plural import count
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction

TYPE = "day"
"""The type of the notes. It is not `summary`, which is the type of the narrative summary."""

RULE = "maintain.daily"
"""The rule of the notes."""

MOST_LINKS = 50
"""Maximum links to episodes, and to notes. A day of imports has thousands."""


def _run(context: JobContext) -> JobReport:
    today = context.runtime.now().astimezone().date()

    def work(agent: str) -> Work:
        action = _write(context, agent, (today - timedelta(days=1)).isoformat())
        return [action] if action else (), ()

    return for_each_agent(context, "day", work)


def _write(context: JobContext, agent: str, day: str) -> JobAction | None:
    """Write the note about a day. None if there were no episodes, or if it was written before."""
    runtime = context.runtime
    scope = runtime.fresh_scope(agent)
    vault = runtime.home.personal(agent)
    path = f"{folder(TYPE)}/{day}.md"
    written = context.was_written(vault, path, scope)
    episodes, total = ([], 0) if written else _memories(runtime, (vault,), day, episodic=True)
    if not episodes:
        return None
    notes, others = _memories(runtime, scope, day, episodic=False)
    sections = (_section("Episodes", episodes, total), _section("Notes", notes, others))
    text = "\n\n".join(filter(None, sections))
    about = f"the note about {day} with {count(total, 'episode')} of {agent}"
    if context.dry_run:
        return JobAction("daily", f"{about} is to be written")
    origin = Provenance(RULE, author=agent, domains=tuple(domains_in([*episodes, *notes])))
    draft = Draft(TYPE, f"Summary of {day}", text, {"date": day, **origin.fields()})
    what = f"Wrote {about}"
    with change_set(runtime, "maintain --only daily", what, agent) as changes:
        data = draft.compose(runtime.now())[1].encode("utf-8", "replace")
        changes.create(vault, path, data)
    return JobAction("daily", f"{about} was written", vault.name, path)


def _memories(
    runtime: Runtime, vaults: Sequence[Vault], day: str, *, episodic: bool
) -> tuple[list[IndexedMemory], int]:
    """The first episodes or notes of a day, oldest first, and the number of all of them."""
    excluded = (("type", TYPE),) if episodic else (("type", TYPE), ("plane", "episodic"))
    planes = ("episodic",) if episodic else ()
    selection = Selection(Filters(planes=planes, since=day, until=day, excluded=excluded))
    with runtime.index(vaults) as index:
        memories = list(index.memories(selection, limit=MOST_LINKS, fields=(DOMAIN,)))
        return memories[::-1], index.count(selection)


def _section(heading: str, memories: Sequence[IndexedMemory], total: int) -> str:
    if not memories:
        return ""
    lines = [*map(evidence_line, memories)]
    if total > len(memories):
        lines.append(f"- and {total - len(memories):,} earlier ones")
    return "\n".join([f"## {heading}", "", *lines])


JOB = Job(
    "daily",
    every=timedelta(days=1),
    at="00:30",
    does="Writes a note with links to the episodes and notes of yesterday.",
    cost="Reads the titles of yesterday's episodes and notes, and writes a note for each agent "
    "that had episodes.",
    run=_run,
)
