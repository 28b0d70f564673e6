import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes import markdown
from djinn_memory.notes.markdown import inline, plain
from tests.growth import assert_linear


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[[a]] [[a|b]] [[a#c|d]] ![[e]] [[a\\|b]]", "a b d e b"),
        ("[a](b) [a](<b c>) [a](b(c)d) [a](b \"t\") ![a](b)", "a a a a a"),
        ("**a** _b_ *c* ~~d~~ ==e== `f` snake_case 2*3", "a b c d e f snake_case 2*3"),
        ("a <!-- b\nc --> d %%e%% f", "a d f"),
        ("<!-- a <!-- b --> c", "<!-- a c"),
        ("<b>a</b> 1 < 2 > 1", "a 1 < 2 > 1"),
        ("## a\n> [!note] b\n>> c\n", "a b c"),
        ("```py\na\n```", "a"),
        ("a ^block-1\nb", "a b"),
        ("| a | b |\n|---|:-:|\n| c | d |", "| a | b | | c | d |"),
        ("a\n---\nb\n- - c", "a b - - c"),
        ("[ref]: http://x\na", "a"),
        ("[([x]: y", "[([x]: y"),
        ("a\\_b \\[[c]] \\#d \\<e>", "a_b [[c]] #d <e>"),
        ("| a\\|b | [[c\\|d]] |", "| a|b | d |"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_a_reader_sees(text: str, shown: str) -> None:
    assert inline(text) == shown


MARKS = st.sampled_from([*"[]()!|<>#*_~=`-^% \n\\:ax", "[[", "]]", "<!--", "-->", "```",
                         "data:a;base64,", "\u2028"])  # fmt: skip


@given(st.lists(MARKS).map("".join) | st.text())
def test_plain_is_never_longer(text: str) -> None:
    assert len(plain(text)) <= len(text)
    assert "\n" not in inline(text)


@given(st.lists(MARKS).map("".join) | st.text())
def test_a_step_is_left_out_only_where_it_has_nothing_to_reduce(text: str) -> None:
    for signs, pattern, _ in markdown._REDUCE:
        assert any(sign in text for sign in signs) or not pattern.search(text)


@pytest.mark.parametrize(
    "unit",
    ["[", "![", "[[", "[[a|", "[a](", "](", "[a](()", "<!--", "%%", "<a", " ", "a ", "-", "- ",
     "|-", "|", "--x", "^a", " ^a", ">", "> ", "*", "_a", "`", "data:", "#", "\n", "[x]:", "[x] "]
)  # fmt: skip
@pytest.mark.parametrize("tail", ["", "x", "x\n"])
def test_hostile_text_takes_linear_time(unit: str, tail: str) -> None:
    assert_linear(lambda size: plain(unit * (size // len(unit)) + tail), 60_000)


def test_of_a_heading_of_megabytes_only_the_beginning_is_read() -> None:
    text = "the **tide** [[x|rises]] " * 100_000
    tracemalloc.start()
    words = inline(text, 300)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert words == inline(text[:6000])[:300]
    assert peak < len(text) / 10
    assert inline("*a*  b", 2) == "a "
