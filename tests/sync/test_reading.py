"""What the tables of a server tell: counts, facts, and the page that describes the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.store.postgres import queries
from djinn_memory.store.postgres.event_tables import CORRELATIONS, EVENT_TABLES
from djinn_memory.store.postgres.note_tables import NOTE_TABLES
from djinn_memory.sync.requests import Backfilled
from tests.sync.pushes import TableServer, tables

__all__ = ["tables"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "postgres.md"

_SHORT = {
    "character varying": "varchar",
    "character varying[]": "varchar[]",
    "timestamp with time zone": "timestamptz",
}


@pytest.fixture
def synced(djinn: Djinn, tables: TableServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Djinn]:
    """A home whose shared vault goes to a server with the model of the home."""
    monkeypatch.setenv("DJINN_POSTGRES_URL", tables.address.conninfo)
    tables.connection.execute("update server set identity = 'hashing-128-1'")
    tables.join(djinn.home.shared)
    yield djinn


def push(djinn: Djinn) -> None:
    """Synchronize the shared vault."""
    djinn.index()
    djinn.sync.run()


def test_counts(synced: Djinn) -> None:
    synced.facts.set(category="Maren", key="city", value="Gdynia", shared=True)
    synced.entities.add(kind="person", name="Maren", shared=True)
    push(synced)
    stats = synced.sync.stats()
    assert {kind.kind: (kind.total, kind.with_embedding) for kind in stats.memories} == {
        "episodic": (0, 0), "semantic": (0, 0), "knowledge": (1, 1), "documents": (0, 0),
        "facts": (1, 1),
    }  # fmt: skip
    assert (stats.consolidated, stats.unconsolidated) == (0, 0)
    notes = [*synced.home.shared.root.rglob("*.md")]
    assert stats.notes == len(notes) > 1


def test_facts_by_meaning_then_by_text(synced: Djinn, tables: TableServer) -> None:
    synced.facts.set(category="Maren", key="city", value="Gdynia", shared=True)
    synced.facts.set(category="Bob", key="street", value="Old Gdynia road 5%", shared=True)
    tomorrow = (date.today() + timedelta(days=1)).isoformat()
    synced.facts.set(category="Bob", key="code", value="gone", expires=tomorrow, shared=True)
    push(synced)
    tables.connection.execute("update memory_facts set expires_at = now() where key = 'code'")
    nearest, *_ = synced.sync.facts(query="Maren city Gdynia").facts
    assert (nearest.category, nearest.value) == ("Maren", "Gdynia")
    assert nearest.cosine and nearest.cosine >= queries.LEAST_COSINE

    def by_text(query: str) -> list[str]:
        with tables.connection.cursor() as cursor:
            listed = queries.search(cursor, query, None, datetime.now(UTC))
        assert all(fact.cosine is None for fact in listed)
        return [fact.key for fact in listed]

    assert by_text("gdynia") == ["street", "city"]
    assert by_text("ROAD 5%") == ["street"]
    assert by_text("MAREN") == ["city"]
    assert by_text("5_") == by_text("gone") == []
    with pytest.raises(UsageError, match="the query is empty"):
        synced.sync.facts(query=" ")


def test_facts_of_all_vaults(synced: Djinn, tables: TableServer) -> None:
    own = synced.home.personal(synced.home.config.agents[0])
    synced.facts.set(category="Maren", key="city", value="Gdynia")
    synced.index()
    tables.push(synced, own)
    assert not synced.sync.facts(query="Gdynia").facts
    [fact] = synced.sync.facts(query="Gdynia", all=True).facts
    assert (fact.vault, fact.scope, fact.value) == (own.name, own.id, "Gdynia")
    assert [kind.total for kind in synced.sync.stats(all=True).memories] == [0, 0, 0, 0, 1]


def test_vectors_that_were_missing(synced: Djinn, tables: TableServer) -> None:
    synced.home.edit((("embedding", "provider"), "none"))
    without = Djinn(Home(synced.home.root))
    for number in range(3):
        without.facts.set(category="lamp", key=f"n{number}", value=f"green {number}", shared=True)
    push(without)
    assert [kind.with_embedding for kind in without.sync.stats().memories] == [0] * 5
    with pytest.raises(Unavailable, match="no embedding model"):
        without.sync.backfill()
    without.home.edit((("embedding", "provider"), "hashing"))
    home = Djinn(Home(synced.home.root))
    (synced.home.shared.root / "facts/lamp-n2.md").unlink()
    assert home.sync.backfill(batch=1) == Backfilled(2, 1)
    assert home.sync.stats().memories[-1].with_embedding == 2
    assert tables.value("select count(*) from index_windows where vector is null") == 1
    assert home.sync.backfill() == Backfilled(0, 1)


def test_page_of_the_tables(tables: TableServer) -> None:
    """The page names each column of each table, with its type."""
    described = {
        section.partition("`")[0]: re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE)
        for section in PAGE.read_text(encoding="utf-8").split("\n## `")[1:]
    }
    assert described.keys() == {
        "events",
        *(table.name for table in NOTE_TABLES),
        CORRELATIONS,
        *EVENT_TABLES,
    }
    for table, columns in described.items():
        rows = tables.connection.execute(
            "select attname, format_type(atttypid, null) from pg_attribute "
            "where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
            (table,),
        ).fetchall()
        known = [(name, _SHORT.get(kind, kind)) for name, kind in rows]
        assert columns == known, table
