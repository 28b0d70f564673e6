"""The page of the parameters of scoring: who sees it, what it previews, and what it saves."""

from __future__ import annotations

import re

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.scoring import ScoringConfig
from djinn_memory.web.pages.settings.scoring import parameters
from tests.web.pages.conftest import Place

URL = "/settings/scoring"
PAGES = (
    "/settings", URL, "/settings/access", "/settings/health", "/settings/health/index",
    "/settings/health/checks", "/settings/health/sync",
)  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_the_settings_are_for_persons(place: Place, path: str) -> None:
    page = place.admin.get(path)
    assert page.status_code == 200 and page.text.count("<h1>") == 1
    assert not re.search(r"<script(?! type=\"module\" src=)|\sstyle=|\son\w+=", page.text)
    assert 'href="/settings"' in page.text
    for client in (place.reader, place.other):
        refused = client.get(path)
        assert refused.status_code == 403 and "administer" in refused.text
    assert 'href="/settings"' not in place.other.get("/").text


def test_every_parameter_has_a_sentence_and_its_range(place: Place) -> None:
    assert {*ScoringConfig.__struct_fields__} == {each["name"] for each in parameters()} | {
        "shared"
    }
    page = place.admin.get(URL).text
    for each in parameters():
        assert each["says"][0].isupper() and "Takes a" in each["says"]
        assert f'name="{each["name"]}" type="number"' in page
    assert "Takes a number from 0 to below 1; default: 0.3." in page


def test_a_preview_saves_and_logs_nothing(place: Place) -> None:
    empty = place.admin.post(f"{URL}/preview", data={"blend_boost_factor": "9"})
    assert "No recall is logged yet" in empty.text
    with Djinn(Home(place.home.root)) as djinn:
        djinn.recall("is the pier wet <b>")
        events = djinn.runtime.state.ledger.rows("select count(*) from event where kind like 'm%'")
    settings = place.home.config_path.read_bytes()
    form = {"blend_boost_factor": "9", "recency_floor": ".5", "min_valuations_for_signal": ""}
    page = place.admin.post(f"{URL}/preview", data=form)
    assert page.status_code == 200 and "is the pier wet &lt;b&gt;" in page.text
    assert 'name="blend_boost_factor"' in page.text and 'value="9"' in page.text
    assert 'value="0.5"' in page.text
    assert place.home.config_path.read_bytes() == settings
    with Djinn(Home(place.home.root)) as djinn:
        again = djinn.runtime.state.ledger.rows("select count(*) from event where kind like 'm%'")
    assert again == events


def test_parameters_are_saved_and_restored(place: Place) -> None:
    saved = place.admin.post(f"{URL}/save", data={"blend_boost_factor": "2", "shared": "on"})
    assert saved.url.path == URL and "Saved." in saved.text and 'value="2.0"' in saved.text
    scoring = Home(place.home.root).config.scoring
    assert scoring == ScoringConfig(blend_boost_factor=2, shared=True)
    assert "recency_floor: 0" not in re.sub("#.*", "", place.home.config_path.read_text())
    wrong = place.admin.post(
        f"{URL}/save", data={"blend_recency_weight": "0.5", "recency_floor": "x"}
    )
    assert "expected a number from 0 to below 1" in wrong.text and 'value="0.5"' in wrong.text
    unbalanced = place.admin.post(f"{URL}/preview", data={"blend_recency_weight": "0.5"})
    assert "must sum to 1" in unbalanced.text
    refused = place.reader.post(f"{URL}/save", data={"blend_boost_factor": "3"})
    assert refused.status_code == 403
    assert Home(place.home.root).config.scoring == scoring
    assert 'value="0.3"' in place.admin.post(f"{URL}/reset").text
    assert Home(place.home.root).config.scoring == ScoringConfig()
