"""Puts the exchanges of exports into the order of time, without holding them in memory."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterator

from djinn_memory.memories.imports.messages import Exchange
from djinn_memory.system.scratch import Scratch


class Chronology:
    """Exchanges that were read, each with a number that says what it belongs to.

    The events of a calendar are in no order: recorded as they come, they would open each journal
    hundreds of times.
    """

    def __init__(self) -> None:
        self._scratch = Scratch()
        self._times, self._places = array("d"), array("q")

    def __len__(self) -> int:
        return len(self._times)

    @property
    def size(self) -> int:
        """The size of the exchanges in bytes."""
        return self._scratch.size

    def close(self) -> None:
        """Remove the exchanges."""
        self._scratch.close()

    def add(self, number: int, exchange: Exchange) -> None:
        """Add an exchange whose message has a time."""
        assert exchange.first.at is not None
        self._times.append(exchange.first.at.timestamp())
        data = pickle.dumps((number, exchange), pickle.HIGHEST_PROTOCOL)
        self._places.append(self._scratch.put(data))

    def take(self) -> Iterator[tuple[int, Exchange]]:
        """The exchanges in the order of their times. Afterwards there are none."""
        times, places = self._times, self._places
        self._times, self._places = array("d"), array("q")
        for position in sorted(range(len(times)), key=times.__getitem__):
            yield pickle.loads(self._scratch.get(places[position]))
        self._scratch.clear()
