"""What is asked of an index and what it answers, the same for every database that holds one."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from djinn_memory.models import Filters, Memory, MemoryRef, Part
from djinn_memory.notes.links import Kind

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

Phrase = tuple[str, ...]
"""Words in a row, as `Vocabulary.split` gives them."""

Forms = tuple[Phrase, ...]
"""The forms in which a word or phrase may stand in the index; any of them matches."""

Order = Literal["newest", "written", "title"]
"""`newest` sorts by date, `written` by the time of writing, both descending; `title` ascends."""


class WordMatch(Struct, frozen=True):
    """Words to look for in chunks. A term that is listed twice counts twice."""

    terms: tuple[Forms, ...]
    every: bool = False
    """Whether a chunk must hold all terms; else one is enough."""


class Selection(Struct, frozen=True):
    """Which memories of the index's vaults may answer; the defaults select all of them."""

    filters: Filters = Filters()
    now: datetime | None = None
    """Leaves out memories that expired before this time; None keeps them."""
    phrases: tuple[Forms, ...] = ()
    """Phrases that must stand in the chunk."""
    without: tuple[Forms, ...] = ()
    """Phrases that must not stand in the memory."""
    first_chunk: bool = False
    """Whether only the first chunk of each memory may answer."""
    ids: tuple[str, ...] | None = None
    """Only memories with one of these ids."""
    places: tuple[tuple[str, str], ...] | None = None
    """Only memories at one of these (vault name, path)."""
    hashes: tuple[str, ...] | None = None
    """Only memories whose text has one of these hashes."""
    name: str | None = None
    """Only memories with this title, alias or file name, as `name_key` compares them."""
    linked: int | None = None
    """Only memories that this memory links to, or that link to it."""
    whole_files: bool = False
    """Leaves out what shares its file with others: a change of that file would reach them too."""


class ChunkRef(NamedTuple):
    """A chunk and its memory, as an index numbers them."""

    chunk_id: int
    memory_id: int
    place: tuple[str, str, int, int]
    """Vault, path, line and place in the memory: what is equal otherwise is in this order."""


class Measurement(NamedTuple):
    """How near a chunk is to a vector, judged by its nearest window."""

    cosine: float
    """As the model gives it."""
    window: tuple[int, int]
    """The span of that window in the chunk's text."""
    vector: Vectors
    """The vector of that window."""


class IndexedMemory(Memory, frozen=True, kw_only=True):
    """A memory with all that the index knows of it beside its text."""

    memory_id: int
    """The index's number for it, which no answer shows."""
    dated: bool
    """Whether `date` is the memory's own word rather than the time of its file."""
    hash: str
    """Of its text, in hexadecimal."""
    owns_id: bool
    """Whether it has an id and no older memory has the same one."""
    first_chunk: int | None
    """The number of its first chunk; None for an empty memory."""
    problem: str | None
    """Why it was not understood in full."""
    aliases: tuple[str, ...]
    """The aliases of the note."""
    fields: tuple[tuple[str, str], ...]
    """Its front matter; a key with a list of values stands once for each."""

    def field(self, key: str) -> str | None:
        """The first value of a front matter field."""
        for name, value in self.fields:
            if name == key:
                return value
        return None


class TitledRef(MemoryRef, frozen=True, kw_only=True):
    """Where a memory is, and its title."""

    title: str


class IndexedChunk(Struct, frozen=True):
    """A chunk as the index holds it; see `models.Chunk`."""

    chunk_id: int
    memory_id: int
    ordinal: int
    """Its place in the memory, from 0."""
    headings: tuple[str, ...]
    lines: tuple[int, int]
    page: int | None
    parts: tuple[Part, ...]
    text: str


class IndexedLink(Struct, frozen=True):
    """A link from one memory to another."""

    source: int
    """The number of the memory in which it stands."""
    target: int | None
    """The number of the memory it leads to; None while it is unresolved or means no memory."""
    text: str
    """The target as written."""
    line: int
    """The line on which it stands, from 1; 0 for a field of the front matter."""
    start: int
    """The offset at which it stands."""
    field: str | None
    """The front matter field that holds it; None for a link in the text."""
    embed: bool
    """Whether it shows its target in its own place: `![[...]]`."""
    how: str | None
    """How the target was found; None while it is unresolved."""
    ambiguous: bool
    """Whether other memories could be meant as well."""
    heading: str | None = None
    """The heading that it leads to, nested headings joined by `#`."""
    block: str | None = None
    """The block id that it leads to."""
    kind: Kind = "wiki"
    """How it is written."""


class MemorySize(NamedTuple):
    """How large a memory is."""

    chunks: int
    waiting: int
    """Windows that have no vector yet."""


class CatalogStats(Struct, frozen=True):
    """How much there is."""

    notes: int
    """Notes: one for each file."""
    chunks: int
    """Chunks: the parts of notes that hits return."""
    windows: int
    """Windows: the parts of chunks that are embedded."""
    pending: int
    """Windows that have no vector yet."""
    links: int
    """Links in notes, including embeds and links in front matter."""
    unresolved: int
    """Links that lead nowhere."""
    broken: int
    """Notes with a problem, such as front matter that is not YAML."""
    types: dict[str, int]
    """Notes of each type, the most frequent first; the fields below are sorted likewise."""
    planes: dict[str, int]
    """Notes of each plane."""
    tags: dict[str, int]
    """Notes with each tag."""
    vaults: dict[str, int]
    """Notes in each vault."""
