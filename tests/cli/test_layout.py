"""Lines that fit: wrapped at words, whatever they hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.cli.layout import cells, hanging, table, wrap

LINES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]))
WIDTHS = st.integers(20, 200)


@given(LINES, WIDTHS, st.integers(0, 8), st.integers(0, 8))
def test_wrapping_changes_only_white_space(text: str, width: int, indent: int, hang: int) -> None:
    wrapped = wrap(text, width, indent=indent, hang=hang)
    assert "".join(wrapped.split()) == "".join(text.split())


@given(st.lists(st.from_regex(r"[a-z]{1,12} {1,30}", fullmatch=True), min_size=1), WIDTHS)
def test_no_two_words_become_one(words: list[str], width: int) -> None:
    text = "".join(words)
    assert wrap(text, width, hang=4).split() == text.split()


@given(st.lists(st.from_regex(r"\w{1,12}", fullmatch=True), min_size=1), WIDTHS)
def test_a_line_fits_and_keeps_its_words(words: list[str], width: int) -> None:
    wrapped = wrap(" ".join(words), width, hang=4)
    lines = wrapped.split("\n")
    assert all(cells(line) <= max(width, 24) for line in lines)
    assert all(line.startswith("    ") for line in lines[1:])


def test_a_list_hangs_below_its_first_word() -> None:
    text = "- oak and ash and elm and alder\n  1. beech and birch and yew and fir"
    assert hanging(text, 25) == (
        "- oak and ash and elm and\n  alder\n  1. beech and birch and\n     yew and fir"
    )


def test_colours_and_links_take_no_room() -> None:
    link = "\x1b]8;;file:///a%20b\x1b\\\x1b[1ma note\x1b[0m\x1b]8;;\x1b\\"
    assert cells(link) == 6
    assert wrap(f"{link} of mine", 14) == f"{link} of mine"


def test_a_word_that_is_longer_than_a_line_stays_whole() -> None:
    path = "/home/finn/memory/vaults/shared/decisions/two-lamps.md"
    assert wrap(f"moved to {path} today", 30, hang=2) == f"moved to\n  {path}\n  today"


def test_a_line_ends_between_choices_and_not_before_the_label_of_a_link() -> None:
    assert wrap("usage --keep new|old|both now", 18) == "usage --keep new|\nold|both now"
    assert wrap("see all [[tide#at|Low tide]], then", 20) == "see all\n[[tide#at|Low\ntide]], then"


def test_a_text_without_spaces_goes_on_in_the_next_line() -> None:
    assert wrap("港の灯台は" * 6, 20) == "\n".join(["港の灯台は" * 2] * 3)


def test_a_table_that_does_not_fit_has_its_last_cell_below() -> None:
    rows = [["2026-01-02", "decision", "Two lamps", "shared/decisions/two-lamps.md"]]
    assert table(rows, 80) == ["2026-01-02  decision  Two lamps  shared/decisions/two-lamps.md"]
    assert table(rows, 40) == [
        "2026-01-02  decision  Two lamps",
        "    shared/decisions/two-lamps.md",
    ]
