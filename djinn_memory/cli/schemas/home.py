"""What `djinn init`, `index`, `status` and `trust` print with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.home.trust import Endpoint
from djinn_memory.models import IndexReport, Problem
from djinn_memory.upkeep import status


class Init(Struct, tag="djinn.init/1", tag_field="schema", forbid_unknown_fields=True):
    """A home that is whole now."""

    home: Path
    """Its folder."""
    made: Sequence[str]
    """What was not there before: files and folders, relative to the home."""
    problems: Sequence[Problem] = ()


class Index(
    IndexReport, frozen=True, tag="djinn.index/1", tag_field="schema", forbid_unknown_fields=True
):
    """What an index run did."""


class IndexBackground(
    Struct, tag="djinn.index.background/1", tag_field="schema", forbid_unknown_fields=True
):
    """An index run that goes on by itself: what `djinn index --background` prints."""

    process: int
    """The id of its process."""
    log: Path
    """The file that its messages go to."""
    problems: Sequence[Problem] = ()


class Status(
    status.HomeStatus,
    frozen=True,
    tag="djinn.status/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """A home at a glance."""


class Trust(Struct, tag="djinn.trust/1", tag_field="schema", forbid_unknown_fields=True):
    """What the home may reach."""

    home: Path
    """Its folder."""
    trusted: Sequence[Endpoint]
    """What it may reach."""
    waiting: Sequence[Endpoint]
    """What its settings name and it may not reach."""
    problems: Sequence[Problem] = ()
