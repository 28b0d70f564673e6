"""The questions to an index and its answers, in types that every database can use."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from djinn_memory.home import access
from djinn_memory.models import Filters, Memory, MemoryRef, Part, Vectors
from djinn_memory.notes.links import Kind

Phrase = tuple[str, ...]
"""Consecutive words, as `Vocabulary.split` returns them."""

Forms = tuple[Phrase, ...]
"""The forms of a word or phrase that the index may contain; any of them matches."""

Order = Literal["newest", "written", "title"]
"""`newest` sorts by date, `written` by the time of writing, both descending; `title` ascends.

Sections of a journal with the same time are in reverse order of the journal in both."""


class WordMatch(Struct, frozen=True):
    """Words to look for in chunks. A term that is listed twice counts twice."""

    terms: tuple[Forms, ...]
    every: bool = False
    """Whether a chunk must contain all terms. Otherwise one term is enough."""


class Selection(Struct, frozen=True):
    """Limits which memories of the index's vaults may answer. The defaults allow all of them."""

    filters: Filters = Filters()
    now: datetime | None = None
    """Leaves out memories that expired before this time; None keeps them."""
    phrases: tuple[Forms, ...] = ()
    """Phrases that the chunk must contain."""
    without: tuple[Forms, ...] = ()
    """Phrases that the memory must not contain."""
    first_chunk: bool = False
    """Whether only the first chunk of each memory may answer."""
    ids: tuple[str, ...] | None = None
    """Only memories with one of these ids."""
    places: tuple[tuple[str, str], ...] | None = None
    """Only memories at one of these places, as (vault name, path)."""
    hashes: tuple[str, ...] | None = None
    """Only memories whose text has one of these hashes."""
    name: str | None = None
    """Only memories with this title, alias or file name, as `name_key` compares them."""
    whole_files: bool = False
    """Leaves out memories that share a file with others, which a change would affect too."""


class ChunkRef(NamedTuple):
    """A chunk and its memory, by their numbers in the index."""

    chunk_id: int
    memory_id: int
    place: tuple[str, str, int, int]
    """Vault, path, line and position in the memory: the sort order of otherwise equal chunks."""


class Measurement(NamedTuple):
    """How near the nearest window of a chunk is to a vector."""

    cosine: float
    """The cosine as computed, before calibration."""
    window: tuple[int, int]
    """The span of that window in the chunk's text."""
    vector: Vectors
    """The vector of that window."""


class IndexedMemory(Memory, frozen=True, kw_only=True):
    """A memory with everything that the index stores about it except the text."""

    memory_id: int
    """Its number in the index. No answer shows it."""
    dated: bool
    """Whether the memory itself gives its `date`. Otherwise its file or a commit does, or none."""
    hash: str
    """The hash of its text, in hexadecimal."""
    owns_id: bool
    """Whether it has an id and no older memory has the same one."""
    first_chunk: int | None
    """The number of its first chunk; None for an empty memory."""
    problem: str | None
    """The reason why it was only partly understood."""
    aliases: tuple[str, ...]
    """The aliases of the note."""
    fields: tuple[tuple[str, str], ...]
    """Its front matter. A key with a list of values occurs once for each value."""

    def field(self, key: str) -> str | None:
        """The first value of a front matter field."""
        for name, value in self.fields:
            if name == key:
                return value
        return None


class TitledRef(MemoryRef, frozen=True, kw_only=True):
    """The location of a memory, and its title."""

    title: str


class MemoryNames(TitledRef, frozen=True, kw_only=True):
    """A memory with all its names."""

    memory_id: int
    type: str | None
    aliases: tuple[str, ...]


class IndexedChunk(Struct, frozen=True):
    """A chunk from the index; see `models.Chunk`."""

    chunk_id: int
    memory_id: int
    ordinal: int
    """Its position in the memory, from 0."""
    headings: tuple[str, ...]
    lines: tuple[int, int]
    page: int | None
    parts: tuple[Part, ...]
    text: str


class ChunkText(NamedTuple):
    """The text of a chunk, for readers of many chunks."""

    chunk_id: int
    memory_id: int
    ordinal: int
    """Its position in the memory, from 0."""
    lines: tuple[int, int]
    text: str
    title: str
    """The title of the memory."""
    date: str
    """The date of the memory."""


