"""The rules in which the dialects of Markdown differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import Dialect, Vault
from djinn_memory.notes import links
from djinn_memory.notes.dates import iso_date, moment
from djinn_memory.notes.frontmatter import Fields, FrontMatter
from djinn_memory.notes.links import UUID, LinkSyntax
from djinn_memory.notes.slugs import slug
from djinn_memory.system.expressions import expression

_TAG_START = r"(?<![^\s(,;])(?<!\]\()#"
_TAG_CHARACTER = r"[\w/-]|[^\x00-\x7f\s\u2010-\u206f\u3000-\u303f]"
_TAG = expression(rf"{_TAG_START}((?:{_TAG_CHARACTER})++)")
"""A tag begins a word. A number alone is not a tag, because it usually means an issue or a year."""

_DAY = expression(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")


def _day(name: str) -> str | None:
    match = _DAY.search(name)
    return iso_date(match[1]) if match else None


class DialectRules(Struct, frozen=True):
    """The rules for reading the notes of a dialect. The defaults are Obsidian's.

    `prose` is the `mask` of a note's body, with the same offsets.
    """

    syntax: LinkSyntax = links.OBSIDIAN
    tag: re.Pattern[str] = _TAG
    """Matches a tag. Its only group is the name."""
    front: Callable[[str, FrontMatter], FrontMatter] = lambda text, front: front
    """Adds fields from the text below the front matter."""
    hidden: Callable[[str], Iterable[Span]] = lambda prose: ()
    """Spans of `prose` for programs only. Their links do not count, and they are not embedded or
    searched."""
    unread: re.Pattern[str] | None = None
    """Matches parts of `prose` that may belong to a link but are not meant for readers."""
    blocks: Callable[[FrontMatter, str], Iterable[str]] = lambda front, prose: ()
    """The UUIDs of the note's blocks."""
    title: Callable[[str], str] = lambda name: ""
    """The title from a file's name; empty when a heading gives a better title."""
    stem: Callable[[str, str], str] | None = None
    """The name of a note's file after the note got a title, from the name before and the title."""
    day: Callable[[str], str | None] = _day
    """The day in a file's name."""
    journals: bool = False
    """Whether the note is about that day, even if it was created on another."""
    moment: Callable[[str], str | None] = iso_date
    """Reads a date from the front matter."""
    created: tuple[str, ...] = ("created", "uploaded_at")
    updated: tuple[str, ...] = ("updated", "modified", "processed_at")
    names: Callable[[str, str], Iterable[str]] = lambda path, title_format: ()
    """The names of the note at a path. They take precedence over all other ways to find it."""
    title_format: str = ""
    """The format of journal titles. A vault's settings may set it."""
    parts: Callable[[str], Iterable[str]] = lambda path: ()
    """Names of the note that apply only when nothing else matches."""
    address: Callable[[str], tuple[str | None, str]] = lambda target: (None, target)
    """Splits a link's target into its vault, if any, and the rest."""
    renames: bool = False
    """Whether notes have special `names` or `parts`."""
    outline: bool = False
    """Whether a page is a list whose items are its sections."""
    folders: frozenset[str] = frozenset()
    """Folders at the vault's root without notes."""


# --- Foam ---

_DEFINITION = expression(r" {0,3}\[(?!\^)[^\]\n]+\]:[ \t]+(?![a-z][a-z0-9+.-]*:)\S[^\n]*", re.I)
_GENERATED = expression(
    r"(?m)^\[//begin\]:[^\n]*\n(?:(?!\[//)[^\n]*\n)*+\[//end\]:[^\n]*$", re.IGNORECASE
)


def definitions(prose: str) -> Iterator[Span]:
    """The link definitions that Foam writes at the end of a note.

    Recent versions write no markers around them.
    """
    tail = end = len(prose)
    while end > 0:
        start = prose.rfind("\n", 0, end - 1) + 1
        line = prose[start:end].rstrip()
        if line and not _DEFINITION.fullmatch(line):
            break
        tail, end = (start if line else tail), start
    for match in _GENERATED.finditer(prose, 0, tail):
        yield match.span()
    if tail < len(prose):
        yield tail, len(prose)


# --- Dendron ---

_DOTTED_DAY = expression(r"(?<!\d)(\d{4})\.(\d{2})\.(\d{2})(?!\d)")
_EPOCH = expression(r"[0-9]{12,14}")
_SHOWN_ELSEWHERE = expression(r"(?<=[^\[\]|\n])\\?\|[^\[\]|\n]*(?=\]\])")
"""The part `|target` of `[[shown|target]]`. Every program except Dendron would show it."""
_CROSS_VAULT = expression(r"dendron://([^/]+)/(.+)", re.DOTALL)


