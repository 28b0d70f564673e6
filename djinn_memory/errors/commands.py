"""Writes operations as a person types them: as a command with options."""

from __future__ import annotations

import json
import re

from djinn_memory.errors import Remedy, Wording

_COMMANDS = {
    "changes.list": "undo --list",
    "changes.undo": "undo",
    "documents.ingest": "ingest",
    "import_history": "import",
    "patterns.consolidate": "consolidate",
    "memories.links": "show",
    "memories.list": "list",
    "memories.show": "show",
    "working.step": "working set",
    "working.tasks": "working list --tasks",
}
"""Commands with a different name than their operation."""

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
    "vaults.add": ("name", "folder"),
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
    lacks = frozenset()

    def __init__(self, operation: str = "") -> None:
        """`operation` is the one that runs.

        An option of another command is written as a plain word.
        """
        self._arguments = ARGUMENTS.get(operation, ())

    def argument(self, name: str) -> str:
        """The option for a field, or a plain word."""
        return name.upper() if name in self._arguments else option(name)

    def call(self, remedy: Remedy) -> str:
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
