"""The server of a home: prepared, joined, updated, described."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, Refused, Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.store.postgres.embedded import EmbeddedServer, programs
from djinn_memory.store.postgres.index import postgres_vectors
from djinn_memory.store.postgres.servers import URL
from djinn_memory.sync.session import locked
from tests.conftest import Run
from tests.indexing.vaults import fill
from tests.postgres import DatabaseServer, running
from tests.processes.commands import HANG, start


@pytest.fixture
def empty(postgres: DatabaseServer) -> Iterator[ServerAddress]:
    """A database without tables."""
    name = postgres.create()
    yield postgres.address(name)
    postgres.drop(name)


@pytest.fixture
def server(empty: ServerAddress, monkeypatch: pytest.MonkeyPatch) -> ServerAddress:
    """The same database, as the server of every home."""
    monkeypatch.setenv(URL, empty.conninfo)
    return empty


def another_home(tmp_path: Path, template: Path) -> Djinn:
    home = Home(Path(shutil.copytree(template, tmp_path / "another", symlinks=True)))
    home.edit((("vaults", "shared", "id"), str(uuid4())))
    return Djinn(Home(home.root))


def test_vectors_come_from_the_first_home_with_a_model(
    djinn: Djinn, server: ServerAddress, tmp_path: Path, home_template: Path
) -> None:
    other = another_home(tmp_path, home_template)
    djinn.home.edit((("embedding", "provider"), "none"))
    without = Djinn(Home(djinn.home.root))
    without.facts.set(category="lamp", key="colour", value="green", shared=True)
    without.sync.init()
    without.sync.run()
    assert without.sync.status().model == "none"
    other.sync.init()
    other = Djinn(Home(other.home.root))
    status = other.sync.status()
    assert status.model == status.own_model == "hashing-128-1"
    assert other.sync.run().vaults[0].received == 1
    assert other.sync.backfill().notes == 1
    assert [kind.with_embedding for kind in other.sync.stats().memories] == [0, 0, 0, 0, 1]
    # The home without a model goes on.
    without.facts.set(category="lamp", key="size", value="large", shared=True)
    without.sync.run()
    assert without.search(query="lamp", backend="postgres").hits


def test_the_first_home_brings_its_shared_vault(djinn: Djinn, server: ServerAddress) -> None:
    answer = djinn.sync.init()
    [vault] = answer.vaults
    assert (vault.name, vault.scope) == ("shared", djinn.home.shared.id)
    assert answer.applied and answer.added == ["shared"] and not answer.adopted
    again = djinn.sync.init()
    assert not again.applied and not again.added and again.vaults == answer.vaults


def test_a_home_that_joins_adopts_the_shared_vault_and_loses_nothing(
    djinn: Djinn, server: ServerAddress, tmp_path: Path, home_template: Path
) -> None:
    djinn.sync.init()
    joining = another_home(tmp_path, home_template)
    before, root = joining.home.shared.id, joining.home.shared.root
    fill(root, 3)
    (root / "plain.md").write_text("# Plain\n\nkettle without an id\n")
    joining.index()
    joining.rate(useful=["Plain"])
    [score] = joining.scores.show("Plain").scores
    notes = {path: path.read_bytes() for path in root.rglob("*.md")}
    answer = joining.sync.init()
    [adopted] = answer.adopted
    own = djinn.home.shared.id
    assert (adopted.name, adopted.before, adopted.scope) == ("shared", before, own)
    assert Home(joining.home.root).shared.id == own != before
    reopened = Djinn(Home(joining.home.root))
    report = reopened.index()
    assert (report.added, report.removed, report.embedded) == (0, 0, 0)
    [kept] = reopened.scores.show("Plain").scores
    assert (kept.memory, kept.record) == (f"{own}/plain.md", score.record)
    assert score.record.useful == 1
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == notes
    assert reopened.sync.init().adopted == []


def test_personal_vaults_are_never_joined_by_their_names(
    djinn: Djinn, server: ServerAddress, tmp_path: Path, home_template: Path
) -> None:
    joining = another_home(tmp_path, home_template)
    joining.home.edit((("vaults", "me", "id"), str(uuid4())))
    for home in (djinn.home, joining.home):
        home.edit((("sync", "vaults"), ["shared", "me"]))
    Djinn(Home(djinn.home.root)).sync.init()
    answer = Djinn(Home(joining.home.root)).sync.init()
    assert [adopted.name for adopted in answer.adopted] == ["shared"]
    assert answer.added == ["me"]
    status = Djinn(Home(joining.home.root)).sync.status()
    assert [vault.name for vault in status.vaults] == ["shared", "me"]
    assert [vault.name for vault in status.others] == ["me"]


def test_another_model_is_refused_until_the_server_is_changed(
    djinn: Djinn, server: ServerAddress, home_template: Path, tmp_path: Path
) -> None:
    djinn.sync.init()
    joining = another_home(tmp_path, home_template)
    joining.home.edit((("embedding", "provider"), "auto"))
    joining = Djinn(Home(joining.home.root))
    with pytest.raises(Refused, match=r"vectors of the model hashing-128-1, and this home uses"):
        joining.sync.init()
    changed = joining.sync.migrate(change_model=True)
    assert changed.model_before == "hashing-128-1" and changed.model.startswith("minilm-")
    with closing(connect(server)) as connection:
        assert connection.execute("select dimensions from server").fetchone() == (384,)
    assert joining.sync.init().adopted


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "no server is named"),
        ({"url": "localhost"}, "write postgresql://"),
        ({"url": "postgresql://me:pw@h/d"}, "holds a password"),
        ({"url": "postgresql://me:a/pw@h/d"}, "write postgresql://"),
        ({"url": "postgresql://h/d", "embedded": True}, "cannot be combined with an address"),
    ],
)
def test_an_address_that_cannot_be(djinn: Djinn, fields: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        djinn.sync.init(**fields)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("parameter", ["foo=bar", "sslmode=strict"])
def test_a_wrong_parameter_is_blamed_on_its_source(home: Home, run: Run, parameter: str) -> None:
    url = f"postgresql://127.0.0.1:1/memory?{parameter}"
    option = run("sync", "init", "--url", url, home=home.root)
    variable = run("sync", "init", home=home.root, DJINN_POSTGRES_URL=url)
    home.edit((("sync", "url"), url))
    home.trust(Home(home.root).untrusted)
    setting = run("sync", "status", home=home.root)
    for done, source in ((option, "--url"), (variable, URL), (setting, "sync.url")):
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert [name for name in ("--url", URL, "sync.url") if name in done.stderr] == [source]


def test_a_server_that_is_down_changes_nothing(djinn: Djinn) -> None:
    before = djinn.home.config_path.read_bytes()
    with pytest.raises(Unavailable, match="does not answer"):
        djinn.sync.init(url="postgresql://127.0.0.1:1/memory")
    assert djinn.home.config_path.read_bytes() == before


def test_a_removed_agent_leaves_the_server(home: Home, server: ServerAddress, run: Run) -> None:
    run("agent", "add", "hal", home=home.root)
    Home(home.root).edit((("sync", "vaults"), ["shared", "hal"]))
    (home.root / "vaults" / "hal" / "a.md").write_text("# A\n\nkettle\n")
    with Djinn(Home(home.root)) as djinn:
        djinn.sync.init()
        djinn.sync.run()
        assert [vault.notes for vault in djinn.sync.status().vaults] == [0, 1]
    down = "postgresql://127.0.0.1:1/memory"
    failed = run("agent", "remove", "hal", "--yes", home=home.root, DJINN_POSTGRES_URL=down)
    assert failed.returncode == 5 and "does not answer" in failed.stderr
    up = server.conninfo
    with locked(home):
        busy = run("agent", "remove", "hal", "--yes", home=home.root, DJINN_POSTGRES_URL=up)
    assert busy.returncode == 5 and "another djinn process" in busy.stderr
    assert "hal" in Home(home.root).config.agents
    done = run("agent", "remove", "hal", "--yes", home=home.root, DJINN_POSTGRES_URL=up)
    assert done.returncode == 0
    with closing(connect(server)) as connection:
        rows = connection.execute(
            "select (select count(*) from scopes), (select count(*) from notes), "
            "(select count(*) from index_memories), (select count(*) from revisions)"
        ).fetchone()
    assert rows is not None and rows[:3] == (1, 0, 0)
    assert Home(home.root).config.sync.vaults == ["shared"]
    assert (home.root / "vaults" / "hal" / "a.md").exists()


def test_a_changed_model_is_filled_again(
    djinn: Djinn, server: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(djinn.home.shared.root, 3)
    djinn.index()
    djinn.sync.init()
    djinn.sync.run()

    def vectors() -> object:
        with closing(connect(server)) as connection:
            return connection.execute(
                "select count(*) filter (where vector is not null), count(*), "
                "(select dimensions from server), "
                "(select count(*) from pg_indexes where indexname = 'index_windows_waiting' "
                "and schemaname = current_schema()) "
                "from index_windows"
            ).fetchone()

    filled = vectors()
    with closing(connect(server)) as connection:
        connection.execute(
            "create index near on index_windows using hnsw "
            "((vector::halfvec(128)) halfvec_cosine_ops)"
        )
        connection.execute("update server set identity = 'other-1'")
    changed = djinn.sync.migrate(change_model=True)
    assert changed.vectors_removed >= 3 and changed.model == "hashing-128-1"
    emptied = vectors()
    assert isinstance(emptied, tuple) and emptied[0] == 0 and emptied[3] == 1
    monkeypatch.setattr(postgres_vectors, "EXACT_WINDOWS", 3)
    djinn.sync.backfill()
    assert vectors() == filled
    with closing(connect(server)) as connection:
        near = postgres_vectors.near_index(UUID(djinn.home.shared.id))
        assert connection.execute("select to_regclass(%s)::text", (near,)).fetchone() == (near,)
    djinn.home.edit((("embedding", "provider"), "none"))
    with pytest.raises(Unavailable, match="no embedding model; run `djinn config set embedding"):
        Djinn(Home(djinn.home.root)).sync.migrate(change_model=True)


def test_a_change_of_the_model_is_confirmed_only_if_there_is_one(
    djinn: Djinn, server: ServerAddress, run: Run
) -> None:
    djinn.facts.set(category="lamp", key="colour", value="green", shared=True)
    djinn.sync.init()
    djinn.sync.run()

    def migrate(*options: str) -> str:
        words = ["sync", "migrate", "--change-model", *options]
        done = run(*words, home=djinn.home.root, DJINN_POSTGRES_URL=server.conninfo)
        return f"{done.returncode} {done.stdout}{done.stderr}"

    assert migrate().startswith("0") and "its model is hashing-128-1 already" in migrate()
    with closing(connect(server)) as connection:
        connection.execute("update server set identity = 'other-1'")
    asked = migrate()
    assert asked.startswith("2") and "nobody can confirm this" in asked
    assert re.search(r"from the model other-1 to hashing-128-1, and \d+ vectors of other-1", asked)
    assert "would change its model to hashing-128-1" in migrate("--dry-run")
    assert djinn.sync.status().model == "other-1"
    assert "of other-1 removed" in migrate("--yes")
    assert djinn.sync.status().model == "hashing-128-1"


def test_a_server_that_takes_the_place_of_the_embedded_one(
    home: Home, postgres: DatabaseServer, empty: ServerAddress, run: Run
) -> None:
    assert postgres.server, "the address of a cluster is not known here"
    assert run("sync", "init", "--embedded", home=home.root).returncode == 0
    # The address in the settings has no password, so that the test's server may be used.
    parts = conninfo_to_dict(empty.conninfo)
    url = f"postgresql:///{parts['dbname']}?host={parts['host']}&port={parts['port']}"
    done = run("sync", "init", "--url", f"{url}&user={parts['user']}", home=home.root)
    assert done.returncode == 0, done.stderr
    assert f"still in {home.state / 'postgres'}" in done.stderr
    again = run("sync", "init", home=home.root)
    assert "still in" not in again.stderr


@pytest.mark.parametrize("command", [("run",), ("status",), ("init",)])
def test_a_server_that_is_not_there_is_not_created(
    home: Home, tmp_path: Path, run: Run, home_template: Path, command: tuple[str, ...]
) -> None:
    other = Home(Path(shutil.copytree(home_template, tmp_path / "other", symlinks=True)))
    before = sorted(other.root.rglob("*"))
    for url in ("embedded", f"embedded:{other.root}"):
        home.edit((("sync", "url"), url))
        home.trust(Home(home.root).untrusted)
        own = sorted(home.state.glob("postgres*"))
        refused = run("sync", *command, home=home.root)
        assert refused.returncode == 5, refused
        assert re.search(
            r"the Postgres server in \S+/postgres is not there; restore the folder, "
            r"or (run|pass) .*--embedded.* to create a new server inside this home",
            refused.stderr.replace("\n", " "),
        ), refused.stderr
        assert sorted(other.root.rglob("*")) == before
        assert sorted(home.state.glob("postgres*")) == own == []


def test_a_home_joins_no_server_that_is_not_there(
    home: Home, tmp_path: Path, run: Run, home_template: Path
) -> None:
    other = Home(Path(shutil.copytree(home_template, tmp_path / "other", symlinks=True)))
    before = sorted(other.root.rglob("*"))
    url = f"embedded:{other.root}"
    refused = run("sync", "init", "--url", url, home=home.root)
    assert refused.returncode == 5 and "is not there" in refused.stderr, refused
    assert sorted(other.root.rglob("*")) == before
    assert Home(home.root).config.sync.url is None


def test_programs_in_a_folder_that_only_their_owner_can_enter(
    home: Home, tmp_path: Path, spawn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    package = programs().parent.parent
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.exists():
            other = shutil.ignore_patterns("pginstall", "include", "*.a")
            shutil.copytree(folder, closed / folder.name, symlinks=True, ignore=other)
    monkeypatch.setenv("PYTHONPATH", str(closed))
    done = spawn("sync", "init", "--embedded", home=home.root)
    assert done.returncode == 0, done.stderr
    assert str(closed) in (home.state / "postgres" / "postmaster.opts").read_text()


def test_row_level_security_holds_for_vaults_that_come_later(
    djinn: Djinn, postgres: DatabaseServer, server: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert postgres.server, "the extensions of a cluster stay as they are"
    name = server.name.rpartition("/")[2]
    postgres.execute(f"create role owner login; alter database {name} owner to owner")
    with closing(connect(server)) as connection:
        connection.execute("create extension vector; alter schema public owner to owner")
    try:
        monkeypatch.setenv(URL, make_conninfo(server.conninfo, user="owner"))
        assert djinn.sync.init(rls=True).row_security
        djinn.home.edit((("sync", "vaults"), ["shared", "me"]))
        answer = Djinn(Home(djinn.home.root)).sync.init()
        assert answer.added == ["me"] and len(answer.vaults) == 2
    finally:
        with closing(connect(server)) as connection:
            connection.execute("drop owned by owner cascade")
            connection.execute(f"alter database {name} owner to djinn")
        postgres.execute("drop role owner")


def test_a_role_without_a_grant_is_told_what_to_ask_for(
    djinn: Djinn,
    postgres: DatabaseServer,
    server: ServerAddress,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    home_template: Path,
) -> None:
    assert postgres.server, "the roles of a cluster stay as they are"
    djinn.sync.init(rls=True)
    role = "o'hara"
    with closing(connect(server)) as owner:
        owner.execute(f'create role "{role}" login'.encode())
    try:
        monkeypatch.setenv(URL, make_conninfo(server.conninfo, user=role))
        joining = another_home(tmp_path, home_template)
        joining.home.edit((("vaults", "me", "id"), str(uuid4())), (("sync", "vaults"), ["me"]))
        joining = Djinn(Home(joining.home.root))
        with pytest.raises(Refused, match="vault me is not granted to the role") as caught:
            joining.sync.init()
        grant = re.search(r"`(insert into role_scopes .*)`", str(caught.value))
        assert grant
        with closing(connect(server)) as owner:
            owner.execute(grant[1].encode())
        assert joining.sync.init().added == ["me"]
        with closing(connect(server)) as owner:
            owner.execute("delete from role_scopes where role_name = %s", (role,))
        with pytest.raises(Refused, match="vault me is not granted to the role"):
            joining.sync.init()
    finally:
        with closing(connect(server)) as owner:
            owner.execute(f'drop owned by "{role}" cascade; drop role "{role}"'.encode())


def test_no_server_is_left_behind(home: Home, spawn: Run) -> None:
    done = spawn("sync", "init", "--embedded", home=home.root)
    assert done.returncode == 0, done.stderr
    server = EmbeddedServer(home.state / "postgres")
    until = time.monotonic() + 30
    while server.accepts():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_watch_says_that_it_watches_and_stops_on_ctrl_c(
    djinn: Djinn, server: ServerAddress, as_json: bool
) -> None:
    djinn.sync.init()
    options = ["--json"] if as_json else []
    watch = start(djinn.home, "sync", "run", "--watch", *options)
    assert watch.stderr and "Ctrl-C" in watch.stderr.readline()
    watch.send_signal(signal.SIGINT)
    out, _ = watch.communicate()
    assert watch.returncode == 0
    assert "error" not in out


@pytest.mark.soak
def test_a_watch_goes_on_after_the_server_was_stopped(
    djinn: Djinn, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    djinn.home.edit((("sync", "seconds"), 1))
    with running() as databases:
        monkeypatch.setenv(URL, databases.address(databases.create()).conninfo)
        Djinn(Home(djinn.home.root)).sync.init()
        watch = start(djinn.home, "sync", "run", "--watch")
        try:
            assert watch.stderr and watch.stdout
            assert "Ctrl-C" in watch.stderr.readline()
            databases.server.release()
            assert watch.stderr.readline().startswith("warning: ")
            (shared / "a.md").write_text("# Written meanwhile\n")
            databases.server.start()
            assert "1 file sent" in watch.stdout.readline()
            watch.send_signal(signal.SIGINT)
            _, err = watch.communicate(timeout=HANG)
        finally:
            watch.kill()
        assert watch.returncode == 0
        assert all(line.startswith("warning: ") for line in err.splitlines())


def test_nothing_is_sent_unless_asked(home: Home, run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as spy:
        spy.setblocking(False)
        url = f"postgresql://127.0.0.1:{spy.getsockname()[1]}/memory"
        home.edit((("sync", "url"), url))
        home.trust(Home(home.root).untrusted)
        for command in (
            "remember lesson Lamp white --shared", "index", "search lamp", "recall lamp", "wake",
            "maintain", "status", "sleep", "memory list", "agent list", "config trust --list",
        ):  # fmt: skip
            assert run(*command.split(), home=home.root).returncode in (0, 1, 2), command
        with pytest.raises(BlockingIOError):
            spy.accept()


def test_a_cloned_server_is_not_run(djinn: Djinn) -> None:
    (djinn.home.state / "postgres").mkdir(parents=True)
    with pytest.raises(Refused, match="holds a server that this home does not use"):
        djinn.sync.init(embedded=True)


def test_a_vault_without_a_uuid_stays_here(djinn: Djinn, server: ServerAddress) -> None:
    djinn.home.edit((("vaults", "shared", "id"), "mine"))
    with pytest.raises(Refused, match=r"set vaults\.shared\.id"):
        Djinn(Home(djinn.home.root)).sync.init()


def test_status_names_what_is_missing(
    djinn: Djinn, server: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DjinnError, match="has no tables of djinn"):
        djinn.sync.status()
    djinn.sync.init()
    djinn.home.edit((("vaults", "shared", "id"), str(uuid4())))
    status = Djinn(Home(djinn.home.root)).sync.status()
    assert (status.source, status.unregistered) == (URL, ["shared"])
    assert status.extensions["vector"] and not status.row_security
