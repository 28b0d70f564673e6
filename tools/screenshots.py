"""Takes the pictures of docs/pages.md: six pages of the sample memory, in docs/pages.

It needs playwright and Chromium, and no network.

Run: `python tools/screenshots.py`
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from demo import DJINN, MANUAL, ROOT, prepare
from PIL import Image
from playwright.sync_api import Page, sync_playwright

TARGET = ROOT / "docs" / "pages"

STEPS = (
    "init --agent finn --agent grace",
    "index",
    f"ingest {ROOT / MANUAL} --vault shared",
    "wake --task packs --budget 200",
    "remember commitment 'Paint the slipway rail' 'Before the spring tide.' --due 2w",
    "gap report 'Who has the key of the boat shed?'",
    "recall 'how do we move packs without losing one'",
    "recall 'why are there no native apps'",
    *("recall 'why are there no native apps'", "rate last --useful 3 --not-useful 1") * 3,
)


class Shot(NamedTuple):
    """A picture of a page."""

    name: str
    path: str
    dark: bool = False
    width: int = 1280
    hit: str = ""
    """A hit of the list that is opened beside it."""
    typed: tuple[str, str] = ("", "")
    """The label of a field, and what is typed into it."""


SHOTS = (
    Shot("start", "/"),
    Shot("search", "/search?query=why+no+native+apps", dark=True, hit="No native apps"),
    Shot("note", "/note/shared/decisions/harbourlight-architecture.md"),
    Shot("document", "/documents"),
    Shot("scoring", "/settings/scoring", dark=True, typed=("Blend boost factor", "4")),
    Shot("phone", "/note/shared/decisions/harbourlight-architecture.md", dark=True, width=390),
)


def take(page: Page, address: str, shot: Shot) -> None:
    """Take a picture, in 256 colours."""
    page.goto(address + shot.path)
    if shot.name == "document":
        page.locator("#list a").first.click()
        page.goto(f"{page.url}?page=3")
    if shot.hit:
        page.locator("a[data-beside]", has_text=shot.hit).first.click()
        page.locator("#beside h1").wait_for()
    label, text = shot.typed
    if label:
        page.locator("form[data-htmx-powered]").last.wait_for()
        page.get_by_label(label).fill(text)
        page.locator("#preview summary").first.wait_for()
        page.evaluate("scrollTo(0, 0)")
    page.wait_for_load_state("networkidle")
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(256).save(TARGET / f"{shot.name}.png", optimize=True)


def main() -> None:
    """Take all pictures."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("chromium is not installed; apt install chromium")
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "memory"
        prepare(home)
        for step in STEPS:
            command = f"{DJINN} --home {home} {step}"
            subprocess.run(command, shell=True, check=True, cwd=home, capture_output=True)
        server = subprocess.Popen(
            [DJINN, "--home", home, "serve", "--port", "0"], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr
            login = next(
                filter(None, (re.search(r"(http://\S+)/login\S+", line) for line in server.stderr))
            )
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                context = browser.new_context()
                context.new_page().goto(login[0])
                state = context.storage_state()
                for shot in SHOTS:
                    opened = browser.new_context(
                        viewport={"width": shot.width, "height": 800},
                        color_scheme="dark" if shot.dark else "light",
                        storage_state=state,
                    )
                    take(opened.new_page(), login[1], shot)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
