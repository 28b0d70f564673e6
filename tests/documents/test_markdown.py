import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.documents.markdown import escape, fenced, table
from djinn_memory.notes.markdown import code_blocks, headings, mask, plain
from djinn_memory.notes.note import parse
from tests.examples import examples
from tests.growth import assert_linear

PIECES = st.sampled_from(
    [*"[]()!|<>#*_~=`-^%$ \n\t\\:ax1.+/'\"{}&;é字", "[[", "]]", "<!--", "-->", "```", "~~~", "%%",
     "$$", "<b>", "</p>", "<div", "<script", "\n\n", "    ", "- ", "1. ", "> ", "# ", "#tag", "](",
     "a.md", "[x]: ", "===", "---", "\n---\n", "word", "^blk", "\u2028", "\u00a0", "- #"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=30)


def clean(text: str) -> str:
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")


@settings(max_examples=examples(800), deadline=None)
@given(TEXTS.map(clean))
def test_nothing_of_a_text_acts_in_a_note(text: str) -> None:
    safe = escape(text)
    note = parse("a.md", ("intro\n\n" + safe).encode("utf-8", "replace"))
    assert not note.links
    assert not note.tags
    assert not list(headings(safe))
    assert not code_blocks(safe)
    # Code, also an indented line, and formulas within a line are no prose, but readers see them.
    if not set("`$\t") & set(text) and "    " not in text:
        assert re.findall(r"[^\W_]", mask(safe)) == re.findall(r"[^\W_]", text)
    assert re.findall(r"[^\W_]", plain(safe)) == re.findall(r"[^\W_]", text)
    assert safe.replace("\\", "") == text.replace("\\", "")


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("An ordinary text - with 5 < 6, 50 % and #1 at C#.",
         "An ordinary text - with 5 < 6, 50 % and \\#1 at C#."),
        ("# a\n##\n#!/bin/sh", "\\# a\n\\#\\#\n\\#!/bin/sh"),
        ("a\n---\nb\n===\n-\n=", "a\n-\\--\nb\n=\\==\n\\-\n\\="),
        ("- ```\n> ~~~~\n1. # a", "- \\```\n> \\~~~~\n1. \\# a"),
        ("[[a]] [b](c) [d]: e", "\\[[a]] [b\\](c) [d]: e"),
        ("[d]: e\n> [^1]: f\n[\\[x]: g", "\\[d]: e\n> \\[^1]: f\n\\[\\[x]: g"),
        ("\\[[a]] \\\\[[b]]", "\\[[a]] \\\\\\[[b]]"),
        ("<b <!-- %% $$ <http://a.b>", "\\<b \\<!-- \\%% \\$$ \\<http://a.b>"),
        ("\\_#a _#b", "\\_\\#a _\\#b"),
        ("x ^a\n^b", "x \\^a\n\\^b"),
    ],
)  # fmt: skip
def test_where_backslashes_stand(text: str, safe: str) -> None:
    assert escape(text) == safe


UNITS = ["> ", "#", "# ", "-", "=", "- ", "1. ", "\\", "[", "<", "`", "~", "^a", " ^a", "\t", " ",
         "$", "](", " #", "[a", "-\n"]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert_linear(lambda characters: escape(unit * (characters // len(unit))), 60_000)


@given(st.lists(st.sampled_from(["```", "````", "~~~", "a", "\n", "`", "    "])).map("".join))
def test_a_fence_is_longer_than_those_in_it(code: str) -> None:
    block = fenced(code, "yaml")
    assert code_blocks(f"{block}\n\nafter") == [(0, len(block))]


@given(
    st.lists(
        st.lists(st.text(alphabet="a|\\[`# é", max_size=4), min_size=1, max_size=4), max_size=5
    )
)
def test_a_table_has_as_many_cells_in_every_row(rows: list[list[str]]) -> None:
    width = max(map(len, rows), default=0)
    lines = table(rows).split("\n") if rows else []
    assert len(lines) == (len(rows) + 1 if rows else 0)
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == width + 1
