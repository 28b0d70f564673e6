"""The pages of facts: set, found by category, as of a day, confirmed and forgotten."""

from __future__ import annotations

import re

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.web.pages.conftest import Place
from tests.web.pages.knowledge.test_entities import HOSTILE, change_in


@pytest.fixture(scope="module", autouse=True)
def facts(place: Place) -> None:
    with Djinn(Home(place.home.root)) as djinn:
        djinn.facts.set("anna", "city", "Warsaw", valid_from="2024-01-01")
        djinn.facts.set("anna", "city", "Gdynia", valid_from="2026-02-01")
        djinn.facts.set("build", "compiler", HOSTILE, shared=True)


def test_facts_are_listed_by_category(place: Place) -> None:
    page = place.admin.get("/facts").text
    assert re.findall(r'<h2><a href="[^"]*">(\w+)</a>', page) == ["anna", "build"]
    assert "Gdynia" in page and HOSTILE not in page and "Set fact" in page
    assert "Gdynia" not in place.admin.get("/facts?category=build&search=").text
    assert "Warsaw" in place.admin.get("/facts?search=warsaw&as_of=2025").text
    assert "No fact matches." in place.admin.get("/facts?search=nowhere").text
    assert "Gdynia" not in place.other.get("/facts").text
    assert "Set fact" not in place.reader.get("/facts").text


def test_a_fact_with_its_history(place: Place) -> None:
    page = place.admin.get("/fact/anna/city").text
    assert "Gdynia</blockquote>" in page and re.search(r"Warsaw\s*</td><td>2024-01-01", page)
    then = place.admin.get("/fact/anna/city?as_of=2025").text
    assert "Warsaw</blockquote>" in then
    assert place.admin.get("/fact/anna/city?as_of=2020").status_code == 404
    assert "post" not in place.reader.get("/fact/build/compiler").text
    note = place.admin.get("/note/anna%2Fcity").text
    [path] = re.findall(r'href="(/fact/[^"]+)">See this fact', note)
    assert "Gdynia</blockquote>" in place.admin.get(path).text


@pytest.mark.parametrize(("category", "key"), [("sea/bay", "buoy"), ("50%41", "k"), ("<u>c", "d")])
def test_the_note_of_a_fact_leads_to_its_page(place: Place, category: str, key: str) -> None:
    with Djinn(Home(place.home.root)) as djinn:
        fact = djinn.facts.set(category, key, "Here.", shared=True).fact
    note = place.admin.get(f"/note/shared/{fact.path}").text
    [path] = re.findall(r'href="(/fact/[^"]+)">See this fact', note)
    assert "Here.</blockquote>" in place.admin.get(path).text
    place.admin.post("/facts/forget", data={"category": category, "key": key})


def test_the_note_of_a_superseded_fact_does_not_lead_there(place: Place) -> None:
    text = "---\ntype: fact\ntitle: a/b\ncategory: a\nkey: b\nstatus: superseded\n---\nOnce.\n"
    (place.shared / "old.md").write_text(text)
    assert "See this fact" not in place.admin.get("/note/shared/old.md").text
    (place.shared / "old.md").unlink()


def test_a_fact_without_a_category(place: Place) -> None:
    (place.shared / "motto.md").write_text("---\ntype: fact\n---\n# Motto\n\nOnward.\n")
    page = place.admin.get("/facts").text
    assert "Without a category" in page
    [path] = re.findall(r'href="([^"]+)">Motto', page)
    assert "Onward." in place.admin.get(path).text
    (place.shared / "motto.md").unlink()


@pytest.mark.parametrize(
    ("category", "key"), [("ben", "boat"), ("50%/a b", "c/d?e#f"), ("ü", HOSTILE), ("x%2Fy", "-1")]
)
def test_a_fact_is_set_confirmed_and_forgotten(place: Place, category: str, key: str) -> None:
    name = {"category": category, "key": key}
    fields = {**name, "value": "Aurora", "source": "", "confidence": "0.4", "expires": "30d",
              "valid_from": "2026-01", "valid_to": "", "shared": "true"}  # fmt: skip
    added = place.admin.post("/facts/set", data=fields)
    change_in(added)
    assert "Aurora</blockquote>" in added.text and "confidence 0.40" in added.text
    assert "expires" in added.text and "checked" in added.text and HOSTILE not in added.text
    newer = place.admin.post("/facts/set", data={**name, "value": "Bold", "shared": "true"})
    assert re.search(r"Aurora\s*</td><td>2026-01-01", newer.text)
    [back] = re.findall(r'name="back" value="([^"]+)"', newer.text)
    undone = place.admin.post("/undo", data={"change": change_in(newer), "back": back})
    assert "Aurora</blockquote>" in undone.text
    assert "Aurora</blockquote>" in place.admin.post("/facts/verify", data=name).text
    assert place.reader.post("/facts/verify", data=name).status_code == 403
    gone = place.admin.post("/facts/forget", data=name)
    assert gone.url.path == "/facts" and "Aurora" not in gone.text
    [back] = re.findall(r'name="back" value="([^"]+)"', gone.text)
    assert (
        "Aurora" in place.admin.post("/undo", data={"change": change_in(gone), "back": back}).text
    )
    place.admin.post("/facts/forget", data=name)
