"""The parts of notes in which words may become a link."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.models import Dialect
from djinn_memory.notes.dialects.plain_text import is_table_row, plain_text
from djinn_memory.notes.dialects.rules import RULES
from tests.examples import examples

PIECES = [
    "lamp", " ", "\n", "\n\n", "`", "```\n", "[[", "]]", "[", "](x)", "> ", "# ", "- ", "<b>",
    "</b>", "<!--", "-->", "%%", "$", "|", "---\n", "a: b\n", "http://a.b/c", "#tag", "a@b.c",
    "key:: ", "{{", "}}", "^id", "\t", "é", "東京", "\u0301",
]  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from([*RULES]))
def test_every_character_keeps_its_place(text: str, dialect: Dialect) -> None:
    prose = plain_text(text, RULES[dialect])
    assert len(prose) == len(text)
    for shown, written in zip(prose, text, strict=True):
        assert shown == written or (shown == " " and written != "\n")


@pytest.mark.parametrize(
    ("dialect", "text", "shown"),
    [
        ("foam", "lamp\n\n[lamp]: lamp.md\n", "lamp\n\n               \n"),
        (
            "logseq",
            "title:: lamp\n\n- the lamp\n- ## lamp",
            "            \n\n- the lamp\n         ",
        ),
        ("logseq", "- lamp\n\t- > lamp\n\t- lamp", "- lamp\n         \n\t- lamp"),
        ("obsidian", "> lamp\nlamp\n- lamp", "      \n    \n- lamp"),
        ("obsidian", "lamp[^1]\n\n[^1]: lamp", "lamp    \n\n          "),
    ],
)
def test_dialects(dialect: Dialect, text: str, shown: str) -> None:
    assert plain_text(text, RULES[dialect]) == shown


def test_rows_of_tables() -> None:
    text = "a | b\n\n| a | b |\n|:-:|---|\n| c | d |\n\nx"
    assert [is_table_row(text, text.index(each)) for each in ("b", "b |", "d", "x")] == [
        False, True, True, False,
    ]  # fmt: skip
