"""A document as a note: its front matter, and its text with a mark where each page begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from djinn_memory.documents import titles
from djinn_memory.documents.document import Document
from djinn_memory.documents.kinds import TYPES
from djinn_memory.notes.markdown.headings import headings
from djinn_memory.notes.markdown.markup import mask
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.notes.pages import defang, mark

FOLDER = "documents"
"""Where in a vault djinn writes documents."""

HISTORY = f"{FOLDER}/.history"
"""Where earlier versions lie: a hidden folder, so that they answer no search."""

_ENDINGS = {content_type: kind for kind, content_type in TYPES.items()} | {
    TYPES["markdown"]: "markdown", TYPES["text"]: "txt",
}  # fmt: skip

TITLE_LINES = 40
"""Lines of a document among which its first heading may be its title."""


def body(document: Document) -> str:
    """The text of a document's note below the front matter."""
    pages = [defang(page).strip("\n") for page in document.pages]
    if not document.paged:
        return "\n\n".join(pages) + "\n"
    return "".join(
        f"{mark(number)}\n\n{page}\n\n" if page else f"{mark(number)}\n\n"
        for number, page in enumerate(pages, 1)
    )


def title_of(document: Document, name: str) -> str:
    """What a document is called: its own title if it is one, its first heading, or its file."""
    return titles.title(document.title) or _first_heading(document.pages) or stem(name)


def stem(name: str) -> str:
    """The name of a file without its extension, as a title."""
    plain = titles.clean(PurePath(name).stem.replace("_", " "))
    return plain or "document"


def _first_heading(pages: Sequence[str]) -> str:
    first = "\n".join((pages[0] if pages else "").split("\n")[:TITLE_LINES])
    found = (first[slice(*one.title)] for one in headings(mask(first)) if one.level == 1)
    return next((name for one in found if (name := titles.clean(inline(one)))), "")


def extension(name: str, kind: str) -> str:
    """What the kept original's name ends with, so that it is no note and no path.

    `kind` is the content type, for a file whose name ends in nothing.
    """
    suffix = re.sub(r"[^a-z0-9]", "", PurePath(name).suffix.lower())[:12]
    suffix = suffix or re.sub(r"[^a-z0-9]", "", _ENDINGS.get(kind, kind).lower())[:12] or "bin"
    return ".md.original" if suffix == "md" else f".{suffix}"
