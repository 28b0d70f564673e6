"""Writes a memory; never over or beside an existing one unless the request says so."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

from msgspec import field
from msgspec.structs import replace

from djinn_memory.errors import Changed, DjinnError, Refused, Remedy, UsageError, wording
from djinn_memory.home import access
from djinn_memory.indexing.refresh import sweep
from djinn_memory.memories.catalog.catalog import find_memory, part_of_journal, require_note
from djinn_memory.memories.writing.drafts import Draft, draft_of
from djinn_memory.memories.writing.duplicates import Duplicate, DuplicateFinder
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.memories.writing.vault_writer import VaultWriter, writing
from djinn_memory.memories.writing.versions import HISTORY
from djinn_memory.models import Memory, MemoryRef, Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.markdown import body
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.note_file import parse_file
from djinn_memory.notes.slugs import fold, slug, unique
from djinn_memory.notes.type_folders import folder
from djinn_memory.notes.vault import files as disk
from djinn_memory.runtime import Runtime
from djinn_memory.search.hits import on_disk
from djinn_memory.secrets import guard
from djinn_memory.store.state import State

_BESIDE = Remedy("", {"existing": "new"}, "writes a note beside it")

Action = Literal["created", "appended", "revised", "numbered"]
Searchable = Literal["words and meaning", "words", "later"]


class RememberResult(MemoryRef, frozen=True, kw_only=True):
    """A memory that was written."""

    type: str
    """Such as `decision`."""
    title: str
    """The title that the note has: numbered when another note has the one given."""
    action: Action
    """What was done: `numbered` when another note has the title too."""
    previous: str | None = None
    """The old version of a note that was revised, relative to the folder of the vault."""
    expires: str | None = None
    """Until when it holds, as ISO 8601; null if that was not given."""
    due: str | None = None
    """When it is due, as ISO 8601; null if that was not given."""
    searchable: Searchable = "later"
    """How it is found from now on; `later` when the index could not be updated at once."""
    problems: list[Problem] = field(default_factory=list)
    """What went wrong beside the writing."""


def remember(runtime: Runtime, request: NewMemory) -> RememberResult:
    """Write a memory as a note; see `Djinn.remember`."""
    state, home = runtime.state, runtime.home
    agent = home.agent(request.agent)
    vault = home.shared if request.shared else home.personal(agent)
    # Other vaults matter only where the same may be said, or the superseded note may be.
    scope = home.scope(agent) if request.supersedes or not request.force else (vault,)
    draft = draft_of(request, runtime.now())
    # Before anything is made of the draft, such as a vector that is kept.
    draft.guard(home.config.secrets, allow=request.allow_secret)
    # Before the vault is held: the model takes longer than the writing.
    finder = None if request.force else DuplicateFinder(runtime, draft)
    sweep(state, scope)
    old = find_memory(state, request.supersedes, scope) if request.supersedes else None
    if old:
        require_note(state, old, "superseded")
        if _may_name(old, home.named((old.vault,))[0], vault):
            link = _link(old.title, old.path)
            # The draft was guarded before the title of another note came into it.
            guard(link, what="supersedes", settings=home.config.secrets, allow=request.allow_secret)
            fields = {**draft.fields, "supersedes": link}
            draft = Draft(draft.type, draft.title, draft.text, fields)
    duplicate = finder.find(scope) if finder else None
    with writing(runtime, vault) as writer:
        titles = _titles(state, writer, draft)
        taken = [path for path, title in titles if fold(title) == fold(inline(draft.title))]
        taken = [path for path in taken if on_disk(vault, path)]
        if not taken and request.existing in ("append", "revise") and not request.force:
            _refuse_section(state, vault, draft.title)
        _check(request, vault, draft.title, taken, old, duplicate)
        if not taken:
            result = _result(writer, draft, *writer.create(draft), "created")
        elif request.existing == "new":
            draft = _numbered(draft, titles)
            result = _result(writer, draft, *writer.create(draft), "numbered")
        elif request.existing == "append":
            result = _append(writer, draft, taken[0])
        else:
            result = _revise(writer, draft, taken[0])
    problems = list(writer.problems)
    if old:
        problems += _supersede(runtime, old, result)
    searchable: Searchable = "words and meaning" if writer.embedded else "words"
    if writer.problems:
        searchable = "later"
    return replace(result, searchable=searchable, problems=problems)


def _check(
    request: NewMemory,
    vault: Vault,
    title: str,
    taken: Sequence[str],
    old: Memory | None,
    duplicate: Duplicate | None,
) -> None:
    """Raise an error for a memory that is there already, unless the request says what to do.

    `taken` are the notes of the vault that have the title.
    """
    if taken and request.existing == "refuse":
        raise Refused(
            f"there is a note {title!r} already ({vault.name}/{taken[0]})",
            Remedy("", {"existing": "append"}, "adds to it"),
            Remedy("", {"existing": "revise"}, "replaces its text and keeps the old version"),
            Remedy("", {"existing": "new"}, "writes a numbered note beside it"),
        )
    places = [(vault.name, path) for path in taken]
    if old and request.existing != "new" and (old.vault, old.path) in places:
        revise = Remedy("", {"existing": "revise"}, "alone keeps the old version")
        raise UsageError(f"{title!r} cannot supersede itself", revise)
    places += [(old.vault, old.path)] if old else []
    if duplicate and (duplicate.vault, duplicate.path) not in places:
        raise Refused(
            f"{duplicate.vault}/{duplicate.path} says nearly the same "
            f"({duplicate.how} {duplicate.likeness:.2f}): {duplicate.title!r}, "
            f"{duplicate.id or 'without id'}; add to that note",
            Remedy("", {"force": True}, "writes it all the same"),
        )
    if len(taken) > 1 and request.existing != "new":
        raise UsageError(f"{title!r} could be any of: {', '.join(taken)}; give each its own title")


def _may_name(old: Memory, place: Vault, vault: Vault) -> bool:
    """Whether a note in `vault` may name the note that it supersedes: all its readers see that.

    `place` is the vault of the old note. Raises `Refused` when the old note may not name the new
    one.
    """
    path = f"{old.vault}/{old.path}"
    alone = Remedy(purpose=f"leave {wording.get().argument('supersedes')} out")
    if not access.is_own(place):
        why = f"{path} is in a vault that djinn only reads; it cannot be superseded"
        raise Refused(why, alone)
    if access.is_open(place) and not access.is_open(vault):
        raise Refused(
            f"{path} is for all, and only {vault.agent} sees {vault.name}, so that it cannot be "
            "superseded from there",
            Remedy("", {"shared": True}, "writes for all"),
            alone,
        )
    return access.same_readers(place, vault)


def _titles(state: State, writer: VaultWriter, draft: Draft) -> list[tuple[str, str]]:
    """Paths and titles of the vault: those indexed, and those of files named like the draft."""
    with state.reading([writer.vault]) as index:
        titles = {note.path: note.title for note in index.titles() if not note.block}
    place = folder(draft.type)
    # Another process may have written such a file just now, so that it is not indexed yet.
    for file in (writer.vault.root / place).glob(f"{slug(draft.title)}*.md"):
        path = f"{place}/{file.name}"
        if path not in titles:
            with suppress(OSError, DjinnError):
                titles[path] = parse(path, disk.read(writer.vault, path)).title
    return list(titles.items())


def _refuse_section(state: State, vault: Vault, title: str) -> None:
    """Raise `Refused` if a title means a section of a journal, which cannot be changed."""
    with state.reading([vault]) as index:
        for memory in index.titles():
            if memory.block and fold(memory.title) == fold(inline(title)):
                raise part_of_journal(memory, "changed", _BESIDE)


def _numbered(draft: Draft, titles: Sequence[tuple[str, str]]) -> Draft:
    """The draft under the first free title: `Daily (2)`, `Daily (3)` ..."""
    taken = {fold(title) for _, title in titles}
    names = (f"{draft.title} ({number})" for number in itertools.count(2))
    title = next(name for name in names if fold(name) not in taken)
    return Draft(draft.type, title, draft.text, draft.fields)


def _read(writer: VaultWriter, draft: Draft, path: str) -> tuple[bytes, Note]:
    """A note that a draft is to change; `Refused` for a journal, and a note of another type."""
    data = disk.read(writer.vault, path)
    if any(memory.block for memory in parse_file(path, data, writer.vault.dialect).memories):
        raise Refused(f"{writer.vault.name}/{path} is a journal; edit that file instead", _BESIDE)
    note = parse(path, data, writer.vault.dialect)
    if note.type not in (None, draft.type):
        raise Refused(
            f"{writer.vault.name}/{path} is a {note.type}, and this a {draft.type}; say "
            f"{note.type} if you mean that note",
            _BESIDE,
        )
    return data, note


def _append(writer: VaultWriter, draft: Draft, path: str) -> RememberResult:
    """Add the draft's text and tags to a note; its other fields replace those of the note."""
    _, note = _read(writer, draft, path)
    if draft.text and f"\n{draft.text}\n" in f"\n{note.text[note.body :]}\n":
        raise Refused(f"{writer.vault.name}/{path} says that already; nothing was added")
    current = frontmatter.read(note.text).fields.get("tags")
    tags = list(current) if isinstance(current, list) else list(note.tags)
    more = draft.fields.get("tags")
    tags += [tag for tag in more if tag not in note.tags] if isinstance(more, list) else []

    def change(data: bytes) -> bytes:
        data = body.append(data, draft.text) if draft.text else data
        fields = {**draft.fields, "tags": tags} if more else draft.fields
        return _dated(_edited(data, fields), writer.now)

    writer.rewrite(path, change)
    return _result(writer, draft, note.id, path, "appended")


