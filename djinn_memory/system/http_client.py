"""Asking a server over HTTP: an answer or one line that says why not, always within a time."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec
from msgspec import Struct

from djinn_memory.errors import ConfigError, Unavailable

T = TypeVar("T")

TRIES = 5
BACK_OFF = 0.5
"""Seconds before the second try; each further pause is twice as long."""

TELL = 1.0
"""Seconds of a pause that somebody who waits is told of."""

MOST = 1 << 20
"""Bytes of an answer that is not expected to be long."""

ERROR = 1 << 16
"""Bytes of an error's page that are looked at."""

TOLD = 160
"""Characters of a server's own words that an error repeats."""

PIECE = 6
"""Characters of a key in a row that are not shown, wherever a server puts them."""

_BUSY = (408, 425, 429, 503)


class _Failure(Struct, frozen=True):
    """Why a try came to nothing: the end of a sentence that begins with the server's name."""

    why: str
    again: bool = True
    """Whether another try may fare better."""
    wait: float = 0.0
    """Seconds that the server asks to be left alone."""


class HttpServer:
    """A server, how a user calls it, and which of the settings in `section` lead to it.

    Keeps connections open between calls, and may be called by several threads. Redirects are not
    followed: a key and a text go to the host that the settings name, and to no other. A proxy of
    the environment is used as everywhere, but not for this machine's own servers.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        section: str,
        timeout: float,
        key: str | None = None,
        key_name: str = "",
        needs_key: bool = False,
        headers: dict[str, str] | None = None,
        start: str = "",
        missing: str = "",
        wait: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Raise `ConfigError` when `url` is none.

        `headers` go with every request, `key` among them or not: it is what no error may show,
        and `key_name` the environment variable that it comes from; where it `needs_key`, the
        server is not asked without. `start` is the remedy when nothing listens, `missing` that
        when the server lacks the model; `wait` is told of pauses.
        """
        self._parts = _checked(url, section)
        self._section = section
        self._timeout = timeout
        self._key = key
        self._key_name = key_name
        self._needs_key = needs_key
        self._secrets = [s for s in (key, unquote(self._parts.password or "")) if s]
        self._headers = {"accept-encoding": "identity", **(headers or {})}
        self._start = start or "check the network"
        self._missing = missing or f"check {section}.model"
        self._wait = wait
        self._idle: list[Any] = []
        host = self._parts.hostname or ""
        port = f":{self._parts.port}" if self._parts.port else ""
        self.name = f"{name} at {f'[{host}]' if ':' in host else host}{port}"

    def post(
        self,
        path: str,
        body: object,
        answer: type[T],
        *,
        timeout: float | None = None,
        tries: int = TRIES,
        at_most: int = MOST,
    ) -> T:
        """The JSON that the server answers, as an `answer`; `Unavailable`, one line, if none.

        Ends within `timeout` seconds, by default the configured ones, whatever the server does:
        that is for all tries and the pauses between. An answer of more bytes than `at_most` is
        none. Nothing is sent without a key that is needed, or with one that no header can hold.
        """
        self._check_key()
        seconds = self._timeout if timeout is None else min(timeout, self._timeout)
        deadline = time.monotonic() + seconds
        url = self._url(path)
        data = msgspec.json.encode(body)
        failure = _Failure("")
        for number in range(1, tries + 1):
            sent = self._try(url, data, deadline, at_most)
            outcome = sent if isinstance(sent, _Failure) else _decoded(sent, answer, self._section)
            if not isinstance(outcome, _Failure):
                return outcome
            # A try that the deadline cut short says less than the one before it.
            failure = outcome if outcome.why or not failure.why else failure
            pause = BACK_OFF * 2 ** (number - 1) * random.uniform(0.75, 1.0)
            pause = max(pause, outcome.wait)
            last = number == tries or not outcome.again
            if last or time.monotonic() + pause >= deadline:
                break
            if pause >= TELL:
                self._wait(f"{self.name} {failure.why.partition(';')[0]}; again in {pause:.0f} s")
            time.sleep(pause)
        raise Unavailable(f"{self.name} {failure.why or self._late(seconds)}")

    def _check_key(self) -> None:
        if self._needs_key and not self._key:
            raise Unavailable(f"{self.name} wants a key; set {self._key_name} in the environment")
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            raise Unavailable(f"{self._key_name} does not hold a key; set the right one there")

    def _late(self, seconds: float) -> str:
        raised = f", or raise {self._section}.timeout" if seconds >= self._timeout else ""
        return f"did not answer within {seconds:g} s; try again{raised}"

    def _url(self, path: str) -> str:
        # A query of the base URL stays: some gateways want one.
        return self._parts._replace(path=self._parts.path.rstrip("/") + path).geturl()

    def _try(self, url: str, data: bytes, deadline: float, at_most: int) -> bytes | _Failure:
        """Send once, on a thread that is left to itself at the deadline.

        A time-out of the socket would not do: it begins anew with every byte, and does not hold
        while a name is looked up.
        """
        outcome: list[bytes | _Failure | BaseException] = []
        clients: list[Any] = []

        def run() -> None:
            try:
                clients.append(self._client())
                outcome.append(self._send(clients[0], url, data, deadline, at_most))
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=run, daemon=True, name=f"post {self._parts.hostname}")
        thread.start()
        thread.join(max(0.0, deadline - time.monotonic()))
        if outcome and isinstance(outcome[0], bytes):
            self._idle += clients
            return outcome[0]
        for client in clients:
            with suppress(Exception):  # it may be in use, and is of no use any more
                client.close()
        if not outcome:
            return _Failure("", again=False)
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return outcome[0]

    def _client(self) -> Any:
        with suppress(IndexError):
            return self._idle.pop()
        import httpx2

        near = _loopback(self._parts.hostname or "")
        # Certificates are read in 60 ms: not where none will be looked at.
        verify = self._parts.scheme == "https" or not near
        return httpx2.Client(trust_env=not near, verify=verify, follow_redirects=False)

    def _send(
        self, client: Any, url: str, data: bytes, deadline: float, at_most: int
    ) -> bytes | _Failure:
        import httpx2

        headers = {"content-type": "application/json", **self._headers}
        left = deadline - time.monotonic()
        if left <= 0:
            return _Failure("", again=False)
        try:
            with client.stream(
                "POST", url, content=data, headers=headers, timeout=left
            ) as response:
                held = bytearray()
                most = at_most if response.is_success else ERROR
                for part in response.iter_bytes():
                    held += part
                    if len(held) > most:
                        break
                    if time.monotonic() > deadline:
                        return _Failure("", again=False)
                if response.is_success and len(held) > most:
                    why = f"sends more than {most >> 20} MB; check {self._section}.url"
                    return _Failure(why, again=False)
                if response.is_success:
                    return bytes(held)
                return self._refusal(response.status_code, response.headers, bytes(held))
        except httpx2.TimeoutException:
            return _Failure("", again=False)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            return self._broken(error)

    def _broken(self, error: BaseException) -> _Failure:
        """What a connection failed by, without the words of a library: they may hold a header."""
        import socket
        import ssl

        import httpx2

        chain: list[BaseException] = []
        link: BaseException | None = error
        while link is not None and link not in chain:
            chain.append(link)
            link = link.__cause__ or link.__context__
        where = f"{self._start}, or set {self._section}.url"
        for link in chain:
            if isinstance(link, ssl.SSLError):
                reason = "its certificate is not trusted" if isinstance(
                    link, ssl.SSLCertVerificationError
                ) else "it does not speak TLS"  # fmt: skip
                return _Failure(
                    f"cannot be reached ({reason}); check {self._section}.url", again=False
                )
            if isinstance(link, socket.gaierror):
                return _Failure(f"cannot be reached (its name is not known); {where}")
        if isinstance(error, httpx2.ProxyError):
            return _Failure("cannot be reached (the proxy refuses); check the proxy's settings")
        if isinstance(error, httpx2.ConnectError):
            found = [link for link in chain if isinstance(link, OSError) and link.strerror]
            words = str(found[0].strerror).lower() if found else ""
            if "all connection attempts failed" in words or not words:
                words = "connection refused"
            return _Failure(f"cannot be reached ({words}); {where}")
        if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError | OSError):
            return _Failure("dropped the connection; see its log, or try again later")
        return _Failure(f"cannot be asked ({type(error).__name__}); check {self._section}.url",
                        again=False)  # fmt: skip

    def _refusal(self, status: int, headers: Any, body: bytes) -> _Failure:
        words = _one_line(self._masked(_message(body)))
        said = f"{status}: {words}" if words else str(status)
        section = self._section
        if status in (401, 403):
            # Not with the server's words: those are where a key is repeated.
            if not self._key_name:
                return _Failure(f"refuses access ({status}); check {section}.url", again=False)
            if self._key:
                why = f"refuses the key in {self._key_name} ({status}); set the right one there"
            else:
                why = f"wants a key ({status}); set {self._key_name} in the environment"
            return _Failure(why, again=False)
        if status == 404 and re.search("model", words, re.I):
            return _Failure(f"does not have the model ({said}); {self._missing}", again=False)
        if status in _BUSY:
            wait = _retry_after(headers.get("retry-after"))
            later = f"; try again in {wait:.0f} s" if wait else "; try again later"
            return _Failure(f"is busy ({said}){later}", wait=wait)
        if status >= 500:
            return _Failure(f"fails ({said}); see its log, or try again later")
        if status < 400:
            return _Failure(f"redirects ({status}); set {section}.url to where it is", again=False)
        return _Failure(
            f"refuses the request ({said}); check {section}.url and {section}.model", again=False
        )

    def _masked(self, text: str) -> str:
        """`text` with every piece of a secret struck out, also where a server shortened it."""
        for secret in self._secrets:
            size = min(PIECE, len(secret))
            pieces = {secret[at : at + size] for at in range(len(secret) - size + 1)}
            hidden = [False] * len(text)
            for at in range(len(text) - size + 1):
                if text[at : at + size] in pieces:
                    hidden[at : at + size] = [True] * size
            marked = "".join(
                "\0" if hide else char for char, hide in zip(text, hidden, strict=True)
            )
            text = re.sub("\0+", "***", marked)
        return text


