"""Suggests commands for an unknown command name."""

from __future__ import annotations

from difflib import get_close_matches

from djinn_memory.cli import tree
from djinn_memory.errors import Remedy, UsageError

SYNONYMS = (
    ("search", "find", "grep", "query", "lookup", "look", "seek"),
    ("recall", "ask", "question", "answer"),
    ("list", "ls", "dir", "ll", "all", "browse"),
    ("show", "get", "cat", "view", "read", "print", "display", "info", "less"),
    ("open", "edit", "vi", "vim", "nano", "code", "launch", "modify"),
    ("remember", "add", "set", "report", "new", "create", "write", "note", "save", "store", "put",
     "insert", "append", "capture", "jot"),
    ("ingest", "load", "upload", "pdf"),
    ("delete", "remove", "forget", "close", "clear", "rm", "del", "trash", "drop", "erase"),
    ("restore", "undelete", "recover", "undo"),
    ("rename", "move", "mv"),
    ("purge", "shred", "wipe"),
    ("stats", "count", "statistics"),
    ("init", "setup", "install", "begin"),
    ("index", "reindex", "refresh", "scan", "rebuild", "update"),
    ("doctor", "fix", "repair", "diagnose", "check", "verify"),
    ("mcp", "serve", "server"),
    ("vault", "vaults", "folder", "folders"),
    ("config", "settings", "preferences", "configure"),
    ("show", "list", "get"),
)  # fmt: skip
"""Groups of similar verbs. The first existing command of a group is suggested."""

CREATES = {"memory": "remember", "document": "ingest"}
"""The command that creates the object of a noun, if the noun has no such command."""

OPTIONS = {"help": "--help", "man": "--help", "usage": "--help", "version": "--version"}

LIKENESS = 0.7
"""Minimum similarity by `difflib`; `serach` and `search` have 0.83."""


def unknown_command(noun: str, name: str) -> UsageError:
    """The error for an unknown command below a noun, or at the top level for an empty noun."""
    called = " ".join(filter(None, ("djinn", noun, name)))
    below = " ".join(filter(None, ("djinn", noun)))
    meant = [f"`djinn {words}`" for words in _meant(noun, name.lower())]
    if name.lower() in OPTIONS:
        meant = [f"`{below} {OPTIONS[name.lower()]}`"]
    if not meant:
        return UsageError(
            f"no command `{called}`", Remedy(purpose=f"run `{below} --help` to list the commands")
        )
    return UsageError(
        f"no command `{called}`", *(Remedy(purpose=f"run {command}") for command in meant[:3])
    )


def _meant(noun: str, name: str) -> list[str]:
    """The likely commands as a user types them, the likeliest first."""
    names, synonyms = tree.below(noun), _synonyms(name)
    same = [word for word in synonyms if word in names][:1]
    near = get_close_matches(name, [*names], 3, LIKENESS)
    if noun:
        inside = [f"{noun} {word}" for word in same or near]
        return inside or [CREATES[noun]] if noun in CREATES and "add" in synonyms else inside
    deeper = [f"memory {word}" for word in synonyms if f"memory {word}" in tree.COMMANDS][:1]
    elsewhere = [words for words in tree.COMMANDS if words.endswith(f" {name}")]
    return same or deeper or elsewhere or near


def _synonyms(name: str) -> list[str]:
    return [word for words in SYNONYMS if name in words for word in words]
