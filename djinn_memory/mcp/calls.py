"""Does what clients ask, one call after the other, and writes down each."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from djinn_memory.errors import DjinnError, Unavailable
from djinn_memory.mcp.context import ClientContext
from djinn_memory.memories.recall.audit import ToolCall

T = TypeVar("T")

SWITCH_SECONDS = 0.0005
"""The thread of the protocol waits for that of the home no longer, and the other way round: by
default a busy thread keeps the interpreter for ten times as long."""


class Calls:
    """A thread of its own in which the home is used, so that the protocol goes on meanwhile.

    One thread: what is in it needs no locks, and a call that was cancelled while it waited is not
    begun. One that runs is ended by its own end, and what it wrote is whole.
    """

    def __init__(self, context: ClientContext, talk: Callable[[str], None]) -> None:
        self._context = context
        self._talk = talk
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="djinn")
        self._told: set[str] = set()
        sys.setswitchinterval(SWITCH_SECONDS)

    async def do(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        work: Callable[[ClientContext], T],
        client: str | None = None,
    ) -> T:
        """What `work` gives; `DjinnError` with one line for a client when it cannot be had."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, tool, arguments, work, client)

    def begin(self, work: Callable[[ClientContext], object]) -> None:
        """Do something nobody waits for; what goes wrong with it will be met again."""

        def quietly() -> None:
            try:
                work(self._context)
            except Exception as error:
                self._tell(f"not ready yet: {error}")

        self._thread.submit(quietly)

    def close(self) -> None:
        """Let the running call end, begin none of those that wait, and release the home."""
        self._thread.submit(self._context.close)
        self._thread.shutdown(wait=True)

    def _run(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        work: Callable[[ClientContext], T],
        client: str | None,
    ) -> T:
        began = time.monotonic()
        self._context.client = client
        outcome = "done"
        try:
            return work(self._context)
        except DjinnError as error:
            outcome = f"{type(error).__name__}: {error}"
            raise
        except OSError as error:
            # Its file may be one that the agent is not to know of.
            outcome = f"{type(error).__name__}: {error}"
            raise Unavailable(error.strerror or "the disk cannot be used") from None
        except Exception as error:
            outcome = f"bug: {type(error).__name__}"
            self._talk(traceback.format_exc().rstrip())
            raise Unavailable(
                f"a bug in djinn ({type(error).__name__}); the server's log has its traceback"
            ) from None
        finally:
            context, milliseconds = self._context, (time.monotonic() - began) * 1000
            call = ToolCall(tool, context.agent, context.session, arguments, outcome, milliseconds)
            try:
                # Behind the answer, which need not wait for the disk.
                self._thread.submit(self._write_down, call)
            except RuntimeError:
                # The server ends: nothing is begun any more.
                self._write_down(call)

    def _write_down(self, call: ToolCall) -> None:
        try:
            problem = self._context.audit(call)
        except (DjinnError, OSError) as error:
            self._tell(str(error))
        else:
            if problem:
                self._tell(f"{problem.what}: {problem.why}")

    def _tell(self, text: str) -> None:
        """Once: a server that runs for days must not fill a log with it."""
        if text not in self._told:
            self._told.add(text)
            self._talk(text)


def talk(text: str) -> None:
    """To whoever reads the server's log: stdout carries the protocol."""
    print(text, file=sys.stderr, flush=True)
