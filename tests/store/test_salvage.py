"""A damaged ledger: what lies on whole pages comes back, nothing is invented, no byte is lost."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.store import salvage
from djinn_memory.store.faults import fault
from djinn_memory.store.ledger import SCHEMA, Event, Ledger
from djinn_memory.store.salvage import Row, read, recover
from djinn_memory.store.sqlite import connect
from tests.examples import examples

SIZE = 4096
EVENTS = 600


def rows_of(path: Path) -> dict[str, Row]:
    """What SQLite says the ledger holds."""
    connection = apsw.Connection(str(path))
    try:
        return {row[0]: row for row in connection.execute("select * from event order by id")}
    finally:
        connection.close()


def grow(ledger: Ledger, events: int, seed: int = 3) -> None:
    """Events of many sizes: some fill pages of their own."""
    dice = random.Random(seed)
    kinds = ["document.done", "document.failed", "memory.rated"]
    ledger.append(
        Event(
            dice.choice(kinds),
            f"vault:/a/path/{number} ü.pdf" + "x" * dice.choice([0, 5, 80, 900, 5000]),
            {"n": number, "why": "y" * dice.choice([0, 10, 300, 3000, 20_000]), "é": [1, None]},
        )
        for number in range(events)
    )


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that was closed."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    ledger = Ledger(path)
    for seed in range(6):
        grow(ledger, EVENTS // 6, seed)
    ledger.close()
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "ledger.db"))


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A ledger whose last events are in its log alone."""
    live = Ledger(tmp_path / "live" / "ledger.db")
    live._connection.execute("pragma wal_autocheckpoint = 0")
    grow(live, 200, 1)
    live._connection.execute("pragma wal_checkpoint(restart)")
    grow(live, 200, 2)
    for end in ("", "-wal"):
        shutil.copy(tmp_path / "live" / f"ledger.db{end}", tmp_path / f"ledger.db{end}")
    live.close()
    return tmp_path / "ledger.db"


def lying(path: Path) -> Iterator[tuple[str, set[int]]]:
    """Each copy of each event of a whole file, with the pages it lies on."""
    file = salvage._file(path.read_bytes(), b"", SIZE)
    for number, page in file.pages:
        for start in salvage._cells(page, 100 if number == 1 else 0):
            on, local = {number}, salvage._File(SIZE, file.pages, {})
            payload = salvage._payload(file, page, start)
            short = salvage._payload(local, page, start)
            columns = salvage._columns(*payload) if payload else None
            if not columns or len(columns) != 5 or not payload or not short:
                continue
            if len(short[0]) < payload[1]:
                _, at = salvage._varint(page, start)
                following = int.from_bytes(page[at + len(short[0]) :][:4])
                while following:
                    on.add(following)
                    following = int.from_bytes(file.newest[following][:4])
            assert columns[0]
            yield columns[0], on


def test_pages_say_what_sqlite_says(path: Path) -> None:
    found = read(path)
    assert list(found.events.values()) == list(rows_of(path).values())
    assert len(found.events) == EVENTS
    assert str(found) == "600 of 600 events"
    assert {key for key, _ in lying(path)} == set(found.events)


def test_what_is_in_the_log_counts(logged: Path) -> None:
    found = read(logged)
    assert len(found.events) == 400
    assert found.events == rows_of(logged)


def test_what_was_not_committed_does_not_count(logged: Path, tmp_path: Path) -> None:
    log = Path(f"{logged}-wal")
    data = log.read_bytes()
    frame = SIZE + 24
    commits = [
        at
        for at in range(32, len(data), frame)
        # Behind the frames of now lie some of before the log was begun anew.
        if data[at + 8 : at + 16] == data[16:24] and int.from_bytes(data[at + 4 : at + 8])
    ]
    log.write_bytes(data[: commits[-1]])
    assert len(read(logged).events) == 200


DAMAGE = st.tuples(
    st.sampled_from(["zeros", "noise", "ones", "a part", "another page"]),
    st.integers(0, 2**32),
)


def harm(page: bytes, kind: str, seed: int, data: bytes) -> bytes:
    dice = random.Random(seed)
    if kind == "zeros":
        return bytes(SIZE)
    if kind == "ones":
        return b"\xff" * SIZE
    if kind == "noise":
        return dice.randbytes(SIZE)
    if kind == "another page":
        # The rest of one long text in the place of another's cannot be told from it.
        trees = [at for at in range(SIZE, len(data), SIZE) if data[at] in (2, 10)]
        at = dice.choice(trees or [0])
        return data[at : at + SIZE]
    length = dice.randrange(32, 2000)
    at = dice.randrange(SIZE - length)
    return page[:at] + dice.randbytes(length) + page[at + length :]


