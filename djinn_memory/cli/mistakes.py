"""Explains errors in a command line, and suggests the correct form."""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches
from typing import Any

from djinn_memory.cli import tree
from djinn_memory.errors import Remedy, UsageError
from djinn_memory.system.choices import one_of

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
    ("rename", "move", "mv", "retitle"),
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

WORDS = {
    "memory values tag": ("tags", "tag", "labels"),
    "memory values type": ("types",),
    "list": ("notes", "memories", "recent", "last"),
    "entity list": ("entities", "people", "persons", "places", "projects", "contacts"),
    "fact list": ("facts",),
    "gap list": ("gaps", "questions", "missing"),
    "session list": ("sessions", "conversations", "chats"),
    "session history": ("history", "transcript"),
    "episode list": ("episodes", "journal", "diary", "events"),
    "document list": ("documents", "docs", "files", "pdfs"),
    "pattern list": ("patterns", "habits"),
    "agent list": ("agents", "users"),
    "agent set": ("profile",),
    "vault list": ("vaults", "folders"),
    "backup create": ("backups", "export", "archive", "dump"),
    "backup restore": ("unarchive",),
    "sync run": ("synchronize", "push", "pull"),
    "review": ("inbox", "pending", "todo", "waiting", "approve", "accept", "dismiss", "reject",
               "proposals", "contradictions", "conflicts", "decide", "settle"),
    "undo": ("revert", "rollback", "back"),
    "undo --list": ("log", "changes", "audit"),
    "show NAME": ("links", "backlinks"),
    "graph neighbours NAME": ("neighbors", "neighborhood", "neighbourhood", "adjacent"),
    "graph communities": ("clusters", "community", "groups", "topics"),
    "graph stats": ("orphans", "hubs", "islands"),
    "graph path A B": ("route", "connection"),
    "graph view": ("map",),
    "show NAME --why": ("why", "scores", "origin", "provenance"),
    "serve": ("web", "ui", "gui", "browser", "dashboard", "site"),
    "hook install": ("hooks", "claude", "codex", "plugin", "integrate"),
    "memory edit": ("edit", "modify"),
    "memory move": ("move",),
    "help all": ("commands", "man", "usage"),
}  # fmt: skip
"""Words that people try, by the command that is meant, if there is one of that name."""

OPTION_WORDS = {
    "--limit": ("--top-k", "--top", "--max", "--count", "--number", "--k", "--num", "-k"),
    "--offset": ("--skip", "--start", "--page"),
    "--since": ("--after", "--from", "--newer"),
    "--until": ("--before", "--to", "--older"),
    "--yes": ("--force", "--confirm", "--no-input", "--assume-yes", "-f"),
    "--dry-run": ("--dry", "--preview", "--simulate", "--what-if", "--check"),
    "--json": ("--output", "--as-json", "--machine", "-o"),
    "--vault": ("--folder", "--path", "--dir", "--directory"),
    "--tag": ("--label",),
    "--type": ("--kind",),
    "--kind": ("--type",),
    "--person": ("--user",),
    "--change-model": ("--model",),
}
"""Options that people try, by the one that is meant, if the command has it."""

CREATES = {"memory": "remember", "document": "ingest", "episode": "episode record"}
"""The command that creates the object of a noun, if the noun has no such command."""

OPTIONS = {"version": "--version"}

LONGEST_REST = 60
"""Maximum characters of the words after a command that a suggestion repeats."""

LIKENESS = 0.7
"""Minimum similarity by `difflib`; `serach` and `search` have 0.83."""


def unknown_command(noun: str, name: str, *rest: str) -> UsageError:
    """The error for an unknown command below a noun, or at the top level for an empty noun.

    `rest` are the words after it, which the suggestions keep.
    """
    called = " ".join(filter(None, ("djinn", noun, name)))
    below = " ".join(filter(None, ("djinn", noun)))
    kept = shlex.join(rest) if len(" ".join(rest)) <= LONGEST_REST else ""
    if now := _moved(noun, name, next(iter(rest), "")):
        purposes = [f"it is now `djinn {now}`"]
    elif name.lower() in OPTIONS:
        purposes = [f"run `{below} {OPTIONS[name.lower()]}`"]
    else:
        purposes = [
            f"run `djinn {words} {kept if tree.canonical(words) in tree.COMMANDS else ''}".rstrip()
            + "`"
            for words in _meant(noun, name.lower())[:3]
        ] or [f"run `{below} --help` to list the commands"]
    return UsageError(f"no command `{called}`", *(Remedy(purpose=each) for each in purposes))


def _moved(noun: str, name: str, after: str) -> str:
    """The command that does what one of an earlier version did; empty if there was none."""
    old = f"{noun} {name}".strip()
    if f"{old} {after}" in tree.MOVED:
        return tree.MOVED[f"{old} {after}"]
    now = tree.MOVED.get(old, "")
    return f"{now} {after}" if f"{now} {after}" in tree.COMMANDS else now


def _meant(noun: str, name: str) -> list[str]:
    """The likely commands as a user types them, the likeliest first."""
    names, synonyms = tree.below(noun), _synonyms(name)
    same = [word for word in synonyms if word in names][:1]
    near = get_close_matches(name, [*names], 3, LIKENESS)
    if noun:
        inside = [f"{noun} {word}" for word in same or near]
        created = [CREATES[noun]] if noun in CREATES and "add" in synonyms else []
        return inside or created or _by_meaning(name)
    elsewhere = [words for words in tree.COMMANDS if words.endswith(f" {name}")]
    return _by_meaning(name) or elsewhere or near


