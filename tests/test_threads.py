"""What threads and async callers may do with a home."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

T = TypeVar("T")


def test_two_threads_with_a_djinn_each_share_a_home(home: Home) -> None:
    """Locks between processes hold between threads, too: nothing is lost, nothing is double."""
    start = threading.Barrier(2)

    def work(name: str) -> list[str]:
        djinn = Djinn(home)
        try:
            start.wait()
            for number in range(5):
                djinn.facts.set(name, f"key {number}", f"value {number} of {name}")
                djinn.gaps.report(f"nothing on {name} {number}")
            return [fact.value for fact in djinn.facts.list(category=name).facts]
        finally:
            djinn.close()

    with ThreadPoolExecutor(2) as threads:
        values = list(threads.map(work, ("ada", "ben")))
    assert values == [
        [f"value {number} of {name}" for number in range(5)] for name in ("ada", "ben")
    ]
    djinn = Djinn(home)
    assert djinn.facts.list().total == 10
    assert sum(len(group.gaps) for group in djinn.gaps.list().groups) == 10


def test_an_async_caller_keeps_a_djinn_in_one_thread(home: Home) -> None:
    """Calls from many tasks queue up for one worker thread, and the event loop stays free."""

    async def run() -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as thread:

            async def call(work: Callable[[], T]) -> T:
                return await loop.run_in_executor(thread, work)

            djinn = await call(lambda: Djinn(home))
            calls = [
                call(partial(djinn.facts.set, "ada", f"key {number}", "value"))
                for number in range(5)
            ]
            await asyncio.gather(*calls)
            page = await call(djinn.facts.list)
            await call(djinn.close)
            in_another = await asyncio.to_thread(lambda: Djinn(home).facts.list().total)
        return page.total, in_another

    assert asyncio.run(run()) == (5, 5)


def test_two_threads_at_once_in_one_djinn_are_refused(djinn: Djinn) -> None:
    djinn.facts.set("ada", "key", "value")
    with djinn.runtime.busy(), ThreadPoolExecutor(1) as thread:
        with pytest.raises(RuntimeError, match="one Djinn for each thread"):
            thread.submit(djinn.facts.list).result()
        assert djinn.facts.list().total == 1
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(djinn.facts.list).result().total == 1


def test_a_notebook_opens_a_home_while_its_event_loop_runs(home: Home) -> None:
    async def cell() -> int:
        with Djinn.open(home.root) as djinn:
            djinn.remember("decision", "Harbour lamp", "Two lamps.")
            return len(djinn.search("lamps"))

    assert asyncio.run(cell()) == 1
