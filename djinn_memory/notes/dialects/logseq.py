"""Logseq's Markdown: outline pages, `key:: value` properties, page and journal names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from msgspec.structs import replace

from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.frontmatter import Fields, FrontMatter
from djinn_memory.notes.links import UUID

_PROPERTY = re.compile(
    r"(?P<key>[^\s:#\[\](){}`\"'][^\s:]*+)::(?:[ \t]+(?P<value>[^\n]*))?(?:\n|\Z)"
)
_BULLET = re.compile(r"[-*+][ \t]+")
_NEXT_BULLET = re.compile(r"(?:[ \t]*+\n)*+(?:[-*+](?:[ \t\n]|\Z)|\Z)")
_VALUES = re.compile(r"(?:\[\[[^\[\]\n]*\]\]|[^,])++")
_BETWEEN_PAGES = re.compile(r"(?<=\]\])[ \t]+(?=#?\[\[)")
_REFERENCE = re.compile(r"#?\[\[[^\[\]\n]+\]\]|#[^\s#,]+")
_NAMES = frozenset({"alias", "aliases", "tag", "tags"})
_MACHINE = (
    "id|custom-id|collapsed|heading|background[-_]color|created[-_]at|updated[-_]at|"
    r"last[-_]modified[-_]at|query-[\w-]+|ls-type|hl-[\w-]+|card-[\w-]+|logseq\.[\w.-]+|filters|"
    "icon|public|exclude-from-graph-view|template|template-including-parent|"
    "todo|doing|now|later|done"
)
"""Properties that Logseq writes for its own use. Other properties come from a person and are
searchable."""

_MACHINERY = re.compile(
    rf"""
    ^[ \t]*+ (?:[-*+][ \t]++)?
    (?: (?P<property> (?:{_MACHINE}) :: (?:[ \t][^\n]*)? ) $
      | (?P<block> \#\+BEGIN_QUERY (?:(?!\#\+BEGIN_QUERY|\#\+END_QUERY).)*+ \#\+END_QUERY )
      | (?P<drawer> :LOGBOOK: (?:(?!:LOGBOOK:|:END:).)*+ :END: ) )
  | (?P<macro> \{{\{{ (?:query|function|renderer) \b (?:(?!\{{\{{|\}}\}}).)*+ \}}\}} )
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE | re.DOTALL,
)
_BLOCK_ID = re.compile(rf"(?m)^[ \t]*+(?:[-*+][ \t]++)?id::[ \t]+({UUID})[ \t]*$")
BLOCK_REFERENCE = re.compile(
    rf"""
    (?P<macro> \{{\{{ embed [ \t]+ )? (?P<label> (?<=\]) \( )? \(\( {UUID} \)\)
    (?(label) \) ) (?(macro) [ \t]* \}}\}} )
  | \{{\{{ embed (?= [ \t]+ \[\[ ) | (?<=\]\]) [ \t]*+ \}}\}}
    """,
    re.VERBOSE,
)
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_JOURNAL = re.compile(r"(\d{4})[_-](\d{2})[_-](\d{2})")
_TITLE_FORMAT = re.compile(r'^[^;"\n]*:journal/page-title-format\s+"([^"\n]{1,100})"', re.MULTILINE)
_FORMATS = (
    "MMM do, yyyy", "MMMM do, yyyy", "do MMM yyyy", "do MMMM yyyy", "yyyy_MM_dd", "yyyy/MM/dd",
    "yyyyMMdd", "yyyy-MM-dd EEEE", "yyyy年MM月dd日",
)  # fmt: skip
"""Logseq's date formats for journals that are unambiguous."""
_FORMAT_PART = re.compile(r"'([^']*)'|yyyy|yy|M{1,4}|do|dd?|E{1,4}")