def _revise(writer: VaultWriter, draft: Draft, path: str) -> RememberResult:
    """Replace a note by the draft; the old version is kept as a note in a folder beside it."""
    current, note = _read(writer, draft, path)
    until = writer.now.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    place = PurePosixPath(path).parent / HISTORY
    name = slug(f"{PurePosixPath(path).stem} {until}")
    name = unique(name, lambda name: on_disk(writer.vault, f"{place}/{name}.md"))

    def change(data: bytes) -> bytes:
        if data != current:
            raise Changed(writer.vault.root / path)
        data = body.replace(data, draft.text)
        fields = {"title": draft.title, "type": draft.type, **draft.fields}
        # By its path: versions of one second have one title.
        data = _edited(data, {**fields, "supersedes": f"[[{place}/{name}]]"})
        return _dated(data, writer.now)

    change(current)  # A note that cannot be changed leaves no version behind.
    version = {
        "id": new_id(),
        "title": f"{draft.title} (until {until})",
        "status": "superseded",
        "superseded_by": f"[[{path.removesuffix('.md')}]]",
    }
    previous = writer.put(str(place), name, _edited(current, version))
    writer.rewrite(path, change)
    return _result(writer, draft, note.id, path, "revised", previous)


def _supersede(runtime: Runtime, old: Memory, new: RememberResult) -> list[Problem]:
    """Mark a note as superseded; returns what kept it from being marked."""
    fields = {"status": "superseded", "superseded_by": _link(new.title, new.path)}
    [vault] = runtime.home.named((old.vault,))
    try:
        with writing(runtime, vault) as writer:
            writer.rewrite(old.path, lambda data: _dated(_edited(data, fields), writer.now))
    except (DjinnError, OSError) as error:
        why = f"is not marked as superseded: {getattr(error, 'strerror', None) or error}"
        return [Problem(f"{old.vault}/{old.path}", why)]
    return writer.problems


def _link(title: str, path: str) -> str:
    """A link to a note: by its title, or by its path if the title cannot stand in a link."""
    return f"[[{path.removesuffix('.md') if re.search(r'[][|#^]', title) else title}]]"


def _edited(data: bytes, fields: Mapping[str, object]) -> bytes:
    for key, value in fields.items():
        data = frontmatter.edit(data, (key,), value)
    return data


def _dated(data: bytes, now: datetime) -> bytes:
    """The bytes of a note with the time of the change, if the note has such a field."""
    has_time = "updated" in frontmatter.read(decode(data)[0]).fields
    return frontmatter.edit(data, ("updated",), moment(now)) if has_time else data


def _result(
    writer: VaultWriter,
    draft: Draft,
    identity: str | None,
    path: str,
    action: Action,
    previous: str | None = None,
) -> RememberResult:
    expires, due = (draft.fields.get(key) for key in ("expires", "due"))
    return RememberResult(
        id=identity,
        vault=writer.vault.name,
        path=path,
        type=draft.type,
        title=draft.title,
        action=action,
        previous=previous,
        expires=expires if isinstance(expires, str) else None,
        due=due if isinstance(due, str) else None,
    )
