"""What the answers of several tools share, kept small for a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Struct

from djinn_memory.models import Problem


class MemoryPlace(Struct, kw_only=True):
    """A memory and its place."""

    id: str | None = None
    """`mem_` and 16 characters. A note without an id is named by `vault:path`."""
    type: str | None = None
    title: str
    vault: str
    path: str
    date: str
    tags: Sequence[str] = ()


P = TypeVar("P", bound=MemoryPlace)


def place(memory: Any, kind: type[P], **more: Any) -> P:
    """A memory as an answer shows it, with `more` fields of a certain kind."""
    shared = {name: getattr(memory, name) for name in MemoryPlace.__struct_fields__}
    return kind(**shared, **more)


def name(memory: MemoryPlace) -> str:
    """The name of a memory that is unambiguous in another call."""
    return memory.id or f"{memory.vault}:{memory.path}"


def headline(memory: MemoryPlace) -> str:
    """A memory on one line."""
    about = [memory.type or "note", memory.date[:10], *(f"#{tag}" for tag in memory.tags[:8])]
    return f"{memory.title} ({', '.join(about)}) [{name(memory)}]"


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """A line for each problem."""
    return [f"Note: {problem.what}: {problem.why}" for problem in problems]


def uri(vault: str, path: str) -> str:
    """The address of a note as a resource."""
    return f"djinn://{quote(vault)}/{quote(path)}"
