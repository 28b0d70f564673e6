"""Finds which links must be written anew when notes get other names, and writes them."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import PurePosixPath

from msgspec import UNSET, Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.home import access
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dialects.rules import RULES, of_vault
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.link_resolution import (
    Address,
    LinkTarget,
    Resolution,
    Resolver,
    Rewrite,
    relinked,
)
from djinn_memory.notes.links import Kind, Link
from djinn_memory.notes.note import parse
from djinn_memory.notes.slugs import letters
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Selection

Place = tuple[str, str]
"""The name of a vault, and the path of a note in it."""

_UNLINKABLE = re.compile(r'[][|#^"\\]')
"""Characters that a wikilink in the front matter cannot contain."""

_DEFINITION = re.compile(rb"(?m)^ {0,3}\[[^\]\n]+\]:[ \t]+[^\n]*\.md", re.IGNORECASE)
"""A definition of a reference-style link, which the index does not have."""

_QUOTED = re.compile(r"\[\[([^\[\]|#\n]+)")


class Stray(Struct, frozen=True):
    """A link that is not written anew, although it would lead elsewhere."""

    source: Place
    text: str
    kind: Kind
    key: int
    """The note that it leads to."""


class Relinking:
    """The names of all notes of an index, before and after some of them change."""

    def __init__(self, index: Index) -> None:
        self.vaults = {vault.name: vault for vault in index.vaults}
        self.journals: set[Place] = set()
        """The journals, which are not rewritten."""
        self._index = index
        self._targets: dict[Place, LinkTarget] = {}
        self._sources: dict[int, Place] = {}
        for memory in index.memories(Selection(), fields=()):
            place = self._sources[memory.memory_id] = memory.vault, memory.path
            key = len(self._targets)
            if memory.block is UNSET:
                names = memory.title, memory.aliases
                self._targets[place] = LinkTarget(key, *place, memory.id, *names)
            else:
                self.journals.add(place)
                title = PurePosixPath(memory.path).stem
                self._targets.setdefault(place, LinkTarget(key, *place, None, title, ()))
        self._places = {target.key: place for place, target in self._targets.items()}
        self._after = dict(self._targets)
        self._headings: set[int] = set()
        """The notes in which the first heading has the title, before and after."""

    @cached_property
    def _links(self) -> defaultdict[Place, Counter[tuple[str, Kind]]]:
        """The links of each note, while the index is open."""
        links: defaultdict[Place, Counter[tuple[str, Kind]]] = defaultdict(Counter)
        for link in self._index.links([*self._sources]):
            if link.source in self._sources:
                links[self._sources[link.source]][link.text, link.kind] += 1
        return links

    def change(
        self, place: Place, to: Place, title: str | None = None, *, heading: bool = False
    ) -> None:
        """Give a note another place and another title, which may stand in its first heading."""
        target = self._after[place]
        changed = replace(target, vault=to[0], path=to[1], title=title or target.title)
        self._after[place] = changed
        if heading:
            self._headings.add(target.key)
        self.__dict__.pop("_resolver", None)

    def add_alias(self, place: Place, alias: str) -> None:
        """Give a note another name."""
        target = self._after[place]
        self._after[place] = replace(target, aliases=(*target.aliases, alias))
        self.__dict__.pop("_resolver", None)

    def key(self, place: Place) -> int:
        """The number of a note in `Stray`."""
        return self._targets[place].key

    def moved(self, place: Place) -> Place:
        """The place of a note after the change."""
        target = self._after[place]
        return target.vault, target.path

    def is_renamed(self, place: Place) -> bool:
        """Whether a note gets another place or title."""
        return self._after[place] != self._targets[place]

    def sources(self) -> list[Place]:
        """The notes whose links may need another address, sorted."""
        return sorted(place for place in self._targets if self._is_source(place))

    def _is_source(self, place: Place) -> bool:
        if self.moved(place) != place or self._needs_any(place):
            return True
        with suppress(OSError, DjinnError):
            return bool(_DEFINITION.search(disk.read(self.vaults[place[0]], place[1])))
        return False

    def _needs_any(self, source: Place) -> bool:
        return any(
            self._needs(source, *link) is not None or self._led(source, *link) in self._headings
            for link in self._links[source]
        )

    def strays(self, source: Place) -> Iterator[Stray]:
        """The links of a note that lead elsewhere if they stay."""
        for link, count in self._links[source].items():
            key = self._needs(source, *link)
            if key is not None and self._now(source, *link).key != key:
                yield from [Stray(source, *link, key)] * count

    def quoted(self, source: Place) -> Iterator[Stray]:
        """The same for a journal, in which links in quoted speech count too."""
        with suppress(OSError, DjinnError):
            text = decode(disk.read(self.vaults[source[0]], source[1]))[0]
            for target in map(str.strip, _QUOTED.findall(text)):
                key = self._needs(source, target, "wiki")
                if key is not None and self._now(source, target, "wiki").key != key:
                    yield Stray(source, target, "wiki", key)

    def leads_to(self, source: Place, text: str, kind: Kind) -> Place | None:
        """The note that a link in another leads to after the change."""
        key = self._now(source, text, kind).key
        return None if key is None else self._places[key]

    def leads(self, stray: Stray) -> int | None:
        """The note that a link leads to after the change."""
        return self._now(stray.source, stray.text, stray.kind).key

    def places(self) -> list[Place]:
        """All notes, sorted."""
        return sorted(self._targets)

    def place(self, key: int) -> Place:
        """The place of a note before the change."""
        return self._places[key]

    def rewritten(self, source: Place, data: bytes) -> tuple[bytes, int, list[Stray]]:
        """The bytes of a note after the change, the number of changed links, and the stray links.

        Raises `Refused` for a note that cannot be edited.
        """
        vault = self.vaults[source[0]]
        changed, count = relinked(data, self._rewrite(source), vault.dialect)
        old, new = (parse(source[1], each, vault.dialect) for each in (data, changed))
        before, after = [*old.links], [*new.links]
        if len(before) != len(after) or old.problem != new.problem:
            return data, 0, [*self.strays(source)]
        strays = [
            Stray(source, now.target, now.kind, key)
            for then, now in zip(before, after, strict=True)
            if then.target
            and (key := self._led(source, then.target, then.kind)) is not None
            and self._now(source, now.target, now.kind).key != key
        ]
        return changed, count, strays

    @cached_property
    def _before(self) -> Resolver:
        return self._resolver_of(self._targets)

    @cached_property
    def _resolver(self) -> Resolver:
        return self._resolver_of(self._after)

    def _resolver_of(self, targets: Mapping[Place, LinkTarget]) -> Resolver:
        vaults = [*self.vaults.values()]
        return Resolver(
            targets.values(),
            reserved=access.reserved_for(vaults),
            rules={vault.name: of_vault(vault) for vault in vaults},
        )

    def _led(self, source: Place, text: str, kind: Kind) -> int | None:
        """The note that a link leads to before the change."""
        vault, path = source
        return self._before.resolve(text, source_vault=vault, source_path=path, kind=kind).key

    def _now(self, source: Place, text: str, kind: Kind) -> Resolution:
        """Where a link leads after the change."""
        vault, path = self.moved(source)
        return self._resolver.resolve(text, source_vault=vault, source_path=path, kind=kind)

    def _needs(self, source: Place, text: str, kind: Kind) -> int | None:
        """The note to which a link leads, if its address must change."""
        if kind == "block" or not text:
            return None
        old = self._before.resolve(text, source_vault=source[0], source_path=source[1], kind=kind)
        if old.key is None:
            return None
        new = self._now(source, text, kind)
        same = new.key == old.key and (bool(old.ambiguous) or not new.ambiguous)
        return None if same else old.key

    def _rewrite(self, source: Place) -> Rewrite:
        """The new addresses of the links of a note."""
        known: dict[tuple[str, Kind], str | None] = {}

        def rewrite(link: Link) -> Address | None:
            if link.kind == "file":
                path = self._file(source, link.target)
                return Address(path) if path else None
            name = link.target, link.kind
            if name not in known:
                key = self._needs(source, *name)
                known[name] = None if key is None else self._spelled(source, link, key)
            anchor = self._anchor(source, link)
            if known[name] is None and anchor is None:
                return None
            if known[name] is None and link.kind == "markdown" and link.target:
                return Address(f"{link.target}.md", anchor)
            return Address(known[name] or link.target, anchor)

        return rewrite

    def address(self, source: Place, to: Place, kind: Kind, first: Sequence[str]) -> str | None:
        """The text of a new link to a note, one of the names in `first` if it leads there alone."""
        target = self._after[to]
        names = self._wiki_names if kind == "wiki" else self._paths
        return self._unique(source, kind, target.key, [*first, *names(source, "", target)])

    def _spelled(self, source: Place, link: Link, key: int) -> str | None:
        """The text of a link that leads to a note and to no other; None if there is none."""
        target = self._after[self._places[key]]
        names = self._wiki_names if link.kind == "wiki" else self._paths
        return self._unique(source, link.kind, key, names(source, link.target, target))

    def _unique(self, source: Place, kind: Kind, key: int, names: Iterable[str]) -> str | None:
        """The first of names that leads to a note alone, or else with others."""
        ambiguous = None
        for text in dict.fromkeys(names):
            if kind == "wiki" and (not text or _UNLINKABLE.search(text)):
                continue
            resolution = self._now(source, text.removesuffix(".md"), kind)
            if resolution.key == key and not resolution.ambiguous:
                return text
            if resolution.key == key:
                ambiguous = ambiguous or text
        return ambiguous

    def _wiki_names(self, source: Place, written: str, target: LinkTarget) -> Iterator[str]:
        """The texts of a wikilink to a note, beginning with the form of the present one."""
        how = self._before.resolve(written, source_vault=source[0], source_path=source[1]).how
        stem = target.path.removesuffix(".md")
        parts = stem.split("/")
        tails = ["/".join(parts[-length:]) for length in range(1, len(parts) + 1)]
        rules = RULES[self.vaults[target.vault].dialect]
        names = [*(rules.parts(target.path) if how == "part" else rules.names(target.path, ""))]
        place = self.vaults[source[0]].dialect == "dendron" and written.startswith("dendron://")
        prefix = f"dendron://{target.vault}/" if place else ""
        address = written.rpartition("//")[2].partition("/")[2] if place else written
        if address.startswith("/"):
            yield f"/{stem}"
        if address.startswith("."):
            yield self._relative(source, stem, dotted=address.startswith("./"))
        by_file = how in ("path", "suffix", "name", "part")
        depth = address.strip("/").count("/")
        own = [stem if how == "path" and depth else tails[min(depth, len(tails) - 1)]]
        forms = [*names, *own, target.title or ""] if by_file else [target.title or "", *own]
        yield from (f"{prefix}{name}" for name in (*forms, *names, *tails, f"/{stem}"))

    def _paths(self, source: Place, written: str, target: LinkTarget) -> Iterator[str]:
        """The paths of a Markdown link to a note, beginning with the form of the present one."""
        if not written.startswith("/") and self.moved(source)[0] == target.vault:
            yield self._relative(source, target.path, dotted=written.startswith("./"))
        yield from (f"/{target.path}", target.path)

    def _relative(self, source: Place, path: str, *, dotted: bool) -> str:
        folder = posixpath.dirname(self.moved(source)[1]) or "."
        relative = posixpath.relpath(path, folder)
        return f"./{relative}" if dotted and not relative.startswith(".") else relative

    def _file(self, source: Place, written: str) -> str | None:
        """The new path of a link from a moved note to a file in its vault that is no note."""
        (vault, path), to = source, self.moved(source)
        old, new = posixpath.dirname(path), posixpath.dirname(to[1])
        if to[0] != vault or old == new or not written or written.startswith("/"):
            return None
        file = posixpath.normpath(posixpath.join(old, written))
        if file.startswith("..") or not (self.vaults[vault].root / file).exists():
            return None
        return self._relative(source, file, dotted=written.startswith("./"))

    def _anchor(self, source: Place, link: Link) -> str | None:
        """The new anchor of a link to the first heading of a renamed note."""
        if not link.heading or not self._headings:
            return None
        key = self._led(source, link.target, link.kind)
        if key is None or key not in self._headings:
            return None
        place, (first, mark, rest) = self._places[key], link.heading.partition("#")
        old, new = (str(titles[place].title) for titles in (self._targets, self._after))
        if letters(first) != letters(old):
            return None
        new = re.sub(r"[#|^\[\]]", "", new)
        if link.kind == "markdown":
            new = re.sub(r"\s+", "-" if " " not in first else "%20", new)
            new = new.lower() if first == first.lower() else new
        return f"{new}{mark}{rest}" + (f"#^{link.block}" if link.block else "")
