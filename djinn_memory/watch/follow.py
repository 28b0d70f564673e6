"""Watches the vaults of a home, so that changes are searchable a moment later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from queue import Empty

from djinn_memory.errors import Busy, ConfigError, DjinnError, Refused, Unavailable
from djinn_memory.home.config import user_path
from djinn_memory.home.home import Home
from djinn_memory.home.watcher import claim
from djinn_memory.indexing.indexer import movements, outdated
from djinn_memory.indexing.scan import RACY_NS
from djinn_memory.memories.hooks.intake import take_in
from djinn_memory.memories.proposals.new_notes import compare_new_notes
from djinn_memory.models import Problem
from djinn_memory.runtime import Runtime
from djinn_memory.store.inspection import index_content
from djinn_memory.store.sqlite import STORE_ERRORS
from djinn_memory.system.files import file_id, file_version
from djinn_memory.system.plural import count
from djinn_memory.upkeep.jobs.job import Job
from djinn_memory.upkeep.runner import due, run_jobs
from djinn_memory.watch import catchup
from djinn_memory.watch.catchup import Backoff, KeptServer
from djinn_memory.watch.events import FollowedFolders
from djinn_memory.watch.heard import (
    ALL,
    FileChanged,
    FileDropped,
    Heard,
    Notice,
    PendingChanges,
    StopWatch,
    Tell,
)
from djinn_memory.watch.inbox import FAILURES, Inbox, Mark, inbox_folder

TICK_SECONDS = 1.0
"""Seconds between two checks of the settings, the index file and the folders."""

BURST_SECONDS = 0.5
"""Maximum seconds to wait for a series of changes to end."""

JOB_SECONDS = 60.0
"""Seconds between two checks whether a job is due."""

UPKEEP = "djinn watch"
"""Who changes notes in upkeep, so that a person's undo without an id leaves them."""


def follow(
    home: Home, names: Sequence[str], tell: Tell, heard: Heard, *, jobs: Sequence[Job] = ()
) -> None:
    """Keep the index up to date with all or the named vaults, until `heard` gets `StopWatch`.

    It begins with a scan of all vaults. Then it follows file events, polls where there are none,
    and repeats the full scan from time to time. Due `jobs` run when there is no other work. Raises
    `Busy` when another process already watches the home.
    """
    watched: Home | None = home
    settled: dict[str, Mark] = {}
    server = KeptServer()
    try:
        while watched:
            # By the new settings its state may lie elsewhere.
            with claim(watched):
                watched = _Watch(watched, names, tell, heard, settled, server, jobs).run()
    finally:
        server.release()


