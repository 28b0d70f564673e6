"""The values that several layers share: frozen, plain, without behaviour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, cast

from msgspec import UNSET, Struct, UnsetType, field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
else:
    Vectors = Any  # numpy is slow to import

R = TypeVar("R", bound=Struct)
S = TypeVar("S", bound=Struct)

Plane = Literal["semantic", "episodic", "knowledge", "documents"]
Mode = Literal["hybrid", "words", "meaning", "graph"]
Expand = Literal["none", "prf", "llm"]
Known = Literal["sure", "weak", "near", "nothing"]
"""What memory has for a question; see `search.stages.judge`."""

CLOSEST = 3
"""Number of memories that are named when none is sure to answer."""

FLOOR = 0.25
"""The minimum fused score of a weak match. On three conversations 95 % of 193 questions that turns
answer reach it, 10 % of 194 questions about other conversations, and 5 % of 180 about other things;
on two other collections all of 58 questions, and 3 of 78 about other things."""

NEAR = 0.1
"""The minimum fused score of what is near. 74 % of the questions about other things stay below."""

LEAST: dict[Known, float] = {"sure": NEAR, "weak": FLOOR, "near": NEAR, "nothing": math.inf}
"""The minimum fused score of what people and agents are given, by verdict. What was asked for by
its name or time is given with any score if the verdict is sure."""

MOST_IN_CELL = 300
"""Maximum characters of a text in the table that a notebook shows."""

Backend = Literal["sqlite", "postgres"]
Dialect = Literal["obsidian", "foam", "dendron", "logseq", "markdown"]
"""How the notes of a vault write links, names and properties."""
Certainty = Literal["certain", "likely", "unsure"]
"""`certain` by files of one program, `likely` by most of the notes, else `unsure`."""
Strategy = Literal["adaptive", "page_based", "semantic", "fixed", "words", "recursive"]
"""How a document is divided into chunks."""

DocumentType = Literal["general", "technical", "personal", "reference"]

PLANES: dict[Plane, tuple[str, ...]] = {
    "semantic": (
        "lesson", "decision", "pattern", "preference", "commitment", "reflection", "plan",
        "feeling",
    ),
    "episodic": ("interaction", "observation", "outcome", "handoff", "checkpoint", "summary"),
    "knowledge": ("fact", "relationship", "person", "place", "project", "concept", "skill"),
    "documents": ("document",),
}  # fmt: skip

_PLANE_OF = {kind: plane for plane, kinds in PLANES.items() for kind in kinds}


def plane_of(kind: str | None) -> Plane | None:
    """The plane of a memory's type. A user's own type is semantic.

    Without a type there is no plane.
    """
    return _PLANE_OF.get(kind, "semantic") if kind else None


def extended(record: object, kind: type[S], **more: Any) -> S:
    """A record of `kind`, from the matching fields of another record and from `more`."""
    shared = (name for name in kind.__struct_fields__ if hasattr(record, name))
    return kind(**{**{name: getattr(record, name) for name in shared}, **more})


def path_of_links(titles: Iterable[str]) -> str:
    """The titles of memories that links lead through, in words."""
    return f"via {' -> '.join(titles)}"


class Vault(Struct, frozen=True):
    """A folder of notes. It is reserved for `agent`; None means everybody."""

    name: str
    root: Path
    id: str
    agent: str | None = None
    read_only: bool = False
    dialect: Dialect = "obsidian"
    contexts: tuple[tuple[str, str], ...] = ()
    """The user's description of each folder prefix; "" is the whole vault."""
    inner: frozenset[str] = frozenset()
    """Folders in it, relative to `root`, that are separate vaults. Their notes do not belong to
    it."""
    others: frozenset[Path] = frozenset()
    """The real paths of the home's other vaults. A link to one of them hides no notes."""
    reader: str | None = None
    """The agent that reads the vault, if its access to domains is limited; None sees all domains.
    """


class Problem(Struct, frozen=True):
    """A failure of one part of an operation that continued."""

    what: str
    """The file, vault or part concerned, as a user would name it."""
    why: str
    """One sentence, with a remedy where there is one."""


class Section(Struct, frozen=True):
    """A heading and the text under it, up to the next heading of any level."""

    path: tuple[str, ...]
    """The headings above and including its own; empty before the first."""
    opens: int
    """The start of its heading line; equal to `start` without a heading."""
    start: int
    end: int


class Part(NamedTuple):
    """The position in a chunk's text where another page or section begins."""

    offset: int
    page: int | None
    headings: tuple[str, ...]


class Chunk(Struct, frozen=True):
    """The part of a memory that a hit returns and cites."""

    headings: tuple[str, ...]
    start: int
    """Character offset of its text in the note's text."""
    end: int
    first_line: int
    """The first line, from 1. It is the heading line if the chunk begins a section."""
    last_line: int
    page: int | None = None
    """The page on which the chunk begins."""
    parts: tuple[Part, ...] = ()
    """In a document: the pages and sections that begin after its first character."""


