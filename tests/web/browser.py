"""One headless Chromium for all tests of pages. It draws WebGL in software."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

ARGUMENTS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]

PATIENCE = 60_000
"""Milliseconds: a busy machine is no failure."""

NOTICE = "GPU stall due to ReadPixels"
"""What Chromium says in its console when a picture of a page is taken."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser. Skips the test where playwright or Chromium is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed; apt install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class OpenedPage:
    """A page in the browser, what its console said, and what it asked of the network."""

    def __init__(self, browser: Any, file: Path, **context: Any) -> None:
        settings = {"reduced_motion": "reduce", "color_scheme": "dark", **context}
        self.page = browser.new_page(viewport={"width": 1280, "height": 800}, **settings)
        self.page.set_default_timeout(PATIENCE)
        self.console: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    @property
    def said(self) -> list[str]:
        """What the console said but for notices of the graphics card."""
        return [text for text in self.console if NOTICE not in text]

    def js(self, expression: str, argument: object = None) -> Any:
        """The value of an expression, in which `view` is the handle of the graph."""
        code = "(given) => { const view = document.querySelector('[data-graph]').djinn; "
        return self.page.evaluate(f"{code}return ({expression}); }}", argument)

    def rest(self) -> None:
        """Wait until nothing moves."""
        # `wait_for_function` would evaluate a text, which the policy of the page forbids.
        for _ in range(PATIENCE // 50):
            if self.js("view.stats().resting"):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("the graph does not come to rest")

    def picture(self) -> Image.Image:
        """What a person sees now."""
        self.rest()
        return Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")

    def spot(self, address: str) -> tuple[float, float]:
        """Where a node is on the page."""
        x, y, radius, _ = self.js("view.spot(given)", address)
        assert radius > 0, f"{address} is not shown"
        return x, y

    def count(self) -> int:
        """How many nodes are shown."""
        return int(self.js("view.stats().shown"))
