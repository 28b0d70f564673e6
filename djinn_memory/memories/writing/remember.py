"""Writes a memory, and never over or beside one that is there already, unless told how."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from msgspec import field
from msgspec.structs import replace

from djinn_memory.errors import Changed, DjinnError, Refused, UsageError
from djinn_memory.home import access
from djinn_memory.indexing.refresh import sweep
from djinn_memory.memories.catalog.catalog import find_memory, require_note
from djinn_memory.memories.writing.drafts import draft_of
from djinn_memory.memories.writing.duplicates import DuplicateFinder
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.memories.writing.vault_writer import Draft, SecretPolicy, VaultWriter, writing
from djinn_memory.memories.writing.versions import HISTORY
from djinn_memory.models import Memory, MemoryRef, Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.markdown import body
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.slugs import fold, slug, unique
from djinn_memory.notes.type_folders import folder
from djinn_memory.notes.vault import files as disk
from djinn_memory.search.hits import on_disk
from djinn_memory.store.sqlite import rows
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry

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


def remember(
    state: State,
    models: ModelRegistry,
    wish: NewMemory,
    now: datetime,
) -> RememberResult:
    """Write a memory as a note; see `Djinn.remember`."""
    home = state.home
    agent = home.agent(wish.agent)
    vault = home.shared if wish.shared else home.personal(agent)
    # Where it may be said already, or where the note that it supersedes may be.
    scope = home.scope(agent) if wish.supersedes or not wish.force else (vault,)
    draft = draft_of(wish, now)
    # Before anything is made of it, such as a vector that is kept.
    SecretPolicy(state.home.config.secrets, wish.allow_secret).guard(draft)
    # Before the vault is held: the model takes longer than the writing.
    look = None if wish.force else DuplicateFinder(state, models, draft, now)
    sweep(state, scope)
    old = find_memory(state, wish.supersedes, scope) if wish.supersedes else None
    if old:
        require_note(state, old, "superseded")
    if old and _told_of(old, scope, vault):
        draft = replace(draft, fields={**draft.fields, "supersedes": _link(old.title, old.path)})
    same = look.twin(scope) if look else None
    with writing(state, models, vault, now=now, allow_secret=wish.allow_secret) as pen:
        there = _titled(state, pen, draft)
        if there and wish.existing == "refuse":
            raise Refused(
                f"there is a note {draft.title!r} already ({vault.name}/{there[0]}); --append to "
                "it, --revise it (the old version is kept), or write a --new one beside it"
            )
        places = [(vault.name, path) for path in there]
        if old and wish.existing != "new" and (old.vault, old.path) in places:
            raise UsageError(
                f"{draft.title!r} cannot supersede itself; --revise alone keeps the old version"
            )
        places += [(old.vault, old.path)] if old else []
        if same and (same.vault, same.path) not in places:
            raise Refused(
                f"{same.vault}/{same.path} says nearly the same ({same.how} {same.likeness:.2f}): "
                f"{same.title!r}, {same.id or 'without id'}; add to that, or give --force"
            )
        if not there or wish.existing == "new":
            done = _create(state, pen, draft, numbered=bool(there))
        elif len(there) > 1:
            raise UsageError(
                f"{draft.title!r} could be any of: {', '.join(there)}; give each its own title"
            )
        else:
            done = (_append if wish.existing == "append" else _revise)(pen, draft, there[0])
    problems = list(pen.problems)
    if old:
        problems += _supersede(state, models, scope, old, done, now)
    return replace(done, searchable=_searchable(pen), problems=problems)


def _told_of(old: Memory, scope: Sequence[Vault], vault: Vault) -> bool:
    """Whether a note in `vault` may name the one that it supersedes: all who see it see that too.

    `Refused` where the old one may not be told of the new one.
    """
    there = next(one for one in scope if one.name == old.vault)
    place = f"{old.vault}/{old.path}"
    if not access.is_own(there):
        raise Refused(f"{place} is in a vault that djinn only reads; leave --supersedes out")
    if access.is_open(there) and not access.is_open(vault):
        raise Refused(
            f"{place} is for all, and only {vault.agent} sees {vault.name}; add --shared, "
            "or leave --supersedes out"
        )
    return access.same_readers(there, vault)


def _titled(state: State, pen: VaultWriter, draft: Draft) -> list[str]:
    """The paths of the notes in the vault that have the draft's title."""
    wanted = fold(inline(draft.title))
    found = [path for path, title in _titles(state, pen, draft) if fold(title) == wanted]
    return [path for path in found if on_disk(pen.vault, path)]


def _titles(state: State, pen: VaultWriter, draft: Draft) -> list[tuple[str, str]]:
    """Paths and titles of the vault: as indexed, and of files that the draft's could be next to."""
    sql = (
        "select path, title from memory join note on note.id = note_id "
        "join vault on vault.id = vault_id where uuid = ? and block is null order by path"
    )
    found = [(path, title) for path, title in rows(state.index, sql, (pen.vault.id,))]
    known = {path for path, _ in found}
    place = folder(draft.type)
    # Another process may have written them just now, so that nobody has read them yet.
    for file in (pen.vault.root / place).glob(f"{slug(draft.title)}*.md"):
        path = f"{place}/{file.name}"
        if path not in known:
            with suppress(OSError, DjinnError):
                found.append((path, parse(path, disk.read(pen.vault, path)).title))
    return found


