"""Markdown of strangers as HTML that can do nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.web.pages.markdown import _TAGS, to_html

ATTACKS = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>",
    "[a](javascript:alert(1))", "[a](JaVaScRiPt&colon;alert(1))", "[a](data:text/html,<script>)",
    "![a](javascript:alert(1))", '![a](x" onerror="alert(1))', "<javascript:alert(1)>",
    '[a](https://x.org "\\" onmouseover=alert(1) ")', "[[<img src=x onerror=alert(1)>]]",
    '[[a|"><script>alert(1)</script>]]', "<a href='vbscript:x'>a</a>", "<iframe src=//x.org>",
    "`<script>`", "```html\n<script>alert(1)</script>\n```", "<style>*{display:none}</style>",
    "[a]: javascript:alert(1)\n\n[a]", "<!-- --><script>alert(1)</script>", "&lt;script&gt;",
    "<form action=/delete/note/x method=post><button>", "<base href=//x.org>",
]  # fmt: skip


class _Seen(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "href":
                self.addresses.append(value or "")


def assert_inert(html: str) -> None:
    seen = _Seen(html)
    assert seen.tags <= _TAGS
    assert seen.attributes <= {"href", "title", "class", "start", "rel", "tabindex"}
    for address in seen.addresses:
        assert address.startswith(("http://", "https://", "mailto:", "/note/")), address


@pytest.mark.parametrize("text", ATTACKS)
def test_attacks_are_inert(text: str) -> None:
    assert_inert(to_html(text, {"a": "/note/shared/a.md"}))
    assert_inert(to_html(f"---\ntitle: x\n---\n> - {text}\n", {}))


@given(st.lists(st.sampled_from([*ATTACKS, "[[", "]]", "|", "\n", "(", ")", "<", '"', "a"])))
def test_parts_of_attacks_are_inert(parts: list[str]) -> None:
    assert_inert(to_html("".join(parts), {"a": "/note/shared/a.md"}))


def test_links_lead_to_pages_and_images_of_others_become_links() -> None:
    links = {"Mole": "/note/shared/mole.md", "mole.md": "/note/shared/mole.md"}
    text = (
        "---\ntype: lesson\n---\n# Lamp\n\n[[Mole]] [[Mole|the mole]] [m](mole.md) [[Nowhere]] "
        "[r](/delete) ![i](https://x.org/i.png) <https://x.org/>\n"
    )
    html = to_html(text, links, "Lamp")
    rel = ' rel="noopener noreferrer nofollow"'
    assert html.strip() == (
        f'<p><a href="/note/shared/mole.md"{rel}>Mole</a> '
        f'<a href="/note/shared/mole.md"{rel}>the mole</a> '
        f'<a href="/note/shared/mole.md"{rel}>m</a> <a class="missing"{rel}>Nowhere</a> '
        f'<a class="missing"{rel}>r</a> <a href="https://x.org/i.png"{rel}>i</a> '
        f'<a href="https://x.org/"{rel}>https://x.org/</a></p>'
    )
    assert "<h1>Lamp</h1>" in to_html(text, links)


def test_links_to_a_heading_or_a_block_lead_to_the_page_of_their_note() -> None:
    text = "[[pier#^block]] [[pier#Heading|b]] [c](pier#heading) [[#Here]]"
    html = to_html(text, {"pier": "/note/pier"})
    assert html.count('href="/note/pier"') == 3 and html.count("missing") == 1


def test_callouts_and_tasks_are_read_and_code_is_reached_with_keys() -> None:
    html = to_html("> [!warning] Mind *it*\n> Deep.\n\n> [!note]-\n> Folded.\n", {})
    assert "<strong>Mind <em>it</em></strong><br>\nDeep." in html
    assert "<strong>Note</strong><br>\nFolded." in html
    html = to_html("- [ ] open\n- [x] done\n- [y] no\n\n```\n- [ ] code\n```\n", {})
    assert "<li>☐ open</li>\n<li>☑ done</li>\n<li>[y] no</li>" in html
    assert '<pre tabindex="0"><code>- [ ] code\n</code></pre>' in html
