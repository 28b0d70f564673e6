"""What each dialect of Markdown writes its own way, and which one a folder of notes is in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from msgspec.structs import replace

from djinn_memory.models import Dialect
from djinn_memory.notes import links
from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.frontmatter import Fields, FrontMatter
from djinn_memory.notes.links import UUID, Syntax

Span = tuple[int, int]

_TAG_START = r"(?<![^\s(,;])(?<!\]\()#"
_TAG_CHARACTER = r"[\w/-]|[^\x00-\x7f\s\u2010-\u206f\u3000-\u303f]"
_TAG = re.compile(rf"{_TAG_START}((?:{_TAG_CHARACTER})++)")
"""A tag begins a word and is not a number alone: that is how people write of an issue or a year."""

_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")


def _day(name: str) -> str | None:
    found = _DAY.search(name)
    return iso_date(found[1]) if found else None


def _none(_: str) -> tuple[()]:
    return ()


@dataclass(frozen=True)
class Rules:
    """How the notes of a dialect are read; the defaults are Obsidian's.

    `prose` is `mask` of a note's body: what is found in it keeps its offsets.
    """

    syntax: Syntax = links.OBSIDIAN
    tag: re.Pattern[str] = _TAG
    """Finds a tag's name as its only group."""
    front: Callable[[str, FrontMatter], FrontMatter] = lambda text, front: front
    """Adds what the text says of itself behind the front matter."""
    hidden: Callable[[str], Iterable[Span]] = _none
    """What in `prose` is no prose: it has no links, and is neither embedded nor searched."""
    unread: re.Pattern[str] | None = None
    """Finds what in `prose` may be a link, or half of one, but says nothing to a reader."""
    blocks: Callable[[FrontMatter, str], Iterable[str]] = lambda front, prose: ()
    """The UUIDs of the note's blocks."""
    title: Callable[[str], str] = lambda name: ""
    """The title that a file's name gives; empty where a heading may say it better."""
    day: Callable[[str], str | None] = _day
    """The day in a file's name."""
    journals: bool = False
    """Whether that day is what the note is about, whenever it was created."""
    moment: Callable[[str], str | None] = iso_date
    """Reads a date of the front matter."""
    created: tuple[str, ...] = ("created",)
    updated: tuple[str, ...] = ("updated", "modified")
    names: Callable[[str], Iterable[str]] = _none
    """What the note at a path is called, before any other way to find it."""
    parts: Callable[[str], Iterable[str]] = _none
    """What it may be called where nothing else is."""
    address: Callable[[str], tuple[str | None, str]] = lambda target: (None, target)
    """A link's target as the vault that it names, and the rest."""
    renames: bool = False
    """Whether notes have `names` or `parts`."""
    outline: bool = False
    """Whether a page is a list, whose items are its sections."""
    folders: frozenset[str] = frozenset()
    """Folders at the vault's root that hold no notes."""


# --- Foam ---

_DEFINITION = re.compile(r" {0,3}\[(?!\^)[^\]\n]+\]:[ \t]+(?![a-z][a-z0-9+.-]*:)\S[^\n]*", re.I)
_GENERATED = re.compile(
    r"(?m)^\[//begin\]:[^\n]*\n(?:(?!\[//)[^\n]*\n)*+\[//end\]:[^\n]*$", re.IGNORECASE
)


def _definitions(prose: str) -> Iterator[Span]:
    """The link definitions that Foam keeps at the end of a note; newer ones have no marks."""
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

_DOTTED_DAY = re.compile(r"(?<!\d)(\d{4})\.(\d{2})\.(\d{2})(?!\d)")
_EPOCH = re.compile(r"[0-9]{12,14}")
_SHOWN_ELSEWHERE = re.compile(r"(?<=[^\[\]|\n])\\?\|[^\[\]|\n]*(?=\]\])")
"""The target of `[[shown|target]]`: to every reader of Markdown but Dendron it is what is shown."""
_CROSS_VAULT = re.compile(r"dendron://([^/]+)/(.+)", re.DOTALL)


