"""The parts of a note that are plain text, in which words may become a link."""

from __future__ import annotations

import re
from collections.abc import Iterator

from djinn_memory.notes import frontmatter
from djinn_memory.notes.dialects.rules import DialectRules, Span
from djinn_memory.notes.markdown import blank, headings, mask
from djinn_memory.system.expressions import expression

_QUOTED = expression(
    r"""
    ^[ \t]* (?: (?:[-*+]|\d{1,9}[.)]) [ \t]+ )*+ > [^\n]*+
    (?: \n (?![ \t]*(?:[-*+\#|]|\d{1,9}[.)]|\n|\Z)) [^\n]++ )*+
    """,
    re.VERBOSE | re.MULTILINE,
)
"""A quotation: lines with `>`, and lines that continue its paragraph."""

_ELEMENT = expression(
    r"<(?P<tag>[A-Za-z][\w-]*)\b[^<>\n]*+(?<!/)>(?:(?!\n[ \t]*\n).){0,2000}?</(?P=tag)[ \t]*>",
    re.DOTALL,
)
"""An element of HTML in a paragraph, with its content."""

_TAKEN = expression(
    r"""
    ^[ \t]* (?: [-*+][ \t]+ )?+ (?: [\w-]+:: | \#{1,6}[ \t] | \[[^\[\]\n]+\]:[ \t] ) [^\n]*+
  | !?\[\[[^\[\]\n]*\]\] (?: \([^()\n]*\) )?+
  | !?\[ (?: [^\[\]\n]++ | \n(?![ \t]*\n) | \[[^\[\]\n]*\] )*+ \]
    (?: \( [^()\n]*+ (?: \([^()\n]*\)[^()\n]*+ )*+ \) | \[[^\[\]\n]*\] )?+
  | \{(?: \{ (?: [^}\n] | \}(?!\}) | \n(?![ \t]*\n) ){0,2000}+ \}
      | % (?: [^%\n] | %(?!\}) | \n(?![ \t]*\n) ){0,2000}+ % )\}
  | <[^<>\s]++>
  | (?: \b[A-Za-z][A-Za-z0-9+.-]*+:// | \bwww\. | \bmailto: ) [^\s<>]*+
  | [\w.+-]++@[\w-]++(?:\.[\w-]++)*+
  | (?<![^\s(,;])\#[^\s#]++
  | (?<=\s)\^[\w-]++[ \t]*$
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Properties, headings of an outline and definitions; links of any syntax, macros, Liquid,
addresses, tags and block ids."""

_PARAGRAPH = expression(
    r"""
    ^ (?: (?! [ \t]* (?:[-*+>\#|=]|\d{1,9}[.)]|$) ) [^\n]++ \n )++
    (?P<underline> [ ]{0,3} (?:=++|-++) [ \t]* $ )?+
    """,
    re.VERBOSE | re.MULTILINE,
)
"""A paragraph, and the line below it that makes it a heading of one line or more."""

_SPEECH = expression(
    "|".join(
        rf"{opens}(?:[^{closes}\n]|\n(?![ \t]*\n))*+[{closes}]"
        for opens, closes in (
            ("“", "”"),
            ("„", "“”"),
            ("«", "»"),
            ("»", "«"),
            ("「", "」"),
            (r"(?<!\w)”", "”"),
            (r'(?<!\w)"', '"'),
        )
    )
)
"""A text in quotation marks. Their kinds are those of English, German, French, Danish, Japanese and
Swedish."""


def plain_text(text: str, rules: DialectRules) -> str:
    """`text`, a note with `\\n` line ends, with a space for each character that is not plain text.

    Front matter, code, links, headings, quotations, comments, HTML and addresses are no plain text.
    Offsets and lines are those of `text`.
    """
    body = rules.front(text, frontmatter.read(text)).body
    written = text[body:]
    prose = mask(written, outline=rules.outline)
    shown = ((heading.opens, heading.start) for heading in headings(prose))
    for spans in (_hidden(prose, rules), shown):
        prose = blank(prose, spans)
    paragraphs = (match.span() for match in _PARAGRAPH.finditer(prose) if match["underline"])
    prose = blank(prose, paragraphs)
    for pattern in (_QUOTED, _TAKEN):
        prose = blank(prose, (match.span() for match in pattern.finditer(prose)))
    if "</" in written:
        # The tags of the elements are masked already.
        prose = blank(prose, (match.span() for match in _ELEMENT.finditer(written)))
    return blank(text[:body], [(0, body)]) + prose


def _hidden(prose: str, rules: DialectRules) -> Iterator[Span]:
    spans = [*rules.hidden(prose)]
    spans += [match.span() for match in rules.unread.finditer(prose)] if rules.unread else []
    end = 0
    for start, stop in sorted(spans):
        if stop > end:
            yield max(start, end), stop
            end = stop


def quotations(prose: str) -> Iterator[Span]:
    """The spans of the texts in quotation marks, without the marks."""
    return ((match.start() + 1, match.end() - 1) for match in _SPEECH.finditer(prose))


def is_table_row(text: str, start: int) -> bool:
    """Whether an offset in a text lies in the row of a table, in which `|` separates cells."""
    if "|" not in text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]:
        return False
    lines, line = text.split("\n"), text.count("\n", 0, start)
    above = line
    while above and "|" in lines[above - 1]:
        above -= 1
    delimiter = lines[above + 1] if above + 1 < len(lines) else ""
    return bool(re.fullmatch(r"[ \t|:>-]*-[ \t|:>-]*", delimiter))
