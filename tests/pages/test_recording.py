"""The recording of the demo shows its commands, and what they print today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.pages.fenced import DOCS, ROOT, constant

RECORDING = DOCS / "demo.svg"


def words(recording: Path) -> str:
    """The text on its screens, in one line, without what differs between two runs."""
    texts = ElementTree.parse(recording).iter("{http://www.w3.org/2000/svg}text")
    screens = " ".join(" ".join("".join(text.itertext()) for text in texts).split())
    # What fits into the budget of `wake` differs, too.
    return constant(re.sub(r"(?<=\$ djinn wake ).*?(?=\$ djinn )", "", screens))


def test_the_recording_shows_each_command_of_the_demo() -> None:
    demo = (ROOT / "tools" / "demo.py").read_text(encoding="utf-8")
    verbs = re.findall(r'"(djinn [a-z]+)', demo)
    shown = words(RECORDING)
    assert len(verbs) > 8
    assert [verb for verb in verbs if f"$ {verb}" not in shown] == []
    assert not re.search(r"/(home|root|tmp|Users)/", shown)


@pytest.mark.soak
def test_the_recording_is_what_the_demo_prints_now(tmp_path: Path) -> None:
    """Run `python tools/record.py` where it is not."""
    new = tmp_path / "demo.svg"
    subprocess.run([sys.executable, ROOT / "tools" / "record.py", new], check=True)
    assert words(new) == words(RECORDING)
