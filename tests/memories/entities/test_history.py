"""What a merge does to uses, ratings, journals and chains of merges, and undo after each."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, Refused
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init
from tests.memories.entities.test_merge import files, write


@pytest.fixture
def djinn(tmp_path: Path) -> Djinn:
    home, _ = init(tmp_path / "pair", ("finn", "grace"))
    home.edit((("embedding", "provider"), "none"))
    djinn = Djinn(home)
    for name in ("Bob", "Robert", "Rob Alder"):
        djinn.entities.add(name, "person", f"{name} keeps the lighthouse.", shared=True)
    return djinn


def uses(djinn: Djinn, name: str) -> tuple[int, int]:
    [entry] = djinn.scores.show(name).scores
    return entry.record.uses, entry.record.useful


def test_uses_and_ratings_count_for_the_entity_that_is_kept(djinn: Djinn) -> None:
    recalled = djinn.recall("Bob keeps the lighthouse")
    rank = next(each.rank for each in recalled.memories if each.title == "Bob")
    djinn.rate(recalled.request_id, useful=[rank])
    before = {name: uses(djinn, name) for name in ("Bob", "Robert")}
    assert before["Bob"] > (0, 0)
    djinn.entities.merge("Bob", "Robert")
    both = tuple(map(sum, zip(before["Bob"], before["Robert"], strict=True)))
    assert uses(djinn, "Robert") == both
    assert {entry.title for entry in djinn.scores.show().scores} >= {"Robert"}
    djinn.entities.split("Robert")
    assert {name: uses(djinn, name) for name in before} == before
    djinn.entities.merge("Bob", "Robert")
    djinn.changes.undo()
    assert {name: uses(djinn, name) for name in before} == before


def test_links_in_journals_lead_to_the_entity_by_its_alias(djinn: Djinn) -> None:
    djinn.episodes.record_observation("Saw [[Bob]] and Bob's dog.", agent="finn")
    before = files(djinn.home)
    done = djinn.entities.merge("Bob", "Robert", agent="finn")
    [left] = done.left
    assert "journal" in left.why
    journal = next(path for path in before if "journal" in path)
    assert files(djinn.home)[journal] == before[journal]
    entity = djinn.entities.show("Robert", agent="finn").entity
    assert entity and entity.mentioned == 2
    backlinks = djinn.memories.links("Robert", agent="finn").backlinks
    assert [link.path for link in backlinks] == [journal.removeprefix("finn/")]
    djinn.changes.undo(agent="finn")
    assert files(djinn.home) == before


def test_three_in_a_row_and_back(djinn: Djinn) -> None:
    write(djinn.home, "shared/a.md", "[[Bob]], [[Robert]] and [[Rob Alder]].\n")
    states = [files(djinn.home)]
    for name, into in (("Bob", "Robert"), ("Robert", "Rob Alder")):
        djinn.entities.merge(name, into)
        states.append(files(djinn.home))
    entity = djinn.entities.show("Bob").entity
    assert entity and entity.title == "Rob Alder" and entity.aliases == ("Robert", "Bob")
    for name in ("Bob", "Robert", "Rob Alder"):
        assert f"{name} keeps the lighthouse." in entity.text
    djinn.changes.undo()
    assert files(djinn.home) == states[1]
    djinn.entities.merge("Robert", "Rob Alder")
    djinn.entities.split("Rob Alder")
    assert files(djinn.home) == states[1]
    djinn.entities.split("Robert")
    assert files(djinn.home) == states[0]


def test_two_into_one_are_taken_apart_in_any_order(djinn: Djinn) -> None:
    write(djinn.home, "shared/a.md", "[[Bob]]\n\n[[Robert]]\n\n[[Rob Alder]]\n")
    before = files(djinn.home)
    djinn.entities.merge("Bob", "Rob Alder")
    djinn.entities.merge("Robert", "Rob Alder")
    try:
        djinn.entities.split("Rob Alder", "Bob")
    except Refused as error:
        # The other merge wrote into the same lines of the front matter.
        assert "was edited in the lines" in error.message
        djinn.entities.split("Rob Alder", "Robert")
        djinn.entities.split("Rob Alder", "Bob")
    else:
        djinn.entities.split("Rob Alder", "Robert")
    assert {path: data for path, data in files(djinn.home).items() if "people" not in path} == {
        path: data for path, data in before.items() if "people" not in path
    }
    assert files(djinn.home) == before


def test_entities_that_link_to_each_other(djinn: Djinn) -> None:
    djinn.entities.set("Bob", "knows", "[[Robert]]")
    djinn.entities.set("Robert", "knows", "[[Bob]]")
    write(djinn.home, "shared/people/x.md", "---\ntype: person\n---\nSee [[Bob]].\n")
    before = files(djinn.home)
    djinn.entities.merge("Bob", "Robert")
    entity = djinn.entities.show("Robert").entity
    assert entity and "Bob" in entity.aliases
    djinn.changes.undo()
    assert files(djinn.home) == before


def test_names_that_differ_by_case_and_unicode(djinn: Djinn) -> None:
    write(djinn.home, "shared/people/z1.md", "---\ntype: person\ntitle: Zoe\u0308\n---\nOne.\n")
    write(djinn.home, "shared/people/z2.md", "---\ntype: person\ntitle: ZO\u00cb\n---\nTwo.\n")
    write(djinn.home, "shared/a.md", "[[people/z1]] and [[people/z2|her]].\n")
    before = files(djinn.home)
    done = djinn.entities.merge("people/z1.md", "people/z2.md")
    assert done.entity.aliases == () and done.links == 1
    assert djinn.entities.show("zoë").entity
    djinn.changes.undo()
    assert files(djinn.home) == before


def test_across_vaults(djinn: Djinn, tmp_path: Path) -> None:
    for name, read_only in (("open", False), ("shelf", True)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.md").write_text(f"---\ntype: person\n---\n{name} [[Bob]]\n")
        add_vault(djinn.home, name, folder, read_only=read_only)
    with Djinn(Home(djinn.home.root)) as djinn:
        before = files(djinn.home)
        shelf = tmp_path / "shelf" / "shelf.md"
        outside = {path: path.read_bytes() for path in (shelf, tmp_path / "open" / "open.md")}
        for name, into in (("shelf", "Bob"), ("Bob", "shelf")):
            with pytest.raises(DjinnError, match="read-only"):
                djinn.entities.merge(name, into)
        assert files(djinn.home) == before
        djinn.entities.merge("open", "Bob")
        assert not (tmp_path / "open" / "open.md").exists()
        djinn.changes.undo()
        assert files(djinn.home) == before
        assert {path: path.read_bytes() for path in outside} == outside
