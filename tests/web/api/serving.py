"""The HTTP server as a process of its own, and clients that say exactly what a test wants."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.processes.commands import HANG


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    """The headers, by name in lower case."""
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Served:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], home: Home) -> None:
        self.process, self.home = process, home
        self.lines: list[str] = []
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._ready.wait(HANG), self.said
        match = re.search(r"http://[\w.:\[\]]+:(\d+)/login\?token=(\S+)", self.said)
        assert match, self.said
        self.port, self.token = int(match[1]), match[2]

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line)
            if "/login?token=" in line:
                self._ready.set()
        self._ready.set()

    @property
    def said(self) -> str:
        return "".join(self.lines)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def socket_path(self) -> Path:
        return self.home.state / "api.sock"

    def end(self, number: int = signal.SIGTERM) -> int:
        """The exit code after a signal."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(HANG)
        self._reader.join(HANG)
        return code

    def memory(self) -> int:
        """The bytes of memory that the process has now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) * 1024

    def ask(
        self,
        path: str,
        body: object = None,
        *,
        key: str = "",
        method: str = "",
        local: bool = False,
        **headers: str,
    ) -> Answer:
        """The answer to a request. Underscores in the names of headers are written as hyphens."""
        with closing(self._connection(local=local)) as connection:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            if key:
                given["Authorization"] = f"Bearer {key}"
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            chosen = method or ("GET" if body is None else "POST")
            connection.request(chosen, path, data, given)
            return _answer(connection.getresponse())

    def _connection(self, *, local: bool) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
        if local:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(HANG)
            connection.sock.connect(str(self.socket_path))
        return connection

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), HANG)

    def raw(self, sent: bytes) -> Answer:
        """The answer to bytes."""
        with closing(self.connect()) as connection:
            connection.sendall(sent)
            return received(connection)


def received(connection: socket.socket) -> Answer:
    """The next answer on a connection."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return _answer(response)


def _answer(response: http.client.HTTPResponse) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


@contextmanager
def serving(home: Home, *options: str, before: Sequence[str] = ()) -> Iterator[Served]:
    """A server of a home while the block runs. `before` are words before the command."""
    environment = {k: v for k, v in os.environ.items() if k != "DJINN_HOME"}
    command = [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "serve"]
    if "--port" not in options:
        options = ("--port", "0", *options)
    process = subprocess.Popen(
        [*before, *command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, env={**environment, "DJINN_SESSIONS__EXTRACT": "false"},
    )  # fmt: skip
    try:
        served = Served(process, home)
        yield served
        assert "Traceback" not in served.said, served.said
    finally:
        process.kill()
        process.wait(HANG)
        assert process.stderr
        process.stderr.close()


def add_key(home: Home, name: str, **fields: Any) -> str:
    """The secret of a new key."""
    with closing(Djinn(home)) as djinn:
        return djinn.keys.add(name, **fields).secret
