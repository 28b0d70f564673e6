"""Links and names as the reader of an index sees them, in whichever database they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from msgspec.structs import replace

from djinn_memory.notes.slugs import name_key
from djinn_memory.store.index.records import Backlink, Edge, IndexedLink
from djinn_memory.store.index.selection import P, Row, Selections

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from djinn_memory.models import Vault
    from djinn_memory.notes.dialects.rules import DialectRules
    from djinn_memory.notes.link_resolution import LinkTarget

_OF_FILES = ("path", "suffix", "name")
"""The ways in which a link is resolved by the path or the name of a file."""


class StoredLink(NamedTuple):
    """A link and the note that contains it."""

    key: Hashable
    """It identifies the link in the index."""
    link: IndexedLink
    """The link as it is for a reader who may see everything."""
    vault: str
    path: str


class StoredLinks(ABC, Generic[P]):
    """The links of some vaults. A link to a hidden memory leads where it would without it."""

    def __init__(
        self, selections: Selections[P], vaults: Sequence[Vault], reserved: Mapping[str, str]
    ) -> None:
        """`reserved` is as for `Resolver`."""
        self._selections = selections
        self._vaults = vaults
        self._reserved = reserved

    @abstractmethod
    def _stored(self, memory_ids: Collection[int]) -> Iterable[StoredLink]:
        """The links from and to memories, without links from or to hidden vaults."""

    @abstractmethod
    def _affected(self) -> Iterable[StoredLink]:
        """The readable links that lead, or could lead, to memories that the reader may not see."""

    @abstractmethod
    def _edges(self, shown: Sequence[str] | None) -> Iterable[tuple[Hashable, Edge]]:
        """The links with targets, without links from or to hidden vaults, each with its key.

        `shown` is as for `edges`, and not empty.
        """

    @abstractmethod
    def _notes(
        self, named: str | None = None, keys: Collection[str] | None = None
    ) -> list[LinkTarget]:
        """The notes that the reader may see, with all their names.

        The result may be limited to the notes that a name may mean exactly, or that have one of
        the `keys` of `lookup_keys`.
        """

    @abstractmethod
    def _place(self, key: int) -> tuple[P, Any]:
        """The part of a note of `_notes`, given by its key, and the note's own key in it."""

    def links(self, memory_ids: Collection[int]) -> list[IndexedLink]:
        """The links from and to these memories, without links from or to hidden vaults."""
        wanted = set(memory_ids)
        seen = dict(self.seen)
        stored = [seen.pop(each.key, each.link) for each in self._stored(memory_ids)]
        return [
            link
            for link in (*stored, *seen.values())
            if link.source in wanted or link.target in wanted
        ]

    def backlinks(self, memory_ids: Collection[int]) -> list[Backlink]:
        """The links in texts of other memories to these, without links from hidden vaults."""
        wanted = set(memory_ids)
        links = sorted(
            (link.source, link.line, link.start, link.target, link.text)
            for link in self.links(memory_ids)
            if link.field is None and link.target in wanted and link.target != link.source
        )
        around = self._around({source for source, *_ in links})
        backlinks = []
        for source, line, _, target, text in links:
            date, chunks = around[source]
            holding = (chunk for chunk, first, last in chunks if first <= line <= last)
            backlinks.append(Backlink(target, source, text, line, next(holding, None), date))
        return backlinks

    def edges(self, shown: Sequence[str] | None = None) -> list[Edge]:
        """The links between different memories, without links from or to hidden vaults.

        With `shown`, only links with a shown text of their own that contains one of these parts of
        words, and perhaps others.
        """
        if shown is not None and not shown:
            return []
        seen = self.seen
        edges = [
            edge
            for key, edge in self._edges(shown)
            if key not in seen and edge.source != edge.target
        ]
        edges += [
            Edge(link.source, link.target, link.line, link.label or link.text, link.field)
            for link in seen.values()
            if link.target not in (None, link.source) and (shown is None or link.label)
        ]
        edges.sort(key=lambda edge: (edge.source, edge.line, edge.target))
        return edges

    def shown(self, parts: Sequence[str]) -> Mapping[str, Collection[int]]:
        """The targets of such links by their shown texts; see `Index.shown`."""
        targets: dict[str, set[int]] = {}
        for edge in self.edges(parts):
            targets.setdefault(edge.text, set()).add(edge.target)
        return targets

    def ends(self) -> npt.NDArray[np.int64]:
        """See `Index.ends`."""
        import numpy as np

        return np.array([edge[:3] for edge in self.edges()], np.int64).reshape(-1, 3)

    @cached_property
    def seen(self) -> dict[Hashable, IndexedLink]:
        """The links that lead elsewhere for the reader than for others, as the reader sees them."""
        from djinn_memory.notes.link_resolution import Resolver

        affected = list(self._affected()) if self._selections.hides else []
        if not affected:
            return {}
        keys = self._keys([(each.link.text, each.vault, each.path) for each in affected])
        notes = self._notes(keys=None if any(_of_block(each) for each in affected) else keys)
        resolver = Resolver(notes, reserved=self._reserved, rules=self._rules)
        seen = {}
        for key, link, vault, path in affected:
            to = resolver.resolve(link.text, source_vault=vault, source_path=path, kind=link.kind)
            targets = [] if to.key is None else self._memories([to.key], link.block, whole=True)
            target, ambiguous = next(iter(targets), None), bool(to.ambiguous)
            seen[key] = replace(link, target=target, how=to.how, ambiguous=ambiguous)
        return seen

    def resolve(self, name: str) -> list[int]:
        """The numbers of the memories that a name could mean; see `Index.resolve`."""
        # Bytes of a path that are no text come as lone surrogates, which no database takes.
        name = name.encode("utf-8", "replace").decode()
        written = name.strip()
        if written.startswith("[[") and written.endswith("]]"):
            written = written[2:-2]
        note, section, block = written.partition("#^")
        if section and self._exactly(name):
            # A file may have such a name.
            note, section, block = name, "", ""
        keys = self._exactly(note if section else name) or self._as_link(note)
        return self._memories(keys, block if section else None) or self._sections(name)

    @cached_property
    def _rules(self) -> dict[str, DialectRules]:
        from djinn_memory.notes.dialects.rules import of_vault

        return {vault.name: of_vault(vault) for vault in self._vaults}

    def _exactly(self, name: str) -> list[int]:
        return exact(name, self._notes(named=name))

    def _as_link(self, name: str) -> list[int]:
        """The notes that a name could mean as the target of a link, in any of the vaults.

        A name that ends with `.md` means a file, and never a note with such a title.
        """
        from djinn_memory.notes.link_resolution import Resolver

        written = name.removesuffix(".md")
        if not written:
            return []
        notes = self._notes(keys=self._keys([(written, vault, "") for vault in self._rules]))
        keys: dict[int, None] = {}
        for vault in self._rules:
            own = [note for note in notes if note.vault == vault]
            to = Resolver(own, rules=self._rules).resolve(
                written, source_vault=vault, source_path=""
            )
            if to.key is not None and (written == name or to.how in _OF_FILES):
                keys.update(dict.fromkeys(to.ambiguous or (to.key,)))
        return list(keys)

    def _keys(self, links: Iterable[tuple[str, str, str]]) -> set[str] | None:
        """The names by which links mean notes, given as text, vault and path.

        None if the rules of a vault give notes names of their own.
        """
        from djinn_memory.notes.link_resolution import wanted_keys

        keys: set[str] = set()
        for text, vault, path in links:
            wanted = wanted_keys(text, self._rules[vault], path)
            if wanted is None:
                return None
            keys |= wanted
        return keys

    def _memories(
        self, notes: Sequence[int], block: str | None, *, whole: bool = False
    ) -> list[int]:
        """The memories with this block in notes, given by keys; None stands for whole notes.

        With `whole`, the whole note stands in for a missing block.
        """
        tables = self._selections.tables
        memories = []
        for note in notes:
            part, own = self._place(note)
            where = part.readable
            where.add(f"memory.note_id {tables.among}", [own])
            where.add("(memory.block is null or lower(memory.block) = lower(%s))", block)
            known = {
                section is None: part.key(number)
                for section, number in part.rows(
                    f"select memory.block, {tables.memory} {tables.memories} where {where.sql}",
                    where.values,
                )
            }
            wanted = block is None
            if wanted in known or (whole and True in known):
                memories.append(known.get(wanted, known.get(True, 0)))
        return memories

    def _sections(self, name: str) -> list[int]:
        """The sections of journals with this id, or else with this title."""
        for column, wanted in (("uid", name), ("name", name_key(name))):
            sections = []
            for part in self._selections.parts():
                where = part.readable
                where.add(f"memory.{column} = %s and memory.block is not null", wanted)
                tables = self._selections.tables
                sql = f"select {tables.memory} {tables.memories} where {where.sql}"
                sections += [part.key(number) for (number,) in part.rows(sql, where.values)]
            if sections:
                return sections
        return []

    def _around(self, memory_ids: Collection[int]) -> dict[int, tuple[str, list[Row]]]:
        """The date of memories, and number, first and last line of their chunks in order."""
        tables = self._selections.tables
        around: dict[int, tuple[str, list[Row]]] = {}
        for part, numbers in self._selections.of(memory_ids):
            for number, date in part.rows(
                f"select {tables.memory}, date {tables.memories} "
                f"where {part.readable.sql} and {tables.memory} {tables.among}",
                (*part.readable.values, numbers),
            ):
                around[part.key(number)] = date, []
            for number, chunk, first, last in part.rows(
                f"select {tables.owner}, {tables.chunk}, first_line, last_line "
                f"{tables.chunks_alone} where {tables.own} and {tables.owner} {tables.among} "
                "order by 1, ordinal",
                (numbers,),
            ):
                around[part.key(number)][1].append((part.key(chunk), first, last))
        return around


def exact(name: str, notes: Sequence[LinkTarget]) -> list[int]:
    """The note at `vault:path`; otherwise notes with this id, this path or this `vault/path`."""
    near = [note for note in notes if name == note.id or name.endswith(note.path)]
    for note in near:
        if name == f"{note.vault}:{note.path}":
            return [note.key]
    return [note.key for note in near if name in (note.id, note.path, f"{note.vault}/{note.path}")]


def _of_block(stored: StoredLink) -> bool:
    """Whether a link names a block of a note, by which no note is looked up."""
    return stored.link.kind == "block"
