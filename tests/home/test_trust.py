"""A home reaches nothing that its user did not allow."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.embedding import cross_encoder, torch_model
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import ConfigError, Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.home.setup import init
from djinn_memory.home.trust import Endpoint
from djinn_memory.store.index import open_index
from djinn_memory.store.postgres.servers import server_address
from djinn_memory.store.vector_cache import EmbeddingCache
from tests.conftest import Run
from tests.embedding.tiny import tiny_model
from tests.indexing.vaults import fill
from tests.servers import ModelServer

KEY = "sk-very-secret-0123456789"


def hostile(folder: Path, server: ModelServer, *, provider: str = "ollama") -> Home:
    """A home as somebody else put it on the net, its index and all."""
    made, _ = init(folder)
    fill(made.root / "vaults" / "shared", 5)
    made.edit((("embedding", "provider"), "hashing"))
    Djinn(made).index()
    recipe = {"provider": provider, "model": "nomic-embed-text", "url": server.url}
    connection = open_index(made.index_path)
    connection.execute("update space set recipe = ?", (json.dumps(recipe),))
    connection.close()
    url = server.url + ("/v1" if provider == "openai" else "")
    made.edit(
        (("embedding", "provider"), provider),
        (("embedding", "model"), "nomic-embed-text"),
        (("embedding", "url"), url),
        (("embedding", "key_env"), "PATH"),
        (("llm", "model"), "spy"),
        (("llm", "url"), f"{server.url}/v1"),
        (("search", "rerank"), str(folder)),
    )
    return Home(made.root)


COMMANDS = (
    ["index"],
    ["index", "--rebuild"],
    ["memory", "search", "kettle"],
    ["memory", "search", "kettle", "--mode", "meaning", "--explain"],
    ["memory", "list"],
    ["memory", "show", "note-00001.md"],
    ["memory", "stats"],
    ["status"],
    ["config", "show"],
    ["vault", "list"],
    ["config", "trust", "--list"],
    ["config", "trust"],
)


@pytest.mark.few(1)
@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_nothing_is_sent_from_a_home_that_was_cloned(
    tmp_path: Path, server: ModelServer, run: Run, provider: str
) -> None:
    original = hostile(tmp_path / "original", server, provider=provider)
    clone = tmp_path / "clone"
    shutil.copytree(original.root, clone)
    quick = {"DJINN_EMBEDDING__THREADS": "1"}
    for command in COMMANDS:
        done = run(*command, home=clone, OPENAI_API_KEY=KEY, **quick)
        assert done.returncode in (0, 1, 2), (command, done.stderr)
        assert KEY not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    assert server.asked == []
    told = run("memory", "search", "kettle", home=clone)
    assert "djinn config trust" in told.stderr
    assert server.url in told.stderr
    assert told.returncode == 0


def test_what_is_trusted_is_used_and_what_changes_is_asked_anew(
    tmp_path: Path, server: ModelServer, run: Run
) -> None:
    home = hostile(tmp_path / "home", server)
    home.edit((("search", "rerank"), None), (("embedding", "key_env"), None))
    nobody = run("config", "trust", home=home.root)
    assert (nobody.returncode, "--yes" in nobody.stderr) == (2, True)
    done = run("config", "trust", "--yes", "--json", home=home.root)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [one["use"] for one in answer["trusted"]] == ["embedding", "llm"]
    assert answer["waiting"] == []
    home = Home(home.root)
    assert Djinn(home).index().embedded > 0
    asked = len(server.asked)
    assert asked > 0
    home.edit((("embedding", "url"), f"{server.url}/other"))
    assert [one.use for one in home.untrusted] == ["embedding"]
    assert home.config.embedding.provider == "auto"
    home.edit((("embedding", "url"), server.url))
    assert home.untrusted == []
    revoked = run("config", "trust", "--revoke", home=home.root)
    assert revoked.returncode == 0
    assert "waiting  embedding provider ollama with model nomic-embed-text" in revoked.stdout
    assert Djinn(Home(home.root)).search("kettle").mode == "words"
    assert len(server.asked) == asked


def test_working_memory_goes_to_no_server_of_a_clone(home: Home, run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as spy:
        spy.setblocking(False)
        url = f"redis://127.0.0.1:{spy.getsockname()[1]}"
        home.edit((("working_memory",), url), (("working", "key_env"), "PATH"))
        assert run("session", "working", "set", "plan", "swim", home=home.root).returncode == 0
        for command in (
            "session working get plan",
            "session working list --json",
            "maintain",
            "doctor",
        ):
            done = run(*command.split(), home=home.root)
            assert "working_memory provider redis at redis://" in done.stderr + done.stdout
        with pytest.raises(BlockingIOError):
            spy.accept()
    home.trust(home.untrusted)
    assert Home(home.root).config.working_memory == url
    # Another key, and another address, are asked for anew.
    for change in ((("working", "key_env"), "HOME"), (("working_memory",), f"{url}/2")):
        home.edit(change)
        assert Home(home.root).config.working_memory is None
        assert Home(home.root).config.working.key_env is None


@pytest.mark.parametrize("url", ["postgresql://db.example.com/notes", "embedded"])
def test_a_clone_syncs_with_no_server(home: Home, url: str) -> None:
    home.edit((("sync", "url"), url), (("sync", "key_env"), "PATH"))
    changed = Home(home.root)
    assert (changed.config.sync.url, changed.config.sync.key_env) == (None, None)
    with pytest.raises(Refused, match=r"sync provider postgres at .* is not trusted"):
        server_address(changed)
    changed.trust(changed.untrusted)
    assert Home(home.root).config.sync.url == url


def test_another_home_is_not_trusted_by_that(tmp_path: Path, server: ModelServer) -> None:
    home = hostile(tmp_path / "home", server)
    home.trust(home.untrusted)
    shutil.copytree(home.root, tmp_path / "copy")
    assert home.untrusted == []
    assert len(Home(tmp_path / "copy").untrusted) == 3


def test_the_users_own_settings_need_no_trust(
    tmp_path: Path, server: ModelServer, user_folder: Path, run: Run
) -> None:
    for key, value in (
        ("provider", "ollama"), ("model", "nomic-embed-text"), ("url", server.url),
    ):  # fmt: skip
        done = run("config", "set", "--user", f"embedding.{key}", value)
        assert done.returncode == 0, done.stderr
    made, _ = init(tmp_path / "home")
    fill(made.root / "vaults" / "shared", 3)
    assert Djinn(made).index().embedded > 0
    assert server.asked
    assert made.untrusted == []
    # A home may not turn what is the user's own elsewhere.
    made.edit((("embedding", "url"), "http://127.0.0.1:9"))
    assert [one.url for one in made.untrusted] == ["http://127.0.0.1:9"]
    assert made.config.embedding.url == server.url
    made.edit((("embedding", "url"), None), (("embedding", "key_env"), "PATH"))
    assert [one.key_env for one in made.untrusted] == ["PATH"]
    assert made.config.embedding.key_env is None


def test_the_environment_is_the_users_own(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_EMBEDDING__PROVIDER", "ollama")
    monkeypatch.setenv("DJINN_EMBEDDING__URL", server.url)
    made, _ = init(tmp_path / "home")
    assert made.untrusted == []
    assert made.config.embedding.url == server.url
    made.edit((("embedding", "model"), "all-minilm"))
    assert made.untrusted == [Endpoint("embedding", "ollama", "all-minilm", server.url)]


@pytest.mark.parametrize("key", ["agents", "vaults", "state_dir"])
def test_what_is_a_homes_alone_does_not_stand_in_the_users_settings(
    home: Home, user_folder: Path, run: Run, key: str
) -> None:
    user_folder.mkdir()
    (user_folder / "config.yaml").write_text(f"{key}: x\n")
    done = run("status", home=home.root)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert key in done.stderr


def test_settings_of_the_user_lie_below_the_homes(home: Home, user_folder: Path) -> None:
    user_folder.mkdir()
    (user_folder / "config.yaml").write_text("search: {limit: 3, per_note: 1}\n")
    home.edit((("search", "limit"), 7))
    assert (home.config.search.limit, home.config.search.per_note) == (7, 1)


@pytest.mark.parametrize("text", ["{", "[]", '{"/a": [{"use": "spy"}]}', "\x00"])
def test_a_broken_list_of_trust_is_one_line(
    tmp_path: Path, server: ModelServer, user_folder: Path, text: str
) -> None:
    home = hostile(tmp_path / "home", server)
    user_folder.mkdir()
    (user_folder / "trusted.json").write_text(text)
    with pytest.raises(ConfigError, match=r"trusted\.json cannot be read") as caught:
        home.config  # noqa: B018
    assert "\n" not in str(caught.value)


def test_a_home_that_reaches_nothing(home: Home, run: Run) -> None:
    done = run("config", "trust", home=home.root)
    assert done.returncode == 0
    assert done.stdout.startswith("Nothing to trust")


def test_a_cache_that_was_cloned_runs_no_sql(home: Home, shared: Path, tmp_path: Path) -> None:
    fill(shared, 1)
    Djinn(home).index()
    victim = tmp_path / "victim.db"
    text = f"128]); attach '{victim}' as v; create table v.x (y); select ((1"
    cache = EmbeddingCache(home.embeddings_path)
    cache._connection.execute("update identity set dimensions = ?", (text,))
    cache.close()
    home.index_path.unlink()
    with suppress(Exception):
        Djinn(home).index(rebuild=True)
    assert not victim.exists()
    assert Djinn(home).search("kettle").mode == "hybrid"


def test_a_background_run_is_djinns_own_code(home: Home, shared: Path, tmp_path: Path) -> None:
    fill(shared, 1)
    (home.root / "djinn_memory").mkdir()
    (home.root / "djinn_memory" / "__init__.py").write_text("")
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w')\n"
    (home.root / "djinn_memory" / "__main__.py").write_text(code)
    # The console script, unlike `-m`, does not look for modules in the folder it is run from.
    script = "import sys; from djinn_memory.cli.start import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, "index", "--background"],
        cwd=home.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for _ in range(600):
        if ran.exists() or home.embeddings_path.exists():
            break
        time.sleep(0.1)
    assert not ran.exists()
    assert home.embeddings_path.exists()


def test_a_log_that_was_cloned_leads_nowhere(
    home: Home, shared: Path, tmp_path: Path, run: Run
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (home.state / "index.log").symlink_to(victim)
    assert run("index", "--background", home=home.root).returncode == 0
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["index.db", "embeddings.db"])
def test_a_database_that_was_cloned_leads_nowhere(
    home: Home, shared: Path, tmp_path: Path, run: Run, name: str
) -> None:
    fill(shared, 1)
    (home.state / name).symlink_to(tmp_path / "victim.db")
    done = run("index", home=home.root)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "is a symbolic link" in done.stderr
    assert not (tmp_path / "victim.db").exists()


NAME = "cross-encoder/ms-marco"


@pytest.mark.soak
def test_a_folder_does_not_stand_in_for_a_model_by_its_name(
    home: Home, user_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the user's own settings name is a model of the hub, also where a clone has a folder."""
    (home.root / NAME).mkdir(parents=True)
    (home.root / NAME / "config.json").write_text("{}")
    names = []

    def download_model(name: str) -> Path:
        names.append(name)
        raise Unavailable("no network")

    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(torch_model, "download_model", download_model)
    monkeypatch.setattr(cross_encoder, "download_model", download_model)
    monkeypatch.chdir(home.root)
    embedder = LocalEmbedder(EmbeddingConfig("sentence-transformers", NAME))
    with pytest.raises(Unavailable, match="no network"):
        embedder.embed(["x"])
    user_folder.mkdir()
    (user_folder / "config.yaml").write_text(f"search: {{rerank: {NAME}}}\n")
    reranker = ModelRegistry(Home(home.root)).reranker
    assert reranker
    with pytest.raises(Unavailable, match="no network"):
        reranker.prepare()
    assert names == [NAME, NAME]


