"""Reads PDF files: the text of each page, and the metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from enum import Enum
from itertools import islice
from logging import NullHandler, getLogger
from pathlib import Path
from typing import Any

from msgspec import Struct

from djinn_memory.documents.document import Document, ReadRequest, ReportPages, Unreadable
from djinn_memory.documents.pdf import engines
from djinn_memory.documents.pdf.layout import Layout, Table, heading_key, join_broken_words
from djinn_memory.documents.pdf.lines import TextLine, Turn, page_lines
from djinn_memory.documents.pdf.quality import (
    FEWEST,
    GARBLED,
    garbled_share,
    is_no_language,
    letters_drawn,
)
from djinn_memory.documents.pdf.running_lines import RunningLines

BLOCK = 50
"""Pages formatted together: enough to detect repeated lines, few enough to bound memory."""

FEW_LETTERS = 10
"""Minimum letters and digits on a page with text. With fewer, a picture on it is a scan."""

SCANNED = 0.5
"""Minimum share of picture pages in a scan, if the file has little other text."""

WORDS_A_PAGE = 10
"""Minimum average number of words on a page: fewer are noise in a scan, such as a stamp."""

MOST_ANNOTATIONS = 1000
"""Maximum number of annotations that are checked on a page."""

MOST_BOOKMARKS = 20_000
"""Maximum number of bookmarks in a usable table of contents."""

THIN = 0.6
"""Minimum share of the letters shown that must be read; otherwise a warning names the page."""

SOUND = 0.8
"""Minimum share of the letters shown at which pdfium's text is accepted at once."""

FEWER = 0.98
"""pdfium's text is used when it has at least this share of pdfminer's letters, because its layout
is better."""

# The log messages of the libraries are discarded; the warnings hold what matters.
for library in ("pypdfium2", "pdfminer", "pdfplumber"):
    getLogger(library).addHandler(NullHandler())


class _PdfPage(Struct):
    """A page after reading."""

    lines: list[TextLine]
    tables: list[Table]
    turn: Turn = 0
    """The direction of most of its text."""
    flaw: _UnreadablePage | None = None
    drawn: int = 0
    """The number of letters and digits on the page, as far as they can be counted."""


class _UnreadablePage(Enum):
    """The reason why all or part of a page's text is missing."""

    PICTURE = "an image without text"
    GARBLED = "left out: the fonts do not map glyphs to letters"
    THIN = "read in part: the fonts do not map glyphs to letters"
    PACKED = "left out: compressed with Brotli"
    BROKEN = "left out: damaged"


NOT_SHOWN = (_UnreadablePage.PACKED, _UnreadablePage.BROKEN)
"""Flaws that OCR cannot fix."""


class _PdfText(Struct):
    """The content of a PDF. Pages are counted from 1."""

    pages: list[str]
    facts: dict[str, Any]
    """Title, author and subject."""
    xfa: bool
    flaws: dict[_UnreadablePage, list[int]]
    """The pages with each flaw."""
    drawn: int = 0
    """The number of letters and digits that the pages show, as far as they can be counted."""
    wordless: bool = False
    """Whether the letters form no words of any language."""

    @property
    def share(self) -> float:
        """The share of those letters and digits, 0 to 1, that the extracted text contains."""
        return _alphanumeric("".join(self.pages)) / self.drawn if self.drawn else 1.0

    def flawed(self, flaw: _UnreadablePage) -> list[int]:
        """The pages that have a flaw."""
        return self.flaws.get(flaw, [])


def read_pdf(request: ReadRequest, report: ReportPages) -> Document:
    """Read the pages of a PDF. Raises `Unreadable`, or `Locked` when a password is missing."""
    text = _read(request.path, request.password, report)
    unread = {page for flaw, pages in text.flaws.items() if flaw not in NOT_SHOWN for page in pages}
    if text.wordless:
        unread |= set(range(1, len(text.pages) + 1))
    if not (request.ocr and unread):
        return _document(text, engines.ocr_remedy())
    if request.password:
        raise Unreadable("is encrypted, so ocrmypdf cannot read it; save it without its password")
    with engines.recognized_copy(request.path, request.ocr, sorted(unread)) as path:
        return _document(_read(path, None, report), "ocrmypdf found no text either")


