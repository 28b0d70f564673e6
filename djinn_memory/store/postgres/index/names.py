"""Finds the memories that a name could mean; see `Index.resolve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from djinn_memory.notes.slugs import name_key
from djinn_memory.store.index.names import as_link, exact
from djinn_memory.store.postgres.index.scopes import ReadScope, Scopes
from djinn_memory.store.postgres.index.selection import plain

if TYPE_CHECKING:
    from djinn_memory.notes.link_resolution import LinkTarget


Narrowing: TypeAlias = tuple[str, Sequence[object]]
"""A condition on the notes of a scope, and its values."""

EVERY_NOTE: Narrowing = "", ()

LINKED = "and link_keys && %s"
"""The condition that a note has one of the names by which links mean notes."""


def resolve(scopes: Scopes, name: str) -> list[int]:
    """The numbers of the memories that a name could mean."""
    name = plain(name)
    note, section, block = name.strip().removeprefix("[[").removesuffix("]]").partition("#^")
    if section and _exactly(scopes, name):
        # A file may have such a name.
        note, section, block = name, "", ""
    places = _exactly(scopes, name if not section else note)
    if not places:
        notes, known = targets(scopes, partial(_linked_as, note.removesuffix(".md")))
        keys = as_link(note, notes, [scope.vault for scope in scopes])
        places = [known[key] for key in keys]
    keys = [
        scope.key(number)
        for scope, path in places
        for (number,) in scopes.rows(
            "select number from index_memories where user_id = %s and path = %s "
            "and lower(block) is not distinct from lower(%s) and domain_set = any(%s)",
            (scope.id, path, block if section else None, scope.visible),
        )
    ]
    return keys or _sections(scopes, name)


def _exactly(scopes: Scopes, name: str) -> list[tuple[ReadScope, str]]:
    """The note at `vault:path`; otherwise notes with this id, this path or this `vault/path`."""
    paths = [name, *(name[at + 1 :] for at, sign in enumerate(name) if sign in ":/")]
    narrowed = "and (path = any(%s) or uid = %s and block is null)", (paths, name)
    notes, known = targets(scopes, lambda scope: narrowed)
    return [known[key] for key in exact(name, notes)]


def _sections(scopes: Scopes, name: str) -> list[int]:
    """The sections of journals with this id, or else with this title."""
    for column, wanted in (("uid", name), ("name", plain(name_key(name)))):
        keys = [
            scope.key(number)
            for scope in scopes
            for (number,) in scopes.rows(
                f"select number from index_memories where user_id = %s and {column} = %s "
                "and block is not null and domain_set = any(%s)",
                (scope.id, wanted, scope.visible),
            )
        ]
        if keys:
            return keys
    return []


def _linked_as(written: str, scope: ReadScope) -> Narrowing:
    """Leaves the notes of a scope that a link with this target may mean."""
    from djinn_memory.notes.dialects.rules import of_vault
    from djinn_memory.notes.link_resolution import wanted_keys

    keys = wanted_keys(written, of_vault(scope.vault))
    return EVERY_NOTE if keys is None else (LINKED, (sorted(keys),))


def targets(
    scopes: Scopes, narrowed: Callable[[ReadScope], Narrowing] = lambda scope: EVERY_NOTE
) -> tuple[list[LinkTarget], list[tuple[ReadScope, str]]]:
    """Notes that their reader may see with all names, and the scope and path of each by its key."""
    from pathlib import PurePosixPath

    from djinn_memory.notes.link_resolution import LinkTarget

    notes: list[LinkTarget] = []
    places: list[tuple[ReadScope, str]] = []
    for scope in scopes:
        condition, values = narrowed(scope)
        # The row of the whole note, where there is one, has its names.
        listed = scopes.rows(
            "select distinct on (path) path, block, uid, title, aliases, blocks "
            f"from index_memories where user_id = %s and domain_set = any(%s) {condition} "
            "order by path, block nulls first",
            (scope.id, scope.visible, *values),
        )
        for path, block, uid, title, aliases, blocks in listed:
            names = (uid, title, tuple(aliases)) if block is None else (None, None, ())
            own_id, own_title, own_aliases = names
            notes.append(
                LinkTarget(
                    len(places), scope.name, path, own_id,
                    own_title or PurePosixPath(path).stem, own_aliases, tuple(blocks),
                )
            )  # fmt: skip
            places.append((scope, path))
    return notes, places
