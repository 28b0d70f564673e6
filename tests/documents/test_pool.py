"""Real processes read real files, of which some are bombs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from djinn_memory.documents.document import ReadRequest
from djinn_memory.documents.pool import (
    Event,
    FileFailed,
    FileRead,
    FileStarted,
    PagesRead,
    WorkerLimits,
    read_all,
)
from djinn_memory.errors import Unavailable, using_wording
from djinn_memory.operations.wording import CommandWording

READER = "tests.documents.readers:read"
ROOT = Path(__file__).resolve().parents[2]
LIMITS = WorkerLimits(seconds=20, megabytes=150, workers=2)
QUICK = WorkerLimits(seconds=1.5, megabytes=150, workers=2)

MEMORY = "needs more than 150 MB of memory; raise documents.memory to allow more"
TIME = "took longer than 1.5 s; raise documents.timeout to allow more"

Make = Callable[..., list[ReadRequest]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Files that hold these words, as orders."""

    def orders(*words: str) -> list[ReadRequest]:
        made = []
        for number, text in enumerate(words):
            path = tmp_path / f"{number}.txt"
            path.write_text(text)
            made.append(ReadRequest(path, path.name))
        return made

    return orders


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    yield
    assert psutil.Process().children(recursive=True) == []


def outcomes(events: list[Event]) -> dict[str, FileRead | FileFailed]:
    return {
        event.request.name: event for event in events if isinstance(event, FileRead | FileFailed)
    }


def why(orders: list[ReadRequest], limits: WorkerLimits = LIMITS) -> list[str]:
    ends = outcomes(list(read_all(orders, limits, READER)))
    return [end.why if isinstance(end, FileFailed) else "read" for _, end in sorted(ends.items())]


def pages(event: Event) -> tuple[str, ...]:
    assert isinstance(event, FileRead)
    return event.document.pages


