"""Everything that an index holds about a note, in types that every database can use.

`store.export` reads it from the local index, so that a server indexes nothing again.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from djinn_memory.models import Part


class WindowRows(Struct, frozen=True):
    """A window of a chunk: the text that is embedded."""

    start: int
    """The first character, in the chunk's text."""
    stop: int
    hash: bytes
    """The key of its text in the cache of vectors."""
    length: int
    """The number of tokens in its text."""
    vector: bytes | None
    """Little-endian float32; None while it is not embedded."""
    signs: bytes | None
    """Its token signs, as `Embedder.embed_documents` returns them; None if they are unknown."""


class ChunkTerms(NamedTuple):
    """The terms of a chunk in order, a column each, as the local index stems them.

    The terms of a column are separated by a space. A term may be empty: it stands for a position
    without a word, which separates phrases and counts in the length of the chunk.
    """

    title: str
    aliases: str
    headings: str
    tags: str
    path: str
    body: str


class ChunkRows(Struct, frozen=True):
    """A chunk of a memory."""

    ordinal: int
    """Its position in the memory, from 0."""
    headings: tuple[str, ...]
    lines: tuple[int, int]
    """The first and the last line in the file, from 1."""
    page: int | None
    parts: tuple[Part, ...]
    text: str
    terms: ChunkTerms
    language: str | None
    """The language, English aside, whose stemmer made terms of it; None for English."""
    windows: tuple[WindowRows, ...]


class LinkTargetRow(Struct, frozen=True):
    """The memory that a link leads to."""

    vault: str
    """The id of its vault."""
    path: str
    block: str | None
    """The section of a journal; None for a whole note, and for a journal as a whole."""
    memory: bool
    """Whether it is a memory. A journal as a whole is none."""


class LinkRows(Struct, frozen=True):
    """A link of a memory."""

    target: str
    """The target as written."""
    heading: str | None
    block: str | None
    label: str | None
    kind: str
    embed: bool
    field: str | None
    line: int
    start: int
    stop: int
    how: str | None
    """How the target was found; None while it is unresolved."""
    resolved: LinkTargetRow | None
    """None while unresolved, and for a link to a file that is no note."""
    candidates: tuple[tuple[str, str], ...]
    """The notes that it could mean, by vault id and path, if there are several."""


class MemoryRows(Struct, frozen=True):
    """A memory of a note: the whole note, or one section of a journal."""

    uid: str | None
    """The id of the memory, such as `mem_...`; None for a note without an id."""
    block: str | None
    """The block id of a section of a journal; None for a whole note."""
    type: str | None
    plane: str | None
    title: str
    name: str
    """The title as names are compared; see `notes.slugs.name_key`."""
    created: str | None
    updated: str | None
    date: str
    """ISO 8601 in UTC, or a day."""
    dated: bool
    """Whether the memory itself gives its `date`. Otherwise it is that of the file."""
    digest: bytes | None
    """The hash of the text from which the memory was read."""
    line: int
    """The number of lines above it in the file."""
    offset: int
    """The number of characters above it in the file."""
    tags: tuple[tuple[str, str], ...]
    """Tags as written, and as they are compared."""
    aliases: tuple[tuple[str, str], ...]
    """Aliases as written, and as names are compared."""
    fields: tuple[tuple[str, str, str], ...]
    """The front matter in order: key, value, and the value as it is compared. A key with a list of
    values occurs once for each value."""
    domains: tuple[str, ...]
    """The domains in the form of `access.domain_key`, sorted. They say which agents may see it."""
    blocks: tuple[str, ...]
    """The ids of its Logseq blocks."""
    chunks: tuple[ChunkRows, ...]
    links: tuple[LinkRows, ...]

    def field(self, key: str) -> str | None:
        """The first value of a front matter field; `key` in lower case."""
        return next((value for name, value, _ in self.fields if name == key), None)


class LinkEndRow(NamedTuple):
    """Where a link of a note leads."""

    source: str
    """The path of the note with the link."""
    target: str
    """The path of the note to which it leads, in the same vault."""
    block: str | None
    memory: bool
    """Whether it leads to a memory; see `LinkTargetRow`."""
    how: str | None


class OutgoingLinks(Struct, frozen=True):
    """The links of a memory, which change when other notes get other names."""

    path: str
    block: str | None
    links: tuple[LinkRows, ...]


class NoteRows(Struct, frozen=True):
    """A note with its memories."""

    path: str
    """The path in the vault, with `/`."""
    folded: str
    """The path as filters compare it; see `notes.slugs.fold`."""
    name: str
    """The file name as names are compared."""
    hash: bytes
    """The hash of the file's bytes, as the local index has it."""
    modified_ns: int
    """When the file was last changed, in nanoseconds since 1970."""
    problem: str | None
    """The reason why the note was only partly understood."""
    memories: tuple[MemoryRows, ...]
