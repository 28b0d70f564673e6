"""Memory search and documents, as the Norns memory system has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.models import PLANES, DocumentType, Plane, Strategy
from djinn_memory.web.api.documents import translation
from djinn_memory.web.api.documents.uploads import ingest_upload, metadata_of
from djinn_memory.web.api.operations import Runner, respond
from djinn_memory.web.api.problems import encoded
from djinn_memory.web.api.resources import Resource

UPLOAD = "/api/documents/upload"


class _Search(Struct):
    query: str
    user_id: str
    memory_types: Sequence[Plane] = tuple(PLANES)
    limit: Annotated[int, Meta(ge=1, le=1000)] = 10


class _Upload(Struct):
    user_id: str
    document_type: DocumentType | None = None
    chunk_strategy: Strategy | None = None
    chunk_size: int | None = None
    model_context: str | None = None
    password: str | None = None


class _Owner(Struct):
    user_id: str | None = None


def memory_routes(runner: Runner, folder: Path) -> list[Resource]:
    """The routes. Uploads are stored in `folder` while they are read."""

    async def search(request: Request) -> Response:
        asked = await translation.request_of(request, _Search)
        rows: list[dict[str, Any]] = []
        for plane in dict.fromkeys(asked.memory_types):
            answer = await translation.answer_of(
                runner, request, "search",
                query=asked.query, agent=asked.user_id, planes=[plane], limit=asked.limit,
            )  # fmt: skip
            rows += (
                {
                    "type": plane,
                    "id": translation.address(hit),
                    "content": hit["excerpt"],
                    "similarity": translation.similarity(hit),
                }
                for hit in answer["hits"]
            )
        rows.sort(key=lambda row: (row["similarity"] is None, -(row["similarity"] or 0)))
        return respond(request, encoded(rows))

    async def upload(request: Request) -> Response:
        outcome = await ingest_upload(runner, request, folder, _Upload)
        shown = (
            "document_id", "filename", "content_type", "total_pages", "chunks_created",
            "chunk_strategy", "chunk_size_tokens", "document_type",
        )  # fmt: skip
        answer = {name: getattr(outcome, name) for name in shown}
        return respond(request, encoded({**answer, "metadata": metadata_of(outcome)}))

    async def listed(request: Request) -> Response:
        asked = await translation.request_of(request, _Owner)
        answer = await translation.answer_of(runner, request, "documents.list", agent=asked.user_id)
        rows = [_row(entry) for entry in answer["documents"] if entry["document_id"]]
        return respond(request, encoded({"documents": rows}))

    async def delete(request: Request) -> Response:
        asked, name = await translation.request_of(request, _Owner), request.path_params["id"]
        answer = await translation.answer_of(
            runner, request, "documents.remove", name=name, agent=asked.user_id
        )
        document = answer["document"]["document_id"]
        return respond(request, encoded({"document_id": document, "deleted": True}))

    return [
        Resource(
            "POST",
            "/api/memories/search",
            search,
            "Search memories by their kind.",
            asks=_Search,
            is_list=True,
        ),
        Resource("POST", UPLOAD, upload, "Upload a document.", asks=_Upload, upload=True),
        Resource("GET", "/api/documents", listed, "List documents.", asks=_Owner),
        Resource("DELETE", "/api/documents/{id:path}", delete, "Remove a document.", asks=_Owner),
    ]


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table `documents`."""
    same = (
        "document_id", "filename", "content_type", "document_type", "file_size_bytes",
        "total_pages", "title", "author", "subject", "chunk_strategy", "total_chunks",
        "embedding_model", "uploaded_at", "processed_at",
    )  # fmt: skip
    more = ("status", "vault", "path", "version", "domain", "sha256")
    in_tokens = entry["chunk_strategy"] != "words"
    return {
        **{name: entry[name] for name in same},
        "user_id": entry["vault"],
        "chunk_size_tokens": entry["chunk_size"] if in_tokens else None,
        "metadata": {name: entry[name] for name in more},
    }
