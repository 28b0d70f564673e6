"""What a verb does when it meets a damaged database."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from djinn_memory.store.state import State


class Stateful(Protocol):
    """What works on a home's databases."""

    @property
    def _state(self) -> State: ...


S = TypeVar("S", bound=Stateful)
P = ParamSpec("P")
T = TypeVar("T")


def mending(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Set a damaged database aside and do it again: all that is in one can be made anew."""

    @wraps(verb)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return verb(self, *args, **kwargs)
        except store_errors():
            if not self._state.set_aside_damaged():
                raise
        return verb(self, *args, **kwargs)

    return run


def store_errors() -> tuple[type[Exception], ...]:
    """What a damaged database raises. Not at the top: who only wants help loads no SQLite."""
    import apsw

    from djinn_memory.store.sqlite import Broken

    return (apsw.Error, Broken)
