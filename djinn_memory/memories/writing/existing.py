"""Refuses, changes or renames where a note has the title of a new memory already."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePosixPath

from msgspec.structs import replace

from djinn_memory.errors import Busy, Changed, DjinnError, Refused, Remedy, UsageError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.catalog import hides_note, part_of_journal
from djinn_memory.memories.writing.change_set import VaultWriter
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.duplicates import Duplicate
from djinn_memory.memories.writing.provenance import ORIGIN, domain_value
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Memory, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.markdown import inline
from djinn_memory.notes.note import Note, domains_of, parse
from djinn_memory.notes.note_file import parse_file
from djinn_memory.notes.periods import first_end, period_date
from djinn_memory.notes.slugs import fold, folder, slug, tag_key, unique
from djinn_memory.notes.vault import on_disk
from djinn_memory.store.index.records import Selection, TitledRef
from djinn_memory.store.state import State

HISTORY = "history"
"""The folder beside a note that contains its earlier versions."""

BESIDE = Remedy("", {"existing": "new"}, "write a separate note")


def choose_note(
    state: State,
    vault: Vault,
    draft: Draft,
    request: NewMemory,
    *,
    old: Memory | None,
    duplicate: Duplicate | None,
) -> tuple[str | None, Draft]:
    """The note to change, or None for a new note; and the draft, numbered if its title is taken.

    The caller holds the lock of the vault. `old` is the note that the draft supersedes. `duplicate`
    has nearly the same content. Raises `Refused` or `UsageError` for a memory that already exists,
    unless the request decides, and for the title of a journal's section, which cannot be changed.
    """
    existing = request.existing
    same_title, sections = _titled(state, vault, draft.type, draft.title)
    taken = [path for path in same_title if on_disk(vault, path)]
    if not taken and existing in ("append", "revise") and not request.force:
        for section in sections:
            raise part_of_journal(section, "changed", BESIDE)
    if taken and existing == "refuse":
        raise Refused(
            f"a note {draft.title!r} already exists ({vault.name}/{taken[0]})",
            Remedy("", {"existing": "append"}, "append to it"),
            Remedy("", {"existing": "revise"}, "replace its text and keep the old version"),
            Remedy("", {"existing": "new"}, "write a numbered note beside it"),
        )
    places = [(vault.name, path) for path in taken]
    if old and existing != "new" and (old.vault, old.path) in places:
        revise = Remedy("", {"existing": "revise"}, "replace its text")
        raise UsageError(f"{draft.title!r} cannot supersede itself", revise)
    places += [(old.vault, old.path)] if old else []
    same = duplicate.memory if duplicate else None
    if duplicate and same and (same.vault, same.path) not in places:
        raise Refused(
            f"{same.vault}/{same.path} says nearly the same ({duplicate.how} "
            f"{duplicate.likeness:.2f}): {same.title!r}, {same.id or 'without id'}; "
            "append to that note",
            Remedy("", {"force": True}, "write it anyway"),
        )
    if existing == "new" and taken:
        return None, replace(draft, title=_numbered(state, vault, draft))
    if len(taken) > 1:
        choices = ", ".join(taken)
        raise UsageError(
            f"{draft.title!r} is the title of several notes: {choices}; give each its own title"
        )
    return (taken[0] if taken else None), draft


def _numbered(state: State, vault: Vault, draft: Draft) -> str:
    """The title of a draft with the first number that makes it unique."""
    numbered = (f"{draft.title} ({number})" for number in itertools.count(2))
    return next(title for title in numbered if not _titled(state, vault, draft.type, title)[0])


def _titled(
    state: State, vault: Vault, kind: str, title: str
) -> tuple[list[str], Sequence[TitledRef]]:
    """The paths of the notes with a title, and the sections of journals with it."""
    place, wanted = folder(kind), fold(inline(title))
    files = [f"{place}/{file.name}" for file in (vault.root / place).glob(f"{slug(title)}*.md")]
    named: Sequence[TitledRef] = ()
    known: set[str] = set()
    # Without the index only notes of the usual name are known.
    with suppress(Busy), state.reading([vault]) as index:
        named = [ref for ref in index.titles(Selection(name=title)) if fold(ref.title) == wanted]
        places = tuple((vault.name, path) for path in files)
        known = {ref.path for ref in index.titles(Selection(places=places))}
    paths = [ref.path for ref in named if not ref.block]
    # Another process may have written such a file just now, so that it is not indexed yet.
    for path in files:
        if path not in known:
            with suppress(OSError, DjinnError):
                note = parse(path, disk.read(vault, path))
                if fold(note.title) == wanted and not hides_note(state.home, vault, note):
                    paths.append(path)
    return paths, [ref for ref in named if ref.block]


def change_note(
    writer: VaultWriter, path: str, draft: Draft, *, revise: bool
) -> tuple[str | None, str | None]:
    """Append a draft to a note, or with `revise` replace the note.

    Appending adds the text, the tags and the domains, and replaces the other fields. The old
    version of a revised note is kept as a note in a folder beside it. Its period ends where that of
    the new version begins, which is now unless the draft gives `valid_from`. Returns the id of the
    note and the path of the old version. Raises `Refused` for a journal, for a note of another
    type, and for a text that the note already contains.
    """
    name = f"{writer.vault.name}/{path}"
    current, dialect = disk.read(writer.vault, path), writer.vault.dialect
    if any(memory.block for memory in parse_file(path, current, dialect).memories):
        raise Refused(f"{name} is a journal; edit that file instead", BESIDE)
    note = parse(path, current, dialect)
    if note.type not in (None, draft.type):
        kinds = f"has the type {note.type}, but this memory has the type {draft.type}"
        raise Refused(f"{name} {kinds}; use the type {note.type} to change that note", BESIDE)
    fields, tags = draft.fields, draft.fields.get("tags")
    if revise:
        until = writer.now.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        place, old_name = _place_of_version(writer, path, until)
        # By its path: versions of one second have one title.
        own = {"title": draft.title, "type": draft.type}
        # The origin of the old text is not that of the new one.
        began = str(fields.get("valid_from") or moment(writer.now))
        period = {"valid_from": began, "valid_to": fields.get("valid_to")}
        link = {"supersedes": f"[[{place}/{old_name}]]"}
        fields = {**dict.fromkeys(ORIGIN), **own, **fields, **link, **period}
    elif draft.text and f"\n{draft.text}\n" in f"\n{note.text[note.body :]}\n":
        raise Refused(f"{name} already contains that text; nothing was added")
    else:
        if isinstance(tags, list):
            fields = {**fields, "tags": _joined(note, tags)}
        if added := fields.get(DOMAIN):
            # The text that is there already stays as hidden as it was.
            more = [str(added)] if not isinstance(added, list) else added
            fields = {**fields, DOMAIN: domain_value([*domains_of(note), *more])}

    def change(data: bytes) -> bytes:
        if revise:
            if data != current:
                raise Changed(writer.vault.root / path)
            data = frontmatter.replace_text(data, draft.text)
        elif draft.text:
            data = frontmatter.append_text(data, draft.text)
        return dated(data, fields, writer.now)

    previous = None
    if revise:
        change(current)  # A note that cannot be changed leaves no version behind.
        version = {
            "id": new_id(),
            "title": f"{draft.title} (until {until})",
            "status": "superseded",
            "superseded_by": f"[[{path.removesuffix('.md')}]]",
            "valid_to": first_end(period_date(dict(reversed(note.fields)).get("valid_to")), began),
        }
        previous = writer.put(place, old_name, frontmatter.edit_fields(current, version))
    writer.rewrite(path, change)
    return note.id, previous


def _place_of_version(writer: VaultWriter, path: str, until: str) -> tuple[str, str]:
    """The folder of a note's old versions, and a free file name in it."""
    place = PurePosixPath(path).parent / HISTORY
    name = slug(f"{PurePosixPath(path).stem} {until}")
    return str(place), unique(name, lambda name: on_disk(writer.vault, f"{place}/{name}.md"))


def _joined(note: Note, tags: Sequence[str]) -> list[object]:
    """The tags of a note as its front matter writes them, followed by the new ones in `tags`."""
    own = frontmatter.read(note.text).fields.get("tags")
    own = own if isinstance(own, list) else list(note.tags)
    known = set(map(tag_key, note.tags))
    return [*own, *(tag for tag in tags if tag_key(tag) not in known)]


def dated(data: bytes, fields: Mapping[str, object], now: datetime) -> bytes:
    """The bytes of a note with these fields.

    A field for the time of change gets the current time.
    """
    data = frontmatter.edit_fields(data, fields)
    has_time = "updated" in frontmatter.read(decode(data)[0]).fields
    return frontmatter.edit(data, ("updated",), moment(now)) if has_time else data
