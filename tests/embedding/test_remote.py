"""Each provider against a real server, well and ill: in a process, and as a user runs djinn."""

from __future__ import annotations

import re
import shutil
import time
import traceback
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.embedder import create_embedder
from djinn_memory.embedding.remote import QUERY_TRIES, RemoteEmbedder
from djinn_memory.errors import ConfigError, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.store.sqlite import load_vectors
from djinn_memory.system.http_client import TRIES
from tests.conftest import Run
from tests.indexing.vaults import fill
from tests.servers import BROKEN, BROKEN_VECTORS, KEY, ModelServer, free_port, serving, without_key

pytestmark = pytest.mark.usefixtures("keys")

TIMEOUT = 1.0
SLACK = 10
"""Seconds in which a busy machine does what takes a moment; a wait without bound takes longer."""
PROVIDERS = ("ollama", "openai")
MODELS = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small"}
DIMENSIONS = {"ollama": 768, "openai": 1536}
MADE_WELL: dict[str, list[Any]] = {}
"""The index of `write`'s notes after an embedding without trouble, by provider."""


def configure(home: Home, **embedding: Any) -> None:
    """Set the provider of a home, as a user who trusts it has."""
    home.edit(*((("embedding", name), value) for name, value in embedding.items()))
    home.trust(home.untrusted)


def settings(provider: str, server: ModelServer, **others: Any) -> dict[str, Any]:
    server.dimensions = DIMENSIONS[provider]
    url = server.url + ("/v1" if provider == "openai" else "")
    return {"provider": provider, "url": url, "timeout": TIMEOUT, "batch": 4} | others


def remote(provider: str, server: ModelServer, **others: Any) -> RemoteEmbedder:
    embedder = create_embedder(EmbeddingConfig(**settings(provider, server, timeout=10.0) | others))
    assert isinstance(embedder, RemoteEmbedder)
    return embedder


def write(home: Home, notes: int = 6) -> None:
    fill(home.root / "vaults" / "shared", notes, words=30)


def dump(home: Home) -> list[Any]:
    """The content of the index, in an order of its own."""
    connection = apsw.Connection(str(home.index_path))
    assert connection.execute("pragma integrity_check").get == "ok"
    load_vectors(connection)
    windows = connection.execute(
        "select path, window.start, chunk.text, window.hash, embedded, "
        "(select embedding from vectors_1 where window_id = window.id) "
        "from window join chunk on chunk.id = chunk_id "
        "join memory on memory.id = chunk.memory_id join note on note.id = memory.note_id "
        "order by path, window.start, window.hash"
    ).fetchall()
    connection.close()
    return windows


def check_files(home: Home) -> None:
    for path in home.root.rglob("*"):
        if path.is_file():
            assert without_key(path.read_bytes()), path


TROUBLES = [
    # One provider for each trouble in every run, the whole matrix in a soak.
    pytest.param(provider, mood, marks=[pytest.mark.soak] if (row - column) % 2 else [])
    for row, mood in enumerate([*BROKEN, *BROKEN_VECTORS])
    for column, provider in enumerate(PROVIDERS)
]


@pytest.mark.few(4)
@pytest.mark.parametrize(("provider", "mood"), TROUBLES)
def test_a_server_that_misbehaves(
    home: Home, server: ModelServer, provider: str, mood: str
) -> None:
    write(home)
    configure(home, **settings(provider, server))
    server.mood = mood
    djinn = Djinn(home)
    # The notes are read now, so that only what the server takes is measured.
    assert djinn.search("lantern", mode="words").hits and not server.asked
    began = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        djinn.index()
    assert time.monotonic() - began < TIMEOUT + SLACK
    line = str(caught.value)
    assert caught.value.exit_code == 5
    assert line.startswith(f"{provider} at 127.0.0.1:{server.server_port} ")
    assert line.isprintable() and ";" in line
    assert without_key("".join(traceback.format_exception(caught.value)))
    assert 1 <= len(server.asked) <= TRIES

    began = time.monotonic()
    answer = djinn.search("lantern harbour")
    assert time.monotonic() - began < SLACK
    assert answer.hits and answer.mode == "words"
    assert answer.problems and all(without_key(problem.why) for problem in answer.problems)

    server.mood = ""
    djinn.close()
    # A busy machine may be slow to answer well.
    home.edit((("embedding", "timeout"), 30))
    djinn = Djinn(home)
    report = djinn.index()
    assert report.embedded and not report.problems
    assert djinn.search("lantern harbour").mode == "hybrid"
    djinn.close()

    whole = dump(home)
    assert all(embedded and vector for *_, embedded, vector in whole)
    check_files(home)
    if provider not in MADE_WELL:
        shutil.rmtree(home.state)
        again = Djinn(home)
        again.index()
        again.close()
        MADE_WELL[provider] = dump(home)
    assert whole == MADE_WELL[provider]


