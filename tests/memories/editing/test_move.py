"""Notes get other titles and places, and every link follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn

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
