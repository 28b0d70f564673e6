"""The pages of entities: their list, all that is known about one, and merges with a preview."""

from __future__ import annotations

from urllib.parse import urlencode

from msgspec.json import encode, format
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.memories.entities.requests import KINDS, ListEntities, ShowEntity
from djinn_memory.web.pages.addresses import entity_address
from djinn_memory.web.pages.site import Endpoint, Site, asked, chosen, see

PATH = "/{name:path}"

LISTED = 30
"""Number of entities on a page of the list."""


def entity_routes(site: Site) -> list[BaseRoute]:
    """The routes of the pages."""

    async def browse(request: Request) -> Response:
        given = asked(request, ListEntities, "kind", "search", "skip")
        page = await site.ask(request, "entities.list", limit=LISTED, **given)
        kinds = dict.fromkeys((*KINDS, *page.kinds))
        return site.page(
            request, "knowledge/entities.html", page=page, kinds=kinds, limit=LISTED, **given
        )

    async def show(request: Request) -> Response:
        given = asked(request, ShowEntity, "as_of", "limit")
        name = request.path_params["name"]
        entity = (await site.ask(request, "entities.show", name=name, **given)).entity
        if not entity:
            # Several have the name.
            return see(f"/entities?{urlencode({'search': name})}")
        place = f"{entity.vault}/{entity.path}"
        links = await site.ask(request, "memories.links", name=place)
        return site.page(
            request, "knowledge/entity.html", entity=entity, place=place, as_of=given["as_of"],
            html=await site.html(entity.text, links.links), kinds=KINDS,
            json=format(encode(entity.properties)).decode(),
        )  # fmt: skip

    def preview(verb: str, field: str) -> Endpoint:
        async def show(request: Request) -> Response:
            name, other = request.path_params["name"], chosen(request.query_params, field)
            answer = await site.ask(
                request, f"entities.{verb}", name=name, dry_run=True, **{field: other}
            )
            gone = (
                getattr(answer, "other", None)
                or (await site.ask(request, "entities.show", name=name, limit=0)).entity
            )
            return site.page(
                request, "knowledge/preview.html", verb=verb, field=field, given=other, gone=gone,
                answer=answer,
            )  # fmt: skip

        return show

    actions = [
        site.action(
            f"/entities/{verb}{PATH}", f"entities.{verb}", lambda done: entity_address(done.entity)
        )
        for verb in ("set", "edit", "alias", "merge", "split")
    ]
    return [
        site.route("/entities", browse),
        site.action("/entities", "entities.add", lambda added: entity_address(added.entity)),
        site.route(f"/entities/merge{PATH}", preview("merge", "into")),
        site.route(f"/entities/split{PATH}", preview("split", "other")),
        *actions,
        site.action(f"/entities/unset{PATH}", "memories.edit", entity_address),
        site.action(f"/entities/remove{PATH}", "entities.remove", lambda _: "/entities"),
        site.route(f"/entity{PATH}", show),
    ]
