"""Rows of `documents` and `document_chunks`, from the notes of documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any
from uuid import uuid5

from djinn_memory.store.postgres.seeds.seed_rows import DocumentChunkRow, DocumentRow, SeedRow
from djinn_memory.sync.seeds.seed_memory import SeedMemory, mean_vector, time_of

_COLUMNS = frozenset({
    "id", "title", "type", "document_type", "author", "subject", "filename", "content_type",
    "total_pages", "chunk_strategy", "chunk_size", "total_chunks", "embedding_model",
    "uploaded_at", "processed_at",
})  # fmt: skip
"""Fields of the front matter that have a column. The others are the metadata."""


def rows(memories: Sequence[SeedMemory]) -> Iterator[SeedRow]:
    """The rows of the document in a note, and of its chunks."""
    for memory in memories:
        if memory.rows.plane == "documents" and not memory.rows.block:
            yield _document(memory)
            yield from _chunks(memory)


def _filename(memory: SeedMemory) -> str:
    return memory.text("filename") or PurePosixPath(memory.path).name


def _document(memory: SeedMemory) -> DocumentRow:
    others = dict.fromkeys(key for key, _, _ in memory.rows.fields if key not in _COLUMNS)
    metadata: dict[str, Any] = {
        key: values[0] if len(values := memory.values(key)) == 1 else values for key in others
    }
    return DocumentRow(
        document_id=memory.id,
        filename=_filename(memory),
        content_type=memory.text("content_type"),
        document_type=memory.text("document_type"),
        file_size_bytes=memory.number("file_size_bytes"),
        total_pages=memory.number("total_pages"),
        title=memory.rows.title,
        author=memory.text("author"),
        subject=memory.text("subject"),
        chunk_strategy=memory.text("chunk_strategy"),
        chunk_size_tokens=memory.number("chunk_size"),
        total_chunks=len(memory.rows.chunks),
        embedding_model=memory.text("embedding_model"),
        uploaded_at=time_of(memory.text("uploaded_at")),
        processed_at=time_of(memory.text("processed_at")),
        metadata=metadata,
        djinn_id=memory.name,
    )


def _chunks(memory: SeedMemory) -> Iterator[DocumentChunkRow]:
    size, total = memory.text("file_size_bytes"), len(memory.rows.chunks)
    original = int(size) if size and size.isdecimal() and len(size) < 19 else None
    for chunk in memory.rows.chunks:
        yield DocumentChunkRow(
            chunk_id=uuid5(memory.id, str(chunk.ordinal)),
            document_id=memory.id,
            document_name=_filename(memory),
            document_type=memory.text("document_type"),
            chunk_index=chunk.ordinal,
            chunk_content=chunk.text,
            chunk_embedding=mean_vector([chunk]),
            page_number=chunk.page,
            total_pages=memory.number("total_pages"),
            content_type=memory.text("content_type"),
            metadata={"original_size": original, "total_chunks": total},
            created_at=time_of(memory.text("uploaded_at")),
        )
