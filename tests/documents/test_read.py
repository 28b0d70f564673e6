import re
from pathlib import Path

import pytest
from fpdf import FPDF

from djinn_memory.documents.document import (
    Document,
    ReadRequest,
    ReportPages,
    Unreadable,
    no_progress,
)
from djinn_memory.documents.read import FORMATS, Format, read


def document(folder: Path, data: bytes, name: str) -> Document:
    path = folder / "data"
    path.write_bytes(data)
    return read(ReadRequest(path, name), no_progress)


def pdf(*pages: str) -> bytes:
    made = FPDF()
    made.set_font("Helvetica", size=12)
    for text in pages:
        made.add_page()
        made.cell(text=text)
    return bytes(made.output())


def test_a_file_is_read_as_what_it_is_and_its_name_remarked(tmp_path: Path) -> None:
    found = document(tmp_path, pdf("The first page speaks.", "So does this one."), "minutes.txt")
    assert found.content_type == "application/pdf"
    assert found.paged and len(found.pages) == 2
    assert "The first page speaks." in found.pages[0]
    assert found.warnings[0] == "it was read as PDF, although its name says otherwise"
    assert not document(tmp_path, pdf("The first page speaks."), "minutes.pdf").warnings


def test_remarks_stand_before_warnings(tmp_path: Path) -> None:
    pytest.importorskip("markitdown")
    found = document(tmp_path, b"<html><p>\xe9", "page.txt")
    assert found.pages == ("é",)
    assert found.warnings == (
        "it was read as HTML, although its name says otherwise",
        "not UTF-8 (byte 9); it was read as Windows-1252, save it as UTF-8",
    )


@pytest.mark.parametrize("char", ["\ufffd", "\ue041"])
def test_letters_that_are_lost_are_named(tmp_path: Path, char: str) -> None:
    named = ("50% of its characters are replacement or private-use characters",)
    assert document(tmp_path, f"lamp {char * 4}".encode(), "a.txt").warnings == named
    assert document(tmp_path, f"{char} lamps and lanterns".encode(), "a.txt").warnings == ()


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.txt", "a"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unreadable, match="is empty"):
        document(tmp_path, b"", name)


def test_progress_is_told(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"one\ftwo\fthree")
    told: list[tuple[int, int | None]] = []
    read(ReadRequest(path, "a.txt"), lambda done, total: told.append((done, total)))
    assert told[-1] == (3, 3)


def test_what_is_gone_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(ReadRequest(tmp_path / "gone", "gone.txt"), no_progress)


def read_rtf(request: ReadRequest, report: ReportPages) -> Document:
    """A reader: all that a format needs beside its row in `FORMATS`."""
    report(1, 1)
    return Document((re.sub(r"[{}]|\\\w+", "", request.path.read_text()).strip(),))


def test_a_format_is_registered_in_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rb"{\rtf1 The kettle sings.}"
    with pytest.raises(Unreadable, match="is RTF; save it as DOCX or PDF"):
        document(tmp_path, data, "a.rtf")
    row = Format("text/rtf", "RTF", f"{__name__}:read_rtf", (".rtf",), magic=rb"{\rtf")
    monkeypatch.setitem(FORMATS, "rtf", row)
    assert document(tmp_path, data, "a.rtf") == Document(
        ("The kettle sings.",), content_type="text/rtf"
    )
    with pytest.raises(Unreadable, match=r"is RTF, not PDF; rename it"):
        document(tmp_path, data, "a.pdf")
