from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import pytest
from msgspec.structs import replace

from djinn_memory.errors import ConfigError, NotFound, Refused, UsageError
from djinn_memory.home.home import Home, discover
from djinn_memory.home.setup import add_agent, add_vault, init, remove_agent, remove_vault
from djinn_memory.memories.recall.records import pool_of
from djinn_memory.notes.vault import walk
from djinn_memory.store.expiring.redis import RedisWorkingStore
from tests.conftest import Run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.delenv("DJINN_HOME", raising=False)


def files(root: Path) -> dict[str, bytes]:
    """What is there, but for who held a lock last."""
    return {
        str(p.relative_to(root)): p.read_bytes()
        for p in root.rglob("*")
        if p.is_file() and p.suffix != ".lock"
    }


def test_init_makes_a_home(tmp_path: Path) -> None:
    home, made = init(tmp_path / "a" / "b")
    assert home.config.agents == ["me"]
    assert [(v.name, v.agent) for v in home.vaults] == [("shared", None), ("me", "me")]
    assert all(v.root.is_dir() and UUID(v.id) for v in home.vaults)
    assert (home.state / ".gitignore").read_text().endswith("\n*\n")
    assert made == ["config.yaml", ".djinn/", "vaults/shared/", "vaults/me/"]
    assert "# djinn's settings." in home.config_path.read_text()


def test_init_again_changes_nothing(tmp_path: Path) -> None:
    home, _ = init(tmp_path, ("finn", "zoe", "finn"))
    assert home.config.agents == ["finn", "zoe"]
    before = files(tmp_path)
    assert init(tmp_path) == (home, [])
    assert init(tmp_path, ("zoe",))[1] == []
    assert files(tmp_path) == before


def test_init_completes_a_home(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"\xef\xbb\xbf# mine\r\nagents: [zoe] # me\r\n")
    home, made = init(tmp_path)
    assert made == [".djinn/", "vaults/shared/", "vaults/zoe/"]
    data = home.config_path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# mine\r\nagents: [zoe] # me\r\nvaults:\r\n  shared:\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")


def test_init_refuses_what_it_cannot_make(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused):
        init(tmp_path / "file")
    for name in ("", "a/b", "..", ".x", "-x", "a\n", "shared", "x" * 65, "a b"):
        with pytest.raises(UsageError):
            init(tmp_path / "new", (name,))
    assert not (tmp_path / "new").exists()
    (tmp_path / "config.yaml").write_text("agents: 1")
    with pytest.raises(ConfigError):
        init(tmp_path)
    assert (tmp_path / "config.yaml").read_text() == "agents: 1"


def test_names_of_every_script(tmp_path: Path) -> None:
    home, _ = init(tmp_path, ("Zoë", "小明", "r2-d2"))
    assert [v.name for v in home.vaults] == ["shared", "Zoë", "小明", "r2-d2"]


def test_a_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, _ = init(tmp_path / "home")
    other, _ = init(tmp_path / "other")
    deep = home.root / "vaults" / "shared" / "deep"
    deep.mkdir()
    assert discover(start=deep) == home
    assert discover(other.root, start=deep) == other
    monkeypatch.setenv("DJINN_HOME", str(other.root))
    assert discover(start=deep) == other
    assert discover(home.root) == home
    monkeypatch.delenv("DJINN_HOME")
    with pytest.raises(NotFound, match="`djinn init "):
        discover(start=tmp_path)
    with pytest.raises(NotFound):
        discover(tmp_path / "nowhere")
    own, _ = init(Path.home() / "djinn")
    assert discover(start=tmp_path) == own
    assert discover("~/djinn") == own
    with pytest.raises(NotFound):
        discover("~no-such-user/djinn")


def test_scope(home: Home, tmp_path: Path) -> None:
    add_agent(home, "finn")
    for name, agent in (("notes", None), ("diary", "finn")):
        (tmp_path / name).mkdir()
        add_vault(home, name, tmp_path / name, agent=agent)
    assert [v.name for v in home.scope("me")] == ["shared", "me", "notes"]
    assert [v.name for v in home.scope("finn")] == ["shared", "finn", "notes", "diary"]
    assert [v.name for v in home.scope("me", ("notes", "notes"))] == ["notes"]
    with pytest.raises(NotFound, match=r"known: shared, me, notes$"):
        home.scope("me", ("diary",))
    with pytest.raises(NotFound, match="known: me, finn"):
        home.agent("zoe")
    assert home.agent(None) == "me"


def test_agents_join_once(home: Home, tmp_path: Path) -> None:
    assert add_agent(home, "finn") == ["vaults/finn/"]
    assert add_agent(home, "finn") == []
    add_vault(home, "notes", tmp_path)
    with pytest.raises(Refused, match="named notes already"):
        add_agent(home, "notes")


