"""The ledger: events in order, all or none, and nothing that makes it anew."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.store import sqlite
from djinn_memory.store.ledger import Event, Ledger, reading, uuid7
from djinn_memory.store.ledger import ledger as ledgers
from djinn_memory.store.ledger.events import StoredEvent
from djinn_memory.store.ledger.projections import TABLES
from djinn_memory.store.ledger.redaction import BLANK, blanks, joined
from tests.growth import sqlite_work


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    made = Ledger(path)
    yield made
    made.close()


def ids(path: Path) -> list[str]:
    connection = apsw.Connection(str(path))
    try:
        return [key for (key,) in connection.execute("select id from event order by id")]
    finally:
        connection.close()


def damage(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)
    path.write_bytes(b"no database at all" * 1000)


def test_an_id_is_a_uuid_of_version_7_and_tells_its_time() -> None:
    before = time.time_ns() // 1_000_000
    made = UUID(uuid7())
    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000


def test_ids_sort_by_time_within_a_millisecond() -> None:
    made = []
    for _ in range(200):
        made.append(uuid7())
        time.sleep(0.00001)
    assert made == sorted(made)


@given(st.integers(0, (1 << 128) - 1))
def test_an_id_sorts_behind_any_other(value: int) -> None:
    # The last millisecond that a UUID can tell is in the year 10889.
    other = str(UUID(int=min(value, ((1 << 48) - 2) << 80)))
    assert uuid7(after=other) > other


def test_events_come_back_as_they_went_in(ledger: Ledger) -> None:
    data = {"name": "caf\udce9 \0 日本", "list": [1, None, {"a": 2.5}]}
    ledger.append([Event("document.done", "a", data)])
    [event] = ledger.latest("document")
    assert (event.kind, event.subject, event.data) == ("document.done", "a", data)
    assert event.at.startswith("20")


def test_the_order_of_one_call_is_kept(ledger: Ledger, path: Path) -> None:
    ledger.append(Event("document.done", str(number), {}) for number in range(2000))
    assert [one.subject for one in ledger.latest("document")] == [str(n) for n in range(2000)]
    assert len(set(ids(path))) == 2000


def test_the_last_event_of_each_subject_and_of_one_noun(ledger: Ledger) -> None:
    kinds = ["document.pending", "document.done", "documents.x", "doc.x", "document", "note.done"]
    for subject, kind in itertools.product("ab", kinds):
        ledger.append([Event(kind, subject, {})])
    ledger.append([Event("document.failed", "a", {"why": "x"})])
    found = [(one.subject, one.kind) for one in ledger.latest("document")]
    assert found == [("b", "document.done"), ("a", "document.failed")]


def test_all_or_none(ledger: Ledger, path: Path) -> None:
    def some() -> Iterator[Event]:
        yield Event("document.done", "a", {})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.append(some())
    with pytest.raises(TypeError):
        ledger.append([Event("document.done", "a", {}), Event("document.done", "b", {"x": {1}})])
    assert ids(path) == []
    ledger.append([Event("document.done", "a", {})])
    assert len(ids(path)) == 1


def test_only_what_need_not_last_is_not_waited_for(ledger: Ledger, path: Path) -> None:
    full = [(2,)]
    assert ledger.rows("pragma synchronous") == full
    ledger.append([Event("a.b", "1", {})], durable=False)
    with pytest.raises(TypeError):
        ledger.append([Event("a.b", "2", {"not": object()})], durable=False)
    assert ledger.rows("pragma synchronous") == full
    other = Ledger(path)
    assert [one.subject for one in other.latest("a")] == ["1"]
    other.close()


def test_a_clock_that_was_set_back_changes_no_order(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.append([Event("document.failed", "a", {})])
    earlier = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: earlier)
    ledger.append([Event("document.done", "a", {})])
    assert [one.kind for one in ledger.latest("document")] == ["document.done"]


def test_threads_and_connections_write_at_once(path: Path) -> None:
    def write(name: str) -> None:
        own = Ledger(path)
        for number in range(20):
            own.append([Event("document.done", f"{name}{number}", {}) for _ in range(5)])
        own.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(ids(path)) == 400
    whole = Ledger(path)
    assert len(whole.latest("document")) == 80
    whole.close()


@pytest.mark.parametrize("text", ["[1]", "null", "{", ""])
def test_data_that_is_no_object_is_nothing(ledger: Ledger, path: Path, text: str) -> None:
    with apsw.Connection(str(path)) as other:
        other.execute("insert into event values (?, '', 'document.done', 'a', ?)", (uuid7(), text))
    assert [one.data for one in ledger.latest("document")] == [{}]


def test_a_damaged_one_is_told_and_left_alone(path: Path) -> None:
    damage(path)
    before = path.read_bytes()
    with pytest.raises(Unavailable, match=r"is damaged.*call `doctor\(fix=True\)`$") as raised:
        Ledger(path)
    assert type(raised.value) is Unavailable
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == before


def test_damage_within_is_told_too(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append(Event("document.done", f"{n}" * 50, {"name": "x" * 200}) for n in range(500))
    ledger.close()
    whole = path.stat().st_size
    ledger = Ledger(path)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (whole - 16384))
    with pytest.raises(Unavailable, match="is damaged"):
        ledger.latest("document")
    with pytest.raises(Unavailable, match="is damaged"):
        ledger.append(Event("document.done", f"{n}", {}) for n in range(500))
    ledger.close()


def test_the_verbs_never_set_a_damaged_one_aside(djinn: Djinn, home: Home) -> None:
    djinn.index()
    home.ledger_path.write_bytes(b"x" * 5000)
    with pytest.raises(Unavailable, match="is damaged"):
        djinn.documents.list()
    assert home.ledger_path.read_bytes() == b"x" * 5000
    assert home.index_path.exists()
    assert [one.name for one in home.state.glob("*corrupt*")] == []


def test_a_link_is_refused(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(Refused, match="is a symbolic link"):
        Ledger(path)
    assert not (tmp_path / "elsewhere.db").exists()


def test_one_that_another_holds_is_told(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "HELD_SECONDS", 0.05)
    late = Ledger(path)
    with sqlite.transaction(ledger._connection):
        with pytest.raises(Unavailable, match="another process is using"):
            late.append([Event("document.done", "a", {})])
        assert late.latest("document") == []
    late.append([Event("document.done", "a", {})])
    late.close()


def test_one_that_another_holds_alone_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger(path).close()
    monkeypatch.setattr(ledgers, "HELD_SECONDS", 0.05)
    other = apsw.Connection(str(path))
    assert other.execute("pragma journal_mode = delete").get == "delete"
    other.execute("begin exclusive")
    with pytest.raises(Unavailable, match="another process is using"):
        Ledger(path)
    other.close()


def test_one_of_a_newer_djinn_is_refused(path: Path) -> None:
    Ledger(path).close()
    with apsw.Connection(str(path)) as other:
        other.execute("pragma user_version = 99")
    with pytest.raises(Refused, match="newer djinn"):
        Ledger(path)


def test_what_is_written_is_json(ledger: Ledger, path: Path) -> None:
    ledger.append([Event("document.done", "a", {"b": "ü"})])
    with apsw.Connection(str(path)) as other:
        assert json.loads(other.execute("select data from event").get) == {"b": "ü"}


WRITES = """
import sys, time
from pathlib import Path
from djinn_memory.store.ledger import Event, Ledger
until = time.monotonic() + 20
while time.monotonic() < until:
    ledger = Ledger(Path(sys.argv[1]))
    ledger.append([Event("a.b", "c", {})])
    ledger.latest("a")
    ledger.close()
