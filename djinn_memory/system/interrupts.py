"""Postpones Ctrl-C in code that an exception would break."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

_thread = threading.local()


@contextmanager
def deferred() -> Iterator[None]:
    """Postpone Ctrl-C until the block ends.

    msgspec runs Python code when it first meets a type. An exception in that code ends the process
    with a segmentation fault.
    """
    if threading.current_thread() is not threading.main_thread():
        with getattr(_thread, "run", None) or nullcontext():
            yield
        return
    interrupts: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if interrupts:
        raise KeyboardInterrupt


class ThreadRun:
    """Work in a thread other than the main one, which any thread may interrupt as Ctrl-C would."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number: int | None = None
        self._deferrals = 0

    def __enter__(self) -> None:
        self._deferrals += 1

    def __exit__(self, *_: object) -> None:
        self._deferrals -= 1

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Run the block in this thread, so that `interrupt` raises `KeyboardInterrupt` in it."""
        _thread.run, self._number = self, threading.get_ident()
        try:
            yield
        finally:
            _thread.run = None
            with self._lock:
                self._number = None

    def interrupt(self) -> None:
        """Interrupt the block if it runs; while it imports a module, after that."""
        import ctypes

        while True:
            with self._lock:
                if self._number is None:
                    return
                if not (self._deferrals or _imports(self._number)):
                    number, error = (
                        ctypes.c_ulong(self._number),
                        ctypes.py_object(KeyboardInterrupt),
                    )
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, error)
                    return
            time.sleep(0.001)


def _imports(thread: int) -> bool:
    """Whether a thread is importing a module. Libraries do not expect an exception in it."""
    frame = sys._current_frames().get(thread)
    while frame:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
