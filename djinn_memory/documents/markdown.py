"""Escapes plain text for use in a Markdown note."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ACTIVE = re.compile(
    r"""(?mx)
    (?P<lead> ^[ \t]*+ (?: (?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t])) [ \t]*+ )*+ )
    (?: (?P<hashes>\#{1,6}+) (?=[ \t\r]|$)   # a heading
      | (?= =[ \t]*\r?$ | -[ \t]*\r?$        # the line under a heading
          | \[(?:\\.|[^\[\]\\\n])*+\]: )     # a definition
    )
  | (?P<rule> ^[ \t>]*+ (?: =(?= =+[ \t]*\r?$) | -(?=-+[ \t]*\r?$) ) )
  | (?<=\#[ \t]) (?P<more>\#{1,6}+) (?=[ \t\r]|$)
  | (?= \[\[ | \]\(                        # links
      | %% | <!-- | \$\$                   # what readers hide, and formulas
      | <[A-Za-z/!?]                       # HTML
    )
  | (?<!`)(?=```) | (?<!~)(?=~~~)          # fences
  | (?<![^\W_])(?<!\#) (?P<tag>\#++) (?=\S)  # tags
  | (?:^|(?<=[ \t])) (?= \^[\w-]+ [ \t]* \r? $ )  # the name of a block
    """
)
"""Positions where a backslash makes the following characters plain text."""

_BAR = re.compile(r"(?<!\\)(\\*+)\|")


def escape(text: str) -> str:
    """`text` as Markdown that displays it unchanged: no heading, link, tag, comment or fence."""
    return _ACTIVE.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    lead = match["lead"] or match["rule"] or ""
    hashes = match["hashes"] or match["more"] or match["tag"] or ""
    start = match.end() - len(hashes)
    at = start
    while at > 0 and match.string[at - 1 : at] == "\\":
        at -= 1
    # A character escaped by the text itself would act again after one more backslash.
    first = "\\" * ((start - at + 1) % 2)
    # Escape each mark of a heading: a reader that skips `\#` takes `\##` for a heading.
    return lead + first + "\\".join(hashes)


def fenced(code: str, language: str = "") -> str:
    """A code block whose fence is longer than any fence inside it."""
    fence = "`" * (max(map(len, re.findall("`{3,}", code)), default=2) + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _in_cell(bar: re.Match[str]) -> str:
    return "\\" * (2 * len(bar[1]) + 1) + "|"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of plain cells as a Markdown table; the first row is the header."""
    width = max(map(len, rows), default=0)
    lines = []
    for number, row in enumerate(rows):
        cells = [_BAR.sub(_in_cell, escape(cell)) for cell in row] + [""] * (width - len(row))
        lines.append(f"| {' | '.join(cells)} |")
        if number == 0:
            lines.append("|" + " --- |" * width)
    return "\n".join(lines)
