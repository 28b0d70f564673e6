"""Text and Markdown files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from djinn_memory.documents.document import Document, ReadRequest, Tell, Unreadable
from djinn_memory.documents.kinds import Kind
from djinn_memory.documents.markdown import escape, fenced
from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.vault.walk import MAX_BYTES

_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-Z])")
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
"""What printers wrote twice, to be bold or underlined."""


def read_text(order: ReadRequest, kind: Kind, tell: Tell) -> Document:
    """A text file; form feeds in it part its pages. What would act as Markdown is escaped."""
    text, warnings = _text(order)
    pages = text.split("\f")
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    tell(len(pages), len(pages))
    return Document(
        content_type=kind.content_type,
        pages=tuple(escape(page).strip("\n") for page in pages),
        paged=len(pages) > 1,
        warnings=warnings,
    )


def read_markdown(order: ReadRequest, kind: Kind, tell: Tell) -> Document:
    """A Markdown file as it stands; its front matter gives title, author and subject.

    What else stands there is kept as a block of YAML above the text.
    """
    text, warnings = _text(order)
    text = text.replace("\f", "\n")
    front = frontmatter.read(text)
    fields = {key.lower(): value for key, value in front.fields.items()}
    source = "\n".join(text[: front.body].rstrip("\n").split("\n")[1:-1])
    body = text[front.body :].strip("\n")
    if source.strip():
        body = f"{fenced(source, 'yaml')}\n\n{body}".rstrip("\n")
    tell(1, 1)
    return Document(
        content_type=kind.content_type,
        pages=(body,),
        title=_first(fields, "title"),
        author=_first(fields, "author", "authors", "creator"),
        subject=_first(fields, "subject", "description", "summary"),
        warnings=warnings,
    )


def _text(order: ReadRequest) -> tuple[str, tuple[str, ...]]:
    size = order.path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(f"has {size:,} bytes of text, too much for a note; split it")
    text, remark = decode(order.path.read_bytes())
    text = _CONTROL.sub("", _OVERSTRUCK.sub("", _ANSI.sub("", text.replace("\v", "\n"))))
    if not text.strip():
        raise Unreadable("has no text")
    return text, (remark,) if remark else ()


def _first(fields: Mapping[str, Any], *keys: str) -> str | None:
    for key in keys:
        value = fields.get(key)
        listed = value if isinstance(value, list) else [value]
        words = [one for one in listed if isinstance(one, str) and one.strip()]
        if words:
            return ", ".join(words)
    return None
