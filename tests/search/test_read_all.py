"""A search by an agent that reads all vaults of a server, and the rights of its role there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from psycopg.conninfo import make_conninfo

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.store.postgres import catalog
from djinn_memory.store.postgres.servers import URL
from tests.search.postgres_index import push
from tests.sync.pushes import TableServer, tables

__all__ = ["tables"]

NOTE = "---\ntype: fact\ncategory: lamp\nkey: {}\n---\nThe harbour lamp of {}.\n"


def filled(root: Path, template: Path, tables: TableServer, name: str) -> Djinn:
    """A home whose vaults have a note each, all of them on the server."""
    shutil.copytree(template, root)
    add_agent(Home(root), "guest")
    home = Home(root)
    for vault in home.vaults:
        home.edit((("vaults", vault.name, "id"), str(uuid4())))
    djinn = Djinn(Home(root))
    for vault in djinn.home.vaults:
        vault.root.mkdir(exist_ok=True)
        text = NOTE.format(vault.name, f"{vault.name} in {name}")
        (vault.root / "lamp.md").write_text(text)
    djinn.index()
    for vault in djinn.home.vaults:
        push(tables, djinn, vault)
        tables.push(djinn, vault)
    return djinn


@pytest.fixture
def homes(
    tables: TableServer, tmp_path: Path, home_template: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Djinn, Djinn]]:
    """Two homes with one server. The first agent of the first one reads all."""
    monkeypatch.setenv(URL, tables.address.conninfo)
    first = filled(tmp_path / "one", home_template, tables, "one")
    first.home.edit((("sync", "read_all"), ["me"]))
    yield Djinn(Home(first.home.root)), filled(tmp_path / "two", home_template, tables, "two")


def lamps(djinn: Djinn, **options: object) -> set[str]:
    """What a search on the server finds."""
    hits = djinn.search(query="harbour lamp", backend="postgres", limit=50, **options).hits
    return {hit.snippet.partition(" of ")[2].rstrip(".\n") for hit in hits}


def test_an_administrator_searches_all_vaults(homes: tuple[Djinn, Djinn]) -> None:
    first, second = homes
    every = {f"{vault} in {home}" for home in ("one", "two") for vault in ("shared", "me", "guest")}
    assert lamps(first) == every
    assert lamps(first, agent="guest") == {"shared in one", "guest in one"}
    assert lamps(second) == {"shared in two", "me in two"}
    # Locally nothing changes.
    assert {hit.vault for hit in first.search(query="harbour lamp").hits} == {"shared", "me"}
    other = second.home.personal("me")
    assert lamps(first, vaults=(f"me-{other.id.replace('-', '')[:8]}",)) == {"me in two"}
    with pytest.raises(NotFound):
        lamps(second, vaults=("guest-12345678",))


def test_domains_limit_an_administrator_too(
    homes: tuple[Djinn, Djinn], tables: TableServer
) -> None:
    first, second = homes
    note = second.home.shared.root / "lamp.md"
    note.write_text(note.read_text().replace("---\n", "---\ndomain: work\n", 1))
    second.index()
    push(tables, second, second.home.shared)
    assert "shared in two" in lamps(first)
    first.home.edit((("sync", "read_all"), ["guest"]), (("access",), {"guest": ["sea"]}))
    limited = lamps(Djinn(Home(first.home.root)), agent="guest")
    assert "me in two" in limited and "shared in two" not in limited


def test_roles_limit_what_is_searched(
    homes: tuple[Djinn, Djinn], tables: TableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = homes
    roles = {
        "reader": [None],
        "anna": [first.home.shared.id, first.home.personal("me").id],
        "stranger": [],
    }
    with tables.connection.transaction(), tables.connection.cursor() as cursor:
        catalog.secure_rows(cursor)
        for role, scopes in roles.items():
            cursor.execute(f"create role {role} login".encode())
            for scope in scopes:
                cursor.execute("insert into role_scopes values (%s, %s)", (role, scope))

    def found(role: str, djinn: Djinn) -> tuple[set[str], set[str], int]:
        monkeypatch.setenv(URL, make_conninfo(tables.address.conninfo, user=role))
        djinn = Djinn(Home(djinn.home.root))
        facts = {
            fact.value.partition(" of ")[2].rstrip(".\n")
            for fact in djinn.sync.facts(query="harbour lamp", all=True, limit=50).facts
        }
        count = {kind.kind: kind.total for kind in djinn.sync.stats(all=True).memories}["facts"]
        return lamps(djinn), facts, count

    try:
        every = {f"{v} in {home}" for home in ("one", "two") for v in ("shared", "me", "guest")}
        assert found("reader", first) == (every, every, 6)
        own = {"shared in one", "me in one"}
        assert found("anna", first) == (own, own, 2)
        with pytest.raises(Refused, match="has none of these vaults"):
            found("anna", second)
        with pytest.raises(Refused, match="has none of these vaults"):
            found("stranger", first)
    finally:
        for role in roles:
            tables.connection.execute(f"drop owned by {role}; drop role {role}".encode())