def _read(path: Path, password: str | None, report: ReportPages) -> _PdfText:
    import pypdfium2.raw as pdfium

    with engines.open_pdf(path, password) as file:
        xfa = file.get_formtype() in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND)
        text = _PdfText([], _facts(file), xfa, {})
        outline = _outline(file)
        layout, running = Layout(), RunningLines()
        coming = _pages(file, path, password)
        # The last page of a block waits for the next block, where its last word may end.
        waiting: list[_PdfPage] = []
        while block := list(islice(coming, BLOCK)):
            first = len(text.pages) + len(waiting) + 1
            for number, page in enumerate(block, first):
                text.drawn += page.drawn
                if page.flaw:
                    text.flaws.setdefault(page.flaw, []).append(number)
            for page, lines in zip(block, running.remove([p.lines for p in block]), strict=True):
                page.lines = lines
            layout.learn(page.lines for page in block)
            waiting += block
            join_broken_words([p.lines for p in waiting], [p.tables for p in waiting], layout.words)
            complete = waiting if len(text.pages) + len(waiting) == len(file) else waiting[:-1]
            for page in complete:
                marks = outline.get(len(text.pages))
                text.pages.append(layout.markdown(page.lines, page.tables, marks))
                report(len(text.pages), len(file))
            del waiting[: len(complete)]
    text.wordless = is_no_language("\n".join(text.pages))
    return text


def _facts(file: Any) -> dict[str, Any]:
    """Title, author and subject in the metadata of the file."""
    facts = {}
    for key in ("title", "author", "subject"):
        # Metadata with halves of surrogate pairs is not text.
        with suppress(UnicodeDecodeError):
            facts[key] = file.get_metadata_value(key.title())
    return facts


def _document(text: _PdfText, hint: str) -> Document:
    _check(text, hint)
    warnings = tuple(_warnings(text, hint))
    return Document(tuple(text.pages), paged=True, warnings=warnings, **text.facts)


def raw_pages(path: Path) -> Iterator[str]:
    """The text of each page before lines are removed, joined or formatted."""
    with engines.open_pdf(path) as file:
        for page in _pages(file, path, None, tables=False):
            yield "\n".join(line.text for line in page.lines)


def _pages(
    file: Any, path: Path, password: str | None, *, tables: bool = True
) -> Iterator[_PdfPage]:
    import pypdfium2 as pdfium

    with closing(engines.FallbackReader(path, password)) as fallback:
        for number in range(len(file)):
            try:
                with closing(_load_page(file, number)) as page:
                    content = _page(page, fallback, number, tables)
                    # Only on an upright page does pdfium separate words and lines.
                    if content.lines and page.get_rotation() != 90 * content.turn:
                        page.set_rotation(90 * content.turn)
                        content = _page(page, fallback, number, tables)
                    if not content.lines and not content.flaw and engines.uses_brotli(path):
                        content.flaw = _UnreadablePage.PACKED
                    yield content
            except pdfium.PdfiumError:
                yield _PdfPage([], [], flaw=_UnreadablePage.BROKEN)


def _load_page(file: Any, number: int) -> Any:
    """Load a page with its form fields and notes as part of its text."""
    import pypdfium2 as pdfium

    page = file[number]
    if not _has_notes(page, form=bool(file.formenv)):
        return page
    # pypdfium2 flattens only pages of a file with a form.
    with closing(page), suppress(pdfium.PdfiumError):
        pdfium.raw.FPDFPage_Flatten(page, pdfium.raw.FLAT_NORMALDISPLAY)
    return file[number]


