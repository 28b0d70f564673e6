"""What a verb does when it meets a damaged database."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from djinn_memory.store.state import State


class Stateful(Protocol):
    """What works on a home's databases."""

    @property
    def _state(self) -> State: ...

    def _remake(self) -> None:
        """Make the index anew from the notes, and what can be had of the cache."""


S = TypeVar("S", bound=Stateful)
P = ParamSpec("P")
T = TypeVar("T")
Verb = Callable[Concatenate[S, P], T]


def recovers(verb: Verb[S, P, T]) -> Verb[S, P, T]:
    """Set a damaged index or cache aside, make it anew, and do it again."""
    return _again(verb, lambda self: self._remake())


def recovers_index(verb: Verb[S, P, T]) -> Verb[S, P, T]:
    """As `mending`, for the verb that itself makes it anew."""
    return _again(verb, lambda self: None)


def _again(verb: Verb[S, P, T], mend: Callable[[S], None]) -> Verb[S, P, T]:
    @wraps(verb)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._state.renew()
        try:
            return verb(self, *args, **kwargs)
        except store_errors() as error:
            # What is whole now was damaged when another process already mended it.
            if not (self._state.set_aside_damaged() or _tells_damage(error)):
                _raise(error, self._state)
        mend(self)
        try:
            return verb(self, *args, **kwargs)
        except store_errors() as error:
            if not _tells_damage(error):
                _raise(error, self._state)
            # No check sees it, and still it cannot be read.
            self._state.set_aside_damaged(index_too=True)
        mend(self)
        return verb(self, *args, **kwargs)

    return run


def store_errors() -> tuple[type[Exception], ...]:
    """What a damaged database raises. Not at the top: who only wants help loads no SQLite."""
    import apsw

    from djinn_memory.store.sqlite import DamagedDatabase

    return (apsw.Error, DamagedDatabase)


def _tells_damage(error: Exception) -> bool:
    import apsw

    from djinn_memory.store.sqlite import DamagedDatabase

    return isinstance(error, (DamagedDatabase, apsw.CorruptError, apsw.NotADBError))


def _raise(error: Exception, state: State) -> NoReturn:
    from djinn_memory.store.sqlite import explained

    with explained(state.home.index_path):
        raise error
