"""Sends requests to HTTP servers. Returns an answer or a one-line reason within a time limit."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from djinn_memory.errors import ConfigError, Remedy, Unavailable

T = TypeVar("T")

TRIES = 5
FIRST_PAUSE = 0.5
"""Seconds before the second attempt; each further pause is twice as long."""

NOTICE_SECONDS = 1.0
"""Minimum length in seconds of a pause that is reported to the waiting user."""

MAX_ANSWER = 1 << 20
"""Maximum bytes of an ordinary answer."""

MAX_ERROR_PAGE = 1 << 16
"""Maximum bytes of an error page that are read."""

MAX_WORDS = 160
"""Maximum characters of a server's message in an error."""

PIECE = 6
"""Minimum number of consecutive characters of a key that are masked in a server's message."""

_BUSY = (408, 425, 429, 503)
_CHECK_LOG = "check the log of the server, or try again later"


@dataclass(eq=False)
class _Failure(Exception):
    """A failed attempt."""

    why: str = ""
    """The end of a sentence that begins with the server's name; "" when the time has run out."""
    remedy: str = ""
    """The remedy."""
    retry: bool = False
    """Whether another attempt may succeed."""
    wait: float = 0.0
    """The number of seconds that the server asks to wait."""


@dataclass(eq=False)
class HttpServer:
    """A server, its name for the user, and the settings in `section` that define it.

    Connections stay open between calls. Several threads may call at once. Redirects are not
    followed, so that a key and a text reach only the configured host. A proxy in the environment is
    used, but not for servers on this machine.

    Raises `ConfigError` when `url` is not an HTTP address.
    """

    product: InitVar[str]
    url: InitVar[str]
    section: str = field(kw_only=True)
    timeout: float = field(kw_only=True)
    key: str | None = field(default=None, kw_only=True, repr=False)
    """The key. No error may show it. `headers` already contain it."""
    key_name: str = field(default="", kw_only=True)
    """The environment variable that holds the key."""
    needs_key: bool = field(default=False, kw_only=True)
    """Whether requests need a key. Without one, nothing is sent."""
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False)
    """Sent with every request."""
    start: str = field(default="check the network", kw_only=True)
    """The remedy when no server listens at the address."""
    missing: str = field(default="", kw_only=True)
    """The remedy when the server lacks the model."""
    wait: Callable[[str], None] = field(default=lambda _: None, kw_only=True)
    """Receives a line about each long pause."""

    def __post_init__(self, product: str, url: str) -> None:
        self._parts = _parse_url(url, self.section)
        self._secrets = [s for s in (self.key, unquote(self._parts.password or "")) if s]
        self._idle: list[Any] = []
        host = self._parts.hostname or ""
        port = f":{self._parts.port}" if self._parts.port else ""
        self.name = f"{product} at {f'[{host}]' if ':' in host else host}{port}"

    def post(
        self,
        path: str,
        body: object,
        answer: type[T],
        *,
        timeout: float | None = None,
        tries: int = TRIES,
        at_most: int = MAX_ANSWER,
    ) -> T:
        """Post `body` as JSON and decode the answer as an `answer`.

        Raises a one-line `Unavailable`. Returns within `timeout` seconds, by default the configured
        time, whatever the server does. This includes all attempts and the pauses between them. An
        answer of more than `at_most` bytes is an error. Nothing is sent when a required key is
        missing or malformed.
        """
        self._check_key()
        seconds = self.timeout if timeout is None else min(timeout, self.timeout)
        deadline = time.monotonic() + seconds
        # A query of the base URL stays: some gateways want one.
        url = self._parts._replace(path=self._parts.path.rstrip("/") + path).geturl()
        data = msgspec.json.encode(body)
        failure = _Failure()
        for number in range(tries):
            try:
                return _decode(self._try(url, data, deadline, at_most), answer, self.section)
            except _Failure as error:
                # An attempt that the deadline cut short says less than the one before it.
                failure = error if error.why else failure
                last = number == tries - 1 or not error.retry
            pause = max(FIRST_PAUSE * 2**number * random.uniform(0.75, 1.0), failure.wait)
            if last or time.monotonic() + pause >= deadline:
                break
            if pause >= NOTICE_SECONDS:
                self.wait(f"{self.name} {failure.why}; retrying in {pause:.0f} s")
            time.sleep(pause)
        if not failure.why:
            remedy = f", or raise {self.section}.timeout" if seconds >= self.timeout else ""
            failure = _Failure(f"did not answer within {seconds:g} s", f"try again{remedy}")
        raise Unavailable(f"{self.name} {failure.why}", Remedy(purpose=failure.remedy))

    def _check_key(self) -> None:
        if self.needs_key and not self.key:
            remedy = Remedy(purpose=f"set {self.key_name} in the environment")
            raise Unavailable(f"{self.name} needs a key", remedy)
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            remedy = Remedy(purpose="set it to a valid key")
            raise Unavailable(f"{self.key_name} does not contain a valid key", remedy)

    def _try(self, url: str, data: bytes, deadline: float, at_most: int) -> bytes:
        """Send once, on a thread that is abandoned at the deadline.

        A socket's timeout is not enough: it restarts with every byte and does not cover the name
        lookup.
        """
        outcome: list[bytes | BaseException] = []
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
        result = outcome[0] if outcome else _Failure()
        if isinstance(result, bytes):
            self._idle += clients
            return result
        for client in clients:
            with suppress(Exception):  # the thread may still use it, and nobody else will
                client.close()
        raise result

    def _client(self) -> Any:
        with suppress(IndexError):
            return self._idle.pop()
        import httpx2

        near = _is_local(self._parts.hostname or "")
        # Reading the certificates takes 60 ms, so it is left out where none will be checked.
        verify = self._parts.scheme == "https" or not near
        return httpx2.Client(trust_env=not near, verify=verify, follow_redirects=False)

    def _send(self, client: Any, url: str, data: bytes, deadline: float, at_most: int) -> bytes:
        import httpx2

        headers = {
            "content-type": "application/json", "accept-encoding": "identity", **self.headers
        }  # fmt: skip
        left = deadline - time.monotonic()
        if left <= 0:
            raise _Failure
        try:
            with client.stream(
                "POST", url, content=data, headers=headers, timeout=left
            ) as response:
                content = bytearray()
                most = at_most if response.is_success else MAX_ERROR_PAGE
                for part in response.iter_bytes():
                    content += part
                    if len(content) > most:
                        break
                    if time.monotonic() > deadline:
                        raise _Failure
                if not response.is_success:
                    raise self._refusal(response.status_code, response.headers, bytes(content))
                if len(content) > most:
                    raise _Failure(f"sends more than {most >> 20} MB", f"check {self.section}.url")
                return bytes(content)
        except httpx2.TimeoutException:
            raise _Failure from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            raise self._connection_failure(error) from None

    def _connection_failure(self, error: BaseException) -> _Failure:
        """The reason why a connection failed.

        It omits the library's message, which may hold a header.
        """
        import socket
        import ssl

        import httpx2

        chain = [error]
        while (link := chain[-1].__cause__ or chain[-1].__context__) and link not in chain:
            chain.append(link)
        check = f"check {self.section}.url"
        where = f"{self.start or 'check the network'}, or set {self.section}.url"
        for link in chain:
            if isinstance(link, ssl.SSLCertVerificationError):
                return _unreachable("its certificate is not trusted", check)
            if isinstance(link, ssl.SSLError):
                return _unreachable("the server does not use TLS", check)
            if isinstance(link, socket.gaierror):
                return _unreachable("its name is not known", where, retry=True)
        if isinstance(error, httpx2.ProxyError):
            why = "the proxy refused the connection"
            return _unreachable(why, "check the proxy's settings", retry=True)
        if isinstance(error, httpx2.ConnectError):
            causes = (link for link in chain if isinstance(link, OSError) and link.strerror)
            words = next((str(cause.strerror).lower() for cause in causes), "")
            if "all connection attempts failed" in words or not words:
                words = "connection refused"
            return _unreachable(words, where, retry=True)
        if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError | OSError):
            return _Failure("dropped the connection", _CHECK_LOG, retry=True)
        return _unreachable(type(error).__name__, check)

    def _refusal(self, status: int, headers: Any, body: bytes) -> _Failure:
        """The reason why a server answered with this `status` and `body`."""
        words = _one_line(self._mask(_error_message(body)))
        reply = f"{status}: {words}" if words else str(status)
        section = self.section
        if status in (401, 403):
            # Without the server's words: those are where a key is repeated.
            if not self.key_name:
                return _Failure(f"refuses access ({status})", f"check {section}.url")
            if self.key:
                why = f"rejects the key in {self.key_name} ({status})"
                return _Failure(why, "set it to a valid key")
            return _Failure(f"needs a key ({status})", f"set {self.key_name} in the environment")
        if status == 404 and re.search("model", words, re.I):
            remedy = self.missing or f"check {section}.model"
            return _Failure(f"does not have the model ({reply})", remedy)
        if status in _BUSY:
            wait = _retry_after(headers.get("retry-after"))
            later = f"in {wait:.0f} s" if wait else "later"
            return _Failure(f"is busy ({reply})", f"try again {later}", retry=True, wait=wait)
        if status >= 500:
            return _Failure(f"fails ({reply})", _CHECK_LOG, retry=True)
        if status < 400:
            return _Failure(f"redirects ({status})", f"set {section}.url to the new address")
        remedy = f"check {section}.url and {section}.model"
        return _Failure(f"refuses the request ({reply})", remedy)

    def _mask(self, text: str) -> str:
        """`text` with every piece of a secret masked, even when a server shortened the secret."""
        for secret in self._secrets:
            size = min(PIECE, len(secret))
            pieces = {secret[at : at + size] for at in range(len(secret) - size + 1)}
            chars = list(text)
            for at in range(len(text) - size + 1):
                if text[at : at + size] in pieces:
                    chars[at : at + size] = "\0" * size
            text = re.sub("\0+", "***", "".join(chars))
        return text


