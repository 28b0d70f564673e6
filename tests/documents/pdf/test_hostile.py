"""PDFs that are broken, or made to break readers: a document or one line why not."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from djinn_memory.documents.document import Document, Unreadable
from djinn_memory.documents.pdf.reader import raw_pages
from tests.documents.pdfs import by_hand, by_hand_at, new, prose, put, read, saved, stream
from tests.documents.pdfs import text_objects as objects


def outcome(path: Path) -> Document | str:
    try:
        return read(path)
    except Unreadable as error:
        return str(error)


def text_of(found: Document | str) -> str:
    assert isinstance(found, Document), found
    return "\n".join(found.pages)


def test_filled_in_forms_are_read(tmp_path: Path) -> None:
    field = (
        "<</Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada) /DA (/F1 12 Tf 0 g)"
        " /Rect [200 695 400 715] /P 3 0 R /AP <</N 7 0 R>>>>"
    )
    shown = stream(
        "/Tx BMC BT /F1 12 Tf 2 5 Td (Ada Lovelace) Tj ET EMC",
        "/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources <</Font <</F1 5 0 R>>>>",
    )
    path = by_hand_at(
        tmp_path,
        objects(
            "Name of the applicant:", "/Annots [6 0 R]", "/AcroForm <</Fields [6 0 R]>>",
            {6: field, 7: shown},
        ),
    )  # fmt: skip
    assert "Ada Lovelace" in text_of(outcome(path))
    assert any("Ada Lovelace" in page for page in raw_pages(path))


@pytest.mark.filterwarnings("error")
def test_xfa_forms_that_only_ask_to_wait(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    form = "/AcroForm <</Fields [] /XFA 6 0 R>>"
    xml = stream('<xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/"/>')
    waiting = objects("Please wait... If this message is not eventually", "", form, {6: xml})
    found = outcome(by_hand_at(tmp_path, waiting))
    assert found == "is an XFA form, which only Adobe's reader fills in; print it to a PDF there"
    assert capfd.readouterr() == ("", "")
    filled = by_hand_at(tmp_path, objects("A form that shows its text", "", form, {6: xml}))
    assert "shows its text" in text_of(outcome(filled))


def test_a_page_that_cannot_be_loaded_is_left_out_and_named(tmp_path: Path) -> None:
    broken = objects("The first page of three, which is whole and has a good many words")
    broken[2] = "<</Type /Pages /Kids [3 0 R 6 0 R 7 0 R] /Count 3>>"
    broken[6] = "(no page at all)"
    broken[7] = str(broken[3])
    found = outcome(by_hand_at(tmp_path, broken))
    assert isinstance(found, Document)
    assert [bool(page) for page in found.pages] == [True, False, True]
    assert found.warnings == ("page 2 is left out: damaged",)


def test_a_file_of_damaged_pages_is_damaged(tmp_path: Path) -> None:
    broken = objects("unseen")
    broken[3] = "(no page at all)"
    assert str(outcome(by_hand_at(tmp_path, broken))).startswith("is damaged or truncated")


def test_files_without_pages(tmp_path: Path) -> None:
    """After a locked one, whose error pdfium would give again."""
    locked = new()
    locked.set_encryption("captain", "mate")
    assert outcome(saved(locked, tmp_path)) == "is encrypted; pass `password=...`"
    for catalogue in ("/Pages 2 0 R", "/Pages 9 0 R", ""):
        empty: dict[int, str | bytes] = {
            1: f"<</Type /Catalog {catalogue}>>",
            2: "<</Type /Pages /Kids [] /Count 0>>",
        }
        path = by_hand_at(tmp_path, empty)
        assert outcome(path) == "has no pages"
        path.write_bytes(path.read_bytes()[:-9])
        assert str(outcome(path)).startswith("is damaged or truncated")


def test_bookmarks_in_a_loop_and_to_nowhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    marked = objects(
        "The harbour lies in the north and has a lantern",
        "",
        "/Outlines 6 0 R",
        {
            6: "<</Type /Outlines /First 7 0 R /Last 8 0 R /Count 2>>",
            7: "<</Title (Nowhere) /Parent 6 0 R /Next 8 0 R /Dest [99 0 R /Fit]>>",
            8: "<</Title <FEFFD83D> /Parent 6 0 R /Next 7 0 R /First 8 0 R /Dest [3 0 R /Fit]>>",
        },
    )
    assert "harbour" in text_of(outcome(by_hand_at(tmp_path, marked)))
    assert capfd.readouterr() == ("", "")


def test_metadata_with_halves_of_surrogates(tmp_path: Path) -> None:
    titled = objects("A page with text", "", "", {6: "<</Title <FEFFD83D> /Author (A. Keeper)>>"})
    found = outcome(by_hand_at(tmp_path, titled, "/Info 6 0 R"))
    assert isinstance(found, Document)
    assert (found.title, found.author) == (None, "A. Keeper")


def test_forms_that_contain_themselves(tmp_path: Path) -> None:
    own = stream(
        "BT /F1 12 Tf 72 600 Td (within itself) Tj ET /X Do",
        "/Type /XObject /Subtype /Form /BBox [0 0 595 842]"
        " /Resources <</Font <</F1 5 0 R>> /XObject <</X 6 0 R>>>>",
    )
    made = objects("around it", more={6: own})
    made[3] = str(made[3]).replace("/Resources <<", "/Resources <</XObject <</X 6 0 R>> ")
    made[4] = stream("BT /F1 12 Tf 72 700 Td (around it) Tj ET /X Do")
    assert "around it" in text_of(outcome(by_hand_at(tmp_path, made)))


@pytest.mark.parametrize(
    "box", ["0 0 1e30 1e30", "0 0 0 0", "100 100 -5 -5", "0 0 14400 14400", "(a) /b"]
)
def test_pages_of_any_size(tmp_path: Path, box: str) -> None:
    made = objects("A page with text")
    made[3] = str(made[3]).replace("0 0 595 842", box)
    found = outcome(by_hand_at(tmp_path, made))
    assert isinstance(found, str) or "A page with text" in text_of(found)


@pytest.mark.parametrize(
    "content",
    [
        "BT /F1 12 Tf 72 700 Td (a) Tj ET " * 5000,
        "BT /Missing 12 Tf 72 700 Td (a word without its font) Tj ET",
        "BT /F1 0 Tf 72 700 Td (letters without a size) Tj ET",
        "BT /F1 1e20 Tf 72 700 Td (letters beyond all size) Tj ET",
        "BT /F1 12 Tf 0 0 0 0 72 700 Tm (letters in no plane) Tj ET",
        "q " * 20_000,
        "0 0 m 10 10 l S " * 3000,
        "0 0 m 500 0 l 500 500 l 0 500 l h S " * 700,
        "BT (a ) Tj /F1 12 Tf [(b) -1e9 (c)] TJ ET ( <</ [",
        b"\xff\xfe\x00\x80" * 200,
    ],
)
def test_pages_of_odd_content(tmp_path: Path, content: str | bytes) -> None:
    made = objects("")
    made[4] = stream(content)
    outcome(by_hand_at(tmp_path, made))


def test_graph_paper_is_no_table(tmp_path: Path) -> None:
    made = objects("")
    lines = [f"9 {9 + n} m 999 {9 + n} l S {9 + n} 9 m {9 + n} 999 l S " for n in range(0, 990, 2)]
    made[4] = stream("".join(lines) + "BT /F1 3 Tf 12 12 Td (words on the paper) Tj ET")
    began = time.process_time()
    assert text_of(outcome(by_hand_at(tmp_path, made))) == "words on the paper"
    assert time.process_time() - began < 3


def test_files_cut_short_and_bytes_thrown_in(tmp_path: Path) -> None:
    made = new()
    put(made, prose(20))
    whole = saved(made, tmp_path).read_bytes()
    path = tmp_path / "cut.pdf"
    for cut in range(0, len(whole), max(1, len(whole) // 25)):
        path.write_bytes(whole[:cut])
        outcome(path)
        path.write_bytes(whole[:cut] + b"\x00<<[(endobj" + whole[cut + 9 :])
        outcome(path)


def test_what_is_no_pdf(tmp_path: Path) -> None:
    path = tmp_path / "no.pdf"
    for data in (b"", b"%PDF-", b"%PDF-1.7\n%%EOF", b"MZ\x90", "%PDF-ü".encode()):
        path.write_bytes(data)
        assert str(outcome(path)).startswith("is damaged or truncated")


def test_no_reason_is_longer_than_a_line(tmp_path: Path) -> None:
    made = by_hand(objects("")).replace(b"/Type /Catalog", b"/Type /Nothing")
    path = tmp_path / "odd.pdf"
    path.write_bytes(made)
    assert re.fullmatch(r"[^\n]+", str(outcome(path)))
