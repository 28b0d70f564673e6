"""A link from one note to another: where it stands, and every byte around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault
from djinn_memory.models import Dialect
from tests.conftest import Run
from tests.memories.changes.test_change_set import tree


@pytest.fixture
def pier(shared: Path) -> Path:
    """The note that links lead to."""
    note = shared / "Pier.md"
    note.write_text("It is long.\n")
    return note


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Text.\n", "Text.\n\nSee also [[Pier]]\n"),
        ("Text.", "Text.\n\nSee also [[Pier]]"),
        ("\ufeffText.\r\nMore\r\n\r\n", "\ufeffText.\r\nMore\r\n\r\nSee also [[Pier]]\r\n\r\n"),
        ("", "See also [[Pier]]"),
        ("---\nid: x\n---\n", "---\nid: x\n---\n\nSee also [[Pier]]\n"),
        ("Text.\n\nSee also [[A]], [[B]].\n", "Text.\n\nSee also [[A]], [[B]], [[Pier]].\n"),
        ("Text.\r\n\r\nSee also [[A]]", "Text.\r\n\r\nSee also [[A]], [[Pier]]"),
        ("See also [[A]] and more.\n", "See also [[A]] and more.\n\nSee also [[Pier]]\n"),
    ],
)
def test_a_line_at_the_end(djinn: Djinn, pier: Path, shared: Path, before: str, after: str) -> None:
    note = shared / "a.md"
    note.write_bytes(before.encode())
    whole = tree(shared)
    done = djinn.memories.link("a", "Pier")
    assert note.read_bytes().decode() == after
    assert done.changed and done.relation is None and "+" in done.diff
    again = djinn.memories.link("a", "Pier")
    assert not again.changed and note.read_bytes().decode() == after
    djinn.changes.undo()
    assert tree(shared) == whole


@pytest.mark.parametrize(
    ("before", "relation", "after"),
    [
        ("Text.\n", "depends_on", '---\ndepends_on: "[[Pier]]"\n---\nText.\n'),
        (
            '---\nup: "[[A]]" # why\n---\n',
            None,
            '---\nup: "[[A]]" # why\nrelated: "[[Pier]]"\n---\n',
        ),
        (
            "---\r\nBlocks:\r\n  - '[[A]]'\r\n---\r\n",
            "blocks",
            "---\r\nBlocks:\r\n  - '[[A]]'\r\n  - \"[[Pier]]\"\r\n---\r\n",
        ),
        (
            '---\nrelated: "[[A]]"\n---\n',
            "related",
            '---\nrelated: ["[[A]]", "[[Pier]]"]\n---\n',
        ),
    ],
)
def test_the_front_matter(
    djinn: Djinn, pier: Path, shared: Path, before: str, relation: str | None, after: str
) -> None:
    note = shared / "a.md"
    note.write_bytes(before.encode())
    shown = djinn.memories.link("a", "Pier", relation=relation, dry_run=True)
    assert note.read_bytes().decode() == before and shown.changed
    done = djinn.memories.link("a", "Pier", relation=relation)
    assert note.read_bytes().decode() == after and done.diff == shown.diff
    [link] = [link for link in djinn.memories.links("a").links if link.path == "Pier.md"]
    assert link.field is not None and link.field.lower() == (relation or "related")
    assert not djinn.memories.link("a", "Pier", relation=relation).changed


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("markdown", "Text.\n\nSee also [Pier](Pier.md)\n"),
        ("logseq", "Text.\n- See also [[Pier]]\n"),
        ("dendron", "Text.\n\nSee also [[Pier]]\n"),
        ("foam", "Text.\n\nSee also [[Pier]]\n"),
    ],
)
def test_dialects(home: Home, tmp_path: Path, dialect: Dialect, expected: str) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "Pier.md").write_text("It is long.\n")
    (folder / "a.md").write_text("Text.\n")
    add_vault(home, "notes", folder, dialect=dialect)
    with Djinn(home) as djinn:
        djinn.memories.link("notes:a.md", "Pier")
        assert (folder / "a.md").read_text() == expected
        assert djinn.memories.links("notes:a.md").links[0].path == "Pier.md"


@pytest.mark.parametrize("dialect", ["obsidian", "markdown", "logseq"])
def test_brackets_of_a_title_do_not_end_the_link(
    home: Home, tmp_path: Path, dialect: Dialect
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "pier.md").write_text("---\ntitle: 'Pier \"]] [old'\n---\nIt is long.\n")
    (folder / "a.md").write_text("Text.\n")
    add_vault(home, "notes", folder, dialect=dialect)
    with Djinn(home) as djinn:
        djinn.memories.link("notes:a.md", "notes:pier.md")
        links = djinn.memories.links("notes:a.md").links
    assert [link.path for link in links] == ["pier.md"]
    assert 'Pier " old' in (folder / "a.md").read_text()


def test_definitions_of_foam_stay_last(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "Pier.md").write_text("It is long.\n")
    note = folder / "a.md"
    note.write_bytes(b"[[b]]\r\n\r\n[b]: b.md\r\n")
    add_vault(home, "notes", folder, dialect="foam")
    with Djinn(home) as djinn:
        djinn.memories.link("notes:a.md", "Pier")
    assert note.read_bytes() == b"[[b]]\r\n\r\nSee also [[Pier]]\r\n\r\n[b]: b.md\r\n"


@pytest.mark.parametrize("text", ["```\nopen\n", "Text.\n\n<!-- open\n"])
def test_a_text_that_ends_in_open_code_gets_the_link_in_its_front_matter(
    djinn: Djinn, pier: Path, shared: Path, text: str
) -> None:
    (shared / "a.md").write_text(text)
    assert djinn.memories.link("a", "Pier").relation == "related"
    assert (shared / "a.md").read_text() == f'---\nrelated: "[[Pier]]"\n---\n{text}'


@pytest.mark.parametrize("head", ["", "id: mem_0123456789abcdef\n"])
def test_a_link_names_the_file_of_a_note_with_an_endless_title(
    djinn: Djinn, pier: Path, shared: Path, head: str
) -> None:
    pier.write_text(f"---\n{head}title: {'long ' * 2_000}\n---\nIt is long.\n")
    (shared / "a.md").write_text("Text.\n")
    djinn.memories.link("a", "Pier.md")
    assert (shared / "a.md").read_text() == "Text.\n\nSee also [[Pier]]\n"


def test_what_is_refused(djinn: Djinn, pier: Path, shared: Path) -> None:
    (shared / "toml.md").write_text("+++\ntitle = 'T'\n+++\nText.\n")
    (djinn.home.root / "vaults" / "me" / "mine.md").write_text("Mine.\n")
    with pytest.raises(UsageError, match="is the same note"):
        djinn.memories.link("Pier", "Pier")
    with pytest.raises(UsageError, match="name of a field"):
        djinn.memories.link("Pier", "toml", relation="tags")
    with pytest.raises(UsageError, match="give the name of a field for links"):
        djinn.memories.link("Pier", "toml", relation="status")
    with pytest.raises(Refused, match="does not edit it"):
        djinn.memories.link("toml", "Pier", relation="related")
    with pytest.raises(Refused, match=r"can lead to me/mine\.md"):
        djinn.memories.link("Pier", "mine")
    djinn.home.edit((("vaults", "shared", "read_only"), True))
    with Djinn(Home(djinn.home.root)) as opened, pytest.raises(Refused, match="read-only"):
        opened.memories.link("Pier", "toml")


def test_the_command(djinn: Djinn, pier: Path, shared: Path, run: Run) -> None:
    (shared / "a.md").write_text("Text.\n")
    words = ("memory", "link", "a", "Pier", "--relation", "blocks")
    assert '+blocks: "[[Pier]]"' in run(*words, "--dry-run", home=djinn.home.root).stdout
    assert run(*words, home=djinn.home.root).stdout == "linked a to Pier (blocks)\n"
    again = run(*words, home=djinn.home.root)
    assert (again.returncode, again.stdout) == (
        0, "unchanged, already linked: a to Pier (blocks)\n",
    )  # fmt: skip
    shown = run("show", "a", home=djinn.home.root).stdout
    assert "links to (blocks):\n  Pier  (shared/Pier.md)" in shown


def test_a_link_resolves_when_its_target_appears(djinn: Djinn, shared: Path) -> None:
    note = shared / "a.md"
    note.write_text("To the [[Quay]].\n")
    (shared / "b.md").write_text("To [[a]].\n")
    before = note.stat().st_mtime_ns

    def state() -> tuple[str | None, bool, int]:
        [link] = djinn.memories.links("a").links
        dead = any(issue.code == "unresolved-link" for issue in djinn.lint().issues)
        with djinn.runtime.index(djinn.home.vaults) as index:
            return link.path, dead, len(index.edges())

    assert state() == (None, True, 1)
    (shared / "quay.md").write_text("Stone.\n")
    assert state() == ("quay.md", False, 2)
    (shared / "quay.md").unlink()
    assert state() == (None, True, 1)
    djinn.remember("place", "Quay", "Stone.", shared=True)
    assert state() == ("places/quay.md", False, 2)
    assert note.stat().st_mtime_ns == before
