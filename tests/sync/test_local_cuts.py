"""A run is killed before each write of the ledger: the next one finishes it, and loses nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.store.ledger import Ledger
from tests.postgres import DatabaseServer
from tests.sync.homes import register
from tests.sync.pushes import TableServer, serving
from tests.sync.test_events import OWN, EventHome


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def tables(postgres: DatabaseServer) -> Iterator[TableServer]:
    with serving(postgres) as server:
        register(server.address)
        register(server.address, OWN)
        yield server


def exchanged(home: EventHome) -> None:
    home.exchange()
    home.exchange_own()


@pytest.mark.soak
def test_a_run_that_is_killed_before_any_write_of_the_ledger(
    tmp_path: Path, home_template: Path, tables: TableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [EventHome(tmp_path / name, home_template, tables.address) for name in ("a", "b")]
    change, take_in = Ledger.change, Ledger.take_in
    writes, last = 0, -1

    def reached() -> None:
        nonlocal writes
        writes += 1
        if writes - 1 == last:
            raise Killed

    def changed(ledger: Ledger, statements: Any) -> None:
        reached()
        change(ledger, statements)

    def taken_in(ledger: Ledger, events: Sequence[Any]) -> int:
        reached()
        return take_in(ledger, events)

    monkeypatch.setattr(Ledger, "change", changed)
    monkeypatch.setattr(Ledger, "take_in", taken_in)
    for number in count():
        home, other = homes[:: 1 if number % 2 else -1]
        other.write(f"{number}.md", f"# Note {number}\n")
        other.djinn.outcomes.record(action=f"light lamp {number}", result="success")
        last = -1
        exchanged(other)
        home.write(f"own {number}.md", f"# Own {number}\n")
        home.djinn.outcomes.record(action=f"paint lamp {number}", result="success")
        writes, last = 0, number
        try:
            exchanged(home)
        except Killed:
            continue
        break
    last = -1
    for home in (*homes, *homes):
        exchanged(home)
    assert number > 8
    assert homes[0].notes() == homes[1].notes()
    assert len(homes[0].notes()) == 2 * (number + 1)
    mappings = tables.value("select count(*) from action_outcome_mappings")
    assert mappings == 2 * (number + 1)
