"""What `djinn watch` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.models import Problem
from djinn_memory.watch.heard import Kind


class WatchNotice(Struct, tag="djinn.watch/1", tag_field="schema", forbid_unknown_fields=True):
    """One thing that happened, on a line of its own."""

    at: str
    """When, in the local time."""
    kind: Kind
    """`idle`: all that is known of is searchable."""
    text: str
    """One line for a person."""
    problems: Sequence[Problem] = ()


class WatchInstall(
    Struct, tag="djinn.watch.service/1", tag_field="schema", forbid_unknown_fields=True
):
    """A service that was installed: what `djinn watch --install-service` prints."""

    path: Path
    """The file that describes it."""
    start: str
    """The command that starts it, now and at each login."""
    stop: str
    """The command that ends it for good."""
    problems: Sequence[Problem] = ()
