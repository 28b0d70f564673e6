"""The program's entry: a search loads its model while the command line is still being read."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading


def main() -> None:
    """Run `djinn`."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the program.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    # A short run makes little garbage: looking for it among a thousand new modules is 20 ms.
    gc.set_threshold(50_000, 20, 20)
    # numpy's BLAS starts a thread a core and lets it spin, for matrices that djinn does not have.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if sys.argv[1:3] == ["memory", "search"] and not {"words", "--help", "-h"} & set(sys.argv):
            _warm()
        from djinn_memory.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # onnxruntime aborts a process that ends while a thread is still loading a model: 60 ms.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join()


def _warm() -> None:
    try:
        from djinn_memory.embedding.local import warm

        warm()
    except Exception:
        pass
