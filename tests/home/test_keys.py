"""The file of keys, and what a key shows of a home."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.errors import NotFound, Refused, Unavailable, UsageError
from djinn_memory.home.access import limited_by
from djinn_memory.home.home import Home
from djinn_memory.home.keys import Key, edit_keys, read_keys
from djinn_memory.home.setup import add_vault, init

NAMES = ["shared", "finn", "grace", "notes", "diary"]
DOMAINS = ["work", "home", "money"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home of finn, who sees every domain, and of grace, who sees two of three."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("keys")
        patch.setenv("DJINN_CONFIG_DIR", str(folder / "user"))
        home, _ = init(folder / "home", ("finn", "grace"))
        for name, agent in (("notes", None), ("diary", "finn")):
            (home.root / name).mkdir()
            add_vault(home, name, home.root / name, agent=agent)
        home.edit((("access",), {"grace": ["work", "home"]}))
        return home


def a_key(**limits: object) -> Key:
    return Key(**{"name": "laptop", "created": "", "digest": "", **limits})  # type: ignore[arg-type]


def some(values: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), unique=True)


@given(agents=some(["finn", "grace"]), vaults=some(NAMES), domains=some(DOMAINS))
def test_a_key_shows_no_more_than_its_agents_see_and_its_limits_allow(
    place: Home, agents: list[str], vaults: list[str], domains: list[str]
) -> None:
    key = a_key(agents=agents, vaults=vaults, domains=domains)
    edit_keys(place.keys_path, lambda _: [key])
    home = Home(place.root)
    sets = [[], *([name] for name in DOMAINS), ["work", "home"], ["Work"], DOMAINS]
    for agent in ("finn", "grace"):
        seen = {vault.name: vault for vault in home.scope(agent)}
        hidden = {name: [home.hides(vault, each) for each in sets] for name, vault in seen.items()}
        known = home.domains(agent)
        with limited_by(key):
            if agents and agent not in agents:
                with pytest.raises(NotFound, match=f"known: {', '.join(agents)}"):
                    home.agent(agent)
                continue
            assert home.agent(agent) == agent
            opened = {vault.name: vault for vault in home.scope(agent)}
            assert {*opened} == {name for name in seen if not vaults or name in vaults}
            for name, vault in opened.items():
                for before, each in zip(hidden[name], sets, strict=True):
                    outside = domains and not {part.lower() for part in each} <= {*domains}
                    assert home.hides(vault, each) == bool(before or outside)
            if domains:
                assert {*home.domains(agent)} <= {*domains} & ({*known} or {*DOMAINS})
            for name in {*NAMES} - {*opened}:
                with pytest.raises(NotFound):
                    home.scope(agent, [name])
            if vaults and agent not in vaults:
                with pytest.raises(NotFound):
                    home.personal(agent)


def test_a_program_writes_into_no_domain_outside_of_its_key(place: Home) -> None:
    key = a_key(agents=["finn"], domains=["work"])
    edit_keys(place.keys_path, lambda _: [key])
    home = Home(place.root)
    with limited_by(key):
        vault = home.vault_to_write("finn", shared=True)
        assert home.domain_to_write(vault, "finn", "Work") == "Work"
        with pytest.raises(UsageError, match="'money' is no domain of this key; it opens: work"):
            home.domain_to_write(vault, "finn", "money")
        with pytest.raises(Refused):
            home.domain_to_write(vault, "finn", None, own="money")


def test_a_key_with_domains_that_was_revoked_shows_nothing(place: Home) -> None:
    key = a_key(agents=["finn"], domains=["work"])
    edit_keys(place.keys_path, lambda _: [])
    with limited_by(key), pytest.raises(Refused, match="the key laptop was revoked"):
        Home(place.root).scope("finn")


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", '[{"name": "x"}]', "\xff", "[]x"])
def test_a_damaged_file_of_keys_stops_only_who_uses_keys(home: Home, content: str) -> None:
    assert read_keys(home.keys_path) == ()
    home.keys_path.write_text(content, encoding="latin-1")
    with pytest.raises(Unavailable, match="damaged"):
        read_keys(home.keys_path)
    with pytest.raises(Unavailable, match="damaged"):
        edit_keys(home.keys_path, lambda keys: keys)
    assert home.grants == {} and home.scope("me")
    assert home.keys_path.read_text(encoding="latin-1") == content


def test_a_file_of_keys_is_for_its_user_alone(home: Home) -> None:
    edit_keys(home.keys_path, lambda _: [a_key()])
    assert home.keys_path.stat().st_mode & 0o777 == 0o600
    home.keys_path.unlink()
    home.keys_path.mkdir()
    with pytest.raises(Unavailable):
        read_keys(home.keys_path)


ADD = """
import sys
from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
djinn = Djinn(Home(__import__("pathlib").Path(sys.argv[1])))
for number in range(5):
    djinn.keys.add(f"{sys.argv[2]}-{number}")
"""


def test_processes_that_add_keys_at_once_lose_none(home: Home, tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", ADD, str(home.root), name]) for name in "ab"
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert sorted(key.name for key in read_keys(home.keys_path)) == sorted(
        f"{name}-{number}" for name in "ab" for number in range(5)
    )
