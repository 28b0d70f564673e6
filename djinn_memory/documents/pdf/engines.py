"""Reads PDF pages with pdfium, with pdfminer where a font needs it, and pictures with ocrmypdf."""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, cached_property
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from djinn_memory.documents.document import Locked, Unreadable
from djinn_memory.documents.pdf.lines import TextLine, Turn
from djinn_memory.errors import Remedy, install_extra

FORM_DEPTH = 5
"""Maximum depth of nested form objects in which text is counted."""

NO_WIDTH = 0.01
"""Maximum width in points of an object that counts as having no width; the limit of pdfium."""

SAMPLE = 100
"""Number of characters that are checked on a page."""

END = 1024
"""The end mark of a file lies within this number of bytes from its end."""

BROTLI = "is compressed with Brotli, which djinn cannot unpack; save it as an earlier PDF"
DAMAGED = "is damaged or truncated, so no page can be read; download it again"


@contextmanager
def open_pdf(path: Path, password: str | None = None) -> Iterator[Any]:
    """Open the file as a pdfium document, with its form fields, so that they can be read."""
    import pypdfium2 as pdfium

    # For some kinds of damage pdfium reports the error of the last file. This call resets it.
    pdfium.raw.FPDF_LoadMemDocument(b"none", 4, None)
    try:
        file = pdfium.PdfDocument(path, password=password)
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code == pdfium.raw.FPDF_ERR_SECURITY:
            raise Unreadable("uses an encryption that djinn cannot open") from None
        if code != pdfium.raw.FPDF_ERR_PASSWORD:
            raise Unreadable(_reason(path)) from None
        if password:
            raise Locked("is encrypted, and the password is wrong") from None
        raise Locked("is encrypted", Remedy(arguments={"password": None})) from None
    with closing(file):
        with suppress(pdfium.PdfiumError):
            file.init_forms()
        yield file


def _reason(path: Path) -> str:
    """The reason why pdfium cannot open any page of a file."""
    if uses_brotli(path):
        return BROTLI
    import pdfplumber

    with suppress(Exception), pdfplumber.open(path) as file, path.open("rb") as end:
        # Without its end a file may have lost its pages.
        end.seek(-min(END, path.stat().st_size), os.SEEK_END)
        if b"%%EOF" in end.read() and not file.pages:
            return "has no pages"
    return DAMAGED


@cache
def uses_brotli(path: Path) -> bool:
    """Whether parts of a file are compressed with Brotli, which pdfium does not support."""
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return data.find(b"/BrotliDecode") >= 0


def lost_objects(page: Any) -> int:
    """The number of text objects that are missing from pdfium's text of a page.

    pdfium skips objects without width, for example a letter drawn by itself in a font that is
    neither embedded nor installed. Spaces drawn by themselves count as well.
    """
    import pypdfium2.raw as pdfium

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    box = [ctypes.byref(edge) for edge in (left, bottom, right, top)]

    def lost(parent: Any, count: Any, get: Any, depth: int) -> int:
        pieces = 0
        for at in range(count(parent)):
            part = get(parent, at)
            kind = pdfium.FPDFPageObj_GetType(part)
            if kind == pdfium.FPDF_PAGEOBJ_FORM and depth < FORM_DEPTH:
                inner = pdfium.FPDFFormObj_CountObjects, pdfium.FPDFFormObj_GetObject
                pieces += lost(part, *inner, depth + 1)
            elif kind == pdfium.FPDF_PAGEOBJ_TEXT:
                pdfium.FPDFPageObj_GetBounds(part, *box)
                if right.value - left.value < NO_WIDTH:
                    font = pdfium.FPDFTextObj_GetFont(part)
                    pieces += not pdfium.FPDFFont_GetIsEmbedded(font)
        return pieces

    return lost(page, pdfium.FPDFPage_CountObjects, pdfium.FPDFPage_GetObject, 0)


VERTICAL = 0.5
"""Minimum share of steps down the page in text that is written in vertical columns."""

MOST_USELESS = 3
"""Maximum number of pages on which pdfminer reads no more than pdfium. After that, pdfminer reads
only pages that lose most of their text: reading with both takes ten times as long."""

_CID = re.compile(r"\(cid:\d+\)")
_FROM_THE_RIGHT = {
    "line_dir": "rtl", "char_dir": "ttb", "line_dir_render": "ttb", "char_dir_render": "ltr",
}  # fmt: skip


