"""Writes operations for people: as a command with options, or as a call in Python."""

from __future__ import annotations

import json
from collections.abc import Collection

from msgspec.structs import fields

from djinn_memory.errors import Remedy, Wording
from djinn_memory.operations import OPERATIONS, VERBS, Verb
from djinn_memory.operations.checks import field_types

_OPTIONS = {
    "agents": "--agent",
    "aliases": "--alias",
    "decisions": "--decision",
    "document_type": "--doc-type",
    "fields": "--set",
    "giver": "--from",
    "links": "--link",
    "paths": "--path",
    "planes": "--plane",
    "properties": "--set",
    "skip": "--offset",
    "skipped": "--skip",
    "tags": "--tag",
    "types": "--type",
    "vaults": "--vault",
    "domains": "--domain",
}
"""Options with a different name than their field."""

_CHOICES = frozenset({"existing"})
"""Fields with a flag for each value, such as `--append` for `existing="append"`."""


class PythonWording(Wording):
    """How messages write operations for Python callers: as methods of `Djinn`."""

    def offers(self, remedy: Remedy) -> bool:
        """Whether `Djinn` has the operation."""
        return not remedy.operation or remedy.operation in OPERATIONS

    def other(self) -> Wording:
        """The wording of the command line, which offers more."""
        return CommandWording()


class CommandWording(Wording):
    """How messages write operations and arguments on the command line."""

    verb = "run"
    referred_clause = "in Python, {}"
    referred_call = "{} in Python"

    def __init__(self, operation: str = "", parameters: Collection[str] | None = None) -> None:
        """`operation` is the one that runs, by a command with these parameters.

        An option of another command is written as a plain word. Remedies that need other options
        than those of the running command are left out; None stands for a command with all options.
        """
        self._arguments = _positional(operation)
        self._parameters = parameters

    def argument(self, name: str) -> str:
        """The option for a field, or a plain word."""
        return name.upper() if name in self._arguments else option(name)

    def offers(self, remedy: Remedy) -> bool:
        """Whether a command offers the operation, or the running one all options."""
        if remedy.operation:
            return bool(command(remedy.operation))
        needed = {value if name in _CHOICES else name for name, value in remedy.arguments.items()}
        return self._parameters is None or needed <= {*self._parameters}

    def other(self) -> Wording:
        """The wording for Python, where every operation can be called."""
        return PythonWording()

    def written(self, remedy: Remedy) -> str:
        """The command with its arguments, or only the options.

        A command has all that it needs: a word in capitals stands for what the user must put in.
        """
        if not remedy.operation:
            return " ".join(self._part(*each, "") for each in remedy.arguments.items())
        verb = VERBS.get(remedy.operation, Verb())
        needed = fields(verb.request) if verb.takes else ()
        # A command that runs it by the way has options of its own.
        given = dict.fromkeys(
            field.name
            for field in needed
            if field.required and (verb.declaration or field.name in verb.positional)
        )
        given |= remedy.arguments
        names = [name for name in verb.positional if name in given]
        names += [name for name in given if name not in names]
        parts = (self._part(name, given[name], remedy.operation) for name in names)
        return f"`{' '.join(['djinn', command(remedy.operation), *parts])}`"

    def _part(self, name: str, value: object, operation: str) -> str:
        if name in _positional(operation):
            return name.upper() if value is None else _written(value)
        if name in _CHOICES and value is not None:
            return f"--{value}"
        flag = option(name)
        if value is None and operation in OPERATIONS:
            kind = field_types(VERBS[operation].request)[name]
            return flag if kind.kinds == (bool,) else f"{flag} {flag.strip('-').upper()}"
        return flag if value is None or value is True else f"{flag} {_written(value)}"


def option(field: str) -> str:
    """The option for a field of a request: `--tag` for `tags`."""
    return _OPTIONS.get(field, f"--{field.replace('_', '-')}")


def command(name: str) -> str:
    """The words that run a verb, such as `gap list` for `gaps.list`; empty if none do."""
    verb = VERBS.get(name, Verb())
    return " ".join(filter(None, (verb.short or verb.command, verb.option)))


def _positional(name: str) -> tuple[str, ...]:
    return VERBS.get(name, Verb()).positional


def _written(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    text = str(value)
    return text if text and not set(text) & set(" \t\n\"'$`\\") else json.dumps(text)
