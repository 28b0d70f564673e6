"""The events of two homes that share a vault through a real server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import apsw
import pytest
from msgspec.structs import replace

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, remove_agent
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.store.index import memories
from djinn_memory.store.ledger import sync_state
from djinn_memory.store.ledger.projections import TABLES
from djinn_memory.store.ledger.redaction import BLANK
from djinn_memory.store.ledger.sync_state import EventCursor
from djinn_memory.store.postgres.connection import connect
from djinn_memory.store.postgres.servers import URL
from djinn_memory.sync import events
from djinn_memory.sync.notes.files import VaultFiles
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.run import Direction
from djinn_memory.sync.run import exchange as exchange_notes
from djinn_memory.sync.verification import differing_event_tables
from tests.postgres import DatabaseServer
from tests.sync.homes import SCOPE, SyncedHome, register
from tests.sync.pushes import TableServer, serving

AGENT = "me"
OWN = UUID("5d0a7a55-3a0a-4d86-a4a5-54a4a1b0a4cf")
"""The scope of the agent's vault, which both homes have."""


@pytest.fixture
def tables(postgres: DatabaseServer) -> Iterator[TableServer]:
    with serving(postgres) as server:
        register(server.address)
        register(server.address, OWN)
        yield server


@pytest.fixture
def homes(tmp_path: Path, home_template: Path, tables: TableServer) -> tuple[EventHome, EventHome]:
    return tuple(
        EventHome(tmp_path / name, home_template, tables.address) for name in ("first", "second")
    )  # type: ignore[return-value]


class EventHome(SyncedHome):
    """A home whose shared vault and events are synchronized, and on demand its agent's vault."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.home.edit((("vaults", AGENT, "id"), str(OWN)))
        self.djinn = Djinn(Home(self.home.root))

    def exchange(self, direction: Direction = "both") -> tuple[int, int]:
        """Synchronize notes, then events."""
        self.sync()
        self.djinn.index()
        with self.link() as link:
            return events.exchange(link, direction)

    @contextmanager
    def own_link(self) -> Iterator[VaultLink]:
        """The agent's vault and its scope."""
        with self.link() as link:
            vault = self.djinn.home.personal(AGENT)
            yield replace(link, vault=vault, scope=OWN, files=VaultFiles(vault))

    def exchange_own(self) -> tuple[int, int]:
        """Synchronize the notes and events of the agent's vault."""
        self.djinn.index()
        with self.own_link() as link:
            exchange_notes(link)
            return events.exchange(link)

    def ledger_tables(self) -> dict[str, list[Any]]:
        """The rows of all tables that follow from events."""
        ledger = self.djinn.runtime.state.ledger
        return {table: ledger.rows(f"select * from {table} order by 1, 2") for table in TABLES}

    def kinds(self) -> list[str]:
        """The kinds of all events, in order."""
        ledger = self.djinn.runtime.state.ledger
        return [kind for (kind,) in ledger.rows("select kind from event order by id")]


def lamp(home: EventHome) -> str:
    """A memory in the shared vault; its id."""
    written = home.djinn.remember(
        type="decision", title="Harbour lamp", text="Two lamps after all.", shared=True
    )
    return str(written.id)


