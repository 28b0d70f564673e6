"""Links between notes, as the content linking interface has them. A page is a note."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Unavailable
from djinn_memory.indexing.refresh import index_notes, resolve_pending_links
from djinn_memory.memories.library.ingest import index_documents
from djinn_memory.operations import OPERATIONS
from djinn_memory.operations.caller import Caller
from djinn_memory.web.api.documents.translation import request_of, success
from djinn_memory.web.api.operations import Fields, Runner, allow, answered
from djinn_memory.web.api.resources import Resource

Row = dict[str, Any]
Work = Callable[[Djinn, Caller, Fields], Row]

_PAGES = "/api/v1/admin/pages/{id:path}"

EXCERPT = 200
"""Maximum characters of an excerpt."""

MENTIONED = 20
"""The number of pages with mentions, unless the request says otherwise."""


class _Listing(Struct):
    limit: Annotated[int, Meta(ge=1, le=50)] | None = None


def linking_routes(runner: Runner) -> list[Resource]:
    """The routes."""

    def route(method: str, path: str, operation: str, work: Work, summary: str) -> Resource:
        async def answer(request: Request) -> Response:
            caller: Caller = request.scope["caller"]
            allow(caller, OPERATIONS[operation], {})
            limit = (await request_of(request, _Listing)).limit
            asked = {"name": request.path_params["id"], **({"limit": limit} if limit else {})}
            data = await runner.do(
                caller, operation, asked, lambda djinn, caller: work(djinn, caller, asked)
            )
            return success(request, data)

        asks = _Listing if method == "GET" else None
        return Resource(method, f"{_PAGES}/{path}", answer, summary, asks=asks)

    return [
        route("GET", "backlinks", "memories.links", _backlinks, "List links to a page."),
        route("GET", "unlinked_mentions", "memories.mentions", _mentions, "List mentions."),
        route("GET", "related_pages", "memories.related", _related, "List pages that are near."),
        route("POST", "extract_links", "index", _extract, "Index the links of a page."),
        route("POST", "generate_embedding", "index", _embed, "Index the text of a page."),
    ]


def _run(djinn: Djinn, caller: Caller, operation: str, /, **fields: object) -> Row:
    return answered(djinn, caller, OPERATIONS[operation], fields)


def _backlinks(djinn: Djinn, caller: Caller, asked: Fields) -> Row:
    rows = _run(djinn, caller, "memories.links", name=asked["name"])["backlinks"]
    return {"backlinks": _pages(djinn, caller, rows)[: asked.get("limit")]}


def _mentions(djinn: Djinn, caller: Caller, asked: Fields) -> Row:
    # A page may mention the name often, and counts once.
    answer = _run(djinn, caller, "memories.mentions", name=asked["name"], limit=1000)
    pages = _pages(djinn, caller, answer["mentions"])
    return {"unlinked_mentions": pages[: asked.get("limit", MENTIONED)]}


def _related(djinn: Djinn, caller: Caller, asked: Fields) -> Row:
    rows = _run(djinn, caller, "memories.related", **asked)["related"]
    return {"related_pages": _pages(djinn, caller, rows)}


def _extract(djinn: Djinn, caller: Caller, asked: Fields) -> Row:
    _index(djinn, caller, asked["name"], embed=False)
    resolve_pending_links(djinn.runtime.state)
    links = _run(djinn, caller, "memories.links", name=asked["name"])["links"]
    return {"edges_created": len({(link["vault"], link["path"]) for link in links if link["path"]})}


def _embed(djinn: Djinn, caller: Caller, asked: Fields) -> Row:
    _index(djinn, caller, asked["name"], embed=True)
    return {"embedding_model": djinn.models.name}


def _index(djinn: Djinn, caller: Caller, name: str, *, embed: bool) -> None:
    """Index one note. Raises `Unavailable` if it cannot be embedded."""
    note = _run(djinn, caller, "memories.find", name=name)
    [vault] = djinn.home.scope(djinn.home.agent(None), (note["vault"],))
    state, models, progress = djinn.runtime.state, djinn.models, djinn.runtime.progress

    def embedded() -> bool:
        return index_notes(state, models, vault, [note["path"]]) == "words and meaning"

    with djinn.runtime.busy(patient=True):
        if embedded() or not embed:
            return
        if models.embedder is None:
            raise Unavailable("embedding.provider is none, so nothing is embedded")
        place = f"{note['vault']}/{note['path']}"
        _, problems = index_documents(state, models, vault, {place}, progress)
        if not embedded():
            raise Unavailable(problems[0].why if problems else "another process is embedding it")


def _pages(djinn: Djinn, caller: Caller, rows: Sequence[Row]) -> list[Row]:
    """The pages of rows that name memories, each page once."""
    places = {f"{row['vault']}:{row['path']}": row for row in reversed(rows)}
    pages = []
    with djinn.runtime.busy(), djinn.runtime.index(djinn.runtime.fresh_scope(None)) as index:
        for place in reversed(places):
            row = places[place]
            for memory in index.resolve(place)[:1]:
                [chunk, *_] = index.chunks_of([memory.memory_id], 1).get(memory.memory_id, [None])
                text = row.get("text") or (chunk.text if chunk else "")
                page = {
                    "id": memory.id or place,
                    "title": memory.title,
                    "slug": _slug(memory.title),
                    "type": "page",
                    "excerpt": " ".join(text.split())[:EXCERPT],
                }
                if "similarity" in row:
                    page["similarity"] = min(max(row["similarity"], 0.0), 1.0)
                pages.append(page)
    return pages


def _slug(title: str) -> str:
    """The slug of a title, made as the interface says it."""
    return re.sub(r"\s+", "-", re.sub(r"[^a-z0-9\s-]", "", title.lower()))
