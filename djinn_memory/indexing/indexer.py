"""Updates the index from the vaults: reads changed files."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.chunking.chunks import (
    LEAST_ROOM,
    MODEL_READS,
    WINDOW_TOKENS,
    chunks,
    path_at,
    prefix,
    room,
    size,
    window_text,
    windows,
)
from djinn_memory.chunking.chunks import VERSION as CHUNKS_VERSION
from djinn_memory.chunking.tokens import (
    USUAL_TOKEN,
    estimated_starts,
    legible,
    most_tokens,
    token_counts,
    token_starts,
)
from djinn_memory.errors import DjinnError, NotFound
from djinn_memory.indexing.commits import commit_times
from djinn_memory.indexing.scan import changes, seen_again
from djinn_memory.models import (
    Chunk,
    IndexReport,
    Problem,
    Progress,
    ProgressCallback,
    Vault,
    silent,
)
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dialects.rules import RULES, of_vault
from djinn_memory.notes.note import DOCUMENT, Note
from djinn_memory.notes.note import VERSION as NOTES_VERSION
from djinn_memory.notes.note_file import NoteFile, content_hash, parse_appended, parse_file
from djinn_memory.notes.vault import FileStat, VaultListing, attachments, walk
from djinn_memory.store.index import compartments, links, memories, meta, words
from djinn_memory.store.index.memories import IndexedFile
from djinn_memory.store.index.memory_rows import ParsedMemory, Window, time_text
from djinn_memory.store.sqlite import Connection, DatabaseError, savepoint, transaction
from djinn_memory.store.state import State
from djinn_memory.store.vector_cache import text_hash

GIT_SECONDS, GIT_SECONDS_OF_A_SWEEP = 5.0, 0.2
"""The time limits of reading when the notes of a vault were last committed."""

COMMIT_SECONDS = 1.0
"""A kill loses at most the files that were read since the last commit."""

LARGE_BYTES = 5_000_000
"""Minimum size of a file that is announced before it is read. A megabyte takes a second."""

COMMIT_BYTES = 4_000_000
"""Maximum size of the notes that are held in memory and written in one transaction."""

NAMED = 5_000
"""Minimum number of characters without vectors at which a note gets a remark."""

Write = Callable[[], None]

MAKER = f"notes {NOTES_VERSION}, chunks {CHUNKS_VERSION}, words {words.VERSION}, dates 1"
"""The versions of the code that built an index. `djinn index` rebuilds an index of other
versions."""


class IndexTally(Struct):
    """The counts of a run so far."""

    notes: int = 0
    read: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    moved: int = 0
    pending: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def touched(self) -> bool:
        """Whether the index's content changed."""
        return bool(self.added or self.changed or self.removed or self.moved)


def movements(tally: IndexTally | IndexReport) -> str:
    """How the set of notes changed, such as `2 new, 1 moved`; empty if it did not."""
    counts = (
        (tally.added, "new"),
        (tally.changed, "changed"),
        (tally.moved, "moved"),
        (tally.removed, "removed"),
    )
    return ", ".join(f"{number:,} {word}" for number, word in counts if number)