class FallbackReader:
    """Reads a file with pdfminer. The file is opened when the first page is read."""

    def __init__(self, path: Path, password: str | None) -> None:
        self._path = path
        self._password = password
        self.useless = 0
        """The number of pages on which pdfminer read no more than pdfium."""

    def worthwhile(self, lost: int, letters: int) -> bool:
        """Whether pdfminer should read a page from which pdfium left out `lost` pieces of text."""
        return lost > (0 if self.useless < MOST_USELESS else letters)

    def read(self, number: int) -> tuple[list[TextLine], int]:
        """The lines of a page, counted from 0, and the number of letters and digits that it shows.

        The number includes letters that pdfminer cannot decode. Returns ([], 0) when pdfminer
        fails.
        """
        # pdfminer raises errors of every kind for a file that it cannot parse.
        try:
            page = self._file.pages[number]
            if turn := _turn(page.chars):
                # Only on an upright page does pdfminer separate lines.
                page.page_obj.rotate = (page.page_obj.rotate + 90 * turn) % 360
                page.close()
            chars, vertical = page.chars, _vertical(page.chars)
            options = _FROM_THE_RIGHT if vertical else {}
            rows = page.extract_text_lines(return_chars=False, **options)
            page.close()
        except Exception:
            return [], 0
        lines = [_line(row, at if vertical else None) for at, row in enumerate(rows)]
        # A letter that cannot be decoded is written as `(cid:7)`.
        drawn = sum(char["text"].isalnum() or len(char["text"]) > 5 for char in chars)
        return [line for line in lines if line.text], drawn

    @cached_property
    def _file(self) -> Any:
        import pdfplumber

        return pdfplumber.open(self._path, password=self._password or "")

    def close(self) -> None:
        """Close the file."""
        if file := self.__dict__.pop("_file", None):
            file.close()


def _line(row: Mapping[str, Any], column: int | None) -> TextLine:
    """A line from pdfplumber. A column of vertical text is placed below the previous column."""
    text = _CID.sub("", row["text"]).strip()
    if column is not None:
        return TextLine(text, base=-float(column))
    size = round(row["bottom"] - row["top"], 1)
    return TextLine(text, row["x0"], row["x1"], -row["bottom"], size)


def _turn(chars: Sequence[Any]) -> Turn:
    """The direction of most letters."""
    turns = Counter(
        round(math.atan2(char["matrix"][1], char["matrix"][0]) / (math.pi / 2)) % 4
        for char in chars
    )
    return turns.most_common(1)[0][0] if turns else 0


def _vertical(chars: Sequence[Any]) -> bool:
    """Whether most letters are below the previous letter, as in Japanese."""
    written = [char for char in chars if not char["text"].isspace()]
    down: int = sum(
        below["text"] > "\u2e80"
        and abs(below["x0"] - above["x0"]) < above["size"] / 2
        and below["top"] > above["top"]
        for above, below in pairwise(written)
    )
    return down > VERTICAL * len(written)


LONGEST_REASON = 200
"""Characters kept from ocrmypdf's message. It begins with the reason, then gives advice."""

_READ = Remedy("documents.ingest", {"paths": None, "ocr": True}, "read it with ocrmypdf")


def find_ocrmypdf() -> str | None:
    """The path of the program, if it is installed."""
    # Programs installed with djinn are next to this Python, whether or not that is on the path.
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return shutil.which("ocrmypdf", path=places)


def ocr_remedy() -> str:
    """The remedy for text that exists only as a picture."""
    if find_ocrmypdf():
        return str(_READ)
    return f"install ocrmypdf, then {_READ}"


@contextmanager
def recognized_copy(path: Path, languages: str, pages: Sequence[int]) -> Iterator[Path]:
    """A copy of a PDF with recognized text on these pages, counted from 1.

    Raises `Unreadable` when ocrmypdf is missing or fails.
    """
    program = find_ocrmypdf()
    if not program:
        raise Unreadable(
            f"needs ocrmypdf: {install_extra('ocr')}, and install tesseract with the languages of "
            "documents.ocr_languages"
        )
    with TemporaryDirectory(prefix="djinn-ocr-") as folder:
        result = Path(folder) / "read.pdf"
        process = subprocess.run(
            [
                program, "--force-ocr", "--pages", ",".join(map(str, pages)),
                "--language", languages,
                "--output-type", "pdf", "--jobs", "1", "--optimize", "0", "--quiet",
                # A poster in full resolution takes gigabytes.
                "--tesseract-downsample-large-images", "--tesseract-downsample-above", "4000",
                str(path.resolve()), str(result),
            ],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        if process.returncode or not result.exists():
            message = " ".join(process.stderr.split())[:LONGEST_REASON]
            why = message or f"exit code {process.returncode}"
            raise Unreadable(f"could not be read by ocrmypdf: {why}")
        yield result
