"""What can go wrong for a user: each error has an exit code and ends in a remedy."""

from __future__ import annotations

from pathlib import Path


class DjinnError(Exception):
    """A failure that the user can act on; its text is one line that says what to do."""

    exit_code = 1


class UsageError(DjinnError):
    """A wrong option, argument or query."""

    exit_code = 2


class ConfigError(UsageError):
    """A config file or an environment override that does not fit the config's model."""


class Refused(DjinnError):
    """Done as asked, it would overwrite, duplicate, leak or conflict."""

    exit_code = 3


class OutsideVault(Refused):
    """A path that leads out of its vault."""


class Changed(Refused):
    """A file that somebody saved since it was read."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed meanwhile and stays as it is now; do it again")


class NotFound(DjinnError):
    """No such home, note, agent, vault or document."""

    exit_code = 4


class Unavailable(DjinnError):
    """Something needed cannot be had now: a model, a lock, the disk."""

    exit_code = 5


class Busy(Unavailable):
    """Another process holds a lock."""


class IndexMissing(Unavailable):
    """There is no index to answer from, and none can be made here."""