def update(
    state: State,
    vaults: Sequence[Vault],
    *,
    rebuild: bool = False,
    progress: ProgressCallback = silent,
    deadline: float | None = None,
    at_most: int | None = None,
    only: Collection[str] | None = None,
    listings: Mapping[str, VaultListing] | None = None,
) -> IndexTally:
    """Read new and changed notes of `vaults`, and remove those that no longer exist.

    Words are searchable when this returns; `embed` adds the vectors. The scan of folders ends at
    `deadline`, a `time.monotonic` value. With `at_most`, only that many notes are read, and the
    others are counted as pending. With `only`, only these files and folders are scanned. A vault
    with one of `listings`, by its id, is not scanned again. The caller holds the index lock.
    """
    tally = IndexTally()
    connection = state.index
    if meta.get(connection, "maker") is None:
        meta.put(connection, "maker", MAKER)
    if state.home.grants:
        state.apply_grants()
    # A sweep before a search leaves an index of another maker to `djinn index`.
    whole = at_most is None and only is None
    anew = rebuild or (whole and outdated(connection))
    for vault in vaults:
        try:
            listing = (listings or {}).get(vault.id) or walk(
                vault, state.home.config.exclude, only=only, deadline=deadline
            )
        except NotFound as error:
            # Its notes stay in the index: a disk may be unplugged for a while.
            tally.problems.append(Problem(vault.name, str(error)))
            continue
        tally.problems += listing.problems
        tally.notes += len(listing.files)
        with transaction(connection):
            number, dialect = memories.vault_row(connection, vault)
        force = anew or (whole and dialect not in (None, vault.dialect))
        known = memories.known(connection, number, only)
        difference = changes(known, listing, force=force)
        room_left = None if at_most is None else max(0, at_most - tally.read)
        wanted = (*difference.suspects, *difference.racy)[:room_left]
        tally.pending += max(0, len(difference.suspects) - len(wanted))
        gone = {path: known[path] for path in difference.gone}
        _read(_Run(connection, vault, number, known, gone, tally, force), wanted, progress)
        looked = None if whole else [file.path for file in wanted]
        undated = memories.undated(connection, number, looked)
        seconds = GIT_SECONDS if whole else GIT_SECONDS_OF_A_SWEEP
        times = commit_times(vault.root, undated, seconds) if undated else {}
        with transaction(connection):
            memories.put_dates(connection, number, times)
            for entry in gone.values():
                memories.remove(connection, entry.note_id)
                tally.removed += 1
            if wanted or gone:
                for compartment in compartments.of_vault(connection, number):
                    words.merge_many(connection, compartment)
            if whole or dialect is None:
                memories.set_dialect(connection, number, vault.dialect)
            if wanted and not whole:
                read = memories.known(connection, number, [file.path for file in wanted])
                # A note that was only touched says what it said.
                before = {(path, entry.hash) for path, entry in known.items()}
                new = [
                    entry.note_id
                    for path, entry in read.items()
                    if (path, entry.hash) not in before
                ]
                meta.mark_uncompared(connection, new)
        if deadline is None:
            # The problems of all its notes, including those that were read earlier.
            tally.problems += [
                Problem(f"{vault.name}/{path}", entry.problem)
                for path, entry in memories.known(connection, number, only).items()
                if entry.problem
            ]
    if any(vault.reader for vault in vaults):
        # A note that a limited agent may not see has no problem that the agent may know.
        visible = memories.visible_notes(connection, vaults)
        shown = [each for each in tally.problems if "/" not in each.what or each.what in visible]
        tally.problems = shown
    return tally


def forget_others(state: State) -> None:
    """Remove vaults that the home no longer has."""
    with transaction(state.index):
        memories.keep_vaults(state.index, {vault.id for vault in state.home.vaults})


def outdated(connection: Connection) -> bool:
    """Whether another version of djinn built this index."""
    return meta.get(connection, "maker") not in (None, MAKER)


def resolve_links(state: State) -> None:
    """Resolve links if a note or an attachment changed."""
    vaults, exclude = state.home.vaults, state.home.config.exclude
    files = [(vault.name, path) for vault in vaults for path in attachments(vault, exclude)]
    scope = sorted(
        (vault.id, vault.name, vault.agent or "", of_vault(vault).title_format) for vault in vaults
    )
    mark = hashlib.blake2b(repr((scope, sorted(files))).encode(), digest_size=16).hexdigest()
    if links.settled(state.index) != mark:
        with transaction(state.index):
            links.resolve(state.index, vaults, files, mark)


class _Run(Struct):
    """The update of one vault."""

    connection: Connection
    vault: Vault
    number: int
    known: dict[str, IndexedFile]
    gone: dict[str, IndexedFile]
    """Notes whose files no longer exist. Those that appear at another path are removed from
    this."""
    tally: IndexTally
    force: bool


