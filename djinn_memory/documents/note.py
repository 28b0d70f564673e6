"""Writes a document as a note: its title, and its text with a mark at the start of each page.

The metadata of a document often names a file or a program in place of a title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from unicodedata import category

from djinn_memory.documents.document import Document
from djinn_memory.documents.read import FORMATS
from djinn_memory.notes.markdown import headings, inline, mask
from djinn_memory.notes.pages import defang, mark

LONGEST = 300

_OFFICE = r"microsoft (?:office )?(?:word|powerpoint|excel|publisher|visio)"
_PROGRAM = re.compile(
    rf"^(?:{_OFFICE}|writer|libreoffice\w*|openoffice\S*)\s*[-–:]\s*"
    rf"|\s[-–]\s(?:notepad(?:\+\+)?|wordpad|{_OFFICE})$"
    r"|\s*\[(?:read-only|compatibility mode|schreibgeschützt|lecture seule)\]$",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"\.(?:docx?|docm|dotx?|pdf|pptx?|ppsx?|xlsx?|od[tpsg]|rtf|txt|tex|ltx|dvi|e?ps|indd|qxd|pmd"
    r"|cdr|wpd|wps|html?|xml|json|csv|exe|dll|tmp|bak|tiff?|jpe?g|png|gif|zip|wp5?|md|key|dwg)$",
    re.IGNORECASE,
)
_PATH = re.compile(r"^(?:[a-z]:[\\/]|[/\\~]|\.{1,2}[\\/])|\.\.[\\/]|://|\\\S+\\", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"(?:untitled|unknown|unnamed|anonymous|no ?title|title|none|null|undefined|n/?a"
    r"|document|doc|file|presentation|slide|page|scan|scanned|image|img|dsc|fax|photo|model|drawing"
    r"|layout|book|bookmark|binder|pdf|test|blank|new|copy of|template|print|print ?job|print ?out"
    r"|powerpoint|word|excel|adobe photoshop(?: pdf)?|full page (?:photo|fax) ?(?:print)?"
    r"|(?:microsoft )?powerpoint[ \-]+pr[äa]sentation|pr[ée]sentation powerpoint"
    r"|presentaci[óo]n de powerpoint|presentazione(?: standard)?(?: di powerpoint)?"
    r"|pr[äa]sentation|dokument|document sans nom|sin t[ií]tulo|sem t[ií]tulo|senza titolo"
    r"|sans titre|ohne titel|unbenannt|default|без имени|无标题|無題|名称未設定|제목 ?없음)"
    r"(?:[ \-_]*(?:document|presentation|page|print|1?))?[\d\s._()-]*",
    re.IGNORECASE,
)
_ENDS = re.compile(r"^[\s\"'<>_\-–—,;:|]+|[\s\"'<>_\-–—,;:|]+$")
_BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_HIDDEN = frozenset({"Co", "Cn", "Cf"})
_SPACE = frozenset({"Cc", "Cs", "Zl", "Zp", "Zs"})


def clean(text: str | None) -> str:
    """`text` on one line, without special characters for YAML, a terminal or a file name."""
    visible = (char for char in text or "" if category(char) not in _HIDDEN)
    spaced = "".join(" " if category(char) in _SPACE else char for char in visible)
    return " ".join(spaced.split())[:LONGEST].strip()


def title(text: str | None) -> str | None:
    """`text` if a person chose it as a title; None for a file name, a path or a program."""
    name, before = clean(text), None
    while name != before:
        before = name
        name = _ENDS.sub("", _PROGRAM.sub("", name))
        whole = _BRACKETS.fullmatch(name)
        name = (whole[1] if whole else name).strip()
    if len(name) < (3 if name.isascii() else 2) or sum(map(str.isalpha, name)) < 2:
        return None
    if _FILE.search(name) or _PATH.search(name) or _NO_TITLE.fullmatch(name):
        return None
    return name


FOLDER = "documents"
"""The folder of a vault where djinn writes documents."""

HISTORY = f"{FOLDER}/.history"
"""The folder of earlier versions. It is hidden, so that searches do not return them."""

_ENDINGS = {form.content_type: name for name, form in FORMATS.items()} | {"text/plain": "txt"}

TITLE_LINES = 40
"""The title may be the first heading within this number of lines."""


def body(document: Document) -> str:
    """The text of a document's note below the front matter."""
    pages = [defang(page).strip("\n") for page in document.pages]
    if not document.paged:
        return "\n\n".join(pages) + "\n"
    return "".join(
        f"{mark(number)}\n\n" + (f"{page}\n\n" if page else "")
        for number, page in enumerate(pages, 1)
    )


def title_of(document: Document, name: str) -> str:
    """A document's title: from its metadata, its first heading, or the name of its file."""
    return title(document.title) or _first_heading(document.pages) or stem(name)


def stem(name: str) -> str:
    """The name of a file without its extension, as a title."""
    return clean(PurePath(name).stem.replace("_", " ")) or "document"


def _first_heading(pages: Sequence[str]) -> str:
    first = "\n".join((pages[0] if pages else "").split("\n")[:TITLE_LINES])
    texts = (
        first[slice(*heading.title)] for heading in headings(mask(first)) if heading.level == 1
    )
    return next((title for text in texts if (title := clean(inline(text)))), "")


def extension(name: str, kind: str) -> str:
    """The file extension for the stored original: no path, and not the extension of a note.

    `kind` is the content type. It applies when the file name has no extension.
    """
    suffix = re.sub(r"[^a-z0-9]", "", PurePath(name).suffix.lower())[:12]
    suffix = suffix or re.sub(r"[^a-z0-9]", "", _ENDINGS.get(kind, kind).lower())[:12] or "bin"
    return ".md.original" if suffix == "md" else f".{suffix}"
