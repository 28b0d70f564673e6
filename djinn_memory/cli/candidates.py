"""The values that a word of the command line may complete to, from the home as it is.

Nothing here makes a file, loads a model or says anything: where there is no home, or a broken one,
there are no values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import typer

from djinn_memory.models import PLANES

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn


class Line(NamedTuple):
    """What a command line says before the word that is completed."""

    home: Path | None = None
    agent: str | None = None
    scoped: bool = False
    """Whether the command sees only the vaults of an agent."""
    word: str = ""


Source: TypeAlias = Callable[[typer.Context], list[str]]


def _of_home(what: Callable[[Djinn, Line], Iterable[str]]) -> Source:
    def source(ctx: typer.Context) -> list[str]:
        from djinn_memory.djinn import Djinn
        from djinn_memory.errors import DjinnError

        line: Line = ctx.obj
        try:
            return list(what(Djinn.open(line.home), line))
        except (DjinnError, OSError):
            return []

    return source


def _vaults(djinn: Djinn, line: Line) -> Iterable[str]:
    home = djinn.home
    seen = home.scope(home.agent(line.agent)) if line.scoped else home.vaults
    return [vault.name for vault in seen]


def _added(djinn: Djinn, line: Line) -> Iterable[str]:
    from djinn_memory.home import SHARED

    return [v.name for v in djinn.home.vaults if v.name not in (SHARED, v.agent)]


def _folders(djinn: Djinn, line: Line) -> Iterable[str]:
    """Vaults, or the folders beside the one that is being typed."""
    name, slash, typed = line.word.partition("/")
    if not slash:
        return [vault.name for vault in djinn.home.vaults]
    [vault] = djinn.home.named((name,))
    above = typed.rpartition("/")[0]
    place = vault.root / above
    found = sorted(one.name for one in place.iterdir() if one.is_dir())
    return [
        "/".join(part for part in (name, above, folder) if part)
        for folder in found
        if not folder.startswith(".")
    ]


def _keys(djinn: Djinn, line: Line) -> Iterable[str]:
    from djinn_memory.config import as_data

    def walk(node: object, path: str) -> Iterable[str]:
        if path:
            yield path
        if isinstance(node, dict):
            for key, inner in node.items():
                yield from walk(inner, f"{path}.{key}" if path else key)

    return walk(as_data(djinn.home.config), "")


vaults = _of_home(_vaults)
added_vaults = _of_home(_added)
folders = _of_home(_folders)
agents = _of_home(lambda djinn, line: djinn.home.config.agents)
keys = _of_home(_keys)
tags = _of_home(lambda djinn, line: djinn.known("tag", agent=line.agent))
titles = _of_home(lambda djinn, line: djinn.known("title", agent=line.agent))
documents = _of_home(lambda djinn, line: djinn.known("document", agent=line.agent))
_types = _of_home(lambda djinn, line: djinn.known("type", agent=line.agent))


def types(ctx: typer.Context) -> list[str]:
    """The types of the index and those that djinn knows."""
    return sorted({*_types(ctx), *(kind for kinds in PLANES.values() for kind in kinds)})


def _models(djinn: Djinn, line: Line) -> Iterable[str]:
    from djinn_memory.chunking.plans import CONTEXTS

    return [*CONTEXTS, *djinn.home.config.documents.model_contexts]


models = _of_home(_models)


def planes() -> list[str]:
    """All planes."""
    return list(PLANES)
