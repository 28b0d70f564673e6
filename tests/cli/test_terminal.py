"""What commands print at a terminal: lines that fit, links to files, no word lost."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init
from djinn_memory.system.programs import editor_command, obsidian_address
from tests.conftest import Run, environment_of
from tests.documents import pdfs
from tests.indexing.vaults import with_sample

WIDTHS = (60, 80, 200)

COMMANDS = (
    "search tide",
    "search tide --explain",
    "search tide --format md",
    "list",
    "show 'Chart datum'",
    "recall tide",
    "status",
    "memory stats",
    "vault list",
    "agent list",
    "gap list",
    "show 'Chart datum' --why",
    "fact list",
    "wake",
    "show 'Chart daum'",
    "search tide --tag tydes",
    "remember decison x y",
    "search tide --modes words",
)

ESCAPE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^;]*;([^\x1b]*)\x1b\\")
RENDERED = ("show 'Chart datum'", "recall tide", "wake")
"""The commands of which Markdown is rendered, so that its marks vanish."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Home:
    """The sample memory, indexed; for tests that change nothing."""
    home, _ = init(tmp_path_factory.mktemp("terminal") / "home", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    with_sample(home, sample)
    Djinn(home).index()
    # The first one ends differently: it finds no unfinished session.
    Djinn(home).wake()
    return home


def words(text: str) -> list[str]:
    """The words of an output, without marks for bold, numbers that vary, and heads of tables."""
    heads = {"date", "type", "title", "path", "fact", "value", "source", "confidence", "updated"}
    return sorted(
        word
        for word in re.sub(r"\*\*|\d+\.\d+|rec_\w+|session-\S+|\bs\d{8}\S+", "", text).split()
        if word not in heads
    )


def without_marks(text: str) -> str:
    """A text without links, and without the marks of Markdown or what is drawn for them."""
    text = re.sub(r"(?<=\])\([^()\s]*\)|(?<=```)\w+", "", text)
    text = re.sub(r"!?\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]", r"\1", text)
    # Marks stand at the edges of words, and alone.
    return re.sub(r"(?<!\w)[^\w\s]+|[^\w\s]+(?!\w)|(?<!\w)_|_(?!\w)", " ", text)


@pytest.mark.few(16)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_broken(kept: Home, tmp_path: Path, run: Run, command: str, width: int) -> None:
    import shlex

    arguments = shlex.split(command)
    root = kept.root
    if "--why" in arguments:
        # It prints how often the note was opened, also by itself.
        root = shutil.copytree(root, tmp_path / "home", symlinks=True)
    piped = run(*arguments, home=root)
    if root != kept.root:
        shutil.rmtree(root)
        shutil.copytree(kept.root, root, symlinks=True)
    shown = run(*arguments, home=root, terminal=True, COLUMNS=str(width))
    for plain, text in ((piped.stdout, shown.stdout), (piped.stderr, shown.stderr)):
        printed = ESCAPE.sub("", text)
        if command in RENDERED:
            assert words(without_marks(printed)) == words(without_marks(plain))
        else:
            assert words(printed) == words(plain)
        for line in printed.splitlines():
            assert len(line) <= width or len(line.split()) == 1, line


def test_places_are_links_to_files(kept: Home, run: Run) -> None:
    for command in (["search", "tide"], ["list"], ["recall", "tide"], ["show", "Chart datum"]):
        done = run(*command, home=kept.root, terminal=True)
        targets = [uri for uri in ESCAPE.findall(done.stdout + done.stderr) if uri]
        assert targets
        for uri in targets:
            assert Path(unquote(uri.removeprefix("file://"))).is_file()


@pytest.mark.parametrize(
    "environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"]
)
def test_links_can_be_kept_off(kept: Home, run: Run, environment: dict[str, str]) -> None:
    done = run("search", "tide", home=kept.root, terminal=True, **environment)
    assert "\x1b]8" not in done.stdout


def test_paths_can_be_opened_as_printed(kept: Home, run: Run, tmp_path: Path) -> None:
    paths = run("search", "tide", "--format", "paths", home=kept.root).stdout.splitlines()
    assert paths
    for line in paths:
        path, _, number = line.rpartition(":")
        assert Path(path).is_file() and int(number)
        assert run("show", line, home=kept.root).returncode == 0
    hits = json.loads(run("search", "tide", "--json", home=kept.root).stdout)["hits"]
    assert [f"{hit['file']}:{hit['lines'][0]}" for hit in hits] == paths
    for command, key in ((["list"], "memories"), (["recall", "tide"], "memories")):
        done = run(*command, "--json", home=kept.root)
        assert all(os.path.isfile(entry["file"]) for entry in json.loads(done.stdout)[key])  # noqa: PTH113
    place = f"{hits[0]['vault']}/{hits[0]['path']}:{hits[0]['lines'][0]}-{hits[0]['lines'][1]}"
    assert run("show", place, home=kept.root).returncode == 0