@settings(max_examples=examples(60), deadline=None)
@given(
    damaged=st.dictionaries(st.integers(1, 10**6), DAMAGE, min_size=1, max_size=60),
    cut=st.one_of(st.none(), st.floats(0, 1)),
)
def test_every_event_on_whole_pages_comes_back(
    original: Path, tmp_path_factory: pytest.TempPathFactory, damaged: dict[int, tuple[str, int]],
    cut: float | None,
) -> None:  # fmt: skip
    whole, data = rows_of(original), bytearray(original.read_bytes())
    count = len(data) // SIZE
    gone = {number % count + 1: one for number, one in damaged.items()}
    for number, (kind, seed) in gone.items():
        at = (number - 1) * SIZE
        data[at : at + SIZE] = harm(bytes(data[at : at + SIZE]), kind, seed, bytes(data))
    left = count
    if cut is not None:
        del data[int(len(data) * cut) :]
        left = len(data) // SIZE
    path = tmp_path_factory.mktemp("harmed") / "ledger.db"
    path.write_bytes(data)
    found = read(path)
    assert list(found.events) == sorted(found.events)
    for key, row in found.events.items():
        assert whole[key] == row
    for key, on in lying(original):
        if not on & gone.keys() and max(on) <= left:
            assert found.events.get(key) == whole[key]
    assert not found.lost.keys() & found.events.keys()
    assert found.lost.keys() <= whole.keys()
    for key, kind in found.lost.items():
        assert kind in ("", whole[key][2])


def test_the_trace_says_what_was_lost(path: Path) -> None:
    connection = apsw.Connection(str(path))
    root = connection.execute("select rootpage from sqlite_schema where name = 'event_kind'").get
    connection.close()
    whole, data = rows_of(path), bytearray(path.read_bytes())
    gone = next(on for _, on in lying(path) if len(on) == 1 and on != {root})
    [page] = gone
    data[(page - 1) * SIZE : page * SIZE] = os.urandom(SIZE)
    path.write_bytes(data)
    found = read(path)
    assert found.lost
    assert len(found.events) + len(found.lost) == len(whole)
    assert {key: whole[key][2] for key in found.lost} == found.lost
    assert str(found).startswith(f"{len(found.events)} of 600 events; lost {len(found.lost)} ")
    assert "document.done x " in str(found)


