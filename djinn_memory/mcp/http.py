"""Serves clients on this machine over streamable HTTP. Each client must present the token."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl

from djinn_memory.errors import Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.mcp.server import calls_on, log, server
from djinn_memory.operations.caller import Caller

HOST = "127.0.0.1"

MIN_TOKEN = 16
"""Minimum characters of a token. Shorter tokens could be guessed."""


def serve(home: Home, caller: Caller, port: int, token: str | None) -> None:
    """Serve until the process ends. Without a `token`, the token in the state folder is used."""
    listener = _listen(port)
    hosts = [f"{name}:{listener.getsockname()[1]}" for name in (HOST, "localhost")]
    verifier = _TokenVerifier(_checked(token) if token else _stored(home.state))
    app = server(calls_on(home, caller), caller).streamable_http_app(
        json_response=True,
        # Otherwise a web page could point its own host name here and use the user's browser.
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
        # Nobody issues tokens here. The SDK requires an issuer's address and shows it to nobody.
        auth=AuthSettings(issuer_url=AnyHttpUrl(f"http://{hosts[0]}"), resource_server_url=None),
        token_verifier=verifier,
    )
    log(f"Serving agent {caller.agent} at http://{hosts[0]}/mcp. Press Ctrl-C to stop.")
    _Http(uvicorn.Config(app, log_level="warning", access_log=False)).run([listener])


class _Http(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Keep the signal handlers of the command, which end the process at once."""
        yield


class _TokenVerifier:
    """Accepts a single token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """The client that presents the token, or None for another token."""
        same = hmac.compare_digest(token.encode("utf-8", "replace"), self._token)
        return AccessToken(token="", client_id="local", scopes=[]) if same else None


def _checked(token: str) -> str:
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"DJINN_MCP_TOKEN: a token has {MIN_TOKEN} or more ASCII characters without spaces; "
            "unset it to let djinn create one"
        )
    return token


def _stored(state: Path) -> str:
    """The token in the state folder, or a new one in a file that only its owner can read."""
    path = state / "mcp-token"
    with suppress(OSError):
        info = path.lstat()
        private = stat.S_ISREG(info.st_mode) and not info.st_mode & 0o077
        token = path.read_text(encoding="ascii", errors="replace").strip() if private else ""
        if len(token) >= MIN_TOKEN:
            log(f"the token is in {path}")
            return token
    token = secrets.token_urlsafe(32)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{token}\n")
        new.replace(path)
    except OSError as error:
        why = error.strerror or error
        raise Unavailable(f"{path}: {why}; set DJINN_MCP_TOKEN instead") from None
    log(f"a new token is in {path}")
    return token


def _listen(port: int) -> socket.socket:
    try:
        # It listens before the address is printed, so that its reader can connect at once.
        return socket.create_server((HOST, port))
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise Unavailable(f"{port}: {why}; choose another, or 0 for any", argument="port") from None
