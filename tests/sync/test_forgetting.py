"""Homes that a server knows, and vaults and homes that it is to forget."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.store.ledger.sync_state import home_id
from djinn_memory.store.postgres.servers import URL
from tests.hostile.running import called
from tests.sync.pushes import TableServer, tables

__all__ = ["tables"]


@pytest.fixture
def homes(
    tmp_path: Path, home_template: Path, tables: TableServer, monkeypatch: pytest.MonkeyPatch
) -> tuple[Djinn, Djinn]:
    """Two homes that synchronize the shared vault."""
    monkeypatch.setenv(URL, tables.address.conninfo)
    tables.connection.execute("update server set identity = 'hashing-128-1'")
    made = []
    for name in ("first", "second"):
        shutil.copytree(home_template, tmp_path / name, symlinks=True)
        djinn = Djinn(Home(tmp_path / name))
        djinn.sync.init()
        made.append(Djinn(Home(tmp_path / name)))
    return made[0], made[1]


def test_a_home_that_did_not_come_back(homes: tuple[Djinn, Djinn], tables: TableServer) -> None:
    first, second = homes
    lamp = first.home.shared.root / "lamp.md"
    lamp.write_text("# Lamp\n\nGreen.\n")
    first.sync.run()
    second.sync.run()
    lamp.unlink()
    first.sync.run()
    [vault] = first.sync.status().vaults
    ids = [home_id(djinn.runtime.state.ledger) for djinn in homes]
    by_id = {home.id: home for home in vault.homes}
    assert [by_id[str(key)].own for key in ids] == [True, False]
    assert [by_id[str(key)].unread for key in ids] == [0, 1]
    assert all(home.awaited for home in vault.homes)

    # The tombstone is old, and the other home was seen lately.
    tables.connection.execute("update notes set written_at = now() - interval '200 days'")
    tables.connection.execute("update homes set seen_at = now() - interval '100 days'")
    first.sync.run()
    assert tables.value("select count(*) from notes where deleted") == 1
    lost = str(ids[1])
    shown = first.sync.forget(home=lost, dry_run=True)
    assert not shown.removed and len(first.sync.status().vaults[0].homes) == 2
    gone = first.sync.forget(home=lost)
    assert gone.removed and gone.home == lost and [v.name for v in gone.vaults] == ["shared"]
    assert [home.id for home in first.sync.status().vaults[0].homes] == [str(ids[0])]
    first.sync.run()
    assert tables.value("select count(*) from notes where deleted") == 0

    # It comes back, and has a note that was deleted while it was away: nothing is deleted.
    second.sync.run()
    assert (second.home.shared.root / "lamp.md").exists()
    assert len(first.sync.status().vaults[0].homes) == 2


def test_homes_of_one_name_are_told_apart(homes: tuple[Djinn, Djinn]) -> None:
    first, second = homes
    first.sync.run()
    second.sync.run()
    [vault] = first.sync.status().vaults
    with pytest.raises(Refused, match="several homes of this name"):
        first.sync.forget(home=vault.homes[0].name)
    with pytest.raises(NotFound, match="the server shows no such home"):
        first.sync.forget(home="nobody")


def test_a_vault_that_leaves_the_server(homes: tuple[Djinn, Djinn], tables: TableServer) -> None:
    first, second = homes
    (first.home.shared.root / "lamp.md").write_text("# Lamp\n\nGreen.\n")
    first.sync.run()
    second.sync.run()
    scope = first.home.shared.id
    assert first.sync.forget(vault="shared", dry_run=True).vaults[0].notes == 1
    assert first.sync.forget(vault="shared").removed
    for table in ("scopes", "notes", "homes", "index_memories", "events", "index_postings"):
        assert tables.value(f"select count(*) from {table}") == 0, table
    assert Home(first.home.root).config.sync.vaults == []
    for djinn in homes:
        assert (djinn.home.shared.root / "lamp.md").exists()
    with pytest.raises(NotFound, match="no vault of this home goes to the server"):
        Djinn(Home(first.home.root)).sync.run()
    with pytest.raises(Refused, match="does not know vault shared"):
        second.sync.run()
    # Whoever wants it back, sends it again, and loses nothing.
    second.sync.init()
    assert second.sync.run().vaults[0].sent == 1
    first.home.edit((("sync", "vaults"), ["shared"]))
    again = Djinn(Home(first.home.root))
    again.sync.run()
    assert again.home.shared.id == scope
    assert (again.home.shared.root / "lamp.md").exists()


def test_a_vault_that_another_home_removed_stops_no_other_vault(
    homes: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, second = homes
    for djinn in homes:
        djinn.home.edit((("sync", "vaults"), ["shared", "me"]))
    first, second = (Djinn(Home(djinn.home.root)) for djinn in homes)
    own = second.home.personal("me")
    second.sync.init()
    (own.root / "plan.md").write_text("# Plan\n\nA garden.\n")
    second.sync.run()
    first.sync.forget(vault=own.id)
    lamp = first.home.shared.root / "lamp.md"
    lamp.write_text("# Lamp\n\nGreen.\n")
    first.home.edit((("sync", "vaults"), ["shared"]))
    Djinn(Home(first.home.root)).sync.run()

    done = called(second.home, "sync", "run")
    assert done.code == 1
    assert "shared: 1 file received" in done.stdout and "me: not on the server" in done.stdout
    assert "`djinn sync init`" in done.stdout and "sync forget --vault me`" in done.stdout
    done = called(second.home, "sync", "verify")
    assert done.code == 1
    assert "me: not on the server" in done.stdout and "1 difference" in done.stdout
    done = called(second.home, "sync", "run", "--vault", "me")
    assert done.code == 3 and "sync forget --vault me" in done.stderr

    done = called(second.home, "sync", "forget", "--vault", "me", "--yes")
    assert (done.code, done.stderr) == (0, "")
    assert Home(second.home.root).config.sync.vaults == ["shared"]
    assert called(second.home, "sync", "run").code == 0
    assert called(second.home, "sync", "verify").code == 0
    assert (own.root / "plan.md").exists()


def test_a_vault_of_another_home_is_not_meant_by_the_name_of_an_own_one(
    homes: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, _ = homes
    tables.connection.execute("insert into scopes (user_id, name) values (gen_random_uuid(), 'me')")
    with pytest.raises(NotFound, match="the server shows no such vault"):
        first.sync.forget(vault="me")
    [other] = first.sync.status().others
    assert first.sync.forget(vault=other.scope).removed
    assert Home(first.home.root).config.sync.vaults is None


def test_a_file_too_large_to_be_sent_is_listed_in_all_homes(
    homes: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, second = homes
    name = socket.gethostname()
    for djinn in homes:
        djinn.home.edit((("sync", "attachments_mb"), 1))
    film = first.home.shared.root / "film.mp4"
    film.write_bytes(b"x" * 1_100_000)
    assert (
        "  larger than sync.attachments_mb: film.mp4\n" in called(first.home, "sync", "push").stdout
    )
    listed = f"  too large to be sent, only in home {name}: film.mp4\n"
    assert listed in called(second.home, "sync", "pull").stdout
    assert listed not in called(first.home, "sync", "run").stdout
    # A path that leads out of the vault is not looked for.
    tables.connection.execute("update homes set large_files = '{../../film.mp4}'")
    assert "film" not in called(second.home, "sync", "pull").stdout
    film.unlink()
    called(first.home, "sync", "push")
    assert second.sync.run().vaults[0].elsewhere == []
