"""Writes a document as a note: its title, and its text with a mark at the start of each page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from djinn_memory.documents import titles
from djinn_memory.documents.document import Document
from djinn_memory.documents.kinds import FORMATS
from djinn_memory.notes.markdown import headings, inline, mask
from djinn_memory.notes.pages import defang, mark

FOLDER = "documents"
"""The folder of a vault where djinn writes documents."""

HISTORY = f"{FOLDER}/.history"
"""The folder of earlier versions. It is hidden, so that searches do not return them."""

_ENDINGS = {form.content_type: name for name, form in FORMATS.items()} | {"text/plain": "txt"}

TITLE_LINES = 40
"""The title may be the first heading within this number of lines."""


def body(document: Document) -> str:
    """The text of a document's note below the front matter."""
    pages = [defang(page).strip("\n") for page in document.pages]
    if not document.paged:
        return "\n\n".join(pages) + "\n"
    return "".join(
        f"{mark(number)}\n\n" + (f"{page}\n\n" if page else "")
        for number, page in enumerate(pages, 1)
    )


def title_of(document: Document, name: str) -> str:
    """A document's title: from its metadata, its first heading, or the name of its file."""
    return titles.title(document.title) or _first_heading(document.pages) or stem(name)


def stem(name: str) -> str:
    """The name of a file without its extension, as a title."""
    plain = titles.clean(PurePath(name).stem.replace("_", " "))
    return plain or "document"


def _first_heading(pages: Sequence[str]) -> str:
    first = "\n".join((pages[0] if pages else "").split("\n")[:TITLE_LINES])
    texts = (
        first[slice(*heading.title)] for heading in headings(mask(first)) if heading.level == 1
    )
    return next((title for text in texts if (title := titles.clean(inline(text)))), "")


def extension(name: str, kind: str) -> str:
    """The file extension for the stored original: no path, and not the extension of a note.

    `kind` is the content type. It applies when the file name has no extension.
    """
    suffix = re.sub(r"[^a-z0-9]", "", PurePath(name).suffix.lower())[:12]
    suffix = suffix or re.sub(r"[^a-z0-9]", "", _ENDINGS.get(kind, kind).lower())[:12] or "bin"
    return ".md.original" if suffix == "md" else f".{suffix}"
