"""The server of a home: which address holds, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.errors import NotFound, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.store.postgres.connection import ServerAddress
from djinn_memory.store.postgres.servers import URL, connected, embedded_folder, server_address


def configured(home: Home, **settings: str) -> Home:
    home.edit(*((("sync", key), value) for key, value in settings.items()))
    fresh = Home(home.root)
    fresh.trust(fresh.untrusted)
    return fresh


def test_a_home_has_no_server_at_first(home: Home) -> None:
    with pytest.raises(Unavailable, match=r"no Postgres server; call `sync.init"):
        server_address(home)


def test_the_environment_wins(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home = configured(home, url="postgresql://me@a/one", key_env="SECRET_OF_A")
    monkeypatch.setenv("SECRET_OF_A", "geheim")
    assert "password=geheim" in server_address(home).conninfo
    assert str(server_address(home)) == "Postgres at a/one"
    monkeypatch.setenv(URL, "postgresql://me@b/two")
    assert "geheim" not in server_address(home).conninfo
    assert str(server_address(home)) == "Postgres at b/two"


def test_the_embedded_server_of_another_home(home: Home, tmp_path: Path) -> None:
    assert embedded_folder(home, "postgresql://embedded/x") is None
    assert embedded_folder(home, "embedded") == home.state / "postgres"
    assert embedded_folder(home, f"embedded:{home.root}") == home.state / "postgres"
    with pytest.raises(NotFound):
        embedded_folder(home, f"embedded:{tmp_path / 'gone'}")


def test_a_connection_of_a_home(
    home: Home, database: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL, database.conninfo)
    with connected(home) as server, server.reading() as cursor:
        assert cursor.execute("select count(*) from server").fetchone() == (1,)