"""


@pytest.mark.soak
def test_no_writer_is_turned_away_while_the_others_go_on(path: Path) -> None:
    crew = [
        subprocess.Popen([sys.executable, "-c", WRITES, str(path)], stderr=subprocess.PIPE)
        for _ in range(12)
    ]
    assert [writer.communicate()[1] for writer in crew] == [b""] * 12


def foreign(ledger: Ledger, *events: Event) -> list[StoredEvent]:
    """Events as another home has recorded them."""
    ledger.append(events)
    return reading.stored_events(ledger, sorted({event.kind for event in events}))


def test_events_of_another_home(tmp_path: Path) -> None:
    """They are taken in once, between own events, with the same tables as after a rebuild."""
    mine, theirs = Ledger(tmp_path / "mine.db"), Ledger(tmp_path / "theirs.db")
    gap = Event("gap.reported", "gap_1", {"agent": "me", "description": "the tide"})
    taken = foreign(theirs, gap, Event("gap.closed", "gap_1", {"by": "mem_1"}))
    mine.append([Event("gap.reopened", "gap_1", {})])
    assert mine.take_in(taken) == 2
    assert mine.take_in(taken) == 0
    assert [(each.status, each.closed_by) for each in reading.gaps(mine, "me", None)] == [
        ("open", None)
    ]
    before = mine.rows("select * from memory_gaps")
    mine.rebuild()
    assert mine.rows("select * from memory_gaps") == before


def test_texts_that_were_purged_elsewhere(tmp_path: Path) -> None:
    """A text that was purged in either copy of an event stays purged in both."""
    mine, theirs = Ledger(tmp_path / "mine.db"), Ledger(tmp_path / "theirs.db")
    data = {"agent": "me", "description": "the key is under the mat", "query": "where is it"}
    taken = foreign(theirs, Event("gap.reported", "gap_1", data))
    mine.take_in(taken)
    theirs.redact(["the key is under the mat"], "me", lambda _: True)
    mine.redact(["where is it"], "me", lambda _: True)
    mine.take_in(reading.stored_events(theirs, ("gap.reported",)))
    [gap] = reading.gaps(mine, "me")
    assert (gap.description, gap.query) == (BLANK, BLANK)
    # The text comes back neither from an old copy nor from another one.
    mine.take_in(taken)
    assert reading.gaps(mine, "me") == [gap]
    assert [stored.event.subject for stored in reading.purged_events(mine, ("gap.reported",))] == [
        "gap_1"
    ]


def test_purged_events_are_found_without_reading_the_others(tmp_path: Path) -> None:
    events = [Event("gap.reported", f"gap_{number}", {"agent": "me"}) for number in range(5_000)]
    Ledger(tmp_path / "ledger.db").append(events, durable=False)
    with sqlite_work() as work:
        ledger = Ledger(tmp_path / "ledger.db")
        opened = work["steps"]
        assert reading.purged_events(ledger, ("gap.reported",)) == []
    # A look at each event takes more than 200.
    assert work["steps"] - opened < 5


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=3) | st.just(BLANK), lambda inner:
       st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)),
       st.data())  # fmt: skip
def test_joined_copies(value: Any, data: st.DataObject) -> None:
    """Two copies of an event become the same, whichever is joined with the other."""

    def purged(value: Any) -> Any:
        if isinstance(value, str) and data.draw(st.booleans()):
            return BLANK
        if isinstance(value, list):
            return [*map(purged, value)]
        return (
            {key: purged(inner) for key, inner in value.items()}
            if isinstance(value, dict)
            else value
        )

    first, second = purged(value), purged(value)
    both = joined(first, second)
    assert both == joined(second, first) == joined(both, first) == joined(both, both)
    assert blanks(both) >= max(blanks(first), blanks(second))


@given(st.data())
def test_joined_recalls(data: st.DataObject) -> None:
    """Each copy of a recall has some of its memories, and some of their texts were purged there."""

    def shown(rank: int) -> dict[str, Any]:
        # A recall may show a memory twice.
        name = data.draw(st.sampled_from("ab"))
        return {"memory": name, "title": f"Lamp {rank}", "hash": None, "rank": rank, "raw": 0.5}

    def copy() -> dict[str, Any]:
        listed = [
            {**each, **{key: BLANK for key in ("memory", "title") if data.draw(st.booleans())}}
            for each in whole
            if data.draw(st.booleans())
        ]
        return {"query": "lamp", "memories": listed}

    whole = [shown(rank) for rank in range(1, data.draw(st.integers(0, 4)) + 1)]
    first, second, third = copy(), copy(), copy()
    both = joined(first, second)
    assert both == joined(second, first) == joined(both, first) == joined(both, both)
    assert joined(both, third) == joined(first, joined(second, third))
    held = {each["rank"]: each for each in both["memories"]}
    assert len(held) == len(both["memories"])
    for each in whole:
        rank = each["rank"]
        copies = [e for e in (*first["memories"], *second["memories"]) if e["rank"] == rank]
        assert bool(copies) == (rank in held)
        for key, value in held.get(rank, {}).items():
            purged = any(each[key] == BLANK for each in copies)
            assert value == (BLANK if purged else each[key])


def test_joined_copies_of_which_one_has_less() -> None:
    assert joined({"by": None}, {"by": "a"}) == joined({"by": "a"}, {"by": None}) == {"by": "a"}
    assert joined({"by": None}, {"by": BLANK}) == joined({"by": BLANK}, {"by": None})
    # Lists whose elements do not tell their ranks are those of one copy.
    assert joined([{"rank": 1}, {"rank": 1}], [{"rank": 1}]) == [{"rank": 1}, {"rank": 1}]


def test_a_recall_that_has_memories_after_all(tmp_path: Path) -> None:
    """The row of a recall that found nothing goes when another home sends what it found."""
    data = {"agent": "me", "query": "lamp", "memories": [{"memory": "mem_1", "rank": 1}]}
    full = Event("memory.retrieved", "rec_1", data)
    empty = Event("memory.retrieved", "rec_1", {**data, "memories": []})
    ledger, others = Ledger(tmp_path / "ledger.db"), Ledger(tmp_path / "others.db")
    [stored] = foreign(others, empty)
    # With few events all tables are derived again.
    ledger.take_in(foreign(others, *(Event("memory.opened", f"m{n}", data) for n in range(20))))
    ledger.take_in([stored])
    ledger.take_in([stored._replace(event=full)])
    shown = ledger.rows("select memory_id, rank from memory_retrieval_log")
    assert shown == [("mem_1", 1)]
    others.close()
    ledger.close()


@pytest.mark.parametrize("seed", range(3))
def test_events_that_come_in_any_order(tmp_path: Path, seed: int) -> None:
    """Few events between many change only rows about the same; the tables are those of all."""
    random = Random(seed)
    mine, theirs = Ledger(tmp_path / "mine.db"), Ledger(tmp_path / "theirs.db")
    names = [f"mem_{number}" for number in range(4)]
    requests: list[str] = []

    def event() -> Event:
        agent, name = random.choice(("me", "grace")), random.choice(names)
        match random.randrange(6):
            case 0 | 1:
                requests.append(f"rec_{len(requests)}")
                shown = random.sample(names, random.randrange(3))
                listed = [
                    {"memory": name, "rank": at, "hash": name} for at, name in enumerate(shown)
                ]
                data = {"agent": agent, "query": "lamp", "memories": listed}
                return Event("memory.retrieved", requests[-1], data)
            case 2:
                return Event("memory.opened", name, {"agent": agent})
            case 3:
                request = random.choice([None, *requests])
                data = {"agent": agent, "useful": random.random() < 0.5, "request": request}
                return Event("memory.rated", name, data)
            case 4:
                data = {"agent": agent, "description": name}
                return Event("gap.reported", f"gap_{random.randrange(3)}", data)
            case _:
                kind = random.choice(("gap.closed", "gap.reopened"))
                return Event(kind, f"gap_{random.randrange(3)}", {"by": name})

    taken = foreign(theirs, *(event() for _ in range(60)))
    random.shuffle(taken)
    mine.take_in(taken[:40])
    for stored in taken[40:]:
        mine.take_in([stored])
    for table in TABLES:
        query = f"select * from {table} order by 1, 2"
        assert mine.rows(query) == theirs.rows(query), table
