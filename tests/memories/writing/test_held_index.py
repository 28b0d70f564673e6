"""The note is the truth: it is written at once, whoever holds the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Busy
from djinn_memory.home.home import Home
from djinn_memory.store import busy
from djinn_memory.system.locks import lock
from tests.conftest import Run
from tests.processes.commands import HANG, start

WAIT = 5.0
"""Seconds that a write may wait for databases, in all."""


@contextmanager
def held(home: Home, how: str) -> Iterator[None]:
    if how == "index.lock":
        with lock(home.state / "index.lock"):
            yield
        return
    with closing(apsw.Connection(str(home.index_path))) as connection:
        if how == "read and written":
            connection.pragma("locking_mode", "exclusive")
        connection.execute("begin immediate; update meta set value = value")
        yield
        connection.execute("rollback")


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What databases are waited for; a wait that grows too long fails."""
    waits: list[float] = []
    sleep = busy.time.sleep

    def count(seconds: float) -> None:
        waits.append(seconds)
        assert sum(waits) < WAIT
        sleep(seconds)

    monkeypatch.setattr(busy.time, "sleep", count)
    return waits


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("operation", "how"),
    [
        (operation, how)
        for operation in (
            "remember", "fact", "verify", "forget", "checkpoint", "sleep", "summary", "delete"
        )
        for how in ("index.lock", "written", "read and written")
        # A name to delete means nothing without the index.
        if (operation, how) != ("delete", "read and written")
    ],
)  # fmt: skip
def test_a_write_is_acknowledged_and_indexed_later(
    home: Home, waited: list[float], operation: str, how: str
) -> None:
    with Djinn(home) as djinn:
        djinn.remember(type="decision", title="Harbour lamp", text="Two lamps after all.")
        djinn.facts.set(category="app", key="tide", value="high")
    with held(home, how), Djinn(home) as djinn:
        if operation == "remember":
            written = djinn.remember(type="lesson", title="Tide", text="The tide waits for nobody.")
            assert written.searchable == "later"
            assert bool(written.problems) is (how == "read and written")
        elif operation == "fact":
            assert djinn.facts.set(category="app", key="port", value="8080").problems == ()
            waited.clear()
            # Nobody has indexed it yet.
            assert djinn.facts.verify(category="app", key="port").fact.value == "8080"
        elif operation == "verify":
            assert djinn.facts.verify(key="app/tide").action == "verified"
        elif operation == "forget":
            assert djinn.facts.forget(category="app", key="tide").fact.value == "high"
        elif operation == "summary":
            assert djinn.summary.set("The tide is half in.").action == "created"
        elif operation == "delete":
            djinn.memories.delete(name="Harbour lamp")
        else:
            getattr(djinn, operation)("the tide is half in")
    with Djinn(home) as djinn:
        titles = [memory.title for memory in djinn.memories.list().memories]
    assert len(titles) == {"verify": 2, "forget": 1, "delete": 1}.get(operation, 3)


def test_a_note_that_nobody_could_index_is_compared_with_others_later(home: Home) -> None:
    text = "The harbour lamp burns all night, and Mari looks after it {}."
    with Djinn(home) as djinn:
        djinn.remember("lesson", "Harbour lamp", text.format("then"))
        with held(home, "index.lock"):
            later = djinn.remember("lesson", "The lamp", text.format("then"), force=True)
        assert later.searchable == "later"
        with held(home, "written"):
            djinn.search("lamp")
        djinn.search("lamp")
        [proposal] = djinn.review.list().items
    assert {subject.title for subject in proposal.subjects} == {"Harbour lamp", "The lamp"}


@pytest.mark.few(1)
def test_a_command_that_wrote_its_note_succeeds(home: Home, run: Run, waited: list[float]) -> None:
    with Djinn(home) as djinn:
        djinn.remember(type="decision", title="Harbour lamp", text="Two lamps after all.")
    notice = f"waiting for another process to release {home.index_path}"
    with held(home, "read and written"):
        ended = run("remember", "lesson", "Tide", "The tide waits.", home=home.root)
        assert (ended.returncode, ended.stdout.split()[1]) == (0, "me/lessons/tide.md")
        waiting, line = ended.stderr.splitlines()
        assert waiting == notice
        assert str(home.index_path) in line
        assert "not compared" in line
        waited.clear()
        ended = run("fact", "set", "app", "port", "8080", home=home.root)
        assert ended.returncode == 0
        # It waits for about as long as a wait that is announced.
        assert ended.stderr in ("", f"{notice}\n")


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "ask",
    [
        lambda djinn: djinn.search("lamp"),
        lambda djinn: djinn.recall("lamp"),
        lambda djinn: djinn.wake(task="lamp"),
        lambda djinn: djinn.wake(),
        lambda djinn: djinn.memories.list(),
        lambda djinn: djinn.memories.delete("Harbour lamp"),
        lambda djinn: djinn.facts.get(None, "port"),
        lambda djinn: djinn.documents.list(),
        lambda djinn: djinn.remember("lesson", "Lamp", "A lamp.", supersedes="Harbour lamp"),
    ],
)
def test_an_answer_from_the_index_fails_soon(
    home: Home, waited: list[float], ask: Callable[[Djinn], object]
) -> None:
    with Djinn(home) as djinn:
        djinn.remember(type="decision", title="Harbour lamp", text="Two lamps after all.")
    with (
        held(home, "read and written"),
        Djinn(home) as djinn,
        pytest.raises(Busy, match=r"another process is using .*index\.db; try again when"),
    ):
        ask(djinn)


@pytest.mark.soak
def test_eight_writers_at_once(home: Home) -> None:
    names = ("anchor", "bellows", "candle", "derrick", "easel", "ferry", "gasket", "hammock")

    def write(name: str) -> list[str]:
        titles = [f"{name} {turn}" for turn in range(6)]
        for title in titles:
            text = f"{title} mends the {title[::-1]}."
            process = start(home, "remember", "lesson", title, text)
            out, err = process.communicate(timeout=HANG)
            assert process.returncode == 0, (out, err)
        return titles

    with ThreadPoolExecutor(len(names)) as writers:
        notes = {title for titles in writers.map(write, names) for title in titles}
    with Djinn(home) as djinn:
        assert {memory.title for memory in djinn.memories.list(limit=100).memories} == notes


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["about-me.md", "people/me.md"])
def test_the_default_domain_needs_no_index(home: Home, waited: list[float], name: str) -> None:
    """Without its domain, agents could read what is written that may not see the domain."""
    home.edit((("domains", "money"), "Accounts"))
    profile = home.root / "vaults" / "me" / name
    profile.parent.mkdir(exist_ok=True)
    kind = "person" if name.startswith("people") else "profile"
    profile.write_text(f"---\ntype: {kind}\ndefault_domain: money\n---\nI count.\n")
    with Djinn(Home(home.root)) as djinn:
        djinn.index()
    with held(home, "read and written"), Djinn(home) as djinn:
        djinn.remember(type="decision", title="Loan", text="We pay it back.")
        djinn.facts.set(category="loan", key="rate", value="3 percent")
    own = home.root / "vaults" / "me"
    for path in ("decisions/loan.md", "facts/loan-rate.md"):
        assert "domain: money\n" in (own / path).read_text()
