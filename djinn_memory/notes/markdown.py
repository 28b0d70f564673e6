"""Reads Markdown: its headings, its prose apart from code and HTML, and the words a reader sees."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from djinn_memory.system.expressions import expression

Kind = Literal["prose", "fence", "aside"]

# Deeper containers than this are read as text, so that a line of a thousand ">" stays cheap.
_DEEPEST = 32
# A code block is indented by four columns, so nothing else may begin that far in.
_CODE_INDENT = 4

_MARKER = expression(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t\r]|$)")
_SPACE = expression(r"[ \t\r]+")
# The three line patterns are possessive, because backtracking costs 100 bytes a line.
# Lines outside of containers whose first character opens no block.
_PLAIN_LINES = expression(r"(?:(?!```)[^\s>+*\d~<%$#|=_-][^\n]*+\n)++")
# Headings and table rows outside of containers that can hold nothing but prose.
_QUIET_LINES = expression(r"(?:(?:#{1,6}(?=[ \t\r\n])|\|)[^\n`$%<\\]*+\n)++")
_BLANK_LINES = expression(r"(?:[ \t\r]*+\n)++")
# Headings, table rows, rules and underlines: a code span never continues past their line.
_ALONE = expression(r"#{1,6}(?=[ \t\r]|$)|\||[-=*_][-=*_ \t\r]*$")

# The names that CommonMark lets an HTML block begin with, even in the middle of a paragraph.
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details"
    "|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header"
    "|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param"
    "|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_TAG = r"""
    < (?: /[A-Za-z][A-Za-z0-9-]*+ \s*+ >
        | [A-Za-z][A-Za-z0-9-]*+
          (?: \s++ [A-Za-z_:][\w.:-]*+
              (?: \s*+ = \s*+ (?: [^\s"'=<>`]++ | '[^']*+' | "[^"]*+" ) )?+ )*+
          \s*+ /? > )
"""
_OPENER = expression(
    rf"""
    (?P<fence> `{{3,}} (?= [^`]*$ ) | ~{{3,}} )
  | (?P<comment> <!(?=--) ) | (?P<hidden> %% ) | (?P<maths> \$\$ )
  | (?P<raw> (?= <(?:script|pre|style|textarea)(?:[\s>]|$) ) )
  | (?P<html> (?= </?(?:{_BLOCK_TAGS})(?:[\s/>]|$) ) )
  | (?P<tag> (?= {_TAG} [ \t\r]*$ ) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BLANK = expression(r"[ \t\r]*$")
_CLOSER = {
    "comment": expression(r".*?-->"),
    "hidden": expression(r".*?%%"),
    "maths": expression(r".*?\$\$"),
    "raw": expression(r".*?</(?:script|pre|style|textarea)>.*", re.IGNORECASE),
    "html": _BLANK,
    "tag": _BLANK,
}

_INLINE = expression(
    rf"""
    (?P<link> \[\[ [^\[\]\n]* \]\]  |  \]\( [ \t]* (?: <[^<>\n]*> | [^\s<>()]* ) )
  | (?P<dead> \\[!-/:-@\[-`{{-~]
            | \$ (?![\s$]) (?: [^$\\\n] | \\. )*+ (?<!\s) \$ (?!\d)
            | {_TAG} )
  | (?P<code> `+ )
  | (?P<pair> <!(?=--) | %% | \$\$ )
    """,
    re.VERBOSE,
)
_PAIRS = {"<!": "-->", "%%": "%%", "$$": "$$"}
# Without these, all of a text is prose. Many short texts are, so that no block is looked for.
_MARKUP = expression(r"[`~$%<\\\t]|[ \r]{4}")
_TICKS = expression(r"`+")
_SHOWN = expression(r"[^\r\n]")


def mask(text: str, *, outline: bool = False) -> str:
    """Return `text` with a space for every character that is not prose. Newlines stay.

    Offsets and line numbers are those of `text`. A wikilink and the address of a Markdown link stay
    whole, so a `$` in a note's name does not start maths. In an `outline`, as Logseq writes it,
    indentation does not mean code, and only its closing line ends a fence.
    """
    return blank(text, _dead_spans(text, outline)) if _MARKUP.search(text) else text


def blank(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return `text` with spaces in `spans`, which are in order. Newlines stay."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += text[done:start], _blank_out(text[start:end])
        done = end
    parts.append(text[done:])
    return "".join(parts)


def code_blocks(text: str, *, outline: bool = False) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of fenced code blocks, in order; see `mask` for `outline`.

    A block runs from its first backtick or tilde to the end of its closing line, newline excluded.
    """
    if "```" not in text and "~~~" not in text:
        return []
    return [(start, end) for kind, start, end in _blocks(text, outline) if kind == "fence"]


def _blank_out(text: str) -> str:
    return _SHOWN.sub(" ", text) if "\n" in text or "\r" in text else " " * len(text)


def _dead_spans(text: str, outline: bool) -> Iterator[tuple[int, int]]:
    for kind, start, end in _blocks(text, outline):
        if kind == "prose":
            yield from _inline(text, start, end)
        else:
            yield start, end


class _Line(NamedTuple):
    """A line after the markers of its containers: the start and the end of its own text."""

    at: int
    end: int
    column: int
    base: int  # the column at which its innermost container's text begins
    depth: int  # how many of the open containers it continues

    @property
    def indent(self) -> int:
        return self.column - self.base

    @property
    def blank(self) -> bool:
        return self.at == self.end


def _blocks(text: str, outline: bool) -> Iterator[tuple[Kind, int, int]]:
    """Yield, in order, blocks that are not prose and runs of prose that inline markup can span."""
    nest: list[int] = []  # open containers: a list item's indent, or 0 for a block quote
    # An outliner's code may stand further left than its item. Holds fences that nothing closes.
    unclosed: set[str] | None = set() if outline else None
    prose = pos = 0  # text[prose:pos] is prose not yet yielded
    while pos < len(text):
        if not nest and (plain := _PLAIN_LINES.match(text, pos)):
            pos = plain.end()
            continue
        if not nest and (quiet := _QUIET_LINES.match(text, pos)):
            if prose < pos:
                yield "prose", prose, pos
            pos = prose = quiet.end()
            continue
        line = before = _continue(text, pos, nest)
        line, fresh = (line, False) if line.blank else _open_containers(text, line, nest)
        # A line of code cannot follow a line of a paragraph: it continues the paragraph.
        paragraph = prose < pos and line.depth <= before.depth
        if prose < pos and (fresh or line.blank):
            yield "prose", prose, pos
            prose = pos
        if line.blank:
            pos = prose = _after_blank_lines(text, line, nest)
        elif block := _opened(text, line, interrupts=prose < pos):
            if prose < line.at:
                yield "prose", prose, line.at
            end = _block_end(text, line, nest, block, unclosed)
            yield "fence" if block.lastgroup == "fence" else "aside", line.at, end
            prose, pos = end, _next_line(text, end)
            if not text[prose:pos].strip():
                prose = pos
        elif line.indent >= _CODE_INDENT and not (paragraph or outline):
            if prose < line.at:
                yield "prose", prose, line.at
            yield "aside", line.at, line.end
            pos = prose = _next_line(text, line.end)
        elif _ALONE.match(text, line.at, line.end):
            if prose < pos:
                yield "prose", prose, pos
            prose, pos = pos, _next_line(text, line.end)
            yield "prose", prose, pos
            prose = pos
        else:
            pos = _next_line(text, line.end)
    if prose < pos:
        yield "prose", prose, pos


def _next_line(text: str, pos: int) -> int:
    return text.find("\n", pos) + 1 or len(text)


def _after_blank_lines(text: str, line: _Line, nest: list[int]) -> int:
    del nest[line.depth :]
    after = _next_line(text, line.end)
    blank = _BLANK_LINES.match(text, after) if 0 not in nest else None
    return blank.end() if blank else after


def _skip_space(text: str, pos: int, end: int, column: int) -> tuple[int, int]:
    if pos == end or not (match := _SPACE.match(text, pos, end)):
        return pos, column
    space, lead = match.group(), column % 4
    width = len((" " * lead + space).expandtabs(4)) - lead if "\t" in space else len(space)
    return match.end(), column + width


def _continue(text: str, pos: int, nest: list[int]) -> _Line:
    """Skip the markers of the containers in `nest` that the line at `pos` continues."""
    end = text.find("\n", pos)
    end = len(text) if end < 0 else end
    base = depth = 0
    at, column = _skip_space(text, pos, end, 0)
    for indent in nest:
        if indent:
            if at < end and column - base < indent:
                break
            base += indent
        else:
            if column - base >= _CODE_INDENT or text[at : at + 1] != ">":
                break
            at, column, base = _past_quote_mark(text, at, end, column)
        depth += 1
    return _Line(at, end, column, base, depth)


def _past_quote_mark(text: str, at: int, end: int, column: int) -> tuple[int, int, int]:
    at, after = _skip_space(text, at + 1, end, column + 1)
    return at, after, column + (2 if after > column + 1 else 1)


def _open_containers(text: str, line: _Line, nest: list[int]) -> tuple[_Line, bool]:
    """Close the containers that the line leaves, and open the containers that it begins."""
    fresh = line.depth < len(nest)
    del nest[line.depth :]
    at, end, column, base, _ = line
    while column - base < _CODE_INDENT and len(nest) < _DEEPEST:
        if text[at : at + 1] == ">":
            nest.append(0)
            at, column, base = _past_quote_mark(text, at, end, column)
        elif marker := _MARKER.match(text, at, end):
            after_marker = column + len(marker.group())
            at, column = _skip_space(text, marker.end(), end, after_marker)
            empty_or_code = at == end or column - after_marker > _CODE_INDENT
            inner = after_marker + 1 if empty_or_code else column
            nest.append(inner - base)
            base = inner
        else:
            break
        fresh = True
    return _Line(at, end, column, base, len(nest)), fresh


def _opened(text: str, line: _Line, *, interrupts: bool) -> re.Match[str] | None:
    """Return the match of the block that begins at the line, or None."""
    opener = _OPENER.match(text, line.at, line.end) if line.indent < _CODE_INDENT else None
    if not opener:
        return None
    kind = opener.lastgroup
    if kind == "tag" and interrupts:
        return None
    # Both marks open and close, so a mark without a partner is a slip and hides nothing.
    if kind in ("hidden", "maths") and text.find(opener.group(), opener.end()) < 0:
        return None
    return opener


def _block_end(
    text: str, line: _Line, nest: list[int], opener: re.Match[str], unclosed: set[str] | None
) -> int:
    """Return the end of the block: its closing line, the end of its container, or of the text."""
    kind = opener.lastgroup or ""
    fence = kind == "fence"
    mark = opener.group()
    closer = re.compile(rf"{mark[0]}{{{len(mark)},}}[ \t\r]*$") if fence else _CLOSER[kind]
    closing = closer.match(text, opener.end(), line.end)
    end = line.end
    while not closing and end + 1 < len(text):
        line = _continue(text, end + 1, nest)
        if line.depth < len(nest):
            if fence and unclosed is not None and mark not in unclosed:
                closer = re.compile(rf"(?m)^[ \t]*{closer.pattern}")
                closing = closer.search(text, end)
                unclosed |= set() if closing else {mark}
            break
        end = line.end
        if not fence or line.indent < _CODE_INDENT:
            closing = closer.match(text, line.at, line.end)
    return closing.end() if closing else end


def _inline(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans in a run of prose that are not prose. Of overlapping spans the first wins."""
    ticks: defaultdict[int, list[int]] | None = None
    absent: set[str] = set()  # closers that do not occur again in this run
    pos = start
    while match := _INLINE.search(text, pos, end):
        pos = match.end()
        close = -1
        if match.lastgroup == "dead":
            close = pos
        elif match.lastgroup == "code":
            ticks = _tick_runs(text, start, end) if ticks is None else ticks
            runs = ticks[len(match.group())]
            later = bisect_left(runs, pos)
            close = runs[later] + len(match.group()) if later < len(runs) else -1
        elif match.lastgroup == "pair" and (closer := _PAIRS[match.group()]) not in absent:
            close = text.find(closer, pos, end)
            if close < 0:
                absent.add(closer)
            else:
                close += len(closer)
        if close >= 0:
            yield match.start(), close
            pos = close


def _tick_runs(text: str, start: int, end: int) -> defaultdict[int, list[int]]:
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for run in _TICKS.finditer(text, start, end):
        runs[len(run.group())].append(run.start())
    return runs


_HEADING = expression(
    r"\n {0,3}+(?:(?P<marks>#{1,6}+)(?![^ \t\n])[ \t]*+|(?P<line>={2,}+|-{2,}+)[ \t]*+(?=\n|\Z))"
)
_MARKED = expression(r"[ \t]*+(?:[-*+>#|]|\d{1,9}[.)])")
_CLOSING = expression(r"(?:^|(?<=[ \t]))#+\Z")


class Heading(NamedTuple):
    """A heading. `opens` is the offset of its first line, `start` that of the text below it."""

    level: int
    title: tuple[int, int]
    """The span of its words, without the marks. Empty for a heading without words."""
    opens: int
    start: int


def headings(text: str, body: int = 0) -> Iterator[Heading]:
    """Yield the ATX and one-line setext headings of `text` from offset `body` on.

    Code is not recognised: pass `mask(text)`, or skip the spans of `code_blocks`.
    """
    # With a newline before the first line too, the search leaps from newline to newline.
    lines = "\n" + text[body:]
    last_end = 0  # the line after front matter or a heading needs no blank line before it
    for match in _HEADING.finditer(lines):
        end = lines.find("\n", match.end())
        end = len(lines) if end < 0 else end
        if match["marks"]:
            level, opens = len(match["marks"]), match.start() + 1
            title = _trimmed(lines, match.end(), end)
        else:
            level = 1 if match["line"][0] == "=" else 2
            opens = lines.rfind("\n", 0, match.start()) + 1
            before = lines.rfind("\n", 0, max(opens - 1, 0)) + 1
            alone = opens - 1 == last_end or not lines[before:opens].strip()
            if not alone or _MARKED.match(lines, opens) or not lines[opens : match.start()].strip():
                continue
            title = (opens, match.start())
        last_end = end
        shift = body - 1
        start = min(end + 1, len(lines)) + shift
        yield Heading(level, (title[0] + shift, title[1] + shift), opens + shift, start)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span of an ATX heading's words, without any closing `#`."""
    words = text[start:end].rstrip(" \t")
    words = _CLOSING.sub("", words).rstrip(" \t")
    return start, start + len(words)


_REDUCE = (
    (("[[",), expression(r"!?\[\[(?:[^\[\]|\n]*\\?\|)?([^\[\]|\n]+)\]\]"), r"\1"),
    (("![",), expression(r"!\[([^\[\]\n]*)\]\([^()\n]*\)"), r"\1"),
    (("](",), expression(r"\[([^\[\]\n]+)\]\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*+)"
                r"(?: +\"[^\"\n]*\")?\)"), r"\1"),
    (("<!--", "%%"), expression(r"<!--(?:(?!<!--|-->).)*+-->|%%.*?%%", re.DOTALL), " "),
    (("<",), expression(r"</?[a-zA-Z][^<>\n]*>"), " "),
    (("#", "]:"), expression(r"(?m)^ {0,3}(?:#{1,6}[ \t]+|\[[^\[\]\n]+\]:[ \t][^\n]*$)"), ""),
    (("```", "~~~"), expression(r"(?m)^[ \t]*(?:```|~~~)[^\n]*$"), ""),
    ((">",), expression(r"(?m)^[ \t]*(?:>[ \t]?)++(?:\[![\w-]+\][+-]?)?"), ""),
    (("^",), expression(r"(?m)(?<![ \t])[ \t]++\^[\w-]+[ \t]*$"), ""),
    (("*", "_", "~~", "==", "`"),
     expression(r"\*\*|__|~~|==|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`"), ""),
    (("base64,",), expression(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+"), ""),
    (("--",), expression(r"(?m)^(?=[^\n]*--)[ \t:|-]+$"), ""),
)  # fmt: skip
"""Patterns and their replacements. A text without any of the listed signs needs no replacement."""

_MARKS = "#`~=-%<$^*_[]"
_ESCAPED = expression(rf"\\([{re.escape(_MARKS)}])")
_ASIDE = {mark: chr(0xF0000 + ord(mark)) for mark in _MARKS}
"""Placeholders for escaped marks while other marks are removed."""
_BACK = str.maketrans({aside: mark for mark, aside in _ASIDE.items()})


_LONGEST_MARKUP = 20
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
    if most is not None and len(text) > _LONGEST_MARKUP * most:
        text = text[: _LONGEST_MARKUP * most]
    return " ".join(plain(text).split())[:most]
