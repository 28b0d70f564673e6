"""Requests that no page sends: each has an answer that says what is wrong."""

from __future__ import annotations

import pytest

from tests.web.pages.conftest import Place

DEEP = "[" * 30_000


@pytest.mark.parametrize("value", ["abc", "-1", "", "%00", "1.5", "[1]", "9" * 5000, DEEP])
@pytest.mark.parametrize(
    "field",
    ["review?limit", "documents/{}?page", "facts?skip", "facts?expired", "entities?skip",
     "timeline?skip", "session/a?last", "patterns?habits", "search?limit", "search?since"],
)  # fmt: skip
def test_a_field_of_an_address(place: Place, field: str, value: str) -> None:
    page = place.admin.get(f"/{field.format('x')}={value}")
    assert page.status_code in (200, 400, 404), page.text
    assert page.headers["content-type"].startswith("text/html")


def test_a_page_of_a_document_that_is_no_number(place: Place) -> None:
    for page in ("9" * 5000, "abc"):
        assert place.admin.get(f"/documents/x/{page}.png").status_code in (400, 404)


@pytest.mark.parametrize("value", ["[1]", '["a"]', "{}", DEEP, "1e400", "true", "many"])
def test_a_field_of_a_form(place: Place, value: str) -> None:
    data = {"name": "Bad", "kind": "person", "confidence": value}
    page = place.admin.post("/entities", data=data)
    assert page.status_code == 400 and "confidence" in page.text
