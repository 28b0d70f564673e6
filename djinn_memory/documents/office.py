"""Reads text, Markdown, Word, PowerPoint, EPUB, HTML and CSV files."""

from __future__ import annotations

import csv
import io
import posixpath
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

from msgspec.structs import replace

from djinn_memory.documents.document import Document, ReadRequest, ReportPages, Unreadable
from djinn_memory.documents.markdown import escape, fenced, table
from djinn_memory.errors import install_extra
from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.vault import MAX_BYTES

_INVISIBLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-Z])")
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
"""Characters that printers struck twice for bold or underlined text."""


def read_text(request: ReadRequest, report: ReportPages) -> Document:
    """A text file with its Markdown characters escaped. Form feeds separate its pages."""
    text, warnings = _visible_text(request)
    pages = text.split("\f")
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    report(len(pages), len(pages))
    texts = tuple(escape(page).strip("\n") for page in pages)
    return Document(texts, paged=len(pages) > 1, warnings=warnings)


def read_markdown(request: ReadRequest, report: ReportPages) -> Document:
    """A Markdown file, unchanged. Its front matter gives title, author and subject.

    The front matter is kept as a block of YAML above the text.
    """
    text, warnings = _visible_text(request)
    text = text.replace("\f", "\n")
    front = frontmatter.read(text)
    fields = {key.lower(): value for key, value in front.fields.items()}
    source = "\n".join(text[: front.body].rstrip("\n").split("\n")[1:-1])
    body = text[front.body :].strip("\n")
    if source.strip():
        body = f"{fenced(source, 'yaml')}\n\n{body}".rstrip("\n")
    report(1, 1)
    return Document(
        pages=(body,),
        title=_first(fields, "title"),
        author=_first(fields, "author", "authors", "creator"),
        subject=_first(fields, "subject", "description", "summary"),
        warnings=warnings,
    )


