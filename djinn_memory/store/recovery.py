"""Repairs a damaged database while an operation runs, then runs the operation again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from traceback import walk_tb
from typing import TYPE_CHECKING, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

from djinn_memory.errors import DjinnError

if TYPE_CHECKING:
    from djinn_memory.store.state import State


class _Stateful(Protocol):
    """An object that works on a home's databases."""

    @property
    def _state(self) -> State: ...

    def _remake(self) -> None:
        """Rebuild the index from the notes, and recover the readable part of the vector cache."""


S = TypeVar("S", bound=_Stateful)
P = ParamSpec("P")
T = TypeVar("T")
Verb = Callable[Concatenate[S, P], T]


def recovers(verb: Verb[S, P, T]) -> Verb[S, P, T]:
    """A decorator: if `verb` meets a damaged index or cache, repair it and run `verb` again."""
    return _with_recovery(verb, lambda self: self._remake())


def recovers_index(verb: Verb[S, P, T]) -> Verb[S, P, T]:
    """As `recovers`, for a verb that rebuilds the index itself."""
    return _with_recovery(verb, lambda self: None)


def _with_recovery(verb: Verb[S, P, T], rebuild: Callable[[S], None]) -> Verb[S, P, T]:
    @wraps(verb)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._state.renew()
        try:
            return verb(self, *args, **kwargs)
        except Exception as error:
            if not set_aside(self._state, error):
                _raise(error, self._state)
        rebuild(self)
        try:
            return verb(self, *args, **kwargs)
        except store_errors() as error:
            _raise(error, self._state)

    return run


def set_aside(state: State, error: Exception) -> bool:
    """Set aside the index or cache if damage to it may have caused an error.

    Returns whether to try again, also when another process has rebuilt the index.
    """
    import apsw

    from djinn_memory.store.index import meta

    path = str(state.home.index_path)
    if isinstance(error, DjinnError | OSError | apsw.BusyError):
        damaged = isinstance(error, store_errors())
        return damaged and state.set_aside_damaged(suspected=error.args[0].startswith(path))
    unfitting = isinstance(error, apsw.ConstraintError)
    if isinstance(error, apsw.Error | UnicodeDecodeError) and not unfitting:
        certain = apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError
        return state.set_aside_damaged(suspected=isinstance(error, certain))
    # Rows that do not fit together may raise any error, of SQLite or of Python. So may a mistake in
    # djinn: for one and the same error the index is made anew only once.
    frames = walk_tb(error.__traceback__)
    # The frames of apsw, which is written in C, have no name.
    places = ((frame.f_globals.get("__name__", ""), line) for frame, line in frames)
    *_, place = (place for place in places if place[0].startswith("djinn_memory."))
    mark = f"{type(error).__name__} {place}"
    with suppress(*store_errors(), DjinnError):
        if not state.writable or meta.get(state.index, "remade") == mark:
            return False
    state.set_aside_damaged(suspected=True)
    meta.put(state.index, "remade", mark)
    return True


def store_errors() -> tuple[type[Exception], ...]:
    """The errors that a damaged database raises.

    Imported here, because `--help` needs no SQLite.
    """
    import apsw

    from djinn_memory.store.sqlite import DamagedDatabase

    # All text that djinn writes is UTF-8.
    return (apsw.Error, DamagedDatabase, UnicodeDecodeError)


def _raise(error: Exception, state: State) -> NoReturn:
    from djinn_memory.store.sqlite import explained

    with explained(state.home.index_path):
        raise error
