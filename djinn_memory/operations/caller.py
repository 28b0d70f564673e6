"""Who calls operations, and the queue in which their calls on a home run."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from msgspec import Struct

from djinn_memory.errors import DjinnError, Unavailable, Wording, using_wording
from djinn_memory.home.access import limited_by
from djinn_memory.home.config import user_path
from djinn_memory.home.home import Home
from djinn_memory.home.keys import Key
from djinn_memory.home.trust import trust_path
from djinn_memory.models import Problem
from djinn_memory.operations import Rights, Verb
from djinn_memory.operations.operation import Namespace
from djinn_memory.runtime import Announce, unheard
from djinn_memory.secrets import mask
from djinn_memory.store.ledger import TOOL_CALLED, Event
from djinn_memory.store.sqlite import STORE_ERRORS
from djinn_memory.store.state import State
from djinn_memory.system.files import file_version
from djinn_memory.system.plural import count

LONGEST = 1000
"""Maximum length of a text that is kept. A longer text is not kept at all, because `purge` only
removes texts that it finds whole."""

MOST = 50
"""Maximum number of values of a list or an object that are kept."""

_LABELS = {"value": ("category", "key"), "text": ("title",)}
"""Arguments that label other arguments, such as `WiFi password` for `hunter2`."""


class ToolCall(Struct, frozen=True):
    """One finished call of a tool."""

    tool: str
    agent: str
    client: str | None
    """The program that called, as in `Caller`."""
    session: str | None
    arguments: Mapping[str, Any]
    outcome: str
    """`done`, or the kind of the error, a colon and its message."""
    milliseconds: float


def record(state: State, calls: Sequence[ToolCall]) -> Problem | None:
    """Append calls to the ledger, without secrets. Returns the problem if that is not possible."""
    errors: tuple[type[Exception], ...] = (DjinnError, OSError, *STORE_ERRORS)
    try:
        # The next call waits for this record; what the calls did itself is on the disk already.
        state.ledger.append([*map(_event, calls)], durable=False)
    except errors as error:
        why = getattr(error, "strerror", None) or str(error)
        return Problem("ledger", f"this call is not in the audit: {why}")
    return None


def _event(call: ToolCall) -> Event:
    kind, _, reason = call.outcome.partition(": ")
    data = {
        "agent": call.agent,
        "client": call.client,
        "session": call.session,
        "arguments": _arguments(call.arguments),
        "outcome": f"{kind}: {_audited(reason)}" if reason else kind,
        "milliseconds": round(call.milliseconds, 1),
    }
    return Event(TOOL_CALLED, _audited(call.tool), data)


def _arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in the form for the audit. A text is masked together with its label."""
    arguments: dict[str, Any] = _audited(given)
    for name, labels in _LABELS.items():
        if isinstance(given.get(name), str):
            label = " ".join(str(given.get(key) or "") for key in labels)
            arguments[name] = _text(given[name], label)
    return arguments


def _audited(value: Any, depth: int = 0, label: str = "") -> Any:
    """A value in the form for the audit: secrets masked, long or deep parts cut.

    `label` is the name of the value, which may show that it is a secret.
    """
    if isinstance(value, str):
        return _text(value, label)
    if isinstance(value, Mapping | list | tuple) and depth > 4:
        return _audited(json.dumps(value, default=str))
    if isinstance(value, Mapping):
        most = list(value.items())[:MOST]
        return {_audited(str(key)): _audited(part, depth + 1, str(key)) for key, part in most}
    if isinstance(value, list | tuple):
        return [_audited(part, depth + 1) for part in value[:MOST]]
    return value


def _text(text: str, label: str) -> str:
    if len(text) > LONGEST:
        return f"({count(len(text), 'character')})"
    # A label that holds a secret is masked with the text, so that it is no prefix afterwards.
    before = f"{mask(label)}: " if len(label) <= LONGEST else ""
    masked = mask(f"{before}{text}".encode("utf-8", "replace").decode())
    return masked.removeprefix(before)


