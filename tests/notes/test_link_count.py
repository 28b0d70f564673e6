"""The links of real vaults, against a count by another parser, in the dialect as guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from djinn_memory.notes.dialects.guess import guess
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.link_resolution import LinkTarget, Resolver
from djinn_memory.notes.note import Note, parse

FRONT_MATTER = re.compile(r"---\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
WIKILINK = re.compile(r"\[\[([^\[\]\n|#]*)(#[^\[\]\n|]*)?(?:\|[^\[\]\n]*)?\]\]")
UNREAD = re.compile(r"%%.*?%%|\$\$.*?\$\$|^\[(?!\^)[^\]\n]+\]: [^\n]*$", re.DOTALL | re.MULTILINE)
"""Comments, maths, and Foam's definitions, of which CommonMark makes links."""

PARSER = MarkdownIt("commonmark").enable("table")


def targets(text: str) -> Iterator[str]:
    """The targets of the wikilinks in a text without markup."""
    for match in WIKILINK.finditer(text):
        if match[1].strip() or match[2]:
            yield match[1].strip().removesuffix(".md")


def plain(token: Token) -> str:
    """The text of an inline token; what is code, HTML or escaped becomes a NUL."""
    shown = {"text": token.content, "softbreak": "\n", "hardbreak": "\n"}
    return shown.get(token.type, "\0" if token.content else "")


def counted(text: str) -> Counter[str]:
    """The targets of all links of a note, by CommonMark and a regular expression."""
    front = FRONT_MATTER.match(text)
    links = Counter(targets(front[1]) if front else ())
    body = UNREAD.sub("", text[front.end() :] if front else text)
    for token in PARSER.parse(body):
        children = token.children or []
        links.update(targets("".join(map(plain, children))))
        for child in children:
            address = str(child.attrGet("href") or "")
            path = unquote(address.partition("#")[0])
            if child.type == "link_open" and path.lower().endswith(".md") and ":" not in address:
                links[path[:-3]] += 1
    return links


def expected(target: str, source: str, paths: dict[str, str]) -> str | None:
    """The path that a target means by its name alone; `paths` are known by their folded form."""
    name = target.casefold().strip("/")
    if name in paths:
        return paths[name]
    ending = [path for folded, path in paths.items() if folded.endswith(f"/{name}")]
    folder = source.rpartition("/")[0]
    own = [path for path in ending if folder and path.startswith(f"{folder}/")]
    return min(own or ending, key=lambda path: (len(path), path), default=None)


@pytest.mark.few(2)
@pytest.mark.parametrize("vault", ["foam-docs", "jackyzha0", "kepano"])
def test_links_as_another_parser_counts_them(data_dir: Path, vault: str) -> None:
    root = data_dir / "vaults" / vault
    if not root.is_dir():
        pytest.skip(f"no vault at {root}")
    dialect = guess(root).dialect
    notes: dict[str, Note] = {}
    same = ours = theirs = 0
    for path in sorted(root.rglob("*.md")):
        name, data = path.relative_to(root).as_posix(), path.read_bytes()
        notes[name] = parse(name, data, dialect)
        read = Counter(link.target for link in notes[name].links)
        count = counted(data.decode().replace("\r\n", "\n"))
        same += (read & count).total()
        ours += read.total()
        theirs += count.total()
    assert same >= 0.99 * max(ours, theirs), (same, ours, theirs)
    resolver = Resolver(
        (
            LinkTarget(key, vault, name, note.id, note.title, note.aliases)
            for key, (name, note) in enumerate(notes.items())
        ),
        rules={vault: RULES[dialect]},
    )
    names = list(notes)
    paths = {name.removesuffix(".md").casefold(): name for name in names}
    right = wrong = 0
    for name, note in notes.items():
        for link in note.links:
            if link.kind == "wiki" and (meant := expected(link.target, name, paths)):
                found = resolver.resolve(link.target, source_vault=vault, source_path=name).key
                hit = found is not None and names[found] == meant
                right, wrong = right + hit, wrong + (not hit)
    assert right >= 0.99 * (right + wrong), (right, wrong)
    print(vault, same, ours, theirs, right, wrong)
