"""Writes the whole text of a note, as editors do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePosixPath

from djinn_memory.errors import Changed, Refused, UsageError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.catalog import file_name, find_memory, require_note
from djinn_memory.memories.editing.requests import WriteMemory, WrittenMemory
from djinn_memory.memories.editing.titles import MAX_NAME, NOT_IN_NAMES
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.writing.change_set import writing
from djinn_memory.models import Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.note import DOCUMENT, domains_of, parse
from djinn_memory.notes.note_file import content_hash, parse_file
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import guard
from djinn_memory.system.choices import one_of
from djinn_memory.system.yaml_edit import line_end


def write(runtime: Runtime, request: WriteMemory) -> WrittenMemory:
    """Write the whole text of a note; see `Memories.write`."""
    scope = runtime.fresh_scope(request.agent)
    if request.digest is None:
        return _create(runtime, request, scope)
    memory = find_memory(runtime.state, request.name, scope)
    require_note(runtime.state, memory, "written")
    vault = next(vault for vault in scope if vault.name == memory.vault)
    after = b""

    def change(before: bytes) -> bytes:
        nonlocal after
        if content_hash(before).hex() != request.digest:
            raise Changed(vault.root / memory.path)
        after = _checked(runtime, request, vault, memory.path, before)
        return after

    with writing(runtime, vault, "memory write", request.agent) as writer:
        writer.rewrite(memory.path, change)
    done = writer.changes.result.id, tuple(writer.problems)
    return _written(vault, memory.path, after, *done, created=False)


def _create(runtime: Runtime, request: WriteMemory, scope: Sequence[Vault]) -> WrittenMemory:
    vault, path = _new_place(runtime, request, scope)
    data = _checked(runtime, request, vault, path, None)
    with writing(runtime, vault, "memory write", request.agent) as writer:
        place = PurePosixPath(path)
        if os.path.lexists(disk.entry(vault, path)):
            raise Refused(f"{vault.name}/{path} exists; give another name, or its digest")
        folder = "" if place.parent == PurePosixPath() else str(place.parent)
        path = writer.put(folder, place.stem, data)
    done = writer.changes.result.id, tuple(writer.problems)
    return _written(vault, path, data, *done, created=True)


def _written(
    vault: Vault,
    path: str,
    data: bytes,
    change: str | None,
    problems: tuple[Problem, ...],
    *,
    created: bool,
) -> WrittenMemory:
    identity = parse(path, data, vault.dialect).id
    digest = content_hash(data).hex()
    return WrittenMemory(vault.name, path, identity, created, digest, change, problems)


def _new_place(runtime: Runtime, request: WriteMemory, scope: Sequence[Vault]) -> tuple[Vault, str]:
    """The vault and the path that `vault:path` names. Raises `UsageError` for no place of notes."""
    name, colon, path = writable(request.name).partition(":")
    vaults = {vault.name: vault for vault in scope}
    if not colon or name not in vaults:
        why = f"{request.name!r}: give a new note as vault:path; {one_of(vaults, name)}"
        raise UsageError(why, argument="name")
    vault, parts = vaults[name], PurePosixPath(path).parts
    named = not any(NOT_IN_NAMES.search(part) or len(part.encode()) > MAX_NAME for part in parts)
    if not (named and disk.takes(vault, path, runtime.home.config.exclude)):
        why = f"{path!r} is no path for a note; give one that ends in .md and is not hidden"
        raise UsageError(why, argument="name")
    settings = runtime.home.config.secrets
    guard(path, what="the path", settings=settings, allow=request.allow_secret)
    place = PurePosixPath(path)
    return vault, str(place.with_stem(file_name(vault, place.stem)))


def _checked(
    runtime: Runtime, request: WriteMemory, vault: Vault, path: str, before: bytes | None
) -> bytes:
    """The bytes of a note with the text of a request, in the encoding of the old ones."""
    bom, encoding, old_text = frontmatter.opened(before or b"")
    text = writable(request.text).removeprefix("\ufeff")
    if "\r" not in text:
        text = text.replace("\n", line_end(old_text))
    data = bom + text.encode(encoding)
    old, note = parse(path, before or b"", vault.dialect), parse(path, data, vault.dialect)
    if note.problem and note.problem != old.problem:
        raise UsageError(note.problem, argument="text")
    if any(memory.block for memory in parse_file(path, data, vault.dialect).memories):
        raise Refused(f"{vault.name}/{path} would be a journal, whose sections djinn appends")
    if old.id and note.id != old.id:
        raise UsageError("the id of a note never changes", argument="text")
    kinds = [fold(kind or "") for kind in (old.type, note.type)]
    if kinds[0] != kinds[1] and DOCUMENT in kinds:
        raise UsageError("only an ingested file is a document", argument="text")
    agent, domains = runtime.home.agent(request.agent), domains_of(note)
    runtime.home.check_domains([name for name in domains if name not in domains_of(old)], agent)
    if before is None and not domains and (own := domain_to_write(runtime, vault, agent, None)):
        data = frontmatter.edit_fields(data, {DOMAIN: own})
    return data
