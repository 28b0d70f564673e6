"""PDF files: their text page by page, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from enum import Enum
from itertools import islice
from logging import NullHandler, getLogger
from pathlib import Path
from typing import Any

from msgspec import Struct

from djinn_memory.documents.document import Document, ReadRequest, Tell, Unreadable
from djinn_memory.documents.pdf.layout import Layout, Table, heading_key, mended
from djinn_memory.documents.pdf.lines import TextLine, Turn, page_lines
from djinn_memory.documents.pdf.pdfium import DAMAGED, loaded, opened, with_forms
from djinn_memory.documents.pdf.quality import GARBLED, unsound
from djinn_memory.documents.pdf.running_lines import RunningLines

BLOCK = 50
"""Pages laid out together: enough to see what repeats, so that memory does not grow with pages."""

FEW_LETTERS = 10
"""A page with fewer letters and digits says nothing; a picture on it is a scan then."""

SCANNED = 0.5
"""From this share of pictures without text on, a file with little text elsewhere is a scan."""

WORDS_A_PAGE = 10
"""Fewer words a page are the noise of a scan: a stamp, a page number."""

MOST_BOOKMARKS = 20_000
"""More are no table of contents."""

VERTICAL = 0.5
"""Share of lines that run down the page, from which it is written in columns from the right."""

_FROM_THE_RIGHT = {
    "line_dir": "rtl", "char_dir": "ttb", "line_dir_render": "ttb", "char_dir_render": "ltr",
}  # fmt: skip

# What libraries remark on a file goes to no one; what matters of it is in the warnings.
for library in ("pypdfium2", "pdfminer", "pdfplumber"):
    getLogger(library).addHandler(NullHandler())


class PdfPage(Struct):
    """A page as it was read."""

    lines: list[TextLine]
    tables: list[Table]
    turn: Turn = 0
    """How most of its text stands."""
    flaw: UnreadablePage | None = None


class UnreadablePage(Enum):
    """Why a page gives no text."""

    PICTURE = "a picture without text"
    GARBLED = "left out: fonts do not say which letters they show"
    BROKEN = "left out: damaged"


class PdfText(Struct):
    """What a PDF gave. Pages are counted from 1."""

    pages: list[str]
    facts: dict[str, str]
    xfa: bool
    flaws: dict[UnreadablePage, list[int]]
    """The pages that have each."""

    def flawed(self, flaw: UnreadablePage) -> list[int]:
        """The pages with it."""
        return self.flaws.get(flaw, [])


def read_pdf(order: ReadRequest, tell: Tell) -> Document:
    """The pages of a PDF. `Unreadable` says why there are none, `Locked` that a password is due."""
    reading = _read(order.path, order.password, tell)
    from djinn_memory.documents.ocr import hint, recognised

    unread = sorted(reading.flawed(UnreadablePage.GARBLED) + reading.flawed(UnreadablePage.PICTURE))
    if not (order.ocr and unread):
        return _document(reading, hint())
    if order.password:
        raise Unreadable("is encrypted; for --ocr save it without its password")
    with recognised(order.path, order.ocr, unread) as path:
        return _document(_read(path, None, tell), "ocrmypdf found none either")


def _read(path: Path, password: str | None, tell: Tell) -> PdfText:
    import pypdfium2.raw as pdfium

    with opened(path, password) as file:
        xfa = file.get_formtype() in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND)
        reading = PdfText([], _facts(file), xfa, {})
        outline = _outline(file)
        layout, running = Layout(), RunningLines()
        coming = _pages(file, path, password)
        # The last page of a block waits for the next one, into which its last word may reach.
        waiting: list[PdfPage] = []
        while block := list(islice(coming, BLOCK)):
            first = len(reading.pages) + len(waiting) + 1
            for number, page in enumerate(block, first):
                if page.flaw:
                    reading.flaws.setdefault(page.flaw, []).append(number)
            for page, lines in zip(block, running.without([p.lines for p in block]), strict=True):
                page.lines = lines
            layout.learn(page.lines for page in block)
            waiting += block
            mended([p.lines for p in waiting], [p.tables for p in waiting], layout.words)
            whole = waiting if len(reading.pages) + len(waiting) == len(file) else waiting[:-1]
            for page in whole:
                marks = outline.get(len(reading.pages))
                reading.pages.append(layout.markdown(page.lines, page.tables, marks))
                tell(len(reading.pages), len(file))
            del waiting[: len(whole)]
    return reading


def _facts(file: Any) -> dict[str, str]:
    """What the file says of itself."""
    facts = {}
    for key in ("Title", "Author", "Subject"):
        # Halves of surrogates are no text.
        with suppress(UnicodeDecodeError):
            facts[key] = file.get_metadata_value(key)
    return facts


def _document(reading: PdfText, hint: str) -> Document:
    _check(reading, hint)
    facts = reading.facts
    return Document(
        content_type="application/pdf",
        pages=tuple(reading.pages),
        paged=True,
        title=facts.get("Title"),
        author=facts.get("Author"),
        subject=facts.get("Subject"),
        warnings=tuple(_warnings(reading, hint)),
    )


def raw_pages(path: Path, password: str | None = None) -> Iterator[str]:
    """The text of each page as it is read, before anything is left out, joined or marked."""
    with opened(path, password) as file:
        for page in _pages(file, path, password, tables=False):
            yield "\n".join(line.text for line in page.lines)


def _pages(
    file: Any, path: Path, password: str | None, *, tables: bool = True
) -> Iterator[PdfPage]:
    import pypdfium2 as pdfium

    form = with_forms(file)
    for number in range(len(file)):
        try:
            with closing(loaded(file, number, form)) as page:
                found = _page(page, path, password, number, tables)
                # Only on a page that stands upright does pdfium tell words and lines apart.
                if found.lines and page.get_rotation() != 90 * found.turn:
                    page.set_rotation(90 * found.turn)
                    found = _page(page, path, password, number, tables)
                yield found
        except pdfium.PdfiumError:
            yield PdfPage([], [], flaw=UnreadablePage.BROKEN)


def _page(page: Any, path: Path, password: str | None, number: int, tables: bool) -> PdfPage:
    with closing(page.get_textpage()) as text_page:
        lines, turn = page_lines(text_page)
        text = "\n".join(line.text for line in lines)
        bad = unsound(text)
        if bad >= GARBLED or _vertical(lines):
            other = _by_pdfplumber(path, password, number, vertical=_vertical(lines))
            if _letters(other) >= _letters(text) or unsound(other) < bad:
                lines = [TextLine(line.strip()) for line in other.splitlines() if line.strip()]
                bad = unsound(other)
                tables = False
        if bad >= GARBLED:
            return PdfPage([], [], flaw=UnreadablePage.GARBLED)
        if sum(map(str.isalnum, text)) < FEW_LETTERS and _has_picture(page):
            return PdfPage(lines, [], turn, UnreadablePage.PICTURE)
        if not tables or not lines:
            return PdfPage(lines, [], turn)
        from djinn_memory.documents.pdf.tables import page_tables

        return PdfPage(lines, page_tables(page, text_page, lines, turn), turn)


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _vertical(lines: Sequence[TextLine]) -> bool:
    """Whether most lines run down the page, as Japanese may."""
    # A letter of these scripts is as wide as it is high, though its box may be twice as wide.
    down = [
        line
        for line in lines
        if len(line.text) > 3
        and line.text[1] > "\u2e80"
        and line.upright
        and line.right - line.left < 2.5 * line.size
    ]
    return len(lines) > 2 and len(down) > VERTICAL * len(lines)


def _by_pdfplumber(path: Path, password: str | None, number: int, *, vertical: bool) -> str:
    """A page's text as pdfplumber reads it, which is slow and sometimes knows better."""
    import pdfplumber

    # What pdfminer cannot parse it reports in many ways.
    try:
        with pdfplumber.open(path, password=password or "", pages=[number + 1]) as file:
            return file.pages[0].extract_text(**(_FROM_THE_RIGHT if vertical else {})) or ""
    except Exception:
        return ""


