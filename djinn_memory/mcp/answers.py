"""Parts that the answers of several tools share, kept small for a model."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from msgspec import Struct

from djinn_memory.models import MemoryRef, Problem
from djinn_memory.notes.dates import local_day


class Answer(Struct, kw_only=True):
    """The fields of every answer."""

    problems: Sequence[Problem] = ()


class MemoryPlace(Struct, kw_only=True):
    """A memory and its location."""

    id: str | None = None
    """`mem_` and 16 characters. `vault:path` names a note without an id."""
    type: str | None = None
    title: str
    vault: str
    path: str
    file: str = ""
    """The absolute path of its file."""
    date: str
    tags: Sequence[str] = ()
    holds: str | None = None
    """Its period, such as `until 3 May 2026`."""
    domain: str | None = None
    """Its domain, such as `work`; several are separated by commas."""


def headline(memory: MemoryPlace) -> str:
    """A memory on one line, with a name that is unambiguous in another call."""
    about = [memory.type or "note", local_day(memory.date) or "undated"]
    about += [f"#{tag}" for tag in memory.tags[:8]]
    about += [memory.holds] if memory.holds else []
    about += [f"domain {memory.domain}"] if memory.domain else []
    name = memory.id or f"{memory.vault}:{memory.path}"
    return f"{memory.title} ({', '.join(about)}) [{name}]"


def uri(memory: MemoryRef) -> str:
    """The address of a memory as a resource."""
    vault, _, rest = memory.address.partition(":")
    return f"djinn://{quote(vault)}/{quote(rest)}"
