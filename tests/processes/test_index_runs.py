"""Several processes, and processes that die: what is kept, who waits for whom."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home import Home
from tests.indexing.content import content
from tests.indexing.vaults import fill
from tests.processes.commands import fresh, holding, start, wait_until

NOTES = 400


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


def test_a_search_does_not_wait_for_an_index_run(home: Home, shared: Path) -> None:
    fill(shared, 3)
    Djinn(home).index()
    (shared / "new.md").write_text("a kettle of zephyrs")
    (shared / "note-00000.md").unlink()
    with holding(home.state / "index.lock"):
        began = time.monotonic()
        result = Djinn(home).search("kettle")
        assert time.monotonic() - began < 5
    assert result.hits
    assert result.pending == 2
    assert not {"new.md", "note-00000.md"} & {hit.path for hit in result.hits}


def test_a_note_is_deleted_while_another_process_indexes(home: Home, shared: Path) -> None:
    fill(shared, 3)
    djinn = Djinn(home)
    djinn.index()
    entry = djinn.find("Note 1")
    with holding(home.state / "index.lock"):
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
