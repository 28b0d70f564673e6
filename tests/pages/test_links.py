"""Links between pages lead to pages and headings that exist, and each page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages.fenced import DOCS, GENERATED, PAGES, ROOT

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
FENCED = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)

ALL = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]


def links(page: Path) -> list[tuple[Path, str]]:
    """The files that a page links to, each with the anchor or an empty text."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    return [
        ((page.parent / target).resolve() if target else page, anchor)
        for target, anchor in LINK.findall(text)
    ]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {target.name}#{anchor}"


def test_each_page_is_linked_from_the_index() -> None:
    listed = {target for target, _ in links(DOCS / "README.md")}
    assert {*PAGES, *GENERATED} - {ROOT / "README.md", DOCS / "README.md"} <= listed
