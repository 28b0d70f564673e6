"""Reads links between memories.

Their targets are found by path, so that a link may lead to another scope, and to a note that is
pushed later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

from djinn_memory.notes.links import Kind
from djinn_memory.store.index.records import Backlink, IndexedLink
from djinn_memory.store.postgres.index.names import EVERY_NOTE, LINKED, Narrowing, targets
from djinn_memory.store.postgres.index.scopes import ReadScope, Row, Scopes

_LINK = (
    "link.memory, link.number, link.target, link.line, link.start, link.field, link.embed, "
    "link.how, link.heading, link.block, link.kind, link.target_scope, link.target_path, "
    "link.target_block, link.target_is_memory, link.candidates, memory.path"
)


class StoredLink(NamedTuple):
    """A link as the server holds it, of a source that the reader may see."""

    scope: ReadScope
    memory: int
    number: int
    text: str
    line: int
    start: int
    field: str | None
    embed: bool
    how: str | None
    heading: str | None
    block: str | None
    kind: Kind
    target_scope: UUID | None
    target_path: str | None
    target_block: str | None
    target_is_memory: bool
    candidates: tuple[tuple[str, str], ...]
    source_path: str

    @property
    def place(self) -> tuple[UUID | None, str | None, str | None]:
        """Where it leads."""
        return self.target_scope, self.target_path, self.target_block


class SeenEnd(NamedTuple):
    """Where a link leads, as a reader sees it."""

    memory: int | None
    """The number of the memory in the index."""
    how: str | None
    ambiguous: bool


class Links:
    """The links of some scopes, as their reader sees them."""

    def __init__(self, scopes: Scopes, reserved: Mapping[str, str]) -> None:
        """`reserved` is as for `Resolver`."""
        self._scopes = scopes
        self._reserved = reserved

    def links(self, memory_ids: Collection[int]) -> list[IndexedLink]:
        """The links from and to these memories, without links from or to hidden scopes."""
        wanted = set(memory_ids)
        stored = dict.fromkeys([*self._from(memory_ids), *self._to(memory_ids)])
        known = self._targets(stored)
        listed = []
        for link in stored:
            if link.target_scope is not None and link.target_scope not in self._known:
                continue
            source, end = link.scope.key(link.memory), self._end(link, known)
            if source in wanted or end.memory in wanted:
                listed.append(
                    IndexedLink(
                        source, end.memory, link.text, link.line, link.start, link.field,
                        link.embed, end.how, end.ambiguous, link.heading, link.block,
                        link.kind,
                    )
                )  # fmt: skip
        return listed

    def backlinks(self, memory_ids: Collection[int]) -> list[Backlink]:
        """The links in texts of other memories to these, without links from hidden scopes."""
        wanted = set(memory_ids)
        stored = [link for link in self._to(memory_ids) if link.field is None]
        known = self._targets(stored)
        around = self._around(stored)
        backlinks = []
        for link in sorted(stored, key=lambda each: (each.scope.key(each.memory), each.line,
                                                     each.start)):  # fmt: skip
            source, target = link.scope.key(link.memory), self._end(link, known).memory
            if target is not None and target in wanted and target != source:
                chunk, date = around[source, link.line]
                backlinks.append(Backlink(target, source, link.text, link.line, chunk, date))
        return backlinks

    def unresolved(self, scope: ReadScope, memories: Collection[int]) -> int:
        """The number of links of memories of a scope that are resolved, but not for the reader."""
        return sum(
            link.scope is scope and link.memory in memories and end.how is None
            for link, end in self._seen.items()
        )

    @property
    def hides(self) -> bool:
        """Whether any link leads, or could lead, to a memory that the reader may not see."""
        return bool(self._seen)

    def neighbours(self, memory_id: int) -> list[int]:
        """The memories that a memory links to, or that link to it."""
        ends = ((link.source, link.target) for link in self.links([memory_id]))
        near = {end for pair in ends for end in pair if end is not None}
        itself = any(link.source == link.target for link in self.links([memory_id]))
        return sorted(near if itself else near - {memory_id})

    @cached_property
    def _known(self) -> set[UUID]:
        return {scope.id for scope in self._scopes}

    def _from(self, memory_ids: Collection[int]) -> Iterator[StoredLink]:
        for scope, numbers in self._scopes.of(memory_ids):
            yield from self._stored(
                scope, "link.memory = any(%s) order by link.memory, link.number", (numbers,)
            )

    def _to(self, memory_ids: Collection[int]) -> Iterator[StoredLink]:
        """The links to memories, from every scope that is read, and links that may lead there."""
        yield from self._seen
        for target, numbers in self._scopes.of(memory_ids):
            places = self._scopes.rows(
                "select distinct path from index_memories where user_id = %s and number = any(%s)",
                (target.id, numbers),
            )
            paths = [path for (path,) in places]
            for scope in self._scopes:
                yield from self._stored(
                    scope,
                    "link.target_scope = %s and link.target_path = any(%s) "
                    "order by link.memory, link.number",
                    (target.id, paths),
                )

    def _stored(
        self, scope: ReadScope, where: str, values: Sequence[object]
    ) -> Iterator[StoredLink]:
        listed = self._scopes.rows(
            f"select {_LINK} from index_links as link join index_memories as memory "
            "on memory.user_id = link.user_id and memory.number = link.memory "
            f"where link.user_id = %s and memory.domain_set = any(%s) and {where}",
            (scope.id, scope.visible, *values),
        )
        for *row, candidates, path in listed:
            yield StoredLink._make((scope, *row, _frozen(candidates), path))

    def _targets(
        self, links: Iterable[StoredLink]
    ) -> Mapping[tuple[UUID | None, str | None, str | None], int]:
        """The memories at the places to which links lead."""
        wanted: dict[UUID, set[str]] = {}
        for link in links:
            if link.target_scope and link.target_path is not None:
                wanted.setdefault(link.target_scope, set()).add(link.target_path)
        targets: dict[tuple[UUID | None, str | None, str | None], int] = {}
        for scope in self._scopes:
            listed: list[Row] = self._scopes.rows(
                "select path, block, number from index_memories "
                "where user_id = %s and path = any(%s) and domain_set = any(%s)",
                (scope.id, sorted(wanted.get(scope.id, ())), scope.visible),
            )
            targets |= {(scope.id, path, block): scope.key(key) for path, block, key in listed}
        return targets

    def _end(
        self, link: StoredLink, targets: Mapping[tuple[UUID | None, str | None, str | None], int]
    ) -> SeenEnd:
        if seen := self._seen.get(link):
            return seen
        memory = targets.get(link.place) if link.target_is_memory else None
        return SeenEnd(memory, link.how, bool(link.candidates))

    @cached_property
    def _seen(self) -> dict[StoredLink, SeenEnd]:
        """The ends of links that lead, or could lead, to memories that the reader may not see.

        They are resolved as if those did not exist.
        """
        if not any(scope.hides for scope in self._scopes):
            return {}
        from djinn_memory.notes.dialects.rules import of_vault
        from djinn_memory.notes.link_resolution import Resolver

        affected = self._affected()
        if not affected:
            return {}
        narrowed = self._meant_by(affected)
        notes, places = targets(self._scopes, lambda scope: narrowed)
        rules = {scope.name: of_vault(scope.vault) for scope in self._scopes}
        resolver = Resolver(notes, reserved=self._reserved, rules=rules)
        ends = {}
        for link in affected:
            resolution = resolver.resolve(
                link.text, source_vault=link.scope.name, source_path=link.source_path,
                kind=link.kind,
            )  # fmt: skip
            memory = None if resolution.key is None else self._at(*places[resolution.key], link)
            ends[link] = SeenEnd(memory, resolution.how, bool(resolution.ambiguous))
        return ends

    def _meant_by(self, links: Iterable[StoredLink]) -> Narrowing:
        """Leaves the notes that some links may mean."""
        from djinn_memory.notes.dialects.rules import of_vault
        from djinn_memory.notes.link_resolution import wanted_keys

        keys: set[str] = set()
        for link in links:
            wanted = wanted_keys(link.text, of_vault(link.scope.vault), link.source_path)
            if wanted is None or link.kind == "block":
                return EVERY_NOTE
            keys |= wanted
        return LINKED, (sorted(keys),)

    def _affected(self) -> list[StoredLink]:
        """The readable links to hidden memories, or that could mean a hidden note."""
        sections: set[tuple[UUID, str, str | None]] = set()
        notes: set[tuple[str, str]] = set()
        for scope in self._scopes:
            hidden, shown = set(), set()
            for path, block, domain_set in self._scopes.rows(
                "select path, block, domain_set from index_memories where user_id = %s", (scope.id,)
            ):
                if domain_set in scope.visible:
                    shown.add(path)
                else:
                    hidden.add(path)
                    sections.add((scope.id, path, block))
            notes |= {(str(scope.id), path) for path in hidden - shown}
        return [
            link
            for scope in self._scopes
            for link in self._stored(
                scope, "(target_path is not null or candidates <> '[]') order by 1, 2", ()
            )
            if link.place in sections or not notes.isdisjoint(link.candidates)
        ]

    def _at(self, scope: ReadScope, path: str, link: StoredLink) -> int | None:
        """The section of a note with the block of a link, or else the whole note."""
        listed = self._scopes.rows(
            "select number from index_memories where user_id = %s and path = %s "
            "and domain_set = any(%s) and (block is null or lower(block) = lower(%s)) "
            "order by block is null limit 1",
            (scope.id, path, scope.visible, link.block),
        )
        return next((scope.key(number) for (number,) in listed), None)

    def _around(self, links: Sequence[StoredLink]) -> dict[tuple[int, int], tuple[int | None, str]]:
        """The chunk around each link, and the date of its memory, by memory and line."""
        around: dict[tuple[int, int], tuple[int | None, str]] = {}
        for scope in self._scopes:
            own = {(link.memory, link.line) for link in links if link.scope is scope}
            if not own:
                continue
            listed = self._scopes.rows(
                "select link.memory, link.line, (select chunk.number from index_chunks as chunk "
                "where chunk.user_id = %s and chunk.memory = memory.number "
                "and link.line between first_line and last_line order by ordinal limit 1), date "
                "from unnest(%s::bigint[], %s::int[]) as link (memory, line) "
                "join index_memories as memory on memory.user_id = %s "
                "and memory.number = link.memory",
                (scope.id, [memory for memory, _ in own], [line for _, line in own], scope.id),
            )
            for memory, line, chunk, date in listed:
                key = None if chunk is None else scope.key(chunk)
                around[scope.key(memory), line] = key, date
        return around


def _frozen(candidates: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((vault, path) for vault, path in candidates)
