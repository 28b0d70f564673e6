"""What the tables on a server say of the requests before interactions, of runs, and of ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused
from djinn_memory.models import Vault
from djinn_memory.store.ledger import Event
from djinn_memory.store.postgres import migrations
from djinn_memory.store.postgres.connection import connect
from tests.memories.library.papers import pdf
from tests.postgres import DatabaseServer
from tests.sync.pushes import HASHING, TableServer, tables

__all__ = ["tables"]


def joined(djinn: Djinn, tables: TableServer, monkeypatch: pytest.MonkeyPatch) -> Vault:
    """Let the vault of the home's agent go to the server."""
    own = djinn.home.personal(djinn.home.config.agents[0])
    monkeypatch.setenv("DJINN_POSTGRES_URL", tables.address.conninfo)
    djinn.home.edit((("sync", "vaults"), [own.name]))
    tables.connection.execute("update server set identity = 'hashing-128-1'")
    tables.join(own)
    return own


def contexts(tables: TableServer) -> dict[str, Any]:
    """The contexts of all episodes, by their texts."""
    return {row["raw_content"]: row["context_snapshot"] for row in tables.rows("episodic_memories")}


def fill(djinn: Djinn) -> tuple[str, str]:
    """Recall in a session, and record interactions in it. Returns the request and the memory."""
    lamp = djinn.remember(type="decision", title="Harbour lamp", text="Two lamps after all.")
    djinn.facts.set(category="Maren", key="city", value="Gdynia", expires="2030-05-01")
    djinn.wake(session="S1")
    request = djinn.recall(query="harbour lamp", session="S1", profile="planning").request_id
    djinn.episodes.record_interaction(
        message="Light it", session="S1", domain="work", context={"ticket": 7, "shown": "x"}
    )
    djinn.episodes.record_interaction(message="Paint it", session="S1")
    djinn.episodes.record_observation(text="It rains", session="S1")
    djinn.episodes.record_interaction(message="Hello", session="S2")
    djinn.episodes.record_interaction(message="Hi", session="S1", at="2026-01-02T10:00Z")
    djinn.rate(target=request, useful=[1], session="S1")
    return str(request), str(lamp.id)


def assert_filled(djinn: Djinn, tables: TableServer, request: str, lamp: str) -> None:
    found = contexts(tables)
    for text, others in (("Light it", {"ticket": 7, "domain": "work"}), ("Paint it", {})):
        shown = found[text].pop("shown")
        assert lamp in shown.pop("memories")
        assert shown == {"request_id": request, "source": "recall", "profile": "planning"}
        assert found[text] == others
    assert found["It rains"] is found["Hello"] is found["Hi"] is None
    assert tables.rows("memory_facts")[0]["valid_to"] == "2030-05-01"
    assert not djinn.sync.verify().drifts


def test_filled_columns(
    djinn: Djinn, tables: TableServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = joined(djinn, tables, monkeypatch)
    request, lamp = fill(djinn)
    paper = pdf(tmp_path / "lamp.pdf", ["The lamp is green. " * 60], subject="Lanterns")
    djinn.documents.ingest(paths=[paper], vault=own.name)
    djinn.sync.run()
    assert_filled(djinn, tables, request, lamp)
    assert tables.rows("documents")[0]["subject"] == "Lanterns"
    start = tables.value("select id::text from events where kind = 'session.started'")
    runs = {row["run_id"] for row in tables.rows("memory_valuations")}
    runs |= {row["run_id"] for row in tables.rows("memory_retrieval_log")}
    assert runs == {start}
    # A recall that arrives later counts, and what was changed is found and repaired.
    djinn.recall(query="lamp", session="S3")
    djinn.episodes.record_interaction(message="Again", session="S3")
    djinn.sync.run()
    assert contexts(tables)["Again"]["shown"]["source"] == "recall"
    for change in ("null", "'7'", """'{"shown": 1}'""", """'{"domain": "x"}'"""):
        tables.connection.execute(
            f"update episodic_memories set context_snapshot = {change} "
            "where raw_content = 'Light it'".encode()
        )
        assert djinn.sync.verify().drifts, change
        djinn.sync.backfill(all=True)
        assert_filled(djinn, tables, request, lamp)


@pytest.fixture
def older(postgres: DatabaseServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[TableServer]:
    """A server without the script that these tests are about."""
    name = postgres.create()
    with monkeypatch.context() as earlier:
        known = {number: script for number, script in migrations.scripts().items() if number != 5}
        earlier.setattr(migrations, "scripts", lambda: known)
        address = postgres.address(name)
        with closing(connect(address)) as connection:
            migrations.migrate(connection, address, HASHING)
    with closing(connect(address)) as connection:
        yield TableServer(address, connection)
    postgres.drop(name)


def test_a_home_and_a_server_of_the_version_before(
    djinn: Djinn, older: TableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined(djinn, older, monkeypatch)
    request, lamp = fill(djinn)
    ledger = djinn.runtime.state.ledger
    data = {"agent": djinn.home.config.agents[0], "session": "old", "run": None, "query": "q",
            "source": "wake", "memories": []}  # fmt: skip
    ledger.append([Event("memory.retrieved", "rec_old", data)])
    with pytest.raises(Refused, match="older djinn"):
        djinn.sync.run()
    with monkeypatch.context() as earlier:
        known = {number: script for number, script in migrations.scripts().items() if number != 5}
        earlier.setattr(migrations, "scripts", lambda: known)
        djinn.sync.run()
    # As the version before wrote them.
    older.connection.execute("""update episodic_memories set context_snapshot = case
        when raw_content = 'Light it' then '{"ticket": 7, "shown": "x"}'::jsonb end""")
    older.connection.execute("update memory_facts set valid_to = null")
    assert djinn.sync.migrate().applied == ["005_shown.sql"]
    waiting = older.value("select count(*) from notes where pending")
    assert waiting == older.value(
        "select count(distinct note_id) from (select note_id from episodic_memories "
        "where episode_type = 'interaction' union all select note_id from memory_facts) as row"
    )
    djinn.sync.run()
    assert not older.value("select count(*) from notes where pending")
    assert_filled(djinn, older, request, lamp)
    assert older.value(
        "select count(*) from memory_retrieval_log where run_id is null and request_id = 'rec_old'"
    )