def test_ratings_of_a_shared_memory(
    homes: tuple[EventHome, EventHome], tables: TableServer
) -> None:
    first, second = homes
    name = lamp(first)
    first.exchange()
    second.exchange()
    first.djinn.rate(useful=[name])
    second.djinn.rate(not_useful=[name])
    second.djinn.memories.show(name=name)
    assert first.exchange() == (0, 1)
    assert second.exchange() == (1, 2)
    assert first.exchange() == (2, 0)
    assert first.exchange() == second.exchange() == (0, 0)
    assert first.kinds().count("memory.rated") == second.kinds().count("memory.rated") == 2
    mine, theirs = first.ledger_tables(), second.ledger_tables()
    assert mine["memory_scores"] == theirs["memory_scores"]
    assert mine["memory_valuations"] == theirs["memory_valuations"]
    score = tables.rows("memory_scores")[0]
    local = first.djinn.runtime.state.ledger.rows(
        "select access_count, valuation_count, useful_count, usefulness_rate, adaptive_score "
        "from memory_scores"
    )
    assert local == [(
        score["access_count"], score["valuation_count"], score["useful_count"],
        score["usefulness_rate"], pytest.approx(score["adaptive_score"]),
    )]  # fmt: skip
    # A useful rating is a use too.
    assert (score["access_count"], score["valuation_count"], score["useful_count"]) == (2, 2, 1)


def test_what_an_agent_asked_goes_with_its_own_vault(
    homes: tuple[EventHome, EventHome], tables: TableServer
) -> None:
    first, second = homes
    name = lamp(first)
    first.djinn.recall(query="harbour lamp")
    first.djinn.rate(target="last", useful=[1], gap="How tall the lamp is.", gap_query="height")
    # The rating goes with the memory, which is shared. Nothing tells what was asked.
    assert first.exchange() == (0, 1)
    assert not tables.rows("memory_retrieval_log") and not tables.rows("memory_gaps")
    first.exchange_own()
    second.exchange()
    second.exchange_own()
    assert first.ledger_tables() == {**second.ledger_tables(), "tool_calls": []}
    [shown] = tables.rows("memory_retrieval_log")
    assert (shown["memory_id"], shown["query"], shown["rank"]) == (name, "harbour lamp", 1)
    [gap] = tables.rows("memory_gaps")
    assert (gap["description"], gap["query_attempted"], gap["status"]) == (
        "How tall the lamp is.", "height", "open",
    )  # fmt: skip
    second.djinn.gaps.close(gap=gap["id"], by=name)
    second.exchange_own()
    first.exchange_own()
    [gap] = tables.rows("memory_gaps")
    assert (gap["status"], gap["closed_by"]) == ("closed", name)
    assert first.djinn.gaps.list(closed=True).groups[0].gaps[0].status == "closed"


def test_agents_of_one_name(homes: tuple[EventHome, EventHome], tables: TableServer) -> None:
    first, second = homes
    # The home of another person, whose agent has the same name.
    own = str(uuid4())
    second.home.edit((("vaults", AGENT, "id"), own))
    second.djinn = Djinn(Home(second.home.root))
    name = lamp(first)
    first.exchange()
    second.exchange()
    first.djinn.rate(useful=[name])
    second.djinn.rate(not_useful=[name])
    second.djinn.memories.show(name=name)
    for home in (*homes, *homes):
        home.exchange()
    agents = {first: f"{AGENT}-{str(OWN)[:8]}", second: f"{AGENT}-{own[:8]}"}
    expected = {agents[first]: (1, 1, 0), agents[second]: (1, 0, 1)}
    assert {
        row["agent_id"]: (row["access_count"], row["useful_count"], row["not_useful_count"])
        for row in tables.rows("memory_scores")
    } == expected
    for home, other in (homes, homes[::-1]):
        ledger = home.djinn.runtime.state.ledger
        assert {
            agent: counts
            for agent, *counts in ledger.rows(
                "select agent_id, access_count, useful_count, not_useful_count from memory_scores"
            )
        } == {AGENT: [*expected[agents[home]]], agents[other]: [*expected[agents[other]]]}
        assert [score.record.valuations for score in home.djinn.scores.show().scores] == [1]
        with home.link() as link:
            assert not [*differing_event_tables(link)]
    # An agent that was removed keeps its name on the server.
    add_agent(second.home, "ben")
    remove_agent(second.home, AGENT)
    second.djinn = Djinn(Home(second.home.root))
    with second.link() as link:
        assert not [*differing_event_tables(link)]


