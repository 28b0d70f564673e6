"""Draws pages of a PDF."""

from __future__ import annotations

from contextlib import closing
from io import BytesIO
from pathlib import Path

from djinn_memory.documents.document import Unreadable
from djinn_memory.documents.pdf.engines import DAMAGED, open_pdf

MOST_PIXELS = 4_000_000
"""Maximum number of pixels of a picture. A page may be as large as a poster."""


def page_image(path: Path, number: int, width: int, password: str | None = None) -> bytes:
    """A page, counted from 1, as a PNG that is `width` pixels wide, or narrower if it is very high.

    Raises `Unreadable` for a file or a page that cannot be opened, and `IndexError` for a page that
    the file does not have.
    """
    import pypdfium2 as pdfium

    with open_pdf(path, password) as file:
        if number > len(file):
            raise IndexError(number)
        try:
            with closing(file[number - 1]) as page:
                wide, high = page.get_size()
                most = (MOST_PIXELS / (wide * high)) ** 0.5
                # A page that is thinner than a pixel is drawn as wide as one.
                scale = min(width / wide, most, MOST_PIXELS / high)
                picture = page.render(scale=scale).to_pil()
        except (pdfium.PdfiumError, ZeroDivisionError):
            raise Unreadable(DAMAGED) from None
    data = BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()
