"""A home that reads all notes before it answers, however busy the machine is."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home


@pytest.fixture
def djinn(home: Home) -> Djinn:
    home.edit((("search", "sweep_ms"), 10_000), (("search", "sweep_notes"), 1_000))
    return Djinn(home)
