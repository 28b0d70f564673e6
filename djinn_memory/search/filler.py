"""Separates texts with content from texts that consist only of links and references."""

from __future__ import annotations

import re

from djinn_memory.languages.word_lists import stop_words

_FOOTNOTE = re.compile(r" {0,3}\[\^([^\[\]\n]+)\]:")
_CITED = re.compile(r"\[\^([^\[\]\n]+)\](?!:)")
_BLOCK = re.compile(r" {0,3}(?:#{1,6}[ \t]|[-*+>][ \t]|\d+[.)][ \t]|!?\[\[|```|~~~)")
"""The start of a block. It is not a continuation of a footnote."""

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_BULLET = re.compile(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(?:\[[ xX]\]\s+)?")
_CITATION = re.compile(
    r"(?:\[\d+\]\s*)?[^\W\d_][\w'’-]+,?\s(?:[^\W\d_]\.[\s-]?)+(?=[,(&\d]|and\b|et\b)"
    r".*\b(?:1[5-9]|20)\d\d\b"
)
"""The beginning of a reference in most styles: surname, initials, punctuation and a year."""

_LINK = re.compile(
    r"!?\[\[[^\[\]\n]*\]\]"
    r"|!?\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*+\](?:\((?:[^\s()]|\([^\s()]*\))*+(?:\s+\"[^\"\n]*\")?\)"
    r"|\[[^\[\]\n]*\]|:\s+\S+.*)"
    r"|\[\^[^\[\]\n]+\]|<[a-zA-Z/!][^<>\n]*>|(?:https?://|www\.)\S+"
    r"|(?<!\S)#[^\W\d][\w/-]*|\s\^[\w-]+\s*$"
)
"""Links, embeds, addresses, references to footnotes, HTML, tags and block ids."""

_LABEL = re.compile(r"[^:\n]{1,40}::?(?:\s|$)")
"""Words that label a link, such as `Source:`."""

_WORD = re.compile(r"[^\W_]+")


def is_filler(text: str) -> bool:
    """Whether a text is empty, or consists only of links, footnotes, references and headings."""
    footnote = blank = False
    for line in text.splitlines():
        if not line.strip():
            blank = True
            continue
        if _FOOTNOTE.match(line):
            footnote = True
        elif footnote and _continues(line, after_blank=blank):
            pass
        elif _says_something(line):
            return False
        else:
            footnote = False
        blank = False
    return True


def footnotes(text: str) -> set[str]:
    """The labels of the footnotes that a text defines."""
    return {match[1] for line in text.splitlines() if (match := _FOOTNOTE.match(line))}


def cited(text: str) -> set[str]:
    """The labels of the footnotes that a text refers to."""
    return set(_CITED.findall(text))


def _continues(line: str, *, after_blank: bool) -> bool:
    """Whether a line continues the footnote above it."""
    return line[0] in " \t" or not (after_blank or _BLOCK.match(line))


def _says_something(line: str) -> bool:
    line = line[_BULLET.match(line).end() :]  # type: ignore[union-attr]
    if not _WORD.search(line) or _HEADING.match(line) or _CITATION.match(line):
        return False
    rest = _LINK.sub(" ", line)
    if rest == line and not line.rstrip().endswith(":"):
        return True
    if label := _LABEL.match(rest.lstrip(" *_")):
        rest = rest.lstrip(" *_")[label.end() :]
    return not stop_words().issuperset(_WORD.findall(rest.lower()))