def gone(pid: int, within: float = 20.0) -> bool:
    """Whether a process is no more, or is a corpse that its new parent has not buried."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def test_a_file_tells_in_order_what_becomes_of_it(make: Make) -> None:
    (order,) = make("good words")
    first, *between, last = read_all([order], LIMITS, READER)
    assert first == FileStarted(order)
    assert between == [PagesRead(order, 1, 3), PagesRead(order, 3, 3)]
    assert pages(last) == ("words",)


def test_no_file_needs_no_process() -> None:
    assert list(read_all([], LIMITS, READER)) == []


def test_a_few_workers_read_many_files(make: Make) -> None:
    orders = make(*(f"good {number}" for number in range(60)))
    events = list(read_all(iter(orders), LIMITS, READER))
    ends = outcomes(events)
    assert {pages(end)[0] for end in ends.values()} == {str(number) for number in range(60)}
    assert len({end.document.title for end in ends.values() if isinstance(end, FileRead)}) <= 2
    for order in orders:
        kinds = [type(event) for event in events if event.request is order]
        assert kinds[0] is FileStarted
        assert kinds[-1] is FileRead
        assert set(kinds[1:-1]) == {PagesRead}


def test_files_are_taken_as_they_are_needed(make: Make) -> None:
    taken = []

    def orders() -> Iterator[ReadRequest]:
        for order in make(*["good x"] * 20):
            taken.append(order)
            yield order

    with closing(read_all(orders(), LIMITS, READER)) as events:
        next(events)
    assert len(taken) <= 4


def test_names_may_be_no_unicode(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9 \xf0\x9f\x98\x80.txt")
    path.write_text("echo")
    order = ReadRequest(path, path.name, password="p\udce4ss", ocr=True)
    *_, end = read_all([order], LIMITS, READER)
    assert pages(end)[0].endswith("caf\N{REPLACEMENT CHARACTER} \N{GRINNING FACE}.txt")
    assert pages(end)[2:] == ("p\N{REPLACEMENT CHARACTER}ss", "True")


def test_a_hang_costs_one_file(make: Make) -> None:
    orders = make("hang", "hang_in_c", "good x", "slow 0.2")
    assert why(orders, QUICK) == [TIME, TIME, "read", "read"]


def test_a_bomb_costs_one_file(make: Make) -> None:
    orders = make("bomb", "bomb_at_once", "bomb_in_child", "good x")
    assert why(orders) == [MEMORY, MEMORY, MEMORY, "read"]


@pytest.mark.soak
@pytest.mark.parametrize("unit", [b" ", b"<w:p><w:r><w:t>x</w:t></w:r></w:p>"])
def test_a_zip_bomb_costs_one_file(tmp_path: Path, unit: bytes) -> None:
    bomb, good = tmp_path / "0.docx", tmp_path / "1.txt"
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w") as part:
            part.write(f'<w:document xmlns:w="{name}"><w:body>'.encode())
            for _ in range(600):
                part.write(unit * (1_000_000 // len(unit)))
            part.write(b"</w:body></w:document>")
    good.write_text("Good words.")
    limits = WorkerLimits(seconds=60, megabytes=500, workers=1)
    ends = outcomes(list(read_all([ReadRequest(path, path.name) for path in (bomb, good)], limits)))
    failure = ends["0.docx"]
    assert isinstance(failure, FileFailed) and "more than 500 MB of memory" in failure.why
    assert isinstance(ends["1.txt"], FileRead)


def test_a_crash_costs_one_file(make: Make) -> None:
    orders = make("leave 3", "segfault", "die SIGABRT", "leave_a_child", "leave 0", "good x")
    crash = "the reader crashed on this file ({})".format
    assert why(orders) == [
        crash("exit code 3"),
        crash("SIGSEGV"),
        crash("SIGABRT"),
        crash("exit code 4"),
        crash("exit code 0"),
        "read",
    ]


def test_cpu_time_that_is_up_is_time_that_is_up(make: Make) -> None:
    assert why(make("die SIGXCPU")) == [
        "took longer than 20 s; raise documents.timeout to allow more"
    ]


def test_what_a_reader_says_is_passed_on(make: Make) -> None:
    (order,) = make("good x")
    missing = ReadRequest(order.path / "no" / "file", "missing")
    orders = make("fail", "fail_silently", "locked", "unreadable", "quit_python", "nothing")
    with using_wording(CommandWording()):
        ends = outcomes(list(read_all([*orders, missing], LIMITS, READER)))
    failed = {name: end for name, end in ends.items() if isinstance(end, FileFailed)}
    assert [end.why for _, end in sorted(failed.items())] == [
        "cannot be read (ValueError: no \N{REPLACEMENT CHARACTER}[31mtable)",
        "cannot be read (ValueError)",
        "wants a password; pass --password",
        "is no PDF; convert it first",
        "cannot be read (SystemExit: 3)",
        "cannot be read (TypeError: the reader returned NoneType, not a document)",
        "Not a directory",
    ]
    assert [name for name, end in failed.items() if end.locked] == ["2.txt"]


def test_an_answer_that_makes_no_sense_fails_the_file(make: Make) -> None:
    crash = "the reader crashed on this file ({})".format
    garbled, silent = crash("garbled answer"), crash("it has closed its pipe")
    orders = make("garble", "lie", "start_again", "flood", "fall_silent", "good x")
    assert why(orders) == [garbled, garbled, garbled, MEMORY, silent, "read"]


def test_text_may_be_long(make: Make) -> None:
    *_, end = read_all(make("huge 40"), WorkerLimits(20, 600, 1), READER)
    assert pages(end) == ("é word " * 100_000,) * 40


def test_halves_of_surrogate_pairs_are_joined_or_replaced(make: Make) -> None:
    *_, end = read_all(make("surrogates"), LIMITS, READER)
    assert pages(end) == ("a\N{REPLACEMENT CHARACTER}b", "\N{GRINNING FACE}")


def test_thousands_of_pages_are_not_thousands_of_events(make: Make) -> None:
    assert len(list(read_all(make("many_pages x"), LIMITS, READER))) < 40


def test_libraries_print_into_the_void(make: Make, capfd: pytest.CaptureFixture[str]) -> None:
    *_, end = read_all(make("noise"), LIMITS, READER)
    assert pages(end) == ("",)
    assert capfd.readouterr() == ("", "")


def test_a_worker_that_keeps_much_memory_is_replaced(make: Make) -> None:
    limits = WorkerLimits(20, 150, 1)
    orders = make("hoard 1000", "hoard 1000", f"hoard {50_000_000}", "good x")
    ends = outcomes(list(read_all(orders, limits, READER)))
    first, second, third, fourth = (
        end.document.title for _, end in sorted(ends.items()) if isinstance(end, FileRead)
    )
    assert first == second == third != fourth


@pytest.mark.soak
def test_a_caller_may_take_its_time(make: Make) -> None:
    """A worker waits for no caller, and is charged for none; a bomb is stopped meanwhile."""
    ends = []
    for event in read_all(make("bomb", "huge 5", "many_pages", "good x"), QUICK, READER):
        if isinstance(event, FileStarted):
            time.sleep(1.8)
        if isinstance(event, FileRead | FileFailed):
            ends.append(event.why if isinstance(event, FileFailed) else "read")
    assert sorted(ends) == [MEMORY, "read", "read", "read"]


def test_closing_ends_the_workers(make: Make) -> None:
    with closing(read_all(make("hang", "hang_in_c"), LIMITS, READER)) as events:
        next(events), next(events)
        assert len(psutil.Process().children()) == 2
    assert psutil.Process().children() == []


def test_closing_ends_what_the_workers_run(make: Make, tmp_path: Path) -> None:
    with closing(read_all(make(f"hang_with_child {tmp_path / 'pid'}"), LIMITS, READER)) as events:
        next(events)
        child = wait_for(tmp_path / "pid")
    assert gone(child)


def test_an_exception_in_the_caller_ends_the_workers(make: Make) -> None:
    events = read_all(make("hang", "good x"), LIMITS, READER)
    next(events)
    with pytest.raises(KeyboardInterrupt):
        events.throw(KeyboardInterrupt)
    assert psutil.Process().children() == []


def test_a_reader_that_cannot_be_had_is_told(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unavailable, match=r"No module named 'tests\.documents\.none'"):
        list(read_all(make("good x"), LIMITS, "tests.documents.none:read"))
    (tmp_path / "leaving.py").write_text("import os; os._exit(7)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        Unavailable, match=r"the process that reads documents did not start .*exit code 7"
    ):
        list(read_all(make("good x"), LIMITS, "leaving:read"))


@pytest.mark.soak
def test_among_twenty_good_files_a_bomb_and_a_hang_cost_two(make: Make) -> None:
    limits = WorkerLimits(seconds=4, megabytes=150, workers=3)
    orders = make(*["good x"] * 10, "bomb", "hang", *["good x"] * 10)
    ends = outcomes(list(read_all(orders, limits, READER)))
    assert sum(isinstance(end, FileRead) for end in ends.values()) == 20
    assert [name for name, end in ends.items() if isinstance(end, FileFailed)] == [
        "10.txt",
        "11.txt",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="macOS enforces none, Windows has none")
def test_the_system_limits_a_worker_too(make: Make) -> None:
    first, second = list(read_all(make("limits x", "limits x"), WorkerLimits(20, 150, 1), READER))[
        1::2
    ]
    cpu, core, address = map(int, pages(first))
    assert 30 < cpu <= 32
    assert core == 0
    assert 2_150_000_000 < address < 2_500_000_000
    assert pages(second) >= pages(first)


# A caller in a process of its own, that has no `if __name__ == "__main__"`.
CALLER = """
import signal, sys
from pathlib import Path
from djinn_memory.documents.document import ReadRequest
from djinn_memory.documents.pool import WorkerLimits
from djinn_memory.documents.pool import read_all

