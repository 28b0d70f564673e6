"""Who calls, and the queue in which calls of several threads run."""

from __future__ import annotations

import json
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError, Wording
from djinn_memory.home.home import Home
from djinn_memory.operations import OPERATIONS
from djinn_memory.operations import caller as module
from djinn_memory.operations.caller import Caller, Calls

WORDS = Wording()


def test_what_a_caller_may_do() -> None:
    agent, reader, person = Caller("me"), Caller("me", read_only=True), Caller(rights="person")
    for verb in OPERATIONS.values():
        assert person.may_call(verb)
        assert agent.may_call(verb) == (verb.rights == "agent")
        assert reader.may_call(verb) == (verb.rights == "agent" and not verb.writes)
    for field in ("agent", "session", "allow_secret", "backend"):
        assert person.may_set(field) and not agent.may_set(field)
    assert agent.may_set("query")
    assert agent.may_set("close") and not reader.may_set("close")


def test_calls_of_several_threads_run_one_after_the_other(home: Home) -> None:
    """A home in use elsewhere refuses a second thread; here its calls wait."""
    callers = [Caller("me", client=f"program {number}") for number in range(4)]
    running = threading.Lock()
    logged: list[str] = []
    calls = Calls(home, Djinn, logged.append)

    def work(djinn: Djinn, _: Caller) -> str | None:
        assert running.acquire(blocking=False)
        djinn.search("lamp")
        running.release()
        return djinn.runtime.client

    def ask(caller: Caller) -> str | None:
        return calls.submit(caller, "search", {"query": "lamp"}, work, WORDS).result()

    with ThreadPoolExecutor(4) as threads:
        asked = [*threads.map(ask, callers * 5)]
    calls.close()
    assert asked == [caller.client for caller in callers * 5]
    assert not logged
    assert len(_audit(home)) == 20


@pytest.mark.parametrize("patience", [60.0, 0.0])
def test_reads_overtake_writes_for_a_while(
    home: Home, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    monkeypatch.setattr(module, "OVERTAKEN_SECONDS", patience)
    calls = Calls(home, Djinn, lambda _: None)
    free, order = threading.Event(), list[str]()

    def submit(name: str, *, reads: bool) -> Future[None]:
        def work(_: Djinn, __: Caller) -> None:
            order.append(name)

        return calls.submit(Caller("me"), name, {}, work, WORDS, reads=reads)

    calls.begin(Caller("me"), lambda *_: free.wait(60), WORDS)
    names = ("write 1", "read 1", "write 2", "cancelled", "read 2")
    futures = {name: submit(name, reads="read" in name) for name in names}
    assert futures["cancelled"].cancel()
    free.set()
    calls.close()
    assert [name for name, future in futures.items() if future.done()] == [*names]
    # The work that blocks the others is a write, too.
    expected = ["read 1", "read 2", "write 1", "write 2"] if patience else [
        "read 1", "write 1", "read 2", "write 2"
    ]  # fmt: skip
    assert order == expected
    with pytest.raises(RuntimeError):
        submit("late", reads=True)


def test_a_call_that_fails_is_in_the_audit(home: Home) -> None:
    logged: list[str] = []
    calls = Calls(home, Djinn, logged.append)
    caller = Caller("me", session="dig")

    def work(djinn: Djinn, _: Caller) -> None:
        djinn.search("lamp", limit=0)

    with pytest.raises(UsageError, match="limit 0"):
        calls.submit(caller, "search", {"limit": 0}, work, WORDS).result()
    calls.close()
    [call] = _audit(home)
    assert (call["agent"], call["session"], call["arguments"]) == ("me", "dig", {"limit": 0})
    assert call["outcome"].startswith("UsageError: limit 0: give a number from 1")


def _audit(home: Home) -> list[dict[str, str]]:
    with closing(apsw.Connection(str(home.ledger_path))) as connection:
        found = connection.execute("select data from event where kind = 'tool.called'")
        return [json.loads(data) for (data,) in found]