H = TypeVar("H", bound=Namespace)
T = TypeVar("T")

FOREIGN = frozenset({"agent", "agent_id", "home", "user"})
"""Arguments with which an agent could try to name a memory other than its own."""

_FOR_PERSONS = frozenset({"allow_secret", "backend"})
"""Fields that only a person may set."""

MOST_UNRECORDED = 20
"""Finished calls that are recorded together while others wait. A record each costs as much as a
repeated search."""

WRITING = frozenset({"close"})
"""Fields with which an operation that only reads writes, too."""

OVERTAKEN_SECONDS = 1.0
"""Seconds for which calls that read overtake a call that writes."""

_Queue = deque[tuple[float, Future[Any], Callable[[], Any]]]
"""Calls that wait: since when, their future, and what they run."""

SWITCH_SECONDS = 0.0005
"""Maximum time in seconds that one thread keeps the interpreter from the other. Python's default is
ten times as long."""


class Caller(Struct):
    """Who calls, and what they may do. It lasts as long as the client, from call to call."""

    agent: str = ""
    """The agent whose memory is used."""
    client: str | None = None
    """The name of the program, such as `claude-code`, which new memories name."""
    session: str | None = None
    """The session that the last `wake` of the caller started; None after its `sleep`."""
    rights: Rights = "agent"
    """A person may call every operation, and set every field of its request."""
    read_only: bool = False
    key: Key | None = None
    """The key of a program that calls over HTTP, which limits what its agents see."""

    def may_call(self, verb: Verb) -> bool:
        """Whether the caller may run an operation."""
        return self.rights in ("person", verb.rights) and not (self.read_only and verb.writes)

    def may_set(self, field: str) -> bool:
        """Whether the caller may set a field of a request."""
        if self.read_only and field in WRITING:
            return False
        return self.rights == "person" or field not in {*self.own, *_FOR_PERSONS}

    @property
    def key_digest(self) -> str:
        """What tells the key of the caller from others; empty without one."""
        return self.key.digest if self.key else ""

    @property
    def own(self) -> dict[str, str | None]:
        """The values of the fields that say who calls."""
        return {"agent": self.agent, "session": self.session}