@pytest.mark.few(4)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("mood", ["never", "drip", "500", "echo 401", "429 soon", "dropped", "nan"])
def test_a_search_answers_by_words_in_time(
    home: Home, server: ModelServer, provider: str, mood: str
) -> None:
    write(home)
    configure(home, **settings(provider, server, timeout=30.0))
    Djinn(home).index()
    server.mood = mood
    before = len(server.asked)
    djinn = Djinn(home)
    began = time.monotonic()
    answer = djinn.search("lantern harbour")
    assert time.monotonic() - began < SLACK
    assert answer.hits and answer.mode == "words"
    (problem,) = answer.problems
    assert problem.what == "embedding" and problem.why.endswith("only keywords were searched")
    assert without_key(problem.why)
    assert len(server.asked) - before <= QUERY_TRIES


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("mood", "provider"),
    [
        ("never", "ollama"), ("500", "openai"), ("echo 401", "openai"),
        ("wrong dimension", "ollama"), ("cut off", "openai"),
    ],
)  # fmt: skip
def test_as_a_user_runs_it(
    home: Home, server: ModelServer, run: Run, provider: str, mood: str
) -> None:
    write(home)
    configure(home, **settings(provider, server, timeout=1.0))
    server.mood = mood
    began = time.monotonic()
    done = run("index", home=home.root)
    # Only that it does not hang: how fast a process starts is the machine's affair.
    assert time.monotonic() - began < 60
    assert done.returncode == 5
    assert len(re.findall("^error: ", done.stderr, re.M)) == 1
    assert "Traceback" not in done.stderr and not done.stdout

    answer = run("memory", "search", "lantern", home=home.root)
    assert answer.returncode == 0 and ".md" in answer.stdout
    assert "embedding" in answer.stderr
    server.mood = ""
    well = run("index", home=home.root)
    assert well.returncode == 0, well.stderr
    server.mood = mood
    ill = run("memory", "search", "lantern", home=home.root)
    assert ill.returncode == 0 and ".md" in ill.stdout
    assert "only keywords were searched" in " ".join(ill.stderr.split())
    for process in (done, answer, well, ill):
        assert without_key(process.stdout) and without_key(process.stderr)
    check_files(home)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nobody_listens_and_then_somebody_does(home: Home, run: Run, provider: str) -> None:
    port = free_port()
    with serving(port) as server:
        config = settings(provider, server)
    write(home)
    configure(home, **config)
    done = run("index", home=home.root)
    assert done.returncode == 5
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert f"{provider} at 127.0.0.1:{port} cannot be reached (connection refused); " in line
    assert line.endswith("or set embedding.url")
    with serving(port) as server:
        server.dimensions = DIMENSIONS[provider]
        assert run("index", home=home.root).returncode == 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_was_embedded_before_the_trouble_is_kept(
    home: Home, server: ModelServer, provider: str
) -> None:
    write(home, 150)
    configure(home, **settings(provider, server, batch=64, timeout=5.0))
    server.mood, server.ill_after = "400", 3
    djinn = Djinn(home)
    with pytest.raises(Unavailable):
        djinn.index()
    server.mood = ""
    report = djinn.index()
    assert 0 < report.embedded < report.windows
    djinn.close()
    assert all(embedded for *_, embedded, _ in dump(home))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_protocol(server: ModelServer, provider: str) -> None:
    embedder = remote(provider, server, query_prompt="q: ", document_prompt="d: ")
    texts = [f"tide {number}" for number in range(10)]
    vectors = embedder.embed(texts)
    assert vectors.shape == (10, DIMENSIONS[provider]) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.allclose(vectors[7], embedder.embed([texts[7]])[0])
    embedder.embed(["ebb"], query=True)
    sent = [request.body["input"] for request in server.asked]
    assert [len(part) for part in sent] == [4, 4, 2, 1, 1]
    assert sent[0][0] == "d: tide 0" and sent[-1] == ["q: ebb"]
    first = server.asked[0]
    assert first.headers["authorization"] == f"Bearer {KEY}"
    others = {k: v for k, v in first.body.items() if k not in ("model", "input")}
    assert first.body["model"] == MODELS[provider]
    if provider == "ollama":
        assert first.path == "/api/embed" and others == {"truncate": True}
    else:
        assert first.path == "/v1/embeddings" and others == {"encoding_format": "float"}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_texts_that_a_server_may_refuse(server: ModelServer, provider: str) -> None:
    embedder = remote(provider, server, document_prompt="")
    assert len(embedder.embed(["", "\ud800 x", "\0"])) == 3
    assert server.asked[0].body["input"] == [" ", "? x", "\0"]
    assert embedder.embed([]).shape == (0, DIMENSIONS[provider])