def test_a_folder_that_is_typed_is_kept_whole(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    tiny_model(tmp_path / "made").rename(tmp_path / "models" / "mine")
    Djinn(home).use_model("./models/mine")
    assert home.config.embedding.model == str(tmp_path / "models" / "mine")


def test_a_key_of_the_users_goes_to_no_other_provider(
    home: Home, user_folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", KEY)
    user_folder.mkdir()
    url = f"{server.url}/v1"
    own = f"{{provider: openai, model: mine, url: '{url}', key_env: MINE, batch: 4}}"
    (user_folder / "config.yaml").write_text(f"embedding: {own}\n")
    home.edit((("embedding", "provider"), "ollama"), (("embedding", "model"), "all-minilm"))
    home.trust(home.untrusted)
    assert home.trusted == [Endpoint("embedding", "ollama", "all-minilm")]
    embedding = home.config.embedding
    assert (embedding.url, embedding.key_env, embedding.batch) == (None, None, 4)
    Djinn(home).use_model("openai:other")
    embedding = home.config.embedding
    assert (embedding.url, embedding.key_env) == (url, "MINE")
    assert [asked.headers["authorization"] for asked in server.asked] == [f"Bearer {KEY}"]
    assert home.untrusted == []


def test_a_password_in_a_url_is_not_told() -> None:
    told = str(Endpoint("embedding", "ollama", url="http://bob:hunter2@localhost:1/x@y"))
    assert told == "embedding provider ollama at http://***@localhost:1/x@y"
