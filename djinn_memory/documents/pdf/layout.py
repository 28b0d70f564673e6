"""Formats the lines of a page as Markdown: headings, paragraphs, lists, tables, broken words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.documents.markdown import escape
from djinn_memory.documents.pdf.lines import TextLine, plain

MAX_HEADING = 150
"""Maximum number of characters in a heading: a longer line is prose in large letters."""

MOST_LINES = 3
"""Maximum number of lines in a heading."""

FEW_HEADINGS = 3
"""If a page has more headings than this and little other text, its body text is set large, and none
of them is a heading."""

_LEVELS = ((1.7, 1), (1.35, 2), (1.15, 3))
"""Minimum text size, relative to the body text, for each heading level. A bold line is level 4."""

COMMON = 0.25
"""Minimum share of text that has the body's size. An OCR layer gives each line its own size."""

_BULLET = re.compile(r"[•◦▪▫●○■□◆◇‣⁃∙➢➤►▶✓✔❖\uf000-\uf0ff·o–—*-](?:\s+|$)")
_TYPED = "·o–—*-"
"""Characters that are not always bullets: they mark a list only from two list items on."""

_LEADERS = re.compile(r"(?:[ \t]*[.·…_]){5,}[ \t]*")
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_BROKEN = re.compile(r"(\w*[^\W\d_])[-\u00ad\u2010]$")
_GOES_ON = re.compile(r"[^\W\d_]\w*")
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")


class Table(Struct, frozen=True):
    """A table in Markdown, and the area of the page that it covers."""

    markdown: str
    left: float
    right: float
    bottom: float
    top: float

    def holds(self, line: TextLine) -> bool:
        """Whether a line of the page lies inside the table."""
        middle = (line.left + line.right) / 2
        return self.left <= middle <= self.right and self.bottom <= line.base <= self.top


class Layout(Struct):
    """The text sizes and hyphenated words of a document, collected page by page."""

    sizes: Counter[float] = field(default_factory=Counter)
    """The number of characters in each size."""
    words: set[str] = field(default_factory=set)
    """Hyphenated words that appear unbroken somewhere in the document."""

    def learn(self, pages: Iterable[Sequence[TextLine]]) -> None:
        """Collect sizes and words from pages before they are formatted."""
        for page in pages:
            for line in page:
                self.sizes[line.size] += len(line.text)
                self.words.update(re.findall(r"\w+-\w+", line.text.lower()))

    @property
    def body(self) -> float:
        """The size of most text, or 0 when no size is common."""
        size, count = self.sizes.most_common(1)[0] if self.sizes else (0.0, 0)
        return size if count >= COMMON * self.sizes.total() else 0.0

    def markdown(
        self,
        lines: Sequence[TextLine],
        tables: Sequence[Table] = (),
        outline: Mapping[str, int] | None = None,
    ) -> str:
        """A page as Markdown. `outline` gives the level of headings by their `heading_key`."""
        lines = _whole_bullets(lines, tables)
        marks = _bullets(lines)
        parts = _parts(lines, tables, self, outline or {})
        texts = (_render(part, self.words, marks) for part in parts if part.lines)
        return "\n\n".join(text for text in texts if text)


class _Part(Struct):
    """A block of lines between blank lines."""

    lines: list[str]
    level: int = 0
    verbatim: bool = False


def heading_key(text: str) -> str:
    """The letters and digits of a heading, by which headings are compared."""
    return re.sub(r"[\W_]+", "", text.lower())


def join_broken_words(
    pages: Sequence[list[TextLine]], tables: Sequence[Sequence[Table]], words: set[str]
) -> None:
    """Join words that are broken at the end of a page. The whole word moves to the first page."""
    for at, (page, after) in enumerate(pairwise(pages)):
        joined = _join(page[-1].text, after[0].text, words) if page and after else None
        in_table = joined and (
            any(table.holds(page[-1]) for table in tables[at])
            or any(table.holds(after[0]) for table in tables[at + 1])
        )
        if joined and not in_table:
            page[-1] = replace(page[-1], text=joined[0])
            after[:1] = [replace(after[0], text=joined[1])] if joined[1] else []


