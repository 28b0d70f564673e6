"""Reads Word, PowerPoint, EPUB, HTML and CSV files."""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from msgspec.structs import replace

from djinn_memory.documents.document import Document, ReadRequest, ReportPages, Unreadable
from djinn_memory.documents.markdown import table
from djinn_memory.documents.plaintext import decoded_file
from djinn_memory.errors import install_extra
from djinn_memory.notes.vault.walk import MAX_BYTES

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")

EXTRA = ("mammoth", "markdownify", "markitdown", "pptx")
"""The modules of the extra. All are checked, because each may be installed for another reason."""

_FACTS = {"title": "title", "creator": "author", "subject": "subject", "description": "subject"}
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_MAX_FACTS = 1_000_000
"""Maximum size in bytes of a metadata part: a ZIP bomb may unpack to gigabytes."""

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh\nu => u"

_SAMPLE = 20_000
"""Characters of a table from which its delimiter is detected."""

CELLS = 1_000_000
"""Maximum number of cells in a table: a larger table is data, not a document."""


def _read_office(
    request: ReadRequest, report: ReportPages, *, name: str, convert: Callable[[bytes], Document]
) -> Document:
    """The text of a file as Markdown."""
    try:
        missing = [module for module in EXTRA if find_spec(module) is None]
    except ImportError:
        missing = ["?"]
    if missing:
        raise Unreadable(
            f"is {name}, which needs the extra `documents`: {install_extra('documents')}"
        )
    data = request.path.read_bytes()
    try:
        document = convert(data)
    except (MemoryError, Unreadable):
        raise
    except RecursionError:
        raise Unreadable("is nested too deeply to be read") from None
    except Exception as error:  # the libraries raise errors of every kind for a damaged file
        why = " ".join(str(error).split())[:200]
        raise Unreadable(f"is damaged and cannot be read ({type(error).__name__}: {why})") from None
    pages = tuple(map(_tidy, document.pages))
    if not any(pages):
        raise Unreadable("has no text")
    report(len(pages), len(pages))
    return replace(document, pages=pages)


def _docx(data: bytes) -> Document:
    import mammoth  # type: ignore[import-untyped,unused-ignore]
    from markitdown.converter_utils.docx.pre_process import pre_process_docx

    from djinn_memory.documents.office.html import html_markdown

    # Formulas become LaTeX. Pictures are left out: mammoth would embed their bytes as text.
    file = pre_process_docx(io.BytesIO(data))
    html = mammoth.convert_to_html(file, style_map=_STYLES, convert_image=_alt_text).value
    return Document((html_markdown(html),), **_zip_facts(data))


def _alt_text(image: Any) -> list[Any]:
    from mammoth import html

    return [html.text(image.alt_text)] if image.alt_text else []


def _pptx(data: bytes) -> Document:
    from djinn_memory.documents.office.slides import slides

    return Document(tuple(slides(data)), paged=True, **_zip_facts(data))


def _epub(data: bytes) -> Document:
    from djinn_memory.documents.office.epub import chapters
    from djinn_memory.documents.office.html import html_markdown, html_text

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        texts = [html_markdown(html_text(chapter)[0]) for chapter in chapters(archive)]
    return Document(("\n\n".join(filter(None, texts)),), **_zip_facts(data))


def _html(data: bytes) -> Document:
    from djinn_memory.documents.office.html import html_facts, html_markdown, html_text

    text, remark = html_text(data)
    warnings = (remark,) if remark else ()
    return Document((html_markdown(text),), warnings=warnings, **html_facts(text))


read_docx = partial(_read_office, name="DOCX", convert=_docx)
read_pptx = partial(_read_office, name="PPTX", convert=_pptx)
read_epub = partial(_read_office, name="EPUB", convert=_epub)
read_html = partial(_read_office, name="HTML", convert=_html)


def _zip_facts(data: bytes) -> dict[str, Any]:
    """Title, author and subject in the metadata part of an Office or EPUB file."""
    from defusedxml import DefusedXmlException, ElementTree

    facts: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [n for n in archive.namelist() if n == "docProps/core.xml" or n[-4:] == ".opf"]
            for name in names[:1]:
                with archive.open(name) as part:
                    root = ElementTree.fromstring(part.read(_MAX_FACTS))
                for element in root.iter():
                    key = _FACTS.get(str(element.tag).removeprefix(_DUBLIN_CORE))
                    if key and str(element.tag).startswith(_DUBLIN_CORE) and element.text:
                        facts.setdefault(key, element.text)
    except (zipfile.BadZipFile, zlib.error, ElementTree.ParseError, DefusedXmlException,
            OSError, RuntimeError, NotImplementedError, EOFError, ValueError):  # fmt: skip
        pass
    return facts


def _tidy(markdown: str) -> str:
    text = _CONTROL.sub("", re.sub("[\v\f\r]", " ", markdown))
    return re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", text).strip("\n")


def read_csv(request: ReadRequest, report: ReportPages) -> Document:
    """A CSV file as a Markdown table."""
    text, warnings = decoded_file(request)
    # A field may be a whole page.
    csv.field_size_limit(MAX_BYTES)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)))
    except csv.Error as error:
        raise Unreadable(f"is not valid CSV: {error}") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    width = max((len(row) for row in rows), default=0)
    if len(rows) * width > CELLS:
        raise Unreadable(
            f"has {len(rows):,} rows of up to {width:,} cells; it is data, not a document"
        )
    report(1, 1)
    cells = [[" ".join(_CONTROL.sub("", cell).split()) for cell in row] for row in rows]
    return Document(pages=(table(cells),), warnings=warnings)


def _delimiter(text: str) -> str:
    """The delimiter that splits most of the first lines into the same number of cells."""
    # csv.Sniffer takes a letter for the delimiter, and is misled by a long quoted field.
    lines = text[:_SAMPLE].split("\n")[:50]

    def fit(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(lines, delimiter=delimiter)
        widths = Counter(len(row) for row in rows if len(row) > 1)
        width, often = widths.most_common(1)[0] if widths else (1, 0)
        return often, width

    return max(",;\t|", key=fit)
