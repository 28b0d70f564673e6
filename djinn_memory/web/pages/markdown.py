"""Markdown as HTML that can do nothing: raw HTML stays text, and images of others become links."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any
from urllib.parse import unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

MOST_RENDERED = 200_000
"""Maximum characters of a text that is rendered, which takes two seconds. A longer one is shown as
it is."""

Links = Mapping[str, str]
"""The address of each link of a note, by its target as written."""

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li",
    "ol", "p", "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip

_WIKILINK = re.compile(r"!?\[\[([^\[\]\n|]{1,500})(?:\|([^\[\]\n]{1,500}))?\]\]")

_CALLOUT = re.compile(r"\[!(\w+)\][+-]?[ \t]*(.*)")

_TASK = re.compile(r"\[([ xX])\](?=\s)")

_FRONT_MATTER = re.compile(r"\A---\r?\n.*?\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def to_html(text: str, links: Links, title: str = "") -> str:
    """The text of a note as HTML, without its front matter, and without a first heading that is its
    title. `links` lead to other pages.
    """
    body = _FRONT_MATTER.sub("", text, count=1).lstrip("\r\n")
    if len(body) > MOST_RENDERED:
        return f'<pre tabindex="0">{escape(body)}</pre>'
    heading, _, rest = body.partition("\n")
    if title and heading.strip() == f"# {title}":
        body = rest
    return nh3.clean(
        _renderer().render(body, {"links": links}),
        tags=_TAGS,
        attributes={"a": {"href", "title", "class"}, "ol": {"start"}, "pre": {"tabindex"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


@cache
def _renderer() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.inline.ruler.before("link", "wikilink", _wikilink)
    markdown.core.ruler.before("inline", "marks", _marks)
    markdown.add_render_rule("fence", _code)
    markdown.add_render_rule("code_block", _code)
    markdown.add_render_rule("link_open", _link_open)
    markdown.add_render_rule("image", _image)
    markdown.add_render_rule("wikilink", _render_wikilink)
    return markdown


def _marks(state: StateCore) -> None:
    """Turn the marks of callouts and tasks into text that a person reads."""
    tokens = state.tokens
    # A text follows the beginnings of its block and of its paragraph.
    for block, token in zip(tokens, tokens[2:], strict=False):
        if token.type != "inline":
            continue
        if block.type == "blockquote_open" and (match := _CALLOUT.match(token.content)):
            title = match[2] or match[1].capitalize()
            token.content = f"**{title}**\\{token.content[match.end() :]}".rstrip("\\")
        elif block.type == "list_item_open" and (match := _TASK.match(token.content)):
            token.content = ("☐" if match[1] == " " else "☑") + token.content[match.end() :]


def _code(_: RendererHTML, tokens: Sequence[Token], index: int, options: object, env: Any) -> str:
    # A long line is scrolled with keys, too.
    return f'<pre tabindex="0"><code>{escape(tokens[index].content)}</code></pre>\n'


def _wikilink(state: StateInline, silent: bool) -> bool:
    match = _WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("wikilink", "a", 0)
        token.meta = {"target": match[1].strip()}
        token.content = (match[2] or match[1]).strip()
    state.pos = match.end()
    return True


def _render_wikilink(
    _: RendererHTML, tokens: Sequence[Token], index: int, options: object, env: Any
) -> str:
    token = tokens[index]
    return _anchor(_address(env, token.meta["target"]), token.content)


def _link_open(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    token = tokens[index]
    target = unquote(str(token.attrs.get("href", "")))
    if address := _address(env, target):
        token.attrs["href"] = address
    elif not _scheme(target):
        # It would lead to a page of this server.
        del token.attrs["href"]
        token.attrs["class"] = "missing"
    return renderer.renderToken(tokens, index, options, env)


def _image(_: RendererHTML, tokens: Sequence[Token], index: int, options: object, env: Any) -> str:
    token = tokens[index]
    source = str(token.attrs.get("src", ""))
    address = source if _scheme(source) in ("http", "https") else None
    return _anchor(address or _address(env, unquote(source)), token.content or source)


def _address(env: Any, target: str) -> str | None:
    """The address of the page of a target, which may name a heading or a block."""
    links: Links = env["links"]
    return links.get(target) or links.get(target.partition("#")[0])


def _scheme(address: str) -> str:
    """Such as `https`; empty for a path and for an address that is none."""
    try:
        return urlsplit(address).scheme
    except ValueError:
        return ""


def _anchor(address: str | None, text: str) -> str:
    if address is None:
        return f'<a class="missing">{escape(text)}</a>'
    return f'<a href="{escape(address)}">{escape(text)}</a>'
