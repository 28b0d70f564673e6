"""The page of a note: read, edit without overwriting, rename, delete, and take that back."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.errors import Changed
from djinn_memory.web.pages.site import Site, form_of, note_address, see

PATH = "/note/{name:path}"

RELATED = 5
"""Number of related notes that the page lists."""


def note_routes(site: Site) -> list[BaseRoute]:
    """The routes. Those of actions come first, since a name may contain anything."""
    notes = _Notes(site)
    return [
        site.route(f"/edit{PATH}", notes.edit),
        site.route(f"/edit{PATH}", notes.save, "POST"),
        site.route(f"/preview{PATH}", notes.preview, "POST"),
        site.action(f"/rename{PATH}", "memories.rename", lambda moved: note_address(moved.memory)),
        site.route(f"/delete{PATH}", notes.delete, "POST"),
        site.route("/undo", notes.undo, "POST"),
        site.route(PATH, notes.show),
    ]


class _Notes:
    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        name = request.path_params["name"]
        note = await self._site.ask(request, "memories.show", name=name, why=True)
        related = await self._site.ask(request, "memories.related", name=name, limit=RELATED)
        return self._site.page(
            request, "note.html", note=note,
            html=await self._site.html(note.text, note, note.title),
            related=related.related,
            place=f"{note.vault}/{note.path}",
        )  # fmt: skip

    async def edit(self, request: Request) -> Response:
        name = request.path_params["name"]
        # The digest is read first: one that is newer than the text would lose an update.
        digest = (await self._site.ask(request, "memories.find", name=name)).digest
        note = await self._site.ask(request, "memories.show", name=name)
        return await self._editor(request, note, text=note.text, digest=digest)

    async def _editor(
        self, request: Request, note: Any, *, text: str, digest: str, theirs: str | None = None
    ) -> Response:
        status = HTTPStatus.OK if theirs is None else HTTPStatus.CONFLICT
        return self._site.page(
            request, "edit.html", status, note=note, text=text, digest=digest, theirs=theirs,
            html=await self._site.html(text, note), place=f"{note.vault}/{note.path}",
        )  # fmt: skip

    async def save(self, request: Request) -> Response:
        name, form = request.path_params["name"], await form_of(request)
        text, digest = (str(form.get(key, "")) for key in ("text", "digest"))
        # A form sends lines as mail does.
        text = text.replace("\r\n", "\n")
        try:
            written = await self._site.ask(
                request, "memories.write", name=name, text=text, digest=digest
            )
        except Changed:
            current = (await self._site.ask(request, "memories.find", name=name)).digest
            note = await self._site.ask(request, "memories.show", name=name)
            return await self._editor(request, note, text=text, digest=current, theirs=note.text)
        return see(note_address(written), written.change)

    async def preview(self, request: Request) -> Response:
        note = await self._site.ask(request, "memories.links", name=request.path_params["name"])
        text = str((await form_of(request)).get("text", ""))
        return self._site.page(request, "preview.html", html=await self._site.html(text, note))

    async def delete(self, request: Request) -> Response:
        name = request.path_params["name"]
        gone = (await self._site.ask(request, "memories.delete", name=name)).memory
        changes = (await self._site.ask(request, "changes.list")).changes
        files = ((change.id, file) for change in changes for file in change.files)
        own = (
            change for change, file in files if (file.vault, file.path) == (gone.vault, gone.path)
        )
        return self._site.page(request, "deleted.html", name=name, change=next(own, None))

    async def undo(self, request: Request) -> Response:
        form = await form_of(request)
        await self._site.ask(request, "changes.undo", change=str(form.get("change", "")))
        back = str(form.get("back", "/"))
        # Only a path of this server.
        return see(back if re.match(r"/(?![/\\])", back) else "/")