def test_vectors_come_back_in_the_order_of_their_index(server: ModelServer) -> None:
    embedder = remote("openai", server)
    right = embedder.embed(["one", "two", "three"])
    server.mood = "shuffled"
    assert np.array_equal(embedder.embed(["one", "two", "three"]), right)
    server.mood = "same index"
    with pytest.raises(Unavailable, match="1 vectors for 3 texts"):
        embedder.embed(["one", "two", "three"])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_dimensions_of_an_unknown_model_are_asked_for_once(
    server: ModelServer, provider: str
) -> None:
    embedder = remote(provider, server, model="mine:7b")
    server.dimensions = 200
    assert embedder.dimensions == embedder.dimensions == 200
    assert len(server.asked) == 1
    server.mood = "wrong dimension"
    with pytest.raises(Unavailable, match="vectors of 199 dimensions, not 200"):
        embedder.embed(["x"])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_fewer_dimensions_can_be_asked_for(server: ModelServer, provider: str) -> None:
    embedder = remote(provider, server, dimensions=256)
    assert embedder.dimensions == 256
    assert embedder.embed(["x"]).shape == (1, 256)
    assert server.asked[0].body["dimensions"] == 256


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [("nomic-embed-text:latest", 768), ("mxbai-embed-large", 1024), ("all-minilm:22m", 384)],
)
def test_known_models_need_no_server(model: str, dimensions: int) -> None:
    embedder = create_embedder(EmbeddingConfig(provider="ollama", model=model))
    assert embedder and embedder.dimensions == dimensions and embedder.ready
    assert re.fullmatch(rf"ollama-{model.split(':')[0]}[\w.-]*-[0-9a-f]{{16}}", embedder.identity)


def test_what_makes_another_space() -> None:
    def identity(**config: Any) -> str:
        embedder = create_embedder(EmbeddingConfig(**config))
        assert embedder
        return embedder.identity

    base = identity(provider="ollama")
    assert base == identity(provider="ollama", model="nomic-embed-text:latest")
    assert base == identity(provider="ollama", url="http://other:1", timeout=3.0, key_env="X")
    openai = identity(provider="openai")
    assert openai == identity(provider="openai", url="https://api.openai.com/v1/")
    different = [
        base,
        identity(provider="ollama", model="nomic-embed-text:v1"),
        identity(provider="ollama", dimensions=256),
        identity(provider="ollama", query_prompt=""),
        identity(provider="ollama", document_prompt="x"),
        openai,
        identity(provider="openai", url="http://localhost:1234/v1"),
        identity(provider="openai", model="nomic-embed-text"),
    ]
    assert len(set(different)) == len(different)


@given(st.text(min_size=1), st.text(), st.text())
def test_an_identity_is_one_word(model: str, query: str, document: str) -> None:
    config = EmbeddingConfig(
        provider="ollama", model=model, query_prompt=query, document_prompt=document
    )
    embedder = create_embedder(config)
    assert embedder and re.fullmatch(r"[\w.-]+", embedder.identity) and len(embedder.identity) < 120


def test_without_a_key(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OLLAMA_API_KEY")
    with pytest.raises(Unavailable, match=r"^openai at api\.openai\.com needs a key; set OPENAI_"):
        remote("openai", server, url=None).embed(["x"])
    with pytest.raises(Unavailable, match="needs a key; set MINE in the environment"):
        remote("ollama", server, key_env="MINE").embed(["x"])
    assert not server.asked
    # Servers of one's own want none, and are told none.
    for provider in PROVIDERS:
        remote(provider, server).embed(["x"])
    assert all("authorization" not in request.headers for request in server.asked)
    server.mood = "401"
    with pytest.raises(Unavailable, match=r"needs a key \(401\); set OPENAI_API_KEY"):
        remote("openai", server).embed(["x"])


def test_a_key_of_another_name(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", " another-key\n")
    remote("ollama", server, key_env="MINE").embed(["x"])
    assert server.asked[0].headers["authorization"] == "Bearer another-key"
    monkeypatch.setenv("MINE", "clé")
    with pytest.raises(Unavailable, match="MINE does not contain a valid key"):
        remote("ollama", server, key_env="MINE").embed(["x"])


def test_an_answer_can_be_wanted_sooner(server: ModelServer) -> None:
    embedder = remote("ollama", server, batch=1)
    server.mood, server.seconds = "slow", 0.2
    with pytest.raises(Unavailable):
        embedder.embed(["a text"] * 20, within=0.5)
    assert len(server.asked) < 20


def test_a_url_that_is_none(home: Home) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.url"):
        create_embedder(EmbeddingConfig(provider="ollama", url="localhost:11434"))
    with pytest.raises(ConfigError, match=r"embedding\.url: expected http://host:port"):
        configure(home, provider="ollama", url="localhost:11434")
