"""Notes get other titles and places, and every link follows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from tests.conftest import Run

NOTE = (
    "---\ntitle: Harbour lamp\n---\n"
    "It turns. [[#How]] [[harbour-lamp#How|x]]\n\n## How\n\nSo. ^b1\n"
)
LINKS = {
    "[[Harbour lamp]]": "[[Pier lamp]]",
    "[[harbour-lamp]]": "[[pier-lamp]]",
    "[[lamps/harbour-lamp.md|the lamp]]": "[[lamps/pier-lamp.md|the lamp]]",
    "[[/lamps/harbour-lamp]]": "[[/lamps/pier-lamp]]",
    "[[ harbour lamp |shown]]": "[[ Pier lamp |shown]]",
    "[[Harbour lamp#How]]": "[[Pier lamp#How]]",
    "![[harbour-lamp#^b1]]": "![[pier-lamp#^b1]]",
    "[x](lamps/harbour-lamp.md)": "[x](lamps/pier-lamp.md)",
    "[x](<lamps/harbour-lamp.md#how> 'A lamp')": "[x](<lamps/pier-lamp.md#how> 'A lamp')",
    "[x](/lamps/harbour-lamp.md)": "[x](/lamps/pier-lamp.md)",
    "[x](./lamps/harbour%2Dlamp.md)": "[x](./lamps/pier-lamp.md)",
    "[x][l]\n\n[l]: lamps/harbour-lamp.md 'Lamp'": "[x][l]\n\n[l]: lamps/pier-lamp.md 'Lamp'",
    "[l2]: <lamps/harbour-lamp.md#how>": "[l2]: <lamps/pier-lamp.md#how>",
    "| a [[harbour-lamp\\|b]] |": "| a [[pier-lamp\\|b]] |",
    "`[[Harbour lamp]]`": "`[[Harbour lamp]]`",
    "<!-- [[Harbour lamp]] -->": "<!-- [[Harbour lamp]] -->",
    "[[other]] [x](other.md) [[nowhere]]": "[[other]] [x](other.md) [[nowhere]]",
}
"""Links in all forms, before and after the rename."""

FRONT = (
    "---\nsee: \"[[Harbour lamp]]\"\n# [[Harbour lamp]]\nalso:\n    - '[[harbour-lamp|a]]'\n---\n"
)


@pytest.fixture
def lamp(shared: Path) -> Path:
    """A note with links to it."""
    (shared / "lamps").mkdir()
    note = shared / "lamps" / "harbour-lamp.md"
    note.write_text(NOTE)
    (shared / "other.md").write_text("# Other\n")
    (shared / "links.md").write_text(FRONT + "\n\n".join(LINKS))
    return note


def test_links_in_all_forms_follow_a_rename(djinn: Djinn, lamp: Path, shared: Path) -> None:
    mine = djinn.home.root / "vaults" / "me" / "own.md"
    mine.write_bytes("\ufeff# Ä\r\n\r\n[[Harbour lamp]]  \r\nend".encode())
    before = {path: path.read_bytes() for path in shared.rglob("*.md")}
    shown = djinn.memories.rename("Harbour lamp", "Pier lamp", dry_run=True)
    assert {path: path.read_bytes() for path in shared.rglob("*.md")} == before
    assert "+[[/lamps/pier-lamp]]\n" in shown.diff and shown.change is None
    done = djinn.memories.rename("Harbour lamp", "Pier lamp")
    assert (done.left, done.aliases, done.problems) == ((), (), ())
    assert done.memory.path == "lamps/pier-lamp.md" and done.memory.title == "Pier lamp"
    front = FRONT.replace("[[Harbour lamp]]", "[[Pier lamp]]", 1).replace("harbour-l", "pier-l")
    assert (shared / "links.md").read_text() == front + "\n\n".join(LINKS.values())
    assert mine.read_bytes() == "\ufeff# Ä\r\n\r\n[[Pier lamp]]  \r\nend".encode()
    assert not lamp.exists()
    new = NOTE.replace("title: Harbour", "title: Pier").replace("[[harbour-", "[[pier-")
    assert (lamp.parent / "pier-lamp.md").read_text() == new
    djinn.changes.undo(done.change)
    assert {path: path.read_bytes() for path in shared.rglob("*.md")} == before


def test_the_heading_that_is_the_title_changes_with_it(djinn: Djinn, shared: Path) -> None:
    (shared / "harbour-lamp.md").write_bytes(b"# Harbour lamp\r\n\r\nText. [[#Harbour lamp]]")
    (shared / "a.md").write_text(
        "[[harbour-lamp#Harbour lamp]] [x](harbour-lamp.md#harbour-lamp)\n"
    )
    done = djinn.memories.rename("Harbour lamp", "Pier: lamp")
    assert done.memory.path == "pier-lamp.md"
    note = (shared / "pier-lamp.md").read_bytes()
    assert note == b"# Pier: lamp\r\n\r\nText. [[#Pier: lamp]]"
    assert (
        shared / "a.md"
    ).read_text() == "[[pier-lamp#Pier: lamp]] [x](pier-lamp.md#pier:-lamp)\n"
    assert djinn.lint().issues == ()


def test_a_note_that_is_named_by_its_file_keeps_that(djinn: Djinn, shared: Path) -> None:
    (shared / "books.md").write_text("Many. [[books]]\n")
    assert djinn.memories.rename("books", "My Books").memory.path == "My Books.md"
    assert (shared / "My Books.md").read_text() == "Many. [[My Books]]\n"
    djinn.memories.rename("My Books", "What/why?")
    text = '---\ntitle: "What/why?"\n---\nMany. [[What why]]\n'
    assert (shared / "What why.md").read_text() == text


def test_a_move_takes_relative_links_and_versions_along(djinn: Djinn, shared: Path) -> None:
    first = djinn.remember("decision", "Lamps", "One.", shared=True)
    djinn.remember("decision", "Lamps", "Two.", shared=True, existing="revise", force=True)
    (shared / "a.md").write_text("[x](decisions/lamps.md) ![[decisions/lamps]] [[Lamps]]\n")
    (shared / "pic.png").write_bytes(b"x")
    note = shared / first.path
    note.write_text(note.read_text() + "\n[a](../a.md) ![p](../pic.png) [p]: ../pic.png\n")
    djinn.recall("lamps")
    djinn.rate(useful=["Lamps"])
    done = djinn.memories.move("Lamps", "old/harbour")
    assert done.memory.path == "old/harbour/lamps.md" and done.memory.id == first.id
    assert "[a](../../a.md) ![p](../../pic.png)" in (shared / done.memory.path).read_text()
    text = "[x](old/harbour/lamps.md) ![[old/harbour/lamps]] [[Lamps]]\n"
    assert (shared / "a.md").read_text() == text
    assert len(list((shared / "old/harbour/history").iterdir())) == 1
    assert djinn.lint().issues == ()
    assert djinn.scores.show("Lamps").scores[0].record.useful == 1
    back = djinn.memories.move("Lamps", "decisions/")
    assert back.memory.path == first.path
    with pytest.raises(UsageError, match="is there already"):
        djinn.memories.move("Lamps", "decisions")
    with pytest.raises(UsageError, match="not a folder for notes"):
        djinn.memories.move("Lamps", "../other")
    with pytest.raises(UsageError, match=r"no vault 'shard'.* did you mean shared"):
        djinn.memories.move("Lamps", "shard:lamps")
    for absolute in ("/etc", "shared:/etc", str(shared / "old")):
        with pytest.raises(UsageError, match="absolute path; give a folder of a vault"):
            djinn.memories.move("Lamps", absolute)


def test_the_vault_of_another_agent_is_no_folder(djinn: Djinn, lamp: Path, shared: Path) -> None:
    add_agent(djinn.home, "eve")
    with pytest.raises(Refused, match=r"eve is the vault of another agent; .* \./eve"):
        djinn.memories.move("Harbour lamp", "eve")
    assert djinn.memories.move("Harbour lamp", "./eve").memory.path == "eve/harbour-lamp.md"


def test_ratings_follow_a_note_without_an_id(djinn: Djinn, shared: Path) -> None:
    (shared / "lamp.md").write_text("# Lamp\n\nIt turns.\n")
    djinn.index()
    djinn.recall("lamp")
    djinn.rate(useful=["Lamp"])
    djinn.memories.rename("Lamp", "Pier lamp")
    djinn.memories.move("Pier lamp", "me")
    assert djinn.scores.show("Pier lamp").scores[0].record.useful == 1


def test_a_name_that_two_notes_have_is_written_with_its_folder(djinn: Djinn, shared: Path) -> None:
    for name in ("a", "b"):
        (shared / name).mkdir()
        (shared / name / f"{name}.md").write_text("[[b]]\n")
    (shared / "links.md").write_text("[[a]] [[b]]\n")
    djinn.memories.rename("a", "b")
    assert (shared / "links.md").read_text() == "[[a/b]] [[b/b]]\n"
    assert (shared / "a/b.md").read_text() == "[[b/b]]\n"
    assert [issue.code for issue in djinn.lint().issues] == ["duplicate-title"]
    (shared / "a" / "c.md").write_text("C.\n")
    with pytest.raises(Refused, match="exists; nothing was changed"):
        djinn.memories.rename("c", "b")


def test_links_that_stay_lead_to_the_note_by_an_alias(djinn: Djinn, shared: Path) -> None:
    team = djinn.home.root.parent / "team"
    team.mkdir()
    (team / "a.md").write_text("[[Lamp]] [[lamp]] [x](lamp.md)\n")
    add_vault(djinn.home, "team", team)
    djinn.home.edit((("vaults", "team", "read_only"), True))
    (shared / "lamp.md").write_text("---\ntitle: Lamp\n---\nIt turns.\n")
    done = djinn.memories.rename("Lamp", "Pier lamp")
    assert [(left.vault, left.links, left.why) for left in done.left] == [("team", 3, "read only")]
    assert done.aliases == ("Lamp",)
    assert [problem.what for problem in done.problems] == ["team/a.md"]
    assert (team / "a.md").read_text() == "[[Lamp]] [[lamp]] [x](lamp.md)\n"
    assert len(djinn.memories.links("Pier lamp").backlinks) == 2
    with pytest.raises(Refused, match="read-only"):
        djinn.memories.rename("team:a.md", "B")


def test_quoted_speech_keeps_the_old_title(djinn: Djinn) -> None:
    djinn.remember("decision", "Lamps", "One.")
    djinn.episodes.record_interaction("What about [[Lamps]]?", "Nothing.")
    done = djinn.memories.rename("Lamps", "Harbour lamps")
    assert [(left.vault, left.links, left.why) for left in done.left] == [("me", 1, "in journals")]
    assert done.aliases == ("Lamps",)
    assert djinn.memories.rename("Harbour lamps", "Pier lamps").aliases == ()


def test_a_title_that_others_may_link_to_stays(djinn: Djinn, shared: Path) -> None:
    add_agent(djinn.home, "finn")
    both = Djinn(Home(djinn.home.root))
    (djinn.home.root / "vaults" / "finn" / "own.md").write_text("[[Lamp]]\n")
    (shared / "lamp.md").write_text("# Lamp\n")
    (djinn.home.root / "vaults" / "me" / "mine.md").write_text("# Mine\n")
    both.index()
    assert both.memories.rename("Lamp", "Pier lamp", agent="me").aliases == ("Lamp",)
    assert both.memories.links("Pier lamp", agent="finn").backlinks[0].path == "own.md"
    assert both.memories.rename("Mine", "My own", agent="me").aliases == ()


def test_a_link_that_would_lead_to_another_note_refuses_the_rename(djinn: Djinn) -> None:
    own = djinn.home.root / "vaults" / "me"
    for name in ("a", "b"):
        (own / name).mkdir()
        (own / name / "lamp.md").write_text("---\ntitle: Lamp\n---\n")
    djinn.episodes.record_observation("See [[Lamp]].")
    with pytest.raises(Refused, match="would lead to me/b"):
        djinn.memories.rename("me:a/lamp.md", "Pier lamp")
    assert (own / "a/lamp.md").exists()


DIALECTS: dict[str, tuple[str, str, str, str, str]] = {
    "dendron": ("proj.lamp.md", "[[the lamp|proj.lamp#how]] [[lamp]]", "Pier lamp",
                "proj.pier-lamp.md", "[[the lamp|proj.pier-lamp#how]] [[Pier lamp]]"),
    "logseq": ("a___lamp.md", "[[a/lamp]] [x]([[a/lamp]]) {{embed [[a/lamp]]}}", "a/b: c",
               "a___b%3A c.md", "[[a/b: c]] [x]([[a/b: c]]) {{embed [[a/b: c]]}}"),
    "foam": ("lamp.md", "[[lamp]]\n\n[lamp]: lamp.md 'Lamp'\n", "Pier",
             "Pier.md", "[[Pier]]\n\n[Pier]: Pier.md 'Lamp'\n"),
    "markdown": ("lamp.md", "[x](<lamp.md>) [[lamp]]", "The (pier)",
                 "The (pier).md", "[x](<The (pier).md>) [[lamp]]"),
}  # fmt: skip
"""The file of a note, links to it, its new title, its new file, and the links after a rename."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_writes_links_in_its_own_form(
    djinn: Djinn, shared: Path, dialect: str
) -> None:
    path, links, title, new_path, new_links = DIALECTS[dialect]
    djinn.home.edit((("vaults", "shared", "dialect"), dialect))
    (shared / path).write_text("- It turns.\n")
    (shared / "links.md").write_text(links)
    done = Djinn(Home(djinn.home.root)).memories.rename(path, title)
    assert done.memory.path == new_path
    assert (shared / "links.md").read_text() == new_links
    assert Djinn(Home(djinn.home.root)).memories.show(new_path).title == title


def test_two_processes_at_once(djinn: Djinn, shared: Path, spawn: Run) -> None:
    for name in ("lamp", "pier"):
        (shared / f"{name}.md").write_text("[[lamp]] [[pier]]\n")
    (shared / "links.md").write_text("[[lamp]] [[pier]]\n")
    djinn.index()
    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(spawn, "memory", "rename", name, f"new {name}", home=djinn.home.root)
            for name in ("lamp", "pier")
        ]
    assert [run.result().returncode for run in runs] == [0, 0], [run.result() for run in runs]
    for name in ("links", "new lamp", "new pier"):
        assert (shared / f"{name}.md").read_text() == "[[new lamp]] [[new pier]]\n"
