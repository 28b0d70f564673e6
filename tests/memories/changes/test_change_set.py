"""Change sets: all of a change or none of it, wherever a process is killed; and their undoing."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Changed, NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.memories.changes import files
from djinn_memory.memories.changes.plan import KeptBytes
from djinn_memory.memories.writing.change_set import ChangeSet, change_set
from djinn_memory.system.files import set_saved
from tests.cli.test_commands import _powerless

Tree = dict[str, tuple[int, bytes | None, int | None]]


def tree(root: Path) -> Tree:
    """Every file and folder below `root`, with permissions; files with bytes and time of saving."""
    tree: Tree = {}
    for path in sorted(root.rglob("*")):
        info, is_file = path.stat(), path.is_file()
        content = (path.read_bytes(), info.st_mtime_ns) if is_file else (None, None)
        tree[str(path.relative_to(root))] = (info.st_mode, *content)
    return tree


@pytest.fixture
def vaults(home: Home) -> Path:
    """The folder of the vaults, with notes in two of them."""
    root = home.root / "vaults"
    for name in ("a", "b", "c"):
        (root / "shared" / f"{name}.md").write_bytes(
            f"# {name}\r\n\r\nText\x80\r\n".encode("latin-1")
        )
    (root / "shared" / "b.md").chmod(0o640)
    (root / "me" / "d.md").write_text("# d\n")
    return root


def steps(djinn: Djinn, changes: ChangeSet) -> None:
    """A step of each kind, in two vaults."""
    shared, mine = djinn.home.shared, djinn.home.personal("me")
    old = (shared.root / "a.md").read_bytes()
    changes.rewrite(shared, "a.md", old, old + b"more\n")
    changes.move(shared, "b.md", "archive/2026/b.md")
    changes.remove(shared, "c.md", (shared.root / "c.md").read_bytes())
    changes.create(mine, "new/e.md", b"# e\n")
    changes.rewrite(mine, "d.md", b"# d\n", b"# D\n")


def carry_out(djinn: Djinn) -> str:
    with change_set(djinn.runtime, "test", "Did all that can be done") as changes:
        steps(djinn, changes)
    assert changes.result.id
    return changes.result.id


def test_a_change_set_and_its_undoing(djinn: Djinn, vaults: Path) -> None:
    before = tree(vaults)
    identity = carry_out(djinn)
    after = tree(vaults)
    assert after["shared/archive/2026/b.md"][:2] == before["shared/b.md"][:2]
    assert "shared/c.md" not in after and after["me/d.md"][1] == b"# D\n"
    [entry] = djinn.changes.list().changes
    assert (entry.id, entry.command, entry.status) == (identity, "test", "done")
    assert {(file.path, file.action) for file in entry.files} == {
        ("a.md", "changed"), ("archive/2026/b.md", "created"), ("b.md", "removed"),
        ("c.md", "removed"), ("new/e.md", "created"), ("d.md", "changed"),
    }  # fmt: skip
    assert djinn.changes.undo(dry_run=True).undone is False and tree(vaults) == after
    report = djinn.changes.undo()
    assert tree(vaults) == before and report.undone and report.undo
    assert [change.status for change in djinn.changes.list().changes] == ["done", "taken back"]
    with pytest.raises(NotFound, match="no change to take back"):
        djinn.changes.undo()
    with pytest.raises(Refused, match="already taken back"):
        djinn.changes.undo(identity)
    djinn.changes.undo(report.undo)
    assert tree(vaults) == after
    assert [change.status for change in djinn.changes.list().changes][1:] == ["taken back", "done"]
    djinn.changes.undo()
    assert tree(vaults) == before


def test_searches_follow(djinn: Djinn, vaults: Path) -> None:
    (vaults / "shared" / "a.md").write_text("# a\n\nzeppelin\n")
    djinn.index()
    vault = djinn.home.shared
    with change_set(djinn.runtime, "test", "Moved a note") as changes:
        changes.move(vault, "a.md", "x/a.md")
    assert [hit.path for hit in djinn.search("zeppelin").hits] == ["x/a.md"]
    djinn.changes.undo()
    assert [hit.path for hit in djinn.search("zeppelin").hits] == ["a.md"]


def test_what_somebody_edited_is_left_alone(djinn: Djinn, vaults: Path) -> None:
    before = tree(vaults)
    with (
        pytest.raises(Changed, match=r"a\.md was changed by another program"),
        change_set(djinn.runtime, "test", "x") as changes,
    ):
        steps(djinn, changes)
        (vaults / "shared" / "a.md").write_bytes(b"# mine\n")
    (vaults / "shared" / "a.md").write_bytes(before["shared/a.md"][1] or b"")
    set_saved(vaults / "shared" / "a.md", before["shared/a.md"][2])
    assert tree(vaults) == before and djinn.changes.list().changes == ()
    first = carry_out(djinn)
    with change_set(djinn.runtime, "test", "More") as changes:
        changes.rewrite(djinn.home.personal("me"), "d.md", b"# D\n", b"# E\n")
    with pytest.raises(Refused, match=rf"me/d\.md was changed by {changes.result.id} since"):
        djinn.changes.undo(first)
    djinn.changes.undo()
    (vaults / "me" / "d.md").write_text("# by hand\n")
    after = tree(vaults)
    with pytest.raises(Refused, match=r"me/d\.md was edited since, so nothing was taken back"):
        djinn.changes.undo()
    assert tree(vaults) == after


def test_steps_build_on_each_other(djinn: Djinn, vaults: Path) -> None:
    before, vault = tree(vaults), djinn.home.shared
    with change_set(djinn.runtime, "test", "x") as changes:
        changes.create(vault, "n.md", b"1")
        changes.rewrite(vault, "n.md", b"1", b"2")
        changes.move(vault, "n.md", "m.md")
        with pytest.raises(Changed):
            changes.create(vault, "m.md", b"3")
    assert (vault.root / "m.md").read_bytes() == b"2" and not (vault.root / "n.md").exists()
    with change_set(djinn.runtime, "test", "nothing") as changes:
        changes.create(vault, "n.md", b"1")
        changes.remove(vault, "n.md", b"1")
    assert changes.result.id is None
    djinn.changes.undo()
    assert tree(vaults) == before


def test_the_steps_of_an_attempt_that_fails_are_dropped(djinn: Djinn, vaults: Path) -> None:
    before, vault = tree(vaults), djinn.home.shared
    with change_set(djinn.runtime, "test", "x") as changes:
        changes.create(vault, "n.md", b"1")
        with suppress(Changed), changes.attempt():
            changes.rewrite(vault, "n.md", b"1", b"2")
            changes.create(vault, "m.md", b"3")
            changes.create(vault, "m.md", b"4")
        assert changes.content(vault, "n.md") == b"1" and changes.content(vault, "m.md") is None
    assert (vault.root / "n.md").read_bytes() == b"1" and not (vault.root / "m.md").exists()
    djinn.changes.undo()
    assert tree(vaults) == before


def test_what_is_refused(djinn: Djinn, vaults: Path, tmp_path: Path) -> None:
    vault, outside = djinn.home.shared, tmp_path / "x.md"
    outside.write_text("x")
    (vaults / "shared" / "link.md").symlink_to(vaults / "shared" / "a.md")
    before = tree(vaults)
    for step in (
        lambda changes: changes.create(vault, "../../x.md", b""),
        lambda changes: changes.create(vault, "a.md", b""),
        lambda changes: changes.rewrite(vault, "nowhere.md", b"1", b"2"),
        lambda changes: changes.move(vault, "nowhere.md", "x.md"),
        lambda changes: changes.move(vault, "link.md", "x.md"),
        lambda changes: changes.create(vault, "x.md", b"x" * 100_000_000),
    ):
        with pytest.raises(Refused), change_set(djinn.runtime, "test", "x") as changes:
            step(changes)
    djinn.home.edit((("vaults", "shared", "read_only"), True))
    with (
        pytest.raises(Refused, match="vault shared is read-only"),
        change_set(djinn.runtime, "test", "x") as changes,
    ):
        changes.create(djinn.home.shared, "x.md", b"")
    assert tree(vaults) == before and KeptBytes(djinn.home).ids() == []


def test_an_agent_takes_back_only_what_it_may_write(djinn: Djinn, vaults: Path) -> None:
    djinn.home.edit((("agents",), ["me", "finn"]))
    with djinn.runtime.busy(caller="me"):
        identity = carry_out(djinn)
    assert djinn.changes.list(agent="finn").changes == ()
    for change in (None, identity):
        with pytest.raises(NotFound):
            djinn.changes.undo(change, agent="finn")
    assert djinn.changes.undo(identity, agent="me").undone
    carry_out(djinn)
    djinn.home.edit((("vaults", "me", "read_only"), True))
    with pytest.raises(Refused, match="vault me is read-only"):
        djinn.changes.undo()


def kill_at(place: str, number: int) -> str:
    """A program that carries out the steps and is killed before call `number` of a function."""
    module, _, name = place.rpartition(".")
    return f"""