def _has_notes(page: Any, *, form: bool) -> bool:
    """Whether the page has form fields or notes. Links do not count."""
    import pypdfium2.raw as pdfium

    count = pdfium.FPDFPage_GetAnnotCount(page)
    shown = (pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP)
    for at in range(min(count, MOST_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, at)
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        pdfium.FPDFPage_CloseAnnot(annotation)
        if kind in shown:
            return True
    return form and bool(count)


def _page(page: Any, fallback: engines.FallbackReader, number: int, tables: bool) -> _PdfPage:
    with closing(page.get_textpage()) as text_page:
        lines, turn = page_lines(text_page)
        text = "\n".join(line.text for line in lines)
        unmapped = _unmapped_share(text_page)
        readable = _readable(text, unmapped)
        # Some letters that cannot be decoded become hyphens in a line.
        drawn = letters_drawn(text) or letters_drawn(text_page.get_text_range(errors="replace"))
        vertical = _vertical(lines)
        lost = engines.lost_objects(page)
        if vertical or readable < SOUND * drawn or fallback.worthwhile(lost, drawn):
            other, glyphs = fallback.read(number)
            drawn = max(drawn, glyphs or drawn + lost)
            other_text = "\n".join(line.text for line in other)
            better = _readable(other_text, unmapped)
            # Of a garbled page pdfminer may read no more than the figures.
            least = readable * (FEWER if vertical else 1 / FEWER) if readable else THIN * drawn
            if better and better >= least:
                lines, text, readable, tables = other, other_text, better, False
            else:
                fallback.useless += 1
        if drawn >= FEWEST and not readable:
            return _PdfPage([], [], flaw=_UnreadablePage.GARBLED, drawn=drawn)
        flaw = None
        if _alphanumeric(text) < FEW_LETTERS and _has_picture(page):
            flaw = _UnreadablePage.PICTURE
        elif drawn >= FEWEST and readable < THIN * drawn:
            flaw = _UnreadablePage.THIN
        if not tables or not lines:
            return _PdfPage(lines, [], turn, flaw, drawn)
        from djinn_memory.documents.pdf.tables import page_tables

        return _PdfPage(lines, page_tables(page, text_page, lines, turn), turn, flaw, drawn)


def _unmapped_share(text_page: Any) -> float:
    """The share of characters, 0 to 1, that pdfium cannot map to letters and returns as codes."""
    import pypdfium2.raw as pdfium

    count = text_page.count_chars()
    sample = range(0, count, max(1, count // engines.SAMPLE))
    errors = sum(pdfium.FPDFText_HasUnicodeMapError(text_page, at) == 1 for at in sample)
    return errors / len(sample) if sample else 0.0


def _readable(text: str, unmapped: float = 0.0) -> int:
    """The number of letters and digits in a text, or 0 when the text is garbled.

    `unmapped` is the share of characters that are only font codes.
    """
    garbled = garbled_share(text) >= GARBLED or (unmapped >= GARBLED and is_no_language(text))
    return 0 if garbled else _alphanumeric(text)


def _alphanumeric(text: str) -> int:
    return sum(map(str.isalnum, text))


def _vertical(lines: Sequence[TextLine]) -> bool:
    """Whether most lines run down the page, as in Japanese."""
    # A letter of these scripts is as wide as high, though its box may be twice as wide.
    narrow = [line for line in lines if line.right - line.left < 2.5 * line.size and line.upright]
    down = sum(len(line.text) > 3 and line.text[1] > "\u2e80" for line in narrow)
    return len(lines) > 2 and down > engines.VERTICAL * len(lines)


def _has_picture(page: Any) -> bool:
    import pypdfium2.raw as pdfium

    images = page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)
    return any(True for _ in images)


def _outline(file: Any) -> dict[int, dict[str, int]]:
    """The headings that bookmarks lead to and their levels, by page from 0."""
    import pypdfium2 as pdfium

    outline: dict[int, dict[str, int]] = {}
    for mark in islice(file.get_toc(max_depth=6), MOST_BOOKMARKS):
        # A bookmark without a target, or with half a surrogate pair in its title, is skipped.
        with suppress(pdfium.PdfiumError, UnicodeDecodeError):
            target = mark.get_dest()
            page = target.get_index() if target else None
            key = heading_key(mark.get_title())
            if page is not None and key:
                outline.setdefault(page, {}).setdefault(key, mark.level + 1)
    return outline


def _check(text: _PdfText, hint: str) -> None:
    """Raise `Unreadable` for a file with no text or too little text.

    `hint` is the remedy for text that exists only as a picture.
    """
    pages = text.pages
    words = sum(len(page.split()) for page in pages)
    little = words < WORDS_A_PAGE * len(pages)
    if text.xfa and any("please wait" in page.lower() for page in pages):
        raise Unreadable(
            "is an XFA form, which only Adobe's reader fills in; print it to a PDF there"
        )
    if text.flawed(_UnreadablePage.GARBLED) and little:
        raise Unreadable(
            f"has fonts that do not map glyphs to letters, so its text is garbled; {hint}"
        )
    if text.flawed(_UnreadablePage.THIN) and text.share < THIN and little:
        raise Unreadable(
            f"has fonts that do not map glyphs to letters: {text.share:.0%} of its text can "
            f"be read; {hint}"
        )
    if len(text.flawed(_UnreadablePage.PICTURE)) >= SCANNED * len(pages) and little:
        raise Unreadable(f"is a scan without text; {hint}")
    if not words and text.flawed(_UnreadablePage.PACKED):
        raise Unreadable(engines.BROTLI)
    if not words and text.flawed(_UnreadablePage.BROKEN):
        raise Unreadable(engines.DAMAGED)
    if not words:
        raise Unreadable("has no text")


def _warnings(text: _PdfText, hint: str) -> Iterator[str]:
    for flaw in _UnreadablePage:
        pages = text.flawed(flaw)
        if pages:
            remedy = "" if flaw in NOT_SHOWN else f"; {hint}"
            yield f"{_count(pages)} {flaw.value}{remedy}"
    if text.share < THIN:
        rest = "" if text.flaws else "; the others are in headers and footers"
        yield f"the text has only {text.share:.0%} of the letters that the pages show{rest}"
    if text.wordless:
        yield f"its letters form no known words, as happens with a damaged font; {hint}"


def _count(pages: Sequence[int]) -> str:
    numbers = ", ".join(map(str, pages[:5])) + (", ..." if len(pages) > 5 else "")
    return f"page {numbers} is" if len(pages) == 1 else f"{len(pages)} pages ({numbers}) are"
