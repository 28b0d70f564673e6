"""What several tools answer with, as small as a model can use it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from msgspec import Struct

from djinn_memory.models import Memory, Problem


class MemoryPlace(Struct, kw_only=True):
    """A memory, and where it is."""

    id: str | None = None
    """`mem_` and 16 characters; a note that has none is named by `vault:path`."""
    type: str | None = None
    title: str
    vault: str
    path: str
    date: str
    tags: Sequence[str] = ()


def place(memory: Memory) -> MemoryPlace:
    """A memory as every list tells it."""
    return MemoryPlace(
        id=memory.id,
        type=memory.type,
        title=memory.title,
        vault=memory.vault,
        path=memory.path,
        date=memory.date,
        tags=memory.tags,
    )


def name(one: MemoryPlace) -> str:
    """What names a memory without doubt in another call."""
    return one.id or f"{one.vault}:{one.path}"


def headline(one: MemoryPlace) -> str:
    """A memory on one line."""
    said = [one.type or "note", one.date[:10], *(f"#{tag}" for tag in one.tags[:8])]
    return f"{one.title} ({', '.join(said)}) [{name(one)}]"


def told(problems: Iterable[Problem]) -> list[str]:
    """A line for each thing that went wrong beside the answer."""
    return [f"Note: {one.what}: {one.why}" for one in problems]


def uri(vault: str, path: str) -> str:
    """The address of a note as a resource."""
    return f"djinn://{quote(vault)}/{quote(path)}"
