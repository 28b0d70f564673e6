from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[2] / "web"
STATIC = WEB.parent / "djinn_memory" / "web" / "static"


def test_the_committed_bundles_are_those_of_the_sources(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; apt install nodejs npm")
    if not (WEB / "node_modules").is_dir():
        pytest.skip("the packages of web/ are not installed; run `make bundles`")
    bundle = [node, "bundle.mjs", str(tmp_path)]
    subprocess.run(bundle, cwd=WEB, check=True, capture_output=True, timeout=120)
    made = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    committed = {file.name: file.read_bytes() for file in STATIC.iterdir()}
    assert made.keys() == committed.keys()
    differing = [name for name in made if made[name] != committed[name]]
    assert differing == [], "run `make bundles` and commit what it writes"


def test_bundles_bring_their_licences() -> None:
    licence = (STATIC / "graph.LICENSE.txt").read_text(encoding="utf-8")
    assert "MIT License" in licence and "three.js authors" in licence


def test_the_lock_file_names_no_host() -> None:
    lock = (WEB / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert '"integrity"' in lock
