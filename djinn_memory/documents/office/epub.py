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
    hrefs = {item.get("id"): item.get("href", "") for item in book.iter(f"{_OPF}item")}
    folder = posixpath.dirname(package)
    found = []
    for item in book.iter(f"{_OPF}itemref"):
        href = hrefs.get(item.get("idref"), "").partition("#")[0]
        paths = (posixpath.normpath(posixpath.join(folder, one)) for one in (unquote(href), href))
        found += [path for path in paths if path in names][:1]
    _readable(archive, names, found)
    return [archive.read(path) for path in dict.fromkeys(found)]


def _readable(archive: zipfile.ZipFile, names: set[str], paths: list[str]) -> None:
    # Fonts are often scrambled in books that can be read.
    locks = "META-INF/encryption.xml"
    locked = unquote(archive.read(locks).decode("utf-8", "replace")) if locks in names else ""
    if any(f'"{path}"' in locked for path in paths):
        raise Unreadable("is protected (DRM); djinn cannot read it")
