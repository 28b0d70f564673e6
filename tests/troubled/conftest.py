"""The troubled home: made once, and copied for each test."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from djinn_memory.home.home import Home
from tests.conftest import in_process
from tests.troubled.home import Troubled, troubled


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Troubled:
    """The home as its commands left it."""
    folder = tmp_path_factory.mktemp("troubled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJINN_CONFIG_DIR", str(folder / "user"))
        return troubled(folder / "home", in_process(folder, folder / "user"))


@pytest.fixture
def place(template: Troubled, tmp_path: Path) -> Troubled:
    """A copy of the home, with files beside it that are not in it."""
    (tmp_path / "tables.txt").write_text("The tables of the winter are right.\n" * 5)
    (tmp_path / "chat.json").write_text("{")
    said = [
        {"role": "user", "content": "The lamp is lit."},
        {"role": "assistant", "content": "Yes."},
    ]
    (tmp_path / "said.json").write_text(json.dumps(said))
    root = Path(shutil.copytree(template.root, tmp_path / "home", symlinks=True))
    # The settings name this folder by its absolute path, as the folder of a vault that was added.
    Home(root).edit((("vaults", "archive", "path"), str(root / "archive")))
    return Troubled(root, {**template.names, "folder": str(tmp_path)})
