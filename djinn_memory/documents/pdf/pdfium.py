"""Opens PDF files and their pages with pdfium."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from djinn_memory.documents.document import Locked, Unreadable

MOST_ANNOTATIONS = 1000
"""Annotations of a page that are examined."""

DAMAGED = "is damaged or cut short, so no page can be read; fetch it again"


@contextmanager
def open_pdf(path: Path, password: str | None = None) -> Iterator[Any]:
    """The file as a pdfium document."""
    import pypdfium2 as pdfium

    # For some kinds of damage pdfium reports the error of the last file. This call resets it.
    pdfium.raw.FPDF_LoadMemDocument(b"none", 4, None)
    try:
        file = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code == pdfium.raw.FPDF_ERR_SECURITY:
            raise Unreadable("is encrypted in a way that cannot be opened here") from None
        if code != pdfium.raw.FPDF_ERR_PASSWORD:
            raise Unreadable(DAMAGED) from None
        if not password:
            raise Locked("is encrypted; give its --password") from None
        try:
            file = pdfium.PdfDocument(path, password=password)
        except pdfium.PdfiumError:
            raise Locked("is encrypted, and this password does not open it") from None
    try:
        if not len(file):
            raise Unreadable("has no pages")
        yield file
    finally:
        file.close()


def load_page(file: Any, number: int, form: bool) -> Any:
    """A page with its form fields and notes as part of its text."""
    import pypdfium2 as pdfium

    page = file[number]
    if not _has_notes(page, form):
        return page
    # pypdfium2 flattens only pages of a file with a form.
    with closing(page), suppress(pdfium.PdfiumError):
        pdfium.raw.FPDFPage_Flatten(page, pdfium.raw.FLAT_NORMALDISPLAY)
    return file[number]


def _has_notes(page: Any, form: bool) -> bool:
    """Whether the page has form fields or notes; its links do not count."""
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


def init_forms(file: Any) -> bool:
    """Whether the file has form fields; from now on their content can be read."""
    import pypdfium2 as pdfium

    if file.get_formtype() == pdfium.raw.FORMTYPE_NONE:
        return False
    try:
        file.init_forms()
    except pdfium.PdfiumError:
        return False
    return True