def test_vaults_join_once_and_leave(home: Home, tmp_path: Path) -> None:
    place = tmp_path / "my 'notes': é #1"
    place.mkdir()
    (place / "a.md").write_text("a")
    before = home.config_path.read_bytes()
    vault = add_vault(home, "notes", place, read_only=True)
    assert (vault.root, vault.read_only) == (place, True)
    assert Home(home.root).vaults[-1] == vault
    for name, path in (("notes", tmp_path), ("again", place), ("again", place / ".." / place.name)):
        with pytest.raises(Refused):
            add_vault(home, name, path)
    with pytest.raises(NotFound):
        add_vault(home, "gone", place / "gone")
    with pytest.raises(NotFound):
        add_vault(home, "diary", tmp_path, agent="zoe")
    assert remove_vault(home, "notes") == vault
    assert home.config_path.read_bytes() == before
    assert (place / "a.md").read_text() == "a"
    for name in ("shared", "me"):
        with pytest.raises(Refused):
            remove_vault(home, name)
    with pytest.raises(NotFound, match="known: shared, me"):
        remove_vault(home, "notes")


def test_the_shared_vault_alone_goes_to_a_server_unless_others_are_listed(home: Home) -> None:
    assert [vault.name for vault in home.synced] == ["shared"]
    for names in ([], ["me"], ["shared", "me"]):
        home.edit((("sync", "vaults"), names))
        assert [vault.name for vault in Home(home.root).synced] == names
    home.edit((("sync", "vaults"), ["gone"]))
    with pytest.raises(ConfigError, match=r"config\.yaml: sync\.vaults: .* known: shared, me"):
        _ = Home(home.root).synced


