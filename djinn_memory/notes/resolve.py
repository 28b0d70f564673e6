"""Finds the note that a link means, by the table in `spec/links.md`."""

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from djinn_memory.notes.slugs import fold, slug

How = Literal["self", "path", "suffix", "name", "id", "title", "alias", "slug"]


@dataclass(frozen=True)
class Target:
    """A file that a link can mean; `path` is POSIX, from the vault's root, with extension.

    An attachment has no title, and is found by its path and name only.
    """

    key: int
    vault: str
    path: str
    id: str | None
    title: str | None
    aliases: tuple[str, ...]


@dataclass(frozen=True)
class Resolution:
    """The target's key and how it was found, both None when nothing was.

    `ambiguous` holds the sorted keys of all candidates when there were several.
    """

    key: int | None
    how: How | None
    ambiguous: tuple[int, ...] = ()


class Resolver:
    """Resolves links among the targets of a home.

    `reserved` gives the agent of each vault that is one agent's alone: only links from that
    agent's vaults enter it, and they look in the open vaults first.
    """

    def __init__(
        self,
        targets: Iterable[Target],
        *,
        shared: str = "shared",
        reserved: Mapping[str, str] | None = None,
    ) -> None:
        by_vault: defaultdict[str, list[Target]] = defaultdict(list)
        for target in targets:
            by_vault[target.vault].append(target)
        self._vaults = {name: _Vault(members) for name, members in by_vault.items()}
        self._reserved = reserved or {}
        # None is everybody. `sorted` is stable: after the shared vault the others stay in the
        # order first seen.
        self._of: defaultdict[str | None, list[str]] = defaultdict(list)
        for name in sorted(by_vault, key=shared.__ne__):
            self._of[self._reserved.get(name)].append(name)

    def resolve(
        self,
        target: str,
        *,
        source_vault: str,
        source_path: str,
        kind: Literal["wiki", "markdown"] = "wiki",
    ) -> Resolution:
        """Resolve a target as `parse_links` gives it, linked from the note at `source_path`."""
        if not target.strip():
            return self._itself(source_vault, source_path)
        wanted = _name(target)
        for name in self._seen_from(source_vault):
            if name not in self._vaults:
                continue
            folder = _folder(source_path) if name == source_vault else None
            for how, candidates in self._vaults[name].find(wanted, folder, kind):
                if candidates:
                    return _choose(how, candidates, folder)
        return Resolution(None, None)

    def _seen_from(self, vault: str) -> Iterable[str]:
        agent = self._reserved.get(vault)
        return dict.fromkeys([vault, *self._of.get(None, ()), *self._of.get(agent, ())])

    def _itself(self, vault: str, path: str) -> Resolution:
        here = self._vaults[vault].paths.get(_name(path), []) if vault in self._vaults else []
        key = next((target.key for target in here if target.path == path), None)
        return Resolution(key, None if key is None else "self")


class _Vault:
    """What one vault's targets are called; each list has the shortest path first."""

    def __init__(self, targets: list[Target]) -> None:
        targets.sort(key=lambda target: (len(target.path), target.path))
        self.paths = _Index()
        self._endings = _Index()
        self._ids = _Index()
        self._titles = _Index()
        self._aliases = _Index()
        self._notes: list[Target] = []
        for target in targets:
            path = _name(target.path)
            self.paths[path].append(target)
            for ending in _endings(path):
                self._endings[ending].append(target)
            if target.id:
                self._ids[_name(target.id)].append(target)
            if target.title is not None:
                self._titles[_name(target.title)].append(target)
                self._notes.append(target)
            for alias in {_name(alias) for alias in target.aliases}:
                self._aliases[alias].append(target)

    @cached_property
    def _slugs(self) -> "_Index":
        slugs = _Index()
        for note in self._notes:
            for name in {slug(posixpath.basename(_name(note.path))), slug(note.title or "")}:
                slugs[name].append(note)
        return slugs

    def find(
        self, wanted: str, folder: str | None, kind: Literal["wiki", "markdown"]
    ) -> Iterator[tuple[How, list[Target]]]:
        """Yield, step by step, what is called `wanted`; `folder` is None from another vault."""
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
            yield "slug", self._slugs.get(slug(wanted), [])

    def _at(self, path: str) -> list[Target]:
        # Without its first slash a path that climbs out of the vault keeps its "..", and so
        # matches no file; with it, `normpath` would drop the "..".
        return self.paths.get(posixpath.normpath(path.lstrip("/")), [])


class _Index(defaultdict[str, list[Target]]):
    def __init__(self) -> None:
        super().__init__(list)


def _name(written: str) -> str:
    return fold(written.strip()).removesuffix(".md")


def _folder(path: str) -> str:
    return posixpath.dirname(fold(path))


def _endings(path: str) -> Iterator[str]:
    yield path
    while slash := path.find("/") + 1:
        path = path[slash:]
        yield path


def _choose(how: How, candidates: list[Target], folder: str | None) -> Resolution:
    if len(candidates) == 1:
        return Resolution(candidates[0].key, how)
    beside = (target for target in candidates if _folder(target.path) == folder)
    keys = tuple(sorted(target.key for target in candidates))
    return Resolution(next(beside, candidates[0]).key, how, keys)
