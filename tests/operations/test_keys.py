"""Keys are added, listed and revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.keys import read_keys
from djinn_memory.home.setup import init
from djinn_memory.operations.keys import digest


@pytest.fixture
def pair(home: Home) -> Djinn:
    init(home.root, ("me", "grace"))
    home.edit(
        (("domains",), {"work": "Work.", "home": "Home."}), (("access",), {"grace": ["work"]})
    )
    return Djinn(Home(home.root))


def test_only_the_hash_of_a_secret_is_stored(djinn: Djinn) -> None:
    added = djinn.keys.add("laptop")
    other = djinn.keys.add("phone")
    assert added.secret != other.secret and len(added.secret) > 40
    stored = djinn.home.keys_path.read_text()
    assert added.secret not in stored and digest(added.secret) in stored
    assert added.secret not in str(djinn.keys.list())
    assert [key.name for key in djinn.keys.list().keys] == ["laptop", "phone"]
    # The ledger records what was done, without the secret.
    for file in djinn.home.state.rglob("*"):
        assert not file.is_file() or added.secret.encode() not in file.read_bytes(), file


def test_what_a_key_opens_by_default(pair: Djinn) -> None:
    agents = {scope: list(pair.keys.add(scope, scope=scope).key.agents)
              for scope in ("read", "write", "administer", "read_all")}  # fmt: skip
    assert agents == {"read": ["me"], "write": ["me"], "administer": [], "read_all": []}
    assert list(pair.keys.add("atlas", scope="read_all", agents=["me"]).key.agents) == ["me"]


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"name": "a b"}, UsageError, "letters, digits"),
        ({"name": ""}, UsageError, "letters, digits"),
        ({"name": "../x"}, UsageError, "letters, digits"),
        ({"name": "a@b"}, UsageError, "letters, digits"),
        ({"name": "laptop"}, Refused, "a key 'laptop' exists"),
        ({"agents": ["nobody"]}, NotFound, "no agent 'nobody'; known: me, grace"),
        ({"vaults": ["nothing"]}, NotFound, "no vault 'nothing'; known: me, shared"),
        ({"vaults": ["grace"]}, NotFound, "no vault 'grace'"),
        ({"domains": ["money"]}, UsageError, "'money' is no domain"),
        ({"domains": [" "]}, UsageError, "the domain is empty"),
        ({"agents": ["grace"], "domains": ["home"]}, UsageError, "no domain of grace"),
        ({"scope": "administer", "vaults": ["me"]}, UsageError, "opens the whole home"),
        ({"scope": "administer", "domains": ["work"]}, UsageError, "opens the whole home"),
        ({"scope": "administer", "agents": ["me"]}, UsageError, "opens the memory of all agents"),
        ({"scope": "read_all", "vaults": ["me"]}, UsageError, "opens the whole home"),
        ({"scope": "all"}, UsageError, "give one of read, write"),
        ({"expires": "2020-01-01"}, UsageError, "in the past"),
        ({"expires": "someday"}, UsageError, "not a date"),
    ],
)
def test_a_key_that_cannot_be_added(
    pair: Djinn, given: dict[str, Any], kind: type[DjinnError], said: str
) -> None:
    pair.keys.add("laptop")
    before = read_keys(pair.home.keys_path)
    with pytest.raises(kind, match=said):
        pair.keys.add(**{"name": "new", **given})
    assert read_keys(pair.home.keys_path) == before


def test_a_key_expires(pair: Djinn, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not pair.keys.add("brief", expires="2d").key.expired
    later = pair.runtime.now() + timedelta(days=4)
    monkeypatch.setattr(pair.runtime, "now", lambda: later)
    assert [key.expired for key in pair.keys.list().keys] == [True]


def test_a_key_is_revoked(pair: Djinn) -> None:
    pair.keys.add("laptop", domains=["work"])
    pair.keys.add("phone")
    assert "me@laptop" in pair.home.grants
    assert pair.keys.revoke("laptop").name == "laptop"
    assert "me@laptop" not in pair.home.grants
    with pytest.raises(NotFound, match="no key 'laptop'; known: phone"):
        pair.keys.revoke("laptop")
