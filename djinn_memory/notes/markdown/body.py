"""Reads and changes a note's text below the front matter. The front matter does not change."""

from __future__ import annotations

from djinn_memory.notes.encoding import decode
from djinn_memory.notes.frontmatter import block_end, opened
from djinn_memory.system.yaml_edit import line_end


def text_of(data: bytes) -> str:
    """The text of a note's file, without its front matter."""
    text = decode(data)[0]
    return text[block_end(text) :]


def append(data: bytes, text: str) -> bytes:
    """The note's bytes with a paragraph appended; `Refused` unless the note is UTF-8 or UTF-16."""
    bom, encoding, before = opened(data)
    newline = line_end(before)
    gap = newline * 2 if before[block_end(before) :].strip() else ""
    after = f"{before.rstrip()}{gap or newline}{_lines(text, newline)}"
    return bom + after.encode(encoding)


def replace(data: bytes, text: str) -> bytes:
    """The note's bytes with a different text; `Refused` unless the note is UTF-8 or UTF-16."""
    bom, encoding, before = opened(data)
    newline = line_end(before)
    head = before[: block_end(before)]
    # A file may end with its front matter, without a line end.
    head += newline if head and head[-1] not in "\r\n" else ""
    return bom + f"{head}{_lines(text, newline)}".encode(encoding)


def _lines(text: str, newline: str) -> str:
    return newline.join([*text.rstrip().split("\n"), ""])
