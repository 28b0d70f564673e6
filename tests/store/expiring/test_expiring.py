"""Working memory: SQLite and a real Redis server keep the same promises."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import ConfigError, Refused, Unavailable
from djinn_memory.home.settings import Redis
from djinn_memory.store.expiring import (
    WAITS,
    StoreUnwritable,
    WorkingEntry,
    WorkingSlot,
    WorkingStore,
)
from djinn_memory.store.expiring.redis import RedisWorkingStore
from djinn_memory.store.expiring.sqlite import SqliteWorkingStore
from djinn_memory.store.sqlite import DamagedDatabase
from tests.examples import examples
from tests.redis_server import client, pass_time, redis_server


class Kept(Struct):
    """A store, and how time passes in it."""

    store: WorkingStore
    later: Callable[[float], None]
    another: Callable[[], WorkingStore]
    """The store as another process opens it."""


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now

    def pass_time(self, seconds: float) -> None:
        self.now += seconds


def in_sqlite(folder: Path) -> Kept:
    clock, path = Clock(), folder / "working.db"
    return Kept(
        SqliteWorkingStore(path, clock), clock.pass_time, lambda: SqliteWorkingStore(path, clock)
    )


def in_redis(url: str) -> Kept:
    client(url).flushall()
    return Kept(
        RedisWorkingStore(url, "home"),
        lambda seconds: pass_time(url, seconds),
        lambda: RedisWorkingStore(url, "home"),
    )


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "redis"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    sqlite = request.param == "sqlite"
    made = in_sqlite(tmp_path) if sqlite else in_redis(request.getfixturevalue("server"))
    yield made
    made.store.close()


SLOT = WorkingSlot("me", "session", "default", "cursor")


def put(store: WorkingStore, slot: WorkingSlot = SLOT, **said: object) -> WorkingEntry:
    """Set a value as the verbs do."""

    def decide(before: WorkingEntry | None, now: float) -> WorkingEntry:
        fields = {"id": "1", "value": '"x"', "ttl": 300, **said}
        where = {name: getattr(slot, name) for name in slot.__struct_fields__}
        expires = now + float(str(fields["ttl"]))
        return WorkingEntry(**where, created=now, updated=now, expires=expires, **fields)  # type: ignore[arg-type]

    after = store.change(slot, decide)[1]
    assert after
    return after


def use(store: WorkingStore, slot: WorkingSlot = SLOT) -> WorkingEntry | None:
    return store.change(
        slot, lambda there, now: there and replace(there, uses=there.uses + 1, used=now)
    )[1]


def test_what_is_put_is_there_until_it_expires(kept: Kept) -> None:
    made = put(kept.store, type="reflection", value='{"a": [1, "ä\\u0000"]}')
    assert kept.another().entries("me")[0] == [made]
    kept.later(299)
    [there], now = kept.store.entries("me")
    assert there.id == made.id and there.expires > now
    kept.later(2)
    assert kept.store.entries("me")[0] == []
    assert kept.store.change(SLOT, lambda there, _: there) == (None, None)


def test_a_change_sees_and_says_what_was_there(kept: Kept) -> None:
    first = put(kept.store, used=1.5, type="observation")
    before, after = kept.store.change(SLOT, lambda there, now: there and replace(
        there, value="2", used=None, type=None))  # fmt: skip
    assert before == first and after and (after.value, after.used, after.type) == ("2", None, None)
    assert kept.another().entries("me")[0] == [after]
    assert kept.store.change(SLOT, lambda *_: None) == (after, None)
    assert kept.store.entries("me")[0] == []


def test_what_fails_to_decide_changes_nothing(kept: Kept) -> None:
    made = put(kept.store)
    with pytest.raises(ZeroDivisionError):
        kept.store.change(SLOT, lambda *_: 1 / 0)  # type: ignore[arg-type, return-value]
    assert kept.another().entries("me")[0] == [made]
    assert put(kept.store, id="2").id == "2"


def test_agents_and_spaces_are_apart(kept: Kept) -> None:
    names = ("default", "a:b", 'a"b', "ä\u202e", "*", "x" * 200)
    places = itertools.product(("me", "grace"), ("session", "task"), names, ("a", "b:c"))
    slots = list(itertools.starmap(WorkingSlot, places))
    for number, slot in enumerate(slots):
        put(kept.store, slot, value=str(number))
    for agent in ("me", "grace"):
        found = {one.slot: one.value for one in kept.store.entries(agent)[0]}
        assert found == {s: str(n) for n, s in enumerate(slots) if s.agent == agent}


def test_entries_come_in_the_order_they_were_made(kept: Kept) -> None:
    for name in "dbac":
        put(kept.store, replace(SLOT, key=name))
    use(kept.store, replace(SLOT, key="a"))
    put(kept.store, replace(SLOT, key="b"))
    assert [one.key for one in kept.store.entries("me")[0]] == ["d", "a", "c", "b"]


def test_a_used_short_entry_waits_beyond_its_expiry(kept: Kept) -> None:
    put(kept.store, tier="short")
    put(kept.store, replace(SLOT, key="rare"), tier="short")
    put(kept.store, replace(SLOT, key="working"))
    for _ in range(3):
        use(kept.store)
        use(kept.store, replace(SLOT, key="working"))
    use(kept.store, replace(SLOT, key="rare"))
    kept.later(400)
    [waiting], now = kept.store.entries("me")
    assert waiting.earned and waiting.uses == 3 and waiting.expires <= now < waiting.kept_until
    kept.later(WAITS)
    assert kept.store.entries("me")[0] == []


def test_no_change_is_lost_among_many(kept: Kept) -> None:
    put(kept.store)
    stores = [kept.another() for _ in range(4)]

    def work(store: WorkingStore) -> None:
        for _ in range(25):
            use(store)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [found] = kept.store.entries("me")[0]
    assert found.uses == 100
    for store in stores:
        store.close()


def test_a_megabyte_comes_back(kept: Kept) -> None:
    text = f'"{"ä" * 499_000}"'
    put(kept.store, value=text)
    [found] = kept.another().entries("me")[0]
    assert found.value == text


# --- a model of both


KEYS = st.sampled_from([replace(SLOT, key=key) for key in ("a", "b")] + [
    WorkingSlot("me", "task", "default", "a"), WorkingSlot("grace", "session", "default", "a"),
    WorkingSlot("grace", "from", "me", "a"),
])  # fmt: skip


class Both(RuleBasedStateMachine):
    """SQLite and Redis beside a dict, all told the same."""

    folder: Path
    url: str
    runs = 0

    @initialize()
    def begin(self) -> None:
        Both.runs += 1
        place = self.folder / str(Both.runs)
        place.mkdir()
        self.kept = [in_sqlite(place), in_redis(self.url)]
        self.now = 0.0
        self.model: dict[WorkingSlot, tuple[str, str, int, float]] = {}

    @rule(slot=KEYS, value=st.text(max_size=3), ttl=st.sampled_from([60, 300, 3600]),
          tier=st.sampled_from(["working", "short"]))  # fmt: skip
    def put(self, slot: WorkingSlot, value: str, ttl: int, tier: str) -> None:
        for one in self.kept:
            put(one.store, slot, value=value, ttl=ttl, tier=tier, id=value)
        self.model[slot] = (value, tier, 0, self.now + ttl)

    @rule(slot=KEYS)
    def use(self, slot: WorkingSlot) -> None:
        found = [use(one.store, slot) for one in self.kept]
        if slot in self.model:
            value, tier, uses, expires = self.model[slot]
            self.model[slot] = (value, tier, uses + 1, expires)
        assert [one.uses if one else None for one in found] == [
            self.model[slot][2] if slot in self.model else None
        ] * 2

    @rule(slot=KEYS)
    def clear(self, slot: WorkingSlot) -> None:
        for one in self.kept:
            one.store.change(slot, lambda *_: None)
        self.model.pop(slot, None)

    @rule(source=KEYS, to=KEYS)
    def copy(self, source: WorkingSlot, to: WorkingSlot) -> None:
        for one in self.kept:
            there = one.store.change(source, lambda found, _: found)[1]
            if there:
                moved = WorkingEntry(**{n: getattr(there, n) for n in there.__struct_fields__} | {
                    n: getattr(to, n) for n in to.__struct_fields__})  # fmt: skip
                one.store.change(to, lambda *_, moved=moved: moved)  # type: ignore[misc]
        if source in self.model:
            self.model[to] = self.model[source]

    # Never nearly what a ttl is: the server's own clock runs on meanwhile.
    @rule(seconds=st.sampled_from([25.0, 130.0, 1000.0, WAITS]))
    def time_passes(self, seconds: float) -> None:
        for one in self.kept:
            one.later(seconds)
        self.now += seconds
        for slot, (_, tier, uses, expires) in list(self.model.items()):
            if expires + (WAITS if tier == "short" and uses >= 3 else 0) <= self.now:
                del self.model[slot]

    @invariant()
    def alike(self) -> None:
        for one in getattr(self, "kept", ()):
            for agent in ("me", "grace"):
                entries, now = one.store.entries(agent)
                assert {e.slot: (e.value, e.tier, e.uses, e.expires > now) for e in entries} == {
                    slot: (value, tier, uses, expires > self.now)
                    for slot, (value, tier, uses, expires) in self.model.items()
                    if slot.agent == agent
                }

    def teardown(self) -> None:
        for one in getattr(self, "kept", ()):
            one.store.close()


def test_both_do_what_a_dict_does(tmp_path: Path, server: str) -> None:
    Both.folder, Both.url = tmp_path, server
    few = settings(max_examples=examples(25), stateful_step_count=20, deadline=None,
                   suppress_health_check=list(HealthCheck))  # fmt: skip
    run_state_machine_as_test(Both, settings=few)


# --- what can be wrong with a file


def test_reading_makes_no_file(tmp_path: Path) -> None:
    assert in_sqlite(tmp_path / "no").store.entries("me")[0] == []
    assert not (tmp_path / "no").exists()


def test_a_file_of_somebody_else(tmp_path: Path) -> None:
    place = tmp_path / "working.db"
    place.write_text("notes\n" * 100)
    with pytest.raises(DamagedDatabase):
        put(in_sqlite(tmp_path).store)
    place.unlink()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="link"):
        put(in_sqlite(tmp_path).store)
    assert not (tmp_path / "elsewhere").exists()


# --- what can be wrong with a server


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"Redis at unix://.*start it, or remove") as told:
        put(RedisWorkingStore(f"unix://{tmp_path}/none", "home"))
    assert told.value.exit_code == 5 and "\n" not in str(told.value)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("host", ["nowhere.invalid", "x" * 300, "[::1]:1", "\ud83d.x"])
def test_an_address_that_leads_nowhere_is_one_line(host: str) -> None:
    assert msgspec.convert(f"redis://{host}", Redis)
    began = time.monotonic()
    with pytest.raises(Unavailable, match="start it, or remove") as told:
        RedisWorkingStore(f"redis://{host}", "home").entries("me")
    assert "\n" not in str(told.value)
    assert time.monotonic() - began < 10


def test_a_port_that_cannot_be_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"working_memory: redis://h:99999: .*; correct the"):
        RedisWorkingStore("redis://h:99999", "home")


def test_a_server_that_says_nothing() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(Unavailable, match="answer"):
            RedisWorkingStore(url, "home").entries("me")
        assert time.monotonic() - began < 10


def test_a_server_that_dies_meanwhile() -> None:
    with redis_server() as url:
        store = RedisWorkingStore(url, "home")
        put(store)
    with pytest.raises(Unavailable, match="start it"):
        store.entries("me")


def test_a_password_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with redis_server("--requirepass", "open sesame") as url:
        with pytest.raises(Unavailable, match="set REDIS_PASSWORD in the environment"):
            put(RedisWorkingStore(url, "home"))
        monkeypatch.setenv("MINE", "wrong")
        with pytest.raises(Unavailable, match="set MINE in the environment") as told:
            put(RedisWorkingStore(url, "home", "MINE"))
        assert "wrong" not in str(told.value)
        monkeypatch.setenv("MINE", "open sesame")
        assert put(RedisWorkingStore(url, "home", "MINE")).value == '"x"'


def test_a_server_that_is_full_or_a_replica_is_read(server: str) -> None:
    store, other = RedisWorkingStore(server, "full"), client(server)
    made = put(store)
    try:
        other.config_set("maxmemory", "1")
        with pytest.raises(StoreUnwritable, match="check the server"):
            put(store, replace(SLOT, key="more"))
        assert store.entries("me")[0] == [made]
        other.config_set("maxmemory", "0")
        other.replicaof("127.0.0.1", "1")
        with pytest.raises(StoreUnwritable, match="check the server"):
            put(store, replace(SLOT, key="more"))
    finally:
        other.config_set("maxmemory", "0")
        other.replicaof("no", "one")


def test_what_others_left_on_the_server_is_no_entry(server: str) -> None:
    store, other = RedisWorkingStore(server, "odd"), client(server)
    put(store)
    [place] = (one for one in other.scan_iter("djinn:{odd}:*") if "cursor" in one)
    other.hset(place, "uses", "many")
    assert store.entries("me")[0] == []
    for odd in ("nan", "inf", "1e300", "-1"):
        put(store)
        other.hset(place, "expires", odd)
        assert store.entries("me")[0] == []
    assert put(store, id="2").id == "2"
    assert [one.id for one in store.entries("me")[0]] == ["2"]
    other.delete(place)
    assert store.entries("me")[0] == []


def test_homes_on_one_server_are_apart(server: str) -> None:
    put(RedisWorkingStore(server, "one home"))
    assert RedisWorkingStore(server, "another").entries("me")[0] == []
    left = [client(server).ttl(place) for place in client(server).scan_iter("*one home*")]
    assert len(left) == 2 and all(one > 0 for one in left)
