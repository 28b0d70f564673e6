"""Reads a file of any format. Worker processes run this function."""

from __future__ import annotations

from pkgutil import resolve_name

from msgspec.structs import replace

from djinn_memory.documents.document import Document, Reader, ReadRequest, ReportPages
from djinn_memory.documents.kinds import FORMATS, detect_kind
from djinn_memory.documents.pdf.quality import unknown_share

MANY = 0.1
"""Minimum share of replacement characters at which a warning calls a document garbled."""

VERSION = 2
"""Increased when djinn learns to read files that it refused. Those files are then tried again."""


def read(request: ReadRequest, report: ReportPages) -> Document:
    """Read a file. Raises `Unreadable` with the reason, or `Locked` when a password is needed."""
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
