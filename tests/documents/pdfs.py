"""PDFs that tests make: with fpdf2 as programs make them, by hand as no program should."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fpdf import FPDF
from PIL import Image

from djinn_memory.documents.document import Document, ReadRequest, no_progress
from djinn_memory.documents.pdf.reader import read_pdf

SIZE = 11
LEADING = 14
LEFT = 60.0
TOP = 100.0

_WORDS = re.findall(
    r"\w+",
    "river stone garden winter letter morning harbour copper lantern valley mirror basket summer "
    "orchard ribbon candle marble thunder meadow silver castle feather pepper violin shadow",
)


def prose(lines: int, seed: int = 0, words: int = 9) -> list[str]:
    """Lines of words, different for each seed."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(_WORDS, k=words)) for _ in range(lines)]


def new(**options: object) -> FPDF:
    """A document of A4 pages measured in points, with a page and a font."""
    made = FPDF(unit="pt", **options)  # type: ignore[arg-type]
    made.set_auto_page_break(False)
    made.set_font("Helvetica", size=SIZE)
    made.add_page()
    return made


def put(
    made: FPDF,
    lines: Sequence[str],
    top: float = TOP,
    left: float = LEFT,
    size: float = SIZE,
    style: str = "",
) -> float:
    """Write lines below each other; the height of the line after them comes back."""
    made.set_font("Helvetica", style, size)
    for line in lines:
        made.text(left, top, line)
        top += LEADING * size / SIZE
    return top


def picture(made: FPDF, folder: Path) -> None:
    """Put a grey picture on the page."""
    path = folder / "grey.png"
    Image.new("L", (200, 200), 128).save(path)
    made.image(str(path), x=50, y=50, w=400)


def read(path: Path, password: str | None = None, ocr: str | None = None) -> Document:
    return read_pdf(ReadRequest(path, path.name, password, ocr), no_progress)


def saved(made: FPDF, folder: Path, name: str = "made.pdf") -> Path:
    path = folder / name
    made.output(str(path))
    return path


def pages(made: FPDF, folder: Path) -> tuple[str, ...]:
    return read(saved(made, folder)).pages


def by_hand(objects: Mapping[int, str | bytes], trailer: str = "") -> bytes:
    """A PDF of these objects, of which 1 is the catalogue; strings are dictionaries and such."""
    parts = [b"%PDF-1.7\n"]
    places = {}
    for number, body in objects.items():
        places[number] = sum(map(len, parts))
        written = body if isinstance(body, bytes) else body.encode("latin-1")
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, written))
    start = sum(map(len, parts))
    parts.append(b"xref\n0 1\n0000000000 65535 f \n")
    for number, place in places.items():
        parts.append(b"%d 1\n%010d 00000 n \n" % (number, place))
    size = max(objects) + 1
    parts.append(f"trailer\n<</Size {size} /Root 1 0 R {trailer}>>\n".encode("latin-1"))
    parts.append(b"startxref\n%d\n%%%%EOF\n" % start)
    return b"".join(parts)


def stream(content: str | bytes, entries: str = "") -> bytes:
    body = content if isinstance(content, bytes) else content.encode("latin-1")
    return b"<<%s /Length %d>>\nstream\n%s\nendstream" % (entries.encode(), len(body), body)


def text_objects(
    text: str, page: str = "", catalogue: str = "", more: Mapping[int, str | bytes] | None = None
) -> dict[int, str | bytes]:
    """The objects of a page that shows a line: 3 is the page, 4 its content, 5 its font."""
    return {
        1: f"<</Type /Catalog /Pages 2 0 R {catalogue}>>",
        2: "<</Type /Pages /Kids [3 0 R] /Count 1>>",
        3: "<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        f" /Resources <</Font <</F1 5 0 R>>>> {page}>>",
        4: stream(f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"),
        5: "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>",
        **(more or {}),
    }


def by_hand_at(folder: Path, objects: Mapping[int, str | bytes], trailer: str = "") -> Path:
    path = folder / "by-hand.pdf"
    path.write_bytes(by_hand(objects, trailer))
    return path
