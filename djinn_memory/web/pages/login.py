"""Logs a browser in: by the address that was printed at the start, or by a key."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.web.api.guard import COOKIE, Visitors
from djinn_memory.web.api.problems import Denied
from djinn_memory.web.pages.site import Site, form_of, see


def login_routes(site: Site, visitors: Visitors) -> list[BaseRoute]:
    """The routes, which need neither a key nor the cookie."""

    async def enter(request: Request) -> Response:
        token = request.query_params.get("token")
        # Programs that look at an address before a person opens it must not use it up.
        if token is None or request.method == "HEAD":
            return site.page(request, "login.html", why=None)
        cookie = visitors.log_in(token)
        if cookie is None:
            why = "This address is used or unknown. `djinn serve` prints a new one at its start."
            return site.page(request, "login.html", HTTPStatus.FORBIDDEN, why=why)
        return _entered(cookie)

    async def enter_key(request: Request) -> Response:
        try:
            cookie = visitors.log_in_with_key(str((await form_of(request)).get("key", "")).strip())
        except Denied as error:
            return site.page(request, "login.html", error.status, why=str(error))
        return _entered(cookie)

    return [site.route("/login", enter), site.route("/login", enter_key, "POST")]


def _entered(cookie: str) -> Response:
    response = see("/")
    response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict")
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