def zero_head(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(bytes(SIZE) + data[SIZE:])


def wrong_size(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[16:18], data[21:24] = b"\x02\x00", b"\x00\x00\x00"
    path.write_bytes(data)


def zero_roots(path: Path) -> None:
    connection = apsw.Connection(str(path))
    found = connection.execute("select rootpage from sqlite_schema").fetchall()
    connection.close()
    data = bytearray(path.read_bytes())
    for (root,) in found:
        data[(root - 1) * SIZE : root * SIZE] = bytes(SIZE)
    path.write_bytes(data)


@pytest.mark.parametrize(("damage", "most"), [(zero_head, 0), (wrong_size, 0), (zero_roots, 40)])
def test_neither_head_nor_root_is_needed(
    path: Path, damage: Callable[[Path], None], most: int
) -> None:
    whole = rows_of(path)
    damage(path)
    assert fault(path, SCHEMA)
    found, aside = recover(path)
    assert len(found.events) >= EVENTS - most
    assert rows_of(path) == found.events
    assert found.events.items() <= whole.items()
    assert aside and aside.is_file()
    assert fault(path, SCHEMA, thorough=True) is None
    ledger = Ledger(path)
    ledger.append([Event("document.done", "new", {})])
    assert max(rows_of(path)) not in whole
    ledger.close()


@pytest.mark.parametrize("harmed", ["all", "head", "middle", "nothing but noise"])
def test_a_log_of_garbage(logged: Path, harmed: str) -> None:
    whole = rows_of(Path(shutil.copy(logged, logged.with_name("copy.db"))))
    log = Path(f"{logged}-wal")
    data = bytearray(log.read_bytes())
    if harmed == "all":
        data[:] = os.urandom(len(data))
    elif harmed == "head":
        data[:32] = os.urandom(32)
    elif harmed == "middle":
        at = 32 + len(data) // (SIZE + 24) // 2 * (SIZE + 24)
        data[at + 24 : at + 24 + SIZE] = os.urandom(SIZE)
    else:
        data[:] = os.urandom(777)
    log.write_bytes(data)
    zero_head(logged)
    found, aside = recover(logged)
    assert whole.items() <= found.events.items()
    assert len(found.events) >= {"head": 400, "middle": 350}.get(harmed, 200)
    assert aside and Path(f"{aside}-wal").read_bytes() == bytes(data)
    assert rows_of(logged) == found.events


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [512, 1024, 8192, 65536])
def test_pages_of_another_size(path: Path, tmp_path: Path, size: int) -> None:
    other = tmp_path / "other.db"
    connection = apsw.Connection(str(other))
    connection.execute(f"pragma page_size = {size}")
    connection.close()
    connect(other, SCHEMA).close()
    connection = apsw.Connection(str(other))
    connection.executemany("insert into event values (?, ?, ?, ?, ?)", rows_of(path).values())
    connection.close()
    assert len(read(other).events) == EVENTS
    data = bytearray(other.read_bytes())
    data[:100] = bytes(100)
    other.write_bytes(data)
    assert len(read(other).events) == EVENTS


def test_what_is_no_ledger_is_kept_and_an_empty_one_made(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("dear diary\n" * 1000)
    found, aside = recover(path)
    assert not found.events
    assert aside and aside.read_text().startswith("dear diary")
    assert rows_of(path) == {}


KILLED = """
import os, sys
from pathlib import Path
from djinn_memory.store.salvage import recover
left = int(sys.argv[2])
def hook(event, arguments):
    global left
    if event in ("os.rename", "os.remove", "os.link", "open"):
        if "ledger.db" in str(arguments[0]):
            left -= 1
            if not left:
                os._exit(9)
sys.addaudithook(hook)
recover(Path(sys.argv[1]))
"""


@pytest.mark.soak
def test_a_recovery_that_is_killed_at_any_step_goes_on(logged: Path, tmp_path: Path) -> None:
    zero_head(logged)
    parts = {end: Path(f"{logged}{end}").read_bytes() for end in ("", "-wal")}
    for step in range(1, 60):
        place = tmp_path / f"{step}" / "ledger.db"
        place.parent.mkdir()
        for end, data in parts.items():
            Path(f"{place}{end}").write_bytes(data)
        command = [sys.executable, "-c", KILLED, str(place), str(step)]
        done = subprocess.run(command, check=False)
        assert done.returncode in (0, 9)
        found, _ = recover(place)
        assert len(found.events) == 400
        assert len(rows_of(place)) == 400
        kept = [Path(f"{one}-wal") for one in place.parent.glob("*.corrupt-*[0-9]")]
        assert parts["-wal"] in [one.read_bytes() for one in kept if one.exists()]
        if done.returncode == 0:
            break
    assert 5 < step < 59


def test_who_has_it_open_writes_into_the_new_one(path: Path) -> None:
    late = Ledger(path)
    recover(path)
    late.append([Event("document.done", "after", {})])
    assert len(rows_of(path)) == EVENTS + 1
    late.append([Event("document.done", "later", {})])
    assert len(rows_of(path)) == EVENTS + 2
    recover(path)
    assert "later" in {one.subject for one in late.latest("document")}
    late.close()
    assert len(rows_of(path)) == EVENTS + 2


@pytest.mark.soak
def test_writers_and_a_recovery_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path).close()
    code = (
        "import sys; from pathlib import Path\n"
        "from djinn_memory.store.ledger import Event, Ledger\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "for n in range(150): ledger.append([Event('a.b', f'{sys.argv[2]}-{n}', {})])\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "abc"]
    while any(writer.poll() is None for writer in writers):
        recover(path)
        # Recoveries without a pause would leave the writers no turn on a busy machine.
        time.sleep(0.05)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    subjects = {row[3] for row in rows_of(path).values()}
    assert subjects == {f"{name}-{n}" for name in "abc" for n in range(150)}


def test_nothing_is_made_by_looking(path: Path) -> None:
    before = sorted(path.parent.iterdir())
    read(path)
    fault(path, SCHEMA, thorough=True)
    assert salvage.unfinished(path) is None
    assert sorted(path.parent.iterdir()) == before
