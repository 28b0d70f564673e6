"""The exchange of events is cut at every statement: afterwards everything counts exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from djinn_memory.store.postgres.connection import ServerLost
from djinn_memory.sync import events
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.verification import fill
from tests.postgres import DatabaseServer
from tests.sync.cuts import cutting
from tests.sync.homes import register
from tests.sync.pushes import TableServer, serving
from tests.sync.test_events import OWN, EventHome, lamp, plain


class Pair:
    """Two homes with a shared memory and an agent, and what was done in them so far."""

    def __init__(self, root: Path, template: Path, server: TableServer) -> None:
        self.server = server
        self.homes = [EventHome(root / name, template, server.address) for name in ("a", "b")]
        first = self.homes[0]
        self.memory = lamp(first)
        first.djinn.outcomes.record(action="light the lamp", result="success")
        for home in (*self.homes, *self.homes):
            home.exchange()
            home.exchange_own()
        self.rounds = 0

    def act(self, home: EventHome) -> None:
        """A home uses and rates the memory, is shown it, and reports a gap."""
        self.rounds += 1
        home.djinn.recall(query="harbour lamp")
        gap = f"The height of the lamp, question {self.rounds}."
        home.djinn.rate(target="last", useful=[1], gap=gap, gap_query="height")
        home.djinn.memories.show(name=self.memory)

    @contextmanager
    def links(self, home: EventHome, connection: Any = None) -> Iterator[list[VaultLink]]:
        """The shared vault and the vault of the agent, over one connection."""
        with home.link() as shared, home.own_link() as own:
            both = [shared, own]
            if connection:
                server = replace(shared.server, connection=connection)
                both = [structs.replace(link, server=server) for link in both]
            yield both

    def run(self, home: EventHome, connection: Any = None) -> None:
        """Exchange the events of both vaults."""
        with self.links(home, connection) as links:
            for link in links:
                fill(link, "rows")
                events.exchange(link)

    def check(self) -> None:
        """One more run each; then every action counts once, everywhere."""
        for home in (*self.homes, *self.homes):
            self.run(home)
        first, second = (home.ledger_tables() for home in self.homes)
        assert first == {**second, "tool_calls": first["tool_calls"]}
        # A useful rating is a use, too.
        expected = {
            "access_count": 2 * self.rounds, "valuation_count": self.rounds,
            "useful_count": self.rounds, "not_useful_count": 0,
        }  # fmt: skip
        [score] = self.server.rows("memory_scores")
        assert {name: score[name] for name in expected} == expected
        shown = self.server.rows("memory_retrieval_log")
        assert [row["memory_id"] for row in shown].count(self.memory) == self.rounds
        assert len(self.server.rows("memory_gaps")) == self.rounds
        assert len(self.server.rows("action_outcome_mappings")) == 1
        ledger = self.homes[0].djinn.runtime.state.ledger
        for table in ("memory_scores", "memory_valuations", "memory_retrieval_log", "memory_gaps"):
            rows = self.server.rows(table)
            for row in rows:
                # The shown memory is of another vault than the recall, and so is its rating.
                row.pop("used", None)
            local = ledger.rows(f"select {', '.join(rows[0])} from {table}")
            server = [[*map(plain, row.values())] for row in rows]
            assert sorted(server, key=repr) == sorted(map(list, local), key=repr), table


@pytest.fixture
def pair(tmp_path: Path, home_template: Path, postgres: DatabaseServer) -> Iterator[Pair]:
    with serving(postgres) as server:
        register(server.address)
        register(server.address, OWN)
        yield Pair(tmp_path, home_template, server)


@pytest.mark.soak
@pytest.mark.parametrize("answered", [True, False])
def test_a_connection_that_is_cut_at_any_statement(pair: Pair, answered: bool) -> None:
    for number in count():
        home, other = pair.homes[:: 1 if number % 2 else -1]
        pair.run(other)
        pair.act(home)
        with cutting(home.address, number, answered=answered) as connection, suppress(ServerLost):
            pair.run(home, connection)
        if connection.exchanges <= number:
            break
    pair.check()
    assert number > 30