@dataclass(eq=False)
class _Watch:
    """A run with the settings that were read at its start."""

    _home: Home
    _names: Sequence[str]
    _tell: Tell
    _heard: Heard
    _settled: dict[str, Mark]
    _server: KeptServer
    _jobs: Sequence[Job]

    def __post_init__(self) -> None:
        home, names = self._home, self._names
        self._settings = home.config.watch
        self._vaults = {vault.name: vault for vault in home.named(names)}
        self._runtime = Runtime(home)
        # The command reports the problems of the settings itself.
        self._runtime.problems = []
        self._state, self._models = self._runtime.state, self._runtime.models
        self._folders = FollowedFolders(
            self._vaults.values(), self._heard, home.state, poll=self._settings.poll == "always"
        )
        self._inbox: Inbox | None = None
        self._pending = PendingChanges(self._vaults)
        self._reading, self._making, self._taking = Backoff(), Backoff(), Backoff()
        self._serving = Backoff()
        self._warned: set[str] = set()
        self._last: Notice | None = None
        self._stopped = False
        self._next: Home | None = None
        """The home with its new settings, after they changed."""
        self._first_steps = [lambda: catchup.warm(self._models)]
        if not names:
            # These concern the whole home: a watch of some vaults does not do them.
            self._first_steps.append(lambda: catchup.finish(self._state))
        self._idle = self._links_due = False
        self._written = self._marks()
        self._file: object = None
        self._looked = self._polled = self._reconciled = self._jobs_checked = 0.0

    def run(self) -> Home | None:
        """Watch until the settings change; return the home with these, or None on `StopWatch`."""
        try:
            self._begin()
            while not self._ended:
                self._hear(self._patience())
                self._look_after()
                self._work()
                now = time.monotonic()
                if self._jobs and self._idle and now - self._jobs_checked > JOB_SECONDS:
                    self._jobs_checked = now
                    self._try(self._run_jobs, self._making)
        finally:
            self._folders.close()
            if self._inbox:
                self._inbox.close()
            self._state.close()
        return None if self._stopped else self._next

    @property
    def _ended(self) -> bool:
        return self._stopped or self._next is not None

    def _begin(self) -> None:
        try:
            self._state.need_writable()
        except STORE_ERRORS as error:
            if not self._set_aside(error):
                raise
        self._file = file_id(self._home.index_path)
        few = len(self._vaults) <= 2
        vaults = ", ".join(self._vaults) if few else f"{len(self._vaults)} vaults"
        self._say(Notice("start", f"watching {vaults or 'no vaults'}"))
        self._follow_folders()
        self._open_inbox()
        self._reconcile()

    def _open_inbox(self) -> None:
        if self._home.config.inbox is None or self._inbox:
            return
        try:
            folder = inbox_folder(self._home, self._home.config.inbox, self._vaults.values())
        except ConfigError as error:
            self._warn(f"inbox: {error}")
        else:
            self._folders.follow_inbox(folder)
            self._inbox = Inbox(self._home, folder, self._heard, self._settled)

    def _hear(self, patience: float) -> None:
        """Wait for the first event for `patience` seconds, and then for a pause between events."""
        first = time.monotonic() + patience
        while self._take(patience) and not self._stopped:
            first = min(first, time.monotonic())
            if time.monotonic() - first > BURST_SECONDS:
                return
            patience = self._settings.debounce_ms / 1000

    def _take(self, patience: float) -> bool:
        """Handle one event. Returns False if there is none within `patience` seconds."""
        try:
            event = self._heard.get(timeout=patience) if patience else self._heard.get_nowait()
        except Empty:
            return False
        if isinstance(event, StopWatch):
            self._stopped = True
        elif isinstance(event, Notice):
            self._say(event)
        elif isinstance(event, FileDropped):
            if self._inbox:
                self._inbox.offer(event.path)
        else:
            self._pending.add(event)
        return True

    def _ending(self) -> bool:
        while self._take(0):
            pass
        self._look_at_settings()
        return self._ended

    def _urgent(self) -> bool:
        """Whether there is an event that must not wait for a long run."""
        return self._ending() or self._pending.single

    def _patience(self) -> float:
        """The seconds until there is work to do without an event."""
        if self._idle and not self._pending:
            return TICK_SECONDS
        waits = self._reading if self._pending else self._making
        return min(waits.left(time.monotonic()), TICK_SECONDS)

    def _look_after(self) -> None:
        """Check everything for which there are no events."""
        now = time.monotonic()
        if now - self._looked < TICK_SECONDS:
            return
        self._looked = now
        self._look_at_settings()
        if (file := file_id(self._home.index_path)) != self._file:
            # Set aside or deleted: nobody sees later writes into the open file.
            self._file = file
            self._state.close()
            self._reconcile()
        self._follow_folders()
        if not self._names:
            self._try(self._take_in, self._taking)
        self._pending.ripen(now)
        if now - self._polled > self._settings.poll_seconds:
            self._polled = now
            self._try(lambda: self._server.keep(self._home), self._serving)
            for name in self._folders.polled:
                self._pending.add(FileChanged(name, ALL))
            self._open_inbox()
            if self._inbox and not self._folders.follow_inbox(self._inbox.folder):
                self._inbox.look()
        if now - self._reconciled > self._settings.reconcile_seconds:
            self._reconcile()
            if self._inbox:
                self._inbox.look()

    def _reconcile(self) -> None:
        self._reconciled = time.monotonic()
        self._links_due = True
        self._pending.add(FileChanged(None, ALL))

    def _follow_folders(self) -> None:
        for name in self._folders.renew():
            self._pending.add(FileChanged(name, ALL))
        for name, why in self._folders.polled.items():
            self._warn(f"{name}: scanned every {self._settings.poll_seconds:g} s, because {why}")

    def _look_at_settings(self) -> None:
        written = self._marks()
        if written == self._written:
            return
        self._written = written
        try:
            home = Home(self._home.root)
            home.named(self._names)
            new, used = ((each.config, each.grants) for each in (home, self._home))
            self._next = home if new != used else None
        except (DjinnError, OSError) as error:
            self._warn(f"the previous settings stay in effect: {error}")

    def _marks(self) -> object:
        paths = self._home.config_path, user_path(), self._home.keys_path
        return [file_version(path) for path in paths]

    def _work(self) -> None:
        if self._ended:
            return
        if self._pending:
            self._try(self._read, self._reading)
        elif not self._idle:
            self._try(self._finish, self._making)

    def _try(self, step: Callable[[], None], backoff: Backoff) -> None:
        if backoff.left(time.monotonic()):
            return
        try:
            step()
        except catchup.CatchupInterrupted:
            return
        except Busy:
            backoff.busy(time.monotonic())
        except Refused:
            # A newer djinn made the index, and can follow the vaults too.
            raise
        except FAILURES as error:
            if not self._set_aside(error):
                self._warn(" ".join(str(error).split()))
                backoff.failed(time.monotonic())
        else:
            backoff.worked()

    def _set_aside(self, error: Exception) -> bool:
        """Whether an error came from a damaged database.

        The database is then set aside and rebuilt.
        """
        try:
            if not (isinstance(error, STORE_ERRORS) and self._state.set_aside_after(error)):
                return False
        except Unavailable:
            return False
        self._warn_of(self._state.problems)
        self._reconcile()
        return True

    def _read(self) -> None:
        """Read the changes that have waited longest."""
        name, paths = self._pending.take()
        self._idle = False
        began = time.monotonic()
        try:
            # An index of another version is read anew as a whole, each time from the beginning.
            long = paths is None and not outdated(self._state.index)
            tally = catchup.read(
                self._state, self._vaults[name], paths, self._urgent if long else self._ending
            )
        except BaseException:
            for path in paths or [ALL]:
                self._pending.add(FileChanged(name, path))
            raise
        self._warn_of(tally.problems)
        if tally.touched:
            few = f" ({', '.join(paths)})" if paths and len(paths) <= 3 else ""
            self._say(Notice("update", f"{name}: {movements(tally)}{few}, {_since(began)}"))
            for path in paths or ():
                # Read so soon after it was written, its times prove nothing yet.
                self._pending.add_later(FileChanged(name, path), began + RACY_NS / 1e9)

    def _finish(self) -> None:
        """Compute vectors and resolve links for the notes that were read."""
        while self._first_steps:
            self._first_steps[-1]()
            self._first_steps.pop()
        began = time.monotonic()
        try:
            embedded = catchup.embed_some(self._state, self._models, self._urgent)
            compare_new_notes(self._runtime)
        finally:
            # No event reports the attachments that links lead to.
            catchup.settle(self._state, anew=self._links_due)
            self._links_due = False
        if embedded:
            self._say(Notice("embed", f"{count(embedded, 'text')} embedded, {_since(began)}"))
        if not self._urgent():
            self._idle = True
            notes = index_content(self._state.index).notes
            idle = Notice("idle", f"{count(notes, 'note')} searchable")
            # A regular look has nothing new to say.
            if idle != self._last:
                self._say(idle)

    def _take_in(self) -> None:
        """Take in the entries of hooks. The journals that this writes are indexed with it."""
        take_in(self._runtime)
        self._warn_of(self._runtime.problems)
        self._runtime.problems.clear()

    def _run_jobs(self) -> None:
        jobs = due(self._jobs, self._state, self._runtime.now())
        with self._runtime.busy(patient=True, caller=UPKEEP):
            report = run_jobs(jobs, self._runtime, dry_run=False)
        for action in report.deeds:
            self._say(Notice("update", f"{action.task}: {action.what}"))
        self._warn_of(report.problems)

    def _say(self, notice: Notice) -> None:
        self._last = notice
        self._tell(notice)

    def _warn_of(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self._warn(f"{problem.what}: {problem.why}")

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._say(Notice("warning", text))


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"
