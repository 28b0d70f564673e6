"""The parsers under a coverage-guided fuzzer, in a soak."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import pieces

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.soak

SECONDS = 75
"""For each target."""


def fuzz(target: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the fuzzer on a target, from its seeds and with the words of its grammar."""
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(pieces.SEEDS.get(target, ())):
        (corpus / str(number)).write_bytes(seed.encode())
    words = folder / "words.dict"
    words.write_text(
        "".join(
            '"' + "".join(f"\\x{byte:02x}" for byte in piece.encode("utf-8", "replace")) + '"\n'
            for piece in pieces.DICTIONARIES.get(target, ())
            if len(piece) < 60
        )
    )
    return subprocess.run(
        [
            sys.executable, "-m", "tests.fuzz.fuzz", target, f"-max_total_time={SECONDS}",
            f"-dict={words}", f"-artifact_prefix={folder}/", "-max_len=2000", "-len_control=20",
            "-timeout=60", "-rss_limit_mb=2048", str(corpus),
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=SECONDS + 120, check=False,
        errors="replace",
    )  # fmt: skip


@pytest.mark.parametrize("target", pieces.SEEDS)
def test_nothing_is_found(target: str, tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    done = fuzz(target, tmp_path)
    found = [
        path.read_bytes()
        for path in tmp_path.iterdir()
        if path.name.startswith(("crash", "timeout", "oom", "slow"))
    ]
    assert done.returncode == 0 and not found, (
        f"{found}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    )
    [runs] = [int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("Done ")]
    assert runs > 100
    assert len(list((tmp_path / "corpus").iterdir())) > len(pieces.SEEDS[target])
