"""Twenty tasks of a new user: each works in at most two tries, the second of which is suggested."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from djinn_memory.cli import tree
from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.conftest import Run
from tests.indexing.vaults import with_sample

_, *BLOCKS = Path(__file__).with_name("tasks.txt").read_text("utf-8").split("\n\n# ")
TASKS = {title: lines for title, *lines in (block.splitlines() for block in BLOCKS)}

BEFORE = {
    "Take back a deletion": [
        ["remember", "idea", "Mole lamp", "It is dark."],
        ["memory", "delete", "Mole lamp", "--yes"],
    ],
    "A folder of notes was moved to another place": [["vault", "add", "notes", "notes"]],
}  # fmt: skip
"""What happened before a task."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Home:
    """The sample memory, indexed."""
    home, _ = init(tmp_path_factory.mktemp("tasks") / "home", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    with_sample(home, sample)
    Djinn(home).index()
    return home


def command_of(line: str) -> str:
    """The command that a line names; empty if there is none."""
    words = shlex.split(line)[2:]
    names = (tree.canonical(" ".join(words[:size])) for size in (3, 2, 1))
    whole = {" ".join(words)} & {*tree.NOUNS}
    return next((name for name in names if name in {*tree.COMMANDS, *whole}), "")


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_at_most_two_tries(
    kept: Home, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    *tries, last = TASKS[task]
    if not command_of(last):
        pytest.skip(f"{last[2:]}: there is no such command yet")
    home = tmp_path / "home"
    shutil.copytree(kept.root, home)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mole.md").write_text("The mole is dark.\n")
    (tmp_path / "chats.jsonl").write_text(
        '{"role": "user", "content": "Is the lamp dark?", "timestamp": "2026-05-01T09:00:00Z"}\n'
    )
    for words in BEFORE.get(task, ()):
        assert run(*words, home=home).returncode == 0, words
    if "moved" in task:
        (tmp_path / "notes").rename(tmp_path / "moved")
    assert len(tries) < 2
    for line in tries:
        done = run(*shlex.split(line)[2:], home=home)
        words = [*tree.ALIASES.keys() & {*shlex.split(last)[2:3]}] or [command_of(last)]
        said = f"djinn {words[0]}" in done.stdout + done.stderr
        corrected = command_of(line) == command_of(last) and last.split()[-1] in done.stderr
        listed = f"Usage: {line[2:]} " in done.stdout and words[0].split()[-1] in done.stdout
        assert done.returncode and (said or listed or corrected), done
    done = run(*shlex.split(last)[2:], home=home)
    assert done.returncode == 0, done
