"""Detects the format of a file from its content, and reads it. Worker processes run `read`.

The extension only separates kinds of text.
"""

from __future__ import annotations

import codecs
import re
import zipfile
from mimetypes import MimeTypes
from pathlib import Path, PurePath
from pkgutil import resolve_name

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.documents.document import Document, Reader, ReadRequest, ReportPages, Unreadable
from djinn_memory.documents.pdf.quality import letters_drawn
from djinn_memory.notes.encoding import detect

HEAD = 8192
"""Bytes from which the format is detected."""

CONTROL = 0.05
"""Minimum share of control characters in a binary file: logs and old documents have a few.
Backspaces do not count: manual pages use them for bold text."""


class Kind(Struct, frozen=True):
    """The format of a file."""

    name: str
    """A key of `FORMATS`."""
    content_type: str
    remark: str | None = None
    """A sentence for the user when the format differs from the one that the extension promises."""


class Format(Struct, frozen=True):
    """A format that djinn reads, as `FORMATS` registers it."""

    content_type: str
    label: str
    reader: str
    """`module:function` of its `Reader`, imported when a file of the format is read."""
    extensions: tuple[str, ...]
    text: bool = False
    """Whether its files are text: only the extension distinguishes such formats."""
    magic: bytes = b""
    """The bytes at the start of every file of the format."""
    part: str = ""
    """The member that identifies a ZIP file as this format."""


_READERS = "djinn_memory.documents"
_OOXML = "application/vnd.openxmlformats-officedocument"
FORMATS = {
    "pdf": Format(
        "application/pdf", "PDF", f"{_READERS}.pdf.reader:read_pdf", (".pdf",), magic=b"%PDF-"
    ),
    "docx": Format(
        f"{_OOXML}.wordprocessingml.document", "Word (DOCX)",
        f"{_READERS}.office:read_docx", (".docx", ".docm"), part="word/document.xml",
    ),
    "pptx": Format(
        f"{_OOXML}.presentationml.presentation", "PowerPoint (PPTX)",
        f"{_READERS}.office:read_pptx", (".pptx", ".pptm"), part="ppt/presentation.xml",
    ),
    "epub": Format(
        "application/epub+zip", "EPUB", f"{_READERS}.office:read_epub", (".epub",)
    ),
    "html": Format(
        "text/html", "HTML", f"{_READERS}.office:read_html", (".html", ".htm", ".xhtml"),
        text=True,
    ),
    "csv": Format(
        "text/csv", "CSV", f"{_READERS}.office:read_csv", (".csv", ".tsv"), text=True
    ),
    "markdown": Format(
        "text/markdown", "Markdown", f"{_READERS}.office:read_markdown",
        (".md", ".markdown", ".mdown", ".mkd"), text=True,
    ),
    "text": Format(
        "text/plain", "plain text", f"{_READERS}.office:read_text", (".txt", ".text", ".log"),
        text=True,
    ),
}  # fmt: skip
"""The formats that djinn reads, by name."""

_REFUSED: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n", "is a PNG picture, not a document"),
    (b"\xff\xd8\xff", "is a JPEG picture, not a document"),
    (b"GIF8", "is a GIF picture, not a document"),
    (b"BM", "is a picture or another binary file, not a document"),
    (b"II*\0", "is a TIFF picture; convert it to PDF, which ocrmypdf can read"),
    (b"MM\0*", "is a TIFF picture; convert it to PDF, which ocrmypdf can read"),
    (b"{\\rtf", "is RTF; save it as DOCX or PDF"),
    (b"%!PS", "is PostScript; convert it to PDF"),
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
_ALSO_TEXT = (b"GIF8", b"BM", b"BZh", b"Rar!", b"MZ", b"ID3", b"OggS", b"RIFF")
"""Signatures that may also begin a text file."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_CONTROL = re.compile("[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f-\x84]")

_PAGE = re.compile(
    r"\s*+(?:<\?xml[^>]*+>\s*+|<!--.*?-->\s*+)*+"
    r"<(?:(?P<page>!doctype\s+html|html|head|body)|title|meta|article|div|p|h1|table)\b",
    re.IGNORECASE | re.DOTALL,
)
"""The start of an HTML file. Group `page` matches only a complete page; a README in Markdown may
start with `<p>`."""

_ELEMENT = re.compile(r"<(?:[a-z][a-z0-9]*[\s>]|!--)", re.IGNORECASE)

_TEXTUAL = ("application/json", "application/xml", "application/javascript", "image/svg+xml")


def detect_kind(path: Path, name: str) -> Kind:
    """The format of the file at `path`, which the user knows as `name`.

    Raises `Unreadable` when the file is not a document, or is not what its name promises.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not head:
        raise Unreadable("is empty (0 bytes)")
    extension = PurePath(name).suffix.lower()
    named = _named(extension)
    actual = _detect(path, head, named, extension)
    label = FORMATS[actual].label
    if named and not FORMATS[named].text and actual != named:
        hint = " (perhaps a failed download)" if actual == "html" else ""
        remedy = f"rename it to {FORMATS[actual].extensions[0]} to ingest it as {label}"
        raise Unreadable(f"is {label}, not {FORMATS[named].label}{hint}; {remedy}")
    remark = None
    if actual not in ("text", named or actual):
        remark = f"it was read as {label}, although its name says otherwise"
    return Kind(actual, _libmagic(head) or _content_type(actual, named, extension), remark)