@pytest.mark.parametrize("named", [True, False])
def test_memories_of_a_vault_that_stays_here_are_not_named(
    homes: tuple[EventHome, EventHome], tables: TableServer, tmp_path: Path, named: bool
) -> None:
    first, second = homes
    vault = add_diary(first, tmp_path, "# Tide of tears\nThe harbour lamp is sad.\n")
    shared = lamp(first)
    first.djinn.index()
    shown = first.djinn.recall(query="harbour lamp").memories
    assert len(shown) == 2
    first.djinn.rate(target="last", useful=[1, 2], gap="How tall the lamp is.")
    [gap] = first.djinn.gaps.list().groups[0].gaps
    first.djinn.gaps.close(gap=gap.id, by="diary:Tide.md")
    if not named:
        # An event of an earlier version does not name the vaults of its memories.
        forget_vaults(first)
    first.exchange()
    first.exchange_own()
    second.exchange()
    second.exchange_own()
    with first.own_link() as link:
        assert not [*differing_event_tables(link)]
    for table in ("events", "memory_retrieval_log", "memory_gaps", "memory_valuations"):
        assert "Tide" not in str(tables.rows(table)) and vault not in str(tables.rows(table))
    assert [row["memory_id"] for row in tables.rows("memory_retrieval_log")] == [shared]
    [closed] = tables.rows("memory_gaps")
    assert (closed["status"], closed["closed_by"]) == ("closed", None)
    # This home keeps all of it.
    assert "Tide" in str(first.ledger_tables()["memory_retrieval_log"])
    assert "Tide" not in str(second.ledger_tables())


def test_a_contradiction_with_a_vault_that_stays_here(
    homes: tuple[EventHome, EventHome], tables: TableServer, tmp_path: Path
) -> None:
    first, second = homes
    vault = add_diary(first, tmp_path, "# Tide\nThe harbour lamp burns 45 litres of oil.\n")
    (first.home.shared.root / "harbour.md").write_text("The harbour lamp burns 40 litres of oil.\n")
    first.djinn.index()
    [deed] = first.djinn.maintain(["contradictions"]).deeds
    first.exchange_own()
    second.exchange_own()
    with first.own_link() as link:
        assert not [*differing_event_tables(link)]
    [event] = [row for row in tables.rows("events") if row["kind"] == "contradiction.found"]
    assert f"({event['subject']})" in deed.what
    assert vault not in str(event) and "Tide" not in str(event)
    [proposal] = first.djinn.review.list(kind="contradiction").items
    assert [subject.path for subject in proposal.subjects] == ["Tide.md", "harbour.md"]
    first.djinn.review.dismiss([proposal.id])
    first.exchange_own()
    sent = [row for row in tables.rows("events") if row["kind"] == "contradiction.settled"]
    assert sent
    assert vault not in str(sent) and "Tide" not in str(sent)


def add_diary(home: EventHome, folder: Path, text: str) -> str:
    """A vault that does not go to the server, with the note `Tide.md`; its id."""
    diary, vault = folder / "diary", str(uuid4())
    diary.mkdir()
    (diary / "Tide.md").write_text(text)
    home.home.edit((("vaults", "diary"), {"path": str(diary), "id": vault}))
    home.djinn = Djinn(Home(home.home.root))
    return vault


def forget_vaults(home: EventHome) -> None:
    """Let the events of recalls be those of an earlier version."""
    home.djinn.close()
    with closing(apsw.Connection(str(home.home.ledger_path))) as ledger:
        for key, text in ledger.execute(
            "select id, data from event where kind = 'memory.retrieved'"
        ).fetchall():
            data = json.loads(text)
            for memory in data["memories"]:
                del memory["vault"]
            ledger.execute("update event set data = ? where id = ?", (json.dumps(data), key))
    home.djinn = Djinn(Home(home.home.root))


