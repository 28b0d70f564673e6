"""The page of decisions."""

from __future__ import annotations

from tests.web.pages.conftest import Place


def test_only_a_single_change_is_offered_to_be_taken_back(place: Place) -> None:
    for name in ("a", "b", "c"):
        (place.shared / f"{name}.md").write_text("Two lamps.\n")
        (place.shared / f"{name} (conflict laptop 07070707).md").write_text("Three lamps.\n")
    item = place.admin.get("/review?kind=conflict").text.partition('name="item" value="')[2][:14]
    one = place.admin.post("/review", data={"item": item, "decision": "accept"})
    assert 'name="change"' in one.text
    both = place.admin.post("/review", data={"all": "conflict", "decision": "accept"})
    assert "Nothing waits" in both.text and 'name="change"' not in both.text
    for name in ("a", "b", "c"):
        assert (place.shared / f"{name}.md").read_text() == "Three lamps.\n"
        (place.shared / f"{name}.md").unlink()
