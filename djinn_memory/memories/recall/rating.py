"""Rating: what of a recall was useful and what was not. A missing judgement is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from djinn_memory.errors import DjinnError, NotFound, UsageError
from djinn_memory.memories.catalog.catalog import MemoryEntry
from djinn_memory.memories.catalog.identity import LedgerName, ledger_names
from djinn_memory.memories.recall import gaps, session_log
from djinn_memory.models import Problem
from djinn_memory.notes.ids import ID
from djinn_memory.store.index.memories import vault_ids
from djinn_memory.store.ledger import Event, Ledger, reading
from djinn_memory.store.ledger.reading import ShownMemory
from djinn_memory.store.state import State

LAST = "last"
"""The target that is the agent's last recall."""

Item = int | str
"""A rank, or what a memory is called."""


class RatedMemory(Struct, frozen=True):
    """A memory that was rated."""

    memory: str
    """Its id, else its vault and path."""
    title: str
    """Its title."""
    rank: int | None
    """Its place in the recall; null where it was rated by itself."""
    useful: bool
    """What was said of it."""


class RatingResult(Struct, frozen=True):
    """What was rated."""

    request_id: str | None
    """The recall; null where memories were rated by themselves."""
    judged: tuple[RatedMemory, ...]
    """In the order in which they were named."""
    gap_id: str | None
    """The gap that was told of, which `djinn gap close` takes."""


class RatingRequest(Struct, frozen=True):
    """What is said of a recall."""

    target: str | None = None
    """`last` or a request's id; None where memories are named."""
    useful: Sequence[Item] = ()
    not_useful: Sequence[Item] = ()
    gap: str | None = None
    gap_query: str | None = None
    session: str | None = None


def items(texts: Sequence[str]) -> list[Item]:
    """What an option names: ranks and ids may stand in one, with commas between them."""
    found: list[Item] = []
    for text in texts:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if all(part.isdecimal() or ID.fullmatch(part) for part in parts):
            found += [int(part) if part.isdecimal() else part for part in parts]
        else:
            found.append(text.strip())
    return found


def rate(
    state: State, find: Callable[[str], MemoryEntry], agent: str, wish: RatingRequest
) -> RatingResult:
    """See `Djinn.rate`; `find` gives the memory that a name means."""
    said = [(one, True) for one in wish.useful] + [(one, False) for one in wish.not_useful]
    if not said and not wish.gap:
        raise UsageError(
            "nothing is said of it; try `djinn rate last --useful 1,3 --not-useful 2`, "
            'or --gap "what was missing"'
        )
    session = wish.session or session_log.current(state, agent)
    ranked = any(isinstance(one, int) for one, _ in said)
    target = wish.target or (LAST if ranked or not said else None)
    request, there = _request(state, target, agent, session) if target else (None, [])
    judged: list[RatedMemory] = []
    events: list[Event] = []
    for one, useful in said:
        memory, digest = _meant(state, find, one, request, there)
        if any(memory.memory == other.memory for other in judged):
            raise UsageError(f"{one} is named twice; say of each memory one thing")
        judged.append(RatedMemory(memory.memory, memory.title, memory.rank, useful))
        data = {
            "agent": agent, "session": session, "request": request, "title": memory.title,
            "useful": useful, "hash": digest,
        }  # fmt: skip
        events.append(Event("memory.rated", memory.memory, data))
    gap = None
    if wish.gap:
        query = wish.gap_query or _query(state, request)
        gap = gaps.reported(state.home.config.secrets, agent, session, wish.gap, query)
        events.append(gap)
    state.ledger.append(events)
    return RatingResult(request, tuple(judged), gap.subject if gap else None)


def reference(state: State, entry: MemoryEntry) -> LedgerName:
    """What the ledger calls a memory."""
    vaults = vault_ids(state.index, state.home.vaults)
    return ledger_names(state.index, [entry.note_id], vaults)[entry.note_id]


def opened(state: State, entry: MemoryEntry, agent: str) -> list[Problem]:
    """Write down that a memory was read in full; what keeps it from being written.

    A home that is there only to be read counts no uses, and need not be told so each time.
    """
    if not state.writable:
        return []
    try:
        known = reference(state, entry)
        session = session_log.current(state, agent)
        data = {"agent": agent, "session": session, "title": entry.title, "hash": known.hash}
        state.ledger.append([Event("memory.opened", known.memory, data)])
    except (DjinnError, OSError) as error:
        return [Problem("ledger", f"{error}; that it was read does not count")]
    return []


class _Meant(Struct):
    memory: str
    title: str
    rank: int | None


def _request(state: State, target: str, agent: str, session: str) -> tuple[str, list[ShownMemory]]:
    ledger = state.ledger_if_any
    if ledger is None:
        raise NotFound("nothing was recalled yet; `djinn recall QUERY` does")
    if target != LAST:
        there = reading.shown(ledger, target, agent)
        if not there:
            raise NotFound(
                f"no recall {target!r} of {agent}; give `last`, or what `djinn recall` printed"
            )
        return target, there
    request = _last(ledger, agent, session)
    return request, reading.shown(ledger, request, agent)


def _last(ledger: Ledger, agent: str, session: str) -> str:
    found = reading.last_request(ledger, agent, session) or reading.last_request(ledger, agent)
    if found is None:
        raise NotFound(f"{agent} recalled nothing yet; `djinn recall QUERY` does")
    return found


def _meant(
    state: State,
    find: Callable[[str], MemoryEntry],
    item: Item,
    request: str | None,
    there: Sequence[ShownMemory],
) -> tuple[_Meant, str | None]:
    """The memory that an item means, and by what text it is known if it has no id."""
    if isinstance(item, int):
        for one in there:
            if one.rank == item:
                return _Meant(one.memory, one.title, one.rank), None
        raise UsageError(f"no rank {item} in {request}; there were: {_listed(there)}")
    entry = find(item)
    known = reference(state, entry)
    if request is None:
        return _Meant(known.memory, entry.title, None), known.hash
    for one in there:
        if one.memory in (known.memory, known.place):
            return _Meant(one.memory, one.title, one.rank), known.hash
    raise UsageError(f"{item} was not in {request}; there were: {_listed(there)}")


def _listed(there: Sequence[ShownMemory]) -> str:
    return ", ".join(f"{one.rank} {' '.join(one.title.split())[:40]}" for one in there)


def _query(state: State, request: str | None) -> str | None:
    return reading.query(state.ledger, request) if request else None


def looks_like_request(text: str) -> bool:
    """Whether a text is `last` or the id of a recall, and not the name of a memory."""
    return text == LAST or bool(re.fullmatch(r"rec_[0-9a-hjkmnp-tv-z]{10}", text))
