"""What CONTRIBUTING.md says, done on a copy of the project: it works, and touches so many files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from djinn_memory.home.home import Home

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"


class Edit(NamedTuple):
    """What a step does to a file."""

    file: str
    lines: list[str]


def steps(heading: str) -> list[Edit]:
    """The code blocks of a section; the first line of each names the file it is for."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition(f"\n### {heading}\n")[2].partition("\n##")[0]
    edits = []
    for block in re.findall(r"```\w+\n(.*?)```", section, re.DOTALL):
        first, *lines = block.splitlines()
        edits.append(Edit(first.split(" ")[1], lines))
    return edits


def body(edit: Edit) -> str:
    return "\n".join(edit.lines) + "\n"


def follow(heading: str, copy: Path) -> int:
    """Do what a section says; returns how many files that touches."""
    edits = steps(heading)
    for edit in edits:
        path = copy / edit.file
        if not path.exists():
            path.write_text(body(edit), encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        for removed, added in re.findall(
            r"((?:^-.*\n?)+)((?:^\+.*\n?)+)", body(edit), re.MULTILINE
        ):
            before, after = (
                re.sub(r"^[-+]", "", part, flags=re.MULTILINE) for part in (removed, added)
            )
            assert text.count(before.rstrip("\n")) == 1, f"{edit.file}: {before}"
            text = text.replace(before.rstrip("\n"), after.rstrip("\n"))
        path.write_text(text, encoding="utf-8")
    return len({edit.file for edit in edits})


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and a transcript, to be changed."""
    for name in ("djinn_memory", "tests/cli/transcripts", "tools"):
        shutil.copytree(ROOT / name, tmp_path / "copy" / name)
    shutil.copy(ROOT / "config.example.yaml", tmp_path / "copy")
    return tmp_path / "copy"


def python(copy: Path, *arguments: str) -> str:
    """What Python prints in the copy."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def djinn(copy: Path, home: Home, *arguments: str) -> str:
    """What the changed command line prints."""
    return python(copy, "-m", "djinn_memory", "--home", str(home.root), *arguments)


def test_a_job_touches_two_files(copy: Path, home: Home) -> None:
    assert follow("A job", copy) <= 2
    printed = djinn(copy, home, "maintain", "--only", "greet")
    assert f"greeted {home.config.agents[0]}" in printed


def test_a_leg_is_a_file_and_a_line_and_is_explained(copy: Path, home: Home) -> None:
    (home.root / "vaults" / "shared" / "lamp.md").write_text("---\ntags: [kettle]\n---\nA lamp.\n")
    djinn(copy, home, "index")
    assert follow("A leg", copy) == 2
    assert sum(line.startswith("+") for line in steps("A leg")[1].lines) == 2  # one is context
    printed = djinn(copy, home, "memory", "search", "kettle", "--explain")
    assert "tags match 1.000 (rank 1) contributes 0.167" in printed
    header = djinn(copy, home, "memory", "search", "kettle", "--explain", "--format", "csv")
    assert header.splitlines()[0].endswith(",words,meaning,tags,graph")
    assert '"tags": {' in djinn(copy, home, "memory", "search", "kettle", "--json")


def test_a_column_in_hits_touches_three_files(copy: Path, home: Home) -> None:
    note = home.root / "vaults" / "shared" / "lamp.md"
    note.write_text("---\nmood: [calm, bright]\n---\nThe harbour lamp.\n")
    djinn(copy, home, "index")
    assert follow("A column in hits", copy) <= 3
    assert "  calm, bright\n" in djinn(copy, home, "memory", "search", "harbour lamp")
    for arguments in (("search", "lamp"), ("list",), ("show", "lamp")):
        assert '"mood": "calm, bright"' in djinn(copy, home, "memory", *arguments, "--json")


@pytest.mark.soak
def test_an_operation_with_its_command_and_its_tool_touches_four_files(
    copy: Path, home: Home
) -> None:
    assert follow("An operation", copy) == 1
    python(copy, "tools/verb_table.py")
    code = (
        "import sys; from djinn_memory.djinn import Djinn;"
        "from djinn_memory.operations import OPERATIONS;"
        "djinn = Djinn.open(sys.argv[1]); djinn.gaps.report('who owns the shed');"
        "print(djinn.gaps.count(closed=True).gaps, OPERATIONS['gaps.count'].answer.__name__)"
    )
    assert python(copy, "-c", code, str(home.root)) == "1 GapCount\n"
    assert follow("A command", copy) == 2
    python(copy, "tools/verb_table.py")
    assert djinn(copy, home, "gap", "count") == "1 open\n"
    assert '"gaps": 1' in djinn(copy, home, "gap", "count", "--json")
    assert "count" in djinn(copy, home, "gap", "--help")
    assert (copy / "tests/cli/transcripts/gap.txt").read_text().count("gap count") == 1
    assert follow("A tool", copy) == 1
    code = (
        "from djinn_memory.mcp.tools.recall import gap;"
        "print(gap.text(gap.answer(count=2)), 'count' in gap.by_action)"
    )
    assert python(copy, "-c", code) == "['2 gaps.'] True\n"
