"""What travels to a server is what the local index holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.store.export import export_notes
from djinn_memory.store.index import vectors
from djinn_memory.store.postgres.rows import ChunkTerms, NoteRows
from djinn_memory.store.sqlite import rows
from tests.search.conformance import SAMPLES

TEXTS = {
    "deutsch.md": "---\naliases: [Große Mühle, Bäckerei]\ntags: [essen/brot]\n---\n# Die Mühle\n\n"
    "Die Mühlen mahlen nicht mehr, und das Brot ist von gestern. [[Lamp]] und [[nowhere]]\n",
    "日本.md": "# 東京\n\n東京都は日本の首都です。\n\n## Café\n\nA café, déjà vu, cafe\u0301s.\n",
    "empty.md": "",
    "journal-like.md": "---\ndomain: [work, Family]\n---\nRunning runners ran. 3.14 x_y\n",
}


def filled(home: Home) -> Djinn:
    folder = home.root / "vaults" / "shared"
    for sample in SAMPLES:
        (home.root / "vaults" / sample.vault / sample.path).write_text(sample.write())
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    djinn = Djinn(home)
    djinn.index()
    return djinn


def exported(djinn: Djinn) -> dict[str, NoteRows]:
    [vault] = djinn.runtime.home.named(("shared",))
    return {note.path: note for note in export_notes(djinn.runtime.state, vault)}


def test_terms_are_those_of_the_local_index(home: Home, shared: Path) -> None:
    djinn = filled(home)
    connection = djinn.runtime.state.index
    [(number,)] = rows(
        connection, "select min(compartment_id) from memory join note on note.id = note_id "
        "where path = 'lamp.md'"
    )  # fmt: skip
    connection.execute(
        f"create virtual table temp.instances using fts5vocab(main, words_{number}, instance)"
    )
    stored = Counter(
        _place(path, ordinal, column, position, term)
        for path, ordinal, column, position, term in rows(
            connection,
            "select path, ordinal, col, offset, term from temp.instances "
            "join chunk on chunk.id = doc join memory on memory.id = memory_id "
            "join note on note.id = note_id",
        )
    )
    streams = Counter(
        _place(note.path, chunk.ordinal, column, position, term)
        for note in exported(djinn).values()
        for memory in note.memories
        for chunk in memory.chunks
        for column, text in zip(ChunkTerms._fields, chunk.terms, strict=True)
        for position, term in enumerate(text.split(" "))
        if term
    )
    assert streams == stored


def _place(
    path: str, ordinal: int, column: str, position: int, term: str
) -> tuple[str, int, str, int, str]:
    """Where a term stands. The index does not know in which order a note lists its names."""
    return path, ordinal, column, 0 if column in ("aliases", "tags") else position, term


def test_rows_carry_vectors_names_and_links(home: Home, shared: Path) -> None:
    djinn = filled(home)
    notes = exported(djinn)
    assert "secret.md" not in notes
    [memory] = notes["kettle.md"].memories
    assert (memory.uid, memory.type, memory.plane) == (SAMPLES[0].id, "lesson", "semantic")
    assert memory.field("status") == "active"
    [link] = memory.links
    assert link.resolved
    assert (link.target, link.resolved.path, link.resolved.memory) == ("tide", "tide.md", True)
    [window] = memory.chunks[0].windows
    space = vectors.serving(djinn.runtime.state.index)
    assert space
    assert window.vector
    assert len(np.frombuffer(window.vector, "<f4")) == space.dimensions
    [mill] = notes["deutsch.md"].memories
    assert mill.aliases == (("Bäckerei", "bäckerei"), ("Große Mühle", "grosse mühle"))
    assert mill.chunks[0].language == "german"
    assert [link.resolved is None for link in mill.links] == [False, True]
    [work] = notes["journal-like.md"].memories
    assert work.domains == ("family", "work")
    assert [chunk.text for chunk in notes["empty.md"].memories[0].chunks] == [""]


def test_only_the_paths_that_are_asked_for(home: Home, shared: Path) -> None:
    djinn = filled(home)
    [vault] = djinn.runtime.home.named(("shared",))
    listed = export_notes(djinn.runtime.state, vault, ["lamp.md", "missing.md"])
    assert [note.path for note in listed] == ["lamp.md"]
