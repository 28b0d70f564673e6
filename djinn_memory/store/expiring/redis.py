"""Working memory on a Redis server, which forgets by itself what has expired."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from djinn_memory.errors import Busy, ConfigError, Unavailable
from djinn_memory.home.config import secret
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
"""Of a change that others come before: of all who try, one gets through each time."""

USUAL_KEY = "REDIS_PASSWORD"


class RedisWorkingStore:
    """A working memory that all who hold a copy of the home share.

    Each entry is a hash whose time to live is the server's own; a sorted set names those of an
    agent. The server's clock counts, so that those of its clients may differ.
    """

    def __init__(self, url: str, owner: str, key_env: str | None = None) -> None:
        """`owner` keeps homes on one server apart; `key_env` names the password's variable."""
        try:
            import redis
        except ImportError:
            raise Unavailable(
                "working_memory: the package redis is missing; "
                "run pip install 'djinn-memory[redis]', or remove working_memory"
            ) from None
        from redis.backoff import NoBackoff
        from redis.exceptions import OutOfMemoryError, ReadOnlyError
        from redis.retry import Retry

        self._errors = redis.RedisError
        self._overtaken = redis.WatchError
        self._unwritable = (ReadOnlyError, OutOfMemoryError)
        self._key = key_env or USUAL_KEY
        self._name = f"Redis at {re.sub('//[^/@]*@', '//', url)}"
        self._owner = f"djinn:{{{owner}}}:"
        self._ready = False
        try:
            self._client: Any = redis.Redis.from_url(
                url,
                password=secret(self._key),
                decode_responses=True,
                encoding_errors="replace",
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as error:
            raise ConfigError(f"working_memory: {url}: {error}; mend the address") from None

    @classmethod
    def of(cls, home: Home) -> RedisWorkingStore:
        """The server that the home's settings name."""
        url = home.config.working_memory
        assert url
        # Another copy of the home has the same vaults: agents on several machines meet there.
        return cls(url, home.shared.id, home.config.working.key_env)

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """See `WorkingStore`."""
        place = self._place(slot)
        with self._asking(), self._client.pipeline() as pipe:
            for _ in range(TRIES):
                try:
                    pipe.watch(place)
                    now = _seconds(pipe.time())
                    before = entry(pipe.hgetall(place))
                    after = decide(before, now)
                    pipe.multi()
                    if after is None:
                        pipe.delete(place)
                        pipe.zrem(self._names(slot.agent), place)
                    elif after != before:
                        self._put(pipe, place, before, after, now)
                    pipe.execute()
                    return before, after
                except self._overtaken:
                    continue
        raise Busy(f"{self._name}: others keep changing {slot.key!r}; try again")

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """See `WorkingStore`."""
        names = self._names(agent)
        with self._asking():
            places = self._client.zrange(names, 0, -1)
            with self._client.pipeline(transaction=False) as pipe:
                for place in places:
                    pipe.hgetall(place)
                pipe.time()
                *found, clock = pipe.execute()
        read = [one for one in map(entry, found) if one and one.agent == agent]
        return sorted(read, key=lambda one: (one.created, one.key)), _seconds(clock)

    def erase(self) -> None:
        """See `WorkingStore`; what a server writes to its disk is the server's."""

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def _put(
        self, pipe: Any, place: str, before: WorkingEntry | None, after: WorkingEntry, now: float
    ) -> None:
        fields, known = _fields(after), _fields(before) if before else {}
        changed = {key: value for key, value in fields.items() if known.get(key) != value}
        if before is None:
            # What somebody else put there is no entry, and may be no hash.
            pipe.delete(place)
        elif gone := known.keys() - fields.keys():
            pipe.hdel(place, *gone)
        if changed:
            pipe.hset(place, mapping=changed)
        pipe.pexpireat(place, _milliseconds(after.kept))
        names = self._names(after.agent)
        pipe.zremrangebyscore(names, "-inf", now)
        pipe.zadd(names, {place: after.kept})
        pipe.pexpire(names, _milliseconds(LONGEST_TTL + WAITS))

    def _place(self, slot: WorkingSlot) -> str:
        path = [slot.agent, slot.space, slot.name, slot.key]
        return f"{self._owner}{msgspec.json.encode(path).decode()}"

    def _names(self, agent: str) -> str:
        return f"{self._owner}{agent}"

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """The server's errors as one line; none of them takes longer than two seconds."""
        try:
            if not self._ready:
                self._reach()
            yield
        except self._unwritable as error:
            raise StoreUnwritable(f"{self._name}: {error}; check the server") from None
        except self._errors as error:
            raise Unavailable(f"{self._name}: {self._why(error)}") from None

    def _reach(self) -> None:
        """Connect; a name that cannot be looked up would block for as long as the system likes."""
        failed: list[BaseException] = []

        def ping() -> None:
            try:
                self._client.ping()
            except BaseException as error:
                failed.append(error)

        thread = Thread(target=ping, daemon=True, name="reach redis")
        thread.start()
        thread.join(CONNECT_SECONDS + ANSWER_SECONDS)
        if thread.is_alive():
            raise Unavailable(f"{self._name} does not answer; {_REMEDY}")
        if failed and isinstance(failed[0], OSError | ValueError | OverflowError):
            # Of a host or a port that cannot be.
            raise Unavailable(f"{self._name}: {failed[0]}; {_REMEDY}")
        if failed:
            raise failed[0]
        self._ready = True

    def _why(self, error: Exception) -> str:
        text = " ".join(str(error).split())[:160]
        if any(word in text for word in ("NOAUTH", "WRONGPASS", "AUTH", "invalid username")):
            return f"it wants another password; set {self._key} in the environment ({text})"
        if "Timeout" in type(error).__name__:
            return f"no answer within {ANSWER_SECONDS:g} s; {_REMEDY}"
        return f"{text.rstrip('.')}; {_REMEDY}"


_REMEDY = "start it, or remove working_memory from the settings to use a file of this home"


def _fields(found: WorkingEntry) -> dict[str, str]:
    return {
        key: value if isinstance(value, str) else repr(value)
        for key, value in asdict(found).items()
        if value is not None
    }


def _seconds(clock: tuple[int, int]) -> float:
    return clock[0] + clock[1] / 1e6


def _milliseconds(seconds: float) -> int:
    return math.ceil(seconds * 1000)
