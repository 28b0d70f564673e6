"""A person's day in a browser, with a script and without, in both themes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.web.api.serving import Served
from tests.web.api.serving import serving as served_by
from tests.web.browser import PATIENCE, chromium

AXE = Path(__file__).resolve().parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"

HOSTILE = """---
title: "<img src=x onerror=\\"document.title='owned'\\">"
tags: ["<script>document.title='owned'</script>"]
---
<script>document.title = 'owned'</script> [a](javascript:document.title='owned')
![b](http://127.0.0.1:9/b.png) <iframe src="http://127.0.0.1:9/"></iframe> [[Pier|<svg onload=x>]]
"""


class Visitor:
    """A browser that is logged in, what its console said, and what it asked of the network."""

    def __init__(self, browser: Any, server: Served, **settings: Any) -> None:
        size = {"width": settings.pop("width", 1280), "height": 800}
        self.context = browser.new_context(viewport=size, **settings)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: set[str] = set()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.add(request.url.split("/")[2]))
        self.root = f"http://{server.host}"

    def go(self, path: str) -> None:
        self.page.goto(self.root + path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        home, _ = init(tmp_path_factory.mktemp("browser") / "home", ("me",))
        shared = home.root / "vaults" / "shared"
        (shared / "pier.md").write_text("# Pier\n\nIt is wet. See [[lamp]].\n")
        (shared / "lamp.md").write_text("# Lamp\n\nIt turns.\n")
        (shared / "hostile.md").write_text(HOSTILE)
        with Djinn(Home(home.root)) as djinn:
            djinn.index()
            djinn.entities.add("Maren", "person", aliases=["M"], properties=["city=Oslo"])
            djinn.facts.set("maren", "city", "Rome")
            djinn.facts.set("maren", "city", "Oslo")
        with served_by(home) as running:
            yield running


@pytest.fixture(scope="module")
def state(browser: Any, server: Served) -> Any:
    """The cookie of a browser that used the login address."""
    visitor = Visitor(browser, server)
    visitor.go(f"/login?token={server.token}")
    assert visitor.page.url == f"{visitor.root}/"
    state = visitor.context.storage_state()
    visitor.context.close()
    return state


def test_a_day_with_keys_alone(browser: Any, server: Served, state: Any) -> None:
    visitor = Visitor(browser, server, storage_state=state)
    page = visitor.page
    visitor.go("/")
    # A test types before the script listens.
    page.locator("#find[data-htmx-powered]").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("turns")
    page.get_by_role("status").get_by_text(re.compile("hit|match")).wait_for()
    page.wait_for_url("**/search?query=turns")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    # A hit opens beside the list.
    beside = page.get_by_role("region", name="The chosen memory")
    beside.get_by_role("heading", name="Lamp", level=1).wait_for()
    assert beside.get_by_role("link", name="Pier").count() and page.url.endswith("query=turns")
    # The next entry is the one after the open one.
    page.wait_for_function("document.activeElement.id == 'beside'")
    page.keyboard.press("j")
    assert page.locator(":focus").text_content() == page.locator(".row > a").nth(1).text_content()
    page.keyboard.press("e")
    text = page.get_by_label("Markdown")
    page.locator("#text[data-htmx-powered]").wait_for()
    text.fill("# Lamp\n\nIt **blinks**.\n")
    page.locator("#preview strong").wait_for()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("status").get_by_text("Done.").wait_for()
    assert (server.home.root / "vaults/shared/lamp.md").read_text() == "# Lamp\n\nIt **blinks**.\n"
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("It turns.", exact=True).wait_for()
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    # The palette is walked with arrows, and leads to a page.
    page.keyboard.press("Control+k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#commands a:focus").text_content() == "Facts"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.type("graph")
    page.keyboard.press("Enter")
    page.wait_for_url("**/graph")
    page.locator("canvas.picture").wait_for()
    # It has all the room below the bar.
    drawn, bar = (page.locator(part).bounding_box() for part in (".whole", ".bar"))
    assert (drawn["x"], drawn["width"]) == (0, 1280)
    assert drawn["y"] == bar["height"] and drawn["y"] + drawn["height"] == 800
    assert [line for line in visitor.said if "GPU stall" not in line] == []
    assert visitor.asked == {server.host}


def test_a_hostile_note_is_inert(browser: Any, server: Served, state: Any) -> None:
    visitor = Visitor(browser, server, storage_state=state)
    for path in ("/", "/search?query=iframe", "/note/shared/hostile.md",
                 "/edit/note/shared/hostile.md", "/documents"):  # fmt: skip
        visitor.go(path)
        assert visitor.page.title() != "owned"
        assert visitor.page.locator("main script, main iframe, main img, main svg").count() == 0
    assert visitor.said == [] and visitor.asked == {server.host}


def test_without_a_script(browser: Any, server: Served, state: Any, tmp_path: Path) -> None:
    visitor = Visitor(browser, server, storage_state=state, java_script_enabled=False)
    page = visitor.page
    visitor.go("/")
    page.get_by_role("searchbox", name="Search the memory").fill("wet")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Pier").click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Markdown").fill("# Pier\n\nIt is dry. See [[lamp]].\n")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("It is dry.").wait_for()
    visitor.go("/documents")
    (tmp_path / "minutes.txt").write_text("The mole gets a new lamp.\n")
    page.get_by_label("File").set_input_files(str(tmp_path / "minutes.txt"))
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("minutes.txt").first.wait_for()


def test_uploads_without_https(browser: Any, server: Served, state: Any, tmp_path: Path) -> None:
    visitor = Visitor(browser, server, storage_state=state)
    visitor.page.add_init_script("delete Crypto.prototype.randomUUID")
    visitor.go("/documents")
    (tmp_path / "tides.txt").write_text("The tide turns at noon.\n")
    visitor.page.get_by_label("File").set_input_files(str(tmp_path / "tides.txt"))
    visitor.page.get_by_role("button", name="Upload").click()
    visitor.page.locator("#uploads").get_by_text("done").wait_for()


def test_files_are_uploaded_one_after_the_other(
    browser: Any, server: Served, state: Any, tmp_path: Path
) -> None:
    visitor = Visitor(browser, server, storage_state=state)
    page = visitor.page
    for name, text in (("buoys.txt", "A buoy is red or green."), ("broken.pdf", "%PDF-1.7 no"),
                       ("ropes.txt", "A rope is dry.")):  # fmt: skip
        (tmp_path / name).write_text(text)
    visitor.go("/documents")
    page.locator("input[type=file][multiple]").set_input_files([*tmp_path.iterdir()])
    page.get_by_role("button", name="Upload").click()
    for name in ("buoys.txt", "ropes.txt"):
        page.locator("#uploads li", has_text=name).get_by_text("done").wait_for()
    broken = page.locator("#uploads li.warning")
    broken.wait_for()
    assert (broken.text_content() or "").count("broken.pdf") == 1
    page.locator("#list").get_by_role("link", name="ropes").wait_for()


def test_a_filter_keeps_the_focus(browser: Any, server: Served, state: Any) -> None:
    visitor = Visitor(browser, server, storage_state=state)
    page = visitor.page
    visitor.go("/search?query=pier")
    page.locator("form.filters[data-htmx-powered]").wait_for()
    page.get_by_label("Plane").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**planes=semantic**")
    assert page.locator(":focus").get_attribute("name") == "planes"


def test_settings_follow_what_a_person_types(browser: Any, server: Served, state: Any) -> None:
    with Djinn(Home(server.home.root)) as djinn:
        djinn.recall("is the pier wet or dry")
    visitor = Visitor(browser, server, storage_state=state)
    page = visitor.page
    visitor.go("/settings/scoring")
    page.locator("form[data-htmx-powered]").last.wait_for()
    page.get_by_label("Blend boost factor").fill("9")
    page.locator("#preview").get_by_text("is the pier wet or dry").wait_for()
    page.get_by_label("Recency floor").fill("2")
    page.locator("#preview").get_by_text("from 0 to below 1").wait_for()
    assert page.get_by_label("Blend boost factor").input_value() == "9"
    visitor.go("/settings/health")
    page.get_by_text("Update the index").wait_for()
    page.get_by_text("What is well").wait_for()
    assert visitor.said == [] and visitor.asked == {server.host}


PAGES = ("/", "/search?query=pier", "/note/shared/pier.md", "/edit/note/shared/pier.md",
         "/more/note/shared/pier.md", "/new", "/documents", "/review", "/graph", "/login",
         "/note/nowhere", "/settings", "/settings/scoring", "/settings/access", "/settings/health",
         "/settings/health/checks", "/settings/health/index", "/entities", "/entity/maren",
         "/facts", "/fact/maren/city", "/timeline", "/session/none", "/patterns?correlations=1",
         "/agents", "/agent/me")  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_accessible(
    browser: Any, server: Served, state: Any, scheme: str, width: int
) -> None:
    if not AXE.exists():
        pytest.skip("the packages of web/ are not installed; run `make bundles`")
    visitor = Visitor(browser, server, storage_state=state, color_scheme=scheme, width=width)
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
    for path in PAGES:
        visitor.go(path)
        visitor.page.evaluate(AXE.read_text())
        result = visitor.page.evaluate("rules => axe.run(document, rules)", rules)
        told = [
            (rule["id"], [node["html"][:200] for node in rule["nodes"]])
            for rule in result["violations"]
        ]
        assert told == [], path
        widths = visitor.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1], path