# Who starts these tests in the background of a shell ignores it, and so would this.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("started", flush=True)
orders = [ReadRequest(Path(name), name) for name in sys.argv[1:]]
events = read_all(orders, WorkerLimits(20, 150, 2), "tests.documents.readers:read")
for event in events:
    print(type(event).__name__, flush=True)
    {then}
"""


@contextmanager
def caller(orders: list[ReadRequest], tmp_path: Path, then: str) -> Iterator[subprocess.Popen[str]]:
    script = tmp_path / "caller.py"
    script.write_text(CALLER.format(then=then))
    process = subprocess.Popen(
        [sys.executable, script, *(str(order.path) for order in orders)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        yield process
        if process.poll() is None:
            process.kill()


def wait_for(path: Path) -> int:
    """The process id in a file that a reader writes."""
    until = time.monotonic() + 20
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return int(path.read_text())


def started(process: subprocess.Popen[str], workers: int) -> list[int]:
    assert process.stdout
    for _ in range(1 + workers):
        process.stdout.readline()
    return [child.pid for child in psutil.Process(process.pid).children()]


def test_a_script_without_a_guard_runs_once(make: Make, tmp_path: Path) -> None:
    with caller(make("good x"), tmp_path, "pass") as process:
        out, err = process.communicate(timeout=20)
    assert out.split() == ["started", "FileStarted", "PagesRead", "PagesRead", "FileRead"]
    assert err == ""


def test_a_caller_that_is_killed_leaves_nothing(make: Make, tmp_path: Path) -> None:
    orders = make("hang", f"hang_with_child {tmp_path / 'pid'}")
    with caller(orders, tmp_path, "pass") as process:
        workers = started(process, 2)
        child = wait_for(tmp_path / "pid")
        process.kill()
        assert len(workers) == 2
        assert all(gone(pid) for pid in [*workers, child])


def test_a_caller_that_is_interrupted_leaves_nothing(make: Make, tmp_path: Path) -> None:
    with caller(make("hang", "hang_in_c"), tmp_path, "pass") as process:
        workers = started(process, 2)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert err.strip().endswith("KeyboardInterrupt")
        assert "Exception ignored" not in err
        assert len(workers) == 2
        assert all(gone(pid) for pid in workers)


def test_a_caller_that_forgets_to_close_leaves_nothing(make: Make, tmp_path: Path) -> None:
    tell = "import psutil; print(*(each.pid for each in psutil.Process().children())); break"
    with caller(make("hang", "hang_in_c"), tmp_path, tell) as process:
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert err == ""
    workers = out.split()[2:]
    assert workers
    assert all(gone(int(pid), within=0.5) for pid in workers)
