"""Writes operations as a person types them: as a command with options."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from djinn_memory.errors import Remedy, Wording

_COMMANDS = {
    "changes.list": "undo --list",
    "changes.undo": "undo",
    "documents.ingest": "ingest",
    "episodes.record_interaction": "episode record",
    "episodes.record_observation": "episode record",
    "import_history": "import",
    "patterns.consolidate": "consolidate",
    "memories.links": "show",
    "memories.list": "list",
    "memories.show": "show",
    "working.resume": "working get",
    "working.step": "working set",
    "working.tasks": "working list --tasks",
}
"""Commands with a different name than their operation."""

WITHOUT_COMMAND = frozenset(
    {"documents.find", "entities.resolve", "memories.find", "memories.values"}
)
"""Operations without a command. Only programs need them."""

_OPTIONS = {
    "aliases": "--alias",
    "decisions": "--decision",
    "document_type": "--doc-type",
    "giver": "--from",
    "links": "--link",
    "paths": "--path",
    "planes": "--plane",
    "properties": "--set",
    "skip": "--offset",
    "tags": "--tag",
    "types": "--type",
    "vaults": "--vault",
    "domains": "--domain",
}
"""Options with a different name than their field."""

_CHOICES = frozenset({"existing"})
"""Fields with a flag for each value, such as `--append` for `existing="append"`."""

ARGUMENTS = {
    "agents.profile": ("agent",),
    "agents.set": ("key", "values"),
    "agents.unset": ("key", "values"),
    "backups.create": ("file",),
    "changes.undo": ("change",),
    "checkpoint": ("text",),
    "config.set": ("key", "value"),
    "context": ("task",),
    "contradictions.settle": ("contradiction",),
    "documents.ingest": ("paths",),
    "documents.remove": ("name",),
    "documents.reprocess": ("name",),
    "documents.show": ("name",),
    "entities.add": ("name", "text"),
    "entities.alias": ("action", "name", "aliases"),
    "entities.merge": ("name", "into"),
    "entities.remove": ("name",),
    "entities.set": ("name", "key", "value"),
    "entities.show": ("name",),
    "entities.split": ("name", "other"),
    "episodes.mark": ("names",),
    "episodes.show": ("name",),
    "facts.forget": ("category", "key"),
    "facts.get": ("category", "key"),
    "facts.search": ("query",),
    "facts.set": ("category", "key", "value"),
    "facts.verify": ("category", "key"),
    "gaps.close": ("gap",),
    "gaps.reopen": ("gap",),
    "gaps.report": ("description",),
    "hooks.install": ("client",),
    "hooks.remove": ("client",),
    "import_history": ("paths",),
    "init": ("folder",),
    "memories.delete": ("name",),
    "memories.links": ("name",),
    "memories.purge": ("name",),
    "memories.restore": ("name",),
    "memories.show": ("name",),
    "outcomes.record": ("action", "result"),
    "patterns.show": ("name",),
    "proposals.accept": ("proposals",),
    "proposals.dismiss": ("proposals",),
    "proposals.show": ("proposal",),
    "rate": ("target",),
    "recall": ("query",),
    "remember": ("type", "title", "text"),
    "scores.show": ("name",),
    "search": ("query",),
    "sessions.history": ("session",),
    "summary.set": ("text",),
    "vaults.add": ("name", "path"),
    "vaults.remove": ("name",),
    "sync.facts": ("query",),
    "working.clear": ("key",),
    "working.get": ("key",),
    "working.set": ("key", "value"),
    "working.share": ("key",),
    "working.step": ("key", "result"),
}
"""Fields that are positional arguments of a command, in order, by operation. Others are options."""


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
        self._arguments = ARGUMENTS.get(operation, ())
        self._parameters = parameters

    def argument(self, name: str) -> str:
        """The option for a field, or a plain word."""
        return name.upper() if name in self._arguments else option(name)

    def offers(self, remedy: Remedy) -> bool:
        """Whether a command offers the operation, or the running one all options."""
        if remedy.operation:
            return remedy.operation not in WITHOUT_COMMAND
        needed = {value if name in _CHOICES else name for name, value in remedy.arguments.items()}
        return self._parameters is None or needed <= {*self._parameters}

    def other(self) -> Wording:
        """The wording for Python, where every operation can be called."""
        return Wording()

    def written(self, remedy: Remedy) -> str:
        """The command with its arguments, or only the options."""
        parts = [self._part(name, value, remedy) for name, value in remedy.arguments.items()]
        if not remedy.operation:
            return " ".join(parts)
        return f"`{' '.join(['djinn', command(remedy.operation), *parts])}`"

    def _part(self, name: str, value: object, remedy: Remedy) -> str:
        if name in ARGUMENTS.get(remedy.operation, ()):
            return name.upper() if value is None else _written(value)
        if name in _CHOICES and value is not None:
            return f"--{value}"
        flag = option(name)
        return flag if value is None or value is True else f"{flag} {_written(value)}"


def option(field: str) -> str:
    """The option for a field of a request: `--tag` for `tags`."""
    return _OPTIONS.get(field, f"--{field.replace('_', '-')}")


def command(operation: str) -> str:
    """The command that runs an operation: `gap list` for `gaps.list`."""
    noun, dot, verb = operation.partition(".")
    singular = re.sub("ies$", "y", noun).removesuffix("s") if dot else noun
    return _COMMANDS.get(operation) or f"{singular} {verb}".strip()


def _written(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    text = str(value)
    return text if text and not set(text) & set(" \t\n\"'$`\\") else json.dumps(text)