class Calls(Generic[H]):
    """Runs the calls of several threads on a home, one after the other, and records each.

    A single thread of its own runs them, so that the home needs no locks. Calls that only read
    overtake those that wait to write, because people wait for their answers. A call that is
    cancelled while it waits is never started. A running call is not interrupted, so that its writes
    are complete.
    """

    def __init__(self, home: Home, opened: Callable[[Home], H], log: Callable[[str], None]) -> None:
        """`opened` opens the home, and opens it again when its settings have changed."""
        self._opened = opened
        self._home = opened(home)
        self._marks = self._file_marks()
        self._log = log
        self.announce: Announce = unheard
        """Is told of events from the thread that runs the calls."""
        self._logged: set[str] = set()
        self._unanswered: set[Future[Any]] = set()
        self._finished: list[ToolCall] = []
        self._reads: _Queue = deque()
        self._writes: _Queue = deque()
        self._was_due = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="djinn")
        sys.setswitchinterval(SWITCH_SECONDS)

    @property
    def home(self) -> Home:
        """The home, with its settings at the last call."""
        return self._home.runtime.home

    def submit(
        self,
        caller: Caller,
        name: str,
        arguments: Mapping[str, Any],
        work: Callable[[H, Caller], T],
        words: Wording,
        *,
        reads: bool = False,
    ) -> Future[T]:
        """Run `work` on the opened home for a caller, in the words of a front end.

        The result raises `DjinnError` with a text for the caller. `name` and `arguments` are for
        the audit.
        """

        def run() -> T:
            began = time.monotonic()
            outcome = "done"
            try:
                with using_wording(words), limited_by(caller.key):
                    return work(self._current(caller), caller)
            except (DjinnError, OSError) as error:
                outcome = f"{type(error).__name__}: {error}"
                if isinstance(error, DjinnError):
                    raise
                # The file may be one that the agent must not know of.
                raise Unavailable(error.strerror or "the disk cannot be used") from None
            # A bug must end the call, not the server.
            except Exception as error:
                outcome = f"bug: {type(error).__name__}"
                self._log(traceback.format_exc().rstrip())
                raise Unavailable(
                    f"a bug in djinn ({type(error).__name__}); the server's log has its traceback"
                ) from None
            finally:
                milliseconds = (time.monotonic() - began) * 1000
                self._finished.append(
                    ToolCall(
                        name, caller.agent, caller.client, caller.session, arguments, outcome,
                        milliseconds,
                    )
                )  # fmt: skip
                try:
                    # After the answer, which need not wait for the disk.
                    self._thread.submit(self._audit)
                except RuntimeError:
                    # The server is closing, and the executor takes no more work.
                    self._audit(last=True)

        future = self._queue(run, reads=reads)
        self._unanswered.add(future)
        future.add_done_callback(self._unanswered.discard)
        return future

    def begin(
        self,
        caller: Caller,
        work: Callable[[H, Caller], object],
        words: Wording,
        *,
        reads: bool = False,
    ) -> None:
        """Run work whose result nobody awaits. The next call meets the same failure again."""

        def run() -> None:
            try:
                with using_wording(words):
                    work(self._current(caller), caller)
            # Any failure at all: the server has to start.
            except Exception as error:
                self._log_once(f"not ready yet: {error}")

        self._queue(run, reads=reads)

    def _queue(self, run: Callable[[], T], *, reads: bool) -> Future[T]:
        """Let the thread run something in its turn. Raises `RuntimeError` while it is closing."""
        future: Future[T] = Future()
        queue, waiting = self._reads if reads else self._writes, (time.monotonic(), future, run)
        queue.append(waiting)
        try:
            self._thread.submit(self._run_next)
        except RuntimeError:
            queue.remove(waiting)
            raise
        return future

    def _run_next(self) -> None:
        """Run what comes next: the first read, unless a write has waited long enough."""
        patience = time.monotonic() - OVERTAKEN_SECONDS
        is_due = bool(self._writes) and (not self._reads or self._writes[0][0] < patience)
        if is_due and self._reads and self._was_due:
            # Of a backlog of writes, every other call is a read.
            is_due = False
        self._was_due = is_due
        _, future, run = (self._writes if is_due else self._reads).popleft()
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = run()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def close(self) -> None:
        """Wait for the running call, drop waiting calls, and close the home."""
        self._thread.submit(self._audit, last=True)
        self._thread.submit(lambda: self._home.runtime.close())
        self._thread.shutdown(wait=True)

    def _current(self, caller: Caller) -> H:
        """The home with its current settings on disk, for a new call."""
        marks = self._file_marks()
        if marks != self._marks:
            before = self._home.runtime.home
            home = Home(before.root)
            seen = [(each.config, each.untrusted, each.grants) for each in (home, before)]
            if seen[0] != seen[1]:
                self._home.runtime.close()
                self._home = self._opened(home)
            self._marks = marks
        self._home.runtime.begin_call(caller.client, self.announce)
        return self._home

    def _file_marks(self) -> list[object]:
        home = self._home.runtime.home
        paths = home.config_path, user_path(), trust_path(), home.keys_path
        return [file_version(path) for path in paths]

    def _audit(self, *, last: bool = False) -> None:
        """Record the finished calls, unless others wait. This works even with invalid settings."""
        if not last and self._unanswered and len(self._finished) < MOST_UNRECORDED:
            return
        calls, self._finished = self._finished, []
        if not calls:
            return
        try:
            problem = record(self._home.runtime.state, calls)
        except (DjinnError, OSError) as error:
            self._log_once(str(error))
        else:
            if problem:
                self._log_once(f"{problem.what}: {problem.why}")

    def _log_once(self, text: str) -> None:
        """Log a text only the first time: a server that runs for days must not fill the log."""
        if text not in self._logged:
            self._logged.add(text)
            self._log(text)
