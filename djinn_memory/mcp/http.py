"""Serves clients of this machine that know a token, over streamable HTTP."""

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
from djinn_memory.mcp.calls import Calls, talk
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.server import server, warm

HOST = "127.0.0.1"

SHORTEST = 16
"""Characters of a token: fewer can be guessed."""


def serve(context: ClientContext, port: int, token: str | None) -> None:
    """Serve until the process is ended; `token` is what the environment says, None to make one."""
    listening = _listen(port)
    here = [f"{name}:{listening.getsockname()[1]}" for name in (HOST, "localhost")]
    verifier = _OneToken(_checked(token) if token else _kept(context.djinn.home.state))
    calls = Calls(context, talk)
    calls.begin(warm)
    app = server(context, calls).streamable_http_app(
        json_response=True,
        # Else a web page could have its own name lead here, and ask as the user's browser.
        transport_security=TransportSecuritySettings(
            allowed_hosts=here, allowed_origins=[f"http://{one}" for one in here]
        ),
        # Nobody issues tokens here: the SDK wants an address for that, and tells it to nobody.
        auth=AuthSettings(issuer_url=AnyHttpUrl(f"http://{here[0]}"), resource_server_url=None),
        token_verifier=verifier,
    )
    talk(f"serving {context.agent} at http://{here[0]}/mcp; end it with Ctrl-C")
    _Http(uvicorn.Config(app, log_level="warning", access_log=False)).run([listening])


class _Http(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals as the command has set them: they end the process at once."""
        yield


class _OneToken:
    """The only token that there is."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who has it; None for any other."""
        same = hmac.compare_digest(token.encode("utf-8", "replace"), self._token)
        return AccessToken(token="", client_id="local", scopes=[]) if same else None


def _checked(token: str) -> str:
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"DJINN_MCP_TOKEN: a token has {SHORTEST} or more ASCII characters without spaces; "
            "unset it to have one made"
        )
    return token


def _kept(state: Path) -> str:
    """The token of before, or a new one, in a file that only its owner can read."""
    path = state / "mcp-token"
    with suppress(OSError):
        info = path.lstat()
        private = stat.S_ISREG(info.st_mode) and not info.st_mode & 0o077
        found = path.read_text(encoding="ascii", errors="replace").strip() if private else ""
        if len(found) >= SHORTEST:
            talk(f"the token is in {path}")
            return found
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
    talk(f"a new token is in {path}")
    return token


def _listen(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        # At once, so that who is told the address need not wait.
        made.listen()
    except OSError as error:
        why = error.strerror or error
        raise Unavailable(f"--port {port}: {why}; choose another, or 0 for any") from None
    return made
