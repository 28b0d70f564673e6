"""Markdown at a terminal: rendered, with links that open, harmless, in a pager if it is long."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from djinn_memory.home.home import Home
from djinn_memory.system.programs import page
from tests.cli.test_terminal import ESCAPE, screen
from tests.conftest import Run, environment_of

NOTE = """---
title: Lamps
---
# The *mole*

See [[Harbour Light|the light]], [[Harbour Light#West]], [[nowhere|a label]] and `[[code]]`.
A second line with <angles> &#27;]0;title&#7; and &#x202e;.

- [a site](https://example.org/lamp)
- [a file](plan.pdf)

| lamp | colour |
|------|--------|
| [[Harbour Light\\|west]] | 緑 |

```python
lit = True
```
"""


@pytest.fixture
def lamps(home: Home, run: Run) -> Home:
    """A home with two notes, of which one links to the other."""
    folder = home.vaults[0].root
    (folder / "lamps.md").write_text(NOTE, encoding="utf-8")
    (folder / "Harbour Light.md").write_text("# Harbour Light\n\nIt is lit.\n")
    run("index", home=home.root)
    return home


def test_markdown_is_rendered_at_a_terminal(lamps: Home, run: Run) -> None:
    done = run("show", "Lamps", home=lamps.root, terminal=True, COLUMNS="60", TERM="xterm")
    lines = [line.rstrip() for line in ESCAPE.sub("", done.stdout).splitlines()]
    assert lines[:5] == ["---", "title: Lamps", "---", "The mole", ""]
    assert "See the light, Harbour Light#West, a label and [[code]]." in lines
    assert {" • a site", " • a file", " lit = True"} <= {*lines}
    assert any(line.split() == ["west", "緑"] for line in lines)
    light = (lamps.vaults[0].root / "Harbour Light.md").resolve().as_uri()
    assert {uri for uri in ESCAPE.findall(done.stdout) if uri} == {
        light, "https://example.org/lamp"
    }  # fmt: skip


def test_a_note_controls_no_terminal(lamps: Home, run: Run) -> None:
    done = run("show", "Lamps", home=lamps.root, terminal=True, TERM="xterm")
    assert "<angles>" in done.stdout
    assert not {*ESCAPE.sub("", done.stdout)} & {"\x1b", "\x07", "\u202e"}


def test_nothing_is_lost_in_a_narrow_terminal(lamps: Home, run: Run) -> None:
    address = f"https://example.org/{'lamp' * 20}"
    many = "|".join(f"w{number}" for number in range(40))
    (lamps.vaults[0].root / "wide.md").write_text(
        f"# Wide\n\n- a first item ![a picture](lamp.png)\n\n<{address}>\n\n"
        f"| a | b |\n|---|---|\n| c | {address} |\n\n|{many}|\n|{'--|' * 40}\n|{many}|\n"
    )
    done = run("show", "Wide", home=lamps.root, terminal=True, COLUMNS="60", TERM="xterm")
    shown = re.sub(r"\s", "", ESCAPE.sub("", done.stdout))
    assert "afirstitem!apicture" in shown
    assert shown.count(address) == 2
    assert all(shown.count(f"w{number}") >= 2 for number in range(40))


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{'  ' * depth}- item{depth}x" for depth in range(16)),
        "\n".join(f"{'> ' * depth} item{depth}x\n" for depth in range(16)),
        "A footnote[^item0x].\n\n[^item0x]: item1x\n",
    ],
    ids=["lists", "quotations", "footnote"],
)
def test_what_does_not_fit_is_printed_as_it_is(lamps: Home, run: Run, text: str) -> None:
    (lamps.vaults[0].root / "deep.md").write_text(f"# Deep\n\n{text}\n")
    done = run("show", "Deep", home=lamps.root, terminal=True, COLUMNS="60", TERM="xterm")
    shown = ESCAPE.sub("", done.stdout)
    assert {*re.findall(r"item\d+x", text)} == {*re.findall(r"item\d+x", shown)}


def test_a_briefing_is_rendered(lamps: Home, run: Run) -> None:
    task = ("context", "harbour light lamps")
    done = run(*task, home=lamps.root, terminal=True, COLUMNS="60", TERM="xterm")
    lines = ESCAPE.sub("", done.stdout).splitlines()
    assert done.returncode == 0
    assert any(line.startswith(" 1 ") and "(note" in line for line in lines)
    assert lines.count("-" * 60) == 1


def test_markdown_is_printed_as_it_is_into_a_pipe(lamps: Home, run: Run) -> None:
    shown = run("show", "Lamps", home=lamps.root).stdout
    assert shown.startswith(NOTE.rstrip("\n"))
    dumb = run("show", "Lamps", home=lamps.root, terminal=True, TERM="dumb", COLUMNS="200")
    assert ESCAPE.sub("", dumb.stdout) == shown


def test_without_links_addresses_of_the_web_are_printed(lamps: Home, run: Run) -> None:
    done = run("show", "Lamps", home=lamps.root, terminal=True, NO_COLOR="1", TERM="xterm")
    assert "\x1b]8" not in done.stdout
    assert "a site (https://example.org/lamp)" in ESCAPE.sub("", done.stdout)
    assert "See the light" in ESCAPE.sub("", done.stdout)


def test_a_rule_stands_between_memories(lamps: Home, run: Run) -> None:
    done = run("recall", "harbour light lamps", home=lamps.root, terminal=True, COLUMNS="60")
    lines = ESCAPE.sub("", done.stdout).splitlines()
    assert lines.count("─" * 60) == 1
    assert [line[:2] for line in lines if line[:2] in ("1.", "2.", "3.")] == ["1.", "2."]


def test_output_longer_than_the_screen_is_paged(
    lamps: Home, tmp_path: Path, user_folder: Path
) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\n")
    pager.chmod(0o755)
    environment = environment_of(tmp_path, user_folder, lamps.root)
    environment |= {"TERM": "xterm", "LINES": "10", "PAGER": str(pager)}
    shown = screen(tmp_path, "show", "Lamps", "--no-pager", **environment)
    assert b"The " in shown and not (tmp_path / "paged").exists()
    assert screen(tmp_path, "show", "Lamps", **environment) == b""
    paged = ESCAPE.sub("", (tmp_path / "paged").read_text(encoding="utf-8"))
    assert "The mole" in paged
    # Messages stand where they were printed.
    assert paged.startswith(f"{lamps.vaults[0].name}/lamps.md\n---\n")


@pytest.mark.parametrize(
    ("command", "starts"), [("cat", True), ("true", True), ("no-such-pager", False), ("", False)]
)
def test_a_pager_that_is_missing_or_ends_early_is_no_error(
    command: str, starts: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(os.environ, "PAGER", command)
    text = "a lamp\n" * 100_000
    assert page(text) is starts
    assert capfd.readouterr() == (text if command == "cat" else "", "")


def test_continued_lines_are_aligned(lamps: Home, run: Run) -> None:
    done = run("doctor", home=lamps.root, terminal=True, COLUMNS="50")
    lines = ESCAPE.sub("", done.stdout).splitlines()
    assert len({len(line) - len(line.lstrip()) for line in lines if line.startswith(" ")}) == 1