def test_episodes_that_were_used_and_read(
    homes: tuple[EventHome, EventHome], tables: TableServer
) -> None:
    first, _ = homes
    old = first.djinn.episodes.record_observation(text="The lamp is lit.", at="2026-01-02T10:00Z")
    first.djinn.episodes.record_observation(text="The lamp is out.")
    first.djinn.memories.show(name=old.id)
    first.djinn.memories.show(name=old.id)
    first.djinn.patterns.consolidate(min_age="7d")
    first.exchange_own()
    by_time = tables.rows("episodic_memories", "occurred_at")
    assert [row["access_count"] for row in by_time] == [2, 0]
    assert [row["consolidated_to_semantic"] for row in by_time] == [True, False]


def test_correlations_of_a_consolidation(
    homes: tuple[EventHome, EventHome], tables: TableServer
) -> None:
    first, _ = homes
    start = datetime(2026, 1, 5, 9, tzinfo=UTC)
    turns = [
        Turn(
            "observation", "Water the plants" if hour == 9 else f"Read page {day}", "",
            start + timedelta(days=day, hours=hour - 9), "s", "cli",
        )
        for day in range(40) for hour in (9, 15)
    ]  # fmt: skip
    record_turns(first.djinn.runtime, AGENT, turns)
    first.djinn.patterns.consolidate(min_age="0d")
    first.exchange_own()
    listed = first.djinn.patterns.correlations(limit=1000).correlations
    assert listed
    assert {
        (row["concept_a_type"], row["concept_a_value"], row["concept_b_type"],
         row["concept_b_value"], row["correlation_strength"], row["observations"])
        for row in tables.rows("semantic_correlations")
    } == {
        (*each.first.split(": "), *each.second.split(": "), each.strength, each.support)
        for each in listed
    }  # fmt: skip


def test_session_that_was_read_for_facts(
    homes: tuple[EventHome, EventHome], tables: TableServer
) -> None:
    first, _ = homes
    first.djinn.episodes.record_interaction(
        message="I prefer green lamps.", session="S1", channel="cli", at="2026-01-02T10:00Z"
    )
    first.djinn.sessions.extract(session="S1")
    first.exchange_own()
    [state] = tables.rows("session_memory_state")
    assert (state["session_id"], state["agent_id"]) == ("s1", AGENT)


def test_random_orders(homes: tuple[EventHome, EventHome], tables: TableServer) -> None:
    """Whatever the order of the exchanges, both homes and the server say the same."""
    names = [
        str(homes[0].djinn.remember(type="fact", title=f"Lamp {n}", text=f"{n}", shared=True).id)
        for n in range(3)
    ]
    for home in (*homes, *homes):
        home.exchange()
    random = Random(7)
    for _ in range(60):
        home, name = random.choice(homes), random.choice(names)
        match random.randrange(5):
            case 0:
                home.djinn.rate(useful=[name])
            case 1:
                home.djinn.rate(not_useful=[name])
            case 2 | 3:
                home.djinn.memories.show(name=name)
            case _:
                with home.link() as link:
                    events.exchange(link, random.choice(("pull", "push", "both")))
    for home in (*homes, *homes):
        home.exchange()
    first, second = (home.ledger_tables() for home in homes)
    assert first == second
    homes[0].djinn.runtime.state.ledger.rebuild()
    assert homes[0].ledger_tables() == first
    ledger = homes[0].djinn.runtime.state.ledger
    for table in ("memory_scores", "memory_valuations"):
        rows = tables.rows(table, "id" if table == "memory_valuations" else "agent_id, memory_id")
        local = ledger.rows(f"select {', '.join(rows[0])} from {table} order by 1, 2")
        assert [[*map(plain, row.values())] for row in rows] == [list(row) for row in local]


def plain(value: Any) -> Any:
    """A value of the server in the form of the ledger."""
    if value == f"{AGENT}-{str(OWN)[:8]}":
        return AGENT
    return f"{value:%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(value, datetime) else value


