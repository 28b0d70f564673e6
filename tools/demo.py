"""Shows the main job on the sample memory: searches, a document, the session of an agent."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".demo"
SAMPLES = ROOT / "docs" / "samples"
DJINN = Path(sys.executable).with_name("djinn")


def djinn(*arguments: str) -> None:
    """Run a command as a user would, and show it."""
    print(f"\n$ djinn {shlex.join(arguments)}", flush=True)
    subprocess.run([DJINN, "--home", HOME, *arguments], check=True)


def main() -> None:
    """Copy the sample, so that it can be played with, and search it."""
    shutil.rmtree(HOME, ignore_errors=True)
    shutil.copytree(ROOT / "vaults", HOME / "vaults")
    print("A sample memory of a small team, copied to .demo/ for you to play with.")
    djinn("init", str(HOME), "--agent", "finn", "--agent", "grace")
    djinn("index")
    print("\nBy words:")
    djinn("memory", "search", "slipway waders", "-n", "2")
    print("\nBy meaning; the note shares hardly a word with the question:")
    djinn("memory", "search", "why did we not build an iPhone app?", "-n", "2")
    print("\nWith a filter:")
    djinn("memory", "search", "offline", "--type", "decision", "--tag", "offline", "-n", "2")
    print("\nA document, and an answer that cites its page:")
    djinn("ingest", str(SAMPLES / "tide-gauge-manual.pdf"), "--vault", "shared")
    djinn(
        "memory",
        "search",
        "how hot may it get before it switches itself off?",
        "--plane",
        "documents",
        "-n",
        "1",
    )
    print("\nAn agent's session: what it starts with, what it notes, what it leaves:")
    djinn("wake", "--task", "moving packs on the phone", "--budget", "300")
    djinn(
        "remember", "lesson", "Packs move by copy", "Copy, verify, then delete: safe to run twice.",
        "--link", "Project: Harbourlight",
    )  # fmt: skip
    djinn("recall", "how do we move packs without losing one", "-n", "2", "--budget", "200")
    djinn("rate", "last", "--useful", "1")
    djinn("sleep", "--summary", "Packs are moved safely now.", "--next", "unskip the test")
    program = DJINN.relative_to(ROOT) if DJINN.is_relative_to(ROOT) else DJINN
    print(
        f"""
Try next, from this folder:
  {program} --home .demo memory search "can I book a meeting with Maren" --agent grace --explain
  {program} --home .demo memory show "Project: Harbourlight"
  {program} --home .demo wake --agent grace
  {program} --home .demo vault add notes FOLDER   # a folder of your own notes
  {program} --home .demo index
"""
    )


if __name__ == "__main__":
    main()
