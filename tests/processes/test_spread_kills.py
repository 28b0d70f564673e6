"""SIGKILL over the whole of a run: before each of its writes with the same probability.

strace counts the writes of an unkilled run, and kills a run before one of them. What is left must
be whole, and the command run again must end as if nobody had been killed.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.notes import frontmatter
from djinn_memory.store.postgres.connection import ServerAddress
from djinn_memory.store.postgres.servers import URL
from tests.indexing.vaults import fill
from tests.memories.patterns.years import noise, weekly
from tests.postgres import DatabaseServer
from tests.processes import held
from tests.processes.commands import HANG

STRACE = shutil.which("strace")

DATABASE_WRITES = ("pwrite64",)
FILE_WRITES = (
    "write", "fsync", "fdatasync", "rename", "renameat2", "link", "unlink", "mkdir", "ftruncate",
)  # fmt: skip
"""Half of the kills come before a write to a database, half before one of these."""

ROUNDS = 64
"""Kills of each command. With eight commands that is more than five hundred."""

Names = Mapping[str, str]
Prepare = Callable[[Djinn, Path], Names]


def export(djinn: Djinn, place: Path) -> Names:
    turns = [
        {"role": role, "content": f"{role} turn {number}", "session": f"s{number // 10}",
         "timestamp": f"2026-01-{1 + number // 12:02}T10:{number % 60:02}:00Z"}
        for number in range(90) for role in ("user", "assistant")
    ]  # fmt: skip
    (place / "turns.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in turns))
    return {}


def year(djinn: Djinn, place: Path) -> Names:
    occasions = [*noise(1, weeks=26, a_day=1), *weekly("Plan the week", 0, 9, range(26)),
                 *weekly("Water the plants", 3, 18, range(26))]  # fmt: skip
    turns = [
        Turn("interaction", occasion.text, "", occasion.at.astimezone(), "dig", "cli")
        for occasion in occasions
    ]
    record_turns(djinn.runtime, "me", turns)
    return {}


def stated(djinn: Djinn, place: Path) -> Names:
    for number in range(5):
        djinn.episodes.record_interaction(
            message=f"Lesson learned: lamp {number} needs oil. I prefer tea over coffee {number}. "
            f"We decided to move the hut {number} times.",
            session="said",
        )
    return {}


def twins(djinn: Djinn, place: Path) -> Names:
    djinn.entities.add("Robert", "person")
    djinn.entities.add("Rob", "person")
    djinn.entities.set("Rob", "city", "Oslo")
    for number in range(4):
        path = djinn.home.root / "vaults" / "me" / f"meets-{number}.md"
        path.write_text(f"# Meets {number}\n\nWe met [[Rob]] and [[Robert]].\n")
        path.chmod(0o600)
    djinn.index()
    return {}


def mentioned(djinn: Djinn, place: Path) -> Names:
    for number in range(6):
        path = djinn.home.root / "vaults" / "me" / f"talks-{number}.md"
        path.write_text(f"# Talks {number}\n\nWe talked to Robert, and robert left.\n")
        path.chmod(0o600)
    djinn.entities.add("Robert", "person")
    djinn.index()
    return {}


def merged(djinn: Djinn, place: Path) -> Names:
    twins(djinn, place)
    djinn.entities.merge("Rob", "Robert")
    return {"change": djinn.changes.list().changes[0].id}


def secret(djinn: Djinn, place: Path) -> Names:
    djinn.remember("lesson", "Hidden", "The quokka sleeps.")
    djinn.recall("quokka")
    djinn.remember("lesson", "Hidden", "The quokka sleeps at noon.", existing="append")
    djinn.recall("noon")
    return {}


def papers(djinn: Djinn, place: Path) -> Names:
    for number in range(3):
        text = f"Paper {number}. " + "The harbour has a tide and a kettle.\n" * 150
        (place / f"paper-{number}.txt").write_text(text)
    return {}


KINDS: dict[str, tuple[Prepare, str]] = {
    "import": (export, "import {place}/turns.jsonl"),
    "pattern find": (year, "pattern find"),
    "extract": (stated, "session extract --session said"),
    "merge": (twins, "entity merge Rob Robert"),
    "rename": (twins, "memory rename Rob Bobby"),
    "mentions": (mentioned, "memory mentions Robert --link all --yes"),
    "undo": (merged, "undo {change} --yes"),
    "purge": (secret, "memory purge Hidden --yes"),
    "ingest": (papers, "ingest {place}/paper-0.txt {place}/paper-1.txt {place}/paper-2.txt"),
    "sync": (papers, "sync run"),
}
"""Each command, with what makes a home for it."""

DONE = {"merge": 2, "rename": 2, "undo": 3, "purge": 4}
"""The exit codes of a command that was done before it was killed."""


@dataclass
class Target:
    """A home, and the command that is killed on copies of it."""

    kind: str
    place: Path
    words: str
    names: Names
    postgres: DatabaseServer | None = None
    address: ServerAddress | None = None
    writes: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    """The writes of an unkilled run in order, by their kinds."""
    after: dict[str, str] = field(default_factory=dict)
    """What an unkilled run leaves in the vaults."""

    def copied(self, place: Path) -> dict[str, str]:
        """Copy the home. Returns the environment of its user."""
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.place, place, symlinks=True)
        server = {}
        if self.postgres and self.address:
            server = {URL: self.postgres.copy(self.address).conninfo}
        return {**held.environment(place), **server}

    def argv(self, place: Path) -> list[str]:
        words = self.words.format(place=place, **self.names).split()
        return [sys.executable, "-m", "djinn_memory", "--home", str(place / "home"), *words]

    def run(self, place: Path, env: dict[str, str], *before: str) -> tuple[int, str]:
        """Run the command; `before` are the words of strace."""
        done = subprocess.run(
            [*before, *self.argv(place)], capture_output=True, text=True, env=env, cwd=place,
            stdin=subprocess.DEVNULL, timeout=HANG, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done
        return done.returncode, done.stdout + done.stderr


def traced(log: Path, calls: tuple[str, ...], *more: str) -> list[str]:
    assert STRACE
    return [STRACE, "-f", "-qq", "-o", str(log), "-e", f"trace={','.join(calls)}", *more]


def normal(text: str, place: Path) -> str:
    """A text without what differs from run to run: ids, times, places."""
    text = text.replace(str(place), "PLACE")
    text = re.sub(r"(mem|chg|prp|con)[_-][0-9a-z]{10,16}", "ID", text)
    text = re.sub(r"20\d\d-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "TIME", text)
    return re.sub(rf"{datetime.now(UTC):%Y-%m-%d}|{datetime.now():%Y-%m-%d}", "TODAY", text)


def content(place: Path) -> dict[str, str]:
    """The notes of the vaults by their paths."""
    root = place / "home" / "vaults"
    return {
        normal(str(path.relative_to(root)), place): normal(path.read_text(), place)
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.startswith(".djinn-")
    }


def events(home: Home) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(home.ledger_path))) as connection:
        return connection.execute("select id, kind, subject from event order by id").fetchall()


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest, tmp_path: Path, home_template: Path) -> Target:
    prepare, words = KINDS[request.param]
    place = tmp_path / "template"
    shutil.copytree(home_template, place / "home", symlinks=True)
    fill(place / "home" / "vaults" / "shared", 8)
    target = Target(request.param, place, words, {})
    with Djinn(Home(place / "home")) as opened:
        opened.index()
        # The home gets the name that its journals have.
        opened.episodes.record_interaction(message="The kettle whistles.", session="first")
        target.names = prepare(opened, place)
        opened.recall("kettle")
        opened.index()
    if target.kind == "sync":
        target.postgres = request.getfixturevalue("postgres")
        target.address = joined(place, tmp_path / "other", home_template, target.postgres)
    settle(target, tmp_path)
    return target


def joined(
    place: Path, other: Path, home_template: Path, postgres: DatabaseServer
) -> ServerAddress:
    """Let two homes join a server. Both have notes that the other does not have yet."""
    address = postgres.address(postgres.create())
    shutil.copytree(home_template, other / "home", symlinks=True)
    for folder in (place, other):
        for verb in ("init", "run"):
            held.djinn(folder, "sync", verb, **{URL: address.conninfo})
    for folder, name in ((place, "mine"), (other, "theirs")):
        shared = folder / "home" / "vaults" / "shared"
        for number in range(4):
            (shared / f"{name}-{number}.md").write_text(f"# {name} {number}\n\nA new note.\n")
        first = 0 if name == "mine" else 2
        edited, removed = sorted(shared.glob("note-*.md"))[first : first + 2]
        edited.write_text(f"{edited.read_text()}\nEdited: {name}.\n")
        removed.unlink()
    held.djinn(other, "sync", "run", **{URL: address.conninfo})
    return address


def settle(target: Target, tmp_path: Path) -> None:
    """Run the command without a kill, and count its writes."""
    for calls in (DATABASE_WRITES, FILE_WRITES):
        place = tmp_path / "place"
        env = target.copied(place)
        log = tmp_path / "calls"
        code, said = target.run(place, env, *traced(log, calls))
        assert code == 0, said
        lines = log.read_text().splitlines()
        main = lines[0].split()[0]
        found = [re.match(rf"{main} +(\w+)\(", line) for line in lines]
        target.writes[calls] = [call[1] for call in found if call]
    target.after = content(place)


def whole(target: Target, place: Path) -> None:
    """Every note is as it was before, or as the command leaves it; a journal may lack its end."""
    before = content(target.place)
    for path, text in content(place).items():
        if path.endswith(".md"):
            assert frontmatter.read(text).problem is None, path
        known = [each[path] for each in (before, target.after) if path in each]
        if "/journal/" in path:
            assert any(each.startswith(text[:-200]) for each in known), path
        elif path in target.after or path in before:
            assert text in known, path


def diagnosed(home: Home, *, hints: bool = True) -> list[str]:
    """What doctor finds that is not in order."""
    wanted = {"error", "warning", "hint"} if hints else {"error", "warning"}
    with Djinn(home) as opened:
        opened.index()
        findings = [find for find in opened.doctor().findings if find.severity in wanted]
    return [normal(f"{find.part}: {find.what}", home.root.parent) for find in findings]


@pytest.mark.soak
@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize("calls", [DATABASE_WRITES, FILE_WRITES], ids=["databases", "files"])
def test_kills_over_a_whole_run(target: Target, calls: tuple[str, ...], tmp_path: Path) -> None:
    dice = random.Random(f"{target.kind} {calls}")
    place, log = tmp_path / "place", tmp_path / "calls"
    known = diagnosed(Home(target.place / "home"))
    writes, points = target.writes[calls], []
    for number in range(2 * ROUNDS):
        if len(points) == ROUNDS // 2:
            break
        # strace counts each kind of call for itself.
        at = dice.randrange(len(writes))
        point = writes[at], writes[: at + 1].count(writes[at])
        env = target.copied(place)
        home = Home(place / "home")
        before = events(home)
        inject = f"inject={point[0]}:signal=KILL:when={point[1]}"
        code, said = target.run(place, env, *traced(log, calls, "-e", inject))
        if code not in (-signal.SIGKILL, 128 + signal.SIGKILL):
            assert code == 0, (point, said)
            continue
        points.append(at)
        whole(target, place)
        after = events(home)
        assert after[: len(before)] == before, point
        if number % 2:
            # Hints may name what the command removes that runs next, such as the lock of a run.
            assert diagnosed(home, hints=False) == [], point
        code, said = target.run(place, env)
        assert code in (0, DONE.get(target.kind, 0)), (point, said)
        assert content(place) == target.after, point
        assert diagnosed(home) == known, point
        assert [*place.rglob(".djinn-*.tmp")] == [], point
        if target.kind == "sync":
            verify = [*target.argv(place)[:-2], "sync", "verify"]
            done = subprocess.run(verify, capture_output=True, text=True, env=env, check=False)
            assert done.returncode == 0, (point, done)
    quarters = [sum(at * 4 // len(writes) == quarter for at in points) for quarter in range(4)]
    print(f"{target.kind}: {len(points)} kills over {len(writes)} calls of {calls[0]} ..., "
          f"by quarters of the run {quarters}")  # fmt: skip
    assert len(points) == ROUNDS // 2
