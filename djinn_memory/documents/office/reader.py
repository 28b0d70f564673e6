"""Word, PowerPoint, EPUB, HTML and CSV files."""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from djinn_memory.documents.document import Document, ReadRequest, Tell, Unreadable
from djinn_memory.documents.kinds import Kind
from djinn_memory.documents.markdown import table
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.vault.walk import MAX_BYTES

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")

_EXTRA = ("mammoth", "markdownify", "markitdown", "pptx")
"""All that the extra brings: a part of it may be there for another reason."""

_FACTS = {"title": "title", "creator": "author", "subject": "subject", "description": "subject"}
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_MAX_FACTS = 1_000_000
"""Bytes of a part that says who wrote a file: a bomb may unpack to gigabytes."""

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh\nu => u"

_SAMPLE = 20_000
"""Characters of a table from which its delimiter is told."""

CELLS = 1_000_000
"""A table of more cells is data, not a document."""

Converted = tuple[list[str], dict[str, str], str | None]
"""Pages, what the file says of itself, and a remark."""


def read_office(order: ReadRequest, kind: Kind, tell: Tell) -> Document:
    """The text of such a file as Markdown; the slides of a presentation are its pages."""
    if kind.name == "csv":
        return _read_csv(order, kind, tell)
    pages, facts, remark = _converted(order, kind)
    pages = [_tidy(page) for page in pages]
    if not any(pages):
        raise Unreadable("has no text")
    tell(len(pages), len(pages))
    return Document(
        content_type=kind.content_type,
        pages=tuple(pages),
        paged=kind.name == "pptx",
        title=facts.get("title"),
        author=facts.get("author"),
        subject=facts.get("subject"),
        warnings=(remark,) if remark else (),
    )


def _converted(order: ReadRequest, kind: Kind) -> Converted:
    try:
        missing = [module for module in _EXTRA if find_spec(module) is None]
    except ImportError:
        missing = ["?"]
    if missing:
        raise Unreadable(
            f"is {kind.name.upper()}, which needs an extra: pip install 'djinn-memory[documents]'"
        )
    convert: Callable[[bytes], Converted] = {
        "docx": _docx, "pptx": _pptx, "epub": _epub, "html": _html,
    }[kind.name]  # fmt: skip
    data = order.path.read_bytes()
    try:
        return convert(data)
    except (MemoryError, Unreadable):
        raise
    except RecursionError:
        raise Unreadable("nests too deep to be read") from None
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise Unreadable(f"is damaged and cannot be read ({type(error).__name__}: {why})") from None


def _docx(data: bytes) -> Converted:
    import mammoth  # type: ignore[import-untyped,unused-ignore]
    from markitdown.converter_utils.docx.pre_process import pre_process_docx

    from djinn_memory.documents.office.html import html_markdown

    facts = _packed_facts(data)
    # Formulas become LaTeX. Pictures stay out: their bytes would be carried through as text.
    mended = pre_process_docx(io.BytesIO(data))
    html = mammoth.convert_to_html(mended, style_map=_STYLES, convert_image=_no_picture).value
    return [html_markdown(html)], facts, None


def _no_picture(image: Any) -> list[Any]:
    from mammoth import html

    return [html.text(image.alt_text)] if image.alt_text else []


def _pptx(data: bytes) -> Converted:
    from djinn_memory.documents.office.slides import slides

    return slides(data), _packed_facts(data), None


def _epub(data: bytes) -> Converted:
    from djinn_memory.documents.office.epub import chapters
    from djinn_memory.documents.office.html import html_markdown, html_text

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        texts = [html_markdown(html_text(chapter)[0]) for chapter in chapters(archive)]
    return ["\n\n".join(filter(None, texts))], _packed_facts(data), None


def _html(data: bytes) -> Converted:
    from djinn_memory.documents.office.html import html_facts, html_markdown, html_text

    text, remark = html_text(data)
    return [html_markdown(text)], html_facts(text), remark


def _packed_facts(data: bytes) -> dict[str, str]:
    """What the part of an Office or EPUB file that is made for it says of the file."""
    from defusedxml import DefusedXmlException, ElementTree

    facts: dict[str, str] = {}
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


def _read_csv(order: ReadRequest, kind: Kind, tell: Tell) -> Document:
    size = order.path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(f"has {size:,} bytes, too much for a note; split it")
    text, remark = decode(order.path.read_bytes())
    if not text.strip():
        raise Unreadable("has no text")
    # A field may be a whole page.
    csv.field_size_limit(MAX_BYTES)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)))
    except csv.Error as error:
        raise Unreadable(f"is no CSV that can be read: {error}") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    width = max((len(row) for row in rows), default=0)
    if len(rows) * width > CELLS:
        raise Unreadable(f"has {len(rows):,} rows of up to {width:,} cells: data, not a document")
    tell(1, 1)
    return Document(
        content_type=kind.content_type,
        pages=(
            table([[" ".join(_CONTROL.sub("", cell).split()) for cell in row] for row in rows]),
        ),
        warnings=(remark,) if remark else (),
    )


def _delimiter(text: str) -> str:
    """What parts most of the first lines into the same number of cells, more than one."""
    # csv.Sniffer takes a letter for it, and a long quoted field for everything.
    lines = text[:_SAMPLE].split("\n")[:50]

    def fit(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(lines, delimiter=delimiter)
        widths = Counter(len(row) for row in rows if len(row) > 1)
        width, often = widths.most_common(1)[0] if widths else (1, 0)
        return often, width

    return max(",;\t|", key=fit)
