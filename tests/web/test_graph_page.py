"""The page of `djinn graph view`, as a person uses it in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.web.graph_page import graph_page
from tests.web.browser import OpenedPage, chromium

NOTES = {
    "Lamp": ("decision", "light", "2026-01-10", "# Lamp\n\nTwo **lamps**, see [[Mole]]."),
    "Mole": ("project", "stone", "2026-02-10", "Built of [[Stone]] by [[Keeper|the keeper]]."),
    "Stone": ("concept", "stone", "2026-03-10", "- grey\n- heavy\n\n> [[Quarry]]"),
    "Keeper": ("person", "light", "2026-04-10", "Lights the [[Lamp]], sweeps the [[Mole]]."),
    "Quarry": ("place", "stone", "2026-05-10", "Far away."),
    "Buoy": ("decision", "sea", "2026-06-10", "On its own."),
}
LAMP, MOLE, QUARRY = "shared:Lamp.md", "shared:Mole.md", "shared:Quarry.md"

HOSTILE = {
    "script": "</script><script>document.title = 'owned'</script>",
    "image": "<img src=x onerror=\"document.title = 'owned'\">",
    "bidi": "a\u202egnp.exe \u2066b\u0007\u0000c",
    "quotes": "\"'`${document.title = 'owned'}\\",
    "comment": "<!-- <script> -->",
}
HOSTILE_TEXT = """[a](javascript:document.title='owned') ![b](http://127.0.0.1:9/b.png)
<iframe src="http://127.0.0.1:9/"></iframe> [[</script><script>document.title='owned'</script>]]
[c](https://example.org/"onmouseover="document.title='owned'") <style>*{display:none}</style>
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def make(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes the page of a home with some notes: texts by the names of their files."""

    def made(notes: dict[str, str]) -> Path:
        root = tmp_path_factory.mktemp("page") / "home"
        shutil.copytree(home_template, root, symlinks=True)
        for name, text in notes.items():
            (root / "vaults" / "shared" / f"{name}.md").write_text(text, encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch, Djinn(Home(root)) as djinn:
            patch.setenv("DJINN_CONFIG_DIR", str(root.parent / "user"))
            djinn.index()
            page = graph_page(djinn.graph.view(texts=True))
        file = root.parent / "graph.html"
        file.write_bytes(page)
        return file

    return made


@pytest.fixture(scope="module")
def harbour(browser: Any, make: Any) -> Iterator[OpenedPage]:
    header = "---\ntype: {}\ntags: [{}]\ncreated: {}\n---\n{}"
    opened = OpenedPage(browser, make({name: header.format(*note) for name, note in NOTES.items()}))
    yield opened
    opened.page.close()


@pytest.fixture
def opened(harbour: OpenedPage) -> Iterator[OpenedPage]:
    """The page as it is at first. Afterwards its console must have been silent."""
    yield harbour
    harbour.js("view.search('')")
    if harbour.page.get_by_label("Close the note").is_visible():
        harbour.page.get_by_label("Close the note").click()
    if harbour.page.get_by_text("Show all").is_visible():
        harbour.page.get_by_text("Show all").click()
    assert harbour.said == []
    assert [url for url in harbour.requests if not url.startswith("file:")] == []


def colourful(pixel: tuple[int, int, int]) -> bool:
    return max(pixel) - min(pixel) > 40


def test_nodes_are_drawn_in_few_calls(opened: OpenedPage) -> None:
    picture = opened.picture()
    for name in NOTES:
        x, y = opened.spot(f"shared:{name}.md")
        assert colourful(picture.getpixel((int(x), int(y)))), name
    assert 1 <= opened.js("view.stats().calls") <= 4
    assert "6 notes, 6 links" in opened.page.locator(".side header").inner_text()


def test_nothing_is_drawn_while_nothing_moves(opened: OpenedPage) -> None:
    opened.rest()
    before = opened.js("view.stats().frames")
    opened.page.wait_for_timeout(400)
    assert opened.js("view.stats().frames") == before


def test_labels_do_not_overlap(opened: OpenedPage) -> None:
    opened.rest()
    boxes = opened.js("view.labels()")
    assert len(boxes) >= 4
    for number, (left, top, right, bottom) in enumerate(boxes):
        for x, y, far, low in boxes[:number]:
            assert left >= far or right <= x or top >= low or bottom <= y


def test_a_click_shows_the_note_and_a_link_in_it_the_next(opened: OpenedPage) -> None:
    opened.rest()
    opened.page.mouse.click(*opened.spot(LAMP))
    reader = opened.page.get_by_role("complementary", name="Note")
    assert reader.get_by_role("heading", name="Lamp").count() == 1
    assert reader.locator("strong").inner_text() == "lamps"
    assert "Keeper" in reader.locator(".links").nth(1).inner_text()
    reader.locator(".text").get_by_role("button", name="Mole").click()
    assert reader.get_by_role("heading", level=2).inner_text() == "Mole"
    opened.page.keyboard.press("Escape")
    assert not reader.is_visible()


def test_a_search_focuses_what_it_finds(opened: OpenedPage) -> None:
    opened.page.keyboard.press("Escape")
    opened.page.get_by_label("Search notes").fill("quarry far")
    assert opened.page.get_by_role("option").count() == 1
    opened.page.keyboard.press("Enter")
    assert opened.page.get_by_role("heading", level=2).inner_text() == "Quarry"
    opened.rest()
    x, y = opened.spot("shared:Quarry.md")
    # The middle of what no panel covers.
    assert abs(x - (304 + 864) / 2) < 20
    assert abs(y - 380) < 40


def test_filters_by_type_tag_and_orphans(opened: OpenedPage) -> None:
    opened.page.locator(".chip", has_text="decision").click()
    assert opened.count() == 4
    opened.page.get_by_text("Show all").click()
    opened.page.get_by_text("Tags").click()
    opened.page.get_by_label("#stone").check()
    assert opened.count() == 3
    opened.page.get_by_text("Show all").click()
    opened.page.get_by_label("Orphans only").check()
    assert opened.count() == 1
    assert opened.page.get_by_role("option").inner_text().strip() == "Buoy"


def test_the_neighbourhood_of_a_note(opened: OpenedPage) -> None:
    opened.js("view.focus(given)", LAMP)
    opened.page.get_by_role("button", name="1 link").click()
    assert opened.count() == 3
    opened.page.get_by_role("button", name="3 links").click()
    assert opened.count() == 5


def test_the_time_slider_hides_what_came_later(opened: OpenedPage) -> None:
    slider = opened.page.get_by_label("Show notes up to this day")
    slider.focus()
    opened.page.keyboard.press("Home")
    assert opened.count() == 1
    assert opened.page.locator("output").inner_text() == "2026-01-10"
    for _ in range(31):
        opened.page.keyboard.press("ArrowRight")
    assert opened.count() == 2


def test_two_dimensions_and_back(opened: OpenedPage) -> None:
    opened.rest()
    deep = opened.spot(MOLE)
    opened.page.get_by_role("button", name="3D", exact=True).click()
    opened.rest()
    flat = opened.spot(MOLE)
    assert flat != deep
    picture = opened.picture()
    assert colourful(picture.getpixel((int(flat[0]), int(flat[1]))))
    opened.page.get_by_role("button", name="2D", exact=True).click()


def test_light_and_dark(opened: OpenedPage) -> None:
    def corner() -> int:
        return sum(opened.picture().getpixel((640, 6)))

    dark = corner()
    opened.page.get_by_label("Light or dark").click()
    assert corner() > 600 > 200 > dark
    opened.page.get_by_label("Light or dark").click()
    opened.page.emulate_media(color_scheme="light")
    assert corner() > 600
    opened.page.emulate_media(color_scheme="dark")
    assert corner() == dark


def test_a_node_can_be_dragged_and_the_graph_turned(opened: OpenedPage) -> None:
    opened.rest()
    x, y = opened.spot(LAMP)
    other = opened.spot(QUARRY)
    mouse = opened.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 30, y + 20, steps=3)
    mouse.up()
    opened.rest()
    moved = opened.spot(LAMP)
    assert (round(moved[0] - x), round(moved[1] - y)) == (30, 20)
    assert opened.spot(QUARRY) == other
    mouse.move(1000, 690)
    mouse.down()
    mouse.move(1060, 690, steps=3)
    mouse.up()
    opened.rest()
    assert opened.spot(QUARRY) != other
    before = opened.spot(MOLE), opened.spot(QUARRY)
    mouse.wheel(0, -300)
    opened.rest()
    after = opened.spot(MOLE), opened.spot(QUARRY)
    apart = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in (before, after)]
    assert apart[1] > apart[0]


def test_the_list_works_by_keyboard(opened: OpenedPage) -> None:
    notes = opened.page.get_by_role("listbox", name="Notes")
    notes.focus()
    opened.page.keyboard.press("End")
    active = notes.get_attribute("aria-activedescendant")
    assert opened.page.locator(f"#{active}").get_attribute("aria-posinset") == "6"
    opened.page.keyboard.press("Home")
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("Enter")
    heading = opened.page.get_by_role("heading", level=2)
    assert heading.evaluate("element => element === document.activeElement")
    opened.page.keyboard.press("Escape")
    assert notes.evaluate("element => element === document.activeElement")
    opened.page.keyboard.press("/")
    search = opened.page.get_by_label("Search notes")
    assert search.evaluate("element => element === document.activeElement")


def test_a_phone_has_the_graph_and_the_note(opened: OpenedPage) -> None:
    opened.page.set_viewport_size({"width": 390, "height": 800})
    opened.rest()
    opened.js("view.focus(given)", LAMP)
    box = opened.page.get_by_role("complementary", name="Note").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    opened.rest()
    x, y = opened.spot(LAMP)
    assert 0 < x < 390 and 60 < y < box["y"]
    opened.page.set_viewport_size({"width": 1280, "height": 800})


def test_hostile_notes_are_harmless(browser: Any, make: Any) -> None:
    notes = {
        name: f"---\ntitle: {title!r}\ntype: '<b>x</b>'\ntags: ['<i>']\n---\n{HOSTILE_TEXT}"
        for name, title in HOSTILE.items()
    }
    opened = OpenedPage(browser, make(notes))
    rows = opened.page.get_by_role("option")
    assert rows.count() == len(notes)
    for number in range(len(notes)):
        rows.nth(number).click()
        opened.page.get_by_role("complementary", name="Note").wait_for()
        assert opened.page.locator(".reader iframe, .reader img, .reader style").count() == 0
    assert opened.page.title() == "djinn graph"
    hrefs = opened.page.locator(".reader a").evaluate_all("links => links.map(a => a.href)")
    assert hrefs and all(address.startswith(("https://", "http://")) for address in hrefs)
    assert opened.page.locator("script").count() == 2
    texts = opened.page.get_by_role("listbox").inner_text()
    assert not set(texts) & set("\u202e\u2066\u0007\u0000")
    assert opened.said == []
    assert [url for url in opened.requests if not url.startswith("file:")] == []
    opened.page.close()


@pytest.mark.parametrize(("notes", "says"), [({}, "There is no note yet"), ({"A": "x"}, "1 note")])
def test_a_page_of_nothing_or_one_note(
    browser: Any, make: Any, notes: dict[str, str], says: str
) -> None:
    opened = OpenedPage(browser, make(notes))
    assert says in opened.page.locator("body").inner_text()
    opened.rest()
    assert opened.said == []
    opened.page.close()
