import html
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("markdownify")

from djinn_memory.documents.html import html_markdown
from djinn_memory.notes.markdown import code_blocks, headings, mask, plain
from djinn_memory.notes.note import parse
from tests.documents.test_markdown import TEXTS, clean
from tests.examples import examples

TAGS = st.sampled_from(["p", "b", "span", "td", "li", "blockquote", "div"])


@pytest.mark.parametrize("text", ["_#é", "_#", "\\#a", "\\_#a", "*#a", "`#a"])
def test_marks_behind_escapes_stay_plain(text: str) -> None:
    markdown = html_markdown(f"<p>{text}")
    assert not parse("a.md", markdown.encode()).tags
    assert not list(headings(markdown))
    assert re.findall(r"\w", plain(markdown)) == re.findall(r"\w", text)


@example([("span", " ===")])
@example([("span", "  ---")])
@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(TAGS, TEXTS.map(clean)), min_size=1, max_size=3))
def test_no_text_of_a_page_acts_in_a_note(pieces: list[tuple[str, str]]) -> None:
    written = "".join(f"<{tag}>{html.escape(text)}</{tag}>" for tag, text in pieces)
    markdown = html_markdown(f"<body>intro<br>{written}</body>")
    note = parse("a.md", ("x\n\n" + markdown).encode("utf-8", "replace"))
    assert not note.links
    assert not note.tags
    assert not list(headings(markdown))
    assert not code_blocks(markdown)
    shown = re.findall(r"[^\W_]", "intro" + "".join(text for _, text in pieces))
    assert re.findall(r"[^\W_]", plain(markdown)) == shown
    if "$" not in written:
        assert re.findall(r"[^\W_]", mask(markdown)) == shown
