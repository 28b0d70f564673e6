"""The tables that follow from the events: as appended, and made anew, they are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from djinn_memory.scoring import Record, ScoringConfig, score
from djinn_memory.store.ledger import SCHEMA, Event, Ledger, reading
from djinn_memory.store.ledger.projections import TABLES
from djinn_memory.store.salvage import recover
from tests.examples import examples
from tests.store.older import older

AGENTS = st.sampled_from(["finn", "grace", "caf\udce9"])
MEMORIES = st.sampled_from(["mem_a", "mem_b", "vault/notes/日本.md"])
REQUESTS = st.sampled_from(["rec_1", "rec_2", "rec_3"])
HASHES = st.sampled_from([None, "h1", "h2"])
NUMBERS = st.none() | st.floats() | st.integers(-(2**70), 2**70)


def event(kind: str, subject: st.SearchStrategy[str], **data: st.SearchStrategy[Any]) -> Any:
    return st.builds(Event, st.just(kind), subject, st.fixed_dictionaries(data))


SHOWN = st.fixed_dictionaries(
    {"memory": MEMORIES, "rank": st.integers(1, 3), "title": st.text(max_size=3), "hash": HASHES},
    optional={"raw": NUMBERS, "score": NUMBERS},
)
JUNK = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=4,
)
EVENTS = st.one_of(
    event("memory.retrieved", REQUESTS, agent=AGENTS, query=st.text(max_size=3),
          memories=st.lists(SHOWN, max_size=3)),
    event("memory.opened", MEMORIES, agent=AGENTS, hash=HASHES),
    event("memory.rated", MEMORIES, agent=AGENTS, useful=st.booleans(),
          request=st.none() | REQUESTS),
    event("gap.reported", REQUESTS, agent=AGENTS, description=st.text(max_size=3)),
    event("gap.closed", REQUESTS, by=st.none() | MEMORIES),
    event("tool.called", st.just("recall"), agent=AGENTS, outcome=st.just("done"),
          arguments=st.dictionaries(st.text(max_size=3), JUNK, max_size=2), milliseconds=NUMBERS),
    st.builds(
        Event,
        st.sampled_from(["memory.rated", "memory.opened", "memory.retrieved", "document.done",
                         "session.started"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
        st.dictionaries(st.sampled_from(["agent", "useful", "memories", "x"]), JUNK, max_size=3),
    ),
)  # fmt: skip


def tables(path: Path) -> dict[str, list[Any]]:
    connection = apsw.Connection(str(path))
    try:
        return {
            name: connection.execute(f"select * from {name} order by rowid").fetchall()
            for name in TABLES
        }
    finally:
        connection.close()


def unordered(found: dict[str, list[Any]]) -> dict[str, list[str]]:
    return {name: sorted(map(repr, values)) for name, values in found.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@settings(max_examples=examples(60), deadline=None)
@given(batches=st.lists(st.lists(EVENTS, max_size=6), max_size=5))
def test_made_anew_they_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Event]]
) -> None:
    path = tmp_path_factory.mktemp("p") / "ledger.db"
    ledger = Ledger(path)
    for batch in batches:
        ledger.append(batch)
    before = tables(path)
    ledger.rebuild()
    assert unordered(tables(path)) == unordered(before)
    # By one process or by many, the events say the same.
    ledger.close()
    again = Ledger(path, replace(ScoringConfig(), adaptive_score_floor=0.1))
    again.close()
    Ledger(path).close()
    assert unordered(tables(path)) == unordered(before)


@settings(max_examples=examples(60), deadline=None)
@given(
    happened=st.lists(
        st.tuples(
            st.sampled_from(["open", "good", "bad"]),
            st.sampled_from(["finn", "grace"]),
            st.sampled_from(["mem_a", "mem_b"]),
            st.sampled_from([None, "rec_1", "rec_2"]),
        ),
        max_size=25,
    )
)
def test_counts_are_what_a_person_would_count(
    tmp_path_factory: pytest.TempPathFactory, happened: list[tuple[str, str, str, str | None]]
) -> None:
    path = tmp_path_factory.mktemp("p") / "ledger.db"
    ledger = Ledger(path)
    opened: dict[tuple[str, str], int] = {}
    said: dict[tuple[str, str], dict[Any, bool]] = {}
    for number, (what, agent, memory, request) in enumerate(happened):
        pair = (agent, memory)
        if what == "open":
            opened[pair] = opened.get(pair, 0) + 1
            ledger.append([Event("memory.opened", memory, {"agent": agent})])
        else:
            useful = what == "good"
            said.setdefault(pair, {})[request or number] = useful
            data = {"agent": agent, "useful": useful, "request": request}
            ledger.append([Event("memory.rated", memory, data)])
    found = {
        (agent, memory): (one.uses, one.useful, one.not_useful)
        for agent, memory, one in reading.scored(ledger, ["finn", "grace"])
    }
    ledger.close()
    expected = {}
    for pair in opened.keys() | said.keys():
        good = sum(said.get(pair, {}).values())
        expected[pair] = (
            opened.get(pair, 0) + good, good, len(said.get(pair, {})) - good
        )  # fmt: skip
    assert found == expected


def retrieved(request: str, *memories: str, agent: str = "finn") -> Event:
    shown = [
        {"memory": one, "rank": rank, "title": one.upper(), "raw": 0.5, "score": 0.6}
        for rank, one in enumerate(memories, 1)
    ]
    data = {"agent": agent, "session": "s", "query": "q", "memories": shown}
    return Event("memory.retrieved", request, data)


def rated(memory: str, useful: bool, request: str | None = None, agent: str = "finn") -> Event:
    return Event("memory.rated", memory, {"agent": agent, "useful": useful, "request": request})


def test_a_recall_is_a_row_for_each_memory(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append([retrieved("rec_1", "a", "b"), retrieved("rec_2", "b", agent="grace")])
    assert [(one.rank, one.memory, one.title, one.raw, one.score, one.used)
            for one in reading.shown(ledger, "rec_1", "finn")] == [
        (1, "a", "A", 0.5, 0.6, False), (2, "b", "B", 0.5, 0.6, False),
    ]  # fmt: skip
    assert reading.shown(ledger, "rec_2", "finn") == []
    assert reading.last_request(ledger, "finn") == "rec_1"
    assert reading.last_request(ledger, "finn", "other") is None
    assert reading.records(ledger, ["a", "b"]) == {}  # To be shown is no use.


def test_what_was_opened_or_rated_useful_was_used(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append([retrieved("rec_1", "a", "b", "c")])
    ledger.append([Event("memory.opened", "b", {"agent": "finn"}), rated("c", True, "rec_1"),
                   Event("memory.opened", "a", {"agent": "grace"})])  # fmt: skip
    assert [one.used for one in reading.shown(ledger, "rec_1", "finn")] == [False, True, True]


def test_who_rates_an_answer_again_corrects_it(path: Path) -> None:
    ledger = Ledger(path)
    for useful in (False, False, True):
        ledger.append([rated("a", useful, "rec_1")])
    ledger.append([rated("a", False), rated("a", False), rated("a", True, "rec_1", "grace")])
    found = reading.records(ledger, ["a"])["a"]
    assert (found["finn"].useful, found["finn"].not_useful) == (1, 2)
    assert (found["grace"].useful, found["grace"].not_useful) == (1, 0)


def test_a_gap_is_told_and_closed(path: Path) -> None:
    ledger = Ledger(path)
    told = {"agent": "finn", "description": "how to restart", "query": "restart"}
    ledger.append([Event("gap.reported", "gap_1", told), Event("gap.closed", "gap_2", {})])
    [gap] = reading.gaps(ledger, "finn")
    assert (gap.id, gap.description, gap.query, gap.status) == (
        "gap_1", "how to restart", "restart", "open",
    )  # fmt: skip
    assert reading.gaps(ledger, "grace") == []
    ledger.append([Event("gap.closed", "gap_1", {"by": "mem_a"})])
    ledger.append([Event("gap.closed", "gap_1", {"by": "mem_b"})])
    assert reading.gaps(ledger, "finn") == []
    [gap] = reading.gaps(ledger, "finn", None)
    assert (gap.status, gap.closed_by) == ("closed", "mem_a")
    assert gap.closed


def test_calls_are_kept(path: Path) -> None:
    ledger = Ledger(path)
    data = {"agent": "finn", "session": "s", "arguments": {"q": "ü"}, "outcome": "done",
            "milliseconds": 3}  # fmt: skip
    ledger.append([Event("tool.called", "recall", data)])
    [(*call, arguments)] = ledger.rows(
        "select tool, agent, outcome, milliseconds, arguments from tool_calls"
    )
    assert call == ["recall", "finn", "done", 3]
    assert arguments == '{"q": "\\u00fc"}'


def test_the_score_is_as_of_the_last_event_and_by_the_settings_that_hold(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append([rated("a", False) for _ in range(3)])

    def stored() -> tuple[float, str]:
        [row] = ledger.rows("select adaptive_score, updated_at from memory_scores")
        return row[0], row[1]

    value, at = stored()
    assert value == 0.35
    ledger.close()
    mild = ScoringConfig(adaptive_score_floor=0.45)
    ledger = Ledger(path, mild)
    assert stored() == (score(Record(0, 0, 3, None, at), mild, at).adaptive, at) == (0.45, at)
    ledger.close()


def test_after_a_recovery_they_are_there(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append([retrieved("rec_1", "a", "b"), rated("a", True, "rec_1")] * 20)
    ledger.close()
    before = tables(path)
    data = bytearray(path.read_bytes())
    data[:100] = b"x" * 100
    path.write_bytes(data)
    found, _ = recover(path)
    assert len(found.events) == 40
    assert unordered(tables(path)) == unordered(before)


def test_a_ledger_of_before_has_them_at_once(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    ledger.append([retrieved("rec_1", "a", "b"), rated("a", True, "rec_1")])
    ledger.close()
    before = tables(path)
    old = tmp_path / "old.db"
    older(path, old, SCHEMA, 2)
    Ledger(old).close()
    assert unordered(tables(old)) == unordered(before)


WRITER = """
import sys
from pathlib import Path
from djinn_memory.store.ledger import Event, Ledger
ledger = Ledger(Path(sys.argv[1]))
for number in range(25):
    ledger.append([Event("memory.rated", "a", {"agent": sys.argv[2], "useful": True}),
                   Event("memory.opened", "b", {"agent": "all"})])
"""


def test_many_processes_append_at_once(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), f"agent{number}"])
        for number in range(4)
    ]
    assert [one.wait(120) for one in writers] == [0] * 4
    ledger = Ledger(path)
    found = reading.records(ledger, ["a", "b"])
    assert {agent: one.useful for agent, one in found["a"].items()} == {
        f"agent{number}": 25 for number in range(4)
    }
    assert found["b"]["all"].uses == 100
    before = tables(path)
    ledger.rebuild()
    assert unordered(tables(path)) == unordered(before)
