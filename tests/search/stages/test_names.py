"""A query that is the name of a memory finds it first, whatever else says the same words."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.models import Hit, Mode
from djinn_memory.store import index as index_store
from tests.store.older import older

MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning")

NOTES = {
    "crdt.md": "# Merging without locks\n\nReplicas converge.",
    "list.md": "# CRDT list\n\nEvery CRDT: the crdt, more crdt, crdt again.",
    "nothing.md": "# How to do Nothing\n\nOn rest.",
    "doing.md": "# Doing\n\nHow to do nothing: how to do it, and how nothing gets done.",
    "maths/index.md": "---\ntitle: Math\naliases: [Arithmetic]\ntype: fact\n---\nSums.",
    "algebra.md": "---\ntitle: Math and more math\naliases: [math]\n---\nMath math math.",
    "stub.md": "# Straße (the \"old\" one)\n",
    "draft.md": "# Harbour plan -draft type:fact\n\nThe draft of a harbour.",
    "words.md": "# In other words: tides\n\nThe tides, said otherwise.",
    "tag.md": "# tag:tide\n\nOn a tag.",
    "other.md": "# Strasse\n\nStraße the old one, the old one, Straße.",
}  # fmt: skip

NAMES = {
    "CRDT": "crdt.md",
    "crdt.md": "crdt.md",
    "How to do Nothing": "nothing.md",
    "how  to do nothing": "nothing.md",
    '"How to do Nothing"': "nothing.md",
    "Math": "maths/index.md",
    "arithmetic": "maths/index.md",
    'STRASSE (the "old" one)': "stub.md",
    "Harbour plan -draft type:fact": "draft.md",
    "in other words: TIDES": "words.md",
    "tag:tide": "tag.md",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home, _ = init(tmp_path_factory.mktemp("names") / "home", agents=("ada", "bo"))
    home.edit((("embedding", "provider"), "hashing"))
    for path, text in NOTES.items():
        place = home.root / "vaults" / "shared" / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (home.root / "vaults" / "ada" / "own.md").write_text("# Doing\n\nAda alone reads this.")
    Djinn(home).index()
    return home


def first(home: Home, query: str, mode: Mode = "hybrid", **options: tuple[str, ...]) -> Hit:
    result = Djinn(home).search(query, mode=mode, **options)
    assert result.confident
    return result.hits[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", NAMES)
def test_a_name_comes_first(home: Home, query: str, mode: Mode) -> None:
    hit = first(home, query, mode)
    assert (hit.path, hit.score) == (NAMES[query], 1.0)


def test_a_name_comes_first_under_filters(home: Home) -> None:
    assert first(home, "math type:fact").path == "maths/index.md"
    assert first(home, "math", paths=("algebra",)).path == "algebra.md"
    hits = Djinn(home).search("how to do nothing -rest").hits
    assert "nothing.md" not in [hit.path for hit in hits]


def test_a_name_with_an_operator_in_it_obeys_the_filters_that_are_options(home: Home) -> None:
    query = "Harbour plan -draft type:fact"
    hits = Djinn(home).search(query, paths=("maths",)).hits
    assert "draft.md" not in [hit.path for hit in hits]
    hits = Djinn(home).search(f"{query} ").hits
    assert hits[0].path == "draft.md"
    assert {hit.type for hit in hits[1:]} <= {"fact"}
    assert "draft.md" not in [hit.path for hit in Djinn(home).search("plan -draft").hits]
    assert not Djinn(home).search("\0 -\ud800 tag:\0").problems


def test_titles_come_before_aliases(home: Home) -> None:
    hits = Djinn(home).search("math").hits
    assert [hit.path for hit in hits[:2]] == ["maths/index.md", "algebra.md"]
    assert [hit.legs["name"].rank for hit in hits[:2]] == [1, 2]


def test_what_is_explained_sums_to_the_score_and_the_rest_keep_theirs(home: Home) -> None:
    hits = Djinn(home).search("How to do Nothing").hits
    for hit in hits[:2]:
        parts = sum(leg.part for leg in hit.legs.values()) + hit.feedback
        assert parts == pytest.approx(hit.score, abs=1e-3)
    assert "name" in hits[0].legs
    assert all("name" not in hit.legs for hit in hits[1:])


def test_a_name_in_a_hidden_vault_moves_nothing(home: Home) -> None:
    djinn = Djinn(home)
    assert {hit.path for hit in djinn.search("doing", agent="ada").hits[:2]} == {
        "own.md", "doing.md",
    }  # fmt: skip
    mine = djinn.search("doing", agent="bo").hits
    assert mine[0].path == "doing.md"
    assert "own.md" not in {hit.path for hit in mine}


def test_a_recall_gives_it_first(home: Home) -> None:
    assert Djinn(home).recall("crdt").memories[0].path == "crdt.md"


def test_a_new_file_name_and_an_index_of_before(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("# Some title\n\nText.")
    djinn.index()
    (shared / "a.md").rename(shared / "pear.md")
    djinn.index()
    assert "name" in djinn.search("pear").hits[0].legs
    assert all("name" not in hit.legs for hit in djinn.search("a").hits)
    path = djinn.home.index_path
    djinn.close()
    older(path, path.with_name("older.db"), index_store.SCHEMA, 9)
    path.with_name("older.db").replace(path)
    again = Djinn(djinn.home)
    for name in ("pear", "some title"):
        assert "name" in again.search(name).hits[0].legs