def _named(extension: str) -> str | None:
    """The format that a file's extension promises."""
    return next((name for name, form in FORMATS.items() if extension in form.extensions), None)


def _detect(path: Path, head: bytes, named: str | None, extension: str) -> str:
    # Some PDFs begin with junk, and a text may mention the mark of a PDF.
    at = head[:1024].find(FORMATS["pdf"].magic)
    if at == 0 or (at > 0 and not (named and FORMATS[named].text)):
        return "pdf"
    for name, form in FORMATS.items():
        if form.magic and head.startswith(form.magic):
            return name
    if head.startswith(b"PK\x03\x04"):
        return _detect_zip(path)
    if head.startswith(_OLE):
        raise Unreadable(_describe_ole(path))
    text = _is_text(head)
    for magic, why in _REFUSED:
        if head.startswith(magic) and not (text and magic in _ALSO_TEXT):
            raise Unreadable(why)
    if head[:1] == b"\0" and head[4:8] == b"ftyp":
        raise Unreadable("is a video or a picture, not a document")
    if not text:
        raise Unreadable("is a binary file in a format that djinn does not read")
    return _detect_text(head, named, extension)


def _detect_text(head: bytes, named: str | None, extension: str) -> str:
    bom, encoding, _ = detect(head)
    text = head[len(bom) :].decode(encoding or "utf-8", "replace")
    page = _PAGE.match(text)
    if page and (page["page"] or not extension):
        return "html"
    if named == "html" and not _ELEMENT.search(text):
        return "text"
    return named if named and FORMATS[named].text else "text"


def _detect_zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if any(member.flag_bits & 1 for member in archive.infolist()):
                raise Unreadable("is a password-protected ZIP file; save it without a password")
            if "mimetype" in names:
                with archive.open("mimetype") as part:
                    if part.read(100).strip() == FORMATS["epub"].content_type.encode():
                        return "epub"
    except Unreadable:
        raise
    except Exception:
        # A broken ZIP raises any error of zipfile and its decompressors.
        raise Unreadable(
            "is a damaged or truncated ZIP or Office file; download it again"
        ) from None
    for name, form in FORMATS.items():
        if form.part and form.part in names:
            return name
    if "xl/workbook.xml" in names:
        raise Unreadable("is a spreadsheet (XLSX); save its sheets as CSV")
    if "mimetype" in names and "content.xml" in names:
        raise Unreadable("is an OpenDocument file; save it as DOCX or PDF")
    raise Unreadable("is a ZIP archive; unpack it and ingest the files in it")


def _describe_ole(path: Path) -> str:
    # The names of its streams are in UTF-16.
    with path.open("rb") as file:
        data = file.read(4_000_000)
    if "EncryptedPackage".encode("utf-16-le") in data:
        return "is an encrypted Office file; save it without a password"
    return "is an old Office file (.doc, .xls, .ppt); save it as DOCX, PPTX or PDF"


def _is_text(head: bytes) -> bool:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        return True
    encoding = detect(head)[1]
    if encoding is None:
        return False
    text = head.decode(encoding, "replace")
    return len(_CONTROL.findall(text)) <= CONTROL * len(text)


def _content_type(actual: str, named: str | None, extension: str) -> str:
    """The content type; that of text depends on the extension. System type tables are not read."""
    if actual in ("text", "csv") and named in (actual, None):
        guess = MimeTypes().guess_type(f"a{extension}")[0] or ""
        if guess.startswith("text/") or guess in _TEXTUAL:
            return guess
    return FORMATS[actual].content_type


def _libmagic(head: bytes) -> str | None:
    """The content type by libmagic, if it is installed and returns more than plain text or data."""
    try:
        import magic

        guess: str = magic.from_buffer(head, mime=True)
    except Exception:  # the binding is missing, or its library is
        return None
    vague = ("application/octet-stream", "application/zip", "text/plain", "inode/x-empty")
    return None if guess in vague or not re.fullmatch(r"[\w.+-]+/[\w.+-]+", guess) else guess


MANY = 0.1
"""Minimum share of replacement characters at which a warning calls a document garbled."""

VERSION = 2
"""Increased when djinn learns to read files that it refused. These files are then tried again."""


def read(request: ReadRequest, report: ReportPages) -> Document:
    """Read a file. Raises `Unreadable` with the reason, or `Locked` when a password is needed."""
    kind = detect_kind(request.path, request.name)
    reader: Reader = resolve_name(FORMATS[kind.name].reader)
    document = reader(request, report)
    unknown = _unknown_share("".join(document.pages))
    garbled = f"{unknown:.0%} of its characters are replacement or private-use characters"
    remarks = filter(None, (kind.remark, garbled if unknown > MANY else None))
    warnings = (*remarks, *document.warnings)
    return replace(document, content_type=kind.content_type, warnings=warnings)


def _unknown_share(text: str) -> float:
    """The share of letters and digits, 0 to 1, that are unknown; see `letters_drawn`."""
    drawn = letters_drawn(text)
    return 1 - sum(map(str.isalnum, text)) / drawn if drawn else 0.0
