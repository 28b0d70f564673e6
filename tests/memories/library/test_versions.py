"""Which document a file supersedes: never the wrong one."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.documents.sources import Source
from djinn_memory.memories.library.catalog import StoredDocument
from djinn_memory.memories.library.ingest import predecessors
from djinn_memory.memories.library.ingest_run import IngestFile
from djinn_memory.models import Vault
from djinn_memory.store.index.records import MemorySize

VAULT = Vault("v", Path("/nowhere/at/all"), "v")


def document(number: int, name: str, sha256: str) -> StoredDocument:
    said = {"filename": name, "sha256": sha256}
    return StoredDocument(
        number, f"d{number}", name, VAULT, f"documents/{number}.md", said, MemorySize(1, 0)
    )


def file(place: int, name: str, sha256: str, was: str | None = None) -> IngestFile:
    return IngestFile(Source(Path(f"/{place}/{name}"), name), sha256, 1, was, name)


def answer(there: list[StoredDocument], *files: IngestFile) -> list[str | None]:
    return [one.id if one else None for one in predecessors(there, files)]


NAME = st.sampled_from(["a.txt", "b.txt", "a\udce9.txt", "a .txt"])
BYTES = st.sampled_from("pqrstuv")
THERE = st.lists(st.tuples(NAME, BYTES), max_size=5, unique_by=lambda one: one[1])
FILES = st.lists(st.tuples(NAME, BYTES, st.none() | st.integers(0, 6)), max_size=6)


@given(THERE, FILES)
def test_no_document_is_taken_twice_or_from_a_file_that_still_is_it(
    there: list[tuple[str, str]], files: list[tuple[str, str, int | None]]
) -> None:
    documents = [document(number, *one) for number, one in enumerate(there)]
    asked = [
        file(place, name, sha256, None if was is None else f"d{was}")
        for place, (name, sha256, was) in enumerate(files)
    ]
    found = predecessors(documents, asked)
    assert len(found) == len(asked)
    taken = [one.id for one in found if one]
    assert len(taken) == len(set(taken))
    for one, before in zip(asked, found, strict=True):
        if before:
            assert before.filename == " ".join(one.source.name.replace("\udce9", " ").split())
            assert before.fields["sha256"] not in {other.sha256 for other in asked}
            assert one.last_id in (before.id, None)


def test_by_name_where_nothing_else_tells() -> None:
    there = [document(1, "a.txt", "p"), document(2, "b.txt", "q")]
    assert answer(there, file(1, "a.txt", "x")) == ["d1"]
    assert answer(there, file(1, "c.txt", "x")) == [None]
    assert answer(there, file(1, "a.txt", "x"), file(2, "a.txt", "y")) == [None, None]
    assert answer([*there, document(3, "a.txt", "r")], file(1, "a.txt", "x")) == [None]


def test_by_place_before_name() -> None:
    there = [document(1, "a.txt", "p"), document(3, "a.txt", "r")]
    files = file(1, "a.txt", "x", "d1"), file(2, "a.txt", "y", "d3"), file(4, "a.txt", "z")
    assert answer(there, *files) == ["d1", "d3", None]
    # What it was is gone, or has another name: it is none of those that are there.
    assert answer(there[:1], file(1, "a.txt", "x", "d9")) == [None]
    assert answer(there[:1], file(1, "b.txt", "x", "d1")) == [None]