def test_interrupted_exchange_is_repeated(
    homes: tuple[EventHome, EventHome], tables: TableServer
) -> None:
    first, second = homes
    name = lamp(first)
    first.djinn.rate(useful=[name])
    first.exchange()
    second.exchange()
    before, own = second.ledger_tables(), tables.rows("memory_scores")
    # The events were written, and a kill kept the cursor from moving.
    for home in homes:
        sync_state.move_event_cursor(home.djinn.runtime.state.ledger, SCOPE, EventCursor())
        assert home.exchange() == (0, 0)
    assert second.ledger_tables() == before
    assert tables.rows("memory_scores") == own


def test_server_that_was_restored(homes: tuple[EventHome, EventHome], tables: TableServer) -> None:
    first, second = homes
    name = lamp(first)
    first.djinn.rate(useful=[name])
    first.exchange()
    second.exchange()
    tables.connection.execute("delete from events")
    tables.connection.execute("delete from memory_scores")
    tables.connection.execute("update revisions set mark = %s", (uuid4(),))
    assert first.exchange() == (0, 1)
    assert len(tables.rows("memory_scores")) == 1
    assert second.exchange() == (0, 0)


def test_events_that_a_restored_server_lost_are_sent_again(
    homes: tuple[EventHome, EventHome], tables: TableServer, postgres: DatabaseServer
) -> None:
    first, _ = homes
    name = lamp(first)
    first.djinn.rate(useful=[name])
    first.exchange()
    first.exchange()
    tables.connection.close()
    backup = postgres.copy(first.address)
    first.djinn.rate(useful=[name])
    assert first.exchange() == (0, 1)
    first.address = backup
    assert first.exchange() == (0, 1)
    assert first.exchange() == (0, 0)
    with closing(connect(backup)) as connection:
        [count] = connection.execute("select valuation_count from memory_scores").fetchall()
    assert count == (2,)


HOSTILE = {
    "change.planned": ("0198b3f0-1c1d-7000-8000-000000000001", "now()", "'{}'"),
    "memory.rated": ("ffffffff-ffff-7fff-bfff-ffffffffffff", "now()", "'{}'"),
    "memory.opened": ("0198b3f0-1c1d-7000-8000-000000000003", "'infinity'", "'{}'"),
    "gap.closed": ("0198b3f0-1c1d-7000-8000-000000000004", "'20000-01-01'", "'{}'"),
}
"""Events that no home sends."""


def test_events_that_no_home_sends_are_left_out(
    homes: tuple[EventHome, EventHome], tables: TableServer
) -> None:
    first, second = homes
    name = lamp(first)
    first.djinn.rate(useful=[name])
    first.exchange()
    deep = "(repeat('[', 2000) || repeat(']', 2000))::jsonb"
    nested = ("0198b3f0-1c1d-7000-8000-000000000005", "now()", deep)
    for kind, (key, at, data) in {**HOSTILE, "gap.reopened": nested}.items():
        tables.connection.execute(
            f"insert into events (user_id, id, rev, at, kind, subject, data) select user_id, "
            f"'{key}', rev, {at}, %s, %s, {data} from scopes where user_id = %s".encode(),
            (kind, name, SCOPE),
        )
    second.sync()
    with second.link() as link:
        # The rating, and the event with data that nobody can read.
        assert events.exchange(link) == (2, 0)
    for kind, (key, *_) in HOSTILE.items():
        [why] = [problem.why for problem in link.problems if key in problem.what]
        assert kind in why and "it is left out" in why
    second.djinn.rate(useful=[name])
    assert second.exchange() == (0, 1)
    assert tables.rows("memory_scores")[0]["valuation_count"] == 2


