"""The contradictions that upkeep has found, so that each is reported once.

The events are `contradiction.found` and `contradiction.gone`, each of an agent. A contradiction is
open from the first until it is gone or settled, and new again if it returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from djinn_memory.errors import DjinnError, Remedy, current_wording
from djinn_memory.memories.contradictions.requests import SETTLED, ListContradictions
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.state import State
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.contradictions.finder import Contradiction

FOUND = "contradiction.found"
GONE = "contradiction.gone"

MOST = 1_000
"""Maximum number of contradictions that are compared with those of the last run."""


def review(runtime: Runtime, agent: str, *, record: bool) -> list[Contradiction]:
    """The contradictions that an agent sees and that are new since the last review.

    With `record`, the next review does not return them again.
    """
    # `wake` needs only what the ledger says.
    from djinn_memory.memories.contradictions.verbs import Contradictions

    request = ListContradictions(limit=MOST, agent=agent)
    answer = Contradictions(runtime).list(request)
    known = _open(runtime.state, agent)
    present = {contradiction.id: contradiction for contradiction in answer.contradictions}
    new = [contradiction for key, contradiction in present.items() if key not in known]
    # What was not compared may still be there.
    whole = not answer.problems and answer.total <= MOST
    gone = [key for key in known if key not in present] if whole else []
    if record and (new or gone):
        data = {"agent": agent}
        events = [Event(FOUND, contradiction.id, data) for contradiction in new]
        runtime.state.ledger.append([*events, *(Event(GONE, key, data) for key in gone)])
    return new


def open_contradictions(runtime: Runtime, agent: str) -> Iterator[str]:
    """A sentence about the contradictions that the last review left open, if there are any."""
    try:
        number = len(_open(runtime.state, agent))
    except DjinnError:
        # Who recalls says that the ledger cannot be read.
        return
    if number:
        verb = "is" if number == 1 else "are"
        listing = current_wording().call(Remedy("contradictions.list"))
        yield f"{count(number, 'contradiction')} between memories {verb} open: {listing}."


def _open(state: State, agent: str) -> list[str]:
    ledger = state.ledger_if_any
    events = reading.agent_events(ledger, [FOUND, GONE, SETTLED], agent) if ledger else []
    last = {event.subject: event.kind for event in events}
    return [subject for subject, kind in last.items() if kind == FOUND]
