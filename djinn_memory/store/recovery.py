"""Repairs a damaged database under a running operation, then runs the operation again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from djinn_memory.store.state import State


class Stateful(Protocol):
    """An object that works on a home's databases."""

    @property
    def _state(self) -> State: ...

    def _remake(self) -> None:
        """Rebuild the index from the notes, and recover what is readable of the vector cache."""


S = TypeVar("S", bound=Stateful)
P = ParamSpec("P")
T = TypeVar("T")
Verb = Callable[Concatenate[S, P], T]


def recovers(verb: Verb[S, P, T]) -> Verb[S, P, T]:
    """When `verb` meets a damaged index or cache: set it aside, rebuild it, run `verb` again."""
    return _with_recovery(verb, lambda self: self._remake())


def recovers_index(verb: Verb[S, P, T]) -> Verb[S, P, T]:
    """As `recovers`, for the verb that itself rebuilds the index."""
    return _with_recovery(verb, lambda self: None)


def _with_recovery(verb: Verb[S, P, T], rebuild: Callable[[S], None]) -> Verb[S, P, T]:
    @wraps(verb)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._state.renew()
        try:
            return verb(self, *args, **kwargs)
        except store_errors() as error:
            # A database that is intact now may have been repaired by another process meanwhile.
            if not (self._state.set_aside_damaged() or _is_damage(error)):
                _raise(error, self._state)
        rebuild(self)
        try:
            return verb(self, *args, **kwargs)
        except store_errors() as error:
            if not _is_damage(error):
                _raise(error, self._state)
            # The damage escapes every check, and still the index cannot be read.
            self._state.set_aside_damaged(index_too=True)
        rebuild(self)
        return verb(self, *args, **kwargs)

    return run


def store_errors() -> tuple[type[Exception], ...]:
    """The errors of a damaged database. Imported here, because `--help` needs no SQLite."""
    import apsw

    from djinn_memory.store.sqlite import DamagedDatabase

    return (apsw.Error, DamagedDatabase)


def _is_damage(error: Exception) -> bool:
    import apsw

    from djinn_memory.store.sqlite import DamagedDatabase

    return isinstance(error, (DamagedDatabase, apsw.CorruptError, apsw.NotADBError))


def _raise(error: Exception, state: State) -> NoReturn:
    from djinn_memory.store.sqlite import explained

    with explained(state.home.index_path):
        raise error
