"""Reduces Markdown to the words that a reader sees, without markup."""

from __future__ import annotations

import re

_REDUCE = (
    (("[[",), re.compile(r"!?\[\[(?:[^\[\]|\n]*\\?\|)?([^\[\]|\n]+)\]\]"), r"\1"),
    (("![",), re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)"), r"\1"),
    (("](",), re.compile(r"\[([^\[\]\n]+)\]\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*+)"
                r"(?: +\"[^\"\n]*\")?\)"), r"\1"),
    (("<!--", "%%"), re.compile(r"<!--(?:(?!<!--|-->).)*+-->|%%.*?%%", re.DOTALL), " "),
    (("<",), re.compile(r"</?[a-zA-Z][^<>\n]*>"), " "),
    (("#", "]:"), re.compile(r"(?m)^ {0,3}(?:#{1,6}[ \t]+|\[[^\[\]\n]+\]:[ \t][^\n]*$)"), ""),
    (("```", "~~~"), re.compile(r"(?m)^[ \t]*(?:```|~~~)[^\n]*$"), ""),
    ((">",), re.compile(r"(?m)^[ \t]*(?:>[ \t]?)++(?:\[![\w-]+\][+-]?)?"), ""),
    (("^",), re.compile(r"(?m)(?<![ \t])[ \t]++\^[\w-]+[ \t]*$"), ""),
    (("*", "_", "~~", "==", "`"),
     re.compile(r"\*\*|__|~~|==|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`"), ""),
    (("base64,",), re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+"), ""),
    (("--",), re.compile(r"(?m)^(?=[^\n]*--)[ \t:|-]+$"), ""),
)  # fmt: skip
"""Patterns and their replacements. A text without any of the listed signs needs no replacement."""

_MARKS = "#`~=-%<$^*_[]"
_ESCAPED = re.compile(rf"\\([{re.escape(_MARKS)}])")
_ASIDE = {mark: chr(0xF0000 + ord(mark)) for mark in _MARKS}
"""Placeholders for escaped marks while other marks are removed."""
_BACK = str.maketrans({aside: mark for mark, aside in _ASIDE.items()})


_MARKUP = 20
"""How many times longer than its words a text with markup is expected to be."""


def plain(text: str) -> str:
    """`text` with links replaced by their labels, and without emphasis, HTML tags and fences.

    Never longer than `text`. Line breaks stay, so that lists and tables remain readable.
    """
    escaped = "\\" in text
    if escaped:
        text = _ESCAPED.sub(lambda match: _ASIDE[match[1]], text)
    for signs, pattern, replacement in _REDUCE:
        if any(sign in text for sign in signs):
            text = pattern.sub(replacement, text)
    # Until here a bar in a table's link kept its backslash.
    return text.translate(_BACK).replace("\\|", "|") if escaped else text


def inline(text: str, most: int | None = None) -> str:
    """`text` as one line of plain words, for titles and headings; its first `most` characters.

    Of a text that is far longer, the rest is not read: the words of a heading of 20 MB take 250 MB.
    """
    if most is not None and len(text) > _MARKUP * most:
        text = text[: _MARKUP * most]
    return " ".join(plain(text).split())[:most]
