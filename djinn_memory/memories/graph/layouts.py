"""Layouts of graphs, kept in the state folder. They have numbers only, no words of notes."""

from __future__ import annotations

import hashlib
import io
from contextlib import suppress
from pathlib import Path

import numpy as np

from djinn_memory.graph.layout import LAYOUT, Places, layout
from djinn_memory.graph.network import Network
from djinn_memory.runtime import Runtime
from djinn_memory.system.files import make_folder, write_atomic

KEPT = 12
"""Layouts that are kept, those used last. One of 10,000 nodes has 200 kB."""


def placed(runtime: Runtime, network: Network) -> Places:
    """The places of the nodes in 3D, then in 2D: five numbers each."""
    shape = (len(network), 5)
    file = runtime.home.state / "layouts" / f"{_digest(network)}.npy"
    with suppress(OSError, ValueError, EOFError):
        places: Places = np.load(file, allow_pickle=False)
        if places.shape == shape and np.isfinite(places).all():
            file.touch()
            return places
    deep = layout(network, 3)
    places = np.hstack([deep, layout(network, 2, start=deep)]).reshape(shape)
    if not runtime.read_only:
        with suppress(OSError):
            _keep(file, places)
    return places


def _digest(network: Network) -> str:
    parts = (np.array([LAYOUT, len(network)]), network.sources, network.targets, network.weights)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).astype("<f8").tobytes())
    return digest.hexdigest()[:32]


def _keep(file: Path, places: Places) -> None:
    make_folder(file.parent, private=True)
    data = io.BytesIO()
    np.save(data, places, allow_pickle=False)
    write_atomic(file, data.getvalue(), private=True)
    used = sorted(file.parent.glob("*.npy"), key=lambda other: -other.stat().st_mtime)
    for other in used[KEPT:]:
        other.unlink(missing_ok=True)