def _by_meaning(name: str) -> list[str]:
    """The command of the whole tree that a word means, if there is one."""
    known = [words for words, tried in WORDS.items() if name in tried and _exists(words)]
    words = _synonyms(name)
    tried = [name, f"memory {name}", *words, *(f"memory {word}" for word in words)]
    names = {*tree.COMMANDS, *tree.below("")}
    return (known or [word for word in tried if word in names])[:1]


def _exists(words: str) -> bool:
    """Whether a line begins with a command or is a noun."""
    parts = words.split()
    begun = (tree.canonical(" ".join(parts[:size])) for size in range(1, len(parts) + 1))
    return words in tree.NOUNS or any(name in tree.COMMANDS for name in begun)


def _synonyms(name: str) -> list[str]:
    return [word for words in SYNONYMS if name in words for word in words]


def explain(error: Any) -> tuple[str, str]:
    """The message for an error of the parser, and its remedy."""
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    ctx = getattr(error, "ctx", None)
    kind = type(error).__name__
    if kind == "BadOptionUsage" and "does not take a value" in message:
        return f"{error.option_name} takes no value", "leave out = and what follows"
    if kind == "BadOptionUsage":
        return f"{error.option_name} needs a value", "write the value after it"
    if ctx is None:
        return message, ""
    help_line = f"see `{ctx.command_path} --help`"
    extra = re.fullmatch(r"Got unexpected extra argument(?:\(s\)|s)? \((.*)\)", message)
    if extra:
        return f"too many arguments: {extra[1]}", _extra(ctx)
    if kind == "MissingParameter" and error.param.param_type_name == "argument":
        return f"{_name(error.param).rstrip('.')} is missing", f"write `{_usage(ctx)}`"
    if kind == "MissingParameter" and error.param.param_type_name == "option":
        option = max(error.param.opts, key=len)
        metavar = (error.param.metavar or error.param.name).upper()
        return f"{option} is missing", f"write `{_usage(ctx)} {option} {metavar}`"
    if kind == "NoSuchOption":
        return f"no option {error.option_name}", _option(error, ctx)
    if kind == "BadParameter" and error.param is not None:
        return _value(error, ctx) or (message, help_line)
    return message, help_line


def _usage(ctx: Any) -> str:
    """The syntax of the command, without its options."""
    names = [_name(each) if each.required else f"[{_name(each)}]" for each in _arguments(ctx)]
    return " ".join([ctx.command_path, *names])


def _name(argument: Any) -> str:
    name = (argument.metavar or argument.name).strip("[]{}.").upper()
    return name if argument.nargs == 1 else f"{name}..."


def _arguments(ctx: Any) -> list[Any]:
    return [param for param in ctx.command.params if param.param_type_name == "argument"]


def _extra(ctx: Any) -> str:
    if not _arguments(ctx):
        return f"`{ctx.command_path}` takes only options; see `{ctx.command_path} --help`"
    return f"write `{_usage(ctx)}`, with quotes around a value of several words"


def _option(error: Any, ctx: Any) -> str:
    if ctx.parent is None:
        return "write options after the command, as in `djinn search tide --vault notes`"
    root = ctx.find_root()
    if error.option_name in [name for param in root.command.params for name in param.opts]:
        words = ctx.command_path.removeprefix(root.command_path).strip()
        return f"write it before the command: `{root.command_path} {error.option_name} ... {words}`"
    if now := tree.MOVED.get(f"{ctx.command_path} {error.option_name}".partition(" ")[2]):
        return f"it is now `{root.command_path} {now}`"
    names = [name for param in ctx.command.params for name in param.opts if name.startswith("-")]
    tried = OPTION_WORDS.items()
    near = [name for name, words in tried if error.option_name in words and name in names][:1]
    near = near or get_close_matches(error.option_name, names, 1, LIKENESS)
    near = near or [name for name in names if name.startswith(f"{error.option_name}-")]
    if near:
        return f"did you mean {near[0]}?"
    remedy = f"see `{ctx.command_path} --help`"
    if _arguments(ctx) and not error.possibilities:
        remedy += ", or write -- before a text that begins with -"
    return remedy


def _value(error: Any, ctx: Any) -> tuple[str, str] | None:
    """The problem with the value of an option or argument."""
    param, kind = error.param, error.param.type
    name = max(param.opts, key=len) if param.param_type_name == "option" else param.name.upper()
    said = re.match(r"'?(.*?)'? is not ", error.message)
    if said is None:
        return None
    what = f"{name} {said[1]}"
    choices = getattr(kind, "choices", None)
    if choices:
        give = one_of(map(str, choices), said[1])
        flags = [flag for other in ctx.command.params for flag in other.opts]
        if f"--{said[1]}" in flags:
            return what, f"{give}, or use --{said[1]}"
        return f"{what}: not a valid choice", give
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is None and most is None and "int" not in kind.name and "float" not in kind.name:
        return None
    bounds = "" if least is None else f" from {least:,}"
    bounds += "" if most is None else f" to {most:,}"
    whole = "a whole number" if "int" in kind.name else "a number"
    fault = "out of range" if re.fullmatch(r"-?[\d.]+", said[1]) else "not a number"
    return f"{what}: {fault}", f"give {whole}{bounds}"