def page_properties(text: str, front: FrontMatter) -> FrontMatter:
    """`front`, extended with the `key:: value` lines of the page's first block."""
    at = front.body
    while at < len(text) and text[at] in " \t\n":
        at += 1
    at = text.rfind("\n", front.body, at) + 1 or front.body
    bullet = _BULLET.match(text, at)
    fields: dict[str, object] = {}
    place = bullet.end() if bullet else at
    while match := _PROPERTY.match(text, place):
        fields.setdefault(match["key"], _value(match["key"].lower(), match["value"] or ""))
        at = place = match.end()
        if bullet:
            while place < len(text) and text[place] in " \t":
                place += 1
    if not fields or (bullet and not _NEXT_BULLET.match(text, at)):
        return front
    merged: Fields = {**fields, **front.fields}
    return replace(front, fields=merged, body=at)


def _value(key: str, written: str) -> object:
    """The value of a property, as a list when Logseq reads several pages from it."""
    values = [
        value.strip() for part in _VALUES.findall(written) for value in _BETWEEN_PAGES.split(part)
    ]
    if key in _NAMES:
        bare = (value.removeprefix("#") for value in values)
        return [value for value in bare if value]
    if len(values) > 1 and all(_REFERENCE.fullmatch(value) for value in values):
        return values
    return written.strip()


def machinery(prose: str) -> Iterator[tuple[int, int]]:
    """The spans that Logseq writes into a page for its own use: ids, queries, clocks."""
    for match in _MACHINERY.finditer(prose):
        yield match.span(match.lastgroup or 0)


def block_ids(front: FrontMatter, prose: str) -> Iterator[str]:
    page = front.fields.get("id")
    if isinstance(page, str) and re.fullmatch(UUID, page):
        yield page.lower()
    yield from map(str.lower, _BLOCK_ID.findall(prose))


def day_of(name: str) -> str | None:
    """The day of the journal with this name; None for other pages."""
    match = _JOURNAL.fullmatch(name)
    return iso_date("-".join(match.groups())) if match else None


def page_name(name: str) -> str:
    """The Logseq page name for a file name: `a___b` and `a%2Fb` become `a/b`."""
    decoded = _PERCENT.sub(lambda escape: unquote(escape[0]), name.replace("___", "/"))
    return day_of(name) or "/".join(filter(None, decoded.split("/"))) or name


def title_format(root: Path) -> str:
    """The format of journal titles in a graph's settings, or ""."""
    try:
        settings = (root / "logseq" / "config.edn").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    match = _TITLE_FORMAT.search(settings)
    return match[1] if match else ""


def names(path: str, title_format: str = "") -> Iterator[str]:
    """The names of a page.

    A journal has names in its `title_format` and all unambiguous formats.
    """
    name = PurePosixPath(path).stem
    yield page_name(name)
    if day := day_of(name):
        for form in filter(None, (title_format, *_FORMATS)):
            yield _formatted(date.fromisoformat(day), form)


def _formatted(day: date, form: str) -> str:
    """A day in one of Logseq's formats, such as `EEE, do MMM yyyy`."""
    month, weekday = _MONTHS[day.month - 1], _WEEKDAYS[day.weekday()]
    tens = "th" if day.day in (11, 12, 13) else "thstndrdthththththth"[day.day % 10 * 2 :][:2]
    parts = {
        "yyyy": f"{day.year:04}", "yy": f"{day.year % 100:02}", "MMMM": month, "MMM": month[:3],
        "MM": f"{day.month:02}", "M": str(day.month), "do": f"{day.day}{tens}",
        "dd": f"{day.day:02}", "d": str(day.day), "EEEE": weekday,
    }  # fmt: skip
    return _FORMAT_PART.sub(
        lambda part: part[1] if part[1] is not None else parts.get(part[0], weekday[:3]), form
    )


# Not `strftime`, which speaks the user's language.
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def parts(path: str) -> tuple[str, ...]:
    """The page `a/b` for a file `a.b`, as in graphs from before 2022.

    In later graphs the dot may belong to the name, as in `node.js`.
    """
    name = PurePosixPath(path).stem
    return (page_name(name.replace(".", "/")),) if "." in name else ()
