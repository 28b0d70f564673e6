"""Reads a file of any format; the function that worker processes run."""

from __future__ import annotations

from pkgutil import resolve_name

from msgspec.structs import replace

from djinn_memory.documents.document import Document, Reader, ReadRequest, ReportPages
from djinn_memory.documents.kinds import FORMATS, detect_kind


def read(request: ReadRequest, report: ReportPages) -> Document:
    """The document in a file. Raises `Unreadable` with the reason, `Locked` for a password."""
    kind = detect_kind(request.path, request.name)
    reader: Reader = resolve_name(FORMATS[kind.name].reader)
    document = reader(request, report)
    remarks = (kind.remark,) if kind.remark else ()
    return replace(
        document, content_type=kind.content_type, warnings=(*remarks, *document.warnings)
    )
