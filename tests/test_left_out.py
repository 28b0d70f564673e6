"""In CI a test that is left out is a failure, whatever leaves it out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

MODULES = {
    "test_one": """
import pytest
def test_left_out(): pytest.skip("no lamp here")
@pytest.mark.skipif(True, reason="no lamp here")
def test_marked(): pass
@pytest.fixture
def lamp(): pytest.skip("no lamp here")
def test_of_a_fixture(lamp): pass
@pytest.mark.xfail(reason="no lamp here")
def test_that_fails(): assert False
def test_that_passes(): pass
""",
    "test_whole": """
import pytest
pytest.importorskip("lamp_of_nobody")
def test_of_a_module(): pass
""",
}


def test_a_test_that_is_left_out_is_a_failure_in_ci(tmp_path: Path) -> None:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider",
         "--continue-on-collection-errors", str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "CI": "true", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed, 1 xfailed, 3 errors" in done.stdout, done.stdout
