"""From lines to Markdown: nothing lost, nothing doubled, and the rules one by one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.documents.pdf.layout import Layout, Table, heading_key, join_broken_words
from djinn_memory.documents.pdf.lines import TextLine, with_line_numbers
from djinn_memory.documents.pdf.quality import GARBLED, garbled_share
from djinn_memory.documents.pdf.running_lines import DEEPEST, FEWEST_PAGES, RunningLines
from tests.documents.pdfs import prose

words = st.text(st.sampled_from("abcdeIVX059äß書ن-•. "), min_size=1, max_size=24)
points = st.integers(0, 800).map(float)
lines = st.builds(
    lambda text, left, width, base, size, bold, upright: TextLine(
        text, left, left + width, base, size, bold, upright
    ),
    words, points, points, points, st.sampled_from((0.0, 7.0, 10.0, 10.5, 14.0, 24.0)),
    st.booleans(), st.booleans(),
)  # fmt: skip
pages = st.lists(lines, max_size=12)


def letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


def column(*texts: str, size: float = 10.0, top: float = 700.0) -> list[TextLine]:
    return [
        TextLine(text, 50, 50 + 5 * len(text), top - 12 * at, size) for at, text in enumerate(texts)
    ]


def markdown(*texts: str) -> str:
    layout = Layout()
    layout.learn([column(*texts)])
    return layout.markdown(column(*texts))


@settings(deadline=None)
@given(pages, st.dictionaries(words.map(heading_key), st.integers(1, 6), max_size=3))
def test_every_letter_comes_out_once(page: list[TextLine], outline: dict[str, int]) -> None:
    layout = Layout()
    layout.learn([page])
    text = layout.markdown(page, (), outline)
    assert letters(text) == letters("".join(line.text for line in page))
    assert "\n\n\n" not in text


@settings(deadline=None)
@given(pages, points, points, points, points)
def test_lines_in_a_table_come_out_as_the_table(
    page: list[TextLine], left: float, width: float, bottom: float, height: float
) -> None:
    table = Table("| 書 | cell |\n| --- | --- |", left, left + width, bottom, bottom + height)
    held = [line for line in page if table.holds(line)]
    rest = letters("".join(line.text for line in page if line not in held))
    found = letters(Layout().markdown(page, [table]))
    assert found in (rest + letters("書cell"), rest)
    if held:
        assert found == rest + letters("書cell")


@settings(deadline=None)
@given(st.lists(pages, max_size=5))
def test_mending_moves_letters_and_loses_none(some: list[list[TextLine]]) -> None:
    before = letters("".join(line.text for page in some for line in page))
    join_broken_words(some, [[] for _ in some], set())
    assert letters("".join(line.text for page in some for line in page)) == before


@pytest.mark.parametrize(
    ("above", "below", "text"),
    [
        ("a magni-", "ficent view", "a magnificent\nview"),
        ("a magni\u2010", "ficent, wide view", "a magnificent,\nwide view"),
        ("in July-", "August", "in July-\nAugust"),
        ("the CRC-", "ed message", "the CRC-ed\nmessage"),
        ("the x-", "axis", "the x-axis"),
        ("state-of-the-", "art", "state-of-the-art"),
        ("from 10-", "20 boats", "from 10-\n20 boats"),
        ("a -", "b", "a -\nb"),
        ("well-known, well-", "known", "well-known, well-known"),
    ],
)
def test_hyphens_at_the_ends_of_lines(above: str, below: str, text: str) -> None:
    assert markdown(above, below) == text


def test_a_word_over_three_lines() -> None:
    assert markdown("an inter-", "govern-", "mental body") == "an intergovernmental\nbody"


def test_no_word_is_mended_into_or_out_of_a_table() -> None:
    first, second = column("an inter-"), column("national body")
    table = Table("| a |", 0, 600, 690, 710)
    join_broken_words([first, second], [[], [table]], set())
    assert (first, second) == (column("an inter-"), column("national body"))


def test_paragraphs_part_at_gaps_and_at_indents_after_sentences() -> None:
    page = [
        TextLine("One ends here.", 50, 200, 700, 10), TextLine("Two is indented", 62, 200, 688, 10),
        TextLine("and goes on", 50, 200, 676, 10), TextLine("Three is apart", 50, 200, 650, 10),
    ]  # fmt: skip
    assert (
        Layout().markdown(page)
        == "One ends here.\n\nTwo is indented\nand goes on\n\nThree is apart"
    )


def test_text_from_the_right_is_not_torn() -> None:
    """Its lines end at different places on the left, as others do on the right."""
    page = [
        TextLine("عندما يجتمع التفكير التحليلي.", 100, 520, 700, 12),
        TextLine("يصبح من الممكن.", 130, 520, 686, 12),
        TextLine("كميات هائلة.", 400, 520, 672, 12),
        TextLine("من البيانات", 90, 500, 658, 12),
    ]
    first, second = Layout().markdown(page).split("\n\n")
    assert (len(first.split("\n")), second) == (3, "من البيانات")


def test_sizes_make_headings_only_where_there_is_body_text() -> None:
    layout = Layout()
    title = [TextLine("A title", 50, 200, 720, 18)]
    prose = column(*["and so on and so forth"] * 20)
    layout.learn([title + prose])
    assert layout.markdown(title + prose).startswith("# A title\n\n")
    scan = Layout()
    ragged = [TextLine(f"line {n} of a scan", 50, 200, 700 - 12 * n, 9 + n / 10) for n in range(20)]
    scan.learn([ragged])
    assert "#" not in scan.markdown(ragged)


@settings(deadline=None)
@given(st.lists(pages, max_size=8))
def test_only_lines_that_repeat_near_an_edge_are_dropped(some: list[list[TextLine]]) -> None:
    kept = RunningLines().remove(some)
    for page, left in zip(some, kept, strict=True):
        rest = iter(page)
        assert all(any(line is one for one in rest) for line in left), "the same lines, in order"
        assert bool(left) == bool(page)
        heights = {round(line.base) for line in page if line.upright}
        gone = {
            round(one.base)
            for one in page
            if one.upright and not any(one is other for other in left)
        }
        ordered = sorted(heights)
        assert gone <= {*ordered[:DEEPEST], *ordered[-DEEPEST:]}
    if len(some) < FEWEST_PAGES:
        assert kept == some


@settings(deadline=None)
@given(st.integers(3, 40), st.integers(1, 400), st.sampled_from(("# of 900", "Page #", "- # -")))
def test_page_numbers_go_wherever_blocks_are_cut(count: int, first: int, form: str) -> None:
    body = [column(*prose(9, n), top=500) for n in range(count)]
    foot = [TextLine(form.replace("#", str(first + n)), 280, 300, 30, 10) for n in range(count)]
    some = [[*text, line] for text, line in zip(body, foot, strict=True)]
    running = RunningLines()
    cut = max(FEWEST_PAGES, count - 2)
    assert running.remove(some[:cut]) + running.remove(some[cut:]) == body


@pytest.mark.parametrize("form", ["Figure {}", "Question {}", "Year {}"])
def test_numbers_that_do_not_count_the_pages_stay(form: str) -> None:
    some = [
        [TextLine(form.format(n * n), 50, 99, 780, 10), *column(*prose(9, n), top=400)]
        for n in range(9)
    ]
    assert RunningLines().remove(some) == some


def test_roman_page_numbers_go() -> None:
    numbers = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
    some = [
        [*column(*prose(9, n), top=400), TextLine(word, 9, 9, 30, 9)]
        for n, word in enumerate(numbers)
    ]
    assert all(len(page) == 9 for page in RunningLines().remove(some))


def test_the_header_of_a_short_chapter_goes() -> None:
    some = [column(*prose(9, n), top=500) for n in range(40)]
    head = TextLine("Of lanterns", 50, 99, 780, 9)
    marked = [[head, *page] if 20 <= n < 24 else page for n, page in enumerate(some)]
    assert RunningLines().remove(marked) == some
    scattered = [[head, *page] if n in (3, 17, 31) else page for n, page in enumerate(some)]
    assert RunningLines().remove(scattered) == scattered


def test_running_lines_may_be_several() -> None:
    head = [TextLine(f"Header {word}", 50, 99, 800 - 10 * at, 9) for at, word in enumerate("abcd")]
    some = [[*head, *column(*prose(15, n), top=500)] for n in range(6)]
    assert [page[0].text for page in RunningLines().remove(some)] == [
        prose(1, n)[0] for n in range(6)
    ]


@settings(deadline=None)
@given(pages)
def test_numbers_of_lines_are_moved_and_not_lost(page: list[TextLine]) -> None:
    found = with_line_numbers(page)
    assert letters("".join(line.text for line in found)) == letters(
        "".join(line.text for line in page)
    )


def test_numbers_of_lines_stand_before_their_lines() -> None:
    texts = column(*(f"words {n}" for n in range(1, 9)))
    numbers = [TextLine(str(n + 1), 20, 30, 700 - 12 * n, 10) for n in range(8)]
    found = with_line_numbers([*texts[:2], *numbers, *texts[2:]])
    # What comes before its number in the file has it as well.
    assert [line.text for line in found] == [f"{n} words {n}" for n in range(1, 9)]
    few = [*numbers[:3], *texts]
    assert with_line_numbers(few) == few


@settings(deadline=None)
@given(st.text())
def test_unsound_is_a_share(text: str) -> None:
    assert 0.0 <= garbled_share(text) <= 1.0


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog, says RFC 2616 (HTTP/1.1).",
        "わたくしといふ現象は風景やみんなといっしょに ATM で、カードを使う",
        "코로나-19 관련 보험약관상 재해보험금 지급문제 및 개선과제",
        "تعتبر البرمجة بلغة R و Python من األدوات القوية",
        "Größe × Länge ≤ 5 µm; α = β² · ∑ x_i — “quoted” §12",
        "Привет, мир! Ελληνικά. हिन्दी में लिखा हुआ। ภาษาไทย",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
        "see https://www.example.org/a/b?c=d#e and x86_64-linux-gnu",
    ],
)
def test_text_of_any_script_is_sound(text: str) -> None:
    assert garbled_share(text) < 0.1


@pytest.mark.parametrize(
    "text",
    [
        "\ufffd\ufffd\ufffd " * 9,
        "\ufffd " * 30,
        "\ue001 \ue002 \ue003 " * 9,
        "a\ufffdd \ufffdf the \ufffdth" * 9,
        "\x01\x02\x03 \x04\x05\x06\x07 " * 9,
        "\ue001\ue002\ue003 \ue004\ue005 " * 9,
        "&'(#! )*+,% -./:; <=>?@ " * 5,
        "xkcdq wrtpl mnbvg hjklz " * 5,
    ],
)
def test_what_fonts_without_a_map_give_is_not(text: str) -> None:
    assert garbled_share(text) >= GARBLED
