"""The pages of entities: found, changed, merged and split, and each change taken back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.web.pages.conftest import Place

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def people(place: Place) -> Iterator[Djinn]:
    with Djinn(Home(place.home.root)) as djinn:
        djinn.entities.add("Maren Holt", "person", aliases=["Maren"], confidence=0.8, shared=True)
        djinn.entities.add("Hidden", "concept")
        djinn.entities.add("Ann", "person", properties=["city=Rome"], shared=True)
        djinn.entities.add("Lamp", "project", f"It {HOSTILE} [[Pier]].", shared=True)
        djinn.entities.set("Lamp", "led-by", "[[Ann]]", valid_from="2026-01-01")
        djinn.entities.set("Lamp", "led-by", "[[Maren Holt]]", valid_from="2026-05-01")
        (place.shared / "met.md").write_text("# Met\n\nAnn saw the [[Lamp]].\n")
        djinn.index()
        yield djinn


def change_in(page: httpx2.Response) -> str:
    """The change that the page offers to take back."""
    assert page.status_code == 200, page.text
    [change] = re.findall(r'name="change" value="(chg_\w+)"', page.text)
    return str(change)


def test_entities_are_listed(place: Place, people: Djinn) -> None:
    page = place.admin.get("/entities").text
    for text in ("Maren Holt", "also Maren", "confidence 0.80", "person (2)", "Add entity"):
        assert text in page
    assert "Ann</a>" not in place.admin.get("/entities?search=mar&kind=").text
    assert "No entity matches." in place.admin.get("/entities?kind=place").text
    assert "Hidden" not in place.other.get("/entities").text
    assert place.other.get("/entity/Hidden").status_code == 404
    reader = place.reader.get("/entities").text
    assert "Maren Holt" in reader and "Add entity" not in reader


def test_pages_of_a_list(place: Place, people: Djinn) -> None:
    for number in range(30):
        people.entities.add(f"Buoy {number:02}", "concept")
    first = place.admin.get("/entities?kind=concept").text
    assert "Buoy 29" in first and "Hidden" not in first and "1 to 30 of 31" in first
    second = place.admin.get("/entities?kind=concept&skip=30").text
    assert "Hidden" in second and 'rel="next"' not in second


def test_what_is_known_about_one(place: Place, people: Djinn) -> None:
    page = place.admin.get("/entity/Lamp").text
    assert HOSTILE not in page and '">Pier</a>' in page
    assert '<a href="/entity/Maren%20Holt">Maren Holt</a>' in page
    assert "since 1 May 2026" in page and "earlier" in page and "&#34;led-by&#34;" in page
    assert "Ann saw the" in page
    then = place.admin.get("/entity/Lamp?as_of=2026-02").text
    assert re.search(r"led-by\s+<a[^>]*>Ann<", then) and "earlier" not in then
    assert re.search(r"led-by of\s+<a[^>]*>Lamp<", place.admin.get("/entity/Maren Holt").text)
    note = place.admin.get("/note/Lamp").text
    assert "See this entity" in note and "See this entity" not in place.admin.get("/note/Pier").text
    reader = place.reader.get("/entity/Lamp").text
    assert 'method="post"' not in reader.replace("/undo", "")


def test_a_name_of_several_entities(place: Place, people: Djinn) -> None:
    people.entities.add("Maren Voss", "person", aliases=["Maren"], shared=True)
    page = place.admin.get("/entity/Maren")
    assert page.url.path == "/entities" and {"Maren Holt", "Maren Voss"} <= {
        *re.findall(r">([\w ]+)</a>", page.text)
    }


def test_an_entity_is_added_and_changed(place: Place, people: Djinn) -> None:
    fields = {"name": f"Quay {HOSTILE}", "kind": "place", "aliases": f"Dock, old\r\n{HOSTILE}",
              "text": "", "confidence": "0.5", "shared": "true"}  # fmt: skip
    added = place.admin.post("/entities", data=fields)
    change_in(added)
    path = added.url.path
    [entity] = people.entities.list(search="dock, old").entities
    assert (entity.vault, {*entity.aliases}, entity.confidence) == (
        "shared", {"Dock, old", HOSTILE}, 0.5,
    )  # fmt: skip
    assert HOSTILE not in added.text and HOSTILE not in place.admin.get("/entities").text

    def do(verb: str, **fields: str) -> httpx2.Response:
        return place.admin.post(path.replace("/entity/", f"/entities/{verb}/"), data=fields)

    change_in(do("alias", action="remove", aliases=HOSTILE))
    change_in(do("alias", action="add", aliases="Old dock"))
    change_in(do("edit", kind="concept", confidence="0.9"))
    change_in(do("set", key="city", value="Oslo", valid_from="2026-01-01", valid_to=""))
    change_in(do("set", key="lamps", value='["red", "green"]', json_value="true"))
    page = place.admin.get(path).text
    assert "since 1 January 2026" in page and "red, green" in page and "confidence 0.90" in page
    entity = people.entities.list(search="dock, old").entities[0]
    assert ({*entity.aliases}, entity.type) == ({"Dock, old", "Old dock"}, "concept")
    unset = do("unset", fields="city=")
    assert "Oslo</td><td>until" in unset.text
    back = place.admin.post("/undo", data={"change": change_in(unset), "back": path})
    assert re.search(r"Oslo</td><td>since 1 January 2026</td>", back.text)
    removed = do("remove")
    assert removed.url.path == "/entities" and place.admin.get(path).status_code == 404
    place.admin.post("/undo", data={"change": change_in(removed), "back": "/entities"})
    assert place.admin.get(path).status_code == 200
    assert place.reader.post("/entities", data=fields).status_code == 403


def test_a_merge_and_a_split_are_shown_before(place: Place, people: Djinn) -> None:
    people.entities.add("Robert", "person", shared=True)
    before = people.entities.show("Ann").entity
    preview = place.admin.get("/entities/merge/Ann?into=Robert")
    assert "Merge Ann into Robert?" in preview.text and "shared/projects/lamp.md" in preview.text
    assert people.entities.show("Ann").entity == before
    [action] = re.findall(r'action="(/entities/merge/[^"]+)"', preview.text)
    merged = place.admin.post(action, data={"into": "Robert"})
    change_in(merged)
    assert "<h1>Robert</h1>" in merged.text and "Rome" in merged.text
    preview = place.admin.get("/entities/split/Robert?other=")
    assert "Take Ann out of Robert?" in preview.text
    assert place.admin.get("/entity/Ann").text.count("<h1>Robert</h1>") == 1
    change_in(place.admin.post("/entities/split/Robert", data={"other": ""}))
    assert "<h1>Ann</h1>" in place.admin.get("/entity/Ann").text
    assert place.admin.get("/entities/split/Ann").status_code == 404
    assert place.reader.get("/entities/merge/Ann?into=Robert").status_code == 403
