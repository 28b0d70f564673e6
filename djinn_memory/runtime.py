"""An opened home: its databases, models and clock, and the base of its operations."""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import cache, cached_property, update_wrapper
from pathlib import PurePath
from types import MethodType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from msgspec import Meta

from djinn_memory.errors import Remedy, UsageError
from djinn_memory.home.home import Home
from djinn_memory.models import Filters, Problem, Progress, ProgressCallback, Vault, silent
from djinn_memory.store.busy import ANSWER_SECONDS, within
from djinn_memory.store.recovery import recovers
from djinn_memory.system.plural import count
from djinn_memory.system.waits import RUN_SECONDS, WRITE_SECONDS, WaitBudget, limited

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.store.index.local.sqlite_index import SqliteIndex
    from djinn_memory.store.index.vectors import VectorSpace
    from djinn_memory.store.postgres.index.opening import ServerIndexes
    from djinn_memory.store.postgres.index.postgres_index import PostgresIndex
    from djinn_memory.store.state import State

P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
Q_contra = TypeVar("Q_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


def utc_now() -> datetime:
    """The default clock of a home: the current time in UTC."""
    return datetime.now(UTC)


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
        self.now = clock
        self.read_only = read_only
        """Whether nothing may be written."""
        self.client: str | None = None
        """The program that calls, which new memories name; None for a person."""
        self.intake: Callable[[Runtime, str | None], None] | None = None
        """Takes in what was recorded elsewhere, before an agent reads memories. It reports failures
        as `problems`."""
        self.recovery: Callable[[Runtime], None] | None = None
        """Takes back changes of notes that were interrupted, before the notes are read."""
        self._flags = {"resident": resident, "read_only": read_only}
        self._lock = threading.RLock()

    @contextmanager
    def busy(self, *, patient: bool = False) -> Iterator[None]:
        """Lock out other threads, because a home's databases serve one thread at a time.

        Work waits only a few seconds for other processes. `patient` work waits longer. The reason
        for a long wait goes to `progress`. Work may be nested. Raises `RuntimeError` in a second
        thread.
        """
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "this Djinn is in use in another thread; open one Djinn for each thread"
            )
        try:
            budget = WaitBudget(RUN_SECONDS if patient else WRITE_SECONDS, self._report_wait)
            with limited(budget), nullcontext() if patient else within(ANSWER_SECONDS):
                yield
        finally:
            self._lock.release()

    def _report_wait(self, text: str) -> None:
        self.progress(Progress("wait", 0, None, text))

    @cached_property
    def problems(self) -> list[Problem]:
        """Problems of the home. Search and index results also list problems of their own."""
        path = str(self.home.config_path)
        problems = [
            Problem(path, f"{endpoint} is ignored until you {Remedy('trust')}")
            for endpoint in self.home.untrusted
        ]
        if self.home.relaxes:
            remedy = Remedy("config.set", {"user": True}, "set it there")
            why = f"secrets.allow is only read from your own settings; {remedy}"
            problems.append(Problem(path, why))
        return problems

    @cached_property
    def models(self) -> ModelRegistry:
        """The embedder and the reranker of this home."""
        from djinn_memory.embedding.registry import ModelRegistry

        return ModelRegistry(self.home, self.progress)

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
        with self._server_indexes.reading(vaults, self.models.recipe) as index:
            yield index

    def server_space(self, vaults: Sequence[Vault]) -> VectorSpace | None:
        """The vectors of some vaults on the home's server, as far as an earlier search knows."""
        return self._server_indexes.space(vaults, self.models.recipe)

    def other_server_vaults(self) -> list[Vault]:
        """The vaults on the home's server that this home does not have."""
        return self._server_indexes.other_vaults()

    @cached_property
    def _server_indexes(self) -> ServerIndexes:
        from djinn_memory.store.postgres.index.opening import ServerIndexes

        return ServerIndexes(self.home)

    def close(self) -> None:
        """Close the files of the home. The next call opens them again."""
        if "_server_indexes" in self.__dict__:
            self._server_indexes.close()
        # With broken settings nothing was opened, and asking for the state would raise.
        if "state" in self.__dict__:
            self.state.close()

    def rebuild_index(self) -> None:
        """Rebuild the index from the notes. Vectors come from the cache if possible."""
        from djinn_memory.indexing.refresh import rebuild_index

        with self.busy(patient=True):
            rebuild_index(self.state, self.models, self.progress)

    def take_in(self, agent: str | None) -> None:
        """Take in what was recorded elsewhere, if there is anything, before `agent` reads."""
        if self.intake:
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


