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
from djinn_memory.errors import NotFound, Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.memories.changes import files
from djinn_memory.memories.proposals.lifecycle import live_proposals
from djinn_memory.memories.proposals.log import recorded_proposals
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
    return [record.id for record in recorded_proposals(djinn.runtime.state.ledger).values()]


def statuses(djinn: Djinn) -> list[str]:
    """The statuses of all proposals that were ever made, in their order."""
    runtime = djinn.runtime
    runtime.refresh(runtime.home.vaults)
    records = recorded_proposals(runtime.state.ledger).values()
    return [proposal.status for proposal in live_proposals(runtime, records, None)]


def test_a_dismissed_proposal_never_returns(
    djinn: Djinn, home: Home, shared: Path, stale: list[str], tmp_path: Path
) -> None:
    djinn.review.dismiss(stale[:1])
    djinn.maintain(["rot"])
    assert statuses(djinn) == ["dismissed", "open", "open"]
    # Without the index, and under another name.
    djinn.close()
    home.index_path.unlink()
    (shared / "a.md").rename(shared / "renamed.md")
    djinn.index()
    assert djinn.maintain(["rot"]).deeds == ()
    assert djinn.review.list().total == 2
    djinn.backups.create(tmp_path / "b.tar.gz")
    restore_backup(tmp_path / "b.tar.gz", tmp_path / "restored")
    restored = Djinn.open(tmp_path / "restored")
    restored.index()
    assert restored.maintain(["rot"]).deeds == ()
    assert restored.review.list().total == 2
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
    with pytest.raises(NotFound, match=f"no item '{stale[0]}' waits"):
        djinn.review.accept(stale[:1])
    report = djinn.review.accept(all="archive")
    assert [item.id for item in report.items] == stale[2:]
    (shared / "a.md").write_bytes(content)
    os.utime(shared / "a.md", (OLD.timestamp(), OLD.timestamp()))
    (shared / "b.txt").rename(shared / "b.md")
    assert statuses(djinn) == ["open", "open", "accepted"]


def test_several_are_accepted_in_one_step(djinn: Djinn, shared: Path, stale: list[str]) -> None:
    before = {path: path.read_bytes() for path in shared.iterdir()}
    assert len(djinn.review.accept(all="archive", dry_run=True).items) == 3
    assert {path: path.read_bytes() for path in shared.iterdir()} == before
    report = djinn.review.accept(all="archive")
    [change] = djinn.changes.list().changes
    assert (change.id,) == report.changes and change.what == "Accepted 3 proposals"
    assert change.command == "review accept" and len(change.files) == 3
    assert djinn.review.accept(all="archive").items == ()
    djinn.changes.undo()
    assert {path: path.read_bytes() for path in shared.iterdir()} == before
    assert statuses(djinn) == ["open"] * 3
    djinn.review.dismiss(all="archive")
    assert statuses(djinn) == ["dismissed"] * 3


def test_a_note_that_is_renamed_or_edited_after_an_undo(
    djinn: Djinn, shared: Path, stale: list[str]
) -> None:
    djinn.review.accept(all="archive")
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
        djinn.review.accept([f"{stale[0]}x"])
    with pytest.raises(UsageError, match="kind"):
        djinn.review.list(kind="x")
    djinn.review.dismiss(stale[:1])
    with pytest.raises(NotFound, match="waits"):
        djinn.review.accept(stale[:1])


def test_a_vault_that_cannot_be_written(djinn: Djinn, home: Home, shared: Path) -> None:
    write(shared / "a.md", "type: plan")
    write(home.root / "vaults" / "me" / "b.md", "type: plan")
    djinn.maintain(["rot"])
    home.edit((("vaults", "shared", "read_only"), True))
    djinn = Djinn(home)
    report = djinn.review.accept(all="archive")
    assert [item.subjects[0].path for item in report.items] == ["b.md"]
    [problem] = report.problems
    assert "vault shared is read-only" in problem.why
    assert djinn.review.list().total == 1


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
    results: list[int] = []

    def accept() -> None:
        results.append(len(Djinn(home).review.accept(all="archive").items))

    threads = [threading.Thread(target=accept) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 3]
    assert len(Djinn(home).changes.list().changes) == 1


def accept_and_die(place: str, number: int) -> str:
    """A program that accepts all proposals and is killed before call `number` of a function."""
    return kill_at(place, number).format("djinn.review.accept(all='archive')")


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
    assert len(djinn.review.accept(all="archive").items) == 3


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
        djinn.review.accept(all="archive")
    assert {path: path.read_bytes() for path in shared.iterdir()} == before
    assert statuses(djinn) == ["open"] * 3


def test_an_agent_sees_only_what_concerns_it_alone(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "two", ("me", "finn"))
    home.edit((("embedding", "provider"), "hashing"))
    for vault in ("me", "finn", "shared"):
        write(home.root / "vaults" / vault / f"{vault}.md", "type: plan")
    djinn = Djinn(home)
    djinn.maintain(["rot"])
    proposals = {proposal.agent: proposal.id for proposal in djinn.review.list().items}
    assert set(proposals) == {"me", "finn", None}
    for agent in ("me", "finn"):
        [own] = djinn.review.list(agent=agent).items
        assert own.agent == agent
    for verb in (djinn.review.accept, djinn.review.dismiss):
        for other in ("me", None):
            with pytest.raises(NotFound):
                verb([proposals[other]], agent="finn")
    assert len(djinn.review.accept(all="archive", agent="finn").items) == 1
