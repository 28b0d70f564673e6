"""Makes text that is no Markdown safe to stand in a note."""

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
"""Where a backslash makes what follows plain."""

_BAR = re.compile(r"(?<!\\)(\\*+)\|")


def escape(text: str) -> str:
    """`text` as Markdown that shows it: no heading, link, tag, block, comment or fence acts."""
    return _ACTIVE.sub(_plain, text)


def _plain(found: re.Match[str]) -> str:
    lead = found["lead"] or found["rule"] or ""
    hashes = found["hashes"] or found["more"] or found["tag"] or ""
    start = found.end() - len(hashes)
    at = start
    while at > 0 and found.string[at - 1 : at] == "\\":
        at -= 1
    # What a backslash of the text's own makes plain already, another would make act.
    first = "\\" * ((start - at + 1) % 2)
    # Each mark of a heading: `\##` would be a heading again to those who look past `\#`.
    return lead + first + "\\".join(hashes)


def fenced(code: str, language: str = "") -> str:
    """A block of code, whose fence is longer than any in it."""
    fence = "`" * (max(map(len, re.findall("`{3,}", code)), default=2) + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _in_cell(bar: re.Match[str]) -> str:
    return "\\" * (2 * len(bar[1]) + 1) + "|"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Lines of plain cells as a Markdown table whose first row is its head."""
    width = max(map(len, rows), default=0)
    lines = []
    for number, row in enumerate(rows):
        cells = [_BAR.sub(_in_cell, escape(cell)) for cell in row] + [""] * (width - len(row))
        lines.append(f"| {' | '.join(cells)} |")
        if number == 0:
            lines.append("|" + " --- |" * width)
    return "\n".join(lines)
