"""Decides which metadata titles a person chose, and makes them safe."""

from __future__ import annotations

import re
from unicodedata import category

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
    visible = "".join(
        " " if category(char) in _SPACE else char
        for char in text or ""
        if category(char) not in _HIDDEN
    )
    return " ".join(visible.split())[:LONGEST].strip()


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