def _unreachable(reason: str, remedy: str, *, retry: bool = False) -> _Failure:
    return _Failure(f"cannot be reached ({reason})", remedy, retry)


def _parse_url(url: str, section: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(url.strip())
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if valid and url.isprintable():
            return parts._replace(fragment="")
    # The URL itself is not repeated: it may hold a password.
    raise ConfigError(f"{section}.url: expected http://host:port or https://host")


def _is_local(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _decode(data: bytes, answer: type[T], section: str) -> T:
    try:
        return msgspec.json.decode(data, type=answer)
    except msgspec.ValidationError as error:
        why = f"does not follow its protocol ({_one_line(str(error))})"
        raise _Failure(why, f"check {section}.url and {section}.provider") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        remedy = f"check {section}.url, or try again later"
        raise _Failure("answers with broken JSON", remedy, retry=True) from None


def _error_message(body: bytes) -> str:
    """The message in a server's error, in the common formats; "" for an HTML page."""
    text = body.decode(errors="replace")
    with suppress(msgspec.DecodeError, RecursionError):
        data = msgspec.json.decode(body)
        for name in ("error", "message", "detail", "message"):
            if isinstance(data, dict):
                data = data.get(name, data)
        return data if isinstance(data, str) else ""
    return "" if text.lstrip().startswith("<") else text


def _one_line(text: str) -> str:
    line = "".join(char if char.isprintable() else " " for char in text[: 20 * MAX_WORDS])
    line = " ".join(line.split())
    return f"{line[: MAX_WORDS - 1]}…" if len(line) > MAX_WORDS else line


def _retry_after(value: str | None) -> float:
    """The seconds in a `Retry-After` header of either form; 0 for an invalid header."""
    if not value:
        return 0.0
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value.strip()):
        return float(value)
    from email.utils import parsedate_to_datetime

    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return 0.0
