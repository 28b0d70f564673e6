import io
import zipfile
from pathlib import Path

import pytest
from fpdf import FPDF
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.documents.document import Unreadable
from djinn_memory.documents.read import Kind, detect_kind
from tests.examples import examples


def told(folder: Path, data: bytes, name: str) -> Kind:
    path = folder / "data"
    path.write_bytes(data)
    return detect_kind(path, name)


def packed(**parts: bytes) -> bytes:
    """Of one time whenever it is made: its bytes are in the names of the tests."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def pdf() -> bytes:
    made = FPDF()
    made.add_page()
    return bytes(made.output())


DOCX = packed(**{"word/document.xml": b"<x/>"})
PPTX = packed(**{"ppt/presentation.xml": b"<x/>"})
EPUB = packed(mimetype=b"application/epub+zip\n")
HTML = b"<!DOCTYPE html><title>a</title><p>b"


@pytest.mark.parametrize(
    ("data", "name", "kind", "content_type"),
    [
        (pdf(), "a.pdf", "pdf", "application/pdf"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + pdf(), "a.PDF", "pdf", "application/pdf"),
        (pdf(), "a", "pdf", "application/pdf"),
        (DOCX, "a.docx", "docx",
         "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (PPTX, "a.pptm", "pptx",
         "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
        (EPUB, "a.epub", "epub", "application/epub+zip"),
        (HTML, "a.html", "html", "text/html"),
        (HTML, "a", "html", "text/html"),
        (b"\xef\xbb\xbf" + HTML, "a.htm", "html", "text/html"),
        (HTML.decode().encode("utf-16"), "a.htm", "html", "text/html"),
        (b"<?xml version='1.0'?>\n<!-- c -->\n<html xmlns='x'>", "a.xhtml", "html", "text/html"),
        (b"<center>old</center>", "a.html", "html", "text/html"),
        (b"no tags here", "a.html", "text", "text/plain"),
        (b"<p align=center>logo</p>\n\n# Title", "README.md", "markdown", "text/markdown"),
        (b"<div>x", "a", "html", "text/html"),
        (b"# a", "a.markdown", "markdown", "text/markdown"),
        (b"a,b", "a.csv", "csv", "text/csv"),
        (b"a\tb", "a.tsv", "csv", "text/tab-separated-values"),
        (b"plain", "a.txt", "text", "text/plain"),
        (b"plain", "", "text", "text/plain"),
        (b"A text about %PDF-1.7 and its kin", "a.txt", "text", "text/plain"),
        (b"MZ and BM are letters", "a.txt", "text", "text/plain"),
        (b"BMW builds cars", "cars", "text", "text/plain"),
        (b"RIFF raff", "a.txt", "text", "text/plain"),
        (b"GIF89a is a format", "a.txt", "text", "text/plain"),
        (b"the ftyp of mp4", "a.txt", "text", "text/plain"),
        (b'{"a": 1}', "a.json", "text", "application/json"),
        (b"import os", "a.py", "text", "text/x-python"),
        (b"<?xml version='1.0'?><feed/>", "a.xml", "text", "text/xml"),
        (b"<svg xmlns='x'><text>a</text></svg>", "a.svg", "text", "image/svg+xml"),
        (b"a: 1", "a.yaml", "text", "text/plain"),
        ("Öl".encode("cp1252") * 100, "a.txt", "text", "text/plain"),
        (("é" * 5000).encode(), "a.txt", "text", "text/plain"),
        ("字".encode("utf-16"), "a.txt", "text", "text/plain"),
        ("字".encode("utf-32"), "a.txt", "text", "text/plain"),
        (b"\x1b[31mred\x1b[0m\n", "a.log", "text", "text/plain"),
    ],
)  # fmt: skip
def test_what_a_file_is(
    tmp_path: Path, data: bytes, name: str, kind: str, content_type: str
) -> None:
    found = told(tmp_path, data, name)
    assert (found.name, found.content_type) == (kind, content_type)
    assert found.remark is None


@pytest.mark.parametrize(
    ("data", "name", "remark"),
    [
        (pdf(), "a.txt", "it was read as PDF, although its name says otherwise"),
        (DOCX, "a.html", "it was read as Word (DOCX), although its name says otherwise"),
        (HTML, "a.md", "it was read as HTML, although its name says otherwise"),
        (HTML, "a.csv", "it was read as HTML, although its name says otherwise"),
    ],
)
def test_a_name_that_is_wrong_is_remarked(
    tmp_path: Path, data: bytes, name: str, remark: str
) -> None:
    assert told(tmp_path, data, name).remark == remark


PASSWORD = bytearray(DOCX)
PASSWORD[DOCX.index(b"PK\x01\x02") + 8] |= 1  # the flag in the directory


@pytest.mark.parametrize(
    ("data", "name", "why"),
    [
        (b"", "a.txt", "is empty (0 bytes)"),
        (
            HTML,
            "a.pdf",
            "is HTML, not PDF (perhaps a failed download); rename it to .html to ingest it as HTML",
        ),
        (b"text", "a.docx",
         "is plain text, not Word (DOCX); rename it to .txt to ingest it as plain text"),
        (DOCX, "a.pdf",
         "is Word (DOCX), not PDF; rename it to .docx to ingest it as Word (DOCX)"),
        (DOCX[:-30], "a.docx", "is a damaged or truncated ZIP or Office file; download it again"),
        (DOCX[:40], "a.docx", "is a damaged or truncated ZIP or Office file; download it again"),
        (bytes(PASSWORD), "a.docx", "is a password-protected ZIP file; save it without a password"),
        (packed(a=b"b"), "a.zip", "is a ZIP archive; unpack it and ingest the files in it"),
        (packed(**{"xl/workbook.xml": b""}), "a.xlsx",
         "is a spreadsheet (XLSX); save its sheets as CSV"),
        (packed(**{"mimetype": b"application/vnd.oasis", "content.xml": b""}), "a.odt",
         "is an OpenDocument file; save it as DOCX or PDF"),
        (b"\x89PNG\r\n\x1a\n", "a.png", "is a PNG picture, not a document"),
        (b"\xff\xd8\xff\xe0", "a.jpg", "is a JPEG picture, not a document"),
        (b"GIF89a\x01\0\x01\0\0\0", "a.gif", "is a GIF picture, not a document"),
        (b"{\\rtf1 text}", "a.txt", "is RTF; save it as DOCX or PDF"),
        (b"%!PS-Adobe", "a.ps", "is PostScript; convert it to PDF"),
        (b"\x1f\x8b\x08", "a.gz", "is compressed with gzip; unpack it"),
        (b"\0\0\0\x20ftypisom" + b"\0\xff" * 40, "a.mp4",
         "is a video or a picture, not a document"),
        (b"\x7fELF\x02", "a", "is a program, not a document"),
        (bytes(range(256)) * 8, "a.bin", "is a binary file in a format that djinn does not read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "a.doc",
         "is an old Office file (.doc, .xls, .ppt); save it as DOCX, PPTX or PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "a.docx",
         "is an encrypted Office file; save it without a password"),
    ],
)  # fmt: skip
def test_what_is_no_document(tmp_path: Path, data: bytes, name: str, why: str) -> None:
    with pytest.raises(Unreadable) as refused:
        told(tmp_path, data, name)
    assert str(refused.value) == why


def test_real_files_are_what_they_are(data_dir: Path) -> None:
    for path in (data_dir / "pdfs").glob("*.pdf"):
        try:
            assert detect_kind(path, path.name).name == "pdf"
        except Unreadable:
            assert path.name in ("pdfplumber__empty.pdf", "ocrmypdf__invalid.pdf")
    notes = list((data_dir / "vaults").rglob("*.md"))
    assert len(notes) > 100
    for path in notes:
        if path.stat().st_size:
            assert detect_kind(path, path.name).name == "markdown", path


STARTS = [
    b"",
    b"%PDF-",
    b"PK\x03\x04",
    DOCX,
    DOCX[:70],
    EPUB[:-9],
    b"<html>",
    b"\xff\xfe",
    b"\xff\xfe\0\0",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"<!--",
]
NAMES = ["a.pdf", "a.docx", "a.txt", "a.md", "a.csv", ".html", ".", "", "a\0.pdf", "\ud800.md"]


@settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.sampled_from(STARTS), st.binary(max_size=200), st.sampled_from(NAMES) | st.text())
def test_any_bytes_are_something_or_unreadable(
    tmp_path: Path, start: bytes, rest: bytes, name: str
) -> None:
    try:
        assert told(tmp_path, start + rest, name).content_type
    except Unreadable as refused:
        assert "\n" not in str(refused)


def test_a_part_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path: Path) -> None:
    import tracemalloc

    data = packed(mimetype=b" " * 200_000_000)
    tracemalloc.start()
    with pytest.raises(Unreadable, match="ZIP archive"):
        told(tmp_path, data, "a.epub")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
