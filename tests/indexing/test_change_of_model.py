"""Another model: the old vectors answer until the new are whole, and going back costs nothing."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.registry import from_spec, parse_model, to_spec
from djinn_memory.errors import Refused, Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.indexing.refresh import sweep
from djinn_memory.models import Problem
from djinn_memory.search import source
from djinn_memory.store.index import fault, vectors
from tests.conftest import Run
from tests.indexing.content import content
from tests.indexing.vaults import fill
from tests.processes.commands import HANG, start
from tests.servers import ModelServer

NOTES = 12


CALIBRATION = 20
"""Requests that measure a model before its first vector is made: 80 texts, four at a time."""


def falls_ill(server: ModelServer) -> None:
    """Let one batch of windows pass, and fail from then on."""
    # A failure that is not tried again, so that no test waits.
    server.mood, server.ill_after = "redirect", len(server.asked) + CALIBRATION + 1


@pytest.fixture
def filled(home: Home, shared: Path) -> Home:
    fill(shared, NOTES)
    Djinn(home).index()
    return home


def to_server(home: Home, server: ModelServer) -> Djinn:
    home.edit(
        (("embedding", "provider"), "ollama"),
        (("embedding", "model"), "nomic-embed-text"),
        (("embedding", "url"), server.url),
        (("embedding", "batch"), 4),
        (("embedding", "timeout"), HANG),
    )
    home.trust(home.untrusted)
    return Djinn(home)


def spaces(djinn: Djinn) -> tuple[str | None, str | None]:
    found = vectors.serving(djinn.runtime.state.index), vectors.coming(djinn.runtime.state.index)
    one, two = (space.identity.split("-")[0] if space else None for space in found)
    return one, two


def test_the_old_vectors_answer_until_the_new_are_whole(filled: Home, server: ModelServer) -> None:
    before = Djinn(filled).search("kettle")
    assert before.mode == "hybrid"
    djinn = to_server(filled, server)
    falls_ill(server)
    with pytest.raises(Unavailable):
        djinn.index()
    assert spaces(djinn) == ("hashing", "ollama")
    between = Djinn(filled).search("kettle")
    assert (between.hits, between.mode, between.problems) == (before.hits, "hybrid", ())
    status = Djinn(filled).status()
    assert status.coming
    assert 0 < status.coming.embedded < status.coming.windows
    server.mood = ""
    done = Djinn(filled).index()
    assert 0 < done.embedded < done.windows
    assert spaces(Djinn(filled)) == ("ollama", None)
    after = Djinn(filled).search("kettle")
    assert (after.mode, after.problems) == ("hybrid", ())


def test_it_can_go_back_and_forth_without_embedding_again(
    filled: Home, server: ModelServer
) -> None:
    first = content(filled.index_path)
    to_server(filled, server).index()
    asked = len(server.asked)
    back = Djinn(filled)
    back.use_model("hashing")
    report = back.index()
    assert (report.embedded, report.reused) == (0, report.windows)
    again = content(filled.index_path)
    assert again == first
    forth = to_server(filled, server).index()
    assert (forth.embedded, forth.reused) == (0, forth.windows)
    assert len(server.asked) == asked


def test_to_go_back_half_way_drops_what_was_coming(filled: Home, server: ModelServer) -> None:
    djinn = to_server(filled, server)
    falls_ill(server)
    with pytest.raises(Unavailable):
        djinn.index()
    back = Djinn(filled)
    back.use_model("hashing")
    assert back.index().embedded == 0
    assert spaces(back) == ("hashing", None)
    server.mood = ""
    report = to_server(filled, server).index()
    assert 0 < report.reused < report.windows


def test_notes_that_change_half_way_are_whole_in_both(
    filled: Home, shared: Path, server: ModelServer
) -> None:
    djinn = to_server(filled, server)
    falls_ill(server)
    with pytest.raises(Unavailable):
        djinn.index()
    (shared / "new.md").write_text("a samovar on the sideboard\n")
    (shared / "note-00001.md").unlink()
    assert Djinn(filled).search("samovar").hits[0].path == "new.md"
    server.mood = ""
    Djinn(filled).index()
    found = Djinn(filled)
    assert found.memories.stats().pending == 0
    counted = found.runtime.state.index.execute("select count(*) from window").get
    space = vectors.serving(found.runtime.state.index)
    assert space
    assert (
        found.runtime.state.index.execute(f"select count(*) from vectors_{space.number}").get
        == counted
    )


def half_way(home: Home, server: ModelServer, batches: int) -> subprocess.Popen[str]:
    """An index run that has so many batches from the server and waits for the next."""
    to_server(home, server)
    server.hold(CALIBRATION + batches)
    process = start(home, "index", "--json")
    server.until_held()
    return process


def test_notes_that_go_half_way_leave_no_vector(filled: Home, server: ModelServer) -> None:
    """Of windows that the old model never saw, and the new one did."""
    shared = filled.named(["shared"])[0].root
    (shared / "long.md").write_text("# Long\n\n" + "a longer note than all others. " * 60)
    djinn = to_server(filled, server)
    falls_ill(server)
    with pytest.raises(Unavailable):
        djinn.index()
    (shared / "long.md").unlink()
    sweep(djinn.runtime.state, filled.vaults)
    assert fault(filled.index_path) is None
    server.mood = ""
    djinn.index()
    assert fault(filled.index_path) is None


def test_an_index_run_mends_what_earlier_versions_left(filled: Home) -> None:
    with Djinn(filled) as djinn:
        connection = djinn.runtime.state.index
        window = connection.execute("select min(id) from window").get
        connection.execute("update vectors_1_rowids set rowid = 999 where rowid = ?", (window,))
        connection.execute("drop trigger window_vectors_1")
    assert "vectors" in (fault(filled.index_path) or "")
    with Djinn(filled) as djinn:
        djinn.index()
        assert fault(filled.index_path) is None
        djinn.runtime.state.index.execute("delete from note")
    assert fault(filled.index_path) is None


def test_who_chooses_another_model_is_not_made_to_wait(
    home: Home, shared: Path, server: ModelServer
) -> None:
    fill(shared, NOTES)
    process = half_way(home, server, 1)
    other = Djinn(Home(home.root))
    other.use_model("hashing")
    server.go_on()
    out, _ = process.communicate(timeout=HANG)
    assert process.returncode == 1
    assert "another process chose a different model" in json.loads(out)["problems"][0]["why"]
    other.index()
    assert spaces(other) == ("hashing", None)


def test_a_kill_costs_only_the_batch(filled: Home, server: ModelServer) -> None:
    process = half_way(filled, server, 5)
    process.kill()
    process.communicate()
    server.go_on()
    left = Djinn(filled)
    assert spaces(left) == ("hashing", "ollama")
    assert left.search("kettle").mode == "hybrid"
    made = left.runtime.state.index.execute("select count(*) from window where coming").get
    assert made >= 20
    report = left.index()
    assert report.embedded <= report.windows - made
    assert spaces(left) == ("ollama", None)


def test_in_the_background(filled: Home, run: Run) -> None:
    done = run("index", "--model", "local", "--background", "--json", home=filled.root)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["process"] > 0
    for _ in range(10 * HANG):
        if spaces(Djinn(filled)) == ("minilm", None):
            break
        # Words alone in the moment in which the new model takes over.
        assert Djinn(filled).search("kettle").hits
        time.sleep(0.1)
    assert spaces(Djinn(filled)) == ("minilm", None)


def test_a_search_asks_the_model_that_made_the_vectors(
    filled: Home, shared: Path, server: ModelServer
) -> None:
    to_server(filled, server).index()
    djinn = Djinn(filled)
    djinn.use_model("hashing")
    asked = len(server.asked)
    result = Djinn(filled).search("kettle")
    assert (result.mode, result.problems) == ("hybrid", ())
    assert len(server.asked) == asked + 1
    filled.distrust()
    untrusted = Djinn(filled).search("kettle")
    assert untrusted.mode == "words"
    assert len(server.asked) == asked + 1


@pytest.mark.parametrize(
    ("named", "provider", "model"),
    [
        ("local", "local", None),
        ("hashing", "hashing", None),
        ("none", "none", None),
        ("ollama:all-minilm:33m", "ollama", "all-minilm:33m"),
        ("openai:text-embedding-3-small", "openai", "text-embedding-3-small"),
        ("sentence-transformers:BAAI/bge-small-en-v1.5", "sentence-transformers",
         "BAAI/bge-small-en-v1.5"),
        ("BAAI/bge-small-en-v1.5", "sentence-transformers", "BAAI/bge-small-en-v1.5"),
    ],
)  # fmt: skip
def test_a_model_is_named_in_a_word(named: str, provider: str, model: str | None) -> None:
    assert parse_model(named) == (provider, model)


@pytest.mark.parametrize("named", ["local", "hashing", "none"])
def test_a_model_of_this_machine_needs_no_trust(home: Home, named: str) -> None:
    djinn = Djinn(home)
    djinn.use_model(named)
    assert djinn.home.config.embedding.provider == named
    assert djinn.problems == []


@pytest.mark.parametrize("named", ["", " ", "ollama", "openai:", "local:x", "none:x"])
def test_a_word_that_names_no_model(home: Home, named: str) -> None:
    before = home.config_path.read_bytes()
    with pytest.raises(UsageError, match=r"^model "):
        Djinn(home).use_model(named)
    assert home.config_path.read_bytes() == before


def test_an_address_of_the_home_is_not_trusted_by_naming_a_model(
    home: Home, server: ModelServer
) -> None:
    home.edit((("embedding", "provider"), "ollama"), (("embedding", "url"), server.url))
    before = home.config_path.read_bytes()
    with pytest.raises(Refused, match="run `djinn config trust` to allow it"):
        Djinn(home).use_model("ollama:nomic-embed-text")
    assert home.config_path.read_bytes() == before
    assert home.config.embedding.provider == "auto"
    assert server.asked == []
    # Once the user trusted the address, another model there is theirs to name.
    home.trust(home.untrusted)
    Djinn(home).use_model("ollama:nomic-embed-text")
    assert home.config.embedding.model == "nomic-embed-text"
    assert home.untrusted == []


@pytest.mark.few(1)
@pytest.mark.parametrize("named", ["ollama:nomic-embed-text", "/no/such/model"])
def test_a_model_that_cannot_be_had_changes_nothing(home: Home, named: str) -> None:
    home.edit((("embedding", "timeout"), 1))
    before = home.config_path.read_bytes()
    with pytest.raises(Unavailable) as caught:
        Djinn(home).use_model(named)
    assert "\n" not in str(caught.value)
    assert home.config_path.read_bytes() == before
    assert home.trusted == []


def test_status_tells_of_a_model_that_waits(filled: Home, run: Run) -> None:
    home = filled
    run("config", "set", "embedding.provider", "local", home=home.root)
    shown = run("status", home=home.root).stdout
    assert "embedding local, hashing-128-1 answers\n" in shown
    assert "local takes over when it is complete; run `djinn index` to continue\n" in shown
    Djinn(Home(home.root)).index()
    assert "takes over" not in run("status", home=home.root).stdout


def test_a_search_that_reads_a_new_note_leaves_what_is_coming(
    filled: Home, shared: Path, server: ModelServer
) -> None:
    djinn = to_server(filled, server)
    falls_ill(server)
    with pytest.raises(Unavailable):
        djinn.index()
    before = Djinn(filled).status().coming
    # The old model gives this note its vector at once, and goes on answering.
    (shared / "new.md").write_text("a samovar on the sideboard\n")
    filled.edit((("search", "sweep_ms"), 5000))
    result = Djinn(filled).search("samovar")
    assert (result.hits[0].path, result.unembedded) == ("new.md", 0)
    assert spaces(Djinn(filled)) == ("hashing", "ollama")
    after = Djinn(filled).status().coming
    assert before and after
    assert after.embedded == before.embedded > 0


def test_a_search_brings_no_model_back_that_was_left(
    filled: Home, shared: Path, server: ModelServer
) -> None:
    """The new vectors take over while an older search is still to embed a changed note."""
    late = Djinn(filled)
    space = vectors.serving(late.runtime.state.index)
    old = late.models.embedder
    assert space and old
    to_server(filled, server).index()
    (shared / "new.md").write_text("a samovar on the sideboard\n")
    sweep(late._state, filled.vaults, lambda: old)
    assert spaces(Djinn(filled)) == ("ollama", None)


def test_a_question_is_not_compared_with_vectors_of_another_model(
    filled: Home, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new vectors take over between the question's vector and the search."""

    def slow(*arguments: object) -> tuple[int, list[Problem]]:
        to_server(filled, server).index()
        return 0, []

    monkeypatch.setattr(source, "sweep", slow)
    result = Djinn(filled).search("kettle")
    assert result.hits
    assert result.mode == "words"
    assert [problem.what for problem in result.problems] == ["embedding"]


def test_a_recipe_keeps_an_empty_prompt() -> None:
    settings = EmbeddingConfig("ollama", "nomic-embed-text", query_prompt="")
    assert from_spec(EmbeddingConfig(), to_spec(settings)) == settings


def test_words_answer_for_a_model_that_cannot_be_read(filled: Home) -> None:
    djinn = Djinn(filled)
    djinn.runtime.state.index.execute(
        "update space set recipe = ?", ('{"provider": "of tomorrow"}',)
    )
    djinn.use_model("local")
    result = Djinn(filled).search("kettle")
    assert (bool(result.hits), result.mode) == (True, "words")
    assert [problem.what for problem in result.problems] == ["embedding"]