class Backlink(NamedTuple):
    """A link in a text, as the memory sees it that it leads to."""

    target: int
    """The number of that memory."""
    source: int
    """The number of the memory that contains the link."""
    text: str
    """The target as written."""
    line: int
    """The line of the link, from 1."""
    chunk_id: int | None
    """The chunk with that line; None if no chunk has it."""
    date: str
    """The date of the memory that contains the link."""


class IndexedLink(Struct, frozen=True):
    """A link from one memory to another."""

    source: int
    """The number of the memory that contains the link."""
    target: int | None
    """The number of the target memory; None while unresolved, or if the target is not a memory."""
    text: str
    """The target as written."""
    line: int
    """The line of the link, from 1; 0 for a field of the front matter."""
    start: int
    """The offset of the link."""
    field: str | None
    """The front matter field that contains the link; None for a link in the text."""
    embed: bool
    """Whether the link embeds its target: `![[...]]`."""
    how: str | None
    """How the target was resolved; None while it is unresolved."""
    ambiguous: bool
    """Whether the link matches other memories as well."""
    heading: str | None = None
    """The heading that it points to; nested headings are joined by `#`."""
    block: str | None = None
    """The block id that it points to."""
    kind: Kind = "wiki"
    """The syntax of the link."""
    label: str | None = None
    """The shown text, if the link has one of its own."""


class Edge(NamedTuple):
    """A link from one memory to another."""

    source: int
    """The number of the memory that contains the link."""
    target: int
    """The number of another memory."""
    line: int
    """The line of the link, from 1; 0 for a field of the front matter."""
    text: str
    """The shown text of the link, else the target as written."""
    field: str | None
    """The front matter field that contains the link; None for a link in the text."""


class MemoryOpening(NamedTuple):
    """The beginning of a memory, for readers of many memories."""

    id: str | None
    vault: str
    path: str
    block: str | None
    type: str | None
    date: str
    """Its date, as ISO 8601 in UTC."""
    text: str
    """The first characters of its text, as the index has it."""
    fields: tuple[tuple[str, str], ...]
    """The requested front matter. A key with a list of values occurs once for each value."""


class FieldGroup(Struct, frozen=True):
    """The memories that share a value of a front matter field."""

    value: str
    count: int
    first: str
    """The date of the oldest of them."""
    last: str
    """The date of the newest of them."""


class MemorySize(NamedTuple):
    """The size of a memory."""

    chunks: int
    waiting: int
    """Windows that have no vector yet."""


class DocumentTypeCount(Struct, frozen=True):
    """The documents of a type."""

    documents: int
    """The number of documents."""
    chunks: int
    """The number of their chunks."""


class CatalogStats(Struct, frozen=True):
    """Counts of notes, chunks, windows and links."""

    notes: int
    """The number of notes, one for each file."""
    memories: int
    """The number of memories: a note is one, and a journal has one in each section."""
    chunks: int
    """The number of chunks: the parts of notes that hits return."""
    windows: int
    """The number of windows: the parts of chunks that are embedded."""
    pending: int
    """The number of windows that have no vector yet."""
    links: int
    """The number of links in notes, including embeds and links in front matter."""
    unresolved: int
    """The number of links without a target."""
    broken: int
    """The number of notes with a problem, such as front matter that is not YAML."""
    types: dict[str, int]
    """The number of memories of each type, the most frequent first. The fields below are sorted
    likewise."""
    planes: dict[str, int]
    """The number of memories of each plane."""
    tags: dict[str, int]
    """The number of memories with each tag."""
    vaults: dict[str, int]
    """The number of notes in each vault."""
    documents: dict[str, DocumentTypeCount]
    """The documents of each document type, and their chunks."""


MEMORY_COLUMNS = (
    "memory_id", "vault", "id", "path", "block", "type", "plane", "title", "tags", "created",
    "updated", "date", "dated", "hash", "problem", "first_chunk", "aliases", "fields",
)  # fmt: skip
"""The columns of an `IndexedMemory`, as each store names them in its `Tables`."""

COLUMN_FIELDS = (access.DOMAIN,)
"""The fields of the front matter that are columns of a `Memory`, and so of a hit. They are read
whichever fields are asked for; several values are separated by commas."""


def decoded(stored: Any) -> Any:
    """A list of a row, which is JSON, or which a driver has read."""
    return msgspec.json.decode(stored) if isinstance(stored, str) else stored