def _decoded_file(request: ReadRequest) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and a warning if its encoding is doubtful."""
    size = request.path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(f"has {size:,} bytes of text, too many for one note; split the file")
    text, remark = decode(request.path.read_bytes())
    if not text.strip():
        raise Unreadable("has no text")
    return text, (remark,) if remark else ()


def _visible_text(request: ReadRequest) -> tuple[str, tuple[str, ...]]:
    text, warnings = _decoded_file(request)
    text = _INVISIBLE.sub("", _OVERSTRUCK.sub("", _ANSI.sub("", text.replace("\v", "\n"))))
    if not text.strip():
        raise Unreadable("has no text")
    return text, warnings


def _first(fields: Mapping[str, Any], *keys: str) -> str | None:
    """The first of the fields that holds text. Several texts are joined with commas."""
    for key in keys:
        value = fields.get(key)
        values = value if isinstance(value, list) else [value]
        words = [text for text in values if isinstance(text, str) and text.strip()]
        if words:
            return ", ".join(words)
    return None


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

    from djinn_memory.documents.html import html_markdown

    # Formulas become LaTeX. Pictures are left out: mammoth would embed their bytes as text.
    file = pre_process_docx(io.BytesIO(data))
    html = mammoth.convert_to_html(file, style_map=_STYLES, convert_image=_alt_text).value
    return Document((html_markdown(html),), **_zip_facts(data))


def _alt_text(image: Any) -> list[Any]:
    from mammoth import html

    return [html.text(image.alt_text)] if image.alt_text else []


def _pptx(data: bytes) -> Document:
    from pptx import Presentation

    slides = Presentation(io.BytesIO(data)).slides
    return Document(tuple(map(_slide, slides)), paged=True, **_zip_facts(data))


def _epub(data: bytes) -> Document:
    from djinn_memory.documents.html import html_markdown, html_text

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        texts = [html_markdown(html_text(chapter)[0]) for chapter in _chapters(archive)]
    return Document(("\n\n".join(filter(None, texts)),), **_zip_facts(data))


def _html(data: bytes) -> Document:
    from djinn_memory.documents.html import html_facts, html_markdown, html_text

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
    text, warnings = _decoded_file(request)
    # A field may be a whole page.
    csv.field_size_limit(MAX_BYTES)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)))
    except csv.Error as error:
        raise Unreadable(f"is not valid CSV: {error}") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    width = max(map(len, rows), default=0)
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


_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}rootfile"
_OPF = "{http://www.idpf.org/2007/opf}"


def _chapters(archive: zipfile.ZipFile) -> list[bytes]:
    """The XHTML of the chapters. Raises `KeyError` or a parse error for a damaged file."""
    from defusedxml import ElementTree

    names = set(archive.namelist())
    root = ElementTree.fromstring(archive.read("META-INF/container.xml")).find(f".//{_CONTAINER}")
    package = root.get("full-path", "")
    book: Any = ElementTree.fromstring(archive.read(package))
    hrefs = {node.get("id"): node.get("href", "") for node in book.iter(f"{_OPF}item")}
    folder = posixpath.dirname(package)
    chosen = []
    for reference in book.iter(f"{_OPF}itemref"):
        href = hrefs.get(reference.get("idref"), "").partition("#")[0]
        paths = (posixpath.normpath(posixpath.join(folder, h)) for h in (unquote(href), href))
        chosen += [path for path in paths if path in names][:1]
    listing = "META-INF/encryption.xml"
    encrypted = unquote(archive.read(listing).decode(errors="replace")) if listing in names else ""
    # Only chapters count: many books that can be read have encrypted fonts.
    if any(f'"{path}"' in encrypted for path in chosen):
        raise Unreadable("is protected (DRM); djinn cannot read it")
    return [archive.read(path) for path in dict.fromkeys(chosen)]


def _slide(slide: Any) -> str:
    """The title, text, tables, charts and notes of a slide, from top to bottom."""
    title = slide.shapes.title
    blocks = []
    if title is not None and (words := _line(title.text_frame.text)):
        blocks.append(f"# {escape(words)}")
    for shape in _in_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            blocks += _shape(shape)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        notes = _paragraphs(frame, listed=False)
        blocks += ["### Notes", notes] if notes else []
    return "\n\n".join(block for block in blocks if block.strip())


def _in_order(shapes: Any) -> Iterator[Any]:
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _in_order(shape.shapes)
        else:
            yield shape


def _shape(shape: Any) -> Iterator[str]:
    if getattr(shape, "has_table", False):
        yield table([[_line(cell.text) for cell in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        yield _chart(shape.chart)
    elif shape.has_text_frame:
        yield _paragraphs(shape.text_frame, listed=shape.is_placeholder)
    else:
        # The alternative text of a picture.
        descriptions = shape._element.xpath(".//p:cNvPr/@descr")
        yield escape(_line(" ".join(descriptions)))


def _paragraphs(frame: Any, *, listed: bool) -> str:
    lines = [(part.level, _line(part.text)) for part in frame.paragraphs]
    lines = [(level, line) for level, line in lines if line]
    if listed and len(lines) > 1:
        return "\n".join(f"{'  ' * level}- {escape(line)}" for level, line in lines)
    return "\n\n".join(escape(line) for _, line in lines)


def _chart(chart: Any) -> str:
    try:
        plot = chart.plots[0]
        rows = [["", *(_line(str(series.name)) for series in plot.series)]]
        values = [list(series.values) for series in plot.series]
        for number, category in enumerate(plot.categories):
            cells = [column[number] if number < len(column) else "" for column in values]
            rows.append([_line(str(category)), *map(str, cells)])
        return table(rows)
    except (ValueError, KeyError, IndexError, AttributeError, NotImplementedError):
        return ""  # a kind of chart that python-pptx does not know


def _line(text: str) -> str:
    return " ".join(text.split())