class Calibration(Struct, frozen=True):
    """A model's scale: `scale * cosine + shift` is comparable between models."""

    scale: float = 1.0
    shift: float = 0.0


class Progress(Struct, frozen=True):
    """The progress of a long run."""

    stage: Literal["read", "import", "record", "embed", "prepare", "wait", "check", "pull", "push"]
    done: int
    """The number of notes, of kB, of episodes, or of texts that are done."""
    total: int | None
    note: str = ""


ProgressCallback = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """The callback for callers that show no progress."""


class Filters(Struct, frozen=True):
    """Restricts which memories may answer. An empty tuple does not restrict."""

    vaults: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    planes: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    since: str | None = None
    """Inclusive ISO date or time, compared with the memory's own date. A day begins and ends in the
    time zone of this machine."""
    until: str | None = None
    as_of: str | None = None
    """Only memories that held at this time in UTC; see `notes.periods`."""
    where: tuple[tuple[str, str], ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    """("tag" | "type" | "path", value) pairs that a memory must not have."""


class LegScore(Struct, frozen=True):
    """The score of one leg for a hit."""

    raw: float
    """BM25 or cosine, as the leg measured it; 1 for the memory's own name."""
    rank: int | None
    """The rank in the leg's own list; null when the leg did not find the chunk by itself."""
    part: float
    """Its share of the shown score."""


class MemoryRef(Struct, frozen=True, kw_only=True):
    """The identity of a memory. Every record about a memory extends this one."""

    id: str | None
    """`mem_` and 16 characters, which never change; null for a note without an id."""
    vault: str
    """The name of its vault."""
    path: str
    """The path of its file, relative to the folder of the vault, with `/` on every system."""
    file: str = ""
    """The absolute path of its file."""
    block: str | UnsetType = UNSET
    """The block id of a section of a journal; absent for a memory that is a whole note."""

    @property
    def address(self) -> str:
        """`vault:path`, plus `#^block` for a section: a name for this memory alone."""
        block = "" if self.block is UNSET else f"#^{self.block}"
        return f"{self.vault}:{self.path}{block}"

    @property
    def place(self) -> tuple[str, str, str | UnsetType]:
        """Vault, path and block, which identify a memory in a home."""
        return self.vault, self.path, self.block


class Memory(MemoryRef, frozen=True, kw_only=True):
    """A memory, as a list shows it."""

    type: str | None
    """The type, such as `decision`; null for a plain note."""
    plane: str | None
    """The plane of the type: `semantic`, `episodic`, `knowledge` or `documents`."""
    title: str
    """The title from the front matter, else the first heading, else the name of the file."""
    tags: tuple[str, ...]
    """The tags without `#`, in alphabetical order. `a/b` is below `a`."""
    created: str | None
    """The time when the memory was written, as ISO 8601: a day, or a time in UTC."""
    updated: str | None
    """The time when the memory was last changed, as ISO 8601."""
    date: str
    """The day that the note is about, else the time when it was written, seen to change or last
    committed. Empty when none is known. `--since` and `--until` compare it."""
    domain: str | None = None
    """The domain, such as `work`; several are separated by commas. Null for a memory without one.
    """


class Hit(Memory, frozen=True, kw_only=True):
    """A chunk that answers, with its memory, its location and its score."""

    rank: int
    """The rank of the hit, from 1."""
    lines: tuple[int, int]
    """The first and the last line of the chunk in its file, from 1."""
    page_number: int | None
    """The page of the best passage; null for a note, and for a document without pages."""
    total_pages: int | None
    """The number of pages of the document; null for a file without pages."""
    document_id: str | None
    """The id of the document; null for a note."""
    filename: str | None
    """The name of the file that the document was made from; null for a note."""
    chunk_index: int
    """The position of the chunk in its memory, from 0."""
    heading: tuple[str, ...]
    """The headings above the chunk, from the outermost to its own."""
    snippet: str
    """The best passage of the chunk, on one line."""
    marks: tuple[tuple[int, int], ...]
    """Spans of matched words in `snippet`, as [start, end) character offsets."""
    excerpt: str
    """The text around the best passage, for a prompt: at most `search.excerpt` characters."""
    score: float
    """The score from 0 to 1, comparable across vaults and queries."""
    legs: dict[str, LegScore] = field(default_factory=dict)
    """Scores by leg, such as `words` and `meaning`; empty for a search by filters only."""
    context: str | None = None
    """The description of its folder, as set by `djinn vault describe`."""
    feedback: float = 0.0
    """The part of the score from similarity to the top hits."""
    before: int | None = None
    """The rank before reranking; null without a reranker."""
    valid_from: str | None = None
    """The day or time when the memory began to hold, if its note tells it."""
    valid_to: str | None = None
    """The day or time until which it holds. A day is included."""
    holds: str | None = None
    """The period in words, such as `until 3 May 2026`; null without a period."""
    as_of: str | None = None
    """For a fact in a search as of a time: that time. `snippet` is the value that held then."""
    via: tuple[str, ...] = ()
    """For a hit that links raised: the titles of the memories that lead to it, from one that
    matches to the one that is linked with the hit."""


class SearchStep(Struct, frozen=True):
    """The result of an optional part of a search."""

    name: Literal["expand", "rerank", "index"]
    """The setting that enabled it."""
    what: str
    """A description in one sentence."""
    milliseconds: float
    """The duration."""


class AskedPeriod(Struct, frozen=True):
    """A period that a question asks about, read from its words."""

    words: str
    """The words of the question, such as `last Tuesday`."""
    since: str | None
    """Its first day; null for an open beginning."""
    until: str | None
    """Its last day; null for an open end."""
    events: tuple[str, ...] = ()
    """If several memories could tell of the event in the words: their titles and days. The first
    was taken."""


class RankedAnswer(Struct, Generic[R], frozen=True):
    """An answer that lists memories, best first. In Python it is iterable and has a length.

    An answer without memories is false. A notebook shows it as a table.
    """

    def _ranked(self) -> tuple[R, ...]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[R]:
        return iter(self._ranked())

    def __len__(self) -> int:
        return len(self._ranked())

    def __repr__(self) -> str:
        answer, memories = cast(Any, self), cast(Any, self._ranked())
        titles = [repr(memory.title) for memory in memories[:CLOSEST]]
        titles += ["..."] * (len(memories) > CLOSEST)
        head = f"{type(self).__name__} for {answer.query!r}, {answer.verdict}"
        return f"<{head}: {', '.join(titles) or 'no memory'}>"

    def _repr_html_(self) -> str:
        from html import escape

        answer, memories = cast(Any, self), cast(Any, self._ranked())
        rows = [("", "Title", "Note", f"{answer.query} ({answer.verdict})")]
        for memory in memories:
            text = memory.snippet if isinstance(memory, Hit) else memory.text
            shown = " ".join(text[:MOST_IN_CELL].split())
            rows.append((str(memory.rank), memory.title, f"{memory.vault}:{memory.path}", shown))
        cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


class SearchResult(RankedAnswer[Hit], frozen=True):
    """The answer to one search."""

    query: str
    """The query as given."""
    mode: Mode
    """The legs that answered; only `words` when the meaning leg was unavailable."""
    confident: bool
    """False when no hit is likely to answer the query."""
    hits: tuple[Hit, ...]
    """The hits, best first."""
    suggestions: tuple[str, ...]
    """Similar spellings from the index, when there are no results."""
    pending: int
    """The number of changed notes that were not indexed before the search."""
    unembedded: int
    """The number of windows that are not embedded yet (keyword matches only)."""
    milliseconds: float
    """The duration of the search in milliseconds, without opening the home."""
    problems: tuple[Problem, ...]
    """Problems that kept a part of the search from answering."""
    steps: tuple[SearchStep, ...] = ()
    """The effects of query expansion and reranking, if requested."""
    periods: tuple[AskedPeriod, ...] = ()
    """The periods that were read from the question. Memories from them come first."""
    verdict: Known = "nothing"
    """Whether a hit is likely to answer (sure), may answer (weak), is only near, or none is."""

    def _ranked(self) -> tuple[Hit, ...]:
        return self.hits

    @property
    def shown(self) -> tuple[Hit, ...]:
        """The hits for people and agents: all if they are sure, those that may answer if one may,
        the closest if they are near.
        """
        if self.verdict == "sure":
            return self.hits
        shown = [hit for hit in self.hits if hit.score >= LEAST[self.verdict]]
        return tuple(shown[: CLOSEST if self.verdict == "near" else None])


class IndexReport(Struct, frozen=True):
    """The result of an index run."""

    notes: int
    """The number of notes in the scanned vaults."""
    read: int
    """The number of notes that were read because they seemed to have changed."""
    added: int
    """The number of new notes."""
    changed: int
    """The number of notes whose text has changed."""
    removed: int
    """The number of notes that no longer exist."""
    moved: int
    """The number of notes that moved to another path with unchanged text."""
    windows: int
    """The number of windows in the whole index, or in the vaults that the agent sees."""
    embedded: int
    """The number of texts that the model embedded in this run. For an agent, the number of new
    texts."""
    reused: int
    """The number of texts whose vectors came from the cache; 0 for an agent."""
    seconds: float
    """The duration."""
    problems: tuple[Problem, ...] = ()
    """Problems such as unreadable files. Any problem makes the exit code 1."""
