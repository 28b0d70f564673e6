"""Runs the calls of clients one after the other, and records each in the audit."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from djinn_memory.errors import DjinnError, Unavailable
from djinn_memory.mcp.context import Caller, ClientContext
from djinn_memory.memories.recall.audit import ToolCall

T = TypeVar("T")

ANYONE = Caller()

SWITCH_SECONDS = 0.0005
"""Maximum time in seconds that one thread keeps the interpreter from the other. Python's default is
ten times as long."""


class Calls:
    """Runs calls in a separate thread, so that the protocol stays responsive.

    A single thread needs no locks around the home. A call that is cancelled while it waits is never
    started. A running call is not interrupted, so that its writes are complete.
    """

    def __init__(self, context: ClientContext, log: Callable[[str], None]) -> None:
        self._context = context
        self._log = log
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="djinn")
        self._logged: set[str] = set()
        sys.setswitchinterval(SWITCH_SECONDS)

    async def run(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        work: Callable[[ClientContext], T],
        caller: Caller = ANYONE,
    ) -> T:
        """Run `work` and return its result. Raises `DjinnError` with a text for the client."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, tool, arguments, work, caller)

    def begin(self, work: Callable[[ClientContext], object]) -> None:
        """Run work whose result nobody awaits. The next call meets the same failure again."""

        def run() -> None:
            try:
                work(self._context)
            # Any failure at all: the server has to start.
            except Exception as error:
                self._log_once(f"not ready yet: {error}")

        self._thread.submit(run)

    def close(self) -> None:
        """Wait for the running call, drop waiting calls, and close the home."""
        self._thread.submit(self._context.close)
        self._thread.shutdown(wait=True)

    def _run(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        work: Callable[[ClientContext], T],
        caller: Caller,
    ) -> T:
        began = time.monotonic()
        self._context.caller = caller
        outcome = "done"
        try:
            return work(self._context)
        except DjinnError as error:
            outcome = f"{type(error).__name__}: {error}"
            raise
        except OSError as error:
            # The file may be one that the agent must not know of.
            outcome = f"{type(error).__name__}: {error}"
            raise Unavailable(error.strerror or "the disk cannot be used") from None
        # A bug must end the call, not the server.
        except Exception as error:
            outcome = f"bug: {type(error).__name__}"
            self._log(traceback.format_exc().rstrip())
            raise Unavailable(
                f"a bug in djinn ({type(error).__name__}); the server's log has its traceback"
            ) from None
        finally:
            context, milliseconds = self._context, (time.monotonic() - began) * 1000
            call = ToolCall(tool, context.agent, context.session, arguments, outcome, milliseconds)
            try:
                # After the answer, which need not wait for the disk.
                self._thread.submit(self._audit, call)
            except RuntimeError:
                # The server is closing, and the executor takes no more work.
                self._audit(call)

    def _audit(self, call: ToolCall) -> None:
        try:
            problem = self._context.audit(call)
        except (DjinnError, OSError) as error:
            self._log_once(str(error))
        else:
            if problem:
                self._log_once(f"{problem.what}: {problem.why}")

    def _log_once(self, text: str) -> None:
        """Log a text only the first time: a server that runs for days must not fill the log."""
        if text not in self._logged:
            self._logged.add(text)
            self._log(text)


def log(text: str) -> None:
    """Write a line to the server's log on stderr, because stdout carries the protocol."""
    print(text, file=sys.stderr, flush=True)
