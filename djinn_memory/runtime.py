"""An opened home: its databases, models and clock, and the base of its operations."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from djinn_memory.errors import Remedy
from djinn_memory.home.access import limited_by
from djinn_memory.home.home import Home
from djinn_memory.models import Filters, Problem, Progress, ProgressCallback, Vault, silent
from djinn_memory.store.busy import ANSWER_SECONDS, within
from djinn_memory.system.plural import count
from djinn_memory.system.waits import RUN_SECONDS, WRITE_SECONDS, WaitBudget, limited

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.store.index.local.sqlite_index import SqliteIndex
    from djinn_memory.store.postgres.index.postgres_index import PostgresIndex, ServerIndexes
    from djinn_memory.store.state import State


def utc_now() -> datetime:
    """The default clock of a home: the current time in UTC."""
    return datetime.now(UTC)


Announce: TypeAlias = Callable[[str, Mapping[str, Any], str], None]
"""Tells programs that listen of an event: its kind, its data, and the agent that it is for."""


def unheard(kind: str, data: Mapping[str, Any], agent: str) -> None:
    """Tell nobody."""


class Runtime:
    """One opened home. Creation is cheap: files, models and databases open on first use."""

    def __init__(
        self,
        home: Home,
        progress: ProgressCallback = silent,
        *,
        resident: bool = False,
        read_only: bool = False,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`resident` is for a process that answers many questions; see `State` for both flags."""
        self.home = home
        self.progress = progress
        self.announce: Announce = unheard
        self.now = clock
        self.read_only = read_only
        """Whether nothing may be written."""
        self.client: str | None = None
        """The program that calls, which new memories name; None for a person."""
        self.intake: Callable[[Runtime, str | None], None] | None = None
        """Records the entries that hooks have added, before an agent reads memories. It reports
        failures as `problems`."""
        self.recovery: Callable[[Runtime], None] | None = None
        """Takes back changes of notes that were interrupted, before the notes are read."""
        self._flags = {"resident": resident, "read_only": read_only}
        self._lock = threading.RLock()
        self._callers: list[str | None] = []

    @property
    def caller(self) -> str | None:
        """The agent on whose word the outermost running operation was called; None for a person."""
        return self._callers[0] if self._callers else None

    @contextmanager
    def busy(self, *, patient: bool = False, caller: str | None = None) -> Iterator[None]:
        """Lock out other threads, because a home's databases serve one thread at a time.

        Work waits only a few seconds for other processes. `patient` work waits longer. The reason
        for a long wait goes to `progress`. Work may be nested. Raises `RuntimeError` in a second
        thread.
        """
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "this Djinn is in use in another thread; open one Djinn for each thread"
            )
        self._callers.append(caller)
        try:
            budget = WaitBudget(RUN_SECONDS if patient else WRITE_SECONDS, self._report_wait)
            with limited(budget), nullcontext() if patient else within(ANSWER_SECONDS):
                yield
        finally:
            self._callers.pop()
            self._lock.release()

    def _report_wait(self, text: str) -> None:
        self.progress(Progress("wait", 0, None, text))

    @cached_property
    def problems(self) -> list[Problem]:
        """Problems of the home. Search and index results also list problems of their own."""
        return self._problems_of_settings()

    def begin_call(self, client: str | None, announce: Announce) -> None:
        """Drop the problems of earlier calls, which would add up in a process that answers many."""
        self.announce = announce
        self.problems[:] = self._problems_of_settings()
        self.client = client

    def _problems_of_settings(self) -> list[Problem]:
        path = str(self.home.config_path)
        problems = [
            Problem(path, f"{endpoint} is ignored until you {Remedy('config.trust')}")
            for endpoint in self.home.untrusted
        ]
        if self.home.relaxes:
            remedy = Remedy(
                "config.set", {"key": None, "value": None, "user": True}, "set it there"
            )
            why = f"secrets.allow is only read from your own settings; {remedy}"
            problems.append(Problem(path, why))
        return problems

    @cached_property
    def models(self) -> ModelRegistry:
        """The embedder and the reranker of this home."""
        from djinn_memory.embedding.registry import ModelRegistry

        # A process that runs many commands replaces `progress`. The models must not keep this
        # object, whose databases close when nothing uses it.
        runtime = weakref.proxy(self)
        return ModelRegistry(self.home, lambda progress: runtime.progress(progress))

    @cached_property
    def state(self) -> State:
        """The databases and locks of this home."""
        from djinn_memory.store.state import State

        return State(self.home, self.problems, **self._flags)

    def index(self, vaults: Sequence[Vault]) -> AbstractContextManager[SqliteIndex]:
        """A context with a consistent snapshot of the index of some vaults."""
        return self.state.reading(vaults)

    @contextmanager
    def server_index(self, vaults: Sequence[Vault]) -> Iterator[PostgresIndex]:
        """A context with a consistent snapshot of some vaults' index on the home's server."""
        with self.server_indexes.reading(vaults, self.models.recipe) as index:
            yield index

    @cached_property
    def server_indexes(self) -> ServerIndexes:
        """The indexes of vaults on the home's server."""
        from djinn_memory.store.postgres.index.postgres_index import ServerIndexes

        return ServerIndexes(self.home)

    def close(self) -> None:
        """Close the files of the home. The next call opens them again."""
        if "server_indexes" in self.__dict__:
            self.server_indexes.close()
        # With broken settings nothing was opened, and asking for the state would raise.
        if "state" in self.__dict__:
            self.state.close()

    def rebuild_index(self) -> None:
        """Rebuild the index from the notes. Vectors come from the cache if possible."""
        from djinn_memory.indexing.refresh import rebuild_index

        with self.busy(patient=True):
            rebuild_index(self.state, self.models, self.progress)

    def take_in(self, agent: str | None) -> None:
        """Record the entries that hooks have added, before `agent` reads."""
        if self.intake:
            # Hooks record into vaults that the key of the running call may not open.
            with limited_by(None):
                self.intake(self, agent)

    def recover_changes(self) -> None:
        """Take back changes of notes that were interrupted, before the notes are read."""
        if self.recovery:
            self.recovery(self)

    def fresh_scope(self, agent: str | None, filters: Filters | None = None) -> tuple[Vault, ...]:
        """Index changed notes, within the limits of a sweep. Returns the vaults `agent` sees."""
        name = self.home.agent(agent)
        if filters:
            self.home.check_domains(filters.domains, name)
        self.take_in(agent)
        vaults = self.home.scope(name, filters.vaults if filters else ())
        self.refresh(vaults)
        return vaults

    def refresh(self, vaults: Sequence[Vault]) -> None:
        """Index changed notes of some vaults, within the limits of a sweep."""
        from djinn_memory.indexing.refresh import SWEEP, resolve_pending_links, sweep

        self.recover_changes()
        pending, problems = sweep(self.state, vaults)
        if pending:
            why = f"{count(pending, 'changed note')} not indexed yet; {Remedy('index')}"
            problems = [*problems, Problem(SWEEP, why)]
        # A command that sweeps twice would report the same problem twice.
        self.problems += [problem for problem in problems if problem not in self.problems]
        resolve_pending_links(self.state)
