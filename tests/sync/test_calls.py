"""Calls of programs, and the keys with which they call, in tables of a server."""

from __future__ import annotations

import json
from uuid import UUID

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from tests.sync.pushes import TableServer
from tests.sync.test_verified_events import PRIVATE, called, homes, pair, tables

__all__ = ["homes", "pair", "tables"]


def test_calls_go_to_the_server_without_what_they_asked(
    pair: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, second = pair
    called(first, "remember")
    called(first, "memories.show", f"NotFound: no memory {PRIVATE!r}")
    first.sync.run()
    second.sync.run()
    rows = [
        (row["tool_name"], row["client"], row["agent_id"], row["outcome"], row["duration_ms"])
        for row in tables.rows("tool_executions")
    ]
    assert sorted(rows) == [
        ("memories.show", "script", "me", "NotFound", 12.3),
        ("remember", "script", "me", "done", 12.3),
    ]
    dump = json.dumps([tables.rows(name) for name in ("events", "tool_executions")], default=str)
    assert PRIVATE not in dump
    here, there = (
        djinn.runtime.state.ledger.rows(
            "select data ->> 'arguments' from event where kind = 'tool.called'"
        )
        for djinn in pair
    )
    assert all(PRIVATE in row[0] for row in here) and len(here) == 2
    assert [row[0] for row in there] == ["{}", "{}"]
    first.sync.run()
    assert first.runtime.state.ledger.rows("select data from event where data like '%900%'")
    for djinn in pair:
        assert not djinn.sync.verify().drifts


def test_keys_go_to_the_server_without_their_secrets(
    pair: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, second = pair
    secret = first.keys.add("script", scope="write", agents=["me"], expires="2027-01-31").secret
    first.keys.add("admin", scope="administer")
    second.keys.add("script", agents=["me"], vaults=["shared"])

    def keys() -> dict[tuple[UUID, str], tuple[str, list[str], bool]]:
        return {
            (row["home_id"], row["key_name"]):
                (row["scope"], row["vaults"], row["revoked_at"] is not None)
            for row in tables.rows("api_keys")
        }  # fmt: skip

    first.sync.run()
    second.sync.run()
    assert sorted(keys().values()) == [
        ("administer", [], False), ("read", ["shared"], False), ("write", [], False)
    ]  # fmt: skip
    dump = json.dumps([tables.rows(name) for name in ("events", "api_keys")], default=str)
    assert secret not in dump and "digest" not in dump
    assert [row["expires"] for row in tables.rows("api_keys")].count("2027-01-31") == 1
    # A run that finds nothing new records nothing, also of the keys of another home.
    first.sync.run()
    before = first.runtime.state.ledger.rows("select count(*) from event")
    first.sync.run()
    assert first.runtime.state.ledger.rows("select count(*) from event") == before
    first.keys.revoke("script")
    first.sync.run()
    assert sorted(keys().values()) == [
        ("administer", [], False), ("read", ["shared"], False), ("write", [], True)
    ]  # fmt: skip
    first.keys.add("script", scope="read", agents=["me"])
    second.sync.run()
    first.sync.run()
    second.sync.run()
    assert [revoked for _, _, revoked in keys().values()] == [False] * 3
    for djinn in pair:
        assert not djinn.sync.verify().drifts


def test_a_key_that_moves_to_another_agent_is_revoked_before(
    pair: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, _ = pair
    first.keys.add("laptop", agents=["me"])
    first.sync.run()
    first.keys.revoke("laptop")
    first.keys.add("laptop", scope="administer")
    add_agent(first.home, "bob")
    first.keys.revoke("laptop")
    moved = Djinn(Home(first.home.root))
    moved.keys.add("laptop", agents=["bob"])
    moved.sync.run()
    [row] = tables.rows("api_keys")
    assert row["agents"] == ["me"] and row["revoked_at"]


def test_a_hostile_call_makes_no_row(pair: tuple[Djinn, Djinn], tables: TableServer) -> None:
    first, _ = pair
    called(first, "remember")
    first.sync.run()
    tables.connection.execute(
        "update events set data = jsonb_set(data, '{milliseconds}', to_jsonb(1e400::numeric)) "
        "where kind = 'tool.called'"
    )
    first.sync.backfill(all=True)
    first.sync.run()
    assert len(tables.rows("tool_executions")) <= 1
