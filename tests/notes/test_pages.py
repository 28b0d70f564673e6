import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.pages import MarkedPage, defang, hide, mark, pages
from tests.growth import assert_linear

LINES = st.lists(
    st.sampled_from(["*Page 1* ^p1", "*Page 12* ^p12", "*Page 1* ^p2", "\\*Page 1* ^p1", "\n", "\r",
                     " ", "\t", "a", "é", "*", "# A", "```", "\u2028"])
    | st.integers(0, 9_999_999).map(mark),
    max_size=30,
).map("".join)  # fmt: skip


def texts(text: str, body: int = 0) -> list[tuple[int, str]]:
    return [(page.number, text[page.start : page.end]) for page in pages(text, body)]


def test_pages_by_their_marks() -> None:
    assert mark(12) == "*Page 12* ^p12"
    text = f"---\n---\nlead\n\n{mark(1)}\n\none\n\n{mark(3)}\n{mark(2)}\ntwo"
    assert pages(text, 8) == [MarkedPage(1, 27, 33), MarkedPage(3, 46, 46), MarkedPage(2, 59, 62)]
    assert texts(text, 8) == [(1, "\none\n\n"), (3, ""), (2, "two")]
    assert pages("no mark", 0) == []
    assert texts(mark(9_999_999)) == [(9_999_999, "")]
    assert texts(f"{mark(1)}\na", 3) == []


@pytest.mark.parametrize(
    "line",
    ["*Page 1* ^p2", " *Page 1* ^p1", "*Page 1* ^p1 ", "a *Page 1* ^p1", "*page 1* ^p1",
     "*Page 12345678* ^p12345678", "*Page 01* ^p01", "*Page ١* ^p١", "*Page 1*\n^p1",
     "\\*Page 1* ^p1", "*Page 1* ^p12", "*Page -1* ^p-1"],
)  # fmt: skip
def test_what_is_no_mark(line: str) -> None:
    assert pages(line, 0) == []
    assert hide(line) == line


@given(LINES)
def test_hidden_text_keeps_its_places(text: str) -> None:
    hidden = hide(text)
    assert [line for line in hidden.split("\n") if line.strip()] == [
        line
        for line in text.split("\n")
        if line.strip() and not (line[1:5] == "Page" and pages(line, 0))
    ]
    assert len(hidden) == len(text)
    assert pages(hidden, 0) == []
    for page in pages(text, 0):
        assert hidden[page.start : page.end] == text[page.start : page.end]


@given(LINES)
def test_marks_and_pages_make_the_text(text: str) -> None:
    text += "\n"
    found = pages(text, 0)
    rebuilt = "".join(f"{mark(page.number)}\n{text[page.start : page.end]}" for page in found)
    assert text.endswith(rebuilt)
    assert pages(text[: len(text) - len(rebuilt)], 0) == []


@given(LINES)
def test_defanged_text_holds_no_mark(text: str) -> None:
    safe = defang(text)
    assert safe.replace("\\*", "*").replace("\\^", "^") == text.replace("\\*", "*")
    for written in (
        safe,
        safe.replace("\r\n", "\n").replace("\r", "\n"),
        "\n".join(line.strip(" \t\r") for line in safe.split("\n")),
    ):
        assert pages(written, 0) == []
    assert defang(safe) == safe


def test_defanged_text_reads_as_the_files() -> None:
    assert defang(mark(12)) == "\\*Page 12* \\^p12"
    assert defang("see *Page 12* ^p12\n*Page 1* ^p2") == "see *Page 12* ^p12\n*Page 1* ^p2"


def test_lines_that_become_marks_when_they_are_trimmed() -> None:
    for text in (f" {mark(1)}", f"{mark(1)}\t", f"a\r{mark(1)}", f"\t {mark(1)} \r\n"):
        assert defang(text) == text.replace("*P", "\\*P").replace("^p", "\\^p")
    for text in (f"a {mark(1)}", f"{mark(1)} a", "*Page 1* ^p2", f"\\{mark(1)}", f"> {mark(1)}"):
        assert defang(text) == text


@pytest.mark.parametrize("unit", ["*Page 1* ^p1\n", "\n", " ", "*", "*Page 1", "\r", "\t\r"])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    def work(size: int) -> None:
        text = unit * (size // len(unit))
        pages(text, 0)
        hide(text)
        defang(text)

    assert_linear(work, 1_000_000)
