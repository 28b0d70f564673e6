"""From the lines of a page to Markdown: headings, paragraphs, lists, tables, words made whole."""

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
"""Characters: what is longer is prose in large letters."""

MOST_LINES = 3
"""Of a heading."""

FEW_HEADINGS = 3
"""A page of hardly more than that is the title of a part, or a heading above a table."""

_LEVELS = ((1.7, 1), (1.35, 2), (1.15, 3))
"""A line so many times as large as the body text is a heading of this level; a bold one is 4."""

COMMON = 0.25
"""The size of body text has at least this share; an OCR layer sets each line in its own."""

_BULLET = re.compile(r"[•◦▪▫●○■□◆◇‣⁃∙➢➤►▶✓✔❖\uf000-\uf0ff·o–—*-](?:\s+|$)")
_TYPED = "·o–—*-"
"""Such marks are often something else: a list has two of them."""

_LEADERS = re.compile(r"(?:[ \t]*[.·…_]){5,}[ \t]*")
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_BROKEN = re.compile(r"(\w*[^\W\d_])[-\u00ad\u2010]$")
_GOES_ON = re.compile(r"[^\W\d_]\w*")
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")


class Table(Struct, frozen=True):
    """A table's Markdown and the lines it stands for."""

    markdown: str
    left: float
    right: float
    bottom: float
    top: float

    def holds(self, line: TextLine) -> bool:
        """Whether a line of the page stands in the table."""
        middle = (line.left + line.right) / 2
        return self.left <= middle <= self.right and self.bottom <= line.base <= self.top


class Layout(Struct):
    """What the pages of a document have in common, learnt as they come."""

    sizes: Counter[float] = field(default_factory=Counter)
    """Characters set in each size."""
    words: set[str] = field(default_factory=set)
    """Hyphenated words that stand whole somewhere."""

    def learn(self, pages: Iterable[Sequence[TextLine]]) -> None:
        """Take notice of pages before they are laid out."""
        for page in pages:
            for line in page:
                self.sizes[line.size] += len(line.text)
                self.words.update(re.findall(r"\w+-\w+", line.text.lower()))

    @property
    def body(self) -> float:
        """The size of most text; 0 when none has a good share."""
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
        texts = (_joined(part, self.words, marks) for part in parts if part.text)
        return "\n\n".join(text for text in texts if text)


class _Part(Struct):
    """What blank lines set apart."""

    text: list[str]
    level: int = 0
    verbatim: bool = False


def heading_key(text: str) -> str:
    """What of a heading is compared: letters and digits."""
    return re.sub(r"[\W_]+", "", text.lower())


def mended(
    pages: Sequence[list[TextLine]], tables: Sequence[Sequence[Table]], words: set[str]
) -> None:
    """Join words that are broken at the end of a page: they belong where they begin."""
    for at, (page, after) in enumerate(pairwise(pages)):
        broken = _BROKEN.search(page[-1].text) if page else None
        rest = _GOES_ON.match(after[0].text) if after else None
        if not (broken and rest) or rest[0][0].isupper():
            continue
        if any(table.holds(page[-1]) for table in tables[at]):
            continue
        if any(table.holds(after[0]) for table in tables[at + 1]):
            continue
        tail = re.match(r"\S*", after[0].text[rest.end() :])
        whole = _word(broken, rest[0], words) + (tail[0] if tail else "")
        page[-1] = replace(page[-1], text=page[-1].text[: broken.start()] + whole)
        left = after[0].text[rest.end() :].removeprefix(tail[0] if tail else "").strip()
        after[:1] = [replace(after[0], text=left)] if left else []


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
        part.text.append(line.text)
        above = line
    yield part


def _passed(table: Table, above: TextLine | None, line: TextLine) -> bool:
    """Whether a table stands between two lines, though the file may draw it later."""
    return bool(
        above
        and above.base > table.top
        and line.base < table.bottom
        and line.left < table.right
        and table.left < line.right
    )


