"""Proposals: made once, decided once, never acted on blindly."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.memories.changes import files
from djinn_memory.upkeep.backups import restore_backup
from tests.cli.test_commands import _powerless
from tests.memories.changes.test_change_set import APPLY, kill_at, killed
from tests.memories.proposals.test_archive import OLD, write


@pytest.fixture
def stale(djinn: Djinn, shared: Path) -> list[str]:
    """The ids of the proposals to archive three notes: a, b and c."""
    for name in "abc":
        write(shared / f"{name}.md", "type: plan", text=f"Plan {name}.")
    djinn.maintain(["rot"])
    return [proposal.id for proposal in djinn.proposals.list().proposals]


def statuses(djinn: Djinn) -> list[str]:
    return [proposal.status for proposal in djinn.proposals.list(all=True).proposals]


def test_a_dismissed_proposal_never_returns(
    djinn: Djinn, home: Home, shared: Path, stale: list[str], tmp_path: Path
) -> None:
    djinn.proposals.dismiss(stale[:1])
    djinn.maintain(["rot"])
    assert statuses(djinn) == ["dismissed", "open", "open"]
    # Without the index, and under another name.
    djinn.close()
    home.index_path.unlink()
    (shared / "a.md").rename(shared / "renamed.md")
    djinn.index()
    assert djinn.maintain(["rot"]).deeds == ()
    assert djinn.proposals.list().total == 2
    djinn.backups.create(tmp_path / "b.tar.gz")
    restore_backup(tmp_path / "b.tar.gz", tmp_path / "restored")
    restored = Djinn.open(tmp_path / "restored")
    restored.index()
    assert restored.maintain(["rot"]).deeds == ()
    assert restored.proposals.list().total == 2
    # Another note with the text of a dismissed one, which is there, is another note.
    (shared / "renamed.md").rename(shared / "a.md")
    write(shared / "copy.md", "type: plan", text="Plan a.")
    assert len(djinn.maintain(["rot"]).deeds) == 1


def test_a_proposal_is_withdrawn_while_its_note_is_another(
    djinn: Djinn, shared: Path, stale: list[str]
) -> None:
    content = (shared / "a.md").read_bytes()
    (shared / "a.md").write_bytes(content + b"More.\n")
    (shared / "b.md").rename(shared / "b.txt")
    assert statuses(djinn) == ["withdrawn", "withdrawn", "open"]
    with pytest.raises(Refused, match=f"{stale[0]} is withdrawn, because a note has changed"):
        djinn.proposals.accept(stale[:1])
    report = djinn.proposals.accept(stale)
    assert [proposal.id for proposal in report.proposals] == stale[2:]
    assert [problem.what for problem in report.problems] == stale[:2]
    (shared / "a.md").write_bytes(content)
    os.utime(shared / "a.md", (OLD.timestamp(), OLD.timestamp()))
    (shared / "b.txt").rename(shared / "b.md")
    assert statuses(djinn) == ["open", "open", "accepted"]


def test_several_are_accepted_in_one_step(djinn: Djinn, shared: Path, stale: list[str]) -> None:
    before = {path: path.read_bytes() for path in shared.iterdir()}
    assert len(djinn.proposals.accept(all=True, dry_run=True).proposals) == 3
    assert {path: path.read_bytes() for path in shared.iterdir()} == before
    report = djinn.proposals.accept(all=True, kind="archive")
    [change] = djinn.changes.list().changes
    assert change.id == report.change and change.what == "Accepted 3 proposals"
    assert change.command == "review accept" and len(change.files) == 3
    assert djinn.proposals.show(stale[0]).proposal.change == report.change
    assert djinn.proposals.accept(all=True).proposals == ()
    djinn.changes.undo()
    assert {path: path.read_bytes() for path in shared.iterdir()} == before
    assert statuses(djinn) == ["open"] * 3
    djinn.proposals.dismiss(all=True)
    assert statuses(djinn) == ["dismissed"] * 3


def test_a_note_that_is_renamed_or_edited_after_an_undo(
    djinn: Djinn, shared: Path, stale: list[str]
) -> None:
    djinn.proposals.accept(all=True)
    (shared / "c.md").rename(shared / "d.md")
    assert statuses(djinn) == ["accepted"] * 3
    (shared / "d.md").rename(shared / "c.md")
    djinn.changes.undo()
    (shared / "a.md").rename(shared / "renamed.md")
    (shared / "b.md").write_text("Another plan.")
    assert statuses(djinn) == ["withdrawn", "withdrawn", "open"]
    [redo] = [change.id for change in djinn.changes.list().changes if change.undoes]
    (shared / "renamed.md").rename(shared / "a.md")
    write(shared / "b.md", "type: plan", text="Plan b.")
    djinn.changes.undo(redo)
    assert statuses(djinn) == ["accepted"] * 3


def test_what_is_refused(djinn: Djinn, stale: list[str]) -> None:
    with pytest.raises(NotFound, match=f"did you mean {stale[0]}"):
        djinn.proposals.accept([f"{stale[0]}x"])
    with pytest.raises(NotFound, match="no proposal 'x'"):
        djinn.proposals.show("x")
    for request in ({}, {"proposals": stale, "all": True}, {"proposals": stale, "kind": "archive"}):
        with pytest.raises(UsageError):
            djinn.proposals.accept(**request)
    with pytest.raises(UsageError, match="kind 'x': give one of archive"):
        djinn.proposals.list(kind="x")
    djinn.proposals.dismiss(stale[:1])
    with pytest.raises(Refused, match="already dismissed"):
        djinn.proposals.accept(stale[:1])
    assert djinn.proposals.dismiss(stale).problems


def test_a_vault_that_cannot_be_written(djinn: Djinn, home: Home, shared: Path) -> None:
    write(shared / "a.md", "type: plan")
    write(home.root / "vaults" / "me" / "b.md", "type: plan")
    djinn.maintain(["rot"])
    home.edit((("vaults", "shared", "read_only"), True))
    djinn = Djinn(home)
    report = djinn.proposals.accept(all=True)
    assert [proposal.subjects[0].path for proposal in report.proposals] == ["b.md"]
    [problem] = report.problems
    assert "vault shared is read-only" in problem.why
    assert djinn.proposals.list().total == 1


@pytest.mark.skipif(sys.platform != "linux" and os.geteuid() == 0, reason="root can do anything")
def test_a_folder_that_cannot_be_written(
    djinn: Djinn, home: Home, shared: Path, stale: list[str]
) -> None:
    shared.chmod(0o500)
    command = [sys.executable, "-m", "djinn_memory", "--home", str(home.root)]
    done = subprocess.run(
        [*command, "review", "accept", "--all", "archive"],
        capture_output=True, text=True, check=False, preexec_fn=_powerless,
    )  # fmt: skip
    shared.chmod(0o700)
    assert done.returncode == 5 and "cannot be written" in done.stderr, done
    assert done.stderr.count("\n") == 1 and statuses(djinn) == ["open"] * 3


def test_two_who_accept_at_once(home: Home, stale: list[str]) -> None:
    results: list[object] = []

    def accept() -> None:
        try:
            results.append(len(Djinn(home).proposals.accept(all=True).proposals))
        except Refused as error:
            results.append(error)

    threads = [threading.Thread(target=accept) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results, key=str) == [0, 3]
    assert len(Djinn(home).changes.list().changes) == 1


def accept_and_die(place: str, number: int) -> str:
    """A program that accepts all proposals and is killed before call `number` of a function."""
    return kill_at(place, number).format("djinn.proposals.accept(all=True)")


APPENDED = "djinn_memory.store.ledger.ledger.now"


@pytest.mark.few(1)
@pytest.mark.parametrize(("place", "number"), [(APPLY, 1), (APPLY, 3), (APPENDED, 3)])
def test_a_kill_leaves_all_or_nothing(
    home: Home, shared: Path, stale: list[str], place: str, number: int
) -> None:
    before = {path: path.read_bytes() for path in shared.iterdir()}
    killed(home, accept_and_die(place, number))
    djinn = Djinn(home)
    with suppress(NotFound):
        djinn.changes.undo()
    assert {path: path.read_bytes() for path in shared.iterdir()} == before
    assert statuses(djinn) == ["open"] * 3
    assert len(djinn.proposals.accept(all=True).proposals) == 3


@pytest.mark.soak
def test_kills_at_random_points(home: Home, shared: Path, stale: list[str]) -> None:
    before = {path: path.read_bytes() for path in shared.glob("*.md")}
    # A file that was not yet named is left over; `djinn doctor --fix` deletes it.
    seconds = random.Random(17)
    for _ in range(40):
        command = [sys.executable, "-m", "djinn_memory", "--home", str(home.root)]
        process = subprocess.Popen(
            [*command, "review", "accept", "--all", "archive"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(seconds.uniform(0.1, 1.5))
        process.kill()
        process.wait()
        djinn = Djinn(home)
        with suppress(NotFound):
            djinn.changes.undo()
        assert {path: path.read_bytes() for path in shared.glob("*.md")} == before
        assert statuses(djinn) == ["open"] * 3
        djinn.close()


def test_a_full_disk_leaves_everything(
    djinn: Djinn, shared: Path, stale: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, calls, real = {path: path.read_bytes() for path in shared.iterdir()}, [0], files.apply

    def full(*args: Any) -> None:
        calls[0] += 1
        if calls[0] == 2:
            raise OSError(28, "No space left on device")
        real(*args)

    monkeypatch.setattr(files, "apply", full)
    with pytest.raises((OSError, Unavailable)):
        djinn.proposals.accept(all=True)
    assert {path: path.read_bytes() for path in shared.iterdir()} == before
    assert statuses(djinn) == ["open"] * 3


def test_an_agent_sees_only_what_concerns_it_alone(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "two", ("me", "finn"))
    home.edit((("embedding", "provider"), "hashing"))
    for vault in ("me", "finn", "shared"):
        write(home.root / "vaults" / vault / f"{vault}.md", "type: plan")
    djinn = Djinn(home)
    djinn.maintain(["rot"])
    proposals = {proposal.agent: proposal.id for proposal in djinn.proposals.list().proposals}
    assert set(proposals) == {"me", "finn", None}
    for agent in ("me", "finn"):
        [own] = djinn.proposals.list(agent=agent).proposals
        assert own.agent == agent
    for verb in (djinn.proposals.accept, djinn.proposals.dismiss):
        for other in ("me", None):
            with pytest.raises(NotFound):
                verb([proposals[other]], agent="finn")
    assert len(djinn.proposals.accept(all=True, agent="finn").proposals) == 1
