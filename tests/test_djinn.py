"""One home, opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Unavailable, UsageError
from djinn_memory.home.home import Home
from tests.indexing.vaults import fill


def test_opening_makes_nothing(home: Home) -> None:
    before = sorted(home.root.rglob("*"))
    djinn = Djinn.open(home.root)
    status = djinn.status()
    assert status.stats is None
    assert status.index_bytes == status.cache_bytes == 0
    assert sorted(home.root.rglob("*")) == before


def test_a_place_that_is_no_home(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=f"run `djinn init {tmp_path}` to create one"):
        Djinn.open(tmp_path)


def test_a_path_instead_of_a_home_is_answered_by_open(home: Home) -> None:
    for place in (str(home.root), home.root):
        with pytest.raises(TypeError, match=rf"call `Djinn\.open\('{home.root}'\)`"):
            Djinn(place)  # type: ignore[arg-type]


def test_a_closed_home_opens_again(djinn: Djinn) -> None:
    for key in ("lamps", "masts"):
        djinn.facts.set("harbour", key, "2")
        djinn.close()
        djinn.close()
    assert djinn.facts.list().total == 2


def test_status_tells_what_waits(home: Home, shared: Path) -> None:
    fill(shared, 5)
    home.edit((("embedding", "provider"), "none"))
    Djinn(home).index()
    (shared / "new.md").write_text("x")
    (shared / "note-00001.md").unlink()
    status = Djinn(home).status()
    assert status.stale == 2
    assert status.stats
    assert status.stats.pending == status.stats.windows > 0
    assert status.identity is None
    assert {vault.name: vault.notes for vault in status.vaults} == {"shared": 5, "me": 0}


def test_words_only_asks_for_no_vectors(home: Home, shared: Path) -> None:
    fill(shared, 3)
    home.edit((("embedding", "provider"), "none"))
    djinn = Djinn(home)
    djinn.index()
    result = djinn.search("kettle")
    assert result.mode == "words"
    assert result.hits
    assert not result.problems
    assert not result.unembedded
    assert not home.embeddings_path.exists()


def test_a_model_that_fails_leaves_the_words(home: Home, shared: Path) -> None:
    class Failing:
        identity, dimensions, ready, local = "hashing-128-1", 128, True, True

        def embed(
            self, texts: object, *, query: bool = False, within: float | None = None
        ) -> object:
            raise Unavailable("the model is away; bring it back")

    fill(shared, 3)
    Djinn(home).index()
    djinn = Djinn(home)
    djinn.models.__dict__["embedder"] = Failing()
    result = djinn.search("kettle")
    assert result.hits
    assert [problem.why for problem in result.problems] == [
        "the model is away; bring it back; only keywords were searched"
    ]


def test_state_elsewhere(home: Home, shared: Path, tmp_path: Path) -> None:
    fill(shared, 2)
    home.edit((("state_dir",), str(tmp_path / "state")))
    Djinn(home).index()
    assert (tmp_path / "state" / "index.db").is_file()
    assert not (home.root / ".djinn" / "index.db").exists()
    assert Djinn.open(home.root).search("kettle").hits


def test_the_same_home_from_two_objects(home: Home, shared: Path) -> None:
    fill(shared, 3)
    one, two = Djinn(home), Djinn(home)
    one.index()
    assert two.search("kettle").hits
    (shared / "new.md").write_text("a walrus")
    assert two.search('"walrus"').hits
    assert one.search('"walrus"').hits
    one.memories.delete("new")
    assert not two.search('"walrus"').hits


@pytest.mark.parametrize("value", [3, b"lamp", ["lamp"]], ids=repr)
def test_what_is_no_text_is_refused(djinn: Djinn, value: Any) -> None:
    calls = {
        "task": lambda: djinn.context(value),
        "query": lambda: djinn.search(value),
        "title": lambda: djinn.remember("lesson", value, "Dry the ropes."),
        "name": lambda: djinn.entities.show(value),
    }
    for name, call in calls.items():
        with pytest.raises(UsageError, match=f"^{name} .*: give a text$"):
            call()


def test_none_is_refused_where_a_value_is_needed(djinn: Djinn) -> None:
    calls: dict[str, Any] = {
        "type": lambda: djinn.remember(None, "Lamp", "Two lamps."),  # type: ignore[arg-type]
        "query": lambda: djinn.search(None),  # type: ignore[arg-type]
        "value": lambda: djinn.facts.set("a", "b", None),  # type: ignore[arg-type]
        "paths": lambda: djinn.documents.ingest(None),  # type: ignore[arg-type]
        "limit": lambda: djinn.memories.list(limit=None),  # type: ignore[arg-type]
    }
    for name, call in calls.items():
        with pytest.raises(UsageError, match=f"^{name} None: give a value$"):
            call()


def test_one_text_for_a_list_is_refused(djinn: Djinn, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Ahoy")
    for wrong in (str(tmp_path), tmp_path):
        with pytest.raises(UsageError, match="give a list, even for a single value"):
            djinn.import_history(wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'harbour': give a list"):
        djinn.remember("decision", "Lamp", "Two lamps.", tags="harbour")
    assert djinn.memories.list().total == 0


def test_answers_in_python_are_sequences_and_notebooks_show_tables(djinn: Djinn) -> None:
    djinn.remember("decision", "Lamp & bell", "Two lamps and a <b>bell</b>.")
    for answer in (djinn.search("lamps <i>"), djinn.recall("lamps <i>")):
        assert len(answer) == 1 and bool(answer)
        assert [memory.path for memory in answer] == ["decisions/lamp-bell.md"]
        name = type(answer).__name__
        assert repr(answer) == f"<{name} for 'lamps <i>', {answer.verdict}: 'Lamp & bell'>"
        table = answer._repr_html_()
        assert "<td>Lamp &amp; bell</td>" in table and "lamps &lt;i&gt;" in table
        assert "<i" not in table and "<b>" not in table
    nothing = djinn.search("zzyzx")
    assert not nothing and repr(nothing) == "<SearchResult for 'zzyzx', nothing: no memory>"
