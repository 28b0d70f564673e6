"""The index on a server is opened, or one line says why not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Unavailable
from djinn_memory.home.setup import init


def test_without_the_driver_a_search_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, _ = init(tmp_path / "home")
    home.edit((("embedding", "provider"), "none"))
    monkeypatch.setenv("DJINN_POSTGRES_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with Djinn(home) as djinn, pytest.raises(Unavailable, match=r"package psycopg .* is missing"):
        djinn.search("boat", backend="postgres")