def test_purged_texts(homes: tuple[EventHome, EventHome], tables: TableServer) -> None:
    first, second = homes
    secret = "The red lamp behind the pier belongs to Maren."
    note = first.djinn.remember(type="decision", title=secret, text=secret, shared=True)
    first.djinn.rate(useful=[str(note.id)])
    first.djinn.gaps.report(description=secret)
    for home in homes:
        home.exchange()
        home.exchange_own()
    assert secret in repr(second.ledger_tables())
    # The other home quotes it in an event that it has not pushed yet.
    second.djinn.gaps.report(description=secret)
    first.djinn.memories.purge(name=str(note.id))
    assert secret not in repr(first.ledger_tables())
    for home in homes:
        home.exchange()
        home.exchange_own()
    held = tables.value("select string_agg(data::text, '') from events")
    assert secret not in held and BLANK in held
    assert secret not in repr([tables.rows("memory_gaps"), tables.rows("memory_valuations")])
    assert secret not in repr(second.ledger_tables())
    for home in homes:
        assert home.exchange() == (0, 0)


def test_a_question_goes_only_if_it_quotes_what_was_purged(
    homes: tuple[EventHome, EventHome], tables: TableServer
) -> None:
    first, _ = homes
    title = "The red lamp behind the pier"
    note = first.djinn.remember(type="decision", title=title, text="Maren owns it.", shared=True)
    own_words = "who has lamps near the pier"
    for query in (title, own_words):
        first.djinn.recall(query=query)
    first.exchange()
    first.exchange_own()
    first.djinn.memories.purge(name=str(note.id))
    first.exchange()
    first.exchange_own()
    ledger = first.djinn.runtime.state.ledger
    local = {query for (query,) in ledger.rows("select query from memory_retrieval_log")}
    assert local == {BLANK, own_words}
    shown = tables.rows("memory_retrieval_log")
    assert {row["query"] for row in shown} == local
    assert title not in repr(shown)
    assert title not in tables.value("select string_agg(data::text, '') from events")


