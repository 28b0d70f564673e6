"""The declaration of an operation, and the base of the namespaces that hold operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, update_wrapper, wraps
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    get_type_hints,
    overload,
)

from msgspec import Struct

from djinn_memory.home.home import Home
from djinn_memory.models import Filters, Vault
from djinn_memory.operations import Rights, Verb
from djinn_memory.operations.checks import check, field_types, unknown_fields
from djinn_memory.runtime import Runtime

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.store.state import State

P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
Q_contra = TypeVar("Q_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Namespace:
    """The operations on one noun, such as `djinn.facts`, of an opened home.

    A class is named after its attribute of `Djinn`: `class Facts(Namespace, name="facts")`.
    """

    name: ClassVar[str] = ""

    def __init_subclass__(cls, name: str = "") -> None:
        cls.name = name

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


N = TypeVar("N", bound=Namespace)


def recovers(
    method: Callable[Concatenate[N, P], R], *, rebuild: bool = True
) -> Callable[Concatenate[N, P], R]:
    """A decorator: if `method` meets a damaged index or cache, set it aside and repeat `method`.

    With `rebuild`, the index is rebuilt from the notes in between.
    """

    @wraps(method)
    def run(self: N, /, *args: P.args, **kwargs: P.kwargs) -> R:
        state = self.runtime.state
        state.renew()
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            state.repair(error)
        from djinn_memory.store.sqlite import explained

        if rebuild:
            self.runtime.rebuild_index()
        with explained(state.home.index_path):
            return method(self, *args, **kwargs)

    return run


class _BoundOperation(Protocol[P, Q_contra, R_co]):
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
        verb: Verb,
        *,
        patient: bool,
    ) -> None:
        self.method = method
        self.request = request
        self._run = run
        self.verb = verb
        self.patient = patient
        update_wrapper(cast(Any, self), method, ("__module__", "__name__", "__qualname__"))

    def __call__(self, namespace: Any, /, *args: Any, **kwargs: Any) -> R:
        given = len(args) == 1 and not kwargs and isinstance(args[0], self.request)
        if unknown := kwargs.keys() - field_types(self.request).keys():
            raise TypeError(f"{self.method.__name__}() {unknown_fields(self.request, unknown)}")
        request = args[0] if given else self.request(*args, **kwargs)
        # The agent of what only a person may do is whom it concerns.
        caller = getattr(request, "agent", None) if self.verb.rights == "agent" else None
        with namespace.runtime.busy(patient=self.patient, caller=caller):
            check(cast(Struct, request))
            _refuse_secrets(namespace.runtime.home, request)
            return self._run(namespace, request)

    @overload
    def __get__(self, namespace: None, owner: type) -> OperationMethod[P, Q, R]: ...
    @overload
    def __get__(self, namespace: object, owner: type) -> _BoundOperation[P, Q, R]: ...
    def __get__(self, namespace: object | None, owner: type) -> Any:
        return self if namespace is None else MethodType(self, namespace)

    @property
    def __signature__(self) -> inspect.Signature:
        own, hints = inspect.signature(self.method), get_type_hints(self.request)
        fields = inspect.signature(self.request).parameters.values()
        shown = [field.replace(annotation=hints[field.name]) for field in fields]
        answer = own.return_annotation.rpartition(".")[2]
        return own.replace(parameters=[own.parameters["self"], *shown], return_annotation=answer)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        types = field_types(self.request).items()
        lines = [f"{name}: {kind.description}" for name, kind in types]
        return "\n".join([inspect.getdoc(self.method) or "", "", *lines])


def operation(
    request: Callable[P, Q],
    *,
    writes: bool = False,
    logs: bool = False,
    removes: bool = False,
    rights: Rights = "agent",
    positional: tuple[str, ...] = (),
    embeds: tuple[str, ...] = (),
    recover: bool = True,
    rebuilds: bool = False,
    patient: bool = False,
) -> Callable[[Callable[[Any, Q], R]], OperationMethod[P, Q, R]]:
    """Make a method of a namespace an operation. `request` is the type of its request.

    `Verb` explains the flags. `python tools/verb_table.py` writes them into the table from which
    front ends are made. A damaged index is set aside and rebuilt, and the operation is repeated,
    unless `recover` is False. With `rebuilds`, the operation rebuilds the index itself. For
    `patient` see `Runtime.busy`.
    """
    verb = Verb(
        writes=writes,
        logs=logs,
        removes=removes,
        rights=rights,
        positional=positional,
        embeds=embeds,
    )

    def declare(method: Callable[[Any, Q], R]) -> OperationMethod[P, Q, R]:
        run = recovers(method, rebuild=not rebuilds) if recover else method
        return OperationMethod(method, request, run, verb, patient=patient)

    return declare


def _refuse_secrets(home: Home, request: object) -> None:
    """Raise `Refused` for a secret in a text of a request, unless its field is `UNGUARDED`."""
    given = [(name, getattr(request, name)) for name in _guarded(cast(Any, type(request)))]
    texts = [text for name, value in given if value for text in _named_texts(name, value)]
    if texts:
        from djinn_memory.secrets import guard

        allow, settings = getattr(request, "allow_secret", None), home.config.secrets
        for what, text in texts:
            guard(text, what=what, settings=settings, allow=bool(allow), option=allow is not None)


def _named_texts(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text in the value of a field, and its name in an error."""
    if isinstance(value, str):
        yield f"the {name}", value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield f"a key of {name}", str(key)
            yield from _named_texts(str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from ((name, part),) if isinstance(part, str) else _named_texts(name, part)


@cache
def _guarded(kind: type[Struct]) -> list[str]:
    """The fields whose texts are refused if they look like secrets."""
    types = field_types(kind).items()
    return [name for name, kind in types if kind.extra("guarded") is None and not kind.words]
