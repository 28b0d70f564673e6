"""Links of unchanged notes follow the names of the notes that are pushed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.models import Progress, silent
from djinn_memory.store.postgres.index.postgres_index import PostgresIndex
from djinn_memory.store.postgres.index.scopes import Scopes
from djinn_memory.sync.run import exchange
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, SyncedHome, register


@pytest.fixture
def anna(tmp_path: Path, home_template: Path, postgres: DatabaseServer) -> Iterator[SyncedHome]:
    with postgres.migrated(HASHING) as address:
        register(address)
        yield SyncedHome(tmp_path / "anna", home_template, address)


def ends(home: SyncedHome) -> dict[str, str | None]:
    """Where the links of the vault lead on the server, and that it is where they lead here."""
    vaults = [home.home.shared]
    with home.link() as link, link.server.transaction() as tx:
        there = _ends(PostgresIndex(Scopes(tx, vaults, {})))
    with home.djinn.runtime.index(vaults) as index:
        assert _ends(index) == there
    return there


def _ends(index: object) -> dict[str, str | None]:
    memories = {each.memory_id: each.path for each in index.memories()}  # type: ignore[attr-defined]
    links = index.links(memories)  # type: ignore[attr-defined]
    return {link.text: memories.get(link.target) for link in links}


def test_a_link_follows_the_note_that_it_means(anna: SyncedHome) -> None:
    anna.write("a.md", "[[Beta]], [[Gamma]] and [[deep/Delta]].\n")
    anna.write("deep/Delta.md", "# Delta\n")
    anna.sync()
    assert ends(anna) == {"Beta": None, "Gamma": None, "deep/Delta": "deep/Delta.md"}
    anna.write("beta.md", "# Beta\n")
    anna.write("g.md", "---\naliases: [Gamma]\n---\nThird.\n")
    anna.sync()
    assert ends(anna) == {"Beta": "beta.md", "Gamma": "g.md", "deep/Delta": "deep/Delta.md"}
    (anna.root / "beta.md").unlink()
    (anna.root / "deep" / "Delta.md").rename(anna.root / "Delta.md")
    anna.write("g.md", "No alias.\n")
    anna.sync()
    assert ends(anna) == {"Beta": None, "Gamma": None, "deep/Delta": None}


def test_a_link_to_a_note_that_another_home_made(
    anna: SyncedHome, tmp_path: Path, home_template: Path
) -> None:
    ben = SyncedHome(tmp_path / "ben", home_template, anna.address)
    anna.write("a.md", "[[Beta]]\n")
    ben.write("beta.md", "The second.\n")
    anna.sync()
    # Ben has not seen the link yet, and Anna has not seen the note.
    ben.sync("push")
    anna.sync()
    assert ends(anna) == {"Beta": "beta.md"}
    anna.write("b.md", "[[Beta]] and [[Gamma]]\n")
    anna.sync("push")
    (ben.root / "beta.md").rename(ben.root / "gamma.md")
    ben.sync("push")
    anna.sync()
    assert ends(anna) == {"Beta": None, "Gamma": "gamma.md"}
    ben.sync()
    assert ends(ben) == {"Beta": None, "Gamma": "gamma.md"}


def test_links_change_in_the_transaction_that_writes_the_notes(anna: SyncedHome) -> None:
    anna.write("a.md", "[[Beta]] and [[c]].\n")
    anna.write("c.md", "# Third\n")
    anna.sync()
    anna.write("beta.md", "# Beta\n")
    (anna.root / "c.md").rename(anna.root / "d.md")

    def stop(progress: Progress) -> None:
        if progress.stage == "push":
            raise KeyboardInterrupt

    with anna.link() as link, pytest.raises(KeyboardInterrupt):
        link.runtime.progress = stop
        exchange(link)
    anna.djinn.runtime.progress = silent
    assert ends(anna) == {"Beta": "beta.md", "c": None}
