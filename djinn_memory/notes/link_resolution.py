"""Finds the note that a link means, by `spec/links.md`, and points links at another note."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple
from urllib.parse import quote

from msgspec import Struct

from djinn_memory.home import access
from djinn_memory.models import Dialect
from djinn_memory.notes.dialects.rules import RULES, DialectRules
from djinn_memory.notes.frontmatter import block_end, opened
from djinn_memory.notes.links import BAR, MARKDOWN, Kind, Link, LinkSyntax, addresses
from djinn_memory.notes.slugs import fold
from djinn_memory.system.expressions import expression

How = Literal["self", "path", "suffix", "name", "id", "title", "alias", "slug", "part", "block"]

_WORD = expression(r"[^\W_]+")

_SEPARATORS = expression(r"(?<=\w)[\s\-_.,:;/\u2010-\u2015]+(?=\w)")
"""Separators between the words of a name. All separators are equivalent."""


class LinkTarget(Struct, frozen=True):
    """A file that a link can mean. `path` is POSIX, relative to the vault, with its extension.

    An attachment has no title and is found only by its path and name.
    """

    key: int
    vault: str
    path: str
    id: str | None
    title: str | None
    aliases: tuple[str, ...]
    blocks: tuple[str, ...] = ()
    """UUIDs of its Logseq blocks."""


class Resolution(Struct, frozen=True):
    """The target's key and the way it was found. Both are None for an unresolved link.

    When there are several candidates, `ambiguous` contains all their keys, sorted.
    """

    key: int | None
    how: How | None
    ambiguous: tuple[int, ...] = ()


class Resolver:
    """Resolves links among the targets of a home.

    `reserved` contains the agent of each vault that belongs to one agent. Only links from that
    agent's vaults resolve to targets in it, and they look in the open vaults first.

    `rules` contains the rules of each vault that does not use Obsidian's dialect. The rules of a
    link's vault determine how the link is read; those of a note's vault determine its names.
    """

    def __init__(
        self,
        targets: Iterable[LinkTarget],
        *,
        reserved: Mapping[str, str] | None = None,
        rules: Mapping[str, DialectRules] | None = None,
    ) -> None:
        by_vault: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        for target in targets:
            by_vault[target.vault].append(target)
        self._rules = rules or {}
        self._vaults = {
            name: _Vault(members, self._rules_of(name)) for name, members in by_vault.items()
        }
        self._reserved = reserved or {}
        # None stands for all agents. The shared vault is first; the others keep their order.
        self._of: defaultdict[str | None, list[str]] = defaultdict(list)
        for name in sorted(by_vault, key=lambda name: not access.is_shared_name(name)):
            self._of[self._reserved.get(name)].append(name)

    def resolve(
        self, target: str, *, source_vault: str, source_path: str, kind: Kind = "wiki"
    ) -> Resolution:
        """Resolve a target from `parse_links`; the link is in the note at `source_path`."""
        if not target.strip():
            return self._itself(source_vault, source_path)
        rules = self._rules_of(source_vault)
        place, written = rules.address(target)
        wanted = _name(written)
        for inside in (fold(place), None) if place else (None,):
            for name in self._seen_from(source_vault):
                if name not in self._vaults:
                    continue
                folder = _folder(source_path) if name == source_vault else None
                for how, targets in self._vaults[name].find(wanted, folder, kind, rules):
                    candidates = [target for target in targets if _lies_in(target, inside)]
                    if candidates:
                        return _choose(how, candidates, folder)
        return Resolution(None, None)

    def _rules_of(self, vault: str) -> DialectRules:
        return self._rules.get(vault) or RULES["obsidian"]

    def _seen_from(self, vault: str) -> Iterable[str]:
        agent = self._reserved.get(vault)
        return dict.fromkeys([vault, *self._of.get(None, ()), *self._of.get(agent, ())])

    def _itself(self, vault: str, path: str) -> Resolution:
        here = self._vaults[vault].paths.get(_name(path), []) if vault in self._vaults else []
        key = next((target.key for target in here if target.path == path), None)
        return Resolution(key, None if key is None else "self")


def lookup_keys(target: LinkTarget) -> set[str]:
    """All names by which `wiki` links may find a target, whatever the vault of the link.

    A link can only mean a target if they have a key in common; see `wanted_keys`.
    """
    names = [target.path, *_endings(_name(target.path)), *target.aliases]
    names += [target.id] if target.id else []
    names += [target.title, *_slugs_of(target)] if target.title is not None else []
    return set(map(_name, names))


def wanted_keys(target: str, rules: DialectRules, source_path: str = "") -> set[str] | None:
    """The `lookup_keys` of which a target has one if a link in the note at a path may mean it.

    This holds for `wiki` and `markdown` links. None if the vault's rules give notes names of their
    own.
    """
    if rules.renames:
        return None
    if not target.strip():
        return {_name(source_path)}
    wanted = _name(rules.address(target)[1])
    paths = wanted.lstrip("/"), posixpath.join(_folder(source_path), wanted).lstrip("/")
    return {wanted, *map(posixpath.normpath, paths), _slug(wanted)}


class NameSearch:
    """Finds the targets that may have a key, in a tenth of the time of a new `Resolver`."""

    def __init__(self, targets: Iterable[LinkTarget]) -> None:
        self._named = [
            (
                target,
                fold(
                    "\n".join((target.path, target.id or "", target.title or "", *target.aliases))
                ),
            )
            for target in targets
        ]

    def sharing(self, keys: Iterable[str]) -> list[LinkTarget]:
        """The targets with all words of one of these keys in their names.

        Among them is each that has one of the keys, see `lookup_keys`.
        """
        sharing: dict[int, LinkTarget] = {}
        for words in {frozenset(_WORD.findall(key)) for key in keys}:
            named = self._named
            for word in words:
                named = [each for each in named if word in each[1]]
            sharing.update((target.key, target) for target, _ in named)
        return [*sharing.values()]


class _Vault:
    """The names of a vault's targets. Each list begins with the shortest path."""

    def __init__(self, targets: list[LinkTarget], rules: DialectRules) -> None:
        targets = sorted(targets, key=lambda target: (len(target.path), target.path))
        self._notes = [target for target in targets if target.title is not None]
        self.paths = _by_name(targets, lambda target: [target.path])
        self._endings = _by_name(targets, lambda target: _endings(_name(target.path)))
        self._ids = _by_name(targets, lambda target: [target.id] if target.id else ())
        self._aliases = _by_name(targets, lambda target: target.aliases)
        self._blocks = _by_name(targets, lambda target: target.blocks)
        self._titles = _by_name(self._notes, lambda note: [note.title or ""])
        self._names = _by_name(self._notes, lambda note: rules.names(note.path, rules.title_format))
        self._parts = _by_name(self._notes, lambda note: rules.parts(note.path))

    @cached_property
    def _slugs(self) -> _Index:
        return _by_name(self._notes, _slugs_of)

    def find(
        self, wanted: str, folder: str | None, kind: Kind, rules: DialectRules
    ) -> Iterator[tuple[How, list[LinkTarget]]]:
        """Yield the targets named `wanted`, rule by rule.

        `folder` is None for a link from another vault.
        """
        if kind == "block":
            yield "block", self._blocks.get(wanted, [])
            return
        if kind == "wiki" and rules.renames:
            yield "name", self._names.get(wanted, [])
        dotted = not {".", ".."}.isdisjoint(wanted.split("/"))
        if folder is not None and (dotted or kind == "markdown"):
            yield "path", self._at(posixpath.join(folder, wanted))
        if folder is not None or not dotted:
            yield "path", self._at(wanted)
        if dotted or wanted.startswith("/"):
            return
        yield "suffix" if "/" in wanted else "name", self._endings.get(wanted, [])
        if kind == "wiki":
            yield "id", self._ids.get(wanted, [])
            yield "title", self._titles.get(wanted, [])
            yield "alias", self._aliases.get(wanted, [])
            yield "slug", self._slugs.get(_slug(wanted), [])
            if rules.renames:
                yield "part", self._parts.get(wanted, [])

    def _at(self, path: str) -> list[LinkTarget]:
        # Without its first slash, a path that climbs out of the vault keeps its ".." and matches no
        # file. With the slash, `normpath` would drop the "..".
        return self.paths.get(posixpath.normpath(path.lstrip("/")), [])


