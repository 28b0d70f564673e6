"""PDFs as programs make them: their structure survives as Markdown."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from pypdfium2 import PdfDocument

from djinn_memory.documents.document import Locked, ReadRequest, Unreadable, no_progress
from djinn_memory.documents.pdf.reader import BLOCK, raw_pages, read_pdf
from djinn_memory.documents.read import read as read_file
from tests.documents.pdfs import (
    LEADING,
    SIZE,
    TOP,
    by_hand_at,
    new,
    pages,
    picture,
    prose,
    put,
    read,
    saved,
    stream,
    text_objects,
)


def test_larger_lines_are_headings(tmp_path: Path) -> None:
    made = new()
    at = put(made, ["The harbour"], size=22) + LEADING
    at = put(made, prose(5), at) + LEADING
    at = put(made, ["Its lanterns, and who", "lights them"], at, size=16) + LEADING
    at = put(made, prose(5, 1), at) + LEADING
    at = put(made, ["In winter"], at, style="B") + LEADING
    put(made, prose(5, 2), at)
    (text,) = pages(made, tmp_path)
    assert text.split("\n\n") == [
        "# The harbour",
        "\n".join(prose(5)),
        "## Its lanterns, and who lights them",
        "\n".join(prose(5, 1)),
        "#### In winter",
        "\n".join(prose(5, 2)),
    ]


def test_bold_prose_is_no_heading(tmp_path: Path) -> None:
    made = new()
    at = put(made, prose(6)) + LEADING
    put(made, prose(3, 1), at, style="B")
    (text,) = pages(made, tmp_path)
    assert "#" not in text


def test_bookmarks_make_headings_of_what_they_lead_to(tmp_path: Path) -> None:
    made = new()
    made.start_section("Harbour")
    made.start_section("The lantern house", level=1)
    at = put(made, ["Harbour"]) + LEADING
    at = put(made, prose(4), at) + LEADING
    at = put(made, ["The lantern", "house"], at) + LEADING
    at = put(made, prose(4, 1), at) + LEADING
    put(made, ["harbour"], at)
    (text,) = pages(made, tmp_path)
    parts = text.split("\n\n")
    assert parts[0] == "# Harbour"
    assert parts[2] == "## The lantern house"
    assert parts[-1] == "harbour", "one bookmark is one heading"


def test_words_broken_by_hyphens_are_whole(tmp_path: Path) -> None:
    made = new()
    put(made, ["a well-known and magni-", "ficent view of the CRC-", "ed well-", "known sea-", "."])
    (text,) = pages(made, tmp_path)
    assert text == "a well-known and magnificent\nview of the CRC-ed\nwell-known\nsea-\n."


def test_a_word_broken_at_the_end_of_a_page_stands_where_it_begins(tmp_path: Path) -> None:
    made = new()
    lines = [prose(5, page) for page in range(BLOCK + 1)]
    for page, (first, *rest, last) in enumerate(lines):
        if page:
            made.add_page()
        put(made, [f"terns, {first}" if page else first, *rest, f"{last} lan-"])
    first, *rest = pages(made, tmp_path)
    assert first == "\n".join(lines[0]) + " lanterns,"
    assert rest[:-1] == ["\n".join(page) + " lanterns," for page in lines[1:-1]]
    assert rest[-1] == "\n".join(lines[-1]) + " lan-"


def test_headers_and_footers_go_and_what_only_looks_like_one_stays(tmp_path: Path) -> None:
    made = new()
    for page in range(1, 2 * BLOCK + 2):
        if page > 1:
            made.add_page()
        put(made, ["The Harbour Almanac" if page % 2 else "Lanterns of the north"], 40)
        put(made, [f"Table {page * 7 % 13}"], 60)
        put(made, prose(9, page))
        put(made, [f"Page {page} of 101"], 800)
    found = pages(made, tmp_path)
    assert len(found) == 2 * BLOCK + 1
    assert not [page for page in found if "Almanac" in page or "north" in page or "Page" in page]
    for number, page in enumerate(found, 1):
        assert page.split("\n\n") == [f"Table {number * 7 % 13}", "\n".join(prose(9, number))]


def test_a_header_may_name_its_chapter(tmp_path: Path) -> None:
    made = new()
    for page in range(1, 31):
        if page > 1:
            made.add_page()
        put(made, [f"Chapter {page // 3} {prose(1, page // 3, 2)[0]} {page}"], 40)
        put(made, prose(9, page))
    assert pages(made, tmp_path) == tuple("\n".join(prose(9, n)) for n in range(1, 31))


def test_pages_that_are_mostly_headers_are_named(tmp_path: Path) -> None:
    made = new()
    for number in range(8):
        if number:
            made.add_page()
        put(made, ["the harbour office of the northern islands, winter edition"], top=40)
        put(made, [f"lamp {number} burns"], top=300)
    (warning,) = read(saved(made, tmp_path)).warnings
    assert warning.startswith("the text has only 17% of the letters")
    assert warning.endswith("the others are in headers and footers")


def test_on_two_pages_nothing_is_a_header(tmp_path: Path) -> None:
    made = new()
    put(made, ["The Harbour Almanac"], 40)
    made.add_page()
    put(made, ["The Harbour Almanac"], 40)
    assert pages(made, tmp_path) == ("The Harbour Almanac",) * 2


def test_a_page_with_only_a_header_keeps_it(tmp_path: Path) -> None:
    made = new()
    for page in range(5):
        if page:
            made.add_page()
        put(made, ["Nothing but this"], 40)
    assert set(pages(made, tmp_path)) == {"Nothing but this"}


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    made = new()
    left, right = prose(12, 1, 4), prose(12, 2, 4)
    put(made, left)
    put(made, right, left=320)
    (text,) = pages(made, tmp_path)
    assert text == "\n".join([*left, *right]), "a sentence goes on in the next column"


@pytest.mark.parametrize("mark", ["-", "*", "\\225"])
def test_bullets_are_lists(tmp_path: Path, mark: str) -> None:
    lines = ("We saw:", f"{mark} one boat", f"{mark} two boats", "in the harbour")
    made = text_objects("")
    made[4] = stream(
        "BT /F1 12 Tf 14 TL 72 700 Td " + " T* ".join(f"({x}) Tj" for x in lines) + " ET"
    )
    made[5] = str(made[5]).replace("/Helvetica", "/Helvetica /Encoding /WinAnsiEncoding")
    (text,) = read(by_hand_at(tmp_path, made)).pages
    assert text == "We saw:\n- one boat\n- two boats\nin the harbour"


def test_a_bullet_drawn_apart_joins_its_item(tmp_path: Path) -> None:
    made = new()
    for number, line in enumerate(("one boat", "two boats")):
        made.set_font("ZapfDingbats", size=SIZE)
        made.text(60, TOP + number * LEADING, "l")
        put(made, [line], TOP + number * LEADING, 80)
    (text,) = pages(made, tmp_path)
    assert text == "- one boat\n- two boats"


def test_a_dash_alone_is_no_list(tmp_path: Path) -> None:
    made = new()
    put(made, ["The rest of it", "* from the almanac"])
    assert pages(made, tmp_path) == ("The rest of it\n* from the almanac",)


def test_dot_leaders_go(tmp_path: Path) -> None:
    made = new()
    put(made, ["1 The harbour . . . . . . . . . . . 7", "2 The lantern.......... 9"])
    assert pages(made, tmp_path) == ("1 The harbour … 7\n2 The lantern … 9",)


def test_raised_figures_stay_in_their_line(tmp_path: Path) -> None:
    made = new()
    at = put(made, prose(2))
    made.text(60, at, "so x")
    width = made.get_string_width("so x")
    put(made, ["2"], at - 4, 60 + width, 7)
    put(made, [" is known"], at, 60 + width + 4)
    put(made, prose(2, 1), at + LEADING)
    (text,) = pages(made, tmp_path)
    assert text.splitlines() == [*prose(2), "so x2 is known", *prose(2, 1)]


ROWS = (("Boat", "Length"), ("Sloop", "9 m"), ("Ketch", "14 m, with a second line of text"))
TABLE = (
    "| Boat | Length |\n| --- | --- |\n| Sloop | 9 m |\n"
    "| Ketch | 14 m, with a second line of text |"
)


def test_ruled_tables_stand_where_they_are_drawn(tmp_path: Path) -> None:
    made = new()
    put(made, prose(3))
    made.set_y(170)
    with made.table(width=200, line_height=16) as table:
        for row in ROWS:
            table.row(row)
    put(made, prose(3, 1), made.get_y() + 30)
    (text,) = pages(made, tmp_path)
    assert text == "\n\n".join(["\n".join(prose(3)), TABLE, "\n".join(prose(3, 1))])


def test_a_table_drawn_last_stands_in_its_place(tmp_path: Path) -> None:
    made = new()
    put(made, prose(3))
    put(made, prose(3, 1), 400)
    made.set_y(170)
    with made.table(width=200, line_height=16) as table:
        for row in ROWS:
            table.row(row)
    (text,) = pages(made, tmp_path)
    assert text == "\n\n".join(["\n".join(prose(3)), TABLE, "\n".join(prose(3, 1))])


def test_a_line_that_only_partly_stands_in_a_table_loses_nothing(tmp_path: Path) -> None:
    made = new()
    made.set_y(170)
    with made.table(width=200, line_height=16, align="L") as table:
        for row in ROWS:
            table.row(row)
    put(made, ["a note beside it"], 183, 235)
    path = saved(made, tmp_path)
    (raw,), (text,) = raw_pages(path), read(path).pages
    assert sorted(filter(str.isalnum, text)) == sorted(filter(str.isalnum, raw))


@pytest.mark.parametrize("angle", [90, 180, 270])
@pytest.mark.parametrize("shown", [True, False])
def test_turned_pages_read_as_upright_ones(tmp_path: Path, angle: int, shown: bool) -> None:
    """Whether the page says that it is turned, or only its text is."""
    made = new(format=(800, 800))
    with made.rotation(angle, 400, 400):
        at = put(made, ["The harbour"], size=22) + LEADING
        put(made, prose(5), at)
        made.set_y(250)
        with made.table(width=200, line_height=16) as table:
            for row in ROWS:
                table.row(row)
    path = saved(made, tmp_path)
    if shown:
        with closing(PdfDocument(path)) as file:
            file[0].set_rotation(angle)
            path = tmp_path / "shown.pdf"
            file.save(path)
    (text,) = read(path).pages
    assert text.split("\n\n") == ["# The harbour", "\n".join(prose(5)), TABLE]


def test_a_stamp_up_the_margin_goes_with_the_headers(tmp_path: Path) -> None:
    made = new()
    for page in range(4):
        if page:
            made.add_page()
        put(made, prose(9, page))
        with made.rotation(90, 30, 500):
            put(made, ["Printed by a harbour master"], 500, 30)
    assert pages(made, tmp_path) == tuple("\n".join(prose(9, page)) for page in range(4))


def test_letters_set_apart_are_words(tmp_path: Path) -> None:
    made = new()
    made.set_font("Helvetica", size=SIZE)
    at = 60.0
    for char in "least significant bits of the word":
        if char != " ":
            made.text(at, TOP, char)
        at += made.get_string_width(char) + 2.5 + (6 if char == " " else 0)
    assert pages(made, tmp_path) == ("least significant bits of the word",)


def test_encrypted_files_want_their_password(tmp_path: Path) -> None:
    made = new()
    put(made, prose(3))
    made.set_encryption(owner_password="captain", user_password="s\u00e9same")
    path = saved(made, tmp_path)
    with pytest.raises(Locked, match="is encrypted; pass `password="):
        read(path)
    with pytest.raises(Locked, match="the password is wrong"):
        read(path, "wrong")
    assert read(path, "s\u00e9same").pages == ("\n".join(prose(3)),)


def test_what_only_its_owner_may_change_can_be_read(tmp_path: Path) -> None:
    made = new()
    put(made, prose(3))
    made.set_encryption(owner_password="captain")
    assert pages(made, tmp_path) == ("\n".join(prose(3)),)


def test_a_password_for_a_plain_file_does_no_harm(tmp_path: Path) -> None:
    made = new()
    put(made, prose(3))
    assert read(saved(made, tmp_path), "any").pages == ("\n".join(prose(3)),)


def test_what_the_file_says_of_itself(tmp_path: Path) -> None:
    made = new()
    put(made, prose(3))
    made.set_title("The Harbour Almanac")
    made.set_author("A. Keeper")
    made.set_subject("Lanterns")
    path = saved(made, tmp_path)
    found = read_file(ReadRequest(path, path.name), no_progress)
    assert (found.title, found.author, found.subject) == (
        "The Harbour Almanac", "A. Keeper", "Lanterns",
    )  # fmt: skip
    assert (found.content_type, found.paged, found.warnings) == ("application/pdf", True, ())


def test_pictures_without_text_are_scans(tmp_path: Path) -> None:
    made = new()
    picture(made, tmp_path)
    made.add_page()
    picture(made, tmp_path)
    with pytest.raises(Unreadable, match=r"is a scan without text; .*ocrmypdf"):
        pages(made, tmp_path)


def test_a_picture_among_pages_is_named(tmp_path: Path) -> None:
    made = new()
    put(made, prose(9))
    made.add_page()
    picture(made, tmp_path)
    made.add_page()
    put(made, prose(9, 2))
    found = read(saved(made, tmp_path))
    assert found.pages == ("\n".join(prose(9)), "", "\n".join(prose(9, 2)))
    (warning,) = found.warnings
    assert warning.startswith("page 2 is an image without text; ")


def test_blank_files_have_no_text(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="has no text"):
        pages(new(), tmp_path)


def test_progress_is_told_page_by_page(tmp_path: Path) -> None:
    made = new()
    for page in range(BLOCK + 3):
        if page:
            made.add_page()
        put(made, prose(3, page))
    path = saved(made, tmp_path)
    told: list[tuple[int, int | None]] = []
    read_pdf(ReadRequest(path, path.name), lambda done, total: told.append((done, total)))
    assert told == [(page, BLOCK + 3) for page in range(1, BLOCK + 4)]
