"""Proposals to archive stale notes.

The staleness of a note is the part that was forgotten after `idle` days, on a forgetting curve
with the half-life `h`:

    staleness = 1 - 2 ** -(idle / h)

This is the half-life regression of Settles and Meeder ("A Trainable Spaced Repetition Model for
Language Learning", ACL 2016), in which each kind of use makes the half-life longer by a factor:

    h = half-life of the type
        * sqrt(1 + uses) * sqrt(1 + linking notes)
        * 2 ** (2 * usefulness - 1) * 2 ** (2 * importance - 1)
        * 1/4, if the note no longer holds

The square roots are their features for earlier exposures. They fit the weights to data; here each
weight is 1/2 or 1, so that a person can follow the numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.home.settings import UpkeepConfig
from djinn_memory.memories.catalog.catalog import MERGED, is_diary, ledger_name
from djinn_memory.memories.proposals.kind import (
    Acceptance,
    LiveProposal,
    ProposalKind,
    is_copy,
    notes_of,
)
from djinn_memory.memories.proposals.log import Finding
from djinn_memory.memories.recall.records import names_in_events
from djinn_memory.models import Filters, Vault
from djinn_memory.notes.dates import over
from djinn_memory.notes.frontmatter import edit_fields
from djinn_memory.notes.slugs import fold, tag_key
from djinn_memory.runtime import Runtime
from djinn_memory.scoring import NEUTRAL, Record, pooled, score, share_of
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import reading
from djinn_memory.system.plural import count

OVER_FACTOR = 0.25
"""A note that is expired, superseded or done becomes stale four times as fast."""


class NoteUse(Struct, frozen=True):
    """The data that determine the staleness of a note."""

    idle_days: float
    """Days since it was last used, changed or verified, or since its date."""
    half_life_days: float
    """The half-life of its type."""
    uses: int = 0
    """How often it was opened, cited or rated useful."""
    usefulness: float = NEUTRAL
    """The share of useful ratings, from 0 to 1; see `scoring.score`."""
    links: int = 0
    """The number of notes that link to it."""
    importance: float = NEUTRAL
    """Its importance, from 0 to 1."""
    is_over: bool = False
    """Whether it is expired, superseded or done."""


def half_life(use: NoteUse) -> float:
    """The half-life of a note in days."""
    return float(
        use.half_life_days
        * math.sqrt(1 + use.uses)
        * math.sqrt(1 + use.links)
        * 2 ** (2 * use.usefulness - 1)
        * 2 ** (2 * use.importance - 1)
        * (OVER_FACTOR if use.is_over else 1)
    )


def staleness(use: NoteUse) -> float:
    """The staleness of a note: 0 on the day of its last use, 0.5 after one half-life."""
    return float(1 - 2 ** -(max(0.0, use.idle_days) / half_life(use)))


ARCHIVED = "archived"
"""The status of a note in the archive."""

KEPT = frozenset({"profile", "summary", "calendar"})
"""Types of notes that are never stale: djinn keeps them up to date, or they tell of a day."""

OVER = frozenset({
    "done", "closed", "completed", "cancelled", "canceled", "dropped", "superseded", "expired",
    "inactive", "deprecated",
})  # fmt: skip
"""Values of `status` for notes that no longer hold."""

WAITING = frozenset({ARCHIVED, "proposed"})
"""Values of `status` for notes that are in the archive, or that a person has yet to accept."""

HALF_LIVES = {
    "note": 365.0, "lesson": 365.0, "decision": 365.0, "preference": 365.0, "skill": 365.0,
    "fact": 730.0, "relationship": 730.0, "person": 1095.0, "place": 1095.0, "project": 1095.0,
    "concept": 1095.0, "handoff": 90.0, "checkpoint": 90.0, "plan": 90.0, "feeling": 90.0,
}  # fmt: skip
"""Days after which a note that nobody uses is half stale, by type; `note` is for notes without a
type. Knowledge about the world lasts longer than plans for a week. The setting
`upkeep.half_lives` replaces single values, and `upkeep.half_life_days` is for all other types."""

PAGE = 500
"""Notes that are read from the index at once."""

_CANDIDATES = Filters(excluded=(("plane", "documents"), *(("type", kind) for kind in sorted(KEPT))))
_FIELDS = (
    "status", "importance", "expires", "last_verified", "pinned", "evergreen", "source", "valid_to",
    "rule", MERGED,
)  # fmt: skip


def _find(runtime: Runtime, agent: str | None) -> list[Finding]:
    """The stale notes that only one agent reads, or with None those that all agents read."""
    home, scope = runtime.home, runtime.home.visible(agent)
    settings, findings = home.config.upkeep, list[Finding]()
    selection = notes_of(runtime, agent, _CANDIDATES)
    if selection is None:
        return []
    with runtime.index(scope) as index:
        memories = (
            memory
            for memory in index.memories(selection, fields=_FIELDS)
            if not _is_kept(memory) and _may_be_stale(memory, settings, runtime.now())
        )
        while page := list(islice(memories, PAGE)):
            uses = _uses(runtime, index, page, scope)
            for memory in page:
                use = uses[memory.memory_id]
                if staleness(use) >= settings.stale_at:
                    findings.append(_finding(memory, use, index))
    return findings


def _is_kept(memory: IndexedMemory) -> bool:
    """Whether a note is never proposed, however long it was not used."""
    status = fold(memory.field("status") or "")
    pins = {tag_key(tag) for tag in memory.tags} & {"pinned", "evergreen"}
    flags = [fold(memory.field(name) or "") for name in ("pinned", "evergreen")]
    return (
        status in WAITING
        or bool(pins)
        or any(flag not in ("", "false", "no") for flag in flags)
        # A pattern of a consolidation has its own end: see `djinn pattern list`.
        or (memory.type == "pattern" and memory.field("source") == "consolidation")
        or (memory.type == "commitment" and status not in OVER)
        or is_diary(memory)
        or is_copy(memory)
    )


def _may_be_stale(memory: IndexedMemory, settings: UpkeepConfig, now: datetime) -> bool:
    """Whether a note is stale unless uses and links keep it. This looks at the index alone."""
    use = _use(memory, _idle_days(memory, [], now), settings, now)
    return staleness(replace(use, usefulness=0.0)) >= settings.stale_at


def _uses(
    runtime: Runtime, index: Index, memories: Sequence[IndexedMemory], scope: Sequence[Vault]
) -> dict[int, NoteUse]:
    """The data that determine the staleness of notes, by memory."""
    settings, now = runtime.home.config, runtime.now()
    records = _records(runtime, index, memories, scope)
    listed = index.links([memory.memory_id for memory in memories])
    links = {(link.target, link.source) for link in listed if link.target != link.source}
    linking = Counter(target for target, _ in links)
    uses: dict[int, NoteUse] = {}
    for memory in memories:
        record = records.get(memory.memory_id, Record())
        times = [record.last_used, record.last_valued, _saved(memory)]
        use = _use(memory, _idle_days(memory, times, now), settings.upkeep, now)
        uses[memory.memory_id] = replace(
            use,
            uses=record.uses,
            usefulness=score(record, settings.scoring, now.isoformat()).usefulness,
            links=linking[memory.memory_id],
        )
    return uses


def _use(memory: IndexedMemory, idle: float, settings: UpkeepConfig, now: datetime) -> NoteUse:
    """The data that determine the staleness of a note, apart from uses and links."""
    kind = fold(memory.type or "note")
    half_lives = {**HALF_LIVES, **settings.half_lives}
    importance = share_of(memory.field("importance"))
    ends = (memory.field("expires"), memory.field("valid_to"))
    return NoteUse(
        idle,
        half_lives.get(kind, settings.half_life_days),
        importance=NEUTRAL if importance is None else importance,
        is_over=fold(memory.field("status") or "") in OVER or any(over(end, now) for end in ends),
    )


def _idle_days(memory: IndexedMemory, times: Sequence[str | None], now: datetime) -> float:
    """Days since the last time that is known of a note. Times of a later day count as now."""
    known = [memory.date, memory.created, memory.updated, memory.field("last_verified"), *times]
    ages = [age for time in known if time and (age := _age(time, now)) is not None]
    return max(0.0, min(ages, default=math.inf))


def _age(time: str, now: datetime) -> float | None:
    with suppress(ValueError):
        at = datetime.fromisoformat(time)
        at = at if at.tzinfo else at.astimezone()
        return (now - at).total_seconds() / 86_400
    return None


def _saved(memory: IndexedMemory) -> str | None:
    """The time when the file was last saved. A person who edits a note may not date it."""
    with suppress(OSError):
        return datetime.fromtimestamp(Path(memory.file).stat().st_mtime).astimezone().isoformat()
    return None


def _records(
    runtime: Runtime, index: Index, memories: Sequence[IndexedMemory], scope: Sequence[Vault]
) -> dict[int, Record]:
    """The uses and ratings of notes by all agents."""
    ledger = runtime.state.ledger_if_any
    if ledger is None:
        return {}
    vaults = {vault.name: vault for vault in scope}
    known = {memory.memory_id: ledger_name(memory, vaults[memory.vault]) for memory in memories}
    names = names_in_events(runtime.state, ledger, memories, known, scope)
    records = reading.records(ledger, [name for several in names.values() for name in several])
    return {
        key: pooled([each for name in several for each in records.get(name, {}).values()])
        for key, several in names.items()
    }


def _finding(memory: IndexedMemory, use: NoteUse, index: Index) -> Finding:
    vault = next(vault for vault in index.vaults if vault.name == memory.vault)
    began = "It no longer holds, and was" if use.is_over else "It was"
    reason = f"{began} neither used nor changed for {count(int(use.idle_days), 'day')}."
    return Finding(
        ((ledger_name(memory, vault).memory, memory.hash),), reason, tuple(_evidence(use)), vault.id
    )


def _evidence(use: NoteUse) -> Iterator[str]:
    yield f"staleness {staleness(use):.2f}"
    yield f"half-life {half_life(use):,.0f} days"
    yield count(use.uses, "use")
    yield count(use.links, "linking note")
    if use.usefulness != NEUTRAL:
        yield f"usefulness {use.usefulness:.2f}"
    if use.importance != NEUTRAL:
        yield f"importance {use.importance:.2f}"


def _carry_out(acceptance: Acceptance, proposal: LiveProposal) -> None:
    for memory in proposal.memories:
        data = acceptance.check(memory)
        before = memory.field("status")
        fields = {"status": ARCHIVED} | ({"status_before": before} if before else {})
        changed = edit_fields(data, fields)
        acceptance.changes.rewrite(acceptance.vault(memory), memory.path, data, changed)


KIND = ProposalKind(
    "archive",
    action="Sets `status: archived` in the note. The note stays where it is, with its links.",
    describe=lambda titles: f"Archived {titles[0]}",
    find=_find,
    carry_out=_carry_out,
)
