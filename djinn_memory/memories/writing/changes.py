"""Changes an existing note: appends a draft to it, or replaces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from djinn_memory.errors import Changed, Refused
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.existing import BESIDE
from djinn_memory.memories.writing.provenance import ORIGIN, domain_value
from djinn_memory.memories.writing.vault_writer import VaultWriter
from djinn_memory.memories.writing.versions import HISTORY
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.note import Note, domains_of, parse
from djinn_memory.notes.note_file import parse_file
from djinn_memory.notes.periods import first_end, period_date
from djinn_memory.notes.slugs import new_id, slug, unique
from djinn_memory.notes.vault import on_disk


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
            "valid_to": first_end(_end(note), began),
        }
        previous = writer.put(place, old_name, frontmatter.edit_fields(current, version))
    writer.rewrite(path, change)
    return note.id, previous


def _end(note: Note) -> str | None:
    """When a note ceased to hold, if it says so."""
    return period_date(dict(reversed(note.fields)).get("valid_to"))


def _place_of_version(writer: VaultWriter, path: str, until: str) -> tuple[str, str]:
    """The folder of a note's old versions, and a free file name in it."""
    place = PurePosixPath(path).parent / HISTORY
    name = slug(f"{PurePosixPath(path).stem} {until}")
    return str(place), unique(name, lambda name: on_disk(writer.vault, f"{place}/{name}.md"))


def _joined(note: Note, tags: Sequence[str]) -> list[object]:
    """The tags of a note as its front matter writes them, followed by the new ones in `tags`."""
    own = frontmatter.read(note.text).fields.get("tags")
    own = own if isinstance(own, list) else list(note.tags)
    return [*own, *(tag for tag in tags if tag not in note.tags)]


def dated(data: bytes, fields: Mapping[str, object], now: datetime) -> bytes:
    """The bytes of a note with these fields.

    A field for the time of change gets the current time.
    """
    data = frontmatter.edit_fields(data, fields)
    has_time = "updated" in frontmatter.read(decode(data)[0]).fields
    return frontmatter.edit(data, ("updated",), moment(now)) if has_time else data
