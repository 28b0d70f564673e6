"""Completion as the shells do it: a real shell at a terminal, a line typed, and Tab."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from djinn_memory.cli.completion import parse, script
from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init
from tests.conftest import Run

SHELLS = ("bash", "zsh", "fish")
START = {
    "bash": ["bash", "--noprofile", "-i"],
    "zsh": ["zsh", "-d", "-i"],
    "fish": ["fish", "-i"],
}
TAGS = ("project:my app", "größe/öl", "it's", 'say "hi"', "a$b", "*", "people/pilot", "Upper")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with names that are hard to type."""
    home, _ = init(tmp_path_factory.mktemp("completion") / "a home", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    (home.root / "öfter").mkdir()
    add_vault(home, "öfter", home.root / "öfter")
    folder = home.root / "vaults"
    for at, tag in enumerate(TAGS):
        front = json.dumps({"tags": [tag], "type": "recipe"}, ensure_ascii=False)
        (folder / "shared" / f"note {at}.md").write_text(f"---\n{front}\n---\n# Note: {tag}\n")
    (folder / "shared" / "minutes").mkdir()
    (folder / "grace" / "own.md").write_text("---\ntags: [secret]\n---\n# Hers\n")
    (folder / "shared" / "bad.md").write_text('---\ntags: ["evil\\x1b[2J"]\n---\n')
    (folder / "shared" / "gauge.md").write_text(
        "---\ntype: document\nfilename: tide gauge.pdf\n---\nThe gauge.\n"
    )
    (folder / "shared" / "habit.md").write_text(
        "---\ntype: pattern\ntitle: Plans on Mondays\n---\nPlans.\n"
    )
    (folder / "shared" / "aurora.md").write_text(
        "---\ntype: boat\nplane: knowledge\n---\nA boat.\n"
    )
    djinn = Djinn(home)
    djinn.index()
    djinn.facts.set("harbour", "depth", "4 m", shared=True)
    djinn.working.set("last line", "1204", ttl=86_400)
    djinn.episodes.record_observation(text="The bell rang.", session="hut plans", agent="finn")
    djinn.working.set("branch", "main", task="deploy")
    djinn.close()
    return home


@pytest.fixture
def terminal(tmp_path: Path, user_folder: Path) -> dict[str, str]:
    """The environment of a user with a bare home folder, and a command that tells its arguments."""
    program = tmp_path / "bin" / "args"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "place = os.environ['ANSWER']\nopen(place + '~', 'w').write(json.dumps(sys.argv[1:]))\n"
        "os.rename(place + '~', place)\n"
    )
    program.chmod(0o755)
    for name in (".bashrc", ".zshrc"):
        (tmp_path / name).touch()
    folders = [str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {
        "PATH": os.pathsep.join(folders),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": str(tmp_path),
        "ANSWER": str(tmp_path / "answer"),
        "DJINN_CONFIG_DIR": str(user_folder),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
        "SHELL": "/bin/sh",
    }


def install(shell: str, terminal: dict[str, str]) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here; apt-get install {shell}")
    done = subprocess.run(
        [shell, "-c", "djinn --install-completion; true"],
        env=terminal, cwd=terminal["HOME"], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and shell in done.stdout, done
    return done.stdout


class Terminal:
    """A shell at a terminal."""

    def __init__(self, shell: str, environment: dict[str, str]) -> None:
        self._answer = Path(environment["ANSWER"])
        self._process, self._screen = pty.fork()
        if self._process == 0:
            os.chdir(environment["HOME"])
            os.execvpe(START[shell][0], START[shell], environment)
        self.seen = b""
        self._settle(0.7)

    def close(self) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._screen)

    def _settle(self, quiet: float, spoke: float = 0.0) -> None:
        """Until the shell has said something, last at `spoke`, and then nothing for a while."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if select.select([self._screen], [], [], 0.05)[0]:
                self.seen += os.read(self._screen, 4096)
                spoke = time.monotonic()
            elif spoke and time.monotonic() - spoke > quiet:
                return

    def after_tab(self, line: str) -> list[str]:
        """The arguments that the line has after Tab, as the shell itself reads them."""
        self._answer.unlink(missing_ok=True)
        self.seen = b""
        # Tab, to the beginning of the line, where `args ` is put before it, and Enter.
        os.write(self._screen, line.encode() + b"\t\x01args \r")
        deadline = time.monotonic() + 20
        while not self._answer.exists() and time.monotonic() < deadline:
            if select.select([self._screen], [], [], 0.02)[0]:
                self.seen += os.read(self._screen, 4096)
        assert self._answer.exists(), self.seen.decode(errors="replace")
        self._settle(0.15, time.monotonic())
        assert b"Traceback" not in self.seen
        found: list[str] = json.loads(self._answer.read_text())
        return found


QUOTED = [
    ("djinn memory search --vault ö", ["--vault", "öfter"]),
    ("djinn memory search --tag people/", ["--tag", "people/pilot"]),
    ("djinn memory search --tag=people/", ["--tag=people/pilot"]),
    ("djinn memory search --tag proj", ["--tag", "project:my app"]),
    ("djinn memory search --tag project:my", ["--tag", "project:my app"]),
    ('djinn memory search --tag "project:my ', ["--tag", "project:my app"]),
    ("djinn memory search --tag 'project:m", ["--tag", "project:my app"]),
    ("djinn memory search --tag grö", ["--tag", "größe/öl"]),
    ("djinn memory search --tag it", ["--tag", "it's"]),
    ("djinn memory search --tag say", ["--tag", 'say "hi"']),
    ("djinn memory search --tag a", ["--tag", "a$b"]),
    ("djinn session working get 'last", ["get", "last line"]),
    ("djinn memory show 'Note: gr", ["show", "Note: größe/öl"]),
    ("djinn document show 'tide ga", ["show", "tide gauge.pdf"]),
    ("djinn memory search --mo", ["search", "--mode"]),
]
"""What every shell cuts, quotes or puts together in its own way."""

PLAIN = [
    ("djinn memory sea", ["memory", "search"]),
    ("djinn memory search --agent gr", ["--agent", "grace"]),
    ("djinn memory search --type reci", ["--type", "recipe"]),
    ("djinn config get search.lim", ["get", "search.limit"]),
    ("djinn session working get --task de", ["--task", "deploy"]),
    ("djinn vault describe shared/mi", ["describe", "shared/minutes"]),
    ("djinn vault remove ", ["remove", "öfter"]),
    ("djinn ingest x --strategy sem", ["--strategy", "semantic"]),
    ("djinn memory search --mode w", ["--mode", "words"]),
    ("djinn session history hut", ["history", "hut plans"]),
    ("djinn session extract --session hut", ["--session", "hut plans"]),
    ("djinn import x --format ch", ["--format", "chatgpt"]),
]
"""What djinn completes in the same way for each shell, so that one of them is enough."""


THIRDS = [(shell, (first + place) % 3) for first, shell in enumerate(SHELLS) for place in range(3)]
"""Each shell with each third of the lines: every third pair is another shell with another third."""


@pytest.mark.few(3)
@pytest.mark.parametrize(("shell", "third"), THIRDS)
def test_tab_completes_a_word(kept: Home, terminal: dict[str, str], shell: str, third: int) -> None:
    install(shell, terminal)
    shutil.copytree(kept.root, Path(terminal["HOME"]) / "other")
    terminal["DJINN_HOME"] = str(kept.root)
    other = "djinn --home ~/other memory search --agent grace --tag sec"
    plain = PLAIN[SHELLS.index(shell) :: len(SHELLS)]
    lines = [*QUOTED, *plain, (other, ["--tag", "secret"]),
             ("djinn --home oth", ["--home", "other"]),
             ("djinn ingest oth", ["ingest", "other"])][third::3]  # fmt: skip
    at = Terminal(shell, terminal)
    try:
        found = {line: at.after_tab(line) for line, _ in lines}
    finally:
        at.close()
    # zsh takes the slash behind a folder away again when the word ends.
    found = {line: [word.rstrip("/") for word in words] for line, words in found.items()}
    assert {line: found[line][-len(end) :] for line, end in lines} == dict(lines)


Ask = Callable[..., list[str]]


@pytest.fixture
def ask(run: Run) -> Ask:
    """What a script of a shell is told; nothing may be said beside it."""

    def call(home: Path | None, *words: str) -> list[str]:
        done = run(*words, home=home, _DJINN_COMPLETE="fish", HOME="/nonexistent")
        assert (done.returncode, done.stderr) == (0, "")
        assert all(line[0] in "=/" for line in done.stdout.splitlines())
        return [line.partition("\t")[0][1:] for line in done.stdout.splitlines()]

    return call


def test_values_are_those_that_the_agent_sees(kept: Home, ask: Ask) -> None:
    search = ("memory", "search")
    assert ask(kept.root, *search, "--vault", "") == ["shared", "finn", "öfter"]
    assert ask(kept.root, *search, "--agent", "grace", "--vault", "") == [
        "shared", "grace", "öfter",
    ]  # fmt: skip
    assert ask(kept.root, "index", "--vault", "") == ["shared", "finn", "grace", "öfter"]
    assert sorted(ask(kept.root, *search, "--tag", "")) == sorted(TAGS)
    assert "secret" in ask(kept.root, *search, "--agent", "grace", "--tag", "")
    assert "Hers" not in ask(kept.root, "memory", "show", "")
    assert {"recipe", "decision"} <= set(ask(kept.root, *search, "--type", ""))
    assert ask(kept.root, *search, "--tag", "upp") == ["Upper"]
    assert ask(kept.root, "fact", "forget", "") == ["harbour", "harbour/depth"]
    assert ask(kept.root, "fact", "verify", "harbour", "") == ["depth"]
    assert ask(kept.root, "pattern", "show", "") == ["Plans on Mondays"]
    kinds = ["person", "place", "project", "concept", "boat"]
    assert ask(kept.root, "entity", "list", "--kind", "") == kinds


def test_values_for_keys(kept: Home, ask: Ask) -> None:
    assert ask(kept.root, "key", "revoke", "") == []
    for name in ("laptop", "notes-app"):
        Djinn(kept).keys.add(name)
    assert ask(kept.root, "key", "revoke", "") == ["laptop", "notes-app"]
    assert ask(kept.root, "key", "revoke", "not") == ["notes-app"]
    add = ("key", "add", "new")
    assert ask(kept.root, *add, "--agent", "") == ["finn", "grace"]
    assert {"shared", "finn", "grace"} <= {*ask(kept.root, *add, "--vault", "")}
    assert ask(kept.root, *add, "--scope", "re") == ["read", "read_all"]


@pytest.mark.few(8)
@pytest.mark.parametrize(
    "words",
    [
        ("memory", "search", "--tag", ""), ("memory", "search", "--vault", ""),
        ("memory", "search", "--agent", ""), ("memory", "show", ""), ("config", "get", ""),
        ("vault", "remove", ""), ("vault", "describe", "shared/"), ("vault", "describe", "no/"),
        ("memory", "search", "--agent", "nobody", "--tag", ""), ("nonsense", ""),
        ("memory", "search", "--nonsense=", ""), ("--home", "/nowhere", "memory", "show", ""),
        ("memory", "x", ""), ("",),
        ("memory", "search", "--", "-"), ("memory", "search", "--limit", ""),
        ("session", "working", "get", ""), ("session", "working", "get", "--task", ""),
        ("maintain", "--only", ""),
        ("undo", ""), ("review", "accept", ""), ("pattern", "show", ""), ("entity", "show", ""),
    ],
    ids=" ".join,
)  # fmt: skip
def test_where_there_is_nothing_it_is_silent_and_makes_nothing(
    home: Home, tmp_path: Path, ask: Ask, words: tuple[str, ...]
) -> None:
    ask(tmp_path / "nowhere", *words)
    ask(None, *words)
    before = sorted(home.root.rglob("*"))
    ask(home.root, *words)
    assert sorted(home.root.rglob("*")) == before
    Djinn(home).index()
    for leftover in home.state.glob("index.db-*"):
        leftover.unlink()
    before = sorted(home.root.rglob("*"))
    ask(home.root, *words)
    assert sorted(home.root.rglob("*")) == before
    home.index_path.write_bytes(b"x" * 9000)
    ask(home.root, *words)
    assert sorted(home.root.rglob("*")) == before
    home.config_path.write_text("a: [")
    ask(home.root, *words)


@pytest.mark.parametrize(
    ("line", "words", "word", "prefix_length"),
    [
        ("djinn ", ["djinn"], "", 0),
        ("djinn a", ["djinn"], "a", 0),
        ("X=1 djinn a", ["djinn"], "a", 0),
        ("djinn --tag=a:b", ["djinn"], "--tag=a:b", 8),
        (r"djinn a\:b", ["djinn"], "a:b", 0),
        ("djinn 'a b' c", ["djinn", "a b"], "c", 0),
        ('djinn "a b', ["djinn"], "a b", 0),
        ('djinn --x="a:b', ["djinn"], "--x=a:b", 4),
        (r"djinn a\ b", ["djinn"], "a b", 0),
        (r'djinn "a\"b\c"', ["djinn"], 'a"b\\c', 0),
        ("djinn '' ", ["djinn", ""], "", 0),
        ("djinn a\\", ["djinn"], "a", 0),
    ],
)
def test_a_line_is_cut_as_bash_cuts_it(
    line: str, words: list[str], word: str, prefix_length: int
) -> None:
    found = parse(line, ":=")
    assert (found.words, found.word, found.prefix_length) == (words, word, prefix_length)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_shown(shell: str, terminal: dict[str, str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here; apt-get install {shell}")
    first, second = (
        subprocess.run(
            [shell, "-c", f"djinn --{verb}-completion; true"],
            env=terminal, cwd=terminal["HOME"], capture_output=True, text=True, check=True,
        ).stdout
        for verb in ("show", "install")
    )  # fmt: skip
    assert first == script(shell)
    install(shell, terminal)
    settings = Path(terminal["HOME"]) / f".{shell}rc"
    assert shell == "fish" or settings.read_text().count("source ") == 1
    assert second


def test_another_shell_is_named(terminal: dict[str, str]) -> None:
    done = subprocess.run(
        ["dash", "-c", "djinn --install-completion; exit $?"],
        env=terminal, cwd=terminal["HOME"], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "bash, zsh, fish" in done.stderr and done.stderr.count("\n") == 1