_Index = dict[str, list[LinkTarget]]


def _by_name(targets: Iterable[LinkTarget], names: Callable[[LinkTarget], Iterable[str]]) -> _Index:
    index: _Index = {}
    for target in targets:
        for name in dict.fromkeys(map(_name, names(target))):
            index.setdefault(name, []).append(target)
    return index


def _name(written: str) -> str:
    return fold(written.strip()).removesuffix(".md")


def _slugs_of(note: LinkTarget) -> tuple[str, str]:
    return _slug(posixpath.basename(_name(note.path))), _slug(note.title or "")


def _slug(written: str) -> str:
    """A name with all separators unified.

    A name with other special characters, such as `x.*`, matches no note.
    """
    return _SEPARATORS.sub("-", fold(written.strip()))


def _lies_in(target: LinkTarget, place: str | None) -> bool:
    """Whether a target is in the vault, or below the folder, of that name.

    None matches anywhere.
    """
    return place is None or place in (fold(target.vault), *_folder(target.path).split("/"))


def _folder(path: str) -> str:
    return posixpath.dirname(fold(path))


def _endings(path: str) -> Iterator[str]:
    yield path
    while slash := path.find("/") + 1:
        path = path[slash:]
        yield path


def _choose(how: How, candidates: list[LinkTarget], folder: str | None) -> Resolution:
    if len(candidates) == 1:
        return Resolution(candidates[0].key, how)
    place = f"{folder}/" if folder else ""
    below = (target for target in candidates if fold(target.path).startswith(place))
    keys = tuple(sorted(target.key for target in candidates))
    return Resolution(next(below, candidates[0]).key, how, keys)


