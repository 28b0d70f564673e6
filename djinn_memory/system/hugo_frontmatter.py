"""Front matter in TOML (`+++`) and in JSON, as Hugo has it: read, and never edited.

The module is imported only for a note that begins with such a block, because its library takes
longer to import than a note to read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from frontmatter.default_handlers import BaseHandler, JSONHandler


class TomlHandler(BaseHandler):
    """Reads TOML with the standard library."""

    FM_BOUNDARY = re.compile(r"^\+{3}[ \t]*$", re.MULTILINE)

    def load(self, fm: str) -> dict[str, Any]:
        return tomllib.loads(fm)


class OtherBlock(NamedTuple):
    """Front matter that is not YAML."""

    format: str
    """`TOML` or `JSON`."""
    fields: Mapping[str, Any]
    """Its fields, with scalars as text."""
    body: int
    """The character offset of the text below it; 0 if the block is read as text."""
    problem: str | None = None


def read_other(text: str, most: int) -> OtherBlock | None:
    """The TOML or JSON block at the top of a text, whose line ends are `\\n`; None without one.

    A block of more than `most` characters is not read. A text that begins with braces is only
    front matter if they hold a JSON object.
    """
    toml = TomlHandler()
    name, handler = ("TOML", toml) if text.startswith("+") else ("JSON", JSONHandler())
    if not handler.detect(text):
        return None
    if len(handler.FM_BOUNDARY.split(text, 2)) < 3:
        why = "the front matter is not closed; it was read as text"
        return OtherBlock(name, {}, 0, why) if handler is toml else None
    block, content = handler.split(text)
    body = len(text) - len(content.removeprefix("\n"))
    if len(block) > most:
        why = f"the front matter is too long ({len(block):,} characters) and was not read"
        return OtherBlock(name, {}, body, why)
    try:
        return OtherBlock(name, _as_text(handler.load(block)), body)
    except (ValueError, RecursionError) as error:
        why = f"invalid front matter in TOML: {str(error)[:200]}; it was read as text"
        return OtherBlock(name, {}, 0, why) if handler is toml else None


def _as_text(value: Any) -> Any:
    """A value with its scalars as text, as they are read from YAML."""
    if isinstance(value, dict):
        return {key: _as_text(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_as_text(inner) for inner in value]
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
