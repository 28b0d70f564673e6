"""Makes the table of verbs from the operations and the commands. `--check` only compares."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import djinn_memory
from djinn_memory import operations
from djinn_memory.cli import commands
from djinn_memory.cli.command import Declaration, Paged
from djinn_memory.cli.tree import NOUNS, SECTIONS
from djinn_memory.operations import Verb
from djinn_memory.operations.operation import Namespace, OperationMethod

TABLE = Path(operations.__file__).with_name("verbs.tsv")

IN_ORDER = {
    "memory": (
        "search", "list", "show", "open", "delete", "restore", "purge", "rename", "move", "edit",
    ),
    "sync": (
        "init", "status", "run", "pull", "push", "conflicts", "verify", "stats", "facts",
        "backfill", "forget", "migrate",
    ),
}  # fmt: skip
"""The first commands of nouns that are not listed in the order of the code."""


def table() -> str:
    """The text of the table: commands in the order of the help, then operations without one."""
    verbs = {verb.name: verb for verb in _operations()}
    rows: dict[str, Verb] = {}
    for place, declared in sorted(_declarations(), key=lambda entry: _place(_words(entry[1]))):
        verb = verbs.get(declared.verb, Verb(declared.verb, positional=(*declared.arguments,)))
        rows[verb.name] = command = verb._replace(
            command=_words(declared),
            short=declared.short,
            declaration=place,
            line=_first(inspect.getdoc(declared.render)),
            pages=issubclass(declared.view, Paged),
        )
        for name, option in declared.also.items():
            rows[name] = verbs[name]._replace(
                command=command.command, short=command.short, option=option
            )
    others = [verb for name, verb in verbs.items() if name not in rows]
    lines = ("\t".join(map(_cell, verb)) for verb in [*rows.values(), *others])
    return "".join(f"{line}\n" for line in lines)


def _operations() -> Iterator[Verb]:
    """The operations of all namespaces."""
    for module in walk_packages(djinn_memory.__path__, "djinn_memory."):
        if module.name.split(".")[1] not in ("__main__", "cli", "mcp"):
            import_module(module.name)
    for kind in Namespace.__subclasses__():
        for name, method in vars(kind).items():
            if isinstance(method, OperationMethod):
                yield method.verb._replace(
                    name=f"{kind.name}.{name}".removeprefix("."),
                    path=f"{kind.__module__}:{kind.__qualname__}.{name}",
                    takes=f"{method.request.__module__}:{method.request.__qualname__}",
                    result=_result(method),
                    line=_first(inspect.getdoc(method.method)),
                )


def _result(method: OperationMethod[..., Any, Any]) -> str:
    """The import path of the type that a method returns, which may be imported for types only."""
    module = inspect.getmodule(method.method)
    name = method.method.__annotations__["return"]
    if hasattr(module, name.partition(".")[0]):
        kind = attrgetter(name)(module)
        return f"{kind.__module__}:{kind.__qualname__}"
    for node in ast.walk(ast.parse(inspect.getsource(module))):  # type: ignore[arg-type]
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return f"{node.module}:{name}"
    raise LookupError(f"{method.method.__qualname__} returns {name}, which its module lacks")


def _declarations() -> Iterator[tuple[str, Declaration]]:
    """The declared commands, in the order of their modules, and the place of each."""
    for info in walk_packages(commands.__path__):
        module = import_module(f"{commands.__name__}.{info.name}")
        for name, value in vars(module).items():
            if isinstance(value, Declaration) and value.render.__module__ == module.__name__:
                yield f"{info.name}:{name}", value


def _words(declared: Declaration) -> str:
    """The command as a user types it: `gap list` for `gaps.list`."""
    noun, dot, verb = declared.verb.partition(".")
    singular = re.sub("ies$", "y", noun).removesuffix("s") if dot else noun
    group = next((name for name in NOUNS if name.split()[-1] == singular), singular)
    return declared.words or f"{group} {verb}".strip()


def _place(words: str) -> tuple[int, int]:
    """The place of a command in the help. Commands of one place stand in the order of the code."""
    noun, _, verb = words.rpartition(" ")
    if not noun:
        return 0, [name for names in SECTIONS.values() for name in names].index(verb)
    first = IN_ORDER.get(noun, ())
    return 1 + [*NOUNS].index(noun), first.index(verb) if verb in first else len(first)


def _first(text: str | None) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join((text or "").partition("\n\n")[0].split())


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    return str(value) if value is not False else ""


def main() -> int:
    """Write the table. With `--check`, say whether the written one is made from the code."""
    text = table()
    if "--check" not in sys.argv:
        TABLE.write_text(text, encoding="utf-8")
    elif text != TABLE.read_text(encoding="utf-8"):
        sys.stdout.write(f"{TABLE.name} is old; run `python tools/verb_table.py`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
