"""The table of verbs: what people and agents can do, by name.

`python tools/verb_table.py` makes `verbs.tsv` from the operations (`@operation`) and the commands
(`@command`). Front ends, messages and the namespaces of `Djinn` are made from it. Reading it
imports no operation and no command.
"""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Struct

    from djinn_memory.operations.operation import Namespace

Rights = Literal["agent", "person"]


class Verb(NamedTuple):
    """An operation, a command, or an operation with its command."""

    name: str = ""
    """The attribute path of the operation on `Djinn`, such as `gaps.close`, or a name like that."""
    path: str = ""
    """The import path of the operation; empty for a command that runs none."""
    takes: str = ""
    """The import path of the type of the operation's request."""
    result: str = ""
    """The import path of the type of the operation's answer."""
    writes: bool = False
    """Whether the operation writes to the memory."""
    logs: bool = False
    """Whether it records uses of memories or values, which affect later answers."""
    removes: bool = False
    """Whether it can remove memories."""
    rights: Rights = "agent"
    """Who may call it. `person` excludes it from servers for agents."""
    positional: tuple[str, ...] = ()
    """The fields of the request that are positional arguments of a command, in order."""
    embeds: tuple[str, ...] = ()
    """The fields of the request whose text a model embeds at once."""
    command: str = ""
    """The command that runs it, such as `gap close`; empty if only programs need it."""
    option: str = ""
    """The option that makes the command run it, if the command usually runs another operation."""
    short: str = ""
    """The short name of the command."""
    declaration: str = ""
    """The module below `cli.commands` and the name in it that declare the command; empty for an
    operation that is chosen by an option of another command."""
    line: str = ""
    """The first sentence of the help."""
    pages: bool = False
    """Whether the command starts a pager for long output."""

    @property
    def request(self) -> type[Struct]:
        """The type of the request."""
        kind: type[Struct] = imported(self.takes)
        return kind

    @property
    def answer(self) -> type[Struct]:
        """The type of the answer."""
        kind: type[Struct] = imported(self.result)
        return kind

    def bind(self, djinn: Namespace) -> Callable[[Struct], Any]:
        """The operation on an opened home: it takes a request and returns an `answer`."""
        bound: Callable[[Struct], Any] = attrgetter(self.name)(djinn)
        return bound


def _read(text: str) -> dict[str, Verb]:
    """The verbs in the text of `verbs.tsv`, by name."""
    defaults = Verb()
    verbs = (
        Verb(*map(_value, line.split("\t"), defaults))  # type: ignore[arg-type]
        for line in text.splitlines()
    )
    return {verb.name: verb for verb in verbs}


def _value(cell: str, default: object) -> object:
    if isinstance(default, tuple):
        return tuple(cell.split())
    return cell if isinstance(default, str) else bool(cell)


def imported(path: str) -> Any:
    """Import what a path such as `module:Class.method` names.

    `pkgutil.resolve_name` does the same, but its import would cost every command milliseconds.
    """
    module, _, attribute = path.partition(":")
    return attrgetter(attribute)(import_module(module))


with open(f"{__path__[0]}/verbs.tsv", encoding="utf-8") as _table:  # noqa: PTH123 - start-up
    VERBS = _read(_table.read())
    """All verbs, by name, in the order in which help lists commands."""

OPERATIONS = {verb.name: verb for verb in VERBS.values() if verb.path}
"""The operations, by name."""

NAMESPACES = {
    verb.name.rpartition(".")[0]: verb.path.rpartition(".")[0]
    for verb in OPERATIONS.values()
    if "." in verb.name
}
"""The import paths of the namespaces of `Djinn`, by name."""