def _read(run: _Run, files: Sequence[FileStat], progress: ProgressCallback) -> None:
    """Read files in short transactions, so that readers and a kill never see part of a note."""
    moved = {entry.hash: entry for entry in run.gone.values()}
    at = 0
    while at < len(files):
        began, size = time.monotonic(), 0
        ready: deque[Write] = deque()
        # Parsed before the transaction begins: others can write meanwhile.
        while at < len(files) and size < COMMIT_BYTES and time.monotonic() - began < COMMIT_SECONDS:
            # A limited agent may not see it.
            if files[at].size >= LARGE_BYTES and not run.vault.reader:
                name, megabytes = f"{run.vault.name}/{files[at].path}", files[at].size / 1e6
                progress(Progress("wait", 0, None, f"reading {name} ({megabytes:,.0f} MB)"))
            ready += _read_file(run, files[at], moved)
            size += files[at].size
            at += 1
        with transaction(run.connection):
            # A large note is let go before the next one is read.
            while ready:
                ready.popleft()()
        progress(Progress("read", at, len(files), run.vault.name))


def _read_file(run: _Run, file: FileStat, moved: dict[bytes, IndexedFile]) -> Iterator[Write]:
    """Read a file. Returns the content to write."""
    tally = run.tally
    seen = time.time_ns()
    try:
        data = disk.read(run.vault, file.path)
    except FileNotFoundError:
        return
    except (OSError, DjinnError) as error:
        why = getattr(error, "strerror", None) or str(error)
        tally.problems.append(Problem(f"{run.vault.name}/{file.path}", f"cannot be read: {why}"))
        return
    tally.read += 1
    digest = content_hash(data)
    before = run.known.get(file.path)
    if before and before.hash == digest and not run.force:
        counts = seen_again(before, file, seen)
        if before.stat != file or before.seen_ns != counts:
            yield partial(memories.touch, run.connection, before.note_id, file, counts)
        return
    if before is None and digest in moved:
        before = moved.pop(digest)
        run.gone.pop(before.stat.path, None)
        tally.moved += 1
        yield partial(memories.touch, run.connection, before.note_id, file, seen)
    elif before is None:
        tally.added += 1
    else:
        tally.changed += 1
    changed = before.changed if before else None
    if before and before.hash != digest:
        changed = time_text(file.mtime_ns / 1e9)
    with _costing_only_itself(run, file):
        if before and (content := _appended(run, before, file, data)):
            parsed = {memory.block: _cut(memory.parse(), run) for memory in content.memories}
            if not _illegible(parsed.values()):
                values = file, seen, digest, content, parsed, changed
                yield partial(_put, run, *values, appended=True)
                return
        content = parse_file(file.path, data, run.vault.dialect)
        del data  # A note may have 50 MB, and its text is in memory too.
        # A path is searched too, so another path changes the words of all memories.
        same_place = before is not None and before.stat.path == file.path and not run.force
        known = memories.of_note(run.connection, before.note_id) if before and same_place else {}
        parsed = {}
        for memory in content.memories:
            # A memory that the index has already is not cut again.
            if memory.block not in known or known[memory.block].digest != memory.digest:
                parsed[memory.block] = _cut(memory.parse(), run)
        if remark := _illegible(parsed.values()):
            problem = f"{content.problem}; {remark}" if content.problem else remark
            content = replace(content, problem=problem)
        yield partial(_put, run, file, seen, digest, content, parsed, changed)


def _appended(run: _Run, before: IndexedFile, file: FileStat, data: bytes) -> NoteFile | None:
    """The new records of a journal to which records were appended since it was read, and no more.

    None for a file that changed in any other way.
    """
    size = before.stat.size
    if run.force or before.problem or before.stat.path != file.path or not 0 < size < len(data):
        return None
    content = parse_appended(file.path, data, size, run.vault.dialect)
    if content is None or content_hash(data[:size]) != before.hash:
        return None
    blocks = [memory.block for memory in content.memories]
    return content if memories.can_append(run.connection, before.note_id, blocks) else None


def _cut(note: Note, run: _Run) -> ParsedMemory:
    return ParsedMemory(note, list(cut(note, outline=RULES[run.vault.dialect].outline)))


