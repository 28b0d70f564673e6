"""What is held by another process: reads answer soon, writes say who holds what, runs go on."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from djinn_memory.cli.tree import COMMANDS
from djinn_memory.djinn import Djinn
from djinn_memory.errors import Busy
from djinn_memory.home.home import Home
from djinn_memory.models import Progress
from djinn_memory.store.postgres.connection import ServerAddress
from tests.postgres import DatabaseServer
from tests.processes import held
from tests.processes.commands import HANG, start

READ_SECONDS = 2.0
"""A command that reads answers within so many seconds more than when nothing is held."""

WRITE_SECONDS = 10.0
"""A command that writes ends within so many seconds, or says who holds what."""

Ask = Callable[[Djinn], Any]
Names = dict[str, str]
Environment = dict[str, str]

READS: dict[str, tuple[Ask, Ask]] = {
    "index": (lambda djinn: djinn.search("kettle").hits[0], lambda djinn: djinn.recall("kettle")),
    "ledger": (
        lambda djinn: djinn.recall("kettle").memories[0],
        lambda djinn: djinn.memories.show("Kettle"),
    ),
    "cache": (lambda djinn: djinn.search("kettle").hits[0], lambda djinn: djinn.status()),
    "working": (lambda djinn: djinn.working.get("cursor"), lambda djinn: djinn.working.list()),
    "vault": (
        lambda djinn: djinn.wake(task="kettle"),
        lambda djinn: djinn.facts.get("anna", "city"),
    ),
}
WRITES: dict[str, tuple[Ask, Ask]] = {
    "index": (
        lambda djinn: djinn.facts.set("anna", "street", "Quay"),
        lambda djinn: djinn.memories.delete("Lamp"),
    ),
    "ledger": (
        lambda djinn: djinn.gaps.report("Why it whistles."),
        lambda djinn: djinn.checkpoint("Half of it."),
    ),
    "cache": (
        lambda djinn: djinn.remember("lesson", "Mole", "The mole has a lamp."),
        lambda djinn: djinn.entities.add("Maren", "person"),
    ),
    "working": (
        lambda djinn: djinn.working.set("other", "value"),
        lambda djinn: djinn.working.clear("cursor"),
    ),
    "vault": (
        lambda djinn: djinn.facts.set("anna", "street", "Quay"),
        lambda djinn: djinn.memories.delete("Lamp"),
    ),
}
RUNS: dict[str, tuple[Ask, Ask]] = {
    "index": (
        lambda djinn: djinn.index(),
        lambda djinn: djinn.import_history([djinn.home.root / "turns.jsonl"]),
    ),
    "ledger": (
        lambda djinn: djinn.maintain(),
        lambda djinn: djinn.documents.ingest([djinn.home.root / "paper.txt"]),
    ),
    "cache": (
        lambda djinn: djinn.index(),
        lambda djinn: djinn.documents.ingest([djinn.home.root / "paper.txt"]),
    ),
    "working": (lambda djinn: djinn.maintain(only=["promote"]), lambda djinn: djinn.doctor()),
    "vault": (
        lambda djinn: djinn.import_history([djinn.home.root / "turns.jsonl"]),
        lambda djinn: djinn.memories.purge("Lamp"),
    ),
}


@dataclass
class Asked:
    """An operation, and how it ended."""

    home: Home
    ask: Ask
    seconds: float = 0.0
    said: str = ""
    error: Exception | None = None

    def run(self) -> None:
        def tell(progress: Progress) -> None:
            self.said += f"{progress.note}\n"

        djinn = Djinn(self.home, tell)
        began = time.monotonic()
        try:
            self.ask(djinn)
        except Busy as busy:
            self.error = busy
            self.said += str(busy)
        finally:
            self.seconds = time.monotonic() - began
            djinn.close()

    def names(self, lock: str, number: int) -> bool:
        """Whether the process that holds the lock was named, with its file."""
        paths = held.targets(self.home, lock)
        return f"(pid {number})" in self.said and any(str(path) in self.said for path in paths)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, home_template: Path) -> Path:
    """A home with something to do for each operation."""
    root = tmp_path_factory.mktemp("held") / "home"
    shutil.copytree(home_template, root, symlinks=True)
    shared = root / "vaults" / "shared"
    (shared / "kettle.md").write_text("---\ntitle: Kettle\n---\nThe kettle whistles.")
    (shared / "lamp.md").write_text("---\ntitle: Lamp\n---\nThe lamp is dark.")
    turn = '{"role": "user", "content": "Which buoy?", "timestamp": "2026-01-01T10:00:00Z"}\n'
    (root / "turns.jsonl").write_text(turn + turn.replace("user", "assistant"))
    (root / "paper.txt").write_text("A paper about kettles.")
    with Djinn(Home(root)) as djinn:
        djinn.index()
        djinn.recall("kettle")
        djinn.facts.set("anna", "city", "Rome")
        djinn.working.set("cursor", "line 7")
    (shared / "new.md").write_text("A note that is not indexed yet.")
    return root


@pytest.mark.few(1)
@pytest.mark.parametrize("lock", held.LOCKS)
def test_a_held_lock(template: Path, tmp_path: Path, lock: str) -> None:
    def asked(kind: dict[str, tuple[Ask, Ask]]) -> list[Asked]:
        places = [tmp_path / str(id(ask)) for ask in kind[lock]]
        homes = [Home(Path(shutil.copytree(template, place))) for place in places]
        return [Asked(home, ask) for home, ask in zip(homes, kind[lock], strict=True)]

    reads, writes, runs = asked(READS), asked(WRITES), asked(RUNS)
    everybody = [*reads, *writes, *runs]
    paths = [path for one in everybody for path in held.targets(one.home, lock)]
    with ThreadPoolExecutor(6) as threads, held.holding(*paths) as holder:
        futures = [threads.submit(one.run) for one in everybody]
        wait(futures[:4], timeout=HANG)
        until = time.monotonic() + WRITE_SECONDS
        while silent := [one for one in runs if not (one.seconds or one.names(lock, holder.pid))]:
            if time.monotonic() > until:
                break
            time.sleep(0.02)
        holder.communicate()
        for future in futures:
            future.result(timeout=HANG)
    assert [one for one in reads if one.error or one.seconds > READ_SECONDS + 1] == []
    assert [one for one in writes if one.seconds > WRITE_SECONDS] == []
    assert [one for one in writes if one.error and not one.names(lock, holder.pid)] == []
    assert silent == []
    # A run that needs the ledger ends, as a caller should learn soon that nothing is recorded.
    assert [one for one in runs if one.error and lock != "ledger"] == []


def test_a_value_that_cannot_be_counted_is_read(template: Path, tmp_path: Path) -> None:
    home = Home(Path(shutil.copytree(template, tmp_path / "home")))
    paths = held.targets(home, "working")
    with held.holding(*paths) as holder, Djinn(home) as djinn:
        assert djinn.working.get("cursor").value == "line 7"
        [problem] = djinn.problems
    assert problem.why == (
        f"another process (pid {holder.pid}) is using {home.working_path}; "
        "try again when it has finished; this use is not counted"
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("lock", ["vault", "index"])
def test_ctrl_c_ends_a_run_that_waits(template: Path, tmp_path: Path, lock: str) -> None:
    home = Home(Path(shutil.copytree(template, tmp_path / "home")))
    with held.holding(*held.targets(home, lock)):
        process = start(home, "import", home.root / "turns.jsonl")
        assert process.stderr
        assert process.stderr.readline().startswith("waiting for another ")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WRITE_SECONDS)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err


def test_every_command_is_run_with_held_locks() -> None:
    kinds = (held.READS, held.WRITES, held.RUNS, held.SYNC)
    assert sorted(name for kind in kinds for name in kind) == sorted(
        {*COMMANDS} - {"watch", "serve"}
    )


class Trial(NamedTuple):
    """A command that ran while a lock was held, or none."""

    code: int
    err: str
    seconds: float
    waited: float
    """The seconds that it waited for locks, as it says itself."""


def tried(
    place: Path, words: list[str], lock: str | None, env: Environment, *, reads: bool
) -> Trial:
    """Run a command. Some seconds after it says who holds the lock, the lock is released.

    For a command that reads the lock is held until its end.
    """
    home = Home(place / "home")
    holds = held.holding(*held.targets(home, lock)) if lock else nullcontext()
    with holds as holder:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "--timings", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            cwd=place, env={**held.environment(place), **env},
        )  # fmt: skip
        err, ended = "", 0.0
        assert process.stderr
        for line in process.stderr:
            err += line
            if (
                holder
                and not reads
                and line.startswith("waiting for ")
                and f"(pid {holder.pid})" in line
            ):
                ended = time.monotonic() - began
                # Longer than a person's patience for a command that says nothing.
                time.sleep(3)
                holder.communicate()
        code = process.wait()
    seconds = ended or time.monotonic() - began
    [waited] = re.findall(r"([\d.]+) s of it waiting for locks", err)
    return Trial(code, err, seconds, float(waited))


def verdict(kind: str, lock: str, free: Trial, trial: Trial, place: Path) -> str:
    """Why a command is not as it must be; empty if it is."""
    # The machine may be busy, so the time that it waited counts, and its seconds if it is not.
    quiet = os.getloadavg()[0] <= 3
    if "Traceback" in trial.err:
        return "a traceback"
    if kind == "read":
        if trial.waited > READ_SECONDS or (quiet and trial.seconds > free.seconds + READ_SECONDS):
            return "too slow"
        return "" if trial.code in (free.code, 1) else "no answer"
    if quiet and trial.seconds > free.seconds + WRITE_SECONDS:
        return "neither ends nor says who holds what"
    files = map(str, held.targets(Home(place / "home"), lock))
    if trial.code == free.code or any(file in trial.err for file in files):
        return ""
    return "fails without a reason"


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> tuple[Path, Names]:
    place = tmp_path_factory.mktemp("furnished") / "place"
    return place, held.prepare(place, sample)


def copied(template: Path, place: Path) -> Path:
    """A copy of what `prepare` made."""
    shutil.copytree(template, place, symlinks=True)
    config = place / "home" / "config.yaml"
    config.write_text(config.read_text().replace(str(template), str(place)))
    return place


def faults(
    kind: str, name: str, line: str, fresh: Callable[[], tuple[Path, Environment]]
) -> list[tuple[str, str, Trial]]:
    """Run a command with each lock held, and print how long it took. Returns what was wrong.

    `fresh` makes the place of a trial, and says the environment there.
    """
    wrong, free = [], None
    for lock in (None, *held.LOCKS):
        place, env = fresh()
        trial = tried(place, line.split(), lock, env, reads=kind == "read")
        print(f"{name:20} {lock!s:8} {trial.seconds:5.1f} s, waited {trial.waited:4.1f} s, "
              f"exit {trial.code}: {trial.err.strip().splitlines()[-1:]}")  # fmt: skip
        free = free or trial
        assert free.code in (0, 1), free
        if lock and (why := verdict(kind, lock, free, trial, place)):
            wrong.append((lock, why, trial))
        shutil.rmtree(place)
    return wrong


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        pytest.param(kind, name, line, id=name)
        for kind, lines in (("read", held.READS), ("write", held.WRITES), ("run", held.RUNS))
        for name, line in lines.items()
    ],
)
def test_each_command(
    furnished: tuple[Path, Names], tmp_path: Path, kind: str, name: str, line: str
) -> None:
    template, names = furnished

    def fresh() -> tuple[Path, Environment]:
        return copied(template, tmp_path / "place"), {}

    assert faults(kind, name, line.format(tmp=tmp_path / "place", **names), fresh) == []


@pytest.fixture(scope="module")
def joined(
    furnished: tuple[Path, Names], tmp_path_factory: pytest.TempPathFactory,
    postgres: DatabaseServer,
) -> tuple[Path, ServerAddress]:  # fmt: skip
    """A home that has joined a server and has sent its notes."""
    place = copied(furnished[0], tmp_path_factory.mktemp("joined") / "place")
    address = postgres.address(postgres.create())
    for verb in ("init", "run"):
        held.djinn(place, "sync", verb, DJINN_POSTGRES_URL=address.conninfo)
    (place / "home" / "vaults" / "shared" / "late.md").write_text("# Late\n\nA late note.\n")
    return place, address


@pytest.mark.soak
@pytest.mark.parametrize("name", held.SYNC)
def test_each_command_of_sync(
    joined: tuple[Path, ServerAddress], postgres: DatabaseServer, tmp_path: Path, name: str
) -> None:
    template, address = joined

    def fresh() -> tuple[Path, Environment]:
        env = {"DJINN_POSTGRES_URL": postgres.copy(address).conninfo}
        return copied(template, tmp_path / "place"), env

    kind = "read" if name in ("sync status", "sync stats", "sync facts") else "run"
    assert faults(kind, name, held.SYNC[name], fresh) == []
