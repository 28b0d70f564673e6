"""The request to a reader of files, and the document that the reader returns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from djinn_memory.errors import DjinnError


class ReadRequest(Struct, frozen=True):
    """A file to be read."""

    path: Path
    name: str
    """The file's name as the user knows it, for messages and front matter."""
    password: str | None = None
    ocr: str | None = None
    """The languages in which `ocrmypdf` may read pages without text, such as `deu+eng`."""


class Document(Struct, frozen=True):
    """The content of a file."""

    pages: tuple[str, ...]
    """The Markdown of each page in order; a single text for a file without pages."""
    paged: bool = False
    """Whether the file has pages that can be cited."""
    title: str | None = None
    """The title in the file's metadata, unchanged: it may hold control characters or a path."""
    author: str | None = None
    subject: str | None = None
    warnings: tuple[str, ...] = ()
    """Parts that were left out or are doubtful, one sentence each."""
    content_type: str = ""
    """The MIME type, detected from the content; `documents.read` sets it."""


class Unreadable(DjinnError):
    """A file that cannot be read. The message gives the reason and a remedy, but no file name."""


class Locked(Unreadable):
    """A file that needs a password, or a different password from the one given."""


ReportPages = Callable[[int, int | None], None]
"""Called while a file is read, with the number of pages done and their total."""

Reader = Callable[[ReadRequest, ReportPages], Document]
"""Reads files of one format. Raises `Unreadable`, or `Locked` when a password is missing."""


def no_progress(done: int, total: int | None) -> None:
    """A `ReportPages` that does nothing."""
