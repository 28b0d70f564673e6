"""What one agent may know of a home: nothing about the vaults and entries of another."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from djinn_memory.cli.app import root
from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from djinn_memory.store.expiring import PROMOTE_USES

EXPIRED = "---\ntype: fact\ncategory: {}\nkey: {}\nexpires: 2020-01-01\n---\n{}\n"
KETTLE = "The kettle on the stove.\n"


@pytest.fixture
def homes(home: Home, tmp_path: Path) -> tuple[Djinn, Djinn]:
    """Two homes in which finn has the same; in the second, grace has memories too."""
    for name in ("finn", "grace"):
        add_agent(home, name)
    vaults = home.root / "vaults"
    (vaults / "finn" / "mine.md").write_text("A lamp in the harbour.\n")
    (vaults / "shared" / "ours.md").write_text("Tea at four.\n")
    (vaults / "finn" / "boat.md").write_text(EXPIRED.format("boat", "name", "Otter"))
    plain = Djinn(Home(home.root))
    other = Djinn(Home(Path(shutil.copytree(home.root, tmp_path / "other"))))
    for number in range(3):
        (other.home.root / "vaults" / "grace" / f"{number}.md").write_text(
            f"---\ntype: vibraphone\ntags: [marimba]\n---\n{KETTLE * (number + 1)}[[nowhere]]\n"
        )
    theirs = other.home.root / "vaults" / "grace" / "door.md"
    theirs.write_text(EXPIRED.format("door", "code", "twelve"))
    other.working.set("secret-key", "xylophone", short=True, agent="grace")
    for _ in range(PROMOTE_USES):
        other.working.get("secret-key", agent="grace")
    return plain, other


def view(djinn: Djinn, *, dry_run: bool) -> str:
    """What finn is told of the whole home."""
    for note in djinn.home.root.rglob("*.md"):
        # A note that was written just now is read twice.
        os.utime(note, (1.7e9, 1.7e9))
    answers = (
        djinn.status(agent="finn"),
        djinn.index(agent="finn"),
        djinn.maintain(agent="finn", dry_run=dry_run),
        djinn.status(agent="finn"),
    )
    text = repr(answers).replace(str(djinn.home.root), "HOME")
    return re.sub(r"seconds=[\d.e-]+", "seconds=S", text)


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_agent_is_told_nothing_of_another(homes: tuple[Djinn, Djinn], dry_run: bool) -> None:
    plain, other = (view(djinn, dry_run=dry_run) for djinn in homes)
    assert "boat/name" in plain
    assert other == plain
    # The view is the same once the other vault is in the index and its vectors in the cache.
    for djinn in homes:
        djinn.index()
        (djinn.home.root / "vaults" / "finn" / "later.md").write_text(KETTLE)
    plain, other = (view(djinn, dry_run=dry_run) for djinn in homes)
    assert other == plain


def test_no_folder_of_a_hidden_vault_is_named(home: Home, tmp_path: Path) -> None:
    for name in ("finn", "grace"):
        add_agent(home, name)
    added = (("notes", "", None), ("hers", "x/hers", "grace"), ("ours", "o", None))
    for name, path, agent in added:
        folder = tmp_path / "notes" / path
        folder.mkdir(parents=True)
        add_vault(home, name, folder, agent=agent)

    def inner(agent: str | None) -> list[str]:
        vaults = Djinn(home).status(agent=agent).vaults
        return [path for vault in vaults if vault.name == "notes" for path in vault.inner]

    assert inner("finn") == ["o"]
    assert inner("grace") == inner(None) == ["o", "x/hers"]


def test_the_whole_home_is_told_of_everything(homes: tuple[Djinn, Djinn]) -> None:
    _, other = homes
    other.index()
    report = other.maintain(dry_run=True)
    assert {"finn", "grace"} <= {action.vault for action in report.deeds}
    assert "secret-key" in repr(report)
    status = other.status()
    assert status.stats and status.stats.types["vibraphone"] == 3
    assert status.index_bytes and status.agents == ("me", "finn", "grace")
    with pytest.raises(NotFound, match="no agent 'nobody'"):
        other.status(agent="nobody")


def test_a_run_for_one_agent_leaves_the_others_and_is_not_the_last_run(
    homes: tuple[Djinn, Djinn],
) -> None:
    _, other = homes
    other.index()
    other.maintain(agent="finn")
    left = other.maintain(dry_run=True)
    assert {action.task for action in left.deeds} == {"promote", "expire"}
    assert "boat" not in repr(left) and "door/code" in repr(left)


@pytest.mark.parametrize("command", ["status", "index", "maintain", "doctor"])
def test_the_help_says_whose_files_a_command_names(command: str) -> None:
    assert "all agents" in root().get_command(None, command).help
