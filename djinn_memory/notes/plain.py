"""What a reader sees of Markdown: the words without the marks."""

from __future__ import annotations

import re

_REDUCE = (
    (re.compile(r"!?\[\[(?:[^\[\]|\n]*\\?\|)?([^\[\]|\n]+)\]\]"), r"\1"),
    (re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)"), r"\1"),
    (re.compile(r"\[([^\[\]\n]+)\]\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)"
                r"(?: +\"[^\"\n]*\")?\)"), r"\1"),
    (re.compile(r"<!--(?:(?!<!--|-->).)*+-->|%%.*?%%", re.DOTALL), " "),
    (re.compile(r"</?[a-zA-Z][^<>\n]*>"), " "),
    (re.compile(r"(?m)^ {0,3}(?:#{1,6}[ \t]+|\[[^\]\n]+\]:[ \t][^\n]*$)"), ""),
    (re.compile(r"(?m)^[ \t]*(?:```|~~~)[^\n]*$"), ""),
    (re.compile(r"(?m)^[ \t]*(?:>[ \t]?)+(?:\[![\w-]+\][+-]?)?"), ""),
    (re.compile(r"(?m)(?<![ \t])[ \t]++\^[\w-]+[ \t]*$"), ""),
    (re.compile(r"\*\*|__|~~|==|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`"), ""),
    (re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+"), ""),
    (re.compile(r"(?m)^(?=[^\n]*--)[ \t:|-]+$"), ""),
)  # fmt: skip


def plain(text: str) -> str:
    """`text` with links shown by their labels and emphasis, tags of HTML and fences taken out.

    Never longer than `text`; line breaks stay, so that lists and tables remain readable.
    """
    for pattern, replacement in _REDUCE:
        text = pattern.sub(replacement, text)
    return text


def inline(text: str) -> str:
    """`text` as one line of plain words, for titles and headings."""
    return " ".join(plain(text).split())
