"""What a file is, told by its content; its name only says which kind of text."""

from __future__ import annotations

import codecs
import re
import zipfile
from mimetypes import MimeTypes
from pathlib import Path, PurePath
from typing import Literal

from msgspec import Struct

from djinn_memory.documents.document import Unreadable
from djinn_memory.notes.encoding import detect

Name = Literal["pdf", "docx", "pptx", "epub", "html", "csv", "markdown", "text"]

HEAD = 8192
"""Bytes from which a kind is told."""

CONTROL = 0.05
"""Share of control characters from which text is binary: logs and old documents have a few.

Backspaces do not count: manual pages are bold by them.
"""


class Kind(Struct, frozen=True):
    """What a file is."""

    name: Name
    content_type: str
    remark: str | None = None
    """What the user should know of the difference to its name."""


TYPES: dict[Name, str] = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "epub": "application/epub+zip",
    "html": "text/html",
    "csv": "text/csv",
    "markdown": "text/markdown",
    "text": "text/plain",
}

_SHOWN: dict[Name, str] = {
    "pdf": "PDF", "docx": "Word (DOCX)", "pptx": "PowerPoint (PPTX)", "epub": "EPUB",
    "html": "HTML", "csv": "CSV", "markdown": "Markdown", "text": "plain text",
}  # fmt: skip

_CLAIMS: dict[str, Name] = {
    ".pdf": "pdf", ".docx": "docx", ".docm": "docx", ".pptx": "pptx", ".pptm": "pptx",
    ".epub": "epub",
}  # fmt: skip
"""Extensions that promise a format which a program checks."""

_TEXTS: dict[str, Name] = {
    ".md": "markdown", ".markdown": "markdown", ".mdown": "markdown", ".mkd": "markdown",
    ".csv": "csv", ".tsv": "csv", ".txt": "text", ".text": "text", ".log": "text",
    ".html": "html", ".htm": "html", ".xhtml": "html",
}  # fmt: skip

_PARTS: tuple[tuple[str, Name], ...] = (
    ("word/document.xml", "docx"), ("ppt/presentation.xml", "pptx"),
)  # fmt: skip

_REFUSED: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n", "is a PNG picture, not a document"),
    (b"\xff\xd8\xff", "is a JPEG picture, not a document"),
    (b"GIF8", "is a GIF picture, not a document"),
    (b"BM", "is a picture or another binary file, not a document"),
    (b"II*\0", "is a TIFF picture; make a PDF of it, and ingest that with --ocr"),
    (b"MM\0*", "is a TIFF picture; make a PDF of it, and ingest that with --ocr"),
    (b"{\\rtf", "is RTF; save it as DOCX or PDF"),
    (b"%!PS", "is PostScript; make a PDF of it"),
    (b"\x1f\x8b", "is compressed with gzip; unpack it"),
    (b"BZh", "is compressed with bzip2; unpack it"),
    (b"\xfd7zXZ", "is compressed with xz; unpack it"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd; unpack it"),
    (b"7z\xbc\xaf", "is a 7z archive; unpack it"),
    (b"Rar!", "is a RAR archive; unpack it"),
    (b"\x7fELF", "is a program, not a document"),
    (b"MZ", "is a program or another binary file, not a document"),
    (b"SQLite format 3", "is an SQLite database, not a document"),
    (b"ID3", "is an audio file, not a document"),
    (b"OggS", "is an audio or video file, not a document"),
    (b"RIFF", "is an audio, video or WebP file, not a document"),
    (b"\x1a\x45\xdf\xa3", "is a video, not a document"),
)
_WORDS = (b"GIF8", b"BM", b"BZh", b"Rar!", b"MZ", b"ID3", b"OggS", b"RIFF")
"""With these a text may begin as well."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_CONTROL = re.compile("[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f-\x84]")

_PAGE = re.compile(
    r"\s*+(?:<\?xml[^>]*+>\s*+|<!--.*?-->\s*+)*+"
    r"<(?:(?P<page>!doctype\s+html|html|head|body)|title|meta|article|div|p|h1|table)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Where a `page` opens, whatever the file is called; a README in Markdown may open with `<p>`."""

_ELEMENT = re.compile(r"<(?:[a-z][a-z0-9]*[\s>]|!--)", re.IGNORECASE)

_TEXTUAL = ("application/json", "application/xml", "application/javascript", "image/svg+xml")