import os, signal, sys
from pathlib import Path
import {module} as module
from djinn_memory.djinn import Djinn
from tests.memories.changes.test_change_set import carry_out
calls, real = [], module.{name}
def killed(*args, **options):
    calls.append(1)
    if len(calls) == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **options)
module.{name} = killed
djinn = Djinn.open(sys.argv[1])
{{}}
"""


def killed(home: Home, program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program, str(home.root)], check=False)
    assert done.returncode == -9


APPLY = "djinn_memory.memories.changes.files.apply"
KEEP = "djinn_memory.memories.changes.plan.write_private"


def test_what_a_kill_cut_short_is_taken_back_before_notes_are_read(home: Home) -> None:
    """The half that was done would else be read: two notes with one name."""
    with Djinn(home) as djinn:
        djinn.entities.add("Robert", "person")
        djinn.entities.add("Rob", "person")
        before = tree(home.root / "vaults")
    killed(home, kill_at(APPLY, 2).format('djinn.entities.merge("Rob", "Robert")'))
    assert tree(home.root / "vaults") != before
    with Djinn(home) as djinn:
        assert [entity.title for entity in djinn.entities.list().entities] == ["Rob", "Robert"]
        assert tree(home.root / "vaults") == before
        djinn.entities.merge("Rob", "Robert")
        assert [entity.title for entity in djinn.entities.list().entities] == ["Robert"]


@pytest.mark.few(1)
@pytest.mark.parametrize(("place", "number"), [(KEEP, 2), (APPLY, 1), (APPLY, 4)])
def test_what_a_kill_cut_short_is_taken_back_by_the_next_writer(
    djinn: Djinn, vaults: Path, place: str, number: int
) -> None:
    before = tree(vaults)
    killed(djinn.home, kill_at(place, number).format("carry_out(djinn)"))
    djinn.remember("lesson", "Another note", "It is written.", force=True)
    (vaults / "me" / "lessons" / "another-note.md").unlink()
    (vaults / "me" / "lessons").rmdir()
    assert tree(vaults) == before
    assert [change.command for change in djinn.changes.list().changes] == ["remember"]
    assert KeptBytes(djinn.home).pending() == []
    carry_out(djinn)
    djinn.changes.undo()
    assert tree(vaults) == before


def test_an_undo_that_was_cut_short_is_taken_back_too(djinn: Djinn, vaults: Path) -> None:
    before, identity = tree(vaults), carry_out(djinn)
    killed(djinn.home, kill_at(APPLY, 3).format("djinn.changes.undo()"))
    assert djinn.changes.undo().change.id == identity
    assert tree(vaults) == before


def test_a_dry_run_of_an_undo_that_was_cut_short(djinn: Djinn, vaults: Path) -> None:
    """`djinn undo` shows first what it would do."""
    identity = carry_out(djinn)
    after = tree(vaults)
    killed(djinn.home, kill_at(APPLY, 3).format("djinn.changes.undo()"))
    assert djinn.changes.undo(identity, dry_run=True).change.id == identity
    assert tree(vaults) == after


def test_a_search_takes_back_what_was_cut_short(djinn: Djinn, vaults: Path) -> None:
    before = tree(vaults)
    killed(djinn.home, kill_at(APPLY, 3).format("carry_out(djinn)"))
    djinn.search("text")
    assert tree(vaults) == before


def test_doctor_takes_back_what_was_cut_short(djinn: Djinn, vaults: Path) -> None:
    for path in (vaults / "me").rglob("*.md"):
        path.chmod(0o600)
    before = tree(vaults)
    killed(djinn.home, kill_at(APPLY, 3).format("carry_out(djinn)"))
    findings = djinn.doctor(fix=True).findings
    [fixed] = [finding for finding in findings if finding.fixed and "interrupted" in finding.what]
    assert fixed.fixed == "took back what it had changed"
    assert tree(vaults) == before


def test_an_index_run_takes_back_what_was_cut_short(djinn: Djinn, vaults: Path) -> None:
    before = tree(vaults)
    killed(djinn.home, kill_at(APPLY, 3).format("carry_out(djinn)"))
    djinn.index()
    assert tree(vaults) == before and KeptBytes(djinn.home).pending() == []


def test_what_was_edited_after_a_kill_is_kept_and_named(djinn: Djinn, vaults: Path) -> None:
    before = tree(vaults)
    killed(djinn.home, kill_at(APPLY, 6).format("carry_out(djinn)"))
    (vaults / "me" / "d.md").write_text("# by hand\n")
    with suppress(NotFound):
        djinn.changes.undo()
    after = tree(vaults)
    assert after.pop("me/d.md")[1] == b"# by hand\n" and before.pop("me/d.md")
    assert after == before
    assert any("was edited while an interrupted test" in p.why for p in djinn.problems)


@pytest.mark.soak
def test_kills_at_every_step(djinn: Djinn, vaults: Path) -> None:
    before = tree(vaults)
    for place in (APPLY, KEEP, "djinn_memory.memories.changes.commit.events_of"):
        for number in range(1, 8):
            program = kill_at(place, number).format("carry_out(djinn)\ndjinn.changes.undo()")
            subprocess.run([sys.executable, "-c", program, str(djinn.home.root)], check=False)
            with suppress(NotFound):
                djinn.changes.undo()
            assert tree(vaults) == before


@pytest.mark.parametrize("number", [1, 3, 6])
def test_a_step_that_fails_takes_the_others_back(
    djinn: Djinn, vaults: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, calls, real = tree(vaults), list[int](), files.apply

    def full(*args: object) -> None:
        calls.append(1)
        if len(calls) == number:
            raise OSError(28, "No space left on device")
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "apply", full)
    with pytest.raises(OSError, match="No space left"):
        carry_out(djinn)
    assert tree(vaults) == before
    assert djinn.changes.list().changes == () and KeptBytes(djinn.home).ids() == []


def test_folders_that_cannot_be_written(djinn: Djinn, vaults: Path) -> None:
    before = tree(vaults)
    program = (
        "import sys; from djinn_memory.djinn import Djinn\n"
        "from djinn_memory.errors import Unavailable\n"
        "from tests.memories.changes.test_change_set import carry_out\n"
        "try:\n    carry_out(Djinn.open(sys.argv[1]))\n"
        "except Unavailable as error:\n    sys.exit(str(error))\n"
    )
    for folder in (vaults / "me", djinn.home.state):
        mode = folder.stat().st_mode
        folder.chmod(0o500)
        done = subprocess.run(
            [sys.executable, "-c", program, str(djinn.home.root)],
            capture_output=True, text=True, check=False, preexec_fn=_powerless,
        )  # fmt: skip
        folder.chmod(mode)
        assert done.stderr.count("\n") == 1 and str(folder) in done.stderr
        assert tree(vaults) == before and KeptBytes(djinn.home).ids() == []


def test_kept_bytes_are_private(djinn: Djinn, vaults: Path) -> None:
    carry_out(djinn)
    folder = KeptBytes(djinn.home).folder
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.rglob("*")))


def test_nothing_of_others_is_removed(djinn: Djinn, vaults: Path, tmp_path: Path) -> None:
    before, others = tree(vaults), tmp_path / "others"
    for name in ("photos", "chg_0123456789", ".."):
        (others / name).mkdir(parents=True, exist_ok=True)
        os.utime(others / name, (0, 0))
    (others / "...pending").touch()
    (others / "..pending").touch()
    state, kept = tree(others), KeptBytes(djinn.home)
    kept.folder.symlink_to(others)
    with pytest.raises(Refused, match="changes is a symbolic link, which djinn does not follow"):
        carry_out(djinn)
    djinn.maintain(only=["trash"])
    assert (tree(others), tree(vaults)) == (state, before)
    kept.folder.unlink()
    others.rename(kept.folder)
    os.utime(kept.folder / "photos", (0, 0))
    djinn.maintain(only=["trash"])
    carry_out(djinn)
    assert (kept.folder / "photos").is_dir() and not (kept.folder / "chg_0123456789").exists()
    assert djinn.home.state.is_dir()


def test_two_processes_at_once(djinn: Djinn, vaults: Path) -> None:
    program = (
        "import sys; from djinn_memory.djinn import Djinn\n"
        "from djinn_memory.memories.writing.change_set import change_set\n"
        "djinn = Djinn.open(sys.argv[1]); vault = djinn.home.shared\n"
        "for number in range(5):\n"
        "    with change_set(djinn.runtime, 'test', 'x') as changes:\n"
        "        changes.create(vault, f'{sys.argv[2]}-{number}.md', b'# x')\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(djinn.home.root), name])
        for name in ("x", "y")
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert len(djinn.changes.list().changes) == 10
    for _ in range(10):
        djinn.changes.undo()
    assert not list((vaults / "shared").glob("[xy]-*.md"))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("place", "files"), [(APPLY, 0), ("djinn_memory.memories.changes.commit._record", 1)]
)
def test_a_note_that_a_kill_cut_short_is_there_and_recorded_or_neither(
    djinn: Djinn, place: str, files: int
) -> None:
    write = 'djinn.remember("lesson", "Lamp", "It glows.", force=True)'
    killed(djinn.home, kill_at(place, 1).format(write))
    lessons = djinn.home.personal("me").root / "lessons"
    djinn.index()
    assert len(list(lessons.glob("*.md"))) == files
    assert [change.command for change in djinn.changes.list().changes] == ["remember"] * files
    assert KeptBytes(djinn.home).pending() == []
    if files:
        djinn.changes.undo()
        assert not lessons.exists()
        assert (lessons.parent / ".trash" / "lessons" / "lamp.md").is_file()
