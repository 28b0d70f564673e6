"""Vaults of two homes that become one vault."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.store.postgres.servers import URL
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING


@pytest.fixture
def homes(
    postgres: DatabaseServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home_template: Path
) -> Iterator[tuple[Path, Path]]:
    """Two homes of one person, whose own vaults have different ids, and their server."""
    roots = []
    for name in ("laptop", "desktop"):
        home = Home(Path(shutil.copytree(home_template, tmp_path / name, symlinks=True)))
        home.edit(*((("vaults", vault, "id"), str(uuid4())) for vault in ("shared", "me")))
        (home.root / "vaults" / "me" / f"{name}.md").write_text(f"# {name}\n\nkettle\n")
        roots.append(home.root)
    with postgres.migrated(HASHING) as address:
        monkeypatch.setenv(URL, address.conninfo)
        yield roots[0], roots[1]


def opened(root: Path) -> Djinn:
    return Djinn(Home(root))


def own(root: Path) -> str:
    return Home(root).personal("me").id


def test_two_machines_share_a_personal_vault(homes: tuple[Path, Path]) -> None:
    laptop, desktop = homes
    before = own(desktop)
    assert opened(laptop).sync.init(vaults=["me"]).added == ["shared", "me"]
    opened(laptop).sync.run()
    joining = opened(desktop)
    joining.index()
    joining.rate(useful=["desktop"])
    answer = joining.sync.init(join=["me"])
    assert answer.added == [] and [adopted.name for adopted in answer.adopted] == ["shared", "me"]
    assert own(desktop) == own(laptop) != before
    assert Home(desktop).config.sync.vaults == ["shared", "me"]
    [score] = opened(desktop).scores.show("desktop").scores
    assert score.record.useful == 1
    opened(desktop).sync.run()
    opened(laptop).sync.run()
    for root in homes:
        assert {"laptop.md", "desktop.md"} <= {p.name for p in (root / "vaults" / "me").iterdir()}
    assert not opened(desktop).sync.init(join=["me"]).adopted


def test_ratings_from_before_joining_keep_their_name(homes: tuple[Path, Path]) -> None:
    laptop, desktop = homes
    opened(laptop).sync.init(vaults=["me"])
    opened(desktop).sync.init()
    before = own(desktop)
    writing = opened(desktop)
    name = writing.remember(type="fact", title="Kettle", text="It sings.", shared=True).id
    writing.rate(useful=[str(name)])
    for root in (desktop, laptop):
        opened(root).sync.run()
    opened(desktop).sync.init(join=["me"])
    opened(desktop).rate(not_useful=[str(name)])
    for root in (desktop, laptop, desktop):
        opened(root).sync.run()
    for root in (desktop, laptop, desktop):
        assert not opened(root).sync.verify().drifts
        opened(root).sync.backfill(all=True)
        opened(root).sync.run()
    # The home that rated it knows that both ratings are its own.
    agents = "select agent_id, useful from memory_valuations order by id"
    rows = [opened(root).runtime.state.ledger.rows(agents) for root in (desktop, laptop)]
    assert rows == [[("me", 1), ("me", 0)], [(f"me-{before[:8]}", 1), ("me", 0)]]


def test_a_vault_that_is_sent_as_a_new_one_can_still_be_joined(homes: tuple[Path, Path]) -> None:
    laptop, desktop = homes
    opened(laptop).sync.init(vaults=["me"])
    sent = opened(desktop).sync.init(vaults=["me"])
    assert sent.added == ["me"] and [vault.name for vault in sent.others] == ["me"]
    joined = opened(desktop).sync.init(join=["me"])
    assert [adopted.name for adopted in joined.adopted] == ["me"]
    assert own(desktop) == own(laptop) and not joined.others


def test_a_vault_that_is_not_there_or_not_the_only_one(homes: tuple[Path, Path]) -> None:
    laptop, desktop = homes
    with pytest.raises(NotFound, match="me: the server shows no vault of this name"):
        opened(laptop).sync.init(join=["me"])
    assert Home(laptop).config.sync.vaults is None
    for root in homes:
        opened(root).sync.init(vaults=["me"])
        opened(root).sync.run()
    # Both vaults are in use, so that nothing is joined by the name alone.
    with pytest.raises(Refused, match=f"the server has {own(laptop)} .* which this home uses"):
        opened(desktop).sync.init(join=["me"])
    with pytest.raises(NotFound, match="the server shows no such vault"):
        opened(desktop).sync.init(join=["me=mine"])
    with pytest.raises(NotFound, match="no vault 'you'"):
        opened(desktop).sync.init(join=["you"])
    opened(desktop).sync.init(join=[f"me={own(laptop)}"])
    assert own(desktop) == own(laptop)
