"""Several processes, and processes that die: what is kept, who waits for whom."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.indexing.content import content
from tests.indexing.vaults import fill
from tests.processes.commands import HANG, fresh, start
from tests.processes.held import holding
from tests.servers import ModelServer

NOTES = 400


@pytest.fixture
def served(home: Home, shared: Path, server: ModelServer) -> Home:
    """A home whose model is a server, and has been asked before."""
    fill(shared, 1)
    home.edit(
        (("embedding", "provider"), "ollama"),
        (("embedding", "model"), "nomic-embed-text"),
        (("embedding", "url"), server.url),
        (("embedding", "batch"), 8),
    )
    home.trust(home.untrusted)
    djinn = Djinn(home)
    djinn.index()
    djinn.close()
    return home


def stopped(home: Home, server: ModelServer, batches: int) -> subprocess.Popen[str]:
    """An index run that has so many batches and waits for one more."""
    server.hold(batches)
    process = start(home, "index")
    server.until_held()
    return process


@pytest.mark.soak
def test_after_a_kill_the_next_run_reads_nothing_again(home: Home, shared: Path) -> None:
    fill(shared, 60)
    with holding(home.state / "embed.lock"):
        process = start(home, "index")
        assert process.stderr
        assert "waiting for another" in process.stderr.readline()
        process.kill()
        process.communicate()
    assert Djinn(home).index().added == 0
    assert content(home.index_path) == fresh(home)


@pytest.mark.few(1)
@pytest.mark.parametrize("batches", [0, 1, 5])
def test_after_a_kill_the_next_run_goes_on(
    served: Home, shared: Path, server: ModelServer, batches: int
) -> None:
    fill(shared, 20)
    process = stopped(served, server, batches)
    process.kill()
    process.communicate()
    server.go_on()
    vectors = (
        Djinn(served).runtime.state.index.execute("select count(*) from window where embedded").get
    )
    report = Djinn(served).index()
    assert report.added == 0
    assert 8 * batches <= vectors < report.windows
    assert report.embedded == report.windows - vectors
    assert content(served.index_path) == fresh(served)


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


def test_ctrl_c_ends_with_130_and_keeps_what_was_done(
    served: Home, shared: Path, server: ModelServer
) -> None:
    fill(shared, 20)
    process = stopped(served, server, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG)
    server.go_on()
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert "interrupted" in err
    report = Djinn(served).index()
    assert report.added == 0
    assert report.embedded < report.windows


@pytest.mark.parametrize(
    "module",
    ["gc", "djinn_memory.embedding.local", "typer", "djinn_memory.cli.app", "djinn_memory.djinn"],
)
def test_ctrl_c_at_the_start_is_no_traceback(home: Home, module: str) -> None:
    """As soon as djinn answers it, which is before its second import."""
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "djinn_memory", "--home", str(home.root),
         "memory", "search", "kettle"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr
    imported = (line.rpartition("|")[2].strip() for line in process.stderr)
    assert "djinn_memory.cli.start" in imported
    assert module in imported
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG)
    assert "Traceback" not in err
    assert process.returncode in (0, 130)


@pytest.mark.soak
def test_two_index_runs_at_once_both_succeed(home: Home, shared: Path) -> None:
    fill(shared, NOTES)
    runs = [start(home, "index", "--json") for _ in range(2)]
    results = [(run.communicate(timeout=HANG), run.returncode) for run in runs]
    assert [code for _, code in results] == [0, 0], results
    after = content(home.index_path)
    assert after == fresh(home)


def test_a_search_does_not_wait_for_an_index_run(home: Home, shared: Path) -> None:
    fill(shared, 3)
    Djinn(home).index()
    (shared / "new.md").write_text("a kettle of zephyrs")
    (shared / "note-00000.md").unlink()
    with holding(home.state / "index.lock"):
        began = time.monotonic()
        result = Djinn(home).search("kettle")
        assert time.monotonic() - began < 20
    assert result.hits
    assert result.pending == 2
    assert not {"new.md", "note-00000.md"} & {hit.path for hit in result.hits}


def test_a_note_is_deleted_while_another_process_indexes(home: Home, shared: Path) -> None:
    fill(shared, 3)
    djinn = Djinn(home)
    djinn.index()
    with holding(home.state / "index.lock"):
        moved_to = djinn.memories.delete("Note 1").moved_to
        assert moved_to and moved_to.is_file()
        assert "note-00001.md" not in {hit.path for hit in djinn.search("type:lesson").hits}


@pytest.mark.soak
def test_searches_while_the_vault_is_indexed_again_and_again(home: Home, shared: Path) -> None:
    fill(shared, 60)
    Djinn(home).index()
    runs = [start(home, "index", "--rebuild") for _ in range(3)]
    searches = 0
    while searches <= 5 or any(run.poll() is None for run in runs):
        result = Djinn(home).search("kettle zephyr", mode=("hybrid", "words")[searches % 2])
        assert result.hits or result.problems or searches >= 0
        searches += 1
    assert [run.wait() for run in runs] == [0, 0, 0]
    for run in runs:
        run.communicate()
