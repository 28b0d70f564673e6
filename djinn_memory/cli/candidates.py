"""Completion values for words of the command line, from the current state of the home.

This module creates no file, loads no model and prints nothing. Without a home, or with a broken
one, there are no values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import typer

from djinn_memory.models import PLANES

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.memories.catalog.requests import CatalogField


class CompletionLine(NamedTuple):
    """The part of a command line before the word that is completed."""

    home: Path | None = None
    agent: str | None = None
    scoped: bool = False
    """Whether the command sees only the vaults of an agent."""
    word: str = ""


Source: TypeAlias = Callable[[typer.Context], list[str]]


def _of_home(what: Callable[[Djinn, CompletionLine], Iterable[str]]) -> Source:
    def source(ctx: typer.Context) -> list[str]:
        from djinn_memory.djinn import Djinn
        from djinn_memory.errors import DjinnError

        line: CompletionLine = ctx.obj
        try:
            with closing(Djinn.open(line.home)) as djinn:
                return list(what(djinn, line))
        except (DjinnError, OSError):
            return []

    return source


def _vaults(djinn: Djinn, line: CompletionLine) -> Iterable[str]:
    home = djinn.home
    seen = home.scope(home.agent(line.agent)) if line.scoped else home.vaults
    return [vault.name for vault in seen]


def _added(djinn: Djinn, line: CompletionLine) -> Iterable[str]:
    from djinn_memory.home import access

    return [vault.name for vault in djinn.home.vaults if access.may_be_removed(vault)]


def _folders(djinn: Djinn, line: CompletionLine) -> Iterable[str]:
    """Vaults, or the folders beside the folder that is being typed."""
    name, slash, typed = line.word.partition("/")
    if not slash:
        return [vault.name for vault in djinn.home.vaults]
    [vault] = djinn.home.named((name,))
    above = typed.rpartition("/")[0]
    place = vault.root / above
    names = sorted(child.name for child in place.iterdir() if child.is_dir())
    return [
        "/".join(part for part in (name, above, folder) if part)
        for folder in names
        if not folder.startswith(".")
    ]


def _keys(djinn: Djinn, line: CompletionLine) -> Iterable[str]:
    from djinn_memory.home.config import as_data

    def walk(node: object, path: str) -> Iterable[str]:
        if path:
            yield path
        if isinstance(node, dict):
            for key, inner in node.items():
                yield from walk(inner, f"{path}.{key}" if path else key)

    return walk(as_data(djinn.home.config), "")


def _catalog(*fields: CatalogField) -> Source:
    """The values of fields that the agent sees in the index."""
    return _of_home(
        lambda djinn, line: [
            value
            for field in fields
            for value in djinn.memories.values(field, agent=line.agent).values
        ]
    )


vaults = _of_home(_vaults)
added_vaults = _of_home(_added)
folders = _of_home(_folders)
agents = _of_home(lambda djinn, line: djinn.home.config.agents)
domains = _of_home(lambda djinn, line: djinn.home.domains(line.agent))
keys = _of_home(_keys)
tags = _catalog("tag")
titles = _catalog("title")
documents = _catalog("document")
entities = _catalog("entity")
patterns = _catalog("pattern")
facts = _catalog("category", "fact")
fact_categories = _catalog("category")
fact_keys = _catalog("key")
sessions = _catalog("session")
kinds = _catalog("kind")
_types = _catalog("type")
working_keys = _of_home(
    lambda djinn, line: {v.key for v in djinn.working.list(agent=line.agent, all=True).values}
)
working_tasks = _of_home(
    lambda djinn, line: (t.task for t in djinn.working.tasks(agent=line.agent).tasks)
)


def types(ctx: typer.Context) -> list[str]:
    """The types of the index and those that djinn knows."""
    return sorted({*_types(ctx), *(kind for kinds in PLANES.values() for kind in kinds)})


def _models(djinn: Djinn, line: CompletionLine) -> Iterable[str]:
    from djinn_memory.chunking.strategies import CONTEXTS

    return [*CONTEXTS, *djinn.home.config.documents.model_contexts]


models = _of_home(_models)


def _gaps(djinn: Djinn, line: CompletionLine) -> Iterable[str]:
    from djinn_memory.store.ledger.reading import open_gaps

    return open_gaps(djinn.home.ledger_path, djinn.home.agent(line.agent))


def _programs(djinn: Djinn, line: CompletionLine) -> Iterable[str]:
    from djinn_memory.home.keys import read_keys

    return [key.name for key in read_keys(djinn.home.keys_path)]


programs = _of_home(_programs)
gaps = _of_home(_gaps)
changes = _of_home(
    lambda djinn, line: [change.id for change in djinn.changes.list(agent=line.agent).changes]
)


def _review_items(djinn: Djinn, line: CompletionLine) -> Iterable[str]:
    """The ids of recorded proposals. `review.list` would index notes first."""
    from djinn_memory.memories.proposals.log import recorded_proposals

    return [
        record.id
        for record in recorded_proposals(djinn.runtime.state.ledger_if_any).values()
        if record.subjects
        and not record.accepted
        and (line.agent in record.agents if line.agent else record.agents)
    ]


review_items = _of_home(_review_items)
profiles = _of_home(lambda djinn, line: ["auto", *djinn.home.config.recall.profiles])
