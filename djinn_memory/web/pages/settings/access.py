"""The page of domains, agents and keys: who sees what."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.home import access
from djinn_memory.operations.checks import field_types
from djinn_memory.operations.keys import AddKey
from djinn_memory.web.pages.site import Site, form_of, see

PATH = "/settings/access"

LISTS = ("agents", "vaults", "domains")
"""The fields of a key with several names."""


def access_routes(site: Site) -> list[BaseRoute]:
    """The routes of the page."""

    async def show(request: Request, added: Any = None) -> Response:
        config = await site.settings(request)
        keys = (await site.ask(request, "keys.list")).keys
        grants = access.grants_of(config.access)
        vaults = [access.readable(site.home.vaults, agent) for agent in config.agents]
        return site.page(
            request, "settings/access.html", domains=config.described_domains, keys=keys,
            seen={agent: [vault.name for vault in each]
                  for agent, each in zip(config.agents, vaults, strict=True)},
            hidden={name: access.excluded(grants, [name]) for name in config.domains},
            access=config.access, added=added, scopes=field_types(AddKey)["scope"].words,
        )  # fmt: skip

    async def set_domain(request: Request) -> Response:
        form = await form_of(request)
        name, icon, about = (str(form.get(key, "")) for key in ("name", "icon", "description"))
        entry = {"description": about, "icon": icon} if icon else about
        await site.settings(request, (("domains", name), None if "remove" in form else entry))
        return see(f"{PATH}#domains")

    async def set_access(request: Request) -> Response:
        form = await form_of(request)
        domains = [*map(str, form.getlist("domain"))] if "limited" in form else None
        await site.settings(request, (("access", request.path_params["agent"]), domains))
        return see(f"{PATH}#agents")

    async def add_key(request: Request) -> Response:
        # The secret is in this answer alone, and in no address.
        return await show(request, await site.submitted(request, "keys.add", LISTS))

    return [
        site.route(PATH, show),
        site.route(f"{PATH}/domains", set_domain, "POST"),
        site.route(f"{PATH}/agents/{{agent}}", set_access, "POST"),
        site.route(f"{PATH}/keys", add_key, "POST"),
        site.action(f"{PATH}/keys/{{name}}/revoke", "keys.revoke", lambda _: f"{PATH}#keys"),
    ]
