"""Reads a file of any kind: what a worker runs."""

from __future__ import annotations

from msgspec.structs import replace

from djinn_memory.documents.document import Document, ReadRequest, Tell
from djinn_memory.documents.kinds import Kind, kind_of


def read(order: ReadRequest, tell: Tell) -> Document:
    """The document in a file. Raises `Unreadable` with the reason, `Locked` for a password."""
    kind = kind_of(order.path, order.name)
    document = _read(order, kind, tell)
    if kind.remark:
        document = replace(document, warnings=(kind.remark, *document.warnings))
    return document


def _read(order: ReadRequest, kind: Kind, tell: Tell) -> Document:
    if kind.name == "pdf":
        from djinn_memory.documents.pdf.reader import read_pdf

        return read_pdf(order, tell)
    if kind.name in ("text", "markdown"):
        from djinn_memory.documents.plaintext import read_markdown, read_text

        return (read_text if kind.name == "text" else read_markdown)(order, kind, tell)
    from djinn_memory.documents.office.reader import read_office

    return read_office(order, kind, tell)
