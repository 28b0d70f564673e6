"""Reads a file of any format; the function that worker processes run."""

from __future__ import annotations

from pkgutil import resolve_name

from msgspec.structs import replace

from djinn_memory.documents.document import Document, Reader, ReadRequest, ReportPages
from djinn_memory.documents.kinds import FORMATS, detect_kind
from djinn_memory.documents.pdf.quality import unknown_share

MANY = 0.1
"""Share of characters that stand for unknown letters from which a document is named as garbled."""

VERSION = 2
"""Increased when files are read that were refused before: they are tried again then."""


def read(request: ReadRequest, report: ReportPages) -> Document:
    """The document in a file. Raises `Unreadable` with the reason, `Locked` for a password."""
    kind = detect_kind(request.path, request.name)
    reader: Reader = resolve_name(FORMATS[kind.name].reader)
    document = reader(request, report)
    unknown = unknown_share("".join(document.pages))
    garbled = f"{unknown:.0%} of its characters are replacement or private-use characters"
    remarks = (kind.remark, garbled if unknown > MANY else None)
    return replace(
        document,
        content_type=kind.content_type,
        warnings=(*filter(None, remarks), *document.warnings),
    )
