"""The excerpt that shows why a hit came up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.search.snippet import LENGTH, snippet

TEXT = st.text(st.sampled_from("ab kettle*_[]()|`#>\n-é日\u202e"), max_size=900)


def is_kettle(word: str) -> bool:
    return word.lower() == "kettle"


def test_the_excerpt_stands_around_the_densest_matches() -> None:
    text = "kettle " + "word " * 200 + "kettle and kettle again " + "word " * 200
    excerpt, marks = snippet(text, (0, len(text)), is_kettle)
    assert [excerpt[low:high] for low, high in marks] == ["kettle", "kettle"]
    assert excerpt.startswith("… ")
    assert excerpt.endswith(" …")


def test_the_excerpt_stays_in_the_best_window() -> None:
    text = "first part with kettle. " * 30 + "second part without. " * 30
    half = len("first part with kettle. " * 30)
    excerpt, _ = snippet(text, (half, len(text)), is_kettle)
    assert "first" not in excerpt


def test_marks_of_markdown_are_taken_out() -> None:
    excerpt, marks = snippet("See [[Note|the **kettle**]] at [home](x.md)", (0, 43), is_kettle)
    assert excerpt == "See the kettle at home"
    assert [excerpt[low:high] for low, high in marks] == ["kettle"]


def test_an_empty_window_shows_the_chunk() -> None:
    assert snippet("text", (0, 0), is_kettle) == ("text", ())
    assert snippet("", (0, 0), is_kettle) == ("", ())


@given(TEXT, st.data())
def test_any_text_gives_a_short_line_with_marks_on_matching_words(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    excerpt, marks = snippet(text, (start, end), is_kettle)
    assert len(excerpt) <= LENGTH + 4
    assert "\n" not in excerpt
    last = 0
    for low, high in marks:
        assert last <= low < high <= len(excerpt)
        assert is_kettle(excerpt[low:high])
        last = high
    body = excerpt.removeprefix("… ").removesuffix(" …")
    assert set(re.findall(r"\w", body)) <= set(re.findall(r"\w", text))


@pytest.mark.parametrize(
    "mark", ["[^31]", "[^31]: ", "[[a b|c d]] ", "([[c d]]) ", "[c d](x.md) ", "kettles "]
)
def test_no_excerpt_begins_or_ends_inside_a_mark(mark: str) -> None:
    text = f"Before {mark}and after"
    whole = re.findall(r"\w+", snippet(text, (0, len(text)), is_kettle)[0])
    for cut in range(1, len(text)):
        for window in ((0, cut), (cut, len(text))):
            excerpt, _ = snippet(text, window, is_kettle)
            assert set(re.findall(r"\w+", excerpt)) <= set(whole)
            assert not set(excerpt) & set("[]^")
