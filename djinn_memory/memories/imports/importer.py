"""Records the exchanges of exports as episodes, in batches, each exchange once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import PurePosixPath

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import Busy, DjinnError, Unavailable
from djinn_memory.home.hidden_paths import HiddenPaths
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.episodes.recorder import Turn, known_replies, record_turns
from djinn_memory.memories.episodes.requests import CALENDAR
from djinn_memory.memories.imports import messages, requests
from djinn_memory.memories.imports.calendar import MOST_EVENTS, nearest, write_calendars
from djinn_memory.memories.imports.detect import Export, requested_exports
from djinn_memory.memories.imports.hooked import HookedPrompts
from djinn_memory.memories.imports.occurrences import ImportPeriod
from djinn_memory.memories.imports.reading import Reading
from djinn_memory.memories.library.ingest import index_documents
from djinn_memory.memories.profiles.agenda import PlannedEvent
from djinn_memory.memories.writing.change_set import ChangeSet, check_writable, writing
from djinn_memory.models import Problem, Progress, Vault
from djinn_memory.runtime import Runtime
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count as number_of
from djinn_memory.system.plural import duration
from djinn_memory.system.waits import WaitBudget, limited


class _EmbeddingAhead:
    """A thread that embeds indexed texts, until the end of a block.

    Recording keeps one core busy, and the model can use the others meanwhile. It is a help only:
    texts that it does not embed, or cannot, are left for `djinn index`.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._thread: threading.Thread | None = None
        self._more = threading.Event()
        self._ends = threading.Event()
        self._waits = WaitBudget()
        self.embedded = 0
        """The number of texts that were embedded."""

    def __enter__(self) -> _EmbeddingAhead:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._waits.end()
        self._more.set()
        if self._thread:
            self._thread.join()

    def begin(self) -> None:
        """Embed the texts that are indexed now. The call returns at once."""
        self._more.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="djinn-embed", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        # A home's databases serve one thread at a time.
        runtime = Runtime(Home(self._home.root))
        try:
            while self._more.wait() and not self._ends.is_set():
                self._more.clear()
                with suppress(DjinnError), limited(self._waits):
                    self._embed(runtime)
        finally:
            runtime.close()

    def _embed(self, runtime: Runtime) -> None:
        from djinn_memory.indexing.embed import embed_all

        models = runtime.models
        embedder, recipe = models.embedder, models.recipe
        if embedder is None or not embedder.local or not embedder.ready:
            return

        def wanted() -> bool:
            return not self._ends.is_set() and models.wanted(recipe)

        embedded, _ = embed_all(
            runtime.state,
            embedder,
            recipe,
            progress=runtime.progress,
            rebuild=False,
            waits=False,
            wanted=wanted,
        )
        self.embedded += embedded


FIRST_BATCH = 125
"""Number of exchanges that are recorded first. The model starts with them, while others are read.
Each further batch is twice as large, up to `BATCH`."""

BATCH = 2_000
"""Number of exchanges that are recorded at once, and the rest of their day. A kill loses at most
twice as many."""

BATCH_CHARACTERS = 4_000_000
"""Maximum characters of these exchanges, which limits the memory that they take."""

MOST_READ = 256_000_000
"""Bytes of exchanges that are read before they are recorded, which limits the temporary file."""

PROGRESS_BYTES = 1_000_000
"""Bytes between two reports of the progress."""


def import_history(runtime: Runtime, request: requests.ImportHistory) -> requests.ImportReport:
    """Record the exchanges in exports as episodes in the vault of the agent.

    Exchanges that were recorded or purged before are not recorded again, so that a killed import
    can be repeated. Raises `UsageError` when nothing in the paths can be imported, and `Busy` while
    another process imports into the same vault.
    """
    began = time.monotonic()
    agent = runtime.home.agent(request.agent)
    vault = runtime.home.personal(agent)
    check_writable(vault)
    if request.domain is not None:
        runtime.home.check_domains([request.domain], agent)
    problems: list[Problem] = []
    exports = [*requested_exports(request, HiddenPaths(runtime.home, agent), problems)]
    total = sum(export.size for export in exports)
    ahead, hooked = _EmbeddingAhead(runtime.home), HookedPrompts(runtime, agent)
    run = _Run(runtime, request, agent, vault, problems, ahead, hooked, total)
    with _alone(runtime, vault):
        # The index tells which exchanges are recorded, so it must be complete.
        read(runtime.state, [vault], progress=runtime.progress)
        with run.ahead:
            try:
                for export in exports:
                    run.read(export)
                run.record_all()
                calendars = run.end()
            except BaseException:
                if run.recorded:
                    run.planned.clear()
                    run.end()
                raise
            finally:
                run.exchanges.close()
    embedded = run.ahead.embedded + run.index()
    files = tuple(count.answer() for count in run.files)
    return requests.ImportReport(
        files,
        sum(file.recorded for file in files),
        sum(file.known for file in files),
        run.masked,
        embedded,
        request.dry_run,
        time.monotonic() - began,
        calendars,
        tuple(run.problems),
    )


