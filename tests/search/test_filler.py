"""What says something, and what only leads elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.search.snippet import cited, footnotes, is_filler

FILLER = (
    "",
    " \n---\n",
    "# Heading\n",
    "- [[Kettle]]\n- [[Tide|the tide]]\n* [home](https://example.com/a_(b))",
    "1. https://example.com/kettle\n2. <https://example.com>",
    'Source: [The kettle sings](https://example.com "A title")',
    "**See also**: [[Kettle]] and [[Tide]]",
    "![[kettle.png|500]]\n![](tide.png)",
    "[^1]: A kettle is not a lamp.\nIt sings.\n\n    And more of it.\n\n[^two]: Nor a tide.",
    "[^1]: [Kettles](https://example.com)\n\n![[kettle.png]]",
    '[1]: https://example.com "Kettles"',
    "- Lindt, A., & Berg, B. C. (2020). Kettles.\n[3] Berg B.C. and Lindt A. Tides, 2021.",
    "1.  Baier A. 1986. Trust and antitrust. _Ethics_ 96:231.\n2. Hawley, K., 2014. Partiality.",
    "tags:: #kitchen #sea/harbour [[Kettle]]",
    "| [[A]] | [[B]] |\n|---|---|",
    "<!-- a comment -->\n[[Kettle]] ^block-1",
)

TELLING = (
    "Descale monthly.",
    "No",
    "2023",
    "- [[Kettle]]: descale it monthly",
    "Met [[Ada]] at noon",
    "- [Kettles](https://example.com) by Ada Lindt",
    "[^1]: A footnote.\n\nAnd the text goes on.",
    "[^1]: A footnote.\n- Ada went home.",
    "It sings.[^1]",
    "Ingredients:\n\n- water",
    "Many U.S. histories of the kettle begin in 1946.",
    "```\nhttps://example.com\n```\nx",
    "湯を沸かす [[Kettle]]",
)


@pytest.mark.parametrize("text", FILLER)
def test_links_footnotes_and_headings_say_nothing(text: str) -> None:
    assert is_filler(text)


@pytest.mark.parametrize("text", TELLING)
def test_words_of_its_own_say_something(text: str) -> None:
    assert not is_filler(text)


@given(st.text(st.sampled_from("ab[]()^!#-*:<> \n|`\\'1é"), max_size=200))
def test_any_text_is_judged_and_a_sentence_always_tells(text: str) -> None:
    is_filler(text)
    assert not is_filler(f"The kettle sings.\n\n{text}")


def test_footnotes_and_where_they_are_cited() -> None:
    text = "It sings.[^1] So it does.[^two]\n\n[^3]: See [^4]."
    assert footnotes(text) == {"3"}
    assert cited(text) == {"1", "two", "4"}