def _create(state: State, pen: VaultWriter, draft: Draft, *, numbered: bool) -> RememberResult:
    if numbered:
        taken = {fold(title) for _, title in _titles(state, pen, draft)}
        names = (f"{draft.title} ({number})" for number in itertools.count(2))
        draft = replace(draft, title=next(name for name in names if fold(name) not in taken))
    identity, path = pen.create(draft)
    return _done(pen, draft, identity, path, "numbered" if numbered else "created")


def _same(pen: VaultWriter, draft: Draft, path: str, data: bytes) -> Note:
    """The note that a draft is to be part of; `Refused` for one of another type."""
    note = parse(path, data, pen.vault.dialect)
    if note.type not in (None, draft.type):
        raise Refused(
            f"{pen.vault.name}/{path} is a {note.type}, and this a {draft.type}; say "
            f"{note.type} if you mean that one, or write a --new one beside it"
        )
    return note


def _append(pen: VaultWriter, draft: Draft, path: str) -> RememberResult:
    """Add the draft's text and tags to a note; its other fields replace the note's."""
    note = _same(pen, draft, path, disk.read(pen.vault, path))
    if draft.text and f"\n{draft.text}\n" in f"\n{note.text[note.body :]}\n":
        raise Refused(f"{pen.vault.name}/{path} says that already; nothing was added")
    held = frontmatter.read(note.text).fields.get("tags")
    own = held if isinstance(held, list) else note.tags
    tags = [*own, *(tag for tag in _tags(draft) if tag not in note.tags)]

    def change(data: bytes) -> bytes:
        data = body.append(data, draft.text) if draft.text else data
        for key, value in draft.fields.items():
            data = frontmatter.edit(data, (key,), tags if key == "tags" else value)
        return _dated(data, pen.now)

    pen.rewrite(path, change)
    return _done(pen, draft, note.id, path, "appended")


def _revise(pen: VaultWriter, draft: Draft, path: str) -> RememberResult:
    """Put the draft in the place of a note, whose version before is kept as a note beside it."""
    was = disk.read(pen.vault, path)
    note = _same(pen, draft, path, was)
    until = pen.now.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    place = PurePosixPath(path).parent / HISTORY
    name = slug(f"{PurePosixPath(path).stem} {until}")
    name = unique(name, lambda one: on_disk(pen.vault, f"{place}/{one}.md"))

    def before(data: bytes) -> bytes:
        for key, value in (
            ("id", new_id()),
            ("title", f"{draft.title} (until {until})"),
            ("status", "superseded"),
            ("superseded_by", f"[[{path.removesuffix('.md')}]]"),
        ):
            data = frontmatter.edit(data, (key,), value)
        return data

    def change(data: bytes) -> bytes:
        if data != was:
            raise Changed(pen.vault.root / path)
        data = body.replace(data, draft.text)
        for key, value in {"title": draft.title, "type": draft.type, **draft.fields}.items():
            data = frontmatter.edit(data, (key,), value)
        # By its path, as above: versions of one second have one title.
        return _dated(frontmatter.edit(data, ("supersedes",), f"[[{place}/{name}]]"), pen.now)

    change(was)  # What cannot be changed leaves no version behind.
    previous = pen.put(str(place), name, before(was))
    pen.rewrite(path, change)
    return _done(pen, draft, note.id, path, "revised", previous)


def _link(title: str, path: str) -> str:
    """A link to a note: by its title, or by its path where a title like that cannot be in one."""
    return f"[[{path.removesuffix('.md') if re.search(r'[][|#^]', title) else title}]]"


def _dated(data: bytes, now: datetime) -> bytes:
    """With the time of the change, where the note tells one."""
    told = "updated" in frontmatter.read(decode(data)[0]).fields
    return frontmatter.edit(data, ("updated",), moment(now)) if told else data


def _tags(draft: Draft) -> list[str]:
    tags = draft.fields.get("tags")
    return tags if isinstance(tags, list) else []


def _supersede(
    state: State,
    models: ModelRegistry,
    scope: Sequence[Vault],
    old: Memory,
    new: RememberResult,
    now: datetime,
) -> list[Problem]:
    """Tell a note by what it was superseded; returns what kept it from being told."""
    vault = next(one for one in scope if one.name == old.vault)

    def change(data: bytes) -> bytes:
        data = frontmatter.edit(data, ("status",), "superseded")
        link = _link(new.title, new.path)
        return _dated(frontmatter.edit(data, ("superseded_by",), link), pen.now)

    try:
        with writing(state, models, vault, now=now) as pen:
            pen.rewrite(old.path, change)
    except (DjinnError, OSError) as error:
        why = f"is not marked as superseded: {getattr(error, 'strerror', None) or error}"
        return [Problem(f"{old.vault}/{old.path}", why)]
    return pen.problems


def _done(
    pen: VaultWriter,
    draft: Draft,
    identity: str | None,
    path: str,
    action: Action,
    previous: str | None = None,
) -> RememberResult:
    expires, due = (draft.fields.get(key) for key in ("expires", "due"))
    return RememberResult(
        id=identity,
        vault=pen.vault.name,
        path=path,
        type=draft.type,
        title=draft.title,
        action=action,
        previous=previous,
        expires=expires if isinstance(expires, str) else None,
        due=due if isinstance(due, str) else None,
    )


def _searchable(pen: VaultWriter) -> Searchable:
    if pen.problems:
        return "later"
    return "words and meaning" if pen.embedded else "words"
