"""List, show, count, delete: what is remembered, without a question asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault
from tests.indexing.vaults import with_sample


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


@pytest.mark.parametrize(
    "name",
    [
        "mem_7k2m9q4dxw30hv5t", "notes/kettle.md", "notes/kettle", "shared/notes/kettle.md",
        "shared:notes/kettle.md", "The Kettle", "the kettle", "kettle", "[[The Kettle]]", "Boiler",
        " kettle ",
    ],
)  # fmt: skip
def test_a_note_is_found_by_any_of_its_names(djinn: Djinn, shared: Path, name: str) -> None:
    write(
        shared, "notes/kettle.md",
        "---\nid: mem_7k2m9q4dxw30hv5t\ntitle: The Kettle\naliases: [Boiler]\n---\nIt sings.\n",
    )  # fmt: skip
    write(shared, "other.md", "x")
    detail = djinn.memories.show(name)
    assert detail.path == "notes/kettle.md"
    assert detail.text.endswith("It sings.\n")


def test_a_title_may_end_as_a_link_does(djinn: Djinn, shared: Path) -> None:
    write(shared, "a.md", "---\ntitle: 'Say \"]]'\n---\n")
    assert djinn.memories.show('Say "]]').path == "a.md"


def test_a_name_of_several_notes_lists_them(djinn: Djinn, shared: Path) -> None:
    write(shared, "a/x.md", "1")
    write(shared, "b/x.md", "2")
    with pytest.raises(UsageError, match=r"shared:a/x\.md.*shared:b/x\.md"):
        djinn.memories.show("x")
    assert djinn.memories.show("b/x").text == "2"


def test_an_id_of_several_notes_lists_them(djinn: Djinn, shared: Path) -> None:
    for path in ("a.md", "copy.md"):
        write(shared, path, f"---\nid: mem_7k2m9q4dxw30hv5t\n---\n{path}")
    with pytest.raises(UsageError, match=r"shared:a\.md, shared:copy\.md"):
        djinn.memories.find("mem_7k2m9q4dxw30hv5t")
    assert djinn.memories.find("shared:copy.md").path == "copy.md"


def test_a_vault_or_a_folder_of_that_name(djinn: Djinn, home: Home, shared: Path) -> None:
    write(shared, "foo.md", "1")
    write(home.root / "vaults" / "me", "shared/foo.md", "2")
    with pytest.raises(UsageError, match=r"me:shared/foo\.md, shared:foo\.md"):
        djinn.memories.find("shared/foo.md")
    assert djinn.memories.show("shared:foo.md").text == "1"
    assert (
        djinn.memories.show("me:shared/foo.md").text
        == djinn.memories.show("me/shared/foo.md").text
        == "2"
    )


def test_links_reach_every_vault_of_the_same_agent(home: Home, tmp_path: Path) -> None:
    write(tmp_path / "n2", "mytarget.md", "x")
    write(home.root / "vaults" / "me", "a.md", "[[mytarget]]")
    write(home.root / "vaults" / "shared", "b.md", "[[mytarget]]")
    add_vault(home, "n2", tmp_path / "n2", agent="me")
    djinn = Djinn(home)
    assert [link.path for link in djinn.memories.show("a").links] == ["mytarget.md"]
    assert [link.path for link in djinn.memories.show("b").links] == [None]


@pytest.mark.parametrize("name", ["", " ", "nothing", "../secret", "/etc/passwd", "[[", "a\0b"])
def test_a_name_of_nothing_is_not_found(djinn: Djinn, shared: Path, name: str) -> None:
    write(shared, "a.md", "1")
    with pytest.raises(NotFound):
        djinn.memories.show(name)


def test_links_are_shown_both_ways(djinn: Djinn, shared: Path) -> None:
    write(shared, "a.md", '---\nup: "[[c]]"\n---\nto [[b|shown]] and [[nowhere]] and ![[p.png]]')
    write(shared, "b.md", "nothing")
    write(shared, "c.md", "and [[b]] too")
    (shared / "p.png").write_bytes(b"x")
    a = djinn.memories.show("a")
    assert [(link.target, link.path, link.how) for link in a.links] == [
        ("nowhere", None, None), ("p.png", None, "path"), ("b", "b.md", "path"),
        ("c", "c.md", "path"),
    ]  # fmt: skip
    b = djinn.memories.show("b")
    assert [(link.path, link.line) for link in b.backlinks] == [("a.md", 4), ("c.md", 1)]


def test_the_text_shown_is_what_stands_on_the_disk(home: Home, shared: Path) -> None:
    home.edit((("search", "sweep_ms"), 0))
    write(shared, "a.md", "old")
    Djinn(home).index()
    write(shared, "a.md", "new")
    assert Djinn(home).memories.show("a").text == "new"
    (shared / "a.md").unlink()
    with pytest.raises(NotFound):
        Djinn(home).memories.show("a")


def test_newest_first_and_no_more_than_asked(djinn: Djinn, shared: Path) -> None:
    for day in range(1, 6):
        write(shared, f"{day}.md", f"---\ncreated: 2026-01-0{day}\ntype: note\n---\nx")
    assert [entry.path for entry in djinn.memories.list(limit=2).memories] == ["5.md", "4.md"]
    kept = djinn.memories.list(until="2026-01-02").memories
    assert [entry.path for entry in kept] == ["2.md", "1.md"]
    assert djinn.memories.list(types=("other",)).memories == ()


def test_counts(home: Home, sample: Path) -> None:
    djinn = Djinn(with_sample(home, sample))
    djinn.index()
    everything = djinn.memories.stats(agent="grace")
    assert everything.notes == sum(everything.vaults.values()) == 33
    assert everything.vaults == {"shared": 29, "grace": 4}
    assert everything.planes["semantic"] == sum(
        everything.types.get(kind, 0)
        for kind in (
            "lesson",
            "decision",
            "pattern",
            "preference",
            "commitment",
            "plan",
            "incident",
        )
    )
    only = djinn.memories.stats(vaults=("grace",), agent="grace")
    assert only.notes == 4
    assert only.tags.keys() <= everything.tags.keys()
    assert everything.pending == everything.broken == 0


def test_tags_that_differ_in_case_are_one_tag(djinn: Djinn, shared: Path) -> None:
    for path, tag in (("a.md", "Idea"), ("b.md", "idea"), ("c.md", "idea")):
        write(shared, path, f"---\ntags: [{tag}]\n---\nAn #idea and #ÉTÉ.\n")
    write(shared, "d.md", "Nothing but #IDEA and #été.\n")
    assert djinn.memories.stats().tags == {"idea": 4, "ÉTÉ": 4}
    assert djinn.memories.values("tag").values == ("idea", "ÉTÉ")
    for tag in ("Idea", "#IDEA/", "éTé"):
        assert djinn.memories.list(tags=(tag,)).total == 4
        assert len(djinn.search(f"tag:{tag.strip('#')}").hits) == 4


def test_delete_moves_to_the_trash_and_tells_the_links(djinn: Djinn, shared: Path) -> None:
    write(shared, "deep/a.md", "bytes \r\n stay")
    write(shared, "b.md", "[[a]]")
    djinn.index()
    place = djinn.memories.delete("a").moved_to
    assert place == shared / ".trash" / "deep" / "a.md"
    assert place.read_bytes() == b"bytes \r\n stay"
    assert djinn.memories.stats().notes == djinn.memories.stats().unresolved == 1
    with pytest.raises(NotFound):
        djinn.memories.find("a")


def test_the_trash_keeps_every_note_of_a_name(djinn: Djinn, shared: Path) -> None:
    for text in ("one", "two", "three"):
        write(shared, "a.md", text)
        djinn.memories.delete("a")
    kept = sorted(path.read_text() for path in (shared / ".trash").iterdir())
    assert kept == ["one", "three", "two"]


def test_a_read_only_vault_keeps_its_notes(home: Home, tmp_path: Path) -> None:
    write(tmp_path / "theirs", "a.md", "x")
    add_vault(home, "theirs", tmp_path / "theirs", read_only=True)
    djinn = Djinn(home)
    with pytest.raises(Refused, match="read-only"):
        djinn.memories.delete("a")
    assert (tmp_path / "theirs" / "a.md").exists()
