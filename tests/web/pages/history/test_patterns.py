"""The pages of patterns."""

from __future__ import annotations

import re

from tests.web.pages.history.conftest import Past


def test_patterns_are_listed_with_filters_and_correlations(past: Past) -> None:
    admin = past.place.admin
    page = admin.get("/patterns").text
    assert "Checks the lamp around 9" in page and '<meter aria-label="Confidence"' in page
    assert "No pattern matches." in admin.get("/patterns?status=emerging").text
    assert "tested pair" not in page
    assert "tested pair" in admin.get("/patterns?correlations=1").text
    assert "No pattern matches." in past.place.other.get("/patterns").text


def test_a_pattern_shows_its_evidence_and_when_it_was(past: Past) -> None:
    admin = past.place.admin
    [path] = re.findall(r'href="(/pattern/[^"]+)"', admin.get("/patterns").text)
    page = admin.get(path).text
    assert f'href="{past.session}#{past.turns[0]}"' in page
    assert 'aria-label="Hours of the day with evidence: 9:00 1"' in page
    assert 'aria-label="Days of the week with evidence: friday 1"' in page
    assert page.count('class="bound"') == 2
    assert "<script>document" not in page and "&lt;script&gt;" in page
    assert admin.get("/pattern/Checks the lamp around 9").status_code == 200
    assert admin.get("/pattern/nowhere").status_code == 404
    assert past.place.other.get(path).status_code == 404
