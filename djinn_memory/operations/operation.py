"""The declaration of an operation, and the base of the namespaces that hold operations."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, update_wrapper
from pathlib import PurePath
from types import MethodType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
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

from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.models import Filters, Vault
from djinn_memory.operations import Rights, Verb
from djinn_memory.runtime import Runtime
from djinn_memory.store.recovery import recovers

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
        verb: Verb,
        *,
        patient: bool,
    ) -> None:
        self.method = method
        self.request = request
        self.run = run
        self.verb = verb
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
            for name, hint in _field_hints(self.request).items()
            for meta in _hint_parts(hint, Meta)
            if meta.description
        ]
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
    patient: bool = False,
) -> Callable[[Callable[[Any, Q], R]], OperationMethod[P, Q, R]]:
    """Make a method of a namespace an operation. `request` is the type of its request.

    `Verb` explains the flags. `python tools/verb_table.py` writes them into the table from which
    front ends are made. A damaged index is set aside and rebuilt, and the operation is repeated,
    unless `recover` is False. For `patient` see `Runtime.busy`.
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
        guarded = recovers(method) if recover else method

        def run(namespace: Any, request: Q) -> R:
            _check_bounds(request)
            _refuse_secrets(namespace.runtime.home, request)
            return guarded(namespace, request)

        return OperationMethod(method, request, run, verb, patient=patient)

    return declare


def _check_bounds(request: object) -> None:
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


def _field_hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _limited(kind: type) -> list[tuple[str, list[Any], list[Meta]]]:
    """The fields with declared limits: name, allowed words, bounds."""
    hints = _field_hints(kind).items()
    limits = ((name, _hint_parts(hint, Literal), _hint_parts(hint, Meta)) for name, hint in hints)
    return [
        (name, [word for choices in literals for word in get_args(choices)], metas)
        for name, literals, metas in limits
        if literals or metas
    ]


@cache
def _guarded(kind: type) -> list[str]:
    """The fields whose texts are refused if they look like secrets."""
    hints = _field_hints(kind).items()
    return [name for name, hint in hints if not (_unguarded(hint) or _hint_parts(hint, Literal))]


def _unguarded(hint: Any) -> bool:
    marked = isinstance(hint, Meta) and (hint.extra or {}).get("guarded") is False
    return marked or any(map(_unguarded, get_args(hint)))


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


def _hint_parts(hint: Any, kind: Any) -> list[Any]:
    """The parts of a type that are `Literal`, or the `Meta` with bounds."""
    if get_origin(hint) is kind or (isinstance(hint, Meta) and kind is Meta):
        return [hint]
    if get_origin(hint) in (Annotated, Union, UnionType):
        return [inner for part in get_args(hint) for inner in _hint_parts(part, kind)]
    return []
