"""Merges two entities into one note, and points the links of other notes at it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from contextlib import suppress
from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec import Struct

from djinn_memory.errors import DjinnError, NotFound, Refused, UsageError
from djinn_memory.home.access import same_readers
from djinn_memory.memories.catalog.catalog import MERGED, hidden_from
from djinn_memory.memories.entities.detail import EntityDetail, links_to, written_entity
from djinn_memory.memories.entities.names import find_entity
from djinn_memory.memories.entities.properties import merged_timelines, with_values
from djinn_memory.memories.entities.requests import MergeEntities
from djinn_memory.memories.writing.change_set import ChangeSet, change_set
from djinn_memory.models import Memory, Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.fact_note import HISTORY, value_of_line
from djinn_memory.notes.frontmatter import block_end, edit_fields, opened
from djinn_memory.notes.link_resolution import led_to, relinked
from djinn_memory.notes.links import Link
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.note_file import parse_file
from djinn_memory.notes.slugs import name_key, tag_key
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.system.yaml_edit import line_end

COMMAND = "entity merge"
"""The command of the change set, by which `entity split` finds it."""

_TAKEN_OVER = ("confidence", "importance", "domain", "source", "source_context", "last_verified")
"""Fields that a merged note takes over if it has none of its own."""

_NUMBERS = frozenset({"confidence", "importance"})
"""The fields of `_TAKEN_OVER` that are numbers."""

_UNLINKABLE = re.compile(r"""[][|#^"'\\]""")
"""Characters that a link in the front matter cannot contain."""

_Sources = dict[tuple[str, str], set[str]]
"""The texts of links to an entity, by the vault and the path of their note."""


class EntityNote(NamedTuple):
    """The note of an entity, or one with links to it."""

    vault: Vault
    path: str
    data: bytes

    @property
    def note(self) -> Note:
        """The note in the bytes."""
        return parse(self.path, self.data, self.vault.dialect)

    @property
    def place(self) -> str:
        """The vault and the path, for messages."""
        return f"{self.vault.name}/{self.path}"

    @property
    def names(self) -> set[str]:
        """The names of its memory: title, aliases and id."""
        note = self.note
        return {*map(name_key, filter(None, (note.title, *note.aliases, note.id)))}

    def by_name(self) -> Callable[[Link], bool]:
        """Whether a link as written leads to the note by one of its names."""
        names = self.names | {name_key(PurePosixPath(self.path).stem)}

        def leads(link: Link) -> bool:
            written = name_key(link.target)
            return written in names or written.rpartition("/")[2] in names

        return leads

    def relinked(self, leads: Callable[[Link], bool], name: str, target: str) -> EntityNote:
        """The note with some of its links led to `name` at `target`."""
        rewrite = led_to(name, target, self.path, leads)
        data = relinked(self.data, rewrite, self.vault.dialect, shows=True)[0]
        return self._replace(data=data)


class EntityMerge(Struct, frozen=True):
    """The result of a merge, or of its dry run."""

    entity: EntityDetail
    """The entity after the merge, without its mentions."""
    change: str | None
    """The id of the change, for `djinn undo`; null for a dry run."""
    links: int
    """The number of links that were changed."""
    notes: tuple[str, ...]
    """The notes with links that were changed, or would be, as `vault/path`."""
    left: tuple[Problem, ...]
    """Notes with links that were left alone, and why. Their links still lead to the entity by its
    aliases."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the notes from being searchable at once."""


def merge(runtime: Runtime, request: MergeEntities) -> EntityMerge:
    """Merge an entity into another; see `Entities.merge`."""
    scope, now = runtime.fresh_scope(request.agent), moment(runtime.now())
    with (
        change_set(runtime, COMMAND, "", agent=request.agent) as changes,
        # The snapshot is released before the files change, because the index follows them then.
        runtime.index(scope) as index,
    ):
        gone, into = find_entity(index, request.name), find_entity(index, request.into)
        if gone.memory_id == into.memory_id:
            raise UsageError(f"{request.name!r} and {request.into!r} are the same entity")
        by_name = {vault.name: vault for vault in index.vaults}
        source, target = by_name[gone.vault], by_name[into.vault]
        hidden, other_hidden = (hidden_from(runtime.home, each) for each in (gone, into))
        if not same_readers(source, target) or hidden != other_hidden:
            raise Refused(
                f"{source.name}/{gone.path} and {target.name}/{into.path} are not visible to the "
                "same agents; a merge would show one to those who may not see it, or hide it"
            )
        if request.dry_run:
            notes = tuple(f"{vault}/{path}" for vault, path in _linking(index, gone))
            return EntityMerge(written_entity(target, into.path, now), None, 0, notes, ())
        changes.what = f"Merged {gone.title} into {into.title}"
        links, notes, left = add_merge(changes, index, gone, into)
    result = changes.result
    entity = written_entity(target, into.path, now)
    return EntityMerge(entity, result.id, links, notes, left, tuple(result.problems))


def add_merge(
    changes: ChangeSet,
    index: Index,
    gone: IndexedMemory,
    into: IndexedMemory,
    joined: dict[tuple[str, str], tuple[str, str]] | None = None,
) -> tuple[int, tuple[str, ...], tuple[Problem, ...]]:
    """Add the steps that merge a note into another, and that lead links to it instead.

    The note keeps what both say: text, aliases, tags and properties with their histories. Returns
    the number of changed links, the notes with changed links, and a problem for each note whose
    links were left alone. Of several merges in one change set, `joined` has the places of the notes
    that are gone, each with the place that has their links now; this merge is added.
    """
    by_name = {vault.name: vault for vault in index.vaults}
    source, target = by_name[gone.vault], by_name[into.vault]
    name = _link_name(index, into)
    old = EntityNote(source, gone.path, _content(changes, source, gone.path))
    new = EntityNote(target, into.path, _content(changes, target, into.path))
    changes.rewrite(target, into.path, new.data, merged(old, new, name))
    joined = {} if joined is None else joined
    sources: _Sources = {}
    for place, texts in _linking(index, gone).items():
        sources.setdefault(joined.get(place, place), set()).update(texts)
    result = _relink(changes, sources, by_name, gone, into, name)
    joined[gone.vault, gone.path] = into.vault, into.path
    changes.remove(source, gone.path, _content(changes, source, gone.path))
    return result


def _content(changes: ChangeSet, vault: Vault, path: str) -> bytes:
    """The bytes of a note after the steps so far."""
    content = changes.content(vault, path)
    if content is None:
        raise NotFound(f"no file {path} in {vault.name}")
    return content


def _linking(index: Index, gone: IndexedMemory) -> _Sources:
    """The notes that link to an entity, apart from its own, with the links as written."""
    texts = links_to(index, gone.memory_id)
    memories = index.lookup(texts, fields=())
    sources: _Sources = {}
    for number, memory in sorted(memories.items(), key=lambda entry: entry[1].address):
        sources.setdefault((memory.vault, memory.path), set()).update(texts[number])
    return sources


def _relink(
    changes: ChangeSet,
    sources: _Sources,
    vaults: dict[str, Vault],
    gone: IndexedMemory,
    into: IndexedMemory,
    name: str,
) -> tuple[int, tuple[str, ...], tuple[Problem, ...]]:
    total, notes, left = 0, [], []
    for (vault_name, path), texts in sources.items():
        vault, place = vaults[vault_name], f"{vault_name}/{path}"
        if (vault_name, path) == (into.vault, into.path):
            continue
        if vault.read_only:
            left.append(Problem(place, "is in a read-only vault, so its links were left alone"))
            continue
        try:
            data = _content(changes, vault, path)
            if any(memory.block for memory in parse_file(path, data, vault.dialect).memories):
                left.append(Problem(place, "is a journal, so its links were left alone"))
                continue
            rewrite = led_to(name, into.path, path, _by_text(texts))
            changed, count = relinked(data, rewrite, vault.dialect, shows=True)
        except (OSError, DjinnError) as error:
            left.append(Problem(place, f"its links were left alone: {error}"))
            continue
        if changed != data:
            changes.rewrite(vault, path, data, changed)
            total += count
            notes.append(place)
    return total, tuple(notes), tuple(left)


def _by_text(texts: Container[str]) -> Callable[[Link], bool]:
    return lambda link: link.target in texts


def _link_name(index: Index, entity: Memory) -> str:
    """The name by which links lead to an entity: its title, or its path if others have it too."""
    # Not `resolve`, which reads all names of the index: hundreds of merges may be one change.
    unique = index.count(Selection(name=entity.title)) == 1
    if unique and not _UNLINKABLE.search(entity.title):
        return entity.title
    return entity.path.removesuffix(".md")


def merged(gone: EntityNote, into: EntityNote, name: str) -> bytes:
    """The bytes of a note after another was merged into it. They depend on these bytes alone."""
    for each in (gone, into):
        if problem := frontmatter.read(each.note.text).problem:
            raise Refused(f"{each.place}: {problem}; correct it before a merge")
    leads = gone.by_name()
    with suppress(DjinnError):
        gone = gone.relinked(leads, name, into.path)
    into = into.relinked(leads, name, into.path)
    old, new = gone.note, into.note
    data = edit_fields(_with_text(into.data, old), _fields(old, new))
    for key, values in merged_timelines(new, old).items():
        data = with_values(data, key, values)
    return data


def _fields(gone: Note, into: Note) -> dict[str, object]:
    """The front matter that a note takes over, apart from properties."""
    known = {name_key(each) for each in (into.title, *into.aliases)}
    aliases = [*into.aliases]
    for alias in (gone.title, *gone.aliases):
        if name_key(alias) not in known:
            aliases.append(alias)
            known.add(name_key(alias))
    mine, theirs = (frontmatter.read(note.text).fields for note in (into, gone))
    ids = [value for note in (into, gone) for key, value in note.fields if key == MERGED]
    ids += [gone.id] if gone.id else []
    tags = list(into.tags) + [
        tag for tag in gone.tags if tag_key(tag) not in set(map(tag_key, into.tags))
    ]
    fields: dict[str, object] = {
        key: _as_written(key, theirs[key])
        for key in _TAKEN_OVER
        if key in theirs and key not in mine
    }
    if aliases != [*into.aliases]:
        fields |= {"alias": None, "aliases": aliases}
    if tags != [*into.tags]:
        fields["tags"] = tags
    if ids:
        fields[MERGED] = list(dict.fromkeys(ids))
    return fields


def _as_written(key: str, value: object) -> object:
    """A value of the front matter. A number is text there, and must not be written as a string."""
    with suppress(ValueError):
        return float(value) if key in _NUMBERS and isinstance(value, str) else value
    return value


def _with_text(new: bytes, gone: Note) -> bytes:
    """The bytes of a note with the text of another in a section, above the history.

    A text that the note has already is left out.
    """
    text = _own_text(gone)
    bom, encoding, whole = opened(new)
    if not text or f"\n{text}\n" in f"\n{_body(whole)}\n":
        return new
    newline, end = line_end(whole), block_end(whole)
    section = f"## {gone.title}\n\n{text}\n".replace("\n", newline)
    body = whole[end:]
    history = re.search(rf"^{HISTORY}[ \t]*\r?$", body, re.MULTILINE)
    at = history.start() if history else len(body)
    above = body[:at]
    ends = above.endswith(newline) + above.endswith(2 * newline)
    gap = newline * (2 - ends) if above.strip() else ""
    below = newline + body[at:] if history else ""
    return bom + (whole[:end] + above + gap + section + below).encode(encoding)


def _body(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text[block_end(text) :])


def _own_text(note: Note) -> str:
    """The text of a note without the lines of its properties."""
    lines = note.text[note.body :].split("\n")
    own = [line for line in lines if not ((value := value_of_line(line)) and ": " in value.value)]
    text = "\n".join(own).strip()
    return re.sub(rf"(?:^|\n){HISTORY}[ \t]*\s*\Z", "", text).strip()