def test_a_vault_behind_a_link_has_real_paths(home: Home, run: Run, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "a.md").write_text("a walrus")
    (tmp_path / "linked").symlink_to(real)
    home.edit((("vaults", "linked", "path"), str(tmp_path / "linked")))
    add_vault(home, "other", tmp_path)
    done = run("search", '"walrus"', "--json", home=home.root)
    files = {hit["file"] for hit in json.loads(done.stdout)["hits"]}
    assert files == {str(real / "a.md")}


# --- opening


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """An editor that writes down what it is asked to open."""
    program = tmp_path / "bin" / "vim"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/opened"\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (["Chart datum"], None),
        (["Chart", "datum"], None),
        (["shared/concepts/chart-datum.md:11-17"], "+11"),
        (["Harbourlight: Architecture#the almanac"], "+19"),
    ],
)
def test_open_starts_the_editor_at_the_line(
    kept: Home, run: Run, editor: Path, tmp_path: Path, name: list[str], line: str | None
) -> None:
    done = run("open", *name, home=kept.root, EDITOR=str(editor), VISUAL="")
    assert done.returncode == 0, done
    *options, file = (tmp_path / "opened").read_text().splitlines()
    assert options == ([line] if line else [])
    assert Path(file).is_file()
    printed = run("open", *name, "--print", home=kept.root, EDITOR=str(editor))
    assert printed.stdout == f"{file}\n"


def test_open_says_what_is_missing(kept: Home, run: Run, tmp_path: Path) -> None:
    bare = {"EDITOR": "", "VISUAL": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    for options in ([], ["--with", "editor"], ["--with", "obsidian"], ["--with", "system"]):
        done = run("open", "Chart datum", *options, home=kept.root, **bare)
        assert (done.returncode, done.stdout) == (5, "")
        assert done.stderr.count("\n") == 1
        assert "chart-datum.md yourself" in done.stderr
    done = run("open", "Chart datum", home=kept.root, EDITOR=str(tmp_path / "gone"), VISUAL="")
    assert done.returncode == 5 and "gone could not be started" in done.stderr
    done = run("open", "Harbourlight: Architecture#almanack", "--print", home=kept.root)
    assert done.returncode == 4 and "no heading 'almanack'" in done.stderr


@pytest.mark.parametrize(
    ("editor", "arguments"),
    [
        ("vim", ["vim", "+7", "/a b.md"]),
        ("/usr/bin/emacsclient -n", ["/usr/bin/emacsclient", "-n", "+7", "/a b.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/a b.md:7"]),
        ("subl", ["subl", "/a b.md:7"]),
        ("kate", ["kate", "--line", "7", "/a b.md"]),
        ("unknown", ["unknown", "/a b.md"]),
    ],
)
def test_each_editor_gets_the_line_as_it_takes_it(editor: str, arguments: list[str]) -> None:
    assert editor_command(editor, Path("/a b.md"), 7) == arguments


def test_obsidian_is_addressed_by_path() -> None:
    assert obsidian_address(Path("/a b/ö.md")) == "obsidian://open?path=%2Fa%20b%2F%C3%B6.md"


def screen(folder: Path, *arguments: object, **environment: str) -> bytes:
    """All that a process of `djinn` writes to the terminal that is its stdout and its stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "djinn_memory", *map(str, arguments)],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=folder,
        env={**environment, "COLUMNS": "200"},
    )  # fmt: skip
    os.close(theirs)
    written = b""
    # The end of a terminal is an error of the read.
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65536):
            written += piece
    os.close(ours)
    assert process.wait(timeout=60) == 0, written
    return written


def test_bars_are_erased_before_a_line_is_printed(
    home: Home, tmp_path: Path, user_folder: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(3):
        made = pdfs.new()
        pdfs.put(made, pdfs.prose(20, number))
        pdfs.saved(made, folder, f"tides-{number}.pdf")
    environment = environment_of(tmp_path, user_folder, home.root)
    written = screen(tmp_path, "ingest", folder, **environment)
    outcomes = list(re.finditer(rb"tides-\d\.pdf: 1 page", written))
    assert len(outcomes) == 3
    for outcome in outcomes:
        # The line before has ended, or what stood on this one is erased.
        assert re.search(rb"(\n|\x1b\[2K|\x1b\[\?25h)\r?$", written[: outcome.start()])
