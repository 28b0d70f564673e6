"""The page of a note: read, edit without overwriting, rename, delete, and take that back."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.errors import Changed, NotFound
from djinn_memory.web.pages.site import Site, back_of, form_of, note_address, see

PATH = "/note/{name:path}"

RELATED, MENTIONS, VERSIONS = 5, 10, 10
"""Numbers of related notes, mentions and versions that the page lists."""


def note_routes(site: Site) -> list[BaseRoute]:
    """The routes. Those of actions come first, since a name may contain anything."""
    notes = _Notes(site)
    return [
        site.route(f"/edit{PATH}", notes.edit),
        site.route(f"/edit{PATH}", notes.save, "POST"),
        site.route(f"/preview{PATH}", notes.preview, "POST"),
        site.action(f"/rename{PATH}", "memories.rename", lambda moved: note_address(moved.memory)),
        site.action(f"/delete{PATH}", "memories.delete", lambda _: "/"),
        site.route("/undo", notes.undo, "POST"),
        site.action(f"/move{PATH}", "memories.move", lambda moved: note_address(moved.memory)),
        site.action(f"/fields{PATH}", "memories.edit", note_address, commas=("tags", "untag")),
        site.action(f"/link_mentions{PATH}", "memories.link_mentions"),
        site.action("/rate", "rate"),
        site.route(f"/more{PATH}", notes.more),
        site.route("/new", notes.new),
        site.action("/new", "remember", note_address, commas=("tags", "links")),
        site.route(PATH, notes.show),
    ]


class _Notes:
    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        note = await self._site.ask(
            request, "memories.show", name=request.path_params["name"], why=True
        )
        return self._site.page(
            request, "note.html", note=note,
            html=await self._site.html(note.text, note.links, note.title),
        )  # fmt: skip

    async def more(self, request: Request) -> Response:
        """What the page of a note loads after it: what takes longer to find."""
        name = request.path_params["name"]
        versions = await self._site.ask(request, "memories.versions", name=name, limit=VERSIONS)
        related = await self._site.ask(request, "memories.related", name=name, limit=RELATED)
        mentions = await self._site.ask(request, "memories.mentions", name=name, limit=MENTIONS)
        note = versions.memory
        return self._site.page(
            request, "more.html", note=note, related=related,
            mentions=mentions, versions=versions.versions,
        )  # fmt: skip

    async def new(self, request: Request) -> Response:
        stats = await self._site.ask(request, "memories.stats")
        return self._site.page(request, "new.html", types=sorted(stats.types))

    async def edit(self, request: Request) -> Response:
        note, digest = await self._current(request)
        return await self._editor(request, note, text=note.text, digest=digest)

    async def _current(self, request: Request) -> tuple[Any, str]:
        """The note as it is now, and its digest."""
        name = request.path_params["name"]
        # The digest is read first: one that is newer than the text would lose an update.
        digest = (await self._site.ask(request, "memories.find", name=name)).digest
        return await self._site.ask(request, "memories.show", name=name), digest

    async def _editor(
        self, request: Request, note: Any, *, text: str, digest: str, theirs: str | None = None
    ) -> Response:
        status = HTTPStatus.OK if theirs is None else HTTPStatus.CONFLICT
        return self._site.page(
            request, "edit.html", status, note=note, text=text, digest=digest, theirs=theirs,
            html=await self._site.html(text, note.links, note.title),
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
            note, digest = await self._current(request)
            return await self._editor(request, note, text=text, digest=digest, theirs=note.text)
        return see(note_address(written), written.change)

    async def preview(self, request: Request) -> Response:
        note = await self._site.ask(request, "memories.links", name=request.path_params["name"])
        text = str((await form_of(request)).get("text", ""))
        html = await self._site.html(text, note.links, note.memory.title)
        return self._site.page(request, "preview.html", html=html)

    async def undo(self, request: Request) -> Response:
        report = await self._site.submitted(request, "changes.undo")
        back = await back_of(request) or "/"
        if page := re.fullmatch(r"/(?:note|entity)/(.+)", back):
            try:
                await self._site.ask(request, "memories.find", name=unquote(page[1]))
            except NotFound:
                # The note has another name again, or was only made by the change.
                created = [file for file in report.files if file.action == "created"]
                back = note_address(created[0]) if created else "/"
        # An undo is a change itself.
        return see(back, report.undo)
