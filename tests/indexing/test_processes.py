"""Several processes, and processes that die: what is kept, who waits for whom."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home import Home
from djinn_memory.store.sqlite import load_vectors
from tests.indexing.content import content
from tests.indexing.vaults import fill

NOTES = 400


def start(home: Home, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "djinn_memory", "--home", str(home.root), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_until(home: Home, process: subprocess.Popen[str], sql: str) -> bool:
    """Whether `sql` on the index gave something before the process ended."""
    while process.poll() is None:
        try:
            connection = apsw.Connection(str(home.index_path), flags=apsw.SQLITE_OPEN_READONLY)
            load_vectors(connection)
            if connection.execute(sql).get:
                return True
        except apsw.Error:
            pass
        time.sleep(0.005)
    return False


def fresh(home: Home) -> dict[str, list[object]]:
    """What an index made from nothing holds."""
    for leftover in home.state.glob("*.db*"):
        leftover.unlink()
    Djinn(home).index()
    return content(home.index_path)


STAGES = {
    "reading": "select 1 from note",
    "embedding": "select 1 from vectors_1",
    "half embedded": "select count(*) > 600 from vectors_1",
}


@pytest.mark.parametrize("stage", STAGES)
def test_after_a_kill_the_next_run_goes_on(home: Home, shared: Path, stage: str) -> None:
    fill(shared, NOTES)
    process = start(home, "index")
    assert wait_until(home, process, STAGES[stage])
    process.kill()
    process.communicate()
    left = Djinn(home)
    read = left._index.execute("select count(*) from note").get
    vectors = left._index.execute("select count(*) from window where embedded").get
    report = Djinn(home).index()
    assert report.added == NOTES - read
    # At most one batch is lost: it may be in the cache already but not yet in the index.
    assert report.embedded <= report.windows - vectors
    after = content(home.index_path)
    assert after == fresh(home)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(40))
def test_kills_at_any_time(home: Home, shared: Path, seed: int) -> None:
    dice = random.Random(seed)
    fill(shared, NOTES)
    for _ in range(4):
        process = start(home, "index", *(["--rebuild"] if dice.random() < 0.3 else []))
        time.sleep(dice.uniform(0.1, 1.5))
        process.kill()
        process.communicate()
        victim = shared / f"note-{dice.randrange(NOTES):05}.md"
        victim.unlink(missing_ok=True)
        (shared / f"new-{dice.randrange(99)}.md").write_text(f"[[note-{dice.randrange(NOTES)}]]")
    Djinn(home).index()
    after = content(home.index_path)
    assert after == fresh(home)


def test_ctrl_c_ends_with_130_and_keeps_what_was_done(home: Home, shared: Path) -> None:
    fill(shared, 3 * NOTES)
    process = start(home, "index")
    assert wait_until(home, process, STAGES["embedding"])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert "interrupted" in err
    report = Djinn(home).index()
    assert report.added == 0
    assert report.embedded < report.windows


@pytest.mark.parametrize("pause", [0.08, 0.12, 0.16, 0.2, 0.25])
def test_ctrl_c_at_the_start_is_no_traceback(home: Home, pause: float) -> None:
    process = start(home, "memory", "search", "kettle")
    time.sleep(pause)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    # Before our own code runs the interpreter itself answers, with its own traceback.
    assert "djinn_memory" not in err or "Traceback" not in err
    assert process.returncode in (0, 130, -signal.SIGINT, 1)


def test_two_index_runs_at_once_both_succeed(home: Home, shared: Path) -> None:
    fill(shared, NOTES)
    runs = [start(home, "index", "--json") for _ in range(2)]
    results = [(run.communicate(timeout=60), run.returncode) for run in runs]
    assert [code for _, code in results] == [0, 0], results
    after = content(home.index_path)
    assert after == fresh(home)


@pytest.fixture
def holder(home: Home) -> Iterator[Callable[[], None]]:
    """Hold the index's lock in another process until the test ends."""
    held: list[subprocess.Popen[str]] = []

    def hold() -> None:
        code = (
            "import sys; from pathlib import Path; from djinn_memory.files import lock\n"
            "with lock(Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.read()"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(home.state / "index.lock")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        held.append(process)

    yield hold
    for process in held:
        process.kill()
        process.communicate()


def test_a_search_does_not_wait_for_an_index_run(
    home: Home, shared: Path, holder: Callable[[], None]
) -> None:
    fill(shared, 3)
    Djinn(home).index()
    (shared / "new.md").write_text("a kettle of zephyrs")
    (shared / "note-00000.md").unlink()
    holder()
    began = time.monotonic()
    result = Djinn(home).search("kettle")
    assert time.monotonic() - began < 2
    assert result.hits
    assert result.pending == 2
    assert not {"new.md", "note-00000.md"} & {hit.path for hit in result.hits}


def test_a_note_is_deleted_while_another_process_indexes(
    home: Home, shared: Path, holder: Callable[[], None]
) -> None:
    fill(shared, 3)
    djinn = Djinn(home)
    djinn.index()
    entry = djinn.find("Note 1")
    holder()
    assert djinn.delete(entry).is_file()
    assert "note-00001.md" not in {hit.path for hit in djinn.search("type:lesson").hits}


def test_searches_while_the_vault_is_indexed_again_and_again(home: Home, shared: Path) -> None:
    fill(shared, 60)
    Djinn(home).index()
    runs = [start(home, "index", "--rebuild") for _ in range(3)]
    searches = 0
    while any(run.poll() is None for run in runs):
        result = Djinn(home).search("kettle zephyr", mode=("hybrid", "words")[searches % 2])
        assert result.hits or result.problems or searches >= 0
        searches += 1
    assert searches > 5
    assert [run.wait() for run in runs] == [0, 0, 0]
    for run in runs:
        run.communicate()


@pytest.mark.skipif(os.name != "posix", reason="POSIX limits")
@pytest.mark.parametrize("kilobytes", [64, 300, 900])
def test_a_full_disk_is_one_line_and_the_next_run_goes_on(
    home: Home, shared: Path, kilobytes: int
) -> None:
    fill(shared, 150)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "limit = int(sys.argv.pop(1)) * 1024\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
        "from djinn_memory.cli.start import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(kilobytes), "--home", str(home.root), "index"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 5, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert Djinn(home).index().problems == ()
    after = content(home.index_path)
    assert after == fresh(home)
