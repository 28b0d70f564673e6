"""Writes the links of memories. A note with another name can change links of unchanged notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.store.postgres.rows import LinkEndRow, LinkRows, OutgoingLinks
from djinn_memory.store.postgres.values import write_rows

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

COLUMNS = (
    "memory", "number", "target", "heading", "block", "label", "kind", "embed", "field", "line",
    "start", "stop", "how", "target_scope", "target_path", "target_block", "target_is_memory",
    "candidates",
)  # fmt: skip


def insert(tx: Cursor, scope: UUID, memories: Iterable[tuple[int, Sequence[LinkRows]]]) -> None:
    """Write the links of memories, given by number, that have none on the server."""
    write_rows(tx, scope, "index_links", COLUMNS, rows(memories))


def ends(tx: Cursor, scope: UUID, paths: Sequence[str]) -> set[LinkEndRow]:
    """The ends of the links of a scope that lead to notes at these paths of the same scope."""
    tx.execute(
        "select distinct memory.path, target_path, target_block, target_is_memory, how "
        "from index_links as link join index_memories as memory "
        "on memory.user_id = link.user_id and memory.number = link.memory "
        "where link.user_id = %s and target_path = any(%s) and target_scope = link.user_id",
        (scope, list(paths)),
    )
    return {LinkEndRow(*row) for row in tx}


def paths_of(tx: Cursor, scope: UUID, note_ids: Sequence[UUID]) -> set[str]:
    """The paths under which the index of a scope has these notes."""
    tx.execute(
        "select path from index_memories where user_id = %s and note_id = any(%s)",
        (scope, list(note_ids)),
    )
    return {path for (path,) in tx}


def indexed(tx: Cursor, scope: UUID, paths: Collection[str]) -> set[str]:
    """Those of these paths at which the index of a scope has a note."""
    tx.execute(
        "select path from index_memories where user_id = %s and path = any(%s)",
        (scope, list(paths)),
    )
    return {path for (path,) in tx}


def replace(tx: Cursor, scope: UUID, memories: Sequence[OutgoingLinks]) -> None:
    """Write the links of memories in place of those that they have. Unknown ones are ignored.

    The caller's transaction holds the scope, as `connection.writing` does.
    """
    tx.execute(
        "select path, block, number from index_memories where user_id = %s and path = any(%s)",
        (scope, [memory.path for memory in memories]),
    )
    numbers = {(path, block): number for path, block, number in tx}
    known = [
        (numbers[memory.path, memory.block], memory.links)
        for memory in memories
        if (memory.path, memory.block) in numbers
    ]
    tx.execute(
        "delete from index_links where user_id = %s and memory = any(%s)",
        (scope, [number for number, _ in known]),
    )
    insert(tx, scope, known)


def rows(memories: Iterable[tuple[int, Sequence[LinkRows]]]) -> Iterator[tuple[object, ...]]:
    """The rows of the links of memories, given by number, with the values of `COLUMNS`."""
    for memory, links in memories:
        for at, link in enumerate(links):
            to = link.resolved
            # A vault without a UUID is on no server.
            place = (None, None, None, False)
            if to is not None and _is_uuid(to.vault):
                place = (to.vault, to.path, to.block, to.memory)  # type: ignore[assignment]
            yield (
                memory, at, link.target, link.heading, link.block, link.label, link.kind,
                link.embed, link.field, link.line, link.start, link.stop, link.how, *place,
                link.candidates,
            )  # fmt: skip


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