def _put(
    run: _Run,
    file: FileStat,
    seen: int,
    digest: bytes,
    content: NoteFile,
    parsed: dict[str | None, ParsedMemory],
    changed: str | None,
    *,
    appended: bool = False,
) -> None:
    with _costing_only_itself(run, file), savepoint(run.connection):
        memories.put(
            run.connection, run.number, file, seen, digest, content, parsed, changed,
            appended=appended,
        )  # fmt: skip


@contextmanager
def _costing_only_itself(run: _Run, file: FileStat) -> Iterator[None]:
    """Turn an error into a problem of the note, unless the database or the disk caused it."""
    try:
        yield
    except (DatabaseError, DjinnError):
        raise
    except Exception as error:
        why = (
            f"cannot be parsed ({type(error).__name__}: {error}); exclude the file and "
            "report this bug"
        )
        run.tally.problems.append(Problem(f"{run.vault.name}/{file.path}", why))


def _illegible(parsed: Iterable[ParsedMemory]) -> str | None:
    """A remark if much of the text is not embedded."""
    windows = (window for memory in parsed for _, cut in memory.chunks for window in cut)
    characters = sum(window.end - window.start for window in windows if not window.hash)
    if characters < NAMED:
        return None
    return (
        f"{characters:,} characters of data or minified text are not embedded (keyword "
        "matches only)"
    )


def cut(note: Note, *, outline: bool = False) -> Iterator[tuple[Chunk, list[Window]]]:
    """The chunks of a note with their windows. An `outline` is cut between its items.

    A document is cut by the plan in its front matter.
    """
    tokens: Sequence[int]
    # The sizes in a document's plan are exact.
    if note.type == DOCUMENT:
        tokens, counted = token_starts(note.searched), True
    elif most_tokens(f"{note.title} {note.searched[note.body :]}") <= WINDOW_TOKENS:
        # It fits into one window, so that its tokens need not be counted.
        tokens, counted = range(0, len(note.searched), USUAL_TOKEN), True
    else:
        tokens, counted = estimated_starts(note.searched)
    parts = _planned(note, tokens)
    if parts is None:
        parts = chunks(note.searched, note.body, tokens, outline=outline)
    # The day on which a document was ingested says nothing about its content.
    date = None if note.type == DOCUMENT else note.date
    for chunk in parts:
        line = prefix(note.title, chunk.headings, date, note.type)
        whole = chunk.start, chunk.end
        # The tokens of a prefix are counted only for a chunk that may not fit beside it.
        fits = size(whole, tokens) <= LEAST_ROOM
        spans = [whole] if fits else windows(*whole, tokens, room(line))
        texts = [
            window_text(
                prefix(
                    note.title,
                    path_at(chunk.headings, chunk.parts, start - chunk.start),
                    date,
                    note.type,
                ),
                note.searched[start:end],
            )
            for start, end in spans
        ]
        if counted:
            lengths = [size(span, tokens) for span in spans]
        else:
            # A span of an estimated size may be longer than the model reads. Data is not embedded.
            lengths = token_counts([text if legible(text) else "" for text in texts])
        yield (
            chunk,
            [
                Window(start - chunk.start, end - chunk.start, _key(text, length), length)
                for (start, end), text, length in zip(spans, texts, lengths, strict=True)
            ],
        )


def _key(text: str, length: int) -> bytes | None:
    """The key of a text of this length in tokens; None if it is not embedded."""
    return text_hash(text) if length <= MODEL_READS and legible(text) else None


def _planned(note: Note, tokens: Sequence[int]) -> list[Chunk] | None:
    """The chunks of a document with a plan in its front matter; None for any other note."""
    if note.type != DOCUMENT:
        return None
    # Imported here: a search that reads a note rarely reads a document.
    from djinn_memory.chunking.strategies import cut, written_plan
    from djinn_memory.notes.pages import pages

    plan = written_plan(note.fields)
    there = pages(note.text, note.body) if plan else []
    return cut(note.searched, note.body, tokens, there, plan) if plan else None
