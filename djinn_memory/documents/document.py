"""What goes into a reader of files, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from djinn_memory.errors import DjinnError


class ReadRequest(Struct, frozen=True):
    """A file to be read."""

    path: Path
    name: str
    """The file's name as the user knows it, which messages and front matter carry."""
    password: str | None = None
    ocr: str | None = None
    """The languages in which `ocrmypdf` may read pages without text, such as `deu+eng`."""


class Document(Struct, frozen=True):
    """What a file holds."""

    content_type: str
    """Its MIME type, told from the content."""
    pages: tuple[str, ...]
    """Markdown for each page in order; one for all of a file without pages."""
    paged: bool = False
    """Whether the file has pages that can be cited."""
    title: str | None = None
    """What the file says of itself, as it says it: control characters, file names and all."""
    author: str | None = None
    subject: str | None = None
    warnings: tuple[str, ...] = ()
    """What was left out or is doubtful, a sentence each."""


class Unreadable(DjinnError):
    """A file that gives no document; the text says why and what would help, without its name."""


class Locked(Unreadable):
    """A file that wants a password, or another one than was given."""


Tell = Callable[[int, int | None], None]
"""Told as a reader goes on: how many pages are done, of how many."""


def no_progress(done: int, total: int | None) -> None:
    """The `Tell` of those who do not watch."""
