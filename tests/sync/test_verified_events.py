"""Events on a server, and rows that follow from them, that differ from what they should be."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.operations.caller import ToolCall
from djinn_memory.operations.caller import record as record_calls
from djinn_memory.store.ledger.redaction import BLANK
from djinn_memory.store.postgres.servers import URL
from djinn_memory.sync import events
from tests.sync.pushes import TableServer
from tests.sync.test_events import AGENT, OWN, EventHome, add_diary, homes, lamp, tables

__all__ = ["homes", "tables"]

REPAIR = "run `djinn sync backfill --all`"

PRIVATE = "the lamp costs 900"
"""A text of a vault that does not go to the server."""

TAMPERED = {
    "memory_retrieval_log": "update memory_retrieval_log set query = 'x'",
    "memory_valuations": "update memory_valuations set useful = not useful",
    "memory_gaps": "delete from memory_gaps",
    "memory_scores": "update memory_scores set last_used = 'infinity'",
    "session_memory_state": "update session_memory_state set extracted_at = now()",
    "tool_executions": "update tool_executions set outcome = 'failed'",
    "api_keys": "update api_keys set revoked_at = now()",
    "semantic_correlations": "update semantic_correlations set observations = 1 "
    "where correlation_id = (select min(correlation_id::text)::uuid from semantic_correlations)",
    "episodic_memories": "update episodic_memories set access_count = 7 "
    "where memory_id = (select min(memory_id::text)::uuid from episodic_memories)",
}
"""A change of one row of each table that follows from events."""


@pytest.fixture
def pair(
    homes: tuple[EventHome, EventHome], tables: TableServer, monkeypatch: pytest.MonkeyPatch
) -> tuple[Djinn, Djinn]:
    """Two homes that synchronize the shared vault and the agent's own."""
    monkeypatch.setenv(URL, tables.address.conninfo)
    for home in homes:
        home.home.edit((("sync", "vaults"), ["shared", AGENT]))
        home.djinn = Djinn(Home(home.home.root))
    return homes[0].djinn, homes[1].djinn


def record(djinn: Djinn) -> None:
    """Record events of all kinds from which rows follow."""
    start = datetime(2026, 1, 5, 9, tzinfo=UTC)
    turns = [
        Turn(
            "observation", "Water the plants" if hour == 9 else f"Read page {day}", "",
            start + timedelta(days=day, hours=hour - 9), "s", "cli",
        )
        for day in range(40) for hour in (9, 15)
    ]  # fmt: skip
    record_turns(djinn.runtime, AGENT, turns)
    djinn.episodes.record_interaction(
        message="I prefer green lamps.", session="S1", channel="cli", at="2026-01-02T10:00Z"
    )
    djinn.sessions.extract(session="S1")
    djinn.patterns.consolidate(min_age="0d")
    djinn.recall(query="harbour lamp")
    djinn.recall(query="xyzzy plugh", types=["skill"])
    djinn.rate(target="last", useful=[], gap="How tall the lamp is.", gap_query="height")
    djinn.rate(not_useful=["Harbour lamp"])
    called(djinn, "recall")
    djinn.keys.add("script")


def called(djinn: Djinn, tool: str, outcome: str = "done") -> None:
    """Record a call as a server does. It asks about what stays in this home."""
    call = ToolCall(
        tool, "me", "script", "s", {"text": PRIVATE, "vault": "private"}, outcome, 12.345
    )
    assert record_calls(djinn.runtime.state, [call]) is None


def differences(djinn: Djinn) -> list[tuple[str | None, str]]:
    return [(drift.table, drift.why) for drift in djinn.sync.verify().drifts]


