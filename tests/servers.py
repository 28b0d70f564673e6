"""A real HTTP server that speaks the protocols of models, and misbehaves when told to."""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from djinn_memory.embedding.calibration import HashingEmbedder
from djinn_memory.system.http_client import PIECE

EMBED_PATHS = {"/api/embed": "ollama", "/v1/embeddings": "openai"}
CHAT_PATHS = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}

KEY = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"


def without_key(text: str | bytes) -> bool:
    """Whether no piece of the key that tells anything is in a text."""
    data = text if isinstance(text, bytes) else text.encode()
    pieces = [KEY[at : at + PIECE].encode() for at in range(3, len(KEY) - PIECE)]
    return not any(piece in data for piece in pieces)


@dataclass
class Asked:
    """A request, as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)


class ModelServer(ThreadingHTTPServer):
    """Answers well until `mood` names one of the misbehaviours below."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.mood = ""
        self.well_after: int | None = None
        """How many requests are answered badly before the server recovers by itself."""
        self.ill_after = 0
        """How many requests are answered well before the mood sets in."""
        self.dimensions = 768
        self.seconds = 1.0
        """What `slow` means."""
        self.reply = "an answer"
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self.going_on = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def next_mood(self) -> str:
        count = len(self.asked)
        if count <= self.ill_after:
            return ""
        if self.well_after is not None and count > self.ill_after + self.well_after:
            return ""
        return self.mood

    def hold(self, after: int = 0) -> None:
        """Answer so many requests more, and then none until `go_on`."""
        self.going_on.clear()
        self.ill_after, self.mood = len(self.asked) + after, "held"

    def until_held(self) -> None:
        """Wait until somebody waits for an answer."""
        end = time.monotonic() + 120
        while len(self.asked) <= self.ill_after:
            assert time.monotonic() < end
            time.sleep(0.01)

    def go_on(self) -> None:
        """Answer again, also who waits."""
        self.ill_after, self.mood = 0, ""
        self.going_on.set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that give up are what this server is for."""


def vector(text: str, dimensions: int) -> list[float]:
    """Texts that share words are near, whatever the length asked for."""
    made = HashingEmbedder().embed([text])[0]
    return [float(n) for n in np.resize(np.concatenate([made, np.zeros(512)]), dimensions) * 3]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else a body waits 40 ms for the acknowledgement of its headers.
    disable_nagle_algorithm = True
    server: ModelServer

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.path, headers, json.loads(raw))
        self.server.asked.append(asked)
        mood = self.server.next_mood()
        if mood in _MOODS:
            _MOODS[mood](self, asked)
        else:
            self.send(200, self.good(asked, mood))

    def good(self, asked: Asked, mood: str = "") -> bytes:
        """The right answer, or one whose HTTP is right and whose content is not."""
        path = asked.path.partition("?")[0]
        if path in CHAT_PATHS:
            said = "" if mood == "no text" else self.server.reply
            if CHAT_PATHS[path] == "openai":
                return _json({"choices": [{"message": {"role": "assistant", "content": said}}]})
            return _json({"content": [{"type": "text", "text": said}]})
        if path not in EMBED_PATHS:
            return _json({"error": "no such path"})
        size = asked.body.get("dimensions") or self.server.dimensions
        if mood == "wrong dimension":
            size -= 1
        rows: list[Any] = [vector(text, size) for text in asked.body["input"]]
        if mood == "ragged":
            rows[-1] = rows[-1][:-1]
        if mood == "zero":
            rows[0] = [0.0] * size
        if mood == "nan":
            rows[0][0] = float("nan")
        if mood == "null":
            rows[0][0] = None
        if mood == "fewer":
            rows = rows[:-1]
        if EMBED_PATHS[path] == "ollama":
            return _json({"model": asked.body["model"], "embeddings": rows})
        data = [{"object": "embedding", "index": n, "embedding": r} for n, r in enumerate(rows)]
        if mood == "shuffled":
            data.reverse()
        if mood == "same index":
            data = [{**item, "index": 0} for item in data]
        return _json({"object": "list", "data": data, "model": asked.body["model"]})

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def drip(self, data: bytes, every: float) -> None:
        for byte in data:
            if self.server.closing.wait(every):
                break
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
        self.close_connection = True


def _json(data: object) -> bytes:
    return json.dumps(data).encode()


def _slow(self: _Handler, asked: Asked) -> None:
    self.server.closing.wait(self.server.seconds)
    self.send(200, self.good(asked))


def _held(self: _Handler, asked: Asked) -> None:
    self.server.going_on.wait()
    self.send(200, self.good(asked))


def _drip(self: _Handler, asked: Asked) -> None:
    self.drip(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n" + b" " * 5000, 0.02)


def _drip_headers(self: _Handler, asked: Asked) -> None:
    self.drip(b"HTTP/1.1 200 OK\r\n" + b"x-more: more\r\n" * 5000, 0.02)


def _never(self: _Handler, asked: Asked) -> None:
    self.server.closing.wait(60)
    self.close_connection = True


def _dropped(self: _Handler, asked: Asked) -> None:
    # A reset, not an orderly end.
    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    self.close_connection = True
    self.connection.close()


def _truncated(self: _Handler, asked: Asked) -> None:
    body = self.good(asked)
    self.send(200, body[: len(body) // 2])


def _cut_off(self: _Handler, asked: Asked) -> None:
    body = self.good(asked)
    self.send_response(200)
    self.send_header("content-length", str(len(body)))
    self.end_headers()
    self.wfile.write(body[: len(body) // 2])
    self.close_connection = True


def _huge(self: _Handler, asked: Asked) -> None:
    self.send_response(200)
    self.end_headers()
    self.close_connection = True
    while not self.server.closing.is_set():
        self.wfile.write(b" " * (1 << 20))


def _redirect(self: _Handler, asked: Asked) -> None:
    self.send(307, b"", location=self.server.url + self.path)


def _error(status: int, body: object, **headers: str) -> Callable[[_Handler, Asked], None]:
    data = body if isinstance(body, bytes) else _json(body)
    return lambda self, asked: self.send(status, data, **headers)


def _echo(status: int) -> Callable[[_Handler, Asked], None]:
    def answer(self: _Handler, asked: Asked) -> None:
        key = asked.headers.get("authorization", asked.headers.get("x-api-key", ""))
        words = f"Incorrect key: {key}, that is {key[-30:-9]}... in\n two lines {key}"
        self.send(status, _json({"error": {"message": words}}))

    return answer


_MOODS: dict[str, Callable[[_Handler, Asked], None]] = {
    "slow": _slow,
    "held": _held,
    "drip": _drip,
    "drip headers": _drip_headers,
    "never": _never,
    "dropped": _dropped,
    "truncated": _truncated,
    "cut off": _cut_off,
    "huge": _huge,
    "redirect": _redirect,
    "429": _error(429, {"error": {"message": "Rate limit\nreached"}}),
    "429 soon": _error(429, {"error": "slow down"}, retry_after="1"),
    "429 late": _error(429, {"error": "slow down"}, retry_after="3600"),
    "429 date": lambda self, _: self.send(
        429, b"{}", retry_after=formatdate(time.time() + 3600, usegmt=True)
    ),
    "500": _error(500, {"error": "\x1b[31mout of memory\r\n" + "x" * 5000}),
    "503 html": _error(503, b"<html><body>Bad\nGateway</body></html>"),
    "not json": _error(200, b"<html>hello</html>"),
    "deep": _error(200, b"[" * 100_000),
    "another shape": _error(200, {"error": "quietly"}),
    "400": _error(400, {"error": {"message": "input is too long"}}),
    "401": _error(401, {"error": {"message": "no"}}),
    "404": _error(404, b"404 page not found"),
    "no model": _error(404, {"error": 'model "nomic-embed-text" not found, try pulling it first'}),
    "echo 400": _echo(400),
    "echo 401": _echo(401),
    "echo 500": _echo(500),
}

BROKEN = (
    "drip", "drip headers", "never", "dropped", "truncated", "cut off", "huge", "redirect", "429",
    "429 late", "429 date", "500", "503 html", "not json", "deep", "another shape", "400", "401",
    "404", "echo 400", "echo 401", "echo 500",
)  # fmt: skip
"""What no client can get an answer from, in any protocol."""

BROKEN_VECTORS = ("wrong dimension", "ragged", "zero", "nan", "null", "fewer")


@contextlib.contextmanager
def serving(port: int = 0, patience: float = 0) -> Iterator[ModelServer]:
    """A server on this machine, in good health. It waits for its port for some seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            server = ModelServer(port)
            break
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.going_on.set()
        server.shutdown()
        server.server_close()
        thread.join()


def free_port() -> int:
    """A port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
