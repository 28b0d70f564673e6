"""The chapters of an EPUB, in reading order."""

from __future__ import annotations

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from djinn_memory.documents.document import Unreadable

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}rootfile"
_OPF = "{http://www.idpf.org/2007/opf}"


def chapters(archive: zipfile.ZipFile) -> list[bytes]:
    """The XHTML of the chapters. Raises `KeyError` or a parse error for a damaged file."""
    from defusedxml import ElementTree

    names = set(archive.namelist())
    root = ElementTree.fromstring(archive.read("META-INF/container.xml")).find(f".//{_CONTAINER}")
    package = root.get("full-path", "")
    book: Any = ElementTree.fromstring(archive.read(package))
    hrefs = {node.get("id"): node.get("href", "") for node in book.iter(f"{_OPF}item")}
    folder = posixpath.dirname(package)
    chosen = []
    for reference in book.iter(f"{_OPF}itemref"):
        href = hrefs.get(reference.get("idref"), "").partition("#")[0]
        paths = (posixpath.normpath(posixpath.join(folder, h)) for h in (unquote(href), href))
        chosen += [path for path in paths if path in names][:1]
    _check_readable(archive, names, chosen)
    return [archive.read(path) for path in dict.fromkeys(chosen)]


def _check_readable(archive: zipfile.ZipFile, names: set[str], paths: list[str]) -> None:
    # Only chapters count: many books that can be read have encrypted fonts.
    listing = "META-INF/encryption.xml"
    encrypted = (
        unquote(archive.read(listing).decode("utf-8", "replace")) if listing in names else ""
    )
    if any(f'"{path}"' in encrypted for path in paths):
        raise Unreadable("is protected (DRM); djinn cannot read it")