def _headings(lines: Sequence[TextLine], body: float, outline: Mapping[str, int]) -> list[int]:
    """The level of each line, 0 for text; none by size where half the page would be headings."""
    levels = [_level(line, body) for line in lines]
    for at, line in enumerate(lines):
        # A bold line is a heading where text follows; a paragraph may be bold as well.
        if levels[at] == len(_LEVELS) + 1:
            above, below = lines[at - 1 : at], lines[at + 1 : at + 2]
            if any(one.bold and one.size == line.size for one in (*above, *below)):
                levels[at] = 0
    large = [len(line.text) for line, level in zip(lines, levels, strict=True) if level]
    if len(large) > FEW_HEADINGS and 2 * sum(large) > sum(len(line.text) for line in lines):
        levels = [0] * len(lines)
    for at, level in _marked(lines, outline):
        levels[at] = level
    return levels


def _marked(lines: Sequence[TextLine], outline: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Which lines bookmarks lead to, each to the largest that read as it does, and the levels."""
    found: dict[str, tuple[int, int]] = {}
    keys = [heading_key(line.text) for line in lines] if outline else []
    for at, line in enumerate(lines if outline else ()):
        for stop in range(at + 1, min(at + MOST_LINES, len(lines)) + 1):
            key = "".join(keys[at:stop])
            if key in outline and (key not in found or line.size > lines[found[key][0]].size):
                found[key] = at, stop
    return ((at, outline[key]) for key, span in found.items() for at in range(*span))


def _level(line: TextLine, body: float) -> int:
    """The level that a line's looks give it."""
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
    """The usual distance from a line to the next."""
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
        # The next column, or the next cell: a sentence may go on there.
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
    """The marks that begin items on a page."""
    seen = Counter(line.text[0] for line in lines if _BULLET.match(line.text))
    return {mark for mark, count in seen.items() if count > 1 or mark not in _TYPED}


def _whole_bullets(lines: Sequence[TextLine], tables: Sequence[Table]) -> list[TextLine]:
    """A bullet that is a line of its own joins the line that it stands before."""
    result: list[TextLine] = []
    for line in lines:
        above = result[-1] if result else None
        if (
            above
            and _BULLET.fullmatch(above.text)
            and abs(above.base - line.base) < max(line.size, 1.0)
        ):
            whole = replace(line, text=f"{above.text} {line.text}", left=above.left)
            if not any(table.holds(one) for table in tables for one in (above, line, whole)):
                result[-1] = whole
                continue
        result.append(line)
    return result


def _joined(part: _Part, words: set[str], marks: set[str]) -> str:
    if part.verbatim:
        return part.text[0]
    lines = [plain(_LEADERS.sub(" … ", line)) for line in part.text]
    lines = [line for line in _unbroken(lines, words) if line]
    if part.level:
        return f"{'#' * part.level} {escape(' '.join(lines))}" if lines else ""
    return "\n".join(_item(line, marks) for line in lines)


def _item(line: str, marks: set[str]) -> str:
    bullet = _BULLET.match(line)
    if bullet and line[0] in marks and bullet.end() < len(line):
        return f"- {escape(line[bullet.end() :])}"
    return escape(line)


def _unbroken(lines: Sequence[str], words: set[str]) -> list[str]:
    """Lines with the words that a hyphen broke at their ends made whole."""
    result: list[str] = []
    for line in lines:
        broken = _BROKEN.search(result[-1]) if result else None
        rest = _GOES_ON.match(line) if broken else None
        if broken and rest and not rest[0][0].isupper():
            result[-1] = result[-1][: broken.start()] + _word(broken, rest[0], words)
            line = line[rest.end() :]
            # What follows the word without a space, such as a full stop, stays with it.
            tail = re.match(r"\S+", line)
            if tail:
                result[-1] += tail[0]
                line = line[tail.end() :]
        if line.strip():
            result.append(line.strip())
    return result


def _word(broken: re.Match[str], rest: str, words: set[str]) -> str:
    """The whole word: with its hyphen if it stands so elsewhere, or is clearly a compound."""
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
