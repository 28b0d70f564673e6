"""Edits the front matter of a note, and no other byte of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from djinn_memory.errors import Remedy, UsageError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.catalog import find_memory, require_note
from djinn_memory.memories.editing.requests import EditMemory, MemoryEdit
from djinn_memory.memories.writing.change_set import ChangeSet, check_writable, writing
from djinn_memory.memories.writing.drafts import checked_tag
from djinn_memory.memories.writing.existing import dated
from djinn_memory.models import PLANES
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import date_field, iso_date
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.note import DOCUMENT, parse
from djinn_memory.notes.periods import period_date
from djinn_memory.notes.slugs import fold, tag_key
from djinn_memory.operations.checks import from_json
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import guard
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.system.choices import one_of
from djinn_memory.system.yaml_edit import load, scalar

_SHARES = frozenset({"importance", "confidence"})
_COMING = frozenset({"due", "expires"})
_DATES = frozenset({"created", "date", "last_verified", "updated", "valid_from", "valid_to"})


def edit(runtime: Runtime, request: EditMemory) -> MemoryEdit:
    """Edit the front matter of a note; see `Memories.edit`."""
    if not (request.fields or request.tags or request.untag or request.status is not None):
        raise UsageError("nothing to change; give a field, a tag or a status")
    scope = runtime.fresh_scope(request.agent)
    memory = find_memory(runtime.state, request.name, scope)
    require_note(runtime.state, memory, "edited")
    vault = next(vault for vault in scope if vault.name == memory.vault)
    check_writable(vault)
    values = dict(_pair(text, as_json=request.json_value) for text in request.fields)
    values |= {"status": writable(request.status)} if request.status is not None else {}
    values = {key: _checked(runtime, request, memory, key, values[key]) for key in values}
    added, removed = ([checked_tag(tag) for tag in tags] for tags in (request.tags, request.untag))
    states: list[bytes] = []

    def change(data: bytes) -> bytes:
        new = frontmatter.edit_fields(data, values)
        if added or removed:
            new = _tagged(memory.path, new, added, removed)
        stated = memory.plane == "knowledge" and memory.type != "fact"
        if stated and request.fields and new != data and "updated" not in values:
            # A property that is gone ended when the note was updated.
            new = dated(new, {}, runtime.now())
        old, note = (parse(memory.path, each, vault.dialect) for each in (data, new))
        if note.problem and note.problem != old.problem:
            raise UsageError(note.problem, argument="fields")
        states[:] = data, new
        return new

    changes, identity, problems = ChangeSet(), None, list[Any]()
    if request.dry_run:
        change(disk.read(vault, memory.path))
    else:
        with writing(runtime, vault, "memory edit", request.agent) as writer:
            writer.rewrite(memory.path, change)
        identity, problems = writer.changes.result.id, writer.problems
    changes.rewrite(vault, memory.path, *states)
    differs = states[0] != states[1]
    diff = changes.diff()
    return MemoryEdit(vault.name, memory.path, differs, diff, identity, tuple(problems))


def _pair(text: str, *, as_json: bool) -> tuple[str, Any]:
    """The key and the value of KEY=VALUE. Numbers, truth values and lists are those of YAML."""
    key, equals, value = writable(text).partition("=")
    key, value = key.strip(), value.strip()
    if not equals or not key or any(sign in key for sign in "\n\r:#"):
        raise UsageError(f"{text!r}: give KEY=VALUE, such as status=done", argument="fields")
    if as_json and value:
        return key, from_json(value)
    with suppress(Exception):
        typed = load(value)
        # In other text, as in `lamps: two`, a colon makes no mapping.
        if (isinstance(typed, (list, dict)) and value[0] in "[{") or (
            isinstance(typed, (bool, int, float)) and scalar(typed) == value
        ):
            return key, typed
    return key, value


def _checked(
    runtime: Runtime, request: EditMemory, memory: IndexedMemory, key: str, value: Any
) -> Any:
    """The value that a field gets; None removes it. Raises `UsageError` for one that it cannot."""
    name, text = fold(key), str(value).strip()
    guard(
        f"{key}: {text}",
        what=f"the field {key}",
        settings=runtime.home.config.secrets,
        allow=request.allow_secret,
    )
    if name == "id":
        raise UsageError("the id of a note never changes", argument="fields")
    if name == "title":
        rename = Remedy("memories.rename", {"name": request.name, "title": text}, "rename the note")
        raise UsageError("the title is the name of the note", rename)
    if name in ("tag", "tags"):
        tag = Remedy("", {"tags": None}, "add a tag")
        raise UsageError("tags are added and removed one by one", tag)
    if memory.type == "fact" and name in ("category", "key"):
        raise UsageError("a fact keeps its category and its key", argument="fields")
    if name == "type" and (memory.plane in ("knowledge", "documents") or fold(text) == DOCUMENT):
        kind = Remedy("entities.edit", {"name": request.name, "kind": text}, "change its kind")
        remedies = [kind] if memory.plane == "knowledge" and memory.type != "fact" else []
        raise UsageError(f"the type {memory.type} cannot be changed here", *remedies)
    if value in ("", None):
        return None
    if name in _SHARES and (type(value) not in (int, float) or not 0 <= value <= 1):
        raise UsageError(f"{key}={text}: give a number from 0 to 1", argument="fields")
    if name == "plane" and text not in PLANES:
        why = f"{key}={text}: unknown plane; {one_of(PLANES, text)}"
        raise UsageError(why, argument="fields")
    if name in _COMING:
        return date_field("fields", text, runtime.now(), past=True)
    if name in _DATES and not (iso_date(text) or period_date(text)):
        raise UsageError(f"{key}={text}: not a date; write 2026-12-31", argument="fields")
    if name in (DOMAIN, f"{DOMAIN}s"):
        domains = value if isinstance(value, list) else [text]
        agent = runtime.home.agent(request.agent)
        runtime.home.check_domains([str(domain) for domain in domains], agent)
    return value


def _tagged(path: str, data: bytes, added: Sequence[str], removed: Sequence[str]) -> bytes:
    """The bytes of a note with tags added to its front matter, and others removed from it."""
    note = parse(path, data)
    fields: Mapping[str, Any] = frontmatter.read(note.text).fields
    key = next((key for key in fields if fold(key) in ("tags", "tag")), "tags")
    written = fields.get(key, [])
    entries = written if isinstance(written, list) else written.replace(",", " ").split()
    gone, known = set(map(tag_key, removed)), set(map(tag_key, note.tags))
    if missing := [tag for tag in removed if tag_key(tag) not in known]:
        raise UsageError(f"the note has no tag {missing[0]!r}", argument="untag")
    left = [entry for entry in entries if tag_key(str(entry)) not in gone]
    changed = data if left == entries else frontmatter.edit_fields(data, {key: left or None})
    # One after the other, so that the other entries stay as written.
    if new := [tag for tag in added if tag_key(tag) not in known]:
        changed = frontmatter.edit(changed, (key,), [*left, *new])
    for tag in parse(path, changed).tags:
        if tag_key(tag) in gone:
            raise UsageError(f"#{tag} stands in the text; edit the note", argument="untag")
    return changed