@pytest.mark.soak
def test_rows_that_were_changed(
    homes: tuple[EventHome, EventHome], pair: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, second = pair
    lamp(homes[0])
    record(first)
    for djinn in (first, second, first):
        djinn.sync.run()
    assert differences(first) == differences(second) == []
    # What a home records after its last consolidation is no difference. The times of episodes have
    # whole seconds: one from the second of the consolidation would count as read.
    time.sleep(1)
    first.episodes.record_observation(text="Water the plants")
    first.sync.run()
    second.sync.run()
    assert differences(first) == differences(second) == []
    for table, statement in TAMPERED.items():
        assert tables.connection.execute(statement.encode()).rowcount >= 1, table
        [(named, why)] = differences(first)
        assert named == table and why.endswith(REPAIR), (table, why)
        first.sync.backfill(all=True)
        assert differences(first) == [], table
    assert sum(vault.events_sent for vault in first.sync.run().vaults) == 0
    assert differences(second) == []


def test_correlations_follow_episodes_that_change_after_a_consolidation(
    homes: tuple[EventHome, EventHome], pair: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, second = pair
    lamp(homes[0])
    record(first)
    for djinn in (first, second):
        djinn.sync.run()
    listed = tables.rows("semantic_correlations")
    assert listed and differences(first) == []

    folder = first.runtime.home.personal(AGENT).root / "journal"
    for journal in sorted(folder.iterdir())[:10]:
        journal.unlink()
    first.sync.run()
    assert tables.rows("semantic_correlations") != listed
    assert differences(first) == []

    # The other home did not consolidate, so that it leaves them to the first.
    theirs = second.runtime.home.personal(AGENT).root / "journal"
    second.sync.run()
    listed = tables.rows("semantic_correlations")
    for journal in sorted(theirs.iterdir())[:15]:
        journal.unlink()
    for djinn in (second, first):
        djinn.sync.run()
    assert tables.rows("semantic_correlations") != listed
    assert differences(first) == differences(second) == []

    heads = tables.rows("scopes")
    first.sync.run()
    assert tables.rows("scopes") == heads


def test_events_that_differ(
    homes: tuple[EventHome, EventHome], pair: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, second = pair
    name = lamp(homes[0])
    first.rate(useful=[name])
    first.gaps.report(description="How tall the lamp is.")
    assert [why for table, why in differences(first) if table == "events"] == [
        "lacks 1 event that this home has not sent yet; run `djinn sync run`"
    ] * 2
    first.sync.run()
    assert [why for table, why in differences(second) if table == "events"] == [
        "has 1 event that this home has not received yet; run `djinn sync run`"
    ] * 2
    second.sync.run()
    assert differences(first) == differences(second) == []

    tables.connection.execute(
        "update events set data = jsonb_set(data, '{description}', '\"x\"') "
        "where kind = 'gap.reported'"
    )
    changed = dict(differences(first))
    assert changed.pop("memory_gaps").startswith("differs in 1 row")
    assert changed == {"events": f"has 1 event whose data differs from this home's; {REPAIR}"}
    first.sync.backfill(all=True)
    assert differences(first) == []
    first.sync.run()

    tables.connection.execute("delete from events where user_id = %s", (OWN,))
    gone = dict(differences(first))
    assert gone.pop("memory_gaps").startswith("differs in 1 row")
    assert gone == {"events": f"lacks 1 event of this home; {REPAIR}, then `djinn sync run`"}
    first.sync.backfill(all=True)
    first.sync.run()
    second.sync.run()
    assert differences(first) == differences(second) == []


def test_events_with_texts_that_were_purged_here(
    homes: tuple[EventHome, EventHome], pair: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, _ = pair
    secret = "The red lamp behind the pier belongs to Maren."
    note = first.remember(type="decision", title="Lamp", text=secret, shared=True)
    first.gaps.report(description=secret)
    first.sync.run()
    first.memories.purge(name=str(note.id))
    assert ("events", "has 1 event with texts that were purged here; run `djinn sync run`") in (
        differences(first)
    )
    first.sync.run()
    assert differences(first) == []


def test_memories_of_a_vault_that_goes_to_the_server_later(
    homes: tuple[EventHome, EventHome],
    pair: tuple[Djinn, Djinn],
    tables: TableServer,
    tmp_path: Path,
) -> None:
    second = pair[1]
    add_diary(homes[0], tmp_path, "# Tide of tears\nThe harbour lamp is sad.\n")
    first = homes[0].djinn
    lamp(homes[0])
    assert len(first.recall(query="harbour lamp").memories) == 2
    first.rate(target="last", useful=[], gap="How tall the lamp is.")
    first.gaps.close(gap=first.gaps.list().groups[0].gaps[0].id, by="diary:Tide.md")
    for djinn in (first, second):
        djinn.sync.run()
    assert "Tide" not in str(tables.rows("events"))
    first.sync.init(vaults=["diary"])
    first = Djinn(Home(homes[0].home.root))
    first.sync.run()
    first.sync.backfill(all=True)
    for djinn in (first, second):
        djinn.sync.run()
    # Neither home takes back what the other repairs.
    assert differences(first) == differences(second) == []
    shown = "select memory_title from memory_retrieval_log order by 1"
    expected = ["Harbour lamp", "Tide of tears"]
    assert [title for (title,) in second.runtime.state.ledger.rows(shown)] == expected
    rows = tables.rows("memory_retrieval_log", "memory_title")
    assert [row["memory_title"] for row in rows] == expected


@pytest.mark.few(1)
@pytest.mark.parametrize("sent", [False, True])
def test_recalls_that_showed_only_a_vault_that_stays_here(
    homes: tuple[EventHome, EventHome],
    pair: tuple[Djinn, Djinn],
    tables: TableServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sent: bool,
) -> None:
    second = pair[1]
    add_diary(homes[0], tmp_path, "# Walrus budget\nThe aquarium pays.\n")
    first = homes[0].djinn
    first.index()
    assert len(first.recall(query="Walrus budget aquarium").memories) == 1
    assert not first.recall(query="xyzzy plugh", types=["skill"]).memories
    with monkeypatch.context() as earlier:
        if sent:
            # An earlier version sent it as a recall that found nothing.
            earlier.setattr(events, "_is_emptied", lambda stored, form: False)
        for djinn in (first, second, first):
            djinn.sync.run()
    assert differences(first) == differences(second) == []
    assert ("Walrus" in str(tables.rows("events"))) == sent
    assert recalls(tables) == {("xyzzy plugh", ""), *([("Walrus budget aquarium", "")] * sent)}

    first.sync.init(vaults=["diary"])
    first = Djinn(Home(homes[0].home.root))
    for step in (first.sync.run, lambda: first.sync.backfill(all=True), first.sync.run):
        step()
    second.sync.run()
    assert differences(first) == differences(second) == []
    expected = {("xyzzy plugh", ""), ("Walrus budget aquarium", "Walrus budget")}
    assert recalls(tables) == expected
    shown = "select query, memory_title from memory_retrieval_log"
    assert {*second.runtime.state.ledger.rows(shown)} == expected


def test_a_purge_reaches_recalls_that_show_nothing_on_the_server(
    homes: tuple[EventHome, EventHome],
    pair: tuple[Djinn, Djinn],
    tables: TableServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add_diary(homes[0], tmp_path, "# Walrus budget\nThe aquarium pays.\n")
    first = homes[0].djinn
    first.index()
    first.recall(query="Walrus budget aquarium")
    with monkeypatch.context() as earlier:
        earlier.setattr(events, "_is_emptied", lambda stored, form: False)
        first.sync.run()
    first.memories.purge("diary:Tide.md")
    first.sync.run()
    assert recalls(tables) == {(BLANK, "")}
    assert "Walrus" not in str(tables.rows("events"))
    assert differences(first) == []


def recalls(tables: TableServer) -> set[tuple[str, str]]:
    """The questions on the server, each with the title of a memory that it showed."""
    return {(row["query"], row["memory_title"]) for row in tables.rows("memory_retrieval_log")}
