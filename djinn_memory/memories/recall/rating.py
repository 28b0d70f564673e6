"""Rates the memories of a recall as useful or not. A memory without a rating is not judged."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.errors import DjinnError, NotFound, Remedy, UsageError
from djinn_memory.memories.catalog.catalog import find_memory, ledger_name, seen_names
from djinn_memory.memories.recall import gap_answers, session_log
from djinn_memory.memories.recall.requests import RankOrName, RatingRequest
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.ids import ID
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.ledger.reading import ShownMemory
from djinn_memory.store.state import State

LAST = "last"
"""The target that means the agent's last recall."""


class RatedMemory(Struct, frozen=True):
    """A memory that was rated."""

    memory: str
    """Its id, else its vault and path."""
    title: str
    """Its title."""
    rank: int | None
    """Its rank in the recall; null if it was rated by name only."""
    useful: bool
    """Whether it was rated as useful."""


class RatingResult(Struct, frozen=True):
    """The result of a rating."""

    request_id: str | None
    """The id of the recall; null if memories were rated by name only."""
    judged: tuple[RatedMemory, ...]
    """The rated memories, in the given order."""
    gap_id: str | None
    """The id of the gap that was reported. `djinn gap close` accepts it."""


def ranks_and_names(texts: Sequence[str]) -> tuple[RankOrName, ...]:
    """The ranks and names in the values of an option.

    One value may contain several, split by commas.
    """
    names: list[RankOrName] = []
    for text in texts:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if all(part.isdecimal() or ID.fullmatch(part) for part in parts):
            names += [int(part) if part.isdecimal() else part for part in parts]
        else:
            names.append(text.strip())
    return tuple(names)


_RECALL = Remedy("recall", {"query": None}, "recall memories")


def rate(state: State, vaults: Sequence[Vault], request: RatingRequest) -> RatingResult:
    """Record ratings; see `Djinn.rate`. `vaults` are those that the agent sees."""
    agent = state.home.agent(request.agent)
    ratings = [(name, True) for name in request.useful]
    ratings += [(name, False) for name in request.not_useful]
    if not ratings and not request.gap:
        raise UsageError(
            "the rating contains no memory and no gap",
            Remedy(
                "rate",
                {"target": LAST, "useful": [1, 3], "not_useful": [2]},
                "rate the first three memories of the last recall",
            ),
            Remedy("rate", {"gap": "what was missing"}, "report a gap"),
        )
    session = session_log.current(state, agent, request.session)
    ranked = any(isinstance(name, int) for name, _ in ratings)
    target = request.target or (LAST if ranked or not ratings else None)
    recall_id: str | None = None
    shown: list[ShownMemory] = []
    if target:
        recall_id, shown = _recall(state, target, agent, session, rated=bool(ratings))
    run = reading.last_start(state.ledger, agent, session)
    judged: list[RatedMemory] = []
    events: list[Event] = []
    for name, useful in ratings:
        memory, digest = _rated(state, vaults, name, useful, recall_id, shown)
        if any(memory.memory == other.memory for other in judged):
            raise UsageError(f"{name} is named twice; rate each memory once")
        judged.append(memory)
        data = {
            "agent": agent, "session": session, "run": run, "request": recall_id,
            "title": memory.title, "useful": useful, "hash": digest,
        }  # fmt: skip
        events.append(Event("memory.rated", memory.memory, data))
    gap = None
    if request.gap:
        query = request.gap_query
        if not query and target:
            # Without an id, the gap is that of the last question, for any rating.
            asked, _ = _recall(state, target, agent, session, rated=False)
            query = reading.query(state.ledger, asked, agent)
        gap = gap_answers.reported(state.home.config.secrets, agent, session, request.gap, query)
        events.append(gap)
    state.ledger.append(events)
    return RatingResult(recall_id, tuple(judged), gap.subject if gap else None)


def log_use(state: State, memory: IndexedMemory, agent: str) -> list[Problem]:
    """Record that a memory was read in full. Returns the problem if it cannot be recorded.

    A read-only home counts no uses. That is not a problem.
    """
    if not state.writable:
        return []
    try:
        [vault] = state.home.named((memory.vault,))
        name = ledger_name(memory, vault)
        session = session_log.current(state, agent)
        data = {"agent": agent, "session": session, "title": memory.title, "hash": name.hash}
        event = Event("memory.opened", name.memory, data)
        state.ledger.append([event])
    except (DjinnError, OSError) as error:
        return [Problem("ledger", f"{error}; this use of the memory is not counted")]
    return []


def _recall(
    state: State, target: str, agent: str, session: str, *, rated: bool
) -> tuple[str, list[ShownMemory]]:
    """The id of a recall, and the memories in its answer.

    When memories are `rated`, the last recall is the last one with memories.
    """
    ledger = state.ledger_if_any
    if ledger is None:
        raise NotFound("there is no recall yet", _RECALL)
    asked = target if target != LAST and reading.query(ledger, target, agent) is not None else None
    if target == LAST:
        asked = reading.last_request(ledger, agent, session, shown=rated)
        asked = asked or reading.last_request(ledger, agent, shown=rated)
    shown = reading.shown(ledger, asked, agent) if asked else []
    names = {memory.memory for memory in shown}
    # A key does not open a recall that showed what the key hides.
    if asked and names == seen_names(state, agent, names):
        return asked, shown
    if target == LAST:
        raise NotFound(f"{agent} has no recall yet", _RECALL)
    remedy = Remedy("recall", {"query": None}, "start a new recall")
    raise NotFound(f"no recall {target!r} of {agent}; `last` is the most recent recall", remedy)


def _rated(
    state: State,
    vaults: Sequence[Vault],
    name: RankOrName,
    useful: bool,
    recall_id: str | None,
    shown: Sequence[ShownMemory],
) -> tuple[RatedMemory, str | None]:
    """The memory that a rank or name means, and the hash of its text if it has no id."""
    if isinstance(name, int):
        for memory in shown:
            if memory.rank == name:
                return RatedMemory(memory.memory, memory.title, memory.rank, useful), None
        raise UsageError(f"no rank {name} in {recall_id}; {_listed(shown)}")
    named = find_memory(state, name, vaults)
    known = ledger_name(named, state.home.named((named.vault,))[0])
    if recall_id is None:
        return RatedMemory(known.memory, named.title, None, useful), known.hash
    for memory in shown:
        if memory.memory in (known.memory, known.place):
            return RatedMemory(memory.memory, memory.title, memory.rank, useful), known.hash
    raise UsageError(f"{name} was not in {recall_id}; {_listed(shown)}")


def _listed(shown: Sequence[ShownMemory]) -> str:
    listed = (f"{memory.rank} {' '.join(memory.title.split())[:40]}" for memory in shown)
    return f"its ranks are: {', '.join(listed)}" if shown else "it returned no memories"