def _parts(
    lines: Sequence[TextLine], tables: Sequence[Table], layout: Layout, outline: Mapping[str, int]
) -> Iterator[_Part]:
    waiting = list(tables)
    prose = [line for line in lines if not any(table.holds(line) for table in tables)]
    leading = _leading(prose)
    levels = dict(zip(map(id, prose), _headings(prose, layout.body, outline), strict=True))
    part = _Part([])
    above: TextLine | None = None
    for line in lines:
        level = levels.get(id(line))
        due = [table for table in waiting if table.holds(line) or _passed(table, above, line)]
        if due or level is None:
            yield part
            yield from (_Part([table.markdown], verbatim=True) for table in due)
            waiting = [table for table in waiting if table not in due]
            part, above = _Part([]), None
        if level is None:
            continue
        if above and (level != part.level or _apart(above, line, leading, heading=bool(level))):
            yield part
            part = _Part([])
        part.level = level
        part.lines.append(line.text)
        above = line
    yield part


def _passed(table: Table, above: TextLine | None, line: TextLine) -> bool:
    """Whether the page shows a table between two lines. The file may draw the table later."""
    between = above is not None and above.base > table.top and line.base < table.bottom
    return between and line.left < table.right and table.left < line.right


def _headings(lines: Sequence[TextLine], body: float, outline: Mapping[str, int]) -> list[int]:
    """The heading level of each line, 0 for text.

    When half the text of a page would be headings, only bookmarks determine headings.
    """
    levels = [_level(line, body) for line in lines]
    for at, line in enumerate(lines):
        # A bold line is a heading if no bold line is next to it: a paragraph may be bold as well.
        if levels[at] == len(_LEVELS) + 1:
            above, below = lines[at - 1 : at], lines[at + 1 : at + 2]
            if any(near.bold and near.size == line.size for near in (*above, *below)):
                levels[at] = 0
    large = [len(line.text) for line, level in zip(lines, levels, strict=True) if level]
    if len(large) > FEW_HEADINGS and 2 * sum(large) > sum(len(line.text) for line in lines):
        levels = [0] * len(lines)
    for at, level in _bookmarked(lines, outline):
        levels[at] = level
    return levels