def _has_picture(page: Any) -> bool:
    import pypdfium2.raw as pdfium

    found = page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)
    return next(iter(found), None) is not None


def _outline(file: Any) -> dict[int, dict[str, int]]:
    """By page, from 0: the headings that the bookmarks lead to, and their levels."""
    import pypdfium2 as pdfium

    found: dict[int, dict[str, int]] = {}
    for mark in islice(file.get_toc(max_depth=6), MOST_BOOKMARKS):
        # One that leads nowhere, or has halves of surrogates for a title, is none.
        with suppress(pdfium.PdfiumError, UnicodeDecodeError):
            target = mark.get_dest()
            page = target.get_index() if target else None
            key = heading_key(mark.get_title())
            if page is not None and key:
                found.setdefault(page, {}).setdefault(key, mark.level + 1)
    return found


def _check(reading: PdfText, hint: str) -> None:
    """Raise `Unreadable` for a file that gives no text, or none worth keeping.

    `hint` says what may be done about pictures of text.
    """
    pages = reading.pages
    words = sum(len(page.split()) for page in pages)
    little = words < WORDS_A_PAGE * len(pages)
    if reading.xfa and any("please wait" in page.lower() for page in pages):
        raise Unreadable(
            "is an XFA form, which only Adobe's reader fills in; print it to a PDF there"
        )
    if reading.flawed(UnreadablePage.GARBLED) and little:
        raise Unreadable(
            f"has fonts that do not say which letters they show, so its text is garbled; {hint}"
        )
    if len(reading.flawed(UnreadablePage.PICTURE)) >= SCANNED * len(pages) and little:
        raise Unreadable(f"is a scan without text; {hint}")
    if not words and reading.flawed(UnreadablePage.BROKEN):
        raise Unreadable(DAMAGED)
    if not words:
        raise Unreadable("has no text")


def _warnings(reading: PdfText, hint: str) -> Iterator[str]:
    for flaw in UnreadablePage:
        pages = reading.flawed(flaw)
        if pages:
            remedy = "" if flaw is UnreadablePage.BROKEN else f"; {hint}"
            yield f"{_counted(pages)} {flaw.value}{remedy}"


def _counted(pages: Sequence[int]) -> str:
    listed = ", ".join(map(str, pages[:5])) + (", ..." if len(pages) > 5 else "")
    return f"page {listed} is" if len(pages) == 1 else f"{len(pages)} pages ({listed}) are"