def test_events_that_quote_what_was_purged_elsewhere_are_not_sent(
    homes: tuple[EventHome, EventHome],
    tables: TableServer,
    postgres: DatabaseServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert postgres.server, "tables of a cluster have no triggers"
    monkeypatch.setenv(URL, tables.address.conninfo)
    for home in homes:
        # The agent's own vault, with the gap, comes before the one with the note.
        home.home.edit((("sync", "vaults"), [AGENT, "shared"]))
        home.djinn = Djinn(Home(home.home.root))
    first, second = homes
    secret = "The red lamp behind the pier belongs to Maren."
    note = first.djinn.remember(type="decision", title=secret, text=secret, shared=True)
    for home in homes:
        home.djinn.sync.run()
    second.djinn.gaps.report(description=secret)
    first.djinn.memories.purge(name=str(note.id))
    first.djinn.sync.run()
    history = "create table sent (data jsonb); create function keep() returns trigger language "
    tables.connection.execute(
        f"{history} plpgsql as $$ begin insert into sent values (new.data); return new; end $$; "
        "create trigger keep after insert or update on events for each row execute function keep()"
    )
    report = second.djinn.sync.push()
    assert any("may quote what another home purged" in problem.why for problem in report.problems)
    second.djinn.sync.run()
    sent = tables.value("select string_agg(data::text, '') from sent")
    assert BLANK in sent and secret not in sent


def test_what_was_purged_elsewhere_leaves_the_rest_of_a_recall(
    homes: tuple[EventHome, EventHome],
    tables: TableServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv(URL, tables.address.conninfo)
    for home in homes:
        home.home.edit((("sync", "vaults"), ["shared", AGENT]))
        home.djinn = Djinn(Home(home.home.root))
    first, second = homes
    add_diary(first, tmp_path, "# Walrus budget\nThe aquarium pays.\n")
    for title, text in (("Walrus code", "The aquarium asks."), ("Walrus checkpoint", "Gate 7.")):
        first.djinn.remember(type="fact", title=title, text=text)
    first.djinn.index()
    assert len(first.djinn.recall(query="walrus aquarium").memories) == 3
    for home in homes:
        home.djinn.sync.run()
    # Only the second home still has a copy of the note.
    first.djinn.memories.delete("Walrus code")
    shutil.rmtree(first.djinn.home.personal(AGENT).root / ".trash")
    for home in homes:
        home.djinn.sync.run()
    second.djinn.memories.purge("Walrus code")
    for home in (second, first):
        home.djinn.sync.run()

    def titles(home: EventHome) -> set[str]:
        rows = home.djinn.runtime.state.ledger.rows("select memory_title from memory_retrieval_log")
        return {title for (title,) in rows}

    assert titles(first) == {BLANK, "Walrus budget", "Walrus checkpoint"}
    assert titles(second) == {BLANK, "Walrus checkpoint"}
    for home in homes:
        assert not home.djinn.sync.verify().drifts


def test_a_purged_section_reaches_other_homes(
    homes: tuple[EventHome, EventHome], tables: TableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL, tables.address.conninfo)
    for home in homes:
        home.home.edit((("sync", "vaults"), [AGENT]), (("sync", "merge"), "clean"))
        home.djinn = Djinn(Home(home.home.root))
    first, second = homes
    secret = "The red lamp behind the pier belongs to Maren."
    purged = first.djinn.episodes.record_observation(text=secret, at="2026-01-02T10:00Z")
    first.djinn.episodes.record_observation(text="A kettle sings.", at="2026-01-02T11:00Z")
    for home in homes:
        home.djinn.sync.run()
    vault = second.djinn.home.personal(AGENT)
    index = second.djinn.runtime.state.index
    shown = second.djinn.memories.show(name=str(purged.id))
    held = memories.window_hashes(index, [vault])
    assert secret in str(shown) and held
    second.djinn.gaps.report(description=secret)
    first.djinn.memories.purge(name=str(purged.id))
    # The journal changes elsewhere in the same exchange.
    first.djinn.episodes.record_observation(text="A bell rings.", at="2026-01-02T12:00Z")
    first.djinn.sync.run()
    report = second.djinn.sync.push()
    assert any("may quote what another home purged" in problem.why for problem in report.problems)
    vectors = second.djinn.runtime.state.cache._connection
    sync = second.djinn.sync
    for read_only, exchange in ((True, sync.pull), (True, sync.run), (False, sync.run)):
        vectors.pragma("query_only", read_only)
        report = exchange()
        problems = [problem.why for problem in report.problems]
        assert any("embeddings.db cannot be written" in why for why in problems) == read_only
        assert any("may quote what another home purged" in why for why in problems) == read_only
        assert bool(report.vaults[0].waiting) == read_only and not report.vaults[0].conflicts
    gone = held - memories.window_hashes(second.djinn.runtime.state.index)
    [identity] = second.djinn.runtime.state.cache._connection.execute("select name from identity")
    cache = second.djinn.runtime.state.cache
    assert gone and not cache.get(*identity, [*gone])
    assert not cache.token_signs(*identity, [*gone])
    assert not first.djinn.sync.run().vaults[0].conflicts
    assert second.kinds().count("episode.purged") == first.kinds().count("episode.purged") == 1
    files = [first.djinn.home.personal(AGENT).root, vault.root]
    assert len({str(sorted((p.name, p.read_bytes()) for p in f.rglob("*.md"))) for f in files}) == 1
    with closing(connect(tables.address)) as connection:
        listed = connection.execute(
            "select tablename from pg_tables where schemaname = current_schema()"
        )
        for (table,) in listed.fetchall():
            rows = connection.execute(f"select * from {table}".encode()).fetchall()
            assert "behind the pier" not in str(rows), table
    for home in homes:
        home.djinn.close()
        places = [file for file in home.home.root.rglob("*") if file.is_file()]
        assert [file for file in places if b"behind the pier" in file.read_bytes()] == []
