"""A person's day on the pages, in a browser, from the login on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.web.api.serving import Served, serving
from tests.web.browser import NOTICE, chromium
from tests.web.pages.test_browser import Visitor

PDF = Path(__file__).resolve().parents[3] / "docs" / "samples" / "tide-gauge-manual.pdf"

NOTES = {
    "lamp": "---\ntitle: Lamp\ntype: lesson\n---\nThe lamp turns. See [[Pier]].\n",
    "pier": "---\ntitle: Pier\ntype: place\n---\nIt is wet, and the lamp stands on it.\n",
    "bell": "---\ntitle: Bell\ntype: lesson\n---\nThe bell of the mole is rung by hand in fog.\n",
    "bells": "---\ntitle: Bells\ntype: lesson\n---\nThe bell of the mole is rung by hand in fog.\n",
    "maren": "---\ntitle: Maren Holt\ntype: person\n---\nShe keeps the lamp.\n",
    "m-holt": "---\ntitle: M. Holt\ntype: person\naliases: [Holt]\n---\nShe rings the bell.\n",
}


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        home, _ = init(tmp_path_factory.mktemp("day") / "home", ("me",))
        home.edit((("embedding", "provider"), "hashing"))
        for name, text in NOTES.items():
            (home.root / "vaults" / "me" / f"{name}.md").write_text(text)
        with Djinn(Home(home.root)) as djinn:
            djinn.index()
            djinn.maintain(["duplicates"])
            djinn.recall("who keeps the lamp")
        with serving(home) as running:
            yield running


def test_a_day(server: Served, tmp_path: Path) -> None:
    with chromium() as browser:
        visitor = Visitor(browser, server)
        visitor.go(f"/login?token={server.token}")
        for part in (searches, edits, renames, uploads, merges, decides, tunes, looks_at_the_graph):
            part(visitor, server, tmp_path)
        assert [line for line in visitor.said if NOTICE not in line] == CONFLICTS
        assert visitor.asked == {server.host}


CONFLICTS = [
    "Failed to load resource: the server responded with a status of 409 (Conflict)",
    "Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)",
]
"""What Chromium itself says of the answers to a conflict and to a broken file."""


def searches(visitor: Visitor, server: Served, _: Path) -> None:
    page = visitor.page
    page.locator("#find[data-htmx-powered]").wait_for()
    page.get_by_role("searchbox", name="Search the memory").press_sequentially("turns")
    page.wait_for_url("**/search?query=turns")
    page.locator("a[data-beside]", has_text="Lamp").click()
    beside = page.get_by_role("region", name="The chosen memory")
    beside.get_by_text("The lamp turns.").wait_for()
    visitor.go("/note/me/lamp.md")
    page.get_by_role("link", name="Pier").first.wait_for()


def edits(visitor: Visitor, server: Served, _: Path) -> None:
    page, lamp = visitor.page, server.home.root / "vaults" / "me" / "lamp.md"
    page.keyboard.press("e")
    text = page.get_by_label("Markdown")
    mine = text.input_value().replace("turns", "blinks")
    text.fill(mine)
    command = ["memory", "edit", "Lamp", "--status", "lit"]
    program = [sys.executable, "-m", "djinn_memory", "--home", str(server.home.root)]
    subprocess.run([*program, *command], check=True, capture_output=True)
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Nothing is overwritten").wait_for()
    assert "status: lit" in page.get_by_label("The note as it is now").input_value()
    assert "The lamp turns." in lamp.read_text()
    text = page.get_by_label("Your text")
    assert text.input_value() == mine
    text.fill(mine.replace("type: lesson", "type: lesson\nstatus: lit"))
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The lamp blinks.").wait_for()
    assert "status: lit" in lamp.read_text() and "The lamp blinks." in lamp.read_text()


def renames(visitor: Visitor, server: Served, _: Path) -> None:
    page = visitor.page
    page.get_by_text("Rename, move, tag, delete").click()
    page.get_by_label("New title").fill("Harbour lamp")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("heading", name="Harbour lamp", level=1).wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("heading", name="Lamp", level=1).wait_for()
    assert (server.home.root / "vaults" / "me" / "lamp.md").exists()


def uploads(visitor: Visitor, _: Served, folder: Path) -> None:
    page = visitor.page
    visitor.go("/documents")
    files = [folder / name for name in ("minutes.txt", "broken.pdf", "manual.pdf")]
    for file, data in zip(
        files,
        (b"The mole gets a new bell.\n", b"%PDF-1.7 nothing", PDF.read_bytes()),
        strict=True,
    ):
        file.write_bytes(data)
    page.get_by_label("Files").set_input_files([str(file) for file in files])
    page.get_by_role("button", name="Upload").click()
    page.locator("#list").get_by_role("link", name="Tide gauge").wait_for()
    told = page.locator("#uploads li").all_inner_texts()
    assert [text.rpartition(": ")[2] for text in told if "broken" not in text] == ["done", "done"]
    assert "broken.pdf" in told[1] and "damaged" in told[1]
    page.locator("#list").get_by_role("link", name="Tide gauge").click()
    page.get_by_role("img", name="Page 1 of manual.pdf").wait_for()


def merges(visitor: Visitor, server: Served, _: Path) -> None:
    page = visitor.page
    visitor.go("/entities")
    page.get_by_role("link", name="M. Holt").click()
    page.get_by_text("Merge", exact=True).click()
    page.get_by_label("Merge M. Holt into").fill("Maren Holt")
    page.locator("details[open]").get_by_role("button", name="Preview").click()
    page.get_by_text("Nothing has been changed yet.").wait_for()
    page.get_by_role("button", name="Merge").click()
    page.get_by_role("heading", name="Maren Holt", level=1).wait_for()
    assert not (server.home.root / "vaults" / "me" / "m-holt.md").exists()
    assert page.get_by_role("button", name="Remove the alias Holt", exact=True).count()


def decides(visitor: Visitor, server: Served, _: Path) -> None:
    page, folder = visitor.page, server.home.root / "vaults" / "me"

    def bells() -> int:
        return len([*folder.glob("bell*.md")])

    visitor.go("/")
    page.get_by_role("button", name="Accept").click()
    page.get_by_text("Done.").wait_for()
    assert bells() == 1
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url("**/review?change=*")
    assert bells() == 2


def tunes(visitor: Visitor, server: Served, _: Path) -> None:
    page = visitor.page
    visitor.go("/settings/scoring")
    page.locator("form[data-htmx-powered]").last.wait_for()
    page.get_by_label("Recency half life days").fill("7")
    page.locator("#preview").get_by_text("who keeps the lamp").wait_for()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved.").wait_for()
    assert "recency_half_life_days: 7" in (server.home.root / "config.yaml").read_text()


def looks_at_the_graph(visitor: Visitor, _: Served, __: Path) -> None:
    page = visitor.page
    visitor.go("/graph")
    page.locator("canvas.picture").wait_for()
    page.get_by_label("Search notes").fill("Pier")
    page.keyboard.press("Enter")
    reader = page.get_by_role("complementary", name="Note")
    reader.get_by_text("It is wet").wait_for()
    reader.get_by_role("link", name="Open the note").click()
    page.get_by_role("heading", name="Pier", level=1).wait_for()