def _bookmarked(lines: Sequence[TextLine], outline: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """The lines that bookmarks lead to, and their levels.

    When several lines match a bookmark, the largest is taken.
    """
    spans: dict[str, tuple[int, int]] = {}
    keys = [heading_key(line.text) for line in lines] if outline else []
    for at, line in enumerate(lines if outline else ()):
        for stop in range(at + 1, min(at + MOST_LINES, len(lines)) + 1):
            key = "".join(keys[at:stop])
            if key in outline and (key not in spans or line.size > lines[spans[key][0]].size):
                spans[key] = at, stop
    return ((at, outline[key]) for key, span in spans.items() for at in range(*span))


def _level(line: TextLine, body: float) -> int:
    """The heading level of a line by its size and weight, 0 for text."""
    text = line.text
    if len(text) > MAX_HEADING or sum(map(str.isalpha, text)) < 2 or _BULLET.match(text):
        return 0
    if not (line.upright and body and line.size) or _LEADERS.search(text):
        return 0
    ratio = line.size / body
    level = next((level for least, level in _LEVELS if ratio >= least), 0)
    prose = text.endswith((".", ",", ";", ":")) or text[0].islower() or len(text) > MAX_HEADING / 2
    if not level and line.bold and ratio > 0.95 and not prose:
        return len(_LEVELS) + 1
    return level


def _leading(lines: Sequence[TextLine]) -> float:
    """The usual distance between two lines."""
    gaps = [
        above.base - below.base
        for above, below in pairwise(lines)
        if 0 < above.base - below.base < 4 * max(above.size, 6.0)
    ]
    return median(gaps) if gaps else 0.0


def _apart(above: TextLine, line: TextLine, leading: float, *, heading: bool) -> bool:
    """Whether a paragraph ends between two lines."""
    if _BULLET.match(line.text):
        return False
    if not (above.upright and line.upright):
        return False
    if _RTL.search(line.text) and _RTL.search(above.text):
        above, line = _mirrored(above), _mirrored(line)
    gap = above.base - line.base
    if gap < -leading / 2 or line.left > above.right:
        # The next column or cell: a sentence may continue there.
        return heading or bool(_SENTENCE_END.search(above.text))
    if above.size and abs(line.size / above.size - 1) > 0.15:
        return True
    if gap > max(1.4 * leading, 1.5 * line.size if heading else 0.0):
        return True
    indent = line.left - above.left
    return (
        not heading
        and 0.8 * line.size < indent < 4 * line.size
        and bool(_SENTENCE_END.search(above.text))
    )


def _mirrored(line: TextLine) -> TextLine:
    return replace(line, left=-line.right, right=-line.left)


def _bullets(lines: Sequence[TextLine]) -> set[str]:
    """The marks that begin list items on a page."""
    counts = Counter(line.text[0] for line in lines if _BULLET.match(line.text))
    return {mark for mark, count in counts.items() if count > 1 or mark not in _TYPED}


def _whole_bullets(lines: Sequence[TextLine], tables: Sequence[Table]) -> list[TextLine]:
    """The lines. A bullet on a line by itself is joined to the following line."""
    result: list[TextLine] = []
    for line in lines:
        above = result[-1] if result else None
        if (
            above
            and _BULLET.fullmatch(above.text)
            and abs(above.base - line.base) < max(line.size, 1.0)
        ):
            whole = replace(line, text=f"{above.text} {line.text}", left=above.left)
            if not any(table.holds(part) for table in tables for part in (above, line, whole)):
                result[-1] = whole
                continue
        result.append(line)
    return result


def _render(part: _Part, words: set[str], marks: set[str]) -> str:
    if part.verbatim:
        return part.lines[0]
    lines: list[str] = []
    for line in part.lines:
        line = plain(_LEADERS.sub(" … ", line))
        joined = _join(lines[-1], line, words) if lines else None
        if joined:
            lines[-1], line = joined
        if line.strip():
            lines.append(line.strip())
    if part.level:
        return f"{'#' * part.level} {escape(' '.join(lines))}" if lines else ""
    return "\n".join(_list_item(line, marks) for line in lines)


def _list_item(line: str, marks: set[str]) -> str:
    bullet = _BULLET.match(line)
    if bullet and line[0] in marks and bullet.end() < len(line):
        return f"- {escape(line[bullet.end() :])}"
    return escape(line)


def _join(line: str, following: str, words: set[str]) -> tuple[str, str] | None:
    """Both lines after a word that is hyphenated between them is joined on the first line.

    None when no word is broken there.
    """
    broken = _BROKEN.search(line)
    rest = _GOES_ON.match(following) if broken else None
    if not (broken and rest) or rest[0][0].isupper():
        return None
    # Characters after the word without a space, such as a full stop, stay with it.
    tail = re.match(r"\S*", following[rest.end() :])
    end = rest.end() + (tail.end() if tail else 0)
    whole = _word(broken, rest[0], words) + following[rest.end() : end]
    return line[: broken.start()] + whole, following[end:].strip()


def _word(broken: re.Match[str], rest: str, words: set[str]) -> str:
    """The joined word. It keeps the hyphen if it has one elsewhere or is clearly a compound."""
    first = broken[1]
    before = broken.string[: broken.start(1)]
    compound = (
        f"{first}-{rest}".lower() in words
        or before.endswith("-")
        or len(first) == 1
        or first[1:] != first[1:].lower()
        or any(map(str.isdecimal, first + rest))
    )
    return f"{first}-{rest}" if compound else f"{first}{rest}"
