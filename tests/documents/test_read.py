from pathlib import Path

import pytest
from fpdf import FPDF

from djinn_memory.documents.document import Document, ReadRequest, Unreadable, no_progress
from djinn_memory.documents.read import read


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
    assert found.warnings[0] == "it is PDF, whatever its name says"
    assert not document(tmp_path, pdf("The first page speaks."), "minutes.pdf").warnings


def test_remarks_stand_before_warnings(tmp_path: Path) -> None:
    pytest.importorskip("markitdown")
    found = document(tmp_path, b"<html><p>\xe9", "page.txt")
    assert found.pages == ("é",)
    assert found.warnings == (
        "it is HTML, whatever its name says",
        "not UTF-8 (byte 9); read as Windows-1252, save it as UTF-8",
    )


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