def _epoch_date(text: str) -> str | None:
    """A date, also given as milliseconds since 1970."""
    if not _EPOCH.fullmatch(text.strip()):
        return iso_date(text)
    try:
        return moment(datetime.fromtimestamp(int(text) // 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _dendron_day(name: str) -> str | None:
    match = _DOTTED_DAY.search(name)
    return iso_date("-".join(match.groups())) if match else _day(name)


def _last_part(name: str) -> str:
    match = _DOTTED_DAY.search(name)
    return "-".join(match.groups()) if match and match.end() == len(name) else name.split(".")[-1]


def _dendron_parts(path: str) -> tuple[str, ...]:
    name = PurePosixPath(path).stem
    return (name.rpartition(".")[2],) if "." in name else ()


def _dendron_address(target: str) -> tuple[str | None, str]:
    match = _CROSS_VAULT.fullmatch(target)
    return (match[1], match[2]) if match else (None, target)


# --- Logseq ---

_PROPERTY = expression(
    r"(?P<key>[^\s:#\[\](){}`\"'][^\s:]*+)::(?:[ \t]+(?P<value>[^\n]*))?(?:\n|\Z)"
)
_BULLET = expression(r"[-*+][ \t]+")
_NEXT_BULLET = expression(r"(?:[ \t]*+\n)*+(?:[-*+](?:[ \t\n]|\Z)|\Z)")
_VALUES = expression(r"(?:\[\[[^\[\]\n]*\]\]|[^,])++")
_BETWEEN_PAGES = expression(r"(?<=\]\])[ \t]+(?=#?\[\[)")
_REFERENCE = expression(r"#?\[\[[^\[\]\n]+\]\]|#[^\s#,]+")
_NAMES = frozenset({"alias", "aliases", "tag", "tags"})
_MACHINE = (
    "id|custom-id|collapsed|heading|background[-_]color|created[-_]at|updated[-_]at|"
    r"last[-_]modified[-_]at|query-[\w-]+|ls-type|hl-[\w-]+|card-[\w-]+|logseq\.[\w.-]+|filters|"
    "icon|public|exclude-from-graph-view|template|template-including-parent|"
    "todo|doing|now|later|done"
)
"""Properties that Logseq writes for its own use. Other properties come from a person and are
searchable."""

_MACHINERY = expression(
    rf"""
    ^[ \t]*+ (?:[-*+][ \t]++)?
    (?: (?P<property> (?:{_MACHINE}) :: (?:[ \t][^\n]*)? ) $
      | (?P<block> \#\+BEGIN_QUERY (?:(?!\#\+BEGIN_QUERY|\#\+END_QUERY).)*+ \#\+END_QUERY )
      | (?P<drawer> :LOGBOOK: (?:(?!:LOGBOOK:|:END:).)*+ :END: ) )
  | (?P<macro> \{{\{{ (?:query|function|renderer) \b (?:(?!\{{\{{|\}}\}}).)*+ \}}\}} )
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE | re.DOTALL,
)
_BLOCK_ID = expression(rf"(?m)^[ \t]*+(?:[-*+][ \t]++)?id::[ \t]+({UUID})[ \t]*$")
_BLOCK_REFERENCE = expression(
    rf"""
    (?P<macro> \{{\{{ embed [ \t]+ )? (?P<label> (?<=\]) \( )? \(\( {UUID} \)\)
    (?(label) \) ) (?(macro) [ \t]* \}}\}} )
  | \{{\{{ embed (?= [ \t]+ \[\[ ) | (?<=\]\]) [ \t]*+ \}}\}}
    """,
    re.VERBOSE,
)
_PERCENT = expression(r"(?:%[0-9a-fA-F]{2})+")
_JOURNAL = expression(r"(\d{4})[_-](\d{2})[_-](\d{2})")
_TITLE_FORMAT = expression(r'^[^;"\n]*:journal/page-title-format\s+"([^"\n]{1,100})"', re.MULTILINE)
_UNNAMED = expression(r'[\\:*?"<>|#%^\[\]\x00-\x1f]|^\.')
"""Characters that Logseq writes into file names only percent-encoded."""
_FORMATS = (
    "MMM do, yyyy", "MMMM do, yyyy", "do MMM yyyy", "do MMMM yyyy", "yyyy_MM_dd", "yyyy/MM/dd",
    "yyyyMMdd", "yyyy-MM-dd EEEE", "yyyy年MM月dd日",
)  # fmt: skip
"""Logseq's date formats for journals that are unambiguous."""
_FORMAT_PART = expression(r"'([^']*)'|yyyy|yy|M{1,4}|do|dd?|E{1,4}")


def _page_properties(text: str, front: FrontMatter) -> FrontMatter:
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


def _machinery(prose: str) -> Iterator[tuple[int, int]]:
    """The spans that Logseq writes into a page for its own use: ids, queries, clocks."""
    for match in _MACHINERY.finditer(prose):
        yield match.span(match.lastgroup or 0)


def _block_ids(front: FrontMatter, prose: str) -> Iterator[str]:
    page = front.fields.get("id")
    if isinstance(page, str) and re.fullmatch(UUID, page):
        yield page.lower()
    yield from map(str.lower, _BLOCK_ID.findall(prose))


def _journal_day(name: str) -> str | None:
    """The day of the journal with this name; None for other pages."""
    match = _JOURNAL.fullmatch(name)
    return iso_date("-".join(match.groups())) if match else None


def _page_name(name: str) -> str:
    """The Logseq page name for a file name: `a___b` and `a%2Fb` become `a/b`."""
    decoded = _PERCENT.sub(lambda escape: unquote(escape[0]), name.replace("___", "/"))
    return _journal_day(name) or "/".join(filter(None, decoded.split("/"))) or name


def _title_format(root: Path) -> str:
    """The format of journal titles in a graph's settings, or ""."""
    try:
        settings = (root / "logseq" / "config.edn").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    match = _TITLE_FORMAT.search(settings)
    return match[1] if match else ""


def _logseq_names(path: str, title_format: str = "") -> Iterator[str]:
    """The names of a page.

    A journal has names in its `title_format` and all unambiguous formats.
    """
    name = PurePosixPath(path).stem
    yield _page_name(name)
    if day := _journal_day(name):
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


def _logseq_parts(path: str) -> tuple[str, ...]:
    """The page `a/b` for a file `a.b`, as in graphs from before 2022.

    In later graphs the dot may belong to the name, as in `node.js`.
    """
    name = PurePosixPath(path).stem
    return (_page_name(name.replace(".", "/")),) if "." in name else ()


Span = tuple[int, int]


_LOGSEQ_TAG = expression(
    rf"{_TAG_START}(?:\[\[)?((?:(?<=\[)[^\[\]\n]+(?=\]\])|(?<!\[)(?:{_TAG_CHARACTER})++))"
)


# --- all of them ---

RULES: dict[Dialect, DialectRules] = {
    "obsidian": DialectRules(),
    "foam": DialectRules(hidden=definitions),
    "dendron": DialectRules(
        syntax=links.DENDRON,
        unread=_SHOWN_ELSEWHERE,
        tag=expression(rf"{_TAG_START}((?:{_TAG_CHARACTER}|\.(?=\w))++)"),
        title=_last_part,
        stem=lambda name, title: f"{name.rpartition('.')[0]}.{slug(title)}".lstrip("."),
        day=_dendron_day,
        moment=_epoch_date,
        journals=True,
        parts=_dendron_parts,
        address=_dendron_address,
        renames=True,
    ),
    "logseq": DialectRules(
        syntax=links.LOGSEQ,
        tag=_LOGSEQ_TAG,
        front=_page_properties,
        hidden=_machinery,
        unread=_BLOCK_REFERENCE,
        blocks=_block_ids,
        title=_page_name,
        stem=lambda _, title: _UNNAMED.sub(lambda sign: quote(sign[0]), title).replace("/", "___"),
        day=lambda name: _journal_day(name) or _day(name),
        moment=_epoch_date,
        created=("created", "created-at"),
        updated=("updated", "modified", "updated-at", "last-modified-at"),
        names=_logseq_names,
        journals=True,
        parts=_logseq_parts,
        renames=True,
        outline=True,
        folders=frozenset({"logseq"}),
    ),
    "markdown": DialectRules(syntax=links.MARKDOWN),
}


def of_vault(vault: Vault) -> DialectRules:
    """The rules of a vault: those of its dialect, adapted to its program's settings."""
    rules = RULES[vault.dialect]
    if vault.dialect == "logseq" and (title_format := _title_format(vault.root)):
        return replace(rules, title_format=title_format)
    return rules
