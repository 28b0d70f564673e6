"""Reads text and Markdown files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from djinn_memory.documents.document import Document, ReadRequest, ReportPages, Unreadable
from djinn_memory.documents.markdown import escape, fenced
from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.vault.walk import MAX_BYTES

_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-Z])")
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
"""Characters that printers struck twice for bold or underlined text."""


def read_text(request: ReadRequest, report: ReportPages) -> Document:
    """A text file with its Markdown characters escaped. Form feeds separate its pages."""
    text, warnings = _visible_text(request)
    pages = text.split("\f")
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    report(len(pages), len(pages))
    return Document(
        pages=tuple(escape(page).strip("\n") for page in pages),
        paged=len(pages) > 1,
        warnings=warnings,
    )


def read_markdown(request: ReadRequest, report: ReportPages) -> Document:
    """A Markdown file, unchanged. Its front matter gives title, author and subject.

    The front matter is kept as a block of YAML above the text.
    """
    text, warnings = _visible_text(request)
    text = text.replace("\f", "\n")
    front = frontmatter.read(text)
    fields = {key.lower(): value for key, value in front.fields.items()}
    source = "\n".join(text[: front.body].rstrip("\n").split("\n")[1:-1])
    body = text[front.body :].strip("\n")
    if source.strip():
        body = f"{fenced(source, 'yaml')}\n\n{body}".rstrip("\n")
    report(1, 1)
    return Document(
        pages=(body,),
        title=_first(fields, "title"),
        author=_first(fields, "author", "authors", "creator"),
        subject=_first(fields, "subject", "description", "summary"),
        warnings=warnings,
    )


def decoded_file(request: ReadRequest) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and a warning if its encoding is doubtful."""
    size = request.path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(f"has {size:,} bytes of text, too many for one note; split the file")
    text, remark = decode(request.path.read_bytes())
    if not text.strip():
        raise Unreadable("has no text")
    return text, (remark,) if remark else ()


def _visible_text(request: ReadRequest) -> tuple[str, tuple[str, ...]]:
    text, warnings = decoded_file(request)
    text = _CONTROL.sub("", _OVERSTRUCK.sub("", _ANSI.sub("", text.replace("\v", "\n"))))
    if not text.strip():
        raise Unreadable("has no text")
    return text, warnings


def _first(fields: Mapping[str, Any], *keys: str) -> str | None:
    """The first of the fields that holds text. Several texts are joined with commas."""
    for key in keys:
        value = fields.get(key)
        values = value if isinstance(value, list) else [value]
        words = [text for text in values if isinstance(text, str) and text.strip()]
        if words:
            return ", ".join(words)
    return None