def _epoch_date(text: str) -> str | None:
    """A date, or milliseconds since 1970."""
    if not _EPOCH.fullmatch(text.strip()):
        return iso_date(text)
    try:
        moment = datetime.fromtimestamp(int(text) // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _dendron_day(name: str) -> str | None:
    found = _DOTTED_DAY.search(name)
    return iso_date("-".join(found.groups())) if found else _day(name)


def _last_part(name: str) -> str:
    found = _DOTTED_DAY.search(name)
    return "-".join(found.groups()) if found and found.end() == len(name) else name.split(".")[-1]


def _dendron_parts(path: str) -> tuple[str, ...]:
    name = PurePosixPath(path).stem
    return (name.rpartition(".")[2],) if "." in name else ()


def _dendron_address(target: str) -> tuple[str | None, str]:
    found = _CROSS_VAULT.fullmatch(target)
    return (found[1], found[2]) if found else (None, target)


# --- Logseq ---

_PROPERTY = re.compile(
    r"(?P<key>[^\s:#\[\](){}`\"'][^\s:]*+)::(?:[ \t]+(?P<value>[^\n]*))?(?:\n|\Z)"
)
_BULLET = re.compile(r"[-*+][ \t]+")
_NEXT_BULLET = re.compile(r"(?:[ \t]*\n)*(?:[-*+](?:[ \t\n]|\Z)|\Z)")
_VALUES = re.compile(r"(?:\[\[[^\[\]\n]*\]\]|[^,])+")
_REFERENCE = re.compile(r"#?\[\[[^\[\]\n]+\]\]|#[^\s#,]+")
_NAMES = frozenset({"alias", "aliases", "tag", "tags"})
_MACHINE = (
    "id|custom-id|collapsed|heading|background[-_]color|created[-_]at|updated[-_]at|"
    r"last[-_]modified[-_]at|query-[\w-]+|ls-type|hl-[\w-]+|card-[\w-]+|logseq\.[\w.-]+|filters|"
    "icon|public|exclude-from-graph-view|template|template-including-parent|"
    "todo|doing|now|later|done"
)
"""Properties that Logseq writes for itself; any other is a person's and stays searchable."""

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
_BLOCK_REFERENCE = re.compile(
    rf"""
    (?P<macro> \{{\{{ embed [ \t]+ )? (?P<label> (?<=\]) \( )? \(\( {UUID} \)\)
    (?(label) \) ) (?(macro) [ \t]* \}}\}} )
  | \{{\{{ embed (?= [ \t]+ \[\[ )
    """,
    re.VERBOSE,
)
_LOGSEQ_TAG = re.compile(
    rf"{_TAG_START}(?:\[\[)?((?:(?<=\[)[^\[\]\n]+(?=\]\])|(?<!\[)(?:{_TAG_CHARACTER})++))"
)
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_JOURNAL = re.compile(r"(\d{4})[_-](\d{2})[_-](\d{2})")


def _page_properties(text: str, front: FrontMatter) -> FrontMatter:
    """The `key:: value` lines of a page's first block are fields, as front matter is."""
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
    """A property's value: a list where Logseq sees several pages in it."""
    values = [value.strip() for value in _VALUES.findall(written)]
    if key in _NAMES:
        bare = (value.removeprefix("#") for value in values)
        # Its own name is no link of a page; a tag in brackets is one.
        return [v.strip("[]") if key.startswith("alias") else v for v in bare if v]
    if len(values) > 1 and all(_REFERENCE.fullmatch(value) for value in values):
        return values
    return written.strip()


def _machinery(prose: str) -> Iterator[Span]:
    for match in _MACHINERY.finditer(prose):
        yield match.span(match.lastgroup or 0)


def _block_ids(front: FrontMatter, prose: str) -> Iterator[str]:
    page = front.fields.get("id")
    if isinstance(page, str) and re.fullmatch(UUID, page):
        yield page.lower()
    yield from map(str.lower, _BLOCK_ID.findall(prose))


def _logseq_day(name: str) -> str | None:
    found = _JOURNAL.fullmatch(name)
    return iso_date("-".join(found.groups())) if found else _day(name)


def page_name(name: str) -> str:
    """The Logseq page that a file's name means: `a___b` and `a%2Fb` are `a/b`."""
    found = _JOURNAL.fullmatch(name)
    day = iso_date("-".join(found.groups())) if found else None
    decoded = _PERCENT.sub(lambda escape: unquote(escape[0]), name.replace("___", "/"))
    return day or "/".join(filter(None, decoded.split("/"))) or name


def _logseq_names(path: str) -> Iterator[str]:
    name = PurePosixPath(path).stem
    yield page_name(name)
    found = _JOURNAL.fullmatch(name)
    day = iso_date("-".join(found.groups())) if found else None
    if day:
        yield from _spelled(date.fromisoformat(day))


def _spelled(day: date) -> Iterator[str]:
    """A journal's name in those of Logseq's date formats that can mean no other day."""
    month, short = _MONTHS[day.month - 1], _MONTHS[day.month - 1][:3]
    tens = "th" if day.day in (11, 12, 13) else "thstndrdthththththth"[day.day % 10 * 2 :][:2]
    for name in (short, month):
        yield f"{name} {day.day}{tens}, {day.year}"
        yield f"{day.day}{tens} {name} {day.year}"
    yield from (day.strftime(form) for form in ("%Y_%m_%d", "%Y/%m/%d", "%Y%m%d"))
    yield f"{day} {_WEEKDAYS[day.weekday()]}"
    yield f"{day.year}年{day.month:02}月{day.day:02}日"


# Not `strftime`, which speaks the user's language.
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _logseq_parts(path: str) -> tuple[str, ...]:
    """Graphs from before 2022 have `a.b` for `a/b`; in later ones it may as well be `node.js`."""
    name = PurePosixPath(path).stem
    return (page_name(name.replace(".", "/")),) if "." in name else ()


RULES: dict[Dialect, Rules] = {
    "obsidian": Rules(),
    "foam": Rules(hidden=_definitions),
    "dendron": Rules(
        syntax=links.DENDRON,
        unread=_SHOWN_ELSEWHERE,
        tag=re.compile(rf"{_TAG_START}((?:{_TAG_CHARACTER}|\.(?=\w))++)"),
        title=_last_part,
        day=_dendron_day,
        moment=_epoch_date,
        journals=True,
        parts=_dendron_parts,
        address=_dendron_address,
        renames=True,
    ),
    "logseq": Rules(
        syntax=links.LOGSEQ,
        tag=_LOGSEQ_TAG,
        front=_page_properties,
        hidden=_machinery,
        unread=_BLOCK_REFERENCE,
        blocks=_block_ids,
        title=page_name,
        day=_logseq_day,
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
    "markdown": Rules(syntax=links.MARKDOWN),
}


# --- Which one? ---

_FILES_LOOKED_AT = 200
_ENTRIES_LOOKED_AT = 5_000
_BYTES_LOOKED_AT = 20_000

_WIKILINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
_NOTE_LINK = re.compile(r"\]\((?![a-z][a-z0-9+.-]*:)[^()\s]+\.md(?:#[^()\s]*)?\)", re.IGNORECASE)
_DOTTED_TARGET = re.compile(r"\[\[[^\[\]|\n]+\|[\w-]+(?:\.[\w-]+)+(?:#[^\[\]|\n]*)?\]\]")
_DENDRON_FIELD = re.compile(r"(?m)^(?:created|updated): '?[0-9]{12,14}'?[ \t]*$")
_LOGSEQ_LINE = re.compile(rf"(?m)^[ \t]+(?:id:: {UUID}|collapsed:: true)[ \t]*$")


def guess(root: Path) -> tuple[Dialect, str]:
    """The dialect that a folder of notes seems to be in, and the sign that says so.

    Looks at file names, and at the beginning and end of some 200 notes; never raises.
    """
    return _marked(root) or _written(root) or ("obsidian", "nothing speaks for another")


def _marked(root: Path) -> tuple[Dialect, str] | None:
    """What the settings of a program say: the one whose notes differ most comes first."""

    def there(*names: str) -> str | None:
        return next((name for name in names if os.path.lexists(root / name)), None)

    if sign := there("logseq/config.edn"):
        return "logseq", sign
    if sign := there("dendron.yml", "dendron.code-workspace", "root.schema.yml"):
        return "dendron", sign
    if sign := there(".foam"):
        return "foam", f"{sign}/"
    if sign := there(".obsidian"):
        return "obsidian", f"{sign}/"
    for sign in (".vscode/extensions.json", ".vscode/settings.json"):
        if "foam" in _glance(root / sign).lower():
            return "foam", f"{sign} names Foam"
    return None


def _written(root: Path) -> tuple[Dialect, str] | None:
    """What the notes themselves look like."""
    paths = _some_notes(root)
    names = [path.stem for path in paths]
    outlines = {path.parent.name for path in paths} >= {"journals", "pages"}
    if outlines:
        return "logseq", "journals/ and pages/"
    texts = [_glance(path) for path in paths[:_FILES_LOOKED_AT]]

    def having(pattern: re.Pattern[str]) -> int:
        return sum(bool(pattern.search(text)) for text in texts)

    signs: list[tuple[int, Dialect, str]] = [
        (having(_LOGSEQ_LINE), "logseq", "with id:: or collapsed:: lines"),
        (sum("___" in name.strip("_") for name in names), "logseq", "with ___ in the name"),
        (having(_DENDRON_FIELD), "dendron", "with created: in milliseconds"),
        (having(_DOTTED_TARGET), "dendron", "with links like [[shown|a.b.c]]"),
        (sum(_ends_in_definitions(text) for text in texts), "foam", "with Foam's link definitions"),
    ]
    for count, dialect, sign in signs:
        # One stray file, pasted from elsewhere, makes no vault.
        if count > 1 or (count and count * 4 >= len(texts)):
            return dialect, f"{count} {'note' if count == 1 else 'notes'} {sign}"
    dotted = sum(name.count(".") > 0 and " " not in name for name in names)
    if "root" in names and dotted * 2 >= len(names) - 1 and dotted:
        return "dendron", "root.md and names like a.b.c"
    wiki, markdown = having(_WIKILINK), having(_NOTE_LINK)
    if markdown and not wiki:
        return "markdown", "links like [x](y.md) and no [[x]]"
    return ("obsidian", "links like [[x]]") if wiki else None


def _ends_in_definitions(text: str) -> bool:
    """Whether link definitions at the end are for the text's wikilinks, as Foam writes them."""
    spans = list(_definitions(text))
    if not spans:
        return False
    targets = re.findall(r"(?m)^ {0,3}\[([^\]\n]+)\]:", text[spans[-1][0] :])
    return any(f"[[{target}" in text or f"|{target}]]" in text for target in targets)


def _some_notes(root: Path) -> list[Path]:
    """Notes of a folder, those near its root first; follows no links."""
    found: list[Path] = []
    folders, seen = [root], 0
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if len(found) >= _FILES_LOOKED_AT * 2 or seen > _ENTRIES_LOOKED_AT:
                        return found
                    if entry.name.startswith(".") or entry.name == "node_modules":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif entry.name.lower().endswith(".md") and entry.is_file(
                        follow_symlinks=False
                    ):
                        found.append(Path(entry.path))
        except (OSError, ValueError):
            continue
    return found


def _glance(path: Path) -> str:
    """The beginning and the end of a file; empty when it cannot be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            data = file.read(_BYTES_LOOKED_AT)
            size = file.seek(0, os.SEEK_END)
            if size > len(data):
                file.seek(max(len(data), size - _BYTES_LOOKED_AT // 4))
                data += file.read(_BYTES_LOOKED_AT // 4)
    except (OSError, ValueError):
        return ""
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
