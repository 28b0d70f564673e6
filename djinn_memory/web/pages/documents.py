"""The page of documents: upload, read again, remove."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.memories.library.requests import ShowDocument
from djinn_memory.models import DocumentType, Strategy
from djinn_memory.operations.checks import field_types
from djinn_memory.web.api.operations import values_in
from djinn_memory.web.pages.site import Site, see

PATH = "/documents"


class UploadForm(Struct):
    """The fields of the form beside the file."""

    document_type: DocumentType | None = None
    chunk_strategy: Strategy | None = None
    chunk_size: int | None = None
    password: str | None = None


def document_routes(site: Site, uploads: Path) -> list[BaseRoute]:
    """The routes of the page."""
    types = field_types(UploadForm)

    async def show(request: Request) -> Response:
        entries = (await site.ask(request, "documents.list")).documents

        def kind(entry: object) -> str:
            return getattr(entry, "document_type", None) or "other"

        groups = [(name, [*group]) for name, group in groupby(sorted(entries, key=kind), kind)]
        return site.page(
            request, "documents.html", groups=groups, types=types["document_type"].words,
            strategies=types["chunk_strategy"].words,
        )  # fmt: skip

    async def upload(request: Request) -> Response:
        outcome = await site.upload(request, uploads, UploadForm)
        return see(f"{PATH}#{outcome.document_id}")

    async def read(request: Request) -> Response:
        name = request.path_params["name"]
        page = values_in(ShowDocument, request.query_params).get("page") or 1
        whole = await site.ask(request, "documents.find", name=name)
        number = page if whole.total_pages else None
        shown = await site.ask(request, "documents.show", name=name, page=number)
        drawn = whole.content_type == "application/pdf"
        html = await site.html(shown.text)
        return site.page(
            request, "document.html", document=whole, page=number, html=html, drawn=drawn,
            versions=shown.versions,
        )  # fmt: skip

    async def draw(request: Request) -> Response:
        picture = await site.ask(request, "documents.draw", **request.path_params)
        return Response(picture.png, media_type="image/png", headers={"Cache-Control": "no-store"})

    async def reprocess(request: Request) -> Response:
        await site.ask(request, "documents.reprocess", name=request.path_params["name"])
        return see(PATH)

    async def remove(request: Request) -> Response:
        await site.ask(request, "documents.remove", name=request.path_params["name"])
        return see(PATH)

    return [
        site.route(PATH, show),
        site.route(PATH, upload, "POST"),
        site.route(f"{PATH}/{{name}}", read),
        site.route(f"{PATH}/{{name}}/{{page:int}}.png", draw),
        site.route(f"{PATH}/{{name}}/reprocess", reprocess, "POST"),
        site.route(f"{PATH}/{{name}}/remove", remove, "POST"),
    ]
