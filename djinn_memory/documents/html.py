"""Converts HTML to Markdown that shows the visible content of the page. Nothing is downloaded."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector
from markdownify import ATX, MarkdownConverter

from djinn_memory.documents.markdown import escape, fenced
from djinn_memory.notes.encoding import decode

_DROPPED = ("script", "style", "template", "noscript", "head", "svg")
_LAYOUT = ("table", "h1", "h2", "h3", "pre", "ul", "ol", "blockquote")
"""Elements that a Markdown table cannot hold: a table with one of them is used only for layout."""

_WIDEST = 100
"""Maximum number of columns and rows that a cell may span; a page can claim a million."""

_WIDER = {
    "iso-8859-1": "cp1252", "latin-1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252",
    "iso-8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "shift-jis": "cp932", "sjis": "cp932", "euc-kr": "cp949", "ks_c_5601-1987": "cp949",
    "tis-620": "cp874", "iso-8859-11": "cp874",
}  # fmt: skip
"""The encodings that browsers use for these names: https://encoding.spec.whatwg.org/#names."""

# A mark at the end of a text node may continue in the next node.
_ACTIVE = re.compile(
    r"""(?mx)
    \\(?=[!-/:-@\[-`{-~]) | [`*_]
  | \[(?=\[|\Z) | \](?=[(:\[]|\Z) | <(?=[A-Za-z/!?]|\Z)
  | ~(?=~|\Z) | %(?=%|\Z) | \$(?=\$|\Z) | (?<![^\W_]) \#
  | (?P<lead> ^[ \t]*+) (?: [-+=>](?=\s|\Z) | [-=](?=[-=]) )
  | (?<!\S) \^ (?=[\w-]+\s*$)
    """
)


def html_text(data: bytes) -> tuple[str, str | None]:
    """The text of an HTML file, decoded with the encoding that it names, otherwise by `decode`."""
    text, remark = decode(data)
    if remark is None and b"\x1b" not in data:
        return text, None
    named = EncodingDetector.find_declared_encoding(data, is_html=True, search_entire_document=True)
    encoding = (named or "").lower()
    if encoding and not encoding.startswith("utf-16"):
        with suppress(LookupError, TypeError, ValueError):
            text, remark = data.decode(_WIDER.get(encoding, encoding), "replace"), None
            text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, remark


def html_facts(text: str) -> dict[str, Any]:
    """Title, author and subject in the metadata of a page."""
    soup: Any = BeautifulSoup(text, "lxml")
    facts: dict[str, Any] = {}
    if soup.title and soup.title.get_text().strip():
        facts["title"] = soup.title.get_text()
    for meta in soup.find_all("meta"):
        key = {"author": "author", "description": "subject"}.get(str(meta.get("name", "")).lower())
        if key and meta.get("content"):
            facts.setdefault(key, str(meta["content"]))
    return facts


def html_markdown(text: str) -> str:
    """The body of a page as Markdown."""
    # Not html.parser: it takes minutes for a page with unclosed elements.
    soup: Any = BeautifulSoup(text, "lxml")
    for element in soup.find_all(_DROPPED):
        element.decompose()
    for table in soup.find_all("table"):
        if table.find(_LAYOUT):
            _unwrap(table)
        else:
            _fill_spans(table)
    body = soup.body or soup
    try:
        markdown = _PageConverter(heading_style=ATX, table_infer_header=True).convert_soup(body)
    except RecursionError:
        markdown = escape(body.get_text("\n", strip=True))
    return str(markdown)


class _PageConverter(MarkdownConverter):
    def escape(self, text: str, parent_tags: Any) -> str:
        return _ACTIVE.sub(lambda mark: f"{mark['lead'] or ''}\\{mark[0].lstrip()}", text)

    def convert_a(self, el: Any, text: str, parent_tags: Any) -> str:
        address = "".join(
            char if char.isprintable() and char not in ' <>()[]"\\' else f"%{ord(char):02X}"
            for char in str(el.get("href") or "").strip()
        )
        words = text.strip()
        if words == "↑" and address.startswith("#"):  # mammoth's link back from a footnote
            return ""
        outward = re.match(r"(?:https?|mailto):", address, re.IGNORECASE)
        alone = "\n" in words or words.startswith(("#", "|", ">", "```"))
        if not outward or not words or "_noformat" in parent_tags or alone:
            return text
        before, after = text[: text.index(words)], text[text.index(words) + len(words) :]
        return f"{before}[{words}]({address}){after}"

    def convert_img(self, el: Any, text: str, parent_tags: Any) -> str:
        alt = " ".join(str(el.get("alt") or "").split())
        return alt if "_noformat" in parent_tags else self.escape(alt, parent_tags)

    def convert_video(self, el: Any, text: str, parent_tags: Any) -> str:
        return text

    def convert_pre(self, el: Any, text: str, parent_tags: Any) -> str:
        if not text.strip():
            return ""
        if "_inline" in parent_tags:
            return self.escape(text, parent_tags)
        return f"\n\n{fenced(text.strip(chr(10)))}\n\n"

    def convert_td(self, el: Any, text: str, parent_tags: Any) -> str:
        shown = " ".join(text.split()).replace("|", "\\|")
        return f" {shown} |" + "  |" * (_span(el, "colspan") - 1)

    convert_th = convert_td


def _unwrap(table: Any) -> None:
    """Replace a layout table with the content of its cells. Nested tables are kept."""
    for part in table.find_all(("tbody", "thead", "tfoot", "tr", "td", "th", "caption")):
        if part.find_parent("table") is table:
            part.name = "div"
    table.name = "div"


def _fill_spans(table: Any) -> None:
    """Insert an empty cell where a cell above spans the row, so that the columns stay aligned."""
    factory: Any = BeautifulSoup("", "lxml")
    spans: dict[int, int] = {}
    for row in table.find_all("tr"):
        at = 0
        for cell in [*row.find_all(("td", "th"), recursive=False), None]:
            while spans.get(at, 0):
                spans[at] -= 1
                empty = factory.new_tag("td")
                if cell is None:
                    row.append(empty)
                else:
                    cell.insert_before(empty)
                at += 1
            if cell is None:
                break
            width, height = (_span(cell, name) for name in ("colspan", "rowspan"))
            for column in range(at, at + width):
                spans[column] = height - 1
            at += width


def _span(cell: Any, name: str) -> int:
    value = str(cell.get(name) or "1")
    return max(1, min(_WIDEST, int(value))) if value.isdecimal() else 1
