"""Points links in the text of a note at another note, and leaves everything else as it is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from djinn_memory.models import Dialect
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.frontmatter import block_end, opened
from djinn_memory.notes.links import Link, LinkSyntax, parse_links

_ADDRESS = re.compile(r"\]\([ \t]*(?P<open><?)(?P<path>[^#>\s)]*)")
_LINE_END = re.compile(r"\r\n?|\n")
_BAR = re.compile(r"\\?\|")


def relinked(
    data: bytes,
    source: str,
    is_wanted: Callable[[Link], bool],
    name: str,
    path: str,
    dialect: Dialect = "obsidian",
) -> tuple[bytes, int]:
    """The bytes of the note at `source` with links changed, and the number of changed links.

    Wanted links lead to the note called `name` at `path`. They keep their heading, block and label,
    and a wikilink without a label keeps showing what it showed.
    """
    bom, encoding, text = opened(data)
    syntax = RULES[dialect].syntax
    end = block_end(text)
    head, changed_in_fields = _replaced(text[:end], source, is_wanted, name, path, syntax)
    body, changed = _replaced(text[end:], source, is_wanted, name, path, syntax)
    return bom + (head + body).encode(encoding), changed_in_fields + changed


def _replaced(
    text: str,
    source: str,
    is_wanted: Callable[[Link], bool],
    name: str,
    path: str,
    syntax: LinkSyntax,
) -> tuple[str, int]:
    ends = _LINE_END.findall(text)
    text = _LINE_END.sub("\n", text)
    parts: list[str] = []
    at, count = 0, 0
    for link in parse_links(text, syntax=syntax):
        if not is_wanted(link):
            continue
        written = text[link.start : link.end]
        if link.kind == "markdown":
            new = _markdown(written, source, path)
        else:
            new = _wiki(written, link, name, syntax)
        if new != written:
            parts += (text[at : link.start], new)
            at, count = link.end, count + 1
    lines = "".join((*parts, text[at:])).split("\n")
    # No link spans lines, so that each line keeps its end.
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True)), count


def _wiki(written: str, link: Link, name: str, syntax: LinkSyntax) -> str:
    start = written.index("[[") + 2
    stop = written.rindex("]]")
    inner = written[start:stop]
    if syntax.whole:
        new = name
    else:
        bar = _BAR.search(inner)
        if syntax.label_first:
            shown, target = (inner[: bar.end()], inner[bar.end() :]) if bar else ("", inner)
            anchor = target[target.index("#") :] if "#" in target else ""
            new = f"{shown or ('' if link.embed else f'{link.target}|')}{name}{anchor}"
        else:
            target, rest = (inner[: bar.start()], inner[bar.start() :]) if bar else (inner, "")
            anchor = target[target.index("#") :] if "#" in target else ""
            plain = not (rest or anchor or link.embed or link.target == name)
            new = f"{name}{anchor}{rest or (f'|{link.target}' if plain else '')}"
    return written[:start] + new + written[stop:]


def _markdown(written: str, source: str, path: str) -> str:
    matches: Iterator[re.Match[str]] = _ADDRESS.finditer(written)
    address = max(matches, key=re.Match.start, default=None)
    if address is None:
        return written
    relative = posixpath.relpath(path, posixpath.dirname(source) or ".")
    new = relative if address["open"] else quote(relative)
    return written[: address.start("path")] + new + written[address.end("path") :]