_LINE_END = expression(r"\r\n?|\n")
_UNSAFE = expression(r"[%#<>\\]")
_UNSAFE_BARE = expression(r"[\s%#<>()\\]")
"""Characters that the path of a Markdown link contains only percent-encoded."""


class Address(NamedTuple):
    """The new address of a link."""

    target: str
    """The target as a wikilink writes it, or the path of a Markdown link, not percent-encoded."""
    anchor: str | None = None
    """The heading or block after the `#`; None keeps what is written."""


Rewrite = Callable[[Link], Address | None]
"""Returns the new address of a link. None keeps the link."""


def led_to(name: str, path: str, source: str, is_wanted: Callable[[Link], bool]) -> Rewrite:
    """Leads the wanted links of the note at `source` to the note called `name` at `path`."""
    relative = posixpath.relpath(path, posixpath.dirname(source) or ".")

    def rewrite(link: Link) -> Address | None:
        if link.kind not in ("wiki", "markdown") or not is_wanted(link):
            return None
        return Address(name if link.kind == "wiki" else relative)

    return rewrite


def relinked(
    data: bytes, rewrite: Rewrite, dialect: Dialect = "obsidian", *, shows: bool = False
) -> tuple[bytes, int]:
    """The bytes of a note with links changed, and the number of changed links.

    Links keep their heading, block and label, and every other byte stays. With `shows`, a wikilink
    without a label keeps showing what it showed. Links in code, and in comments of the front
    matter, are no links. Raises `Refused` for a note in another encoding than UTF-8 and UTF-16.
    """
    bom, encoding, text = opened(data)
    syntax = RULES[dialect].syntax
    end = block_end(text)
    head, changed_in_fields = _replaced(text[:end], rewrite, syntax, shows=shows, fields=True)
    body, changed = _replaced(text[end:], rewrite, syntax, shows=shows)
    return bom + (head + body).encode(encoding), changed_in_fields + changed


