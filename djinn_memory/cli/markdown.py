"""Prints Markdown: rendered at a terminal, else as it is written."""

from __future__ import annotations

import io
import re
import sys
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import asdict

from djinn_memory.cli.output import clean_lines, is_dumb, say, say_verbatim, shows_links, width_of
from djinn_memory.models import MemoryRef
from djinn_memory.notes.links import Link, parse_links

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from djinn_memory.cli.command import Call
    from djinn_memory.memories.briefing.requests import AgentContext

LONGEST = 100_000
"""Maximum characters of a text that is rendered, which takes 0.7 s (4 s if all is a table)."""


INDENTS = {"blockquote": 4, "list_item": 4}
"""Columns that a level of nesting takes at most."""

NARROWEST = 20
"""Minimum columns of a rendered text. Rich leaves out what has no room."""


def say_markdown(call: Call, text: str, *memories: MemoryRef) -> None:
    """Print the Markdown of memories. At a terminal their links open the notes."""
    from djinn_memory.memories.verbs import linked_files

    text, width = clean_lines(text), _rendered_width()
    if width is not None and len(text) <= LONGEST:
        runtime, agent = call.djinn.runtime, call.request.agent
        tokens = _tokens(text, linked_files(runtime, memories, agent) if shows_links() else {})
        indents = (
            token.nesting * INDENTS.get(token.type.rpartition("_")[0], 0) for token in tokens
        )
        if max(accumulate(indents), default=0) + NARROWEST <= width:
            say_verbatim(_rendered(tokens, width))
            return
    say(text)


def say_briefing(call: Call, briefing: AgentContext) -> None:
    """Print a briefing. At a terminal, a rule separates its memories."""
    from djinn_memory.memories.briefing.markdown import excerpts, markdown

    text = markdown(briefing, rule="---" if _rendered_width() else "")
    listed = (memory for part in asdict(briefing).values() for memory in excerpts(part))
    memories = (memory for memory in listed if isinstance(memory, MemoryRef))
    say_markdown(call, text.rstrip(), *memories)


def _rendered_width() -> int | None:
    """The columns in which Markdown is rendered; None if it is printed as it is."""
    return None if is_dumb() else width_of(sys.stdout)


def _rendered(tokens: list[Any], width: int) -> str:
    """The tokens of Markdown on lines of at most `width` columns, with escapes for a terminal."""
    # They take 0.1 s to import.
    from rich.console import Console
    from rich.markdown import Heading, Markdown, TableElement
    from rich.text import Text
    from rich.theme import Theme

    class LeftHeading(Heading):
        LEVEL_ALIGN: ClassVar = {}

    class FoldedTable(TableElement):
        """A table of which no text is cut. If it has too many columns, its rows become lines."""

        def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
            heads = [self.header.row] if self.header and self.header.row else []
            rows = [row.cells for row in (*heads, *(self.body.rows if self.body else ()))]
            for cell in chain(*rows):
                cell.content.overflow = "fold"
            if len(rows[0]) * 4 <= options.max_width:
                yield from super().__rich_console__(console, options)
            else:
                yield from (Text(" | ").join(cell.content for cell in row) for row in rows)

    class Page(Markdown):
        elements: ClassVar = {
            **Markdown.elements,
            "heading_open": LeftHeading,
            "table_open": FoldedTable,
        }

    page = Page("", code_theme="ansi_dark", hyperlinks=shows_links())
    page.parsed = tokens
    theme = Theme({"markdown.block_quote": "none", "markdown.code": "cyan"})
    lines = io.StringIO()
    console = Console(
        file=lines, force_terminal=True, width=width, theme=theme, legacy_windows=False
    )
    console.print(page)
    return re.sub(r" +$", "", lines.getvalue().rstrip("\n"), flags=re.MULTILINE)


def _tokens(text: str, files: Mapping[str, str]) -> list[Any]:
    """The tokens of a Markdown text, in which links to notes lead to their files."""
    from markdown_it import MarkdownIt

    @lru_cache(maxsize=1)
    def links_in(text: str) -> dict[int, Link]:
        return {link.start: link for link in parse_links(text, prose=text)}

    def note_link(state: Any, silent: bool) -> bool:
        link = links_in(state.src).get(state.pos) if state.src[state.pos] in "[!" else None
        if link is None:
            return False
        if not silent:
            target, label = link.target, link.label or _written(link)
            if label in files and target not in files:
                # Dendron writes the label first.
                target, label = label, target
            file = files.get(target)
            if file:
                state.push("link_open", "a", 1).attrs = {"href": Path(file).as_uri()}
            state.push("text", "", 0).content = label
            if file:
                state.push("link_close", "a", -1)
        state.pos = link.end
        return True

    # HTML is shown as text, since nothing that a note says may be lost.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100})
    # Rich prints an image before its paragraph. Definitions, such as of footnotes, would vanish.
    # Terminals open addresses by themselves.
    parser.enable(["strikethrough", "table"]).disable(["image", "reference", "autolink"])
    parser.inline.ruler.before("link", "note_link", note_link)
    tokens = parser.parse(text)
    for token in tokens:
        for part in (token, *(token.children or ())):
            # An entity such as `&#x202e;` becomes its character.
            part.content = clean_lines(part.content)
            if part.type == "softbreak":
                part.type = "hardbreak"
            if part.type == "link_open" and ":" not in str(part.attrs["href"]) and shows_links():
                part.attrs["href"] = ""
    return tokens


def _written(link: Link) -> str:
    """The address of a link that has no label."""
    anchor = f"^{link.block}" if link.block else link.heading
    return f"{link.target}#{anchor}" if anchor else link.target
