"""A watch that runs beside the test, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from queue import SimpleQueue

import apsw
import pytest

from djinn_memory.home.home import Home
from djinn_memory.store.sqlite import peek
from djinn_memory.upkeep.jobs.job import Job
from djinn_memory.watch.follow import follow
from djinn_memory.watch.heard import Heard, Notice, StopWatch

BOUND = 30.0
"""Seconds after which something is taken to happen never."""


class Watching:
    """A watch of `home`, and what it has said."""

    def __init__(self, home: Home, *names: str, jobs: Sequence[Job] = ()) -> None:
        self.home = home
        self._index_path = home.index_path
        self.said: list[Notice] = []
        self.heard: Heard = SimpleQueue()
        self.error: BaseException | None = None
        self._names = names
        self._jobs = jobs
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            # As in a process of its own: nothing is shared with the test but the files.
            follow(Home(self.home.root), self._names, self.said.append, self.heard, jobs=self._jobs)
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        self.heard.put(StopWatch())
        self._thread.join(BOUND)
        assert not self._thread.is_alive()

    def of(self, kind: str) -> list[str]:
        return [notice.text for notice in self.said if notice.kind == kind]

    def until(self, happened: Callable[[], object]) -> None:
        """Wait until something is true."""
        end = time.monotonic() + BOUND
        while not happened():
            assert self.error is None, self.error
            assert time.monotonic() < end, self.said[-20:]
            time.sleep(0.01)

    def until_idle(self) -> None:
        """Wait until all that is known of is done."""
        self.until(lambda: self.said and self.said[-1].kind == "idle")

    def notes(self) -> dict[str, str]:
        """The text of each note in the index that has all its vectors, by its path."""
        return {path: text for path, (text, lacking) in self._notes().items() if not lacking}

    def words(self) -> dict[str, str]:
        """The text of each note in the index, by its path."""
        return {path: text for path, (text, _) in self._notes().items()}

    def _notes(self) -> dict[str, tuple[str, int]]:
        with suppress(apsw.Error), closing(peek(self._index_path)) as connection:
            return {
                path: (text, lacking)
                for path, text, lacking in connection.execute(
                    "select path, group_concat(text), "
                    "(select count(*) from window where chunk_id = chunk.id and not embedded) "
                    "from note join memory on memory.note_id = note.id "
                    "join chunk on chunk.memory_id = memory.id group by note.id"
                )
            }
        return {}

    def has(self, path: str, text: str) -> bool:
        """Whether a note is searchable with this text."""
        return text in self.notes().get(path, "")


@pytest.fixture
def watching(home: Home) -> Iterator[Watching]:
    """The home is watched and up to date."""
    with watched(home) as one:
        yield one


@contextmanager
def watched(home: Home, *names: str, jobs: Sequence[Job] = ()) -> Iterator[Watching]:
    """A watch that has all checks ran; it is stopped in the end."""
    one = Watching(home, *names, jobs=jobs)
    try:
        # A job that is due speaks after the first idle, and nothing speaks after it.
        one.until(lambda: one.of("idle"))
        yield one
    finally:
        one.stop()
    assert one.error is None
