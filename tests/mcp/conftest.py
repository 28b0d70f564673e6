"""A home of two agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.home.home import Home
from djinn_memory.home.setup import init


@pytest.fixture
def pair(tmp_path: Path) -> Home:
    """A home of two agents, with a note that both see and one of finn's own."""
    home, _ = init(tmp_path / "pair", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    vaults = home.root / "vaults"
    (vaults / "shared" / "harbour.md").write_text(
        "---\nid: mem_7k2m9q4dxw30hv5t\ntype: project\ntags: [sea]\n---\n# Harbour light\n\n"
        "The lamp turns twice a minute. See [[Nowhere]].\n"
    )
    (vaults / "finn" / "keeper.md").write_text(
        "# Keeper\n\nTends the lamp of [[Harbour light]] at night.\n"
    )
    (vaults / "grace" / "hidden.md").write_text("# Hidden\n\nThe lamp is broken.\n")
    return home