@contextmanager
def _alone(runtime: Runtime, vault: Vault) -> Iterator[None]:
    """Lock out other imports into a vault. Raises `Busy` at once while there is one."""
    place = runtime.home.state / "locks" / f"import-{vault.id.replace('/', '-')}.lock"
    with ExitStack() as stack:
        try:
            stack.enter_context(lock(place, timeout=0.2, pulse=None))
        except Busy:
            raise Busy(
                f"another process imports into vault {vault.name}; try again when it has finished"
            ) from None
        yield


def _period(now: datetime, runtime: Runtime) -> ImportPeriod:
    """The time whose occurrences of repeating events are read."""
    settings = runtime.home.config.imports
    return ImportPeriod(
        now - duration(settings.calendar_past), now + duration(settings.calendar_future)
    )


class _FileCount(Struct):
    """How much of an export has been imported."""

    export: Export
    sessions: set[int] = field(default_factory=set)
    episodes: int = 0
    recorded: int = 0
    known: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def answer(self) -> requests.ImportedFile:
        return requests.ImportedFile(
            self.export.shown,
            self.export.format,
            len(self.sessions),
            self.episodes,
            self.recorded,
            self.known,
            dict(self.left_out.most_common()),
        )


class _Run(Struct):
    """One import."""

    runtime: Runtime
    request: requests.ImportHistory
    agent: str
    vault: Vault
    problems: list[Problem]
    ahead: _EmbeddingAhead
    hooked: HookedPrompts
    bytes: int
    """The size of all exports."""
    done: int = 0
    """The number of bytes that were read."""
    reported: int = 0
    masked: int = 0
    files: list[_FileCount] = field(default_factory=list)
    exchanges: messages.Chronology = field(default_factory=messages.Chronology)
    """The exchanges that were read, each with the number of its file."""
    batch: list[tuple[_FileCount, messages.Exchange]] = field(default_factory=list)
    """The exchanges that are recorded next, each with its file."""
    characters: int = 0
    """The size of the batch."""
    most: int = FIRST_BATCH
    """Maximum number of exchanges in the batch."""
    planned: dict[str, list[PlannedEvent]] = field(default_factory=dict)
    """The coming events of calendars, by calendar."""
    changes: ChangeSet = field(default_factory=ChangeSet)
    """The change of the import."""
    recorded: int = 0
    written: bool = False
    """Whether an episode was recorded."""
    seen: set[str] = field(default_factory=set)
    """In a dry run: the sources so far, which are not in the index."""

    def read(self, export: Export) -> None:
        """Record the exchanges of an export."""
        count = _FileCount(export)
        self.files.append(count)
        now = self.runtime.now()
        user = (self.request.person or "").strip().casefold()
        reading = Reading(export, user, now, _period(now, self.runtime), self._advance)
        changed = min(now, max(export.tree.entries[name].at for name in export.names))
        for entry in messages.exchanges(messages.timed(reading.messages(), changed)):
            if isinstance(entry, Problem):
                self.problems.append(entry)
            elif isinstance(entry, messages.LeftOut):
                count.left_out[entry.reason] += entry.number
            elif isinstance(entry, PlannedEvent):
                planned = self._calendar(count, entry.calendar)
                planned.append(entry)
                if len(planned) >= 10 * MOST_EVENTS:
                    planned[:] = nearest(planned)
            else:
                self._count(count, entry)
                self.exchanges.add(len(self.files) - 1, entry)
                if self.exchanges.size >= MOST_READ:
                    self.record_all()

    def _count(self, count: _FileCount, exchange: messages.Exchange) -> None:
        count.episodes += 1
        if count.export.format == "calendar":
            # A calendar without coming events has a note that must lose those of an earlier import.
            self._calendar(count, exchange.first.session)
        count.sessions.add(hash(exchange.first.session))

    def record_all(self) -> None:
        """Record the exchanges that were read, day by day, so that each journal is opened once."""
        total, day = len(self.exchanges), None
        for done, (number, exchange) in enumerate(self.exchanges.take()):
            assert exchange.first.at is not None
            last, day = day, exchange.first.at.astimezone().date()
            if self._full(new_day=day != last):
                self._record()
                self.most = min(2 * self.most, BATCH)
                if self.written:
                    self.ahead.begin()
                self.runtime.progress(Progress("record", done, total))
            self.batch.append((self.files[number], exchange))
            self.characters += len(exchange.first.text) + sum(map(len, exchange.replies))
        self._record()

    def _full(self, *, new_day: bool) -> bool:
        """Whether the batch is recorded before an exchange of this day or of a new one is added."""
        most = self.most if new_day else 2 * self.most
        return len(self.batch) >= most or self.characters >= BATCH_CHARACTERS

    def _calendar(self, count: _FileCount, name: str) -> list[PlannedEvent]:
        """The coming events of a calendar so far. One without a name is named after its file."""
        name = PurePosixPath(count.export.shown).stem if name == CALENDAR else name
        return self.planned.setdefault(name, [])

    def end(self) -> tuple[requests.WrittenCalendar, ...]:
        """Write the coming events of the calendars, in one change with the episodes."""
        if self.request.dry_run:
            return ()
        self.changes.what = f"Imported {number_of(self.recorded, 'episode')}"
        domain = self.request.domain
        with self._writes(), writing(self.runtime, self.vault, "import", self.agent) as writer:
            writer.changes = self.changes
            with self.changes.attempt():
                calendars = write_calendars(self.runtime, self.agent, writer, self.planned, domain)
        self.problems += writer.problems
        self.written = self.written or bool(calendars)
        return tuple(calendars)

    @contextmanager
    def _writes(self) -> Iterator[None]:
        """Report a vault that cannot be written in one line."""
        try:
            yield
        except OSError as error:
            raise Unavailable(
                f"vault {self.vault.name} cannot be written: {error.strerror or error}; "
                "correct this, then import again; what was recorded is kept"
            ) from None

    def _advance(self, number: int) -> None:
        self.done += number
        if self.done - self.reported >= PROGRESS_BYTES:
            self.reported = self.done
            total = max(self.bytes, self.done)
            self.runtime.progress(Progress("import", self.done >> 10, total >> 10, "kB"))

    def _record(self) -> None:
        """Record the batch, as far as it is new."""
        turns = self._new_turns()
        self.batch, self.characters = [], 0
        if turns and not self.request.dry_run:
            with self._writes():
                episodes = record_turns(self.runtime, self.agent, turns, changes=self.changes)
            self.recorded += len(episodes)
            self.masked += sum(episode.masked for episode in episodes)
            self.written = True

    def _new_turns(self) -> list[Turn]:
        """The turns of the exchanges of the batch that are new, in chronological order."""
        drafts: dict[str, tuple[_FileCount, Turn, Sequence[str]]] = {}
        now = self.runtime.now()
        for count, exchange in self.batch:
            turn = messages.draft(count.export.format, exchange, now)
            source = str(turn.source)
            if source in self.seen or source in drafts:
                count.known += 1
            else:
                drafts[source] = count, turn, exchange.replies
        if self.request.dry_run:
            self.seen.update(drafts)
        recorded = known_replies(self.runtime, self.agent, [*drafts])
        turns: list[Turn] = []
        for source, (count, turn, replies) in drafts.items():
            known = source in recorded
            more = self._continued(turn, replies, recorded[source]) if known else turn
            if more is None or (not known and self.hooked.take(turn)):
                count.known += 1
            else:
                count.recorded += 1
                turns += (
                    replace(piece, domain=self.request.domain) for piece in messages.pieces(more)
                )
        return sorted(turns, key=lambda turn: turn.at)

    def _continued(self, turn: Turn, replies: Sequence[str], have: int) -> Turn | None:
        """The replies to a recorded message that are not recorded yet; None if there are none."""
        while have < len(replies):
            more = messages.continuation(turn, replies[have:], have)
            source = str(more.source)
            recorded = known_replies(self.runtime, self.agent, [source])
            if source not in recorded:
                return more
            have += recorded[source]
        return None

    def index(self) -> int:
        """Embed the new episodes. Returns the number of texts that the model embedded."""
        if not self.written:
            return 0
        # `djinn index` reports the problems of a text, such as that it is data.
        embedded, problems = index_documents(
            self.runtime.state, self.runtime.models, self.vault, (), self.runtime.progress
        )
        self.problems += problems
        return embedded