def kind_of(path: Path, name: str) -> Kind:
    """What the file at `path`, which the user knows as `name`, is.

    Raises `Unreadable` for what is no document, or not what its name promises.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not head:
        raise Unreadable("is empty (0 bytes)")
    extension = PurePath(name).suffix.lower()
    found = _told(path, head, extension)
    claimed = _CLAIMS.get(extension)
    if claimed and found != claimed:
        hint = " (perhaps a failed download)" if found == "html" else ""
        raise Unreadable(f"is {_SHOWN[found]}, not {_SHOWN[claimed]}{hint}; rename it if so meant")
    remark = None
    if found not in ("text", _TEXTS.get(extension, found)):
        remark = f"it is {_SHOWN[found]}, whatever its name says"
    return Kind(found, _mime(head) or _named(found, extension), remark)


def _told(path: Path, head: bytes, extension: str) -> Name:
    # Some begin with junk, and a text may speak of PDF.
    at = head[:1024].find(b"%PDF-")
    if at == 0 or (at > 0 and extension not in _TEXTS):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _packed(path)
    if head.startswith(_OLE):
        raise Unreadable(_ole(path))
    text = _is_text(head)
    for magic, why in _REFUSED:
        if head.startswith(magic) and not (text and magic in _WORDS):
            raise Unreadable(why)
    if head[:1] == b"\0" and head[4:8] == b"ftyp":
        raise Unreadable("is a video or a picture, not a document")
    if not text:
        raise Unreadable("is binary, not text or a document that djinn knows")
    return _text(_decoded(head), extension)


def _text(head: str, extension: str) -> Name:
    told = _TEXTS.get(extension, "text")
    page = _PAGE.match(head)
    if page and (page["page"] or not extension):
        return "html"
    if told == "html" and not _ELEMENT.search(head):
        return "text"
    return told


def _packed(path: Path) -> Name:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if any(one.flag_bits & 1 for one in archive.infolist()):
                raise Unreadable("is a ZIP file with a password; save it without one")
            if "mimetype" in names:
                with archive.open("mimetype") as part:
                    if part.read(100).strip() == TYPES["epub"].encode():
                        return "epub"
    except Unreadable:
        raise
    except Exception:
        # A broken ZIP raises whatever zipfile and its decompressors come upon.
        raise Unreadable("is a damaged or cut-short ZIP or Office file; fetch it again") from None
    found = next((kind for part, kind in _PARTS if part in names), None)
    if found:
        return found
    if "xl/workbook.xml" in names:
        raise Unreadable("is a spreadsheet (XLSX); save its sheets as CSV")
    if "mimetype" in names and "content.xml" in names:
        raise Unreadable("is an OpenDocument file; save it as DOCX or PDF")
    raise Unreadable("is a ZIP archive; unpack it and ingest what is in it")


def _ole(path: Path) -> str:
    # The names of its streams stand in UTF-16.
    with path.open("rb") as file:
        data = file.read(4_000_000)
    if "EncryptedPackage".encode("utf-16-le") in data:
        return "is an encrypted Office file; save it without its password"
    return "is an old Office file (.doc, .xls, .ppt); save it as DOCX, PPTX or PDF"


def _is_text(head: bytes) -> bool:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        return True
    encoding = detect(head)[1]
    if encoding is None:
        return False
    text = head.decode(encoding, "replace")
    return len(_CONTROL.findall(text)) <= CONTROL * len(text)


def _decoded(head: bytes) -> str:
    bom, encoding, _ = detect(head)
    return head[len(bom) :].decode(encoding or "utf-8", "replace")


def _named(kind: Name, extension: str) -> str:
    """The content type of a text by its name; the machine's own tables have no say."""
    if kind in ("text", "csv") and _TEXTS.get(extension, kind) == kind:
        said = MimeTypes().guess_type(f"a{extension}")[0] or ""
        if said.startswith("text/") or said in _TEXTUAL:
            return said
    return TYPES[kind]


def _mime(head: bytes) -> str | None:
    """What libmagic says, where it is installed and knows more than that it is text or data."""
    try:
        import magic

        said: str = magic.from_buffer(head, mime=True)
    except Exception:
        return None
    vague = ("application/octet-stream", "application/zip", "text/plain", "inode/x-empty")
    return None if said in vague or not re.fullmatch(r"[\w.+-]+/[\w.+-]+", said) else said
