"""The errors that a user can act on.

    DjinnError            exit code 1
    ├── UsageError        2  a wrong option, argument or query
    │   └── ConfigError      settings that do not fit
    ├── Refused           3  would overwrite, duplicate, leak or conflict
    │   ├── OutsideVault     a path leads out of its vault
    │   └── Changed          the file was saved after it was read
    ├── NotFound          4  no such home, note, agent, vault or document
    ├── Interrupted     130  Ctrl-C at a question
    └── Unavailable       5  a model, a lock or the disk cannot be used now
        ├── Busy             another process holds the lock
        └── IndexMissing     no index, and none can be built here

An error carries its remedies as data: the operation to call, and with which arguments. Each front
end puts them in its own words, which it sets in `wording`. `str(error)` uses the words that hold
where it is called; these are Python's unless a front end set others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple


class Remedy(NamedTuple):
    """One way to resolve a failure."""

    operation: str = ""
    """The operation that helps, such as `gaps.list`; empty for the one that failed."""
    arguments: Mapping[str, object] = {}
    """Fields of its request. None stands for a value that the caller must choose."""
    purpose: str = ""
    """Its purpose, as an infinitive without `to`: `list the open gaps`. Without operation and
    arguments: an action outside of djinn, such as `start the server`."""

    def __str__(self) -> str:
        return current_wording().remedy(self) or ""


def install_extra(name: str) -> Remedy:
    """The remedy that installs an extra. djinn is installed from a clone."""
    import shlex

    command = f"{shlex.quote(sys.executable)} -m pip install '.[{name}]'"
    return Remedy(purpose=f"run {command} in a clone of djinn")


class Wording:
    """How messages write operations and arguments. This class writes all as calls in Python.

    `remedy` and `call` never name an operation that the front end does not offer: what one front
    end lacks, another offers, and its words are used.
    """

    verb = "call"
    """The verb before an operation."""
    referred_clause = "{}"
    """The clause for a remedy that only the other front end offers, around its clause."""
    referred_call = "{}"
    """The same for a call within a sentence."""

    def error(self, error: DjinnError) -> str:
        """The whole text of an error: the field at fault, the message, the remedies."""
        return "; ".join(filter(None, [self.statement(error), self.remedies(error)]))

    def statement(self, error: DjinnError) -> str:
        """The field at fault and the message, without the remedies."""
        where = f"{self.argument(error.argument)} " if error.argument else ""
        return f"{where}{error.message}"

    def remedies(self, error: DjinnError) -> str:
        """The remedies of an error as one clause; empty if it has none."""
        clauses = [clause for remedy in error.remedies if (clause := self.remedy(remedy))]
        if len(clauses) > 1:
            return f"{', '.join(clauses[:-1])}, or {clauses[-1]}"
        return "".join(clauses)

    def remedy(self, remedy: Remedy) -> str | None:
        """A remedy as a clause; None for arguments that the running operation lacks here."""
        if not remedy.operation and not remedy.arguments:
            return remedy.purpose
        if not self.offers(remedy):
            clause = self.other().remedy(remedy) if remedy.operation else None
            return clause and self.referred_clause.format(clause)
        verb = self.verb if remedy.operation else "pass"
        purpose = f" to {remedy.purpose}" if remedy.purpose else ""
        return f"{verb} {self.written(remedy)}{purpose}"

    def call(self, remedy: Remedy) -> str:
        """The operation of a remedy with its arguments, for use within a sentence."""
        if self.offers(remedy):
            return self.written(remedy)
        return self.referred_call.format(self.other().call(remedy))

    def argument(self, name: str) -> str:
        """The name of a request's field."""
        return name

    def offers(self, remedy: Remedy) -> bool:
        """Whether a caller can do this here."""
        return True

    def other(self) -> Wording:
        """The wording of the front end that offers what this one lacks."""
        return self

    def written(self, remedy: Remedy) -> str:
        """An operation that the front end offers, with its arguments, or only the arguments."""
        arguments = ", ".join(
            f"{name}={'...' if value is None else repr(value)}"
            for name, value in remedy.arguments.items()
        )
        return f"`{remedy.operation}({arguments})`" if remedy.operation else f"`{arguments}`"


wording: ContextVar[Wording | None] = ContextVar("wording", default=None)
"""The wording of the front end that is running in this thread or task."""

_default = Wording()


def set_default_wording(words: Wording) -> None:
    """Set the wording of callers without a front end."""
    global _default
    _default = words


def current_wording() -> Wording:
    """The wording of the front end that is running, or that of callers without one."""
    return wording.get() or _default


@contextmanager
def using_wording(words: Wording) -> Iterator[None]:
    """Write errors and remedies in the wording of a front end."""
    before = wording.set(words)
    try:
        yield
    finally:
        wording.reset(before)


class DjinnError(Exception):
    """A failure that the user can resolve. Its text is one line with a remedy."""

    exit_code = 1
    code = "failed"
    """The kind of failure, as one word for programs."""

    def __init__(self, message: str, *remedies: Remedy, argument: str | None = None) -> None:
        """`message` must not contain words of a front end.

        `argument` is the field of the request at fault. It precedes the message, which then begins
        with the value: `0: give 1 at least` becomes `--limit 0: give 1 at least`.
        """
        super().__init__(message, *remedies)
        self.message = message
        self.remedies = remedies
        self.argument = argument

    def __str__(self) -> str:
        return current_wording().error(self)


class UsageError(DjinnError):
    """A wrong option, argument or query."""

    exit_code = 2
    code = "usage"


class ConfigError(UsageError):
    """A config file, or an environment variable that overrides it, has an invalid setting."""

    code = "config"


class Refused(DjinnError):
    """The request would overwrite, duplicate, leak or conflict."""

    exit_code = 3
    code = "refused"


class OutsideVault(Refused):
    """A path leads out of its vault."""

    code = "outside_vault"


class Changed(Refused):
    """Another program saved the file after it was read."""

    code = "changed"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} was changed by another program and was left as it is; run the command again"
        )


class Interrupted(DjinnError):
    """The user interrupted a question. Nothing was changed."""

    exit_code = 130
    code = "interrupted"


class NotFound(DjinnError):
    """A home, note, agent, vault or document does not exist."""

    exit_code = 4
    code = "not_found"


class Unavailable(DjinnError):
    """A required resource is unavailable: a model, a lock or the disk."""

    exit_code = 5
    code = "unavailable"


class Busy(Unavailable):
    """Another process holds the lock."""

    code = "busy"


class IndexMissing(Unavailable):
    """There is no index, and none can be built here."""

    code = "index_missing"
