"""Merging two entities, taking it back byte for byte, and taking it apart after other edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init
from djinn_memory.notes.links import parse_links

FORMS = (
    "Met [[Bob]] today.", "See [[Bob|him]] and [[bob]].", "![[Bob]]", "[[people/bob#Life|life]]",
    "A [note](people/bob.md) on him.", "[[Bobby]] `[[Bob]]` and [[Robert Alder]].",
    "Nobody\r\nbut [[Bob#Life]].\r\n", "No link, only Bob.",
)  # fmt: skip


@pytest.fixture
def djinn(tmp_path: Path) -> Djinn:
    home, _ = init(tmp_path / "pair", ("finn", "grace"))
    home.edit((("embedding", "provider"), "none"))
    return Djinn(home)


def files(home: Home) -> dict[str, bytes]:
    root = home.root / "vaults"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def write(home: Home, path: str, text: str) -> None:
    file = home.root / "vaults" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


@pytest.fixture
def linked(djinn: Djinn) -> int:
    """Two entities, and notes with 300 links to them."""
    write(djinn.home, "shared/people/bob.md", "---\ntype: person\ntitle: Bob\naliases: Bobby\n"
          "role: cook\ntags: [crew]\n---\n# Bob\n\n## Life\n\nCooks with [[Ann]].\n")  # fmt: skip
    write(djinn.home, "shared/people/ann.md", "---\ntype: person\nknows: '[[Bob]]'\n---\n")
    djinn.entities.add(
        "Robert Alder", "person", "Captain. Not [[Bob]]?", aliases=["Rob"], shared=True,
        properties=["role=captain"],
    )  # fmt: skip
    djinn.entities.set("Bob", "city", "Oslo", valid_from="2020")
    djinn.entities.set("Robert Alder", "city", "Rome", valid_from="2023")
    total = 0
    for number in range(300):
        form = FORMS[number % len(FORMS)]
        write(djinn.home, f"shared/n/{number}.md", f"---\ntitle: N{number}\n---\n{form}\n")
        total += sum(
            link.target.lower().split("/")[-1] in ("bob", "bobby") for link in parse_links(form)
        )
    djinn.index()
    return total + 1


def test_a_field_that_is_taken_over_stays_what_it_was(djinn: Djinn) -> None:
    write(djinn.home, "shared/people/bob.md", "---\ntype: person\ntitle: Bob\ndomain: '2024'\n"
          "confidence: 0.8\nlast_verified: '2026'\n---\n")  # fmt: skip
    djinn.entities.add("Robert Alder", "person", shared=True)
    djinn.entities.merge("Bob", "Robert Alder")
    merged = djinn.memories.show("Robert Alder")
    assert merged.domain == "2024"
    text = Path(merged.file).read_text()
    assert "confidence: 0.8\n" in text and "2026.0" not in text


@pytest.mark.soak
def test_only_link_texts_and_the_two_notes_differ(djinn: Djinn, linked: int) -> None:
    before = files(djinn.home)
    assert djinn.entities.merge("Bob", "Robert Alder", dry_run=True, agent="finn").notes
    assert files(djinn.home) == before
    done = djinn.entities.merge("Bob", "Robert Alder", agent="finn")
    assert (done.links, done.left) == (linked, ())
    after = files(djinn.home)
    assert before.keys() - after.keys() == {"shared/people/bob.md"}
    assert after.keys() <= before.keys()
    for path, data in after.items():
        if path != "shared/people/robert-alder.md" and data != before[path]:
            assert b"Robert Alder" in data or b"robert-alder" in data
            assert data.count(b"\n") == before[path].count(b"\n")
    assert after["shared/n/0.md"].endswith(b"Met [[Robert Alder|Bob]] today.\n")
    assert after["shared/n/1.md"].endswith(b"See [[Robert Alder|him]] and [[Robert Alder|bob]].\n")
    assert after["shared/n/2.md"].endswith(b"![[Robert Alder]]\n")
    assert after["shared/n/3.md"].endswith(b"[[Robert Alder#Life|life]]\n")
    assert after["shared/n/5.md"].endswith(
        b"[[Robert Alder|Bobby]] `[[Bob]]` and [[Robert Alder]].\n"
    )
    assert b"but [[Robert Alder#Life]].\r\n" in after["shared/n/6.md"]
    assert b"knows: '[[Robert Alder|Bob]]'\n" in after["shared/people/ann.md"]
    entity = djinn.entities.show("Bobby", agent="finn").entity
    assert entity and entity.title == "Robert Alder"
    assert entity.aliases == ("Rob", "Bob", "Bobby")
    assert "Captain." in entity.text and "Cooks with [[Ann]]." in entity.text
    city = next(each for each in entity.properties if each.key == "city")
    assert city.value == "Rome"
    assert [(past.value, past.until) for past in city.history] == [("Oslo", "2023-01-01")]
    role = next(each for each in entity.properties if each.key == "role")
    assert {role.value, *(past.value for past in role.history)} == {"captain", "cook"}
    djinn.changes.undo(agent="finn")
    assert files(djinn.home) == before


@pytest.mark.soak
def test_split_takes_a_merge_apart_after_other_edits(djinn: Djinn, linked: int) -> None:
    before = files(djinn.home)
    djinn.entities.merge("Bob", "Robert Alder", agent="finn")
    write(
        djinn.home, "shared/n/0.md", "---\ntitle: N0\n---\nMet [[Robert Alder|Bob]] today.\nMore.\n"
    )
    merge = djinn.changes.list().changes[0].id
    djinn.entities.set("Robert Alder", "ship", "Aurora", agent="finn")
    with pytest.raises(Refused, match=r"entities\.split\(name=\.\.\.\)` to take the merge apart"):
        djinn.changes.undo(merge)
    merged = files(djinn.home)
    preview = djinn.entities.split("Robert Alder", agent="finn", dry_run=True)
    assert (preview.change, preview.other.title, files(djinn.home)) == (None, "Bob", merged)
    done = djinn.entities.split("Robert Alder", agent="finn")
    assert (preview.other.text, preview.notes) == (done.other.text, done.notes)
    assert (done.entity.title, done.other.title) == ("Robert Alder", "Bob")
    after = files(djinn.home)
    assert after["shared/people/bob.md"] == before["shared/people/bob.md"]
    assert after["shared/n/0.md"].endswith(b"Met [[Bob]] today.\nMore.\n")
    ship = {each.key: each.value for each in done.entity.properties}
    assert ship == {"city": "Rome", "role": "captain", "ship": "Aurora"}
    edited = {"shared/people/robert-alder.md", "shared/n/0.md"}
    assert {path: data for path, data in after.items() if path not in edited} == {
        path: data for path, data in before.items() if path not in edited
    }
    with pytest.raises(Refused, match="exists again"):
        djinn.entities.split("Robert Alder", agent="finn")
    djinn.changes.undo(agent="finn")
    assert "shared/people/bob.md" not in files(djinn.home)


def test_split_refuses_what_is_not_safe(djinn: Djinn, linked: int) -> None:
    with pytest.raises(NotFound, match="no merge into"):
        djinn.entities.split("Robert Alder", agent="finn")
    djinn.entities.merge("Bob", "Robert Alder", agent="finn")
    with pytest.raises(NotFound, match="no merge of 'Ann'"):
        djinn.entities.split("Robert Alder", "Ann", agent="finn")
    write(djinn.home, "shared/n/0.md", "---\ntitle: N0\n---\nSaw [[Robert Alder|Bob]] today.\n")
    before = files(djinn.home)
    with pytest.raises(Refused, match=r"shared/n/0.md was edited in the lines"):
        djinn.entities.split("Robert Alder", "Bob", agent="finn")
    assert files(djinn.home) == before


def test_merges_that_are_refused(djinn: Djinn, tmp_path: Path) -> None:
    djinn.entities.add("Bob", "person", agent="finn")
    djinn.entities.add("Rob", "person", shared=True, agent="finn")
    with pytest.raises(UsageError, match="the same entity"):
        djinn.entities.merge("Bob", "bob", agent="finn")
    for first, second in (("Bob", "Rob"), ("Rob", "Bob")):
        with pytest.raises(Refused, match="not visible to the same agents"):
            djinn.entities.merge(first, second, agent="finn")


def test_hidden_and_read_only_notes_are_left_alone(djinn: Djinn, tmp_path: Path) -> None:
    for name in ("Bob", "Robert"):
        djinn.entities.add(name, "person", shared=True, agent="finn")
    write(djinn.home, "grace/secret.md", "Met [[Bob]].\n")
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "old.md").write_text("With [[Bob]].\n")
    add_vault(djinn.home, "shelf", shelf, read_only=True)
    with Djinn(Home(djinn.home.root)) as djinn:
        djinn.episodes.record_observation("x", agent="finn")
        before = files(djinn.home)
        done = djinn.entities.merge("Bob", "Robert", agent="finn")
        assert [problem.what for problem in done.left] == ["shelf/old.md"]
        assert files(djinn.home)["grace/secret.md"] == before["grace/secret.md"]
        assert (shelf / "old.md").read_text() == "With [[Bob]].\n"
        # The alias leads these links to the note.
        links = djinn.memories.links("Robert", agent="finn").backlinks
        assert [link.path for link in links] == ["old.md"]


def test_domains_that_an_agent_may_not_see(djinn: Djinn) -> None:
    config = djinn.home.config_path
    config.write_text(config.read_text() + "\naccess:\n  grace: [work]\n")
    write(djinn.home, "shared/bob.md", "---\ntype: person\ndomain: money\n---\nPays [[Ann]].\n")
    write(djinn.home, "shared/ann.md", "---\ntype: person\n---\n")
    write(djinn.home, "shared/rob.md", "---\ntype: person\n---\n")
    write(djinn.home, "shared/pay.md", "---\ndomain: money\n---\nAnn and [[ann]] are paid.\n")
    with Djinn(Home(djinn.home.root)) as djinn:
        mentioned = [djinn.entities.show("ann", agent=agent).entity for agent in ("finn", "grace")]
        assert [entity.mentioned for entity in mentioned if entity] == [3, 0]
        assert [each.title for each in djinn.entities.list(agent="grace").entities] == [
            "ann",
            "rob",
        ]
        with pytest.raises(Refused, match="not visible to the same agents"):
            djinn.entities.merge("bob", "rob", agent="finn")
        djinn.entities.merge("ann", "rob", agent="finn")
        with pytest.raises(NotFound, match="no merge into"):
            djinn.entities.split("rob", agent="grace")
        djinn.entities.split("rob", agent="finn")
