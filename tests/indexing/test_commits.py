"""Dates of notes that give none: when their text was seen to change, or of their last commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from djinn_memory import Djinn
from djinn_memory.home.home import Home
from djinn_memory.indexing.commits import commit_times
from tests.conftest import Run

COMMITTED = "2021-03-04T10:00:00Z"
TOUCHED = 1_000_000_000


@pytest.fixture(autouse=True)
def _person(monkeypatch: pytest.MonkeyPatch) -> None:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "anna")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "anna@example.org")
        monkeypatch.setenv(f"GIT_{who}_DATE", COMMITTED)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "notes")


def dates(djinn: Djinn) -> dict[str, tuple[str, str | None]]:
    """The dates of all notes by title, in the order of a list."""
    djinn.index()
    return {each.title: (each.date, each.updated) for each in djinn.memories.list().memories}


def test_the_time_of_a_file_counts_once_its_text_changed(djinn: Djinn, shared: Path) -> None:
    (shared / "plain.md").write_text("# Plain")
    (shared / "dated.md").write_text("---\ncreated: 1990-01-02\nupdated: 1990-03-04\n---\n# Dated")
    stated = ("1990-01-02", "1990-03-04")
    assert [*dates(djinn).items()] == [("Dated", stated), ("Plain", ("", None))]
    for path in shared.iterdir():
        os.utime(path, (TOUCHED, TOUCHED))
    assert dates(djinn) == {"Dated": stated, "Plain": ("", None)}
    assert not djinn.memories.list(until="2100-01-01", since="2001-01-01").memories
    assert djinn.memories.list(until="2100-01-01").total == 1
    (shared / "plain.md").write_text("# Plain\n\nMore.")
    os.utime(shared / "plain.md", (TOUCHED, TOUCHED))
    changed = ("2001-09-09T01:46:40Z", "2001-09-09T01:46:40Z")
    assert [*dates(djinn).items()] == [("Plain", changed), ("Dated", stated)]
    djinn.index(rebuild=True)
    (shared / "plain.md").rename(shared / "moved.md")
    assert dates(djinn)["Plain"] == changed


def test_a_recall_gives_no_age_of_a_note_without_a_date(
    djinn: Djinn, shared: Path, home: Home, run: Run
) -> None:
    (shared / "plain.md").write_text("# Plain\n\nThe quokka sleeps.")
    djinn.index()
    [memory, *_] = djinn.recall("quokka").memories
    assert memory.age is None
    assert "today" not in run("recall", "quokka", home=home).stdout


def test_before_that_a_note_has_the_date_of_its_last_commit(djinn: Djinn, shared: Path) -> None:
    """The vault is a folder of the repository, and a repository may not run anything."""
    for name in ("a.md", "\u00fc b.md", "two\nlines.md", "-x.md"):
        (shared / name).write_text(f"# {name[0]}")
    commit(shared.parent)
    (shared / "loose.md").write_text("# loose")
    program = shared.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch '{shared.parent}/ran'\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "gpg.program", "diff.external"):
        git(shared, "config", key, str(program))
    git(shared, "config", "log.showSignature", "true")
    listed = dates(djinn)
    assert listed.pop("loose") == ("", None)
    assert listed == dict.fromkeys(("a", "\u00fc", "t", "-"), (COMMITTED, COMMITTED))
    assert not (shared.parent / "ran").exists()
    commit(shared.parent)
    assert dates(djinn)["loose"] == (COMMITTED, COMMITTED)


def test_without_git_no_file_has_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("a")
    assert commit_times(tmp_path, ["a.md"], 5) == {}
    commit(tmp_path)
    (tmp_path / "b.md").write_text("b")
    commit(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    assert commit_times(tmp_path, ["a.md", "c.md"], 5).keys() == {"a.md"}
    assert commit_times(tmp_path / "missing", ["a.md"], 5) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_times(tmp_path, ["a.md"], 5) == {}
