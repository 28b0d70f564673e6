"""Each command in a fenced block of README and docs is run as it is written.

A page has a home folder of its own, in which its commands run one after the other. In `console`
blocks, what a command prints is compared with the page. To write the outputs anew:

    DJINN_TRANSCRIPTS=write python -m pytest tests/pages/test_commands.py && git diff README.md docs
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.conftest import Run, environment_of
from tests.embedding.tiny import tiny_model
from tests.memories.imports.exports import write_exports
from tests.pages.fenced import DOCS, PAGES, ROOT, commands, constant, with_outputs
from tests.servers import serving

NOT_RUN = {
    r"git pull|make |pip |pipx ": "installs from package indexes; tests/test_install.py does",
    r"djinn .*--ocr": "needs tesseract; tests/documents has the tests of OCR",
    r"djinn open (?!.*--print)": "starts an editor",
    r"djinn serve|curl |KEY=": "needs a running server; tests/web/api/test_readme.py runs them",
    r"djinn --install-completion": "asks the shell that runs it; tests/cli/test_completion.py does",
    r"python ": "is for those who work on djinn",
}
"""Commands that are not run, by how they begin, and why."""

FROM_NOTHING = {ROOT / "README.md", DOCS / "tutorial.md"}
"""Pages whose commands make the home; the others begin in one that is indexed."""

SHELL = {"cp", "echo", "git", "ls", "mkdir", "mv", "rm"}
"""Programs of the system."""

PROGRESS = "\N{BOX DRAWINGS HEAVY HORIZONTAL}"
"""Stands in the lines that a terminal shows only while something takes long."""

OLLAMA = 11434
"""The port at which it is by default."""

DJINN = re.compile(
    r"(?:cat (?P<file>\S+) \| )?(?P<variables>(?:[A-Z_]+=\S+ )*)"
    r"djinn (?P<rest>.*?)(?: > (?P<to>\S+))?"
)


class Person:
    """Somebody who types the commands of a page, in a home folder of their own."""

    def __init__(self, folder: Path, run: Run, environment: dict[str, str]) -> None:
        self.folder = self.cwd = folder
        self.run = run
        self.environment = {**environment, "HOME": str(folder), "COLUMNS": "92"}

    def path(self, text: str) -> Path:
        """A path as typed."""
        return self.cwd / text.replace("~", str(self.folder), 1)

    def type(self, line: str, *, terminal: bool = False) -> str:
        """Run a command, and return what it prints; it must succeed."""
        if line.startswith("cd "):
            self.cwd = self.path(line[3:])
            return ""
        if line == "djinn watch":
            return self.watch()
        if line.split()[0] in SHELL:
            return subprocess.run(
                line, shell=True, cwd=self.cwd, env=self.environment, check=True,
                capture_output=True, text=True,
            ).stdout  # fmt: skip
        parts = DJINN.fullmatch(line)
        assert parts, f"no way to run: {line}"
        words = [re.sub("^~(?=/|$)", str(self.folder), word) for word in shlex.split(parts["rest"])]
        variables = dict(pair.split("=") for pair in parts["variables"].split())
        done = self.run(
            *words,
            stdin=self.path(parts["file"]).read_text() if parts["file"] else "",
            cwd=self.cwd,
            terminal=terminal,
            **{**self.environment, **variables},
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, (line, said)
        assert "Traceback" not in said
        if parts["to"]:
            self.path(parts["to"]).write_text(done.stdout)
        # What a terminal does with escapes and progress is tested elsewhere.
        shown = re.sub(r"\x1b\].*?\x1b\\|\x1b\[[\d;?]*[A-Za-z]", "", said)
        lines = [line for line in shown.splitlines() if PROGRESS not in line]
        return "\n".join(lines).replace(str(self.folder), "/home/you").rstrip()

    def watch(self) -> str:
        """Stop `djinn watch` as soon as it says that it watches."""
        process = subprocess.Popen(
            [sys.executable, "-m", "djinn_memory", "watch"],
            cwd=self.cwd, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        with process:
            assert process.stdout and process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert b"Traceback" not in process.stdout.read()
        assert process.returncode == 0
        return ""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """`you`, a home folder as the pages know it, and `before`, which has it as it was."""
    root = tmp_path_factory.mktemp("pages")
    you = root / "you"
    shutil.copytree(sample / "shared", you / "notes")
    shutil.copytree(sample / "finn", you / "finn-notes")
    write_exports(you / "exports")
    (you / "notes" / "inbox" / "old-idea.md").write_text("An old idea.\n")
    (you / "papers").mkdir()
    shutil.copy(ROOT / "docs" / "samples" / "tide-gauge-manual.pdf", you / "papers" / "manual.pdf")
    (you / "papers" / "minutes.txt").write_text("The mole gets a new lamp.\n")
    tiny_model(root / "tiny").rename(you / "bge-small-en-v1.5")
    (you / ".gitconfig").write_text("[user]\n  name = You\n  email = you@example.org\n")
    for note in you.rglob("*.md"):
        os.utime(note, (1_790_000_000, 1_790_000_000))
    return root


@pytest.fixture(scope="module")
def indexed(folders: Path) -> Path:
    """A copy of `you` with an indexed home, in the same place whenever it is used."""
    environment = environment_of(folders / "you", folders / "you" / ".config", None)
    for words in ("init --notes notes --agent me --agent finn", "index"):
        subprocess.run(
            [sys.executable, "-m", "djinn_memory", *words.split()],
            cwd=folders / "you", env=environment, check=True, capture_output=True,
        )  # fmt: skip
    return Path(shutil.copytree(folders / "you", folders / "before", symlinks=True))


@pytest.fixture
def person(
    request: pytest.FixtureRequest, indexed: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> Person:
    """In front of a home folder that no other page has changed."""
    you = indexed.parent / "you"
    shutil.rmtree(you)
    shutil.copytree(indexed, you, symlinks=True)
    user = you / ".config"
    monkeypatch.setenv("DJINN_CONFIG_DIR", str(user))
    person = Person(you, run, environment_of(you, user, None))
    if request.node.callspec.params["page"] in FROM_NOTHING:
        shutil.rmtree(you / "djinn")
    return person


@pytest.mark.few(5)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_a_page_work(page: Path, person: Person) -> None:
    text = page.read_text(encoding="utf-8")
    outputs = []
    promised = [command.output for command in commands(text) if command.output is not None]
    # Tests that run beside this one may need the port too.
    with serving(OLLAMA, patience=300) if "ollama" in text.lower() else nullcontext():
        for command in commands(text):
            if any(re.match(beginning, command.line) for beginning in NOT_RUN):
                printed = command.output or ""
            else:
                printed = person.type(command.line, terminal=command.output is not None)
            if command.output is not None:
                outputs.append(printed)
    if os.environ.get("DJINN_TRANSCRIPTS") == "write":
        pairs = zip(outputs, promised, strict=True)
        kept = (old if constant(new) == constant(old) else new for new, old in pairs)
        page.write_text(with_outputs(text, kept), encoding="utf-8")
    else:
        assert list(map(constant, outputs)) == list(map(constant, promised))


def test_what_is_not_run_stands_on_a_page() -> None:
    lines = [command.line for page in PAGES for command in commands(page.read_text("utf-8"))]
    assert len(lines) >= 100
    for beginning in NOT_RUN:
        assert any(re.match(beginning, line) for line in lines), beginning


def test_help_and_reference_agree() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "docs.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
