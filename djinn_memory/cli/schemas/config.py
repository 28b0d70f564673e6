"""What `djinn config` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from djinn_memory.home.settings import Config
from djinn_memory.models import Problem


class ConfigShow(Struct, tag="djinn.config.show/1", tag_field="schema", forbid_unknown_fields=True):
    """All settings as they hold now."""

    config: Config
    """Defaults, the user's settings, the home's and the environment's, merged."""
    problems: Sequence[Problem] = ()


class ConfigGet(Struct, tag="djinn.config.get/1", tag_field="schema", forbid_unknown_fields=True):
    """One setting, or one section."""

    key: str
    """The dotted key, as it was given."""
    value: Any
    """What holds now, of the type that docs/config.md gives the key."""
    problems: Sequence[Problem] = ()


class ConfigSet(Struct, tag="djinn.config.set/1", tag_field="schema", forbid_unknown_fields=True):
    """A setting that was changed."""

    key: str
    """The dotted key, as it was given."""
    value: Any
    """What the file says now, or the default where it says nothing."""
    problems: Sequence[Problem] = ()


class ConfigPath(Struct, tag="djinn.config.path/1", tag_field="schema", forbid_unknown_fields=True):
    """Where the settings are."""

    path: Path
    """The file, which need not be there for `--user`."""
    problems: Sequence[Problem] = ()
