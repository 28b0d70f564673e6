"""Working memory on a Redis server, which removes expired values by itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from djinn_memory.errors import Busy, ConfigError, Remedy, Unavailable, install_extra
from djinn_memory.home.access import own_name
from djinn_memory.home.config import variable
from djinn_memory.home.settings import LONGEST_TTL
from djinn_memory.store.expiring import (
    WAITS,
    Decide,
    StoreUnwritable,
    WorkingEntry,
    WorkingSlot,
    entry,
)

if TYPE_CHECKING:
    from djinn_memory.home.home import Home

CONNECT_SECONDS = 0.8
ANSWER_SECONDS = 1.0
TRIES = 1000
"""Maximum attempts at a change. When several clients change a slot at once, one of them
succeeds."""

USUAL_KEY = "REDIS_PASSWORD"


class RedisWorkingStore:
    """A working memory that all copies of a home share.

    Each entry is a hash that the server expires. A sorted set lists the entries of an agent. Times
    are the server's, so the clocks of its clients may differ.
    """

    def __init__(self, url: str, owner: str, key_env: str | None = None) -> None:
        """`owner` separates the homes on a server.

        `key_env` is the environment variable of the password.
        """
        try:
            import redis
        except ImportError:
            raise Unavailable(
                "working_memory: the Python package redis is missing",
                install_extra("redis"),
                Remedy(purpose="remove working_memory"),
            ) from None
        from redis.backoff import NoBackoff
        from redis.exceptions import OutOfMemoryError, ReadOnlyError
        from redis.retry import Retry

        self._errors = redis.RedisError
        self._conflict = redis.WatchError
        self._unwritable = (ReadOnlyError, OutOfMemoryError)
        self._key = key_env or USUAL_KEY
        self._name = f"Redis at {re.sub('//[^/@]*@', '//', url)}"
        self._owner = f"djinn:{{{owner}}}:"
        self._ready = False
        try:
            self._client: Any = redis.Redis.from_url(
                url,
                password=variable(self._key),
                decode_responses=True,
                encoding_errors="replace",
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as error:
            raise ConfigError(f"working_memory: {url}: {error}; correct the address") from None

    @classmethod
    def of(cls, home: Home) -> RedisWorkingStore:
        """The server that the home's settings name."""
        url = home.config.working_memory
        assert url
        # Another copy of the home has the same vaults, so agents on several machines share it.
        [vault] = home.named((own_name(None),))
        return cls(url, vault.id, home.config.working.key_env)

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """See `WorkingStore`."""
        name = self._entry_name(slot)
        with self._explained(), self._client.pipeline() as pipe:
            for _ in range(TRIES):
                try:
                    pipe.watch(name)
                    now = _seconds(pipe.time())
                    before = entry(pipe.hgetall(name))
                    after = decide(before, now)
                    pipe.multi()
                    if after is None:
                        pipe.delete(name)
                        pipe.zrem(self._set_name(slot.agent), name)
                    elif after != before:
                        self._put(pipe, name, after, now)
                    pipe.execute()
                    return before, after
                except self._conflict:
                    continue
        raise Busy(f"{self._name}: other processes keep changing {slot.key!r}; try again")

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """See `WorkingStore`."""
        with self._explained():
            names = self._client.zrange(self._set_name(agent), 0, -1)
            with self._client.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.hgetall(name)
                pipe.time()
                *hashes, clock = pipe.execute()
        entries = [stored for stored in map(entry, hashes) if stored and stored.agent == agent]
        return sorted(entries, key=lambda stored: (stored.created, stored.key)), _seconds(clock)

    def erase(self) -> None:
        """See `WorkingStore`. The bytes on a server's disk are the server's concern."""

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _put(self, pipe: Any, name: str, entry: WorkingEntry, now: float) -> None:
        # Another program may have stored something else there, even another type.
        pipe.delete(name)
        fields = {key: value for key, value in asdict(entry).items() if value is not None}
        pipe.hset(name, mapping=fields)
        pipe.pexpireat(name, _milliseconds(entry.kept_until))
        entries = self._set_name(entry.agent)
        pipe.zremrangebyscore(entries, "-inf", now)
        pipe.zadd(entries, {name: entry.kept_until})
        pipe.pexpire(entries, _milliseconds(LONGEST_TTL + WAITS))

    def _entry_name(self, slot: WorkingSlot) -> str:
        path = [slot.agent, slot.space, slot.name, slot.key]
        return f"{self._owner}{msgspec.json.encode(path).decode()}"

    def _set_name(self, agent: str) -> str:
        return f"{self._owner}{agent}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the server's errors into one line.

        No error takes longer than two seconds to appear.
        """
        try:
            if not self._ready:
                self._connect()
            yield
        except self._unwritable as error:
            raise StoreUnwritable(f"{self._name}: {error}; check the server") from None
        except self._errors as error:
            raise self._failure(error) from None

    def _connect(self) -> None:
        """Connect on a thread, because a name lookup can block for any length of time."""
        errors: list[BaseException] = []

        def ping() -> None:
            try:
                self._client.ping()
            except BaseException as error:
                errors.append(error)

        thread = Thread(target=ping, daemon=True, name="connect to redis")
        thread.start()
        thread.join(CONNECT_SECONDS + ANSWER_SECONDS)
        if thread.is_alive():
            raise Unavailable(f"{self._name} does not answer", _REMEDY)
        if errors and isinstance(errors[0], OSError | ValueError | OverflowError):
            # The host or the port is impossible.
            raise Unavailable(f"{self._name}: {errors[0]}", _REMEDY)
        if errors:
            raise errors[0]
        self._ready = True

    def _failure(self, error: Exception) -> Unavailable:
        text = " ".join(str(error).split())[:160]
        if any(word in text for word in ("NOAUTH", "WRONGPASS", "AUTH", "invalid username")):
            remedy = Remedy(purpose=f"set {self._key} in the environment ({text})")
            return Unavailable(f"{self._name}: the server rejected the password", remedy)
        if "Timeout" in type(error).__name__:
            text = f"no answer within {ANSWER_SECONDS:g} s"
        return Unavailable(f"{self._name}: {text.rstrip('.')}", _REMEDY)


_REMEDY = Remedy(
    purpose="start it, or remove working_memory from the settings to use a file of this home"
)


def _seconds(clock: tuple[int, int]) -> float:
    return clock[0] + clock[1] / 1e6


def _milliseconds(seconds: float) -> int:
    return math.ceil(seconds * 1000)
