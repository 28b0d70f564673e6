"""A ledger that another process holds: answers do without it, and writes fail soon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Busy, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.operations.caller import ToolCall, record
from djinn_memory.store import busy
from djinn_memory.store.ledger import ledger, ledger_lock
from tests.conftest import Run

Holder = Callable[[Path], Iterator[None]]


def by_its_lock(path: Path) -> Iterator[None]:
    with ledger_lock(path):
        yield


def by_its_file(path: Path) -> Iterator[None]:
    other = apsw.Connection(str(path))
    other.pragma("locking_mode", "exclusive")
    other.execute("begin exclusive")
    yield
    other.close()


@pytest.fixture(params=[by_its_lock, by_its_file])
def held(
    request: pytest.FixtureRequest, djinn: Djinn, home: Home, shared: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Djinn]:  # fmt: skip
    """A home whose ledger somebody holds all the while, opened anew."""
    monkeypatch.setattr(ledger, "HELD_SECONDS", 0.3)
    (shared / "kettle.md").write_text("---\ntitle: Kettle\n---\nThe kettle whistles.")
    djinn.recall("kettle")
    djinn.close()
    with contextmanager(request.param)(home.ledger_path):
        yield Djinn(home)


def ledger_problems(problems: object) -> list[str]:
    return [problem.why for problem in problems if problem.what == "ledger"]  # type: ignore[attr-defined]


@pytest.mark.few(1)
def test_what_only_reads_answers_with_a_problem(held: Djinn) -> None:
    answer = held.recall("kettle")
    assert [memory.title for memory in answer.memories] == ["Kettle"]
    assert answer.request_id is None
    [why] = ledger_problems(answer.problems)
    assert "finished; ratings are not counted, and this recall cannot be rated" in why
    context = held.wake(task="kettle")
    assert context.session is None
    assert ledger_problems(context.problems) == [why]
    assert held.memories.show("Kettle").title == "Kettle"
    assert held.documents.list().documents == ()
    assert any("the memory is not counted" in why for why in ledger_problems(held.problems))
    assert any("not listed" in why for why in ledger_problems(held.problems))


def by_its_writers(path: Path) -> Iterator[None]:
    other = apsw.Connection(str(path))
    other.execute("begin immediate")
    yield
    other.close()


@pytest.mark.few(1)
@pytest.mark.parametrize("holder", [by_its_lock, by_its_writers])
def test_an_answer_that_cannot_be_logged_has_a_problem(
    home: Home, shared: Path, monkeypatch: pytest.MonkeyPatch, holder: Holder
) -> None:
    monkeypatch.setattr(ledger, "HELD_SECONDS", 0.3)
    (shared / "kettle.md").write_text("---\ntitle: Kettle\n---\nThe kettle whistles.")
    for ask in (
        lambda opened: opened.recall("kettle").problems,
        lambda opened: opened.wake(task="kettle").problems,
        lambda opened: opened.memories.show("Kettle") and opened.problems,
        lambda opened: [
            record(opened.runtime.state, [ToolCall("search", "me", None, None, {}, "done", 1.0)])
        ],
    ):
        opened = Djinn(home)
        opened.recall("kettle")
        with contextmanager(holder)(home.ledger_path):
            assert len(ledger_problems(ask(opened))) == 1
        opened.close()


@pytest.mark.few(1)
def test_a_note_is_written_with_a_problem(held: Djinn) -> None:
    for written in (held.checkpoint("Half of it."), held.sleep("All of it.")):
        assert written.action == "created"
        assert ledger_problems(written.problems)
    assert held.remember("lesson", "Lamp", "A lamp.").problems == []


@pytest.mark.few(1)
def test_what_cannot_be_recorded_or_told_fails(held: Djinn, home: Home, run: Run) -> None:
    held.recall("kettle")
    for call in (
        lambda: held.rate(useful=[1]),
        lambda: held.gaps.report("Why the kettle whistles."),
        held.gaps.list,
        held.scores.show,
        lambda: held.documents.ingest([home.root / "vaults" / "shared" / "kettle.md"]),
        lambda: held.memories.purge("Kettle"),
    ):
        with pytest.raises(Unavailable, match="ledger"):
            call()
    assert held.memories.show("Kettle").title == "Kettle"
    ended = run("rate", "last", "--useful", "1", home=home.root)
    assert (ended.returncode, ended.stdout) == (5, "")
    assert "ledger" in ended.stderr


def test_a_holder_is_waited_for_once() -> None:
    patience = busy.Patience()
    with pytest.raises(Busy), patience.waiting(20):
        assert busy.time_left() > 15
        raise Busy("another djinn process holds it")
    with patience.waiting(20):
        assert busy.time_left() <= busy.GLANCE_SECONDS
    with patience.waiting(20):
        assert busy.time_left() > 15
    assert busy.time_left() == busy.BUSY_SECONDS


@pytest.mark.soak
@pytest.mark.parametrize("holder", [by_its_lock, by_its_file])
@pytest.mark.parametrize(
    "arguments",
    [
        ("recall", "kettle"), ("wake",), ("wake", "--task", "kettle"), ("memory", "show", "Kettle"),
        ("document", "list"), ("checkpoint", "Half."), ("sleep", "--summary", "All."),
        ("gap", "list"), ("rate", "last", "--useful", "1"), ("gap", "report", "Why it whistles."),
        ("memory", "show", "Kettle", "--why"), ("doctor",), ("status",), ("maintain",),
        ("memory", "purge", "Kettle", "--yes"), ("ingest", "paper.txt"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_command_hangs(
    djinn: Djinn, home: Home, shared: Path, tmp_path: Path, spawn: Run, holder: Holder,
    arguments: tuple[str, ...],
) -> None:  # fmt: skip
    (shared / "kettle.md").write_text("---\ntitle: Kettle\n---\nThe kettle whistles.")
    (tmp_path / "paper.txt").write_text("A paper about kettles.")
    djinn.recall("kettle")
    djinn.close()
    with contextmanager(holder)(home.ledger_path):
        began = time.monotonic()
        ended = spawn(*arguments, home=home.root)
        took = time.monotonic() - began
    print(f"{took:.1f} s, exit {ended.returncode}: {ended.stderr.strip()[-200:]}")
    assert "Traceback" not in ended.stderr
    assert ended.returncode in (0, 1, 5)
    assert "ledger" in ended.stderr + ended.stdout or arguments[0] in ("status", "maintain")
    # Five seconds, and the start of a process on a busy machine.
    assert took < 15
