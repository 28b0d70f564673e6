"""The program's entry: a search loads its model while the command line is still being read."""

from __future__ import annotations

import gc
import sys
import threading


def main() -> None:
    """Run `djinn`."""
    # A short run makes little garbage: looking for it among a thousand new modules is 20 ms.
    gc.set_threshold(50_000, 20, 20)
    if sys.argv[1:3] == ["memory", "search"] and not {"words", "--help", "-h"} & set(sys.argv):
        threading.Thread(target=_warm, daemon=True).start()
    from djinn_memory.cli.app import main as run

    run()


def _warm() -> None:
    try:
        from djinn_memory.embedding.local import warm

        warm()
    except Exception:  # noqa: S110 - only a head start: the search itself meets the error again
        pass
