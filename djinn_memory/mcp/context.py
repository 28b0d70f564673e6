"""Whose memory is served: fixed when the server starts, whatever a client asks."""

from __future__ import annotations

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused
from djinn_memory.home.config import user_path
from djinn_memory.home.home import Home
from djinn_memory.home.trust import trust_path
from djinn_memory.memories.recall.audit import ToolCall
from djinn_memory.models import Problem, ProgressCallback, silent
from djinn_memory.system.files import file_version


class ClientContext:
    """One agent's view of a home, kept open from call to call.

    Of one thread: the databases behind it are not shared between several.
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
        self.client: str | None = None
        """Who asks just now, where the transport tells several clients apart."""
        self._sessions: dict[str | None, str | None] = {}
        self._progress = progress
        self._djinn = self._opened(home)
        self._standing = len(self._djinn.problems)
        self._marks = self._look()

    @property
    def session(self) -> str | None:
        """The session that the client's `wake` opened, until its `sleep`."""
        return self._sessions.get(self.client)

    @session.setter
    def session(self, name: str | None) -> None:
        self._sessions[self.client] = name

    @property
    def djinn(self) -> Djinn:
        """The home, by its settings as they stand on the disk now, with no old problems to tell."""
        marks = self._look()
        if marks != self._marks:
            before = self._djinn.home
            home = Home(before.root)
            if (home.config, home.untrusted) != (before.config, before.untrusted):
                self._djinn.close()
                self._djinn = self._opened(home)
                self._standing = len(self._djinn.problems)
            self._marks = marks
        # They add up in a process that answers many questions.
        del self._djinn.problems[self._standing :]
        return self._djinn

    def audit(self, call: ToolCall) -> Problem | None:
        """Write a call down; also while the settings are broken."""
        return self._djinn.audit(call)

    def may_write(self, what: str) -> None:
        """Raise `Refused` on a server that only reads."""
        if self.read_only:
            raise Refused(f"this server only reads, so {what} is not possible; leave it out")

    def close(self) -> None:
        """Release the files of the home."""
        self._djinn.close()

    def _opened(self, home: Home) -> Djinn:
        return Djinn(home, self._progress, resident=True, read_only=self.read_only)

    def _look(self) -> list[object]:
        home = self._djinn.home
        return [file_version(path) for path in (home.config_path, user_path(), trust_path())]
