"""The agent whose memory is served.

It is fixed when the server starts; clients cannot change it.
"""

from __future__ import annotations

from msgspec import Struct

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused
from djinn_memory.home.config import user_path
from djinn_memory.home.home import Home
from djinn_memory.home.trust import trust_path
from djinn_memory.memories.recall.audit import ToolCall
from djinn_memory.models import Problem, ProgressCallback, silent
from djinn_memory.system.files import file_version


class Caller(Struct, frozen=True):
    """The client of a call."""

    key: str | None = None
    """Tells the clients of an HTTP server apart; None on other transports."""
    name: str | None = None
    """The name of its program, as it gave it, such as `claude-code`."""


class ClientContext:
    """One agent's view of a home, kept open between calls.

    It belongs to one thread, because the databases do.
    """

    def __init__(
        self,
        home: Home,
        agent: str | None = None,
        *,
        read_only: bool = False,
        progress: ProgressCallback = silent,
    ) -> None:
        self.agent = home.agent(agent)
        self.read_only = read_only
        self.caller = Caller()
        """The client of the current call."""
        self._sessions: dict[str | None, str | None] = {}
        self._progress = progress
        self._lasting_problems: int | None = None
        self._open(home)
        self._marks = self._file_marks()

    @property
    def session(self) -> str | None:
        """The session that the client's last `wake` started; None after its `sleep`."""
        return self._sessions.get(self.caller.key)

    @session.setter
    def session(self, name: str | None) -> None:
        self._sessions[self.caller.key] = name

    @property
    def djinn(self) -> Djinn:
        """The home with its current settings on disk, without the problems of earlier calls."""
        marks = self._file_marks()
        if marks != self._marks:
            before = self._djinn.home
            home = Home(before.root)
            if (home.config, home.untrusted) != (before.config, before.untrusted):
                self._djinn.close()
                self._open(home)
            self._marks = marks
        # Problems add up in a process that answers many calls. Those of the settings stay; they are
        # worded now, in the words of the call.
        if self._lasting_problems is None:
            self._lasting_problems = len(self._djinn.problems)
        del self._djinn.problems[self._lasting_problems :]
        self._djinn.runtime.client = self.caller.name
        return self._djinn

    def audit(self, call: ToolCall) -> Problem | None:
        """Record a call in the audit. This works even with invalid settings."""
        return self._djinn.audit(call)

    def may_write(self, tool: str) -> None:
        """Raise `Refused` on a read-only server."""
        if self.read_only:
            raise Refused(f"this server is read-only, so {tool} is not available; do not call it")

    def close(self) -> None:
        """Close the files of the home."""
        self._djinn.close()

    def _open(self, home: Home) -> None:
        self._djinn = Djinn(home, self._progress, resident=True, read_only=self.read_only)
        self._lasting_problems = None

    def _file_marks(self) -> list[object]:
        home = self._djinn.home
        return [file_version(path) for path in (home.config_path, user_path(), trust_path())]
