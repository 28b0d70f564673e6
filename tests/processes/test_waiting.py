"""Who waits for whom, for how long, and what the person is told."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import psutil
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Busy
from djinn_memory.home.home import Home
from djinn_memory.store import busy
from djinn_memory.store import state as states
from djinn_memory.store.index import open_index
from djinn_memory.store.sqlite import transaction
from djinn_memory.system import waits
from djinn_memory.system.waits import WaitBudget, limited
from tests.conftest import Run
from tests.indexing.vaults import fill
from tests.processes.commands import HANG, scary, start
from tests.processes.held import holding
from tests.servers import ModelServer

WORKS = """
import sys, time
from pathlib import Path
from djinn_memory.system.locks import lock
from djinn_memory.store.index import meta, open_index
from djinn_memory.store.sqlite import transaction
state, what, seconds, pause = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
index = open_index(state / "index.db")
with lock(state / what):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with transaction(index):
            meta.put(index, "beat", str(time.monotonic()))
            print("held", flush=True)
            time.sleep(pause)
"""
"""Holds a lock and gets on: one transaction after the other, each as long as `pause`."""


@contextmanager
def working(home: Home, what: str, seconds: float, pause: float) -> Iterator[int]:
    """A process that holds a lock and writes the index all the while; gives its id."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKS, str(home.state), what, str(seconds), str(pause)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


BEATS = """
import sys
from pathlib import Path
from djinn_memory.system.locks import lock
from djinn_memory.store.index import meta, open_index
from djinn_memory.store.sqlite import transaction
index = open_index(Path(sys.argv[1]) / "index.db")
with lock(Path(sys.argv[1]) / sys.argv[2]):
    print("held", flush=True)
    for number, _ in enumerate(sys.stdin):
        with transaction(index):
            meta.put(index, "beat", str(number))
        print("written", flush=True)
"""
"""Holds a lock, and writes the index for each line that it is given."""


@pytest.fixture
def held(home: Home, shared: Path, server: ModelServer) -> Home:
    """A home whose model answers nobody until it is told to."""
    fill(shared, 12)
    home.edit(
        (("embedding", "provider"), "ollama"),
        (("embedding", "model"), "nomic-embed-text"),
        (("embedding", "url"), server.url),
        (("embedding", "batch"), 2),
    )
    home.trust(home.untrusted)
    djinn = Djinn(home)
    djinn.index()
    djinn.close()
    fill(shared, 14, seed=8)
    server.hold()
    return home


