"""Changes the kind, the confidence and the description of an entity."""

from __future__ import annotations

from pathlib import PurePosixPath

from msgspec import Struct

from djinn_memory.errors import UsageError
from djinn_memory.memories.editing.move import Target, moved
from djinn_memory.memories.editing.requests import LinksLeft
from djinn_memory.memories.entities.detail import EntityDetail, written_entity
from djinn_memory.memories.entities.names import find_entity
from djinn_memory.memories.entities.properties import with_description
from djinn_memory.memories.entities.requests import KINDS, EditEntity
from djinn_memory.memories.writing.existing import dated
from djinn_memory.models import PLANES, Problem, Vault, plane_of
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.slugs import fold, folder
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import guard
from djinn_memory.store.index.records import IndexedMemory

PROFILE = "profile"
"""The type of the note about an agent, which is no entity."""


class EntityEdit(Struct, frozen=True):
    """The result of an edit of an entity, or of its dry run."""

    entity: EntityDetail
    """The entity after the edit, without its mentions; as it is for a dry run."""
    was: str
    """The place of its note before, as `vault/path`."""
    links: int
    """The number of links that were changed, or would be, because the note moved."""
    left: tuple[LinksLeft, ...]
    """Links that stay as they are."""
    diff: str
    """The changes of a dry run, as a unified diff."""
    change: str | None
    """The id of the change, for `djinn undo`; null for a dry run."""
    problems: tuple[Problem, ...] = ()
    """Links that lead nowhere afterwards, and problems that keep notes from being searchable at
    once."""


def checked_kind(text: str) -> str:
    """A kind of entities. Raises `UsageError` for a type of other memories."""
    kind = fold(text).strip()
    taken = plane_of(kind) != "semantic" or kind in PLANES["semantic"] or kind == PROFILE
    if kind not in KINDS and taken:
        give = f"give one of {', '.join(KINDS)}, or a kind of your own"
        raise UsageError(f"{kind!r} is a type of other memories; {give}", argument="kind")
    return kind


def edit_entity(runtime: Runtime, request: EditEntity) -> EntityEdit:
    """Edit an entity; see `Entities.edit`."""
    if request.kind is None and request.confidence is None and request.text is None:
        raise UsageError("nothing to change; give a kind, a confidence or a text")
    kind = None if request.kind is None else checked_kind(request.kind)
    text = None if request.text is None else writable(request.text)
    settings = runtime.home.config.secrets
    guard(text or "", what="the text", settings=settings, allow=request.allow_secret)
    now, fields = runtime.now(), dict[str, object]()
    if kind is not None:
        fields |= {"type": kind} | ({} if kind in KINDS else {"plane": "knowledge"})
    fields |= {} if request.confidence is None else {"confidence": request.confidence}

    def change(data: bytes) -> bytes:
        return dated(data if text is None else with_description(data, text), fields, now)

    def plan(vaults: dict[str, Vault], memory: IndexedMemory, _: bytes) -> Target:
        path = PurePosixPath(memory.path)
        # A note that is not where djinn writes its kind stays where a person put it.
        if kind and str(path.parent) == folder(memory.type or ""):
            path = PurePosixPath(folder(kind)) / path.name
        return Target(vaults[memory.vault], str(path), memory.title, change)

    done = moved(runtime, "entity edit", request, plan, find_entity)
    place = done.was if request.dry_run else f"{done.memory.vault}/{done.memory.path}"
    name, _, path = place.partition("/")
    [vault] = runtime.home.named((name,))
    entity = written_entity(vault, path, moment(now))
    return EntityEdit(
        entity, done.was, done.links, done.left, done.diff, done.change, done.problems
    )
