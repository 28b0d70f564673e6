"""Retrieval over knowledge bases, in the envelope of its document. A knowledge base is a vault."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.chunking.strategies import context_window, plan
from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused
from djinn_memory.home import setup
from djinn_memory.models import DocumentType, Strategy
from djinn_memory.operations import VERBS
from djinn_memory.operations.caller import Caller
from djinn_memory.web.api.documents import translation
from djinn_memory.web.api.documents.uploads import ingest_upload, metadata_of
from djinn_memory.web.api.operations import Runner, allow
from djinn_memory.web.api.resources import Resource

_RAG = "/api/v1/ai/rag"

UPLOAD = f"{_RAG}/documents"

TOKEN = 4
"""Characters of a token: the sizes of a knowledge base are in characters."""

_MODES = {"vector": "meaning", "keyword": "words", "graph": "graph", "hybrid": "hybrid"}
_STRATEGIES = {mode: strategy for strategy, mode in _MODES.items()}


class _Question(Struct):
    query: str
    knowledge_base_id: str | None = None
    knowledge_base_ids: Sequence[str] = ()
    mode: Literal["vector", "keyword", "graph", "hybrid"] = "hybrid"
    top_k: Annotated[int, Meta(ge=1, le=1000)] = 10
    rerank: bool | None = None
    similarity_threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    user_id: str | None = None


class _Upload(Struct):
    knowledge_base_id: str | None = None
    user_id: str | None = None
    title: str | None = None
    document_type: DocumentType | None = None
    chunk_strategy: Strategy | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    password: str | None = None


class _KnowledgeBase(Struct):
    name: str
    description: str | None = None
    chunking_strategy: Literal["recursive", "semantic"] = "recursive"
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    embedding_model: str | None = None
    embedding_provider: str | None = None


def rag_routes(runner: Runner, folder: Path) -> list[Resource]:
    """The routes. Uploads are stored in `folder` while they are read."""

    def retrieval(*planes: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            asked = await translation.request_of(request, _Question)
            bases = [*asked.knowledge_base_ids, *filter(None, [asked.knowledge_base_id])]
            answer = await translation.answer_of(
                runner, request, "search",
                query=asked.query, vaults=bases, planes=planes, mode=_MODES[asked.mode],
                limit=asked.top_k, rerank=asked.rerank, agent=asked.user_id,
            )  # fmt: skip
            return translation.success(request, _retrieved(asked, answer))

        return answer

    async def upload(request: Request) -> Response:
        outcome = await ingest_upload(runner, request, folder, _Upload)
        document = asdict(outcome)
        for name in ("file", "why", "warnings", "document_id"):
            del document[name]
        document |= {"status": "indexed", "metadata": metadata_of(outcome)}
        return translation.success(request, {"document": {"id": outcome.document_id, **document}})

    async def process(request: Request) -> Response:
        name = request.path_params["id"]
        return translation.success(
            request, await translation.answer_of(runner, request, "documents.reprocess", name=name)
        )

    async def create(request: Request) -> Response:
        caller: Caller = request.scope["caller"]
        verb = VERBS["vaults.add"]._replace(rights="person", writes=True)
        allow(caller, verb, {})
        asked = await translation.request_of(request, _KnowledgeBase)
        made = await runner.do(
            caller, verb.name, asdict(asked), lambda djinn, _: _create(djinn, asked)
        )
        return translation.success(request, {"knowledge_base": made})

    return [
        Resource("GET", f"{_RAG}/query", retrieval(), "Search knowledge bases.", asks=_Question),
        Resource(
            "GET", f"{_RAG}/search", retrieval("documents"), "Search documents.", asks=_Question
        ),
        Resource(
            "POST",
            f"{_RAG}/knowledge_bases",
            create,
            "Make a vault with its own chunking.",
            asks=_KnowledgeBase,
        ),
        Resource(
            "POST",
            UPLOAD,
            upload,
            "Upload a document to a knowledge base.",
            asks=_Upload,
            upload=True,
        ),
        Resource("POST", f"{UPLOAD}/{{id:path}}/process", process, "Read a document again."),
    ]


def _retrieved(asked: _Question, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a query, with its results."""
    least = asked.similarity_threshold
    results = [
        {
            "id": translation.address(hit),
            "document_id": hit["document_id"],
            "knowledge_base_id": hit["vault"],
            "title": hit["title"],
            "content": hit["excerpt"],
            "page_number": hit["page_number"],
            "chunk_index": hit["chunk_index"],
            "score": hit["score"],
            "similarity": translation.similarity(hit),
        }
        for hit in answer["hits"]
        if least is None or (translation.similarity(hit) or 0) >= least
    ]
    scores = [result["score"] for result in results]
    return {
        "query_text": asked.query,
        "status": "completed",
        "retrieval_strategy": _STRATEGIES[answer["mode"]],
        "top_k": asked.top_k,
        "similarity_threshold": least,
        "results_count": len(results),
        "avg_score": sum(scores) / len(scores) if scores else None,
        "processing_time_ms": answer["milliseconds"],
        "results": results,
        "problems": answer["problems"],
    }


def _create(djinn: Djinn, asked: _KnowledgeBase) -> dict[str, Any]:
    """Make a vault whose documents are divided into chunks in this way."""
    model, embedding = djinn.models.name, djinn.home.config.embedding
    for name, own in (("embedding_model", model), ("embedding_provider", embedding.provider)):
        if getattr(asked, name) not in (None, own):
            raise Refused(f"all vaults of a home have one model; here it is {own}", argument=name)
    documents = djinn.home.config.documents
    chunking = plan(
        asked.chunking_strategy,
        window=context_window(documents.model_context, documents.model_contexts),
        size=_tokens(asked.chunk_size),
        overlap=_tokens(asked.chunk_overlap),
    )
    settings = {
        "chunk_strategy": chunking.strategy,
        "chunk_size": chunking.size,
        "chunk_overlap": chunking.overlap,
    }
    setup.add_vault(djinn.home, asked.name, None, settings=settings)
    if asked.description:
        setup.describe(djinn.home, asked.name, asked.description)
    return {
        "id": asked.name,
        "name": asked.name,
        "description": asked.description,
        "embedding_model": model,
        "embedding_provider": embedding.provider,
        "chunking_strategy": chunking.strategy,
        "chunk_size": chunking.size * TOKEN,
        "chunk_overlap": chunking.overlap * TOKEN,
        "status": "active",
    }


def _tokens(characters: int | None) -> int | None:
    return None if characters is None else characters // TOKEN
