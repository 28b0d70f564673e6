"""Shows the main job on the sample memory: searches, a document, the session of an agent."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".demo"
DJINN = Path(sys.executable).with_name("djinn")
MANUAL = Path("docs", "samples", "tide-gauge-manual.pdf")


class Step(NamedTuple):
    """Commands that show one thing."""

    about: str
    commands: Sequence[str]


STEPS = (
    Step("Read the notes:", ["djinn init --agent finn --agent grace", "djinn index"]),
    Step("By words:", ["djinn search 'slipway waders' -n 2"]),
    Step(
        "By meaning; the note shares hardly a word with the question:",
        ["djinn search 'why did we not build an iPhone app?' -n 2"],
    ),
    Step("With a filter:", ["djinn search offline --type decision --tag offline -n 2"]),
    Step(
        "A document, and an answer that cites its page:",
        [
            f"djinn ingest {MANUAL.as_posix()} --vault shared",
            "djinn search 'how hot may it get before it switches itself off?' --plane documents"
            " -n 1",
        ],
    ),
    Step(
        "An agent's session: what it starts with, what it notes, what it leaves:",
        [
            "djinn wake --task 'moving packs on the phone' --budget 300",
            "djinn remember lesson 'Packs move by copy'"
            " 'Copy, verify, then delete: safe to run twice.' --link 'Project: Harbourlight'",
            "djinn recall 'how do we move packs without losing one' -n 1 --budget 200",
            "djinn rate last --useful 1",
            "djinn sleep --summary 'Packs are moved safely now.' --next 'unskip the test'",
        ],
    ),
)
"""What the demo shows, and what `tools/record.py` records, as a user types it in the checkout."""


def prepare(home: Path) -> None:
    """Copy the sample notes to where a home is to be made, so that they can be played with."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(ROOT / "vaults", home / "vaults")


def main() -> None:
    """Run each step."""
    prepare(HOME)
    print("A sample memory of a small team, copied to .demo/ for you to play with.")
    for step in STEPS:
        print(f"\n{step.about}")
        for command in step.commands:
            print(f"\n$ {command}", flush=True)
            words = shlex.split(command)[1:]
            subprocess.run([DJINN, "--home", HOME, *words], cwd=ROOT, check=True)
    program = DJINN.relative_to(ROOT) if DJINN.is_relative_to(ROOT) else DJINN
    print(
        f"""
Try next, from this folder:
  {program} --home .demo search "can I book a meeting with Maren" --agent grace --explain
  {program} --home .demo show "Project: Harbourlight"
  {program} --home .demo wake --agent grace
  {program} --home .demo vault add notes FOLDER   # a folder of your own notes
  {program} --home .demo index
"""
    )


if __name__ == "__main__":
    main()
