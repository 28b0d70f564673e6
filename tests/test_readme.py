"""Every djinn command that the README shows is run as it is written."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.conftest import Run, environment_of
from tests.embedding.tiny import tiny_model
from tests.servers import serving

ROOT = Path(__file__).resolve().parent.parent

OLLAMA = 11434
"""The port at which it is by default."""

COMMAND = re.compile(
    r"(?:cat (?P<file>\S+) \| )?(?P<variables>(?:[A-Z_]+=\S+ )*)djinn (?P<rest>.*)"
)


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if re.match(r"(\w+=\S+ )?djinn |cd |cat ", line)]


def test_commands_of_the_readme_work(
    tmp_path: Path, user_folder: Path, sample: Path, run: Run
) -> None:
    shutil.copytree(sample / "shared", tmp_path / "notes")
    (tmp_path / "notes" / "inbox").mkdir(exist_ok=True)
    (tmp_path / "notes" / "inbox" / "old-idea.md").write_text("An old idea.\n")
    (tmp_path / "finn").mkdir()
    # The README's first command after `cd` works in the new home.
    (tmp_path / "memory").mkdir()
    manual = ROOT / "docs" / "samples" / "tide-gauge-manual.pdf"
    shutil.copy(manual, tmp_path / "memory" / "technical-spec.pdf")
    (tmp_path / "memory" / "minutes.txt").write_text("The mole gets a new lamp.\n")
    (tmp_path / "papers" / "more").mkdir(parents=True)
    (tmp_path / "papers" / "more" / "notice.txt").write_text("No anchoring within the moles.\n")
    (tmp_path / "notes" / "minutes").mkdir()
    (tmp_path / "models").mkdir()
    tiny_model(tmp_path / "made").rename(tmp_path / "models" / "bge-small-en-v1.5")
    environment = environment_of(tmp_path, user_folder, None)
    cwd = tmp_path
    with serving(OLLAMA):
        for line in commands():
            if line.startswith("cd "):
                cwd = Path(line[3:].replace("~", str(tmp_path)))
            elif line == "djinn watch":
                assert watch(cwd, environment) == 0
            else:
                parts = COMMAND.fullmatch(line)
                assert parts, line
                words = shlex.split(parts["rest"].replace("~/", f"{tmp_path}/"))
                variables = dict(pair.split("=") for pair in parts["variables"].split())
                stdin = (cwd / parts["file"]).read_text() if parts["file"] else ""
                done = run(*words, stdin=stdin, cwd=cwd, **variables)
                assert done.returncode == 0, (line, done.stderr)
                assert "Traceback" not in done.stderr
    assert len(commands()) >= 20


def watch(cwd: Path, environment: dict[str, str]) -> int:
    """The exit code of `djinn watch` when it is stopped as soon as it says that it watches."""
    process = subprocess.Popen(
        [sys.executable, "-m", "djinn_memory", "watch"],
        cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    with process:
        assert process.stdout and process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert b"Traceback" not in process.stdout.read()
    return process.returncode


def test_help_and_reference_agree() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "docs.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