class Namespace:
    """The operations on one noun, such as `djinn.facts`, of an opened home."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    @property
    def _state(self) -> State:
        return self.runtime.state

    @property
    def _models(self) -> ModelRegistry:
        return self.runtime.models

    def _scope(self, agent: str | None, filters: Filters | None = None) -> tuple[Vault, ...]:
        return self.runtime.fresh_scope(agent, filters)

    def _remake(self) -> None:
        self.runtime.rebuild_index()


class BoundOperation(Protocol[P, Q_contra, R_co]):
    """An operation of an opened home. Call it with its request, or with the request's fields."""

    @overload
    def __call__(self, request: Q_contra, /) -> R_co: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class OperationMethod(Generic[P, Q, R]):
    """A method that takes one request struct and returns one answer struct.

    Python callers may pass the fields of the request instead. Its signature and help list them.
    """

    def __init__(
        self,
        method: Callable[[Any, Q], R],
        request: Any,
        run: Callable[[Any, Q], R],
        *,
        patient: bool,
    ) -> None:
        self.method = method
        self.request = request
        self.run = run
        self.patient = patient
        update_wrapper(cast(Any, self), method, ("__module__", "__name__", "__qualname__"))

    def __call__(self, namespace: Any, /, *args: Any, **kwargs: Any) -> R:
        given = len(args) == 1 and not kwargs and isinstance(args[0], self.request)
        request = args[0] if given else self.request(*args, **kwargs)
        with namespace.runtime.busy(patient=self.patient):
            return self.run(namespace, request)

    @overload
    def __get__(self, namespace: None, owner: type) -> OperationMethod[P, Q, R]: ...
    @overload
    def __get__(self, namespace: object, owner: type) -> BoundOperation[P, Q, R]: ...
    def __get__(self, namespace: object | None, owner: type) -> Any:
        return self if namespace is None else MethodType(self, namespace)

    @property
    def __signature__(self) -> inspect.Signature:
        own, hints = inspect.signature(self.method), get_type_hints(self.request)
        fields = inspect.signature(self.request).parameters.values()
        shown = [field.replace(annotation=hints[field.name]) for field in fields]
        return own.replace(parameters=[own.parameters["self"], *shown])

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        lines = [
            f"{name}: {meta.description}"
            for name, hint in _hints(self.request).items()
            for meta in _parts(hint, Meta)
            if meta.description
        ]
        return "\n".join([inspect.getdoc(self.method) or "", "", *lines])


def operation(
    request: Callable[P, Q], *, recover: bool = True, patient: bool = False
) -> Callable[[Callable[[Any, Q], R]], OperationMethod[P, Q, R]]:
    """Make a method of a namespace an operation. `request` is the type of its request.

    A damaged index is set aside and rebuilt, and the operation is repeated, unless `recover` is
    False. For `patient` see `Runtime.busy`. `djinn_memory.operations` lists every operation with
    its flags.
    """

    def declare(method: Callable[[Any, Q], R]) -> OperationMethod[P, Q, R]:
        guarded = recovers(method) if recover else method

        def run(namespace: Any, request: Q) -> R:
            check_bounds(request)
            return guarded(namespace, request)

        return OperationMethod(method, request, run, patient=patient)

    return declare


def check_bounds(request: object) -> None:
    """Raise `UsageError` for a value outside the bounds or choices declared for its field.

    One text where a field takes several is refused too: Python would read it letter by letter. So
    is None where a value is needed.
    """
    for name in _needed(cast(Any, type(request))):
        if getattr(request, name) is None:
            raise UsageError("None: give a value", argument=name)
    for name in _lists(cast(Any, type(request))):
        value = getattr(request, name)
        if isinstance(value, str | bytes | PurePath):
            shown = repr(str(value) if isinstance(value, PurePath) else value)[:60]
            raise UsageError(f"{shown}: give a list, even for a single value", argument=name)
    for name in _texts(cast(Any, type(request))):
        value = getattr(request, name)
        if isinstance(value, int | float | bytes | list | tuple | dict):
            raise UsageError(f"{value!r:.60}: give a text", argument=name)
    for name, allowed, metas in _limited(cast(Any, type(request))):
        value = getattr(request, name)
        if allowed and isinstance(value, str) and value not in allowed:
            choices = ", ".join(map(str, allowed))
            raise UsageError(f"{value[:40]!r}: give one of {choices}", argument=name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        for meta in metas:
            least = -math.inf if meta.ge is None else meta.ge
            most = math.inf if meta.le is None else meta.le
            if not least <= value <= most:
                bounds = f"a number from {least:,} to {most:,}"
                bounds = f"at least {least:,}" if most == math.inf else bounds
                remedy = (meta.extra or {}).get("remedy")
                bounds = f"{bounds}; {remedy}" if remedy else bounds
                raise UsageError(f"{value}: give {bounds}", argument=name)


def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _limited(kind: type) -> list[tuple[str, list[Any], list[Meta]]]:
    """The fields with declared limits: name, allowed words, bounds."""
    hints = _hints(kind).items()
    limits = ((name, _parts(hint, Literal), _parts(hint, Meta)) for name, hint in hints)
    return [
        (name, [word for choices in literals for word in get_args(choices)], metas)
        for name, literals, metas in limits
        if literals or metas
    ]


@cache
def _needed(kind: type) -> list[str]:
    """The fields that cannot be None."""
    hints = get_type_hints(kind).items()
    return [name for name, hint in hints if hint is not Any and NoneType not in get_args(hint)]


@cache
def _texts(kind: type) -> list[str]:
    """The fields that take one text."""
    hints = get_type_hints(kind).items()
    return [name for name, hint in hints if hint is str or {*get_args(hint)} == {str, NoneType}]


@cache
def _lists(kind: type) -> list[str]:
    """The fields that take several values."""
    return [name for name, hint in get_type_hints(kind).items() if _is_list(hint)]


def _is_list(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return str not in get_args(hint) and any(map(_is_list, get_args(hint)))
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Sequence)


def _parts(hint: Any, kind: Any) -> list[Any]:
    """The parts of a type that are `Literal`, or the `Meta` with bounds."""
    if get_origin(hint) is kind or (isinstance(hint, Meta) and kind is Meta):
        return [hint]
    if get_origin(hint) in (Annotated, Union, UnionType):
        return [inner for part in get_args(hint) for inner in _parts(part, kind)]
    return []
