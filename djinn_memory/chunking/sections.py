"""The headings of a note and the text under each."""

from __future__ import annotations

import re
from bisect import bisect_right

from djinn_memory.models import Section
from djinn_memory.notes.markup import code_blocks
from djinn_memory.notes.plain import inline

_HEADING = re.compile(
    r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<atx>[^\n]*?))?(?:[ \t]+#+)?[ \t]*$"
    r"|(?:(?<=\n\n)|\A|(?<=---\n))(?![ \t]*(?:[-*+>#|]|\d+[.)]))"
    r"(?P<setext>[^\n]*\S[^\n]*)\n {0,3}(?P<line>={2,}|-{2,})[ \t]*$",
    re.MULTILINE,
)


def sections(text: str, body: int = 0) -> list[Section]:
    """The sections of `text` from offset `body` on, in order, covering every character.

    Headings are ATX or one-line setext, outside code fences. Text before the first heading is a
    section without a path.
    """
    fences = code_blocks(text)
    starts = [start for start, _ in fences]
    found = []
    for match in _HEADING.finditer(text, body):
        fence = bisect_right(starts, match.start()) - 1
        if fence >= 0 and match.start() < fences[fence][1]:
            continue
        level = len(match["marks"]) if match["marks"] else (1 if match["line"][0] == "=" else 2)
        title = inline(match["atx"] or match["setext"] or "")
        found.append((level, title, match.start(), min(match.end() + 1, len(text))))
    result = [Section((), body, body, found[0][2] if found else len(text))]
    trail: list[tuple[int, str]] = []
    for number, (level, title, opens, start) in enumerate(found):
        while trail and trail[-1][0] >= level:
            trail.pop()
        trail.append((level, title))
        end = found[number + 1][2] if number + 1 < len(found) else len(text)
        path = tuple(name for _, name in trail if name)
        result.append(Section(path, opens, start, max(start, end)))
    return result