@pytest.mark.parametrize("what", ["index", "embed"])
def test_who_gets_on_is_waited_for(home: Home, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """As long as it takes, not as long as the patience for one that stands still."""
    monkeypatch.setattr(states, "STALLED_SECONDS", 1.0)
    home.edit((("embedding", "timeout"), 0.1))
    djinn = Djinn(home)
    djinn.index()
    told: list[str] = []
    process = subprocess.Popen(
        [sys.executable, "-c", BEATS, str(home.state), f"{what}.lock"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    now = 0.0

    def pause(*_: float) -> float:
        nonlocal now
        now += 0.4
        if now < 8:
            print(file=process.stdin, flush=True)
            assert process.stdout and process.stdout.readline() == "written\n"
        else:
            process.communicate()
        return 0.4

    # Time passes while the one that waits pauses, and only then, however busy the machine is.
    monkeypatch.setattr(waits, "pause", pause)
    with limited(WaitBudget(say=told.append)), djinn._state.lock(what):
        assert now > 8
    path = home.state / f"{what}.lock"
    assert told == [f"waiting for another djinn process (pid {process.pid}) to release {path}"]


@pytest.mark.parametrize("what", ["index", "embed"])
def test_who_stands_still_is_named(home: Home, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(states, "STALLED_SECONDS", 0.5)
    home.edit((("embedding", "timeout"), 0.1))
    djinn = Djinn(home)
    with (
        holding(home.state / f"{what}.lock") as process,
        pytest.raises(Busy, match=rf"process \(pid {process.pid}\) is using .*{what}\.lock; try"),
    ):
        djinn.index()


@pytest.mark.few(1)
@pytest.mark.parametrize("command", [["index"], ["ingest", "a.txt"], ["maintain"]])
def test_a_person_hears_of_a_held_database(
    home: Home, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    (tmp_path / "a.txt").write_text("Two lamps after all.")
    with Djinn(home) as djinn:
        djinn.index()
    monkeypatch.setattr(waits, "NOTICE_SECONDS", 0.1)
    monkeypatch.setattr(busy, "BUSY_SECONDS", 0.5)
    other = apsw.Connection(str(home.index_path))
    other.pragma("locking_mode", "exclusive")
    other.execute("begin exclusive")
    ended = run(*command, home=home.root)
    other.close()
    assert ended.returncode == 5
    first, last = ended.stderr.splitlines()
    assert first == f"waiting for another process to release {home.index_path}"
    assert last == (
        f"error: another process is using {home.index_path}; try again when it has finished"
    )


def test_ctrl_c_ends_the_waiting(home: Home) -> None:
    with holding(home.state / "index.lock") as other:
        process = start(home, "index")
        assert process.stderr
        said = f"waiting for another djinn process (pid {other.pid}) to release {home.state}/"
        assert process.stderr.readline() == f"{said}index.lock\n"
        # A signal in the midst of a line would have the line written twice.
        while psutil.Process(process.pid).status() == psutil.STATUS_RUNNING:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert err.startswith("interrupted")
    assert len(err.splitlines()) == 1


@pytest.mark.soak
def test_a_lock_that_others_take_in_turn_is_waited_for(home: Home) -> None:
    """Eight that each hold it for a moment: none waits for one that stands still."""
    code = (
        "import sys, time; from pathlib import Path; from djinn_memory.system.locks import lock\n"
        "with lock(Path(sys.argv[1]), timeout=2.5):\n    time.sleep(0.4)"
    )
    path = str(home.state / "home.lock")
    crew = [subprocess.Popen([sys.executable, "-c", code, path]) for _ in range(8)]
    assert [one.wait(timeout=HANG) for one in crew] == [0] * 8


@pytest.mark.soak
def test_two_who_embed_leave_nothing_behind(held: Home, server: ModelServer) -> None:
    first = start(held, "index")
    server.until_held()
    assert Djinn(held).status().indexing
    (held.root / "vaults" / "shared" / "late.md").write_text("# Late\n\na kettle that came late\n")
    second = start(held, "index")
    assert second.stderr
    said = f"waiting for another djinn process (pid {first.pid}) to release {held.state}/embed.lock"
    assert second.stderr.readline() == f"{said}\n"
    server.go_on()
    for process in (first, second):
        _, err = process.communicate(timeout=HANG)
        assert process.returncode == 0, err
        assert not scary(err)
    djinn = Djinn(held)
    assert djinn.memories.stats().pending == 0
    report = djinn.index()
    assert (report.added, report.changed, report.embedded, report.problems) == (0, 0, 0, ())


@pytest.mark.soak
def test_an_ingest_leaves_its_texts_to_who_embeds(
    held: Home, server: ModelServer, tmp_path: Path
) -> None:
    first = start(held, "index")
    server.until_held()
    (tmp_path / "a.txt").write_text("a quokka in the harbour")
    second = start(held, "ingest", tmp_path / "a.txt")
    out, err = second.communicate(timeout=HANG)
    assert (second.returncode, err) == (0, "")
    assert "done 1" in out
    assert [hit.path for hit in Djinn(held).search("quokka", mode="words").hits][:1] == [
        "documents/a.md"
    ]
    server.go_on()
    _, err = first.communicate(timeout=HANG)
    assert first.returncode == 0, err
    assert Djinn(held).memories.stats().pending == 0


@pytest.mark.soak
def test_a_killed_holder_is_succeeded(held: Home, server: ModelServer) -> None:
    first = start(held, "index")
    server.until_held()
    second = start(held, "index")
    assert second.stderr
    assert "waiting for another" in second.stderr.readline()
    first.kill()
    first.communicate()
    server.go_on()
    _, err = second.communicate(timeout=HANG)
    assert second.returncode == 0
    assert not scary(err)
    assert Djinn(held).memories.stats().pending == 0


def test_short_writes_get_in_between_long_ones(home: Home) -> None:
    """One process writes without a pause; SQLite's own way of waiting would starve another."""
    djinn = Djinn(home)
    djinn.index()
    with working(home, "other.lock", HANG, 0.5):
        for number in range(8):
            began = time.monotonic()
            with transaction(djinn.runtime.state.index):
                djinn.runtime.state.index.execute(
                    "insert or replace into meta values ('test', ?)", (number,)
                )
            assert time.monotonic() - began < 10


def test_a_search_does_not_wait_for_a_long_transaction(home: Home, shared: Path) -> None:
    fill(shared, 3)
    djinn = Djinn(home)
    djinn.index()
    (shared / "new.md").write_text("a quokka")
    with working(home, "other.lock", HANG, 30):
        began = time.monotonic()
        result = djinn.search("kettle")
        assert time.monotonic() - began < 20
    assert result.hits
    assert result.pending == 1
    assert djinn.search("quokka").hits[0].path == "new.md"


OPENS = """
import sys, time
from pathlib import Path
from djinn_memory.store.index import open_index
from djinn_memory.store.vector_cache import EmbeddingCache
from djinn_memory.store.ledger import Event, Ledger
folder = Path(sys.argv[1])
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    state = folder / str(number)
    open_index(state / "index.db").execute("select count(*) from note").get
    EmbeddingCache(state / "embeddings.db").known("x")
    Ledger(state / "ledger.db").append([Event("a.b", "c", {})])
"""


@pytest.mark.soak
def test_many_make_the_databases_at_once(tmp_path: Path) -> None:
    crew = [
        subprocess.Popen([sys.executable, "-c", OPENS, str(tmp_path), "15"],
                         stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]  # fmt: skip
    time.sleep(1)
    for one in crew:
        assert one.stdin
        one.stdin.write("go\n")
        one.stdin.flush()
    ends = [(one.communicate(timeout=HANG)[1], one.returncode) for one in crew]
    assert ends == [("", 0)] * 8
    for number in range(15):
        index = open_index(tmp_path / str(number) / "index.db")
        assert index.execute("pragma integrity_check").get == "ok"