def _checked(url: str, section: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(url.strip())
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if good and url.isprintable():
            return parts._replace(fragment="")
    # The URL itself is not repeated: it may hold a password.
    raise ConfigError(f"{section}.url: expected http://host:port or https://host")


def _loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _decoded(data: bytes, answer: type[T], section: str) -> T | _Failure:
    try:
        return msgspec.json.decode(data, type=answer)
    except msgspec.ValidationError as error:
        why = _one_line(str(error))
        return _Failure(f"answers otherwise than its protocol ({why}); check {section}.url and "
                        f"{section}.provider", again=False)  # fmt: skip
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Failure(f"answers with broken JSON; check {section}.url, or try again later")


def _message(body: bytes) -> str:
    """What a server says of an error, as the common ones put it; "" for a page of HTML."""
    text = body.decode(errors="replace")
    with suppress(msgspec.DecodeError, RecursionError):
        data = msgspec.json.decode(body)
        for name in ("error", "message", "detail", "message"):
            if isinstance(data, dict):
                data = data.get(name, data)
        return data if isinstance(data, str) else ""
    return "" if text.lstrip().startswith("<") else text


def _one_line(text: str) -> str:
    line = "".join(char if char.isprintable() else " " for char in text[: 20 * TOLD])
    line = " ".join(line.split())
    return f"{line[: TOLD - 1]}…" if len(line) > TOLD else line


def _retry_after(value: str | None) -> float:
    """Seconds to wait, from either form of the header; 0 for none or nonsense."""
    if not value:
        return 0.0
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value.strip()):
        return float(value)
    from email.utils import parsedate_to_datetime

    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return 0.0
