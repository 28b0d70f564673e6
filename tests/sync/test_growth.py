"""What a run reads on the server must depend on what changed, not on what the server has."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.notes.dates import moment
from djinn_memory.store.ledger.events import Event
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.store.postgres.servers import URL
from tests import routing
from tests.growth import FACTOR
from tests.postgres import CLUSTER, DatabaseServer, database_of
from tests.sync.homes import HASHING

START = datetime(2026, 1, 1, tzinfo=UTC)
AGENT = "me"

SIZE = 80
"""Days of use. With much less the server reads small tables as a whole."""

MARGIN = 20
"""Rows of a table beyond those in a home that is an eighth as large."""

Change = Callable[[Djinn], object]


def turns(djinn: Djinn, day: int, number: int) -> None:
    """Record the turns of a day."""
    at = START + timedelta(days=day)
    record_turns(
        djinn.runtime,
        AGENT,
        [
            Turn("interaction", f"About lamp {minute}?", "Done.", at + timedelta(minutes=minute),
                 f"s{day}", "cli")
            for minute in range(number)
        ],
    )  # fmt: skip


def write(djinn: Djinn, path: str, text: str) -> None:
    """Write a note of the shared vault."""
    file = djinn.home.shared.root / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")


def person(djinn: Djinn, number: int, text: str = "") -> None:
    """Write an entity with a relation to another."""
    write(
        djinn, f"people/{number}.md",
        f"---\ntype: person\ntitle: Person {number}\nknows: \"[[Person {number + 1}]]\"\n---\n"
        f"{text}\n",
    )  # fmt: skip


def consolidated(day: int) -> Event:
    """A consolidation that read all episodes until a day."""
    until = moment(START + timedelta(days=day))
    return Event("consolidation.read", AGENT, {"agent": AGENT, "until": until, "marked": []})


def fill(djinn: Djinn, size: int) -> None:
    """Give a home `size` notes, entities, days of turns, and events."""
    events = []
    for number in range(size):
        write(djinn, f"{number}.md", f"# Note {number}\n\nA lamp. [[Note {number + 1}]]\n")
        person(djinn, number)
        turns(djinn, number, 2)
        events.append(consolidated(number))
    djinn.runtime.state.ledger.append(events)


CHANGES: dict[str, Change] = {
    "nothing": lambda djinn: None,
    "note": lambda djinn: write(djinn, "1.md", "# Note 1\n\nAnother lamp. [[Note 5]]\n"),
    "entity": lambda djinn: person(djinn, 1, "Keeps the lamp."),
    "new entity": lambda djinn: person(djinn, 1_000_000),
    "turns": lambda djinn: turns(djinn, 2_000, 2),
    "consolidation": lambda djinn: djinn.runtime.state.ledger.append([consolidated(0)]),
    "recall": lambda djinn: djinn.recall(query="harbour"),
    "deletion": lambda djinn: (djinn.home.shared.root / "2.md").unlink(),
}


@pytest.mark.soak
@pytest.mark.skipif(bool(CLUSTER), reason="the workers count the rows that they read")
def test_a_run_reads_what_changed(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (
        _costs(
            Path(shutil.copytree(home_template, tmp_path / str(size), symlinks=True)),
            postgres, monkeypatch, size,
        )
        for size in (SIZE // FACTOR, SIZE)
    )  # fmt: skip
    for change in CHANGES:
        # A server that counts nothing would show nothing.
        assert small[change].total() and large[change].total()
        more = {
            table: (small[change][table], rows)
            for table, rows in large[change].items()
            if rows > small[change][table] + MARGIN
        }
        assert not more, change


def _costs(
    root: Path, postgres: DatabaseServer, monkeypatch: pytest.MonkeyPatch, size: int
) -> dict[str, Counter[str]]:
    """The rows that the server reads for each change of a home, by table."""
    Home(root).edit((("sync", "vaults"), ["shared", AGENT]))
    costs = {}
    with postgres.migrated(HASHING) as address, Djinn(Home(root)) as djinn:
        monkeypatch.setenv(URL, address.conninfo)
        # It uses its indexes however small the tables are.
        postgres.execute(f"alter database {database_of(address)} set enable_seqscan = off")
        fill(djinn, size)
        djinn.sync.init()
        djinn.sync.run()
        # This one takes in what the first has sent.
        djinn.sync.run()
        with closing(connect(address)) as connection:
            unseen = "select from pg_class where relname = 'index_windows' "
            unseen += "and relallvisible < relpages"
            connection.execute("vacuum analyze")
            # A statistics worker of the server may have kept pages from being marked as visible to
            # all, and counts would read their rows.
            while connection.execute(unseen.encode()).rowcount:
                connection.execute("vacuum")
        for name, change in CHANGES.items():
            change(djinn)
            with rows_read(address) as costs[name]:
                assert not djinn.sync.run().problems
    return costs


@contextmanager
def rows_read(address: ServerAddress) -> Iterator[Counter[str]]:
    """Counts the rows of each table that others read on the server meanwhile."""
    counts = Counter[str]()
    before = _rows_read(address)
    yield counts
    counts.update(_rows_read(address))
    counts.subtract(before)


def _rows_read(address: ServerAddress) -> dict[str, int]:
    # The connection that explains statements would stay.
    routing.release()
    with closing(connect(address)) as connection:
        others = (
            "datname = current_database() and pid <> pg_backend_pid() "
            "and backend_type = 'client backend'"
        )
        # A connection reports what it has read when it ends.
        while connection.execute(f"select from pg_stat_activity where {others}".encode()).rowcount:
            time.sleep(0.01)
        sql = "select relname, seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_user_tables"
        return dict(connection.execute(sql.encode()).fetchall())
