"""Files to be ingested, made for tests, and the parts of a home that tests of documents look at."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fpdf import FPDF

from djinn_memory.djinn import Djinn
from djinn_memory.documents.sources import Source
from djinn_memory.memories.library.requests import IngestOptions, IngestReport
from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import decode

WORDS = [
    "kettle", "lantern", "harbour", "anchor", "saffron", "violin", "glacier", "pepper", "walnut",
    "copper", "meadow", "falcon", "marble", "thunder", "velvet", "orchid", "canyon", "ribbon",
    "timber", "beacon", "cobalt", "ginger", "parrot", "tunnel",
]  # fmt: skip
"""One for each page of `pdf`."""


def pdf(path: Path, pages: Sequence[str], **about: str) -> Path:
    """A PDF with a text on each page; `about` are title, author and subject."""
    made = FPDF()
    made.set_font("Helvetica", size=12)
    for text in pages:
        made.add_page()
        made.multi_cell(0, 8, text)
    for key, value in about.items():
        getattr(made, f"set_{key}")(value)
    path.parent.mkdir(parents=True, exist_ok=True)
    made.output(str(path))
    return path


def sentences(count: int = 24) -> list[str]:
    """A short page for each, with a word of its own."""
    return [f"On this page the machine keeps its {WORDS[n % 24]} safe." for n in range(count)]


def raw(path: Path, content: bytes) -> Path:
    """A PDF of one page whose compressed content is given."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\n" % table
    path.write_bytes(data + b"startxref\n%d\n%%%%EOF\n" % data.index(b"xref\n0 6"))
    return path


def repeated(unit: bytes, times: int) -> bytes:
    """`unit` so many times, compressed."""
    squeeze = zlib.compressobj(9)
    return b"".join(squeeze.compress(unit) for _ in range(times)) + squeeze.flush()


def bomb(path: Path) -> Path:
    """600 MB of spaces."""
    return raw(path, repeated(b" " * 1_000_000, 600))


def hang(path: Path) -> Path:
    """Millions of operators on one page."""
    return raw(path, repeated(b"BT /F1 12 Tf 10 10 Td (x) Tj ET\n" * 1000, 8000))


def put(djinn: Djinn, *paths: Path, agent: str | None = None, **options: Any) -> IngestReport:
    """Ingest files and folders, with all that is in them."""
    return djinn.documents.ingest(paths=paths, recursive=True, agent=agent, **options)


def put_sources(djinn: Djinn, piped: Sequence[Source], **options: Any) -> IngestReport:
    """Ingest what comes from elsewhere."""
    return djinn.documents.ingest_files(IngestOptions(**options), piped)


def outcomes(report: IngestReport) -> list[tuple[str, str, str | None]]:
    """Name, status and reason of each file."""
    return sorted((one.filename, one.status, one.why) for one in report.documents)


def fields(note: Path) -> dict[str, Any]:
    """What the front matter says."""
    return dict(frontmatter.read(decode(note.read_bytes())[0]).fields)


def found(djinn: Djinn, text: str, **more: Any) -> list[tuple[str | None, int | None]]:
    """File and page of the hits of a search by words, the best first."""
    hits = djinn.search(text, mode="words", **more).hits
    return [(hit.filename, hit.page_number) for hit in hits]
