import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.markdown import code_blocks, mask
from tests.growth import assert_linear

PIECES = [
    "`", "``", "```", "````", "~~~", "<!--", "-->", "%%", "$", "$$", "[[", "]]", "[[x]]", "](", "(",
    "<a", "<div>", "</div>", "<pre>", ">", "-", "1.", "#", "|", "\\", "=", '"', "'", "a", "é", "5",
    " ", "    ", "\t", "\n", "\n\n", "\r\n",
]  # fmt: skip
MARKUP = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def hidden(text: str) -> list[str]:
    """The words of `text` that the mask takes away."""
    return [word[0] for word in re.finditer(r"\w+", text) if mask(text)[word.start()] == " "]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a `b` c", "b"),
        ("a ``b ` c`` d", "b c"),
        ("a `b\nc` d", "b c"),
        ("a `b\n\nc` d", ""),
        ("a `b\n# c` d", ""),
        ("| a ` b |\n| c ` d |", ""),
        ("a ` b `` c", ""),
        ("a \\`b` c", ""),
        ("a\n```py\nb\n```\nc", "py b"),
        ("```\na", "a"),
        ("````\n```\na\n```\n````\nb", "a"),
        ("~~~\na\n```\nb\n~~~\nc", "a b"),
        ("```\na\n    ```\nb\n```\nc", "a b"),
        ("   ```\na\n  ```\nb", "a"),
        ("    ```\na\n", ""),
        ("``` a ` b\nc", ""),
        ("> ```\n> a\n\nb", "a"),
        ("> ```\n> a\nb", "a"),
        ("- a\n\n  ```\n  b\n\n  c\n  ```\n  d", "b c"),
        ("- ```\n  a\nb", "a"),
        ("1. a\n   - b\n\n     ```\n     c\n     ```\n", "c"),
        ("- a\n\t- b\n\t\t```\n\t\tc\n\t\t```\n\t\td", "c"),
        ("> - ```\n>   a\n>   ```\n> b", "a"),
        ("```\r\na\r\n```\r\nb", "a"),
    ],
)
def test_code(text: str, words: str) -> None:
    assert hidden(text) == words.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("    a\n", "a"),
        ("\ta\nb", "a"),
        ("a\n    b\n", ""),
        ("a\n\n    b\n\n    c\nd", "b c"),
        ("# a\n    b\nc", "b"),
        ("```\na\n```\n    b", "a b"),
        ("- a\n\n      b\n", "b"),
        ("- a\n\n    b\n", ""),
        ("- a\n      b\n", ""),
        ("-     a\n", "a"),
        ("- a\n\t- b\n\t\t- c\n", ""),
        (">     a\n> b", "a"),
        ("> a\n    b", ""),
        ("1234. a\n    b", ""),
        ("| a |\n|---|\n\n    b", "b"),
    ],
)
def test_indented_code(text: str, words: str) -> None:
    assert hidden(text) == words.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a <!-- b --> c", "b"),
        ("<!-- a\n\nb --> c", "a b"),
        ("a <!-- b\n\nc --> d", ""),
        ("<!-- a\n\nb", "a b"),
        ("<!--> a", ""),
        ("<!--\n```\n--> a", ""),
        ("a %% b %% c", "b"),
        ("%%\na\n\nb\n%%\nc", "a b"),
        ("100%% a\n\n200%% b", ""),
        ("%% a\n\nb", ""),
        ("> %%\n> a\n\nb\n\n%%", "a"),
    ],
)
def test_comments(text: str, words: str) -> None:
    assert hidden(text) == words.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a <b>c</b> d", "b b"),
        ('a <i title="b > c" d>e</i>', "i title b c d i"),
        ("a < b and c > d", ""),
        ("a <https://b.org> c", ""),
        ("<div>\na\n</div>\n\nb", "div a div"),
        ("<details><summary>a</summary>\n\nb\n\n</details>", "details summary a summary details"),
        ("a\n<div>b", "div b"),
        ("<pre>\na\n\nb\n</pre>\nc", "pre a b pre"),
        ("<mark>\na\n\nb", "mark a"),
        ("a\n<mark>\nb", "mark"),
        ("- <div>\n  a\n- b", "div a"),
    ],
)
def test_html(text: str, words: str) -> None:
    assert hidden(text) == words.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a $b + c$ d", "b c"),
        ("costs $5 and $6", ""),
        ("costs $5, or 6$ more", "5 or 6"),
        ("costs $5/$6", ""),
        ("a \\$b$ c", ""),
        ("a $b\nc$ d", ""),
        ("a $$b\nc$$ d", "b c"),
        ("$$\na\n\nb\n$$\nc", "a b"),
        ("$$ a\n\nb", ""),
        ("a $b\\$c$ d", "b c"),
    ],
)
def test_maths(text: str, words: str) -> None:
    assert hidden(text) == words.split()


@pytest.mark.parametrize(
    "text",
    ["[[$A]] and [[$B]]", "[[a|`b`]]", "[a](<b c.md>)", "[a](b$c.md) [d](e$f.md)", "[[a\\|b]]"],
)
def test_a_links_address_opens_nothing(text: str) -> None:
    assert mask(text) == text


def test_an_escape_hides_itself() -> None:
    assert mask(r"\[[x]] \a") == r"  [x]] \a"


def test_code_blocks_are_whole() -> None:
    text = "# a\n- ```md\n  # no heading\n  ```\n\n~~~\n# neither"
    assert [text[start:end] for start, end in code_blocks(text)] == [
        "```md\n  # no heading\n  ```",
        "~~~\n# neither",
    ]


@given(MARKUP | st.text())
def test_mask_only_puts_spaces(text: str) -> None:
    masked = mask(text)
    assert len(masked) == len(text)
    assert all(
        new == old or (new == " " and old not in "\r\n")
        for new, old in zip(masked, text, strict=True)
    )


@given(st.text(alphabet="ab->#|=1.* \r\n", max_size=60))
def test_a_code_span_behind_a_text_changes_nothing_before_it(text: str) -> None:
    # Without the span, most of these texts are not read block by block.
    assert mask(f"{text}\n\n`code`\n")[: len(text)] == mask(text)


@given(MARKUP)
def test_code_blocks_are_ordered_and_masked(text: str) -> None:
    done = 0
    masked = mask(text)
    for start, end in code_blocks(text):
        assert done <= start < end <= len(text)
        assert text[start : start + 3] in ("```", "~~~")
        assert not masked[start:end].strip()
        done = end


@given(MARKUP)
def test_a_fence_hides_everything(text: str) -> None:
    fence = "`" * 150
    assert not mask(f"{fence}\n{text}\n{fence}").strip()


@pytest.mark.parametrize(
    "unit",
    ["[", "`", "` ", "`\n", "<!--", "<!-- \n", "$", "$a ", "%%", "<a ", "<a b=\"<a c='", "](<",
     "> ", "- ", "\n", "\\", "a`b``c```", "> ```\n\n", "[[a\n", "\t"],
)  # fmt: skip
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert_linear(lambda size: mask(unit * (size // len(unit))), 200_000)


@pytest.mark.parametrize("line", ["\n", "a: b\n", "# h\n", "| a |\n", " \r\n"])
def test_many_lines_take_little_memory(line: str) -> None:
    text = line * 500_000
    tracemalloc.start()
    mask(text)
    code_blocks(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(text) + 10_000_000
