"""What a reader sees of Markdown: the words without the marks."""

from __future__ import annotations

import re

_REDUCE = (
    (re.compile(r"!?\[\[(?:[^\[\]|\n]*\\?\|)?([^\[\]|\n]+)\]\]"), r"\1"),
    (re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)"), r"\1"),
    (re.compile(r"\[([^\[\]\n]+)\]\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*+)"
                r"(?: +\"[^\"\n]*\")?\)"), r"\1"),
    (re.compile(r"<!--(?:(?!<!--|-->).)*+-->|%%.*?%%", re.DOTALL), " "),
    (re.compile(r"</?[a-zA-Z][^<>\n]*>"), " "),
    (re.compile(r"(?m)^ {0,3}(?:#{1,6}[ \t]+|\[[^\[\]\n]+\]:[ \t][^\n]*$)"), ""),
    (re.compile(r"(?m)^[ \t]*(?:```|~~~)[^\n]*$"), ""),
    (re.compile(r"(?m)^[ \t]*(?:>[ \t]?)++(?:\[![\w-]+\][+-]?)?"), ""),
    (re.compile(r"(?m)(?<![ \t])[ \t]++\^[\w-]+[ \t]*$"), ""),
    (re.compile(r"\*\*|__|~~|==|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`"), ""),
    (re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+"), ""),
    (re.compile(r"(?m)^(?=[^\n]*--)[ \t:|-]+$"), ""),
)  # fmt: skip


_MARKS = "#`~=-%<$^*_[]"
_ESCAPED = re.compile(rf"\\([{re.escape(_MARKS)}])")
_ASIDE = {mark: chr(0xF0000 + ord(mark)) for mark in _MARKS}
"""What stands for a mark that a backslash makes plain, while others are taken out."""
_BACK = str.maketrans({aside: mark for mark, aside in _ASIDE.items()})


def plain(text: str) -> str:
    """`text` with links shown by their labels and emphasis, tags of HTML and fences taken out.

    Never longer than `text`; line breaks stay, so that lists and tables remain readable.
    """
    escaped = "\\" in text
    if escaped:
        text = _ESCAPED.sub(lambda found: _ASIDE[found[1]], text)
    for pattern, replacement in _REDUCE:
        text = pattern.sub(replacement, text)
    # Until here a bar in a link of a table was one with its backslash.
    return text.translate(_BACK).replace("\\|", "|") if escaped else text


def inline(text: str) -> str:
    """`text` as one line of plain words, for titles and headings."""
    return " ".join(plain(text).split())
