"""Keeps the Postgres server inside a home running during a watch, for the commands beside it."""

from __future__ import annotations

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.store.postgres.embedded import EmbeddedServer
from djinn_memory.store.postgres.servers import configured_url, embedded_folder


class KeptServer:
    """The embedded server that a home uses, its own or that of another home, if it uses one."""

    def __init__(self) -> None:
        self._server: EmbeddedServer | None = None

    def keep(self, home: Home) -> None:
        """Start the server unless it runs, and release one that the home uses no more.

        Raises `NotFound` or `Unavailable` if it cannot be started.
        """
        url = configured_url(home)
        folder = embedded_folder(home, url) if url else None
        if self._server and (folder is None or self._server.folder != folder.resolve()):
            self.release()
        if folder and not self._server:
            self._server = EmbeddedServer(folder)
        if self._server:
            try:
                self._server.start()
            except Refused as error:
                # A watch ends when it is refused, and nothing else of it needs the server.
                raise Unavailable(error.message, *error.remedies) from None

    def release(self) -> None:
        """Stop the server unless another process uses it."""
        if self._server:
            self._server.release()
            self._server = None