def new_link(words: str, target: str, anchor: str, dialect: Dialect, *, table: bool = False) -> str:
    """A link that shows words, to an address as `Address` has it. `anchor` begins with `#`, if any.

    In a `table` no bar ends the cell.
    """
    syntax = RULES[dialect].syntax
    if syntax is MARKDOWN:
        return f"[{words}]({_UNSAFE_BARE.sub(lambda sign: quote(sign[0]), target)}{anchor})"
    if words == target and not anchor:
        return f"[[{target}]]"
    if syntax.whole:
        return f"[{words}]([[{target}]])"
    bar = "\\|" if table else "|"
    first, last = (words, target + anchor) if syntax.label_first else (target + anchor, words)
    return f"[[{first}{bar}{last}]]"


def with_changes(data: bytes, changes: Iterable[tuple[int, int, str]]) -> bytes:
    """The bytes of a note with spans of its text replaced. No change spans lines.

    The spans are those of the text with `\\n` line ends. Raises `Refused` as `relinked` does.
    """
    bom, encoding, text = opened(data)
    ends = _LINE_END.findall(text)
    return bom + _spliced(_LINE_END.sub("\n", text), ends, changes).encode(encoding)


def _spliced(text: str, ends: Sequence[str], changes: Iterable[tuple[int, int, str]]) -> str:
    """A text with spans replaced. `ends` are its own line ends, for which `\\n` stands in it."""
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    lines = text.split("\n")
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


def _replaced(
    text: str, rewrite: Rewrite, syntax: LinkSyntax, *, shows: bool, fields: bool = False
) -> tuple[str, int]:
    ends = _LINE_END.findall(text)
    text = _LINE_END.sub("\n", text)
    changes: list[tuple[int, int, str]] = []
    renamed: dict[str, str] = {}
    for link, (start, end) in addresses(text, masked=not fields, syntax=syntax):
        comment = fields and text[text.rfind("\n", 0, start) + 1 : start].lstrip().startswith("#")
        address = None if comment else rewrite(link)
        if address is None:
            continue
        written = text[start:end]
        if link.kind == "wiki":
            new = _wiki(written, link, address, syntax, shows=shows)
            renamed[link.target] = address.target
        else:
            new = _path(written, address, bare=text[start - 1] != "<")
        if fields and text[link.start - 1 : link.start] == "'":
            new = new.replace("'", "''")
        if new != written:
            changes.append((start, end, new))
    count = len(changes)
    changes += _defined(text, renamed)
    return _spliced(text, ends, changes), count


def _defined(text: str, renamed: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """The changes of labels of the definitions that Foam writes for its wikilinks."""
    for old, new in renamed.items():
        if f"][{old}]" not in text:
            for match in re.finditer(rf"^ {{0,3}}\[({re.escape(old)})\]:[ \t]", text, re.MULTILINE):
                yield *match.span(1), new


def _wiki(written: str, link: Link, address: Address, syntax: LinkSyntax, *, shows: bool) -> str:
    if syntax.whole:
        return address.target
    bar = BAR.search(written)
    if syntax.label_first:
        label, target = (written[: bar.end()], written[bar.end() :]) if bar else ("", written)
    else:
        target, label = (written[: bar.start()], written[bar.start() :]) if bar else (written, "")
    own, anchor = _parted(target, address.anchor)
    name = own.strip()
    suffix = name[-3:] if name.lower().endswith(".md") else ""
    new = f"{address.target}{suffix}{anchor}"
    new = own.replace(name, new) if name else new
    if not shows or label or link.embed or (anchor and not syntax.label_first):
        return f"{label}{new}" if syntax.label_first else f"{new}{label}"
    if syntax.label_first:
        return f"{link.target}|{new}"
    return new if link.target == address.target else f"{new}|{link.target}"


def _path(written: str, address: Address, *, bare: bool) -> str:
    anchor = _parted(written, address.anchor)[1]
    unsafe = _UNSAFE_BARE if bare else _UNSAFE
    return unsafe.sub(lambda sign: quote(sign[0]), address.target) + anchor


def _parted(written: str, anchor: str | None) -> tuple[str, str]:
    """The target of an address, and its anchor with the `#`, or another anchor instead."""
    target, mark, own = written.partition("#")
    return target, mark + own if anchor is None else f"#{anchor}"
