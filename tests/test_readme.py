"""Every djinn command that the README shows is run, as written, by a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from djinn_memory.home.config import model_cache
from tests.embedding.tiny import tiny_model
from tests.servers import serving

ROOT = Path(__file__).resolve().parent.parent

OLLAMA = 11434
"""The port at which it is by default."""


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if re.match(r"(\w+=\S+ )?djinn |cd |cat ", line)]


def test_commands_of_the_readme_work(tmp_path: Path, sample: Path) -> None:
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
    # It goes on until it is stopped, beside whatever else is done.
    watched = "djinn watch & watcher=$!; sleep 5; kill -INT $watcher; wait $watcher"
    lines = [watched if line == "djinn watch" else line for line in commands()]
    script = "set -ex\n" + "\n".join(lines)
    program = Path(sys.executable).parent
    with serving(OLLAMA):
        done = subprocess.run(
            ["bash", "-c", script],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={
                "HOME": str(tmp_path),
                "PATH": f"{program}{os.pathsep}{os.environ['PATH']}",
                "DJINN_CACHE": str(model_cache()),
            },
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert len(commands()) >= 20
    assert "Traceback" not in done.stderr


def test_help_and_reference_agree() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "docs.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