def test_a_vault_called_shared_stays_whoever_reads_it(
    home: Home, spawn: Run, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    add_vault(home, "notes", tmp_path / "notes")
    home.revise(lambda: [(("vaults", "shared", "for"), "me"), (("scoring", "shared"), True)])
    changed = Home(home.root)
    [vault] = (vault for vault in changed.vaults if vault.name == "shared")
    assert vault.agent == "me"
    with pytest.raises(Refused, match="shared is a built-in vault of the home"):
        remove_vault(changed, "shared")
    assert pool_of(changed) == vault.id
    config = replace(changed.config, working_memory="redis://localhost:1")
    RedisWorkingStore.of(cast("Home", SimpleNamespace(config=config, named=changed.named)))
    completed = spawn("vault", "remove", "", home=home.root, _DJINN_COMPLETE="fish")
    assert completed.stdout.split() == ["=notes"]


def test_a_folder_whose_name_is_no_text_is_refused(home: Home, tmp_path: Path) -> None:
    place = tmp_path / "caf\udce9"
    place.mkdir()
    before = home.config_path.read_bytes()
    with pytest.raises(ConfigError):
        add_vault(home, "notes", place)
    assert home.config_path.read_bytes() == before


def test_an_edit_is_checked_before_it_is_written(home: Home) -> None:
    before = home.config_path.read_bytes()
    for keys, value, why in (
        ("search.limit", 0, "search.limit: expected a whole number"),
        ("serch.limit", 1, "did you mean search"),
        ("search.limit.x", 1, "search.limit"),
        ("agents", [], "not empty"),
        ("vaults.shared.path", None, "vaults.shared.path is missing"),
    ):
        with pytest.raises(ConfigError, match=why) as error:
            home.edit((tuple(keys.split(".")), value))
        assert len(str(error.value).splitlines()) == 1
    assert home.config_path.read_bytes() == before


def test_null_removes_a_key(home: Home) -> None:
    home.edit((("search", "limit"), None))
    before = home.config_path.read_bytes()
    home.edit((("search", "limit"), 20))
    assert home.config.search.limit == 20
    home.edit((("search", "limit"), None))
    assert home.config.search.limit == 10
    home.edit((("search", "limit"), None))
    assert [line for line in home.config_path.read_bytes().splitlines() if b"#" not in line] == [
        line for line in before.splitlines() if b"#" not in line
    ]


def test_state_can_be_elsewhere(home: Home, tmp_path: Path) -> None:
    home.edit((("state_dir",), str(tmp_path / "state")))
    assert home.index_path == tmp_path / "state" / "index.db"
    home.edit((("state_dir",), "~/state"))
    assert home.state == Path.home() / "state"


def test_a_note_belongs_to_the_innermost_vault(home: Home) -> None:
    for place in ("me/mine.md", "shared/ours.md", "loose.md"):
        (home.root / "vaults" / place).write_text("text")
    every = add_vault(home, "all", home.root / "vaults")
    assert every.inner == {"me", "shared"}
    assert [file.path for file in walk(every).files] == ["loose.md"]
    add_vault(home, "deep", home.root)
    assert [file.path for file in walk(home.vaults[-1]).files] == []
    assert [file.path for file in walk(home.vaults[0]).files] == ["ours.md"]


def test_edits_at_one_time_are_all_kept(home: Home, tmp_path: Path, spawn: Run) -> None:
    names = [f"agent{n}" for n in range(5)]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    commands = [
        *(("agent", "add", name) for name in names),
        *(("vault", "add", "same", tmp_path / name) for name in ("a", "b")),
    ]
    with ThreadPoolExecutor(len(commands)) as pool:
        done = list(pool.map(lambda words: spawn(*words, home=home.root), commands))
    now = Home(home.root)
    assert [d.returncode for d in done[:5]] == [0] * 5
    assert set(now.config.agents) == {"me", *names}
    assert {"shared", "me", "same", *names} == set(now.config.vaults)
    [won] = [d for d in done[5:] if d.returncode == 0]
    [lost] = [d for d in done[5:] if d.returncode == 3]
    assert str(now.named(("same",))[0].root) in won.stdout
    assert "a vault named same already exists" in lost.stderr


def test_init_at_one_time_makes_one_home(tmp_path: Path, spawn: Run) -> None:
    names = ("finn", "grace", "zoe")
    with ThreadPoolExecutor(len(names)) as pool:
        done = list(pool.map(lambda name: spawn("init", tmp_path / "h", "--agent", name), names))
    assert [d.returncode for d in done] == [0] * 3
    assert set(Home(tmp_path / "h").config.agents) == set(names)


def test_what_an_edit_rests_on_is_read_under_the_lock(home: Home, tmp_path: Path) -> None:
    stale = Home(home.root)
    assert stale.vaults
    assert stale.config.agents == ["me"]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    add_agent(home, "finn")
    add_vault(home, "notes", tmp_path / "one")
    with pytest.raises(Refused, match="a vault named notes already exists"):
        add_vault(stale, "notes", tmp_path / "two")
    with pytest.raises(Refused, match="is already vault notes"):
        add_vault(Home(home.root), "again", tmp_path / "one")
    add_agent(stale, "zoe")
    assert stale.config.agents == ["me", "finn", "zoe"]
    remove_vault(home, "notes")
    with pytest.raises(NotFound, match="'notes'"):
        remove_vault(stale, "notes")


def test_two_vaults_in_one_folder_are_refused(home: Home, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home.root / "vaults" / "me")
    before = home.config_path.read_bytes()
    path = (("vaults", "again", "path"), str(tmp_path / "link"))
    with pytest.raises(ConfigError, match=r"vaults\.me\.path and vaults\.again\.path") as error:
        home.edit(path)
    assert len(str(error.value).splitlines()) == 1
    assert home.config_path.read_bytes() == before
    again = f"vaults:\n  again: {{path: {tmp_path}/link}}\n"
    home.config_path.write_bytes(before.replace(b"vaults:\n", again.encode()))
    with pytest.raises(ConfigError, match=r"vaults\.again\.path and vaults\.me\.path"):
        _ = Home(home.root).vaults


def test_vaults_by_name(home: Home) -> None:
    add_agent(home, "finn")
    assert [vault.name for vault in home.named(("finn", "shared", "finn"))] == ["finn", "shared"]
    assert home.named(()) == home.vaults
    with pytest.raises(NotFound, match=r"no vault 'zoe'; known: shared, me, finn$"):
        home.named(("zoe",))


def test_an_agent_is_removed_and_its_notes_stay(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home", ("finn", "grace"))
    note = home.root / "vaults" / "grace" / "a.md"
    note.write_text("# A\n")
    add_vault(home, "shelf", tmp_path, agent="grace")
    with pytest.raises(Refused, match="vault shelf is reserved for grace"):
        remove_agent(home, "grace")
    remove_vault(home, "shelf")
    assert remove_agent(home, "grace") is None
    assert note.read_text() == "# A\n"
    assert (home.config.agents, [vault.name for vault in home.vaults]) == (
        ["finn"], ["shared", "finn"],
    )  # fmt: skip
    with pytest.raises(Refused, match="the only agent"):
        remove_agent(home, "finn")
    with pytest.raises(NotFound):
        remove_agent(home, "grace")
    add_agent(home, "grace")
    (home.root / ".trash" / "grace").mkdir(parents=True)
    trashed = remove_agent(home, "grace", trash=True)
    assert trashed == home.root / ".trash" / "grace-2"
    assert (trashed / "a.md").read_text() == "# A\n" and not note.exists()
