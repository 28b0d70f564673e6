"""What an index holds, without what two equal indexes may differ in: numbers and times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from djinn_memory.store.index import open_index
from djinn_memory.store.index.vectors import serving

_NAME = "vault.uuid || '/' || note.path || ifnull('#^' || memory.block, '')"
_QUERIES = {
    "notes": f"select {_NAME}, hash, problem, uid, type, plane, title, created, "
    "iif(dated, date, null), dated, "
    "lines_above, characters_above "
    "from note join vault on vault.id = vault_id join memory on note_id = note.id",
    "tags": f"select {_NAME}, tag, tag.folded from tag join memory on memory.id = memory_id "
    "join note on note.id = note_id join vault on vault.id = vault_id",
    "fields": f"select {_NAME}, key, value from field join memory on memory.id = memory_id "
    "join note on note.id = note_id join vault on vault.id = vault_id",
    "chunks": f"select {_NAME}, ordinal, headings, first_line, last_line, text from chunk "
    "join memory on memory.id = memory_id join note on note.id = note_id "
    "join vault on vault.id = vault_id",
    "windows": f"select {_NAME}, ordinal, window.start, window.stop, window.hash, embedded, "
    "coming, vectors_1.embedding from window left join vectors_1 on window_id = window.id "
    "join chunk on chunk.id = chunk_id join memory on memory.id = memory_id "
    "join note on note.id = note_id join vault on vault.id = note.vault_id",
    "links": f"select {_NAME}, line, start, target, how, "
    "(select path from note as there where there.id = target_note_id), "
    "(select block from memory as part where part.id = target_memory_id), "
    "target_memory_id is null, json_array_length(candidates) from link "
    "join memory on memory.id = link.memory_id join note on note.id = memory.note_id "
    "join vault on vault.id = vault_id",
    "spaces": "select identity, dimensions, recipe, scale, shift, serving from space",
    "meta": "select key, value from meta where key not in ('remade', 'scanned')",
}


def content(index: Path) -> dict[str, list[Any]]:
    """All rows of an index, by kind, in an order of their own."""
    connection = open_index(index)
    space = serving(connection)
    table = f"vectors_{space.number}" if space else "vectors_1"
    listed = {
        kind: sorted(connection.execute(sql.replace("vectors_1", table)).fetchall(), key=repr)
        for kind, sql in _QUERIES.items()
    }
    compartments = (
        "select compartment.id, name || excluded from compartment join vault on vault.id = vault_id"
    )
    for number, vault in connection.execute(compartments).fetchall():
        sql = f"select term, doc, cnt from vocabulary_{number}"
        listed[f"words of {vault}"] = sorted(connection.execute(sql).fetchall())
    return listed
