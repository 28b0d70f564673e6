"""What all pages share: they ask operations, and fill templates for a browser."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct
from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from djinn_memory import __version__
from djinn_memory.errors import DjinnError, NotFound
from djinn_memory.home.access import domain_key
from djinn_memory.home.home import Change, Home
from djinn_memory.home.settings import Config
from djinn_memory.memories.library.requests import FileOutcome
from djinn_memory.notes.dates import local_day, local_minute
from djinn_memory.operations import OPERATIONS
from djinn_memory.operations.caller import Caller
from djinn_memory.operations.wording import CommandWording
from djinn_memory.system.plural import count
from djinn_memory.web.api.documents.uploads import ingest_upload
from djinn_memory.web.api.operations import Runner, values_in
from djinn_memory.web.api.problems import Denied, status_of
from djinn_memory.web.pages.addresses import entity_address, fact_address
from djinn_memory.web.pages.markdown import to_html

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The policy of every page: no inline script or style, no eval, nothing from another host."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "HX-Request",
}

PAGES = (
    ("Documents", "/documents"),
    ("Entities", "/entities"),
    ("Facts", "/facts"),
    ("Graph", "/graph"),
    ("Timeline", "/timeline"),
    ("Patterns", "/patterns"),
    ("Agents", "/agents"),
    ("Review", "/review"),
    ("Settings", "/settings"),
    ("API", "/docs"),
)
"""Names and addresses of the pages that each page leads to."""

MOST_FIELDS = 100
"""Maximum number of fields of a form."""

Endpoint = Callable[[Request], Awaitable[Response]]


class Site:
    """Asks operations for the caller of a request, and fills templates with their answers."""

    def __init__(self, runner: Runner) -> None:
        """`runner` speaks the words of the command line, which pages share."""
        self._runner = runner
        self._templates = Environment(
            loader=PackageLoader("djinn_memory.web", "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "count": count, "note_address": note_address, "with_icons": self._with_icons,
            "entity_address": entity_address, "fact_address": fact_address,
            "local_day": local_day, "local_minute": local_minute,
        }  # fmt: skip
        self._templates.globals |= {"version": __version__, "pages": PAGES}

    async def ask(self, request: Request, operation: str, /, **fields: object) -> Any:
        """The answer of an operation. Fields that are None are left out. Raises `DjinnError`."""
        given = {key: value for key, value in fields.items() if value is not None}
        caller: Caller = request.scope["caller"]
        return await self._runner.packed(caller, operation, given, lambda answer: answer)

    @property
    def home(self) -> Home:
        """The home, with its settings at the last request."""
        return self._runner.home

    async def settings(self, request: Request, *changes: Change) -> Config:
        """The settings, for a person, after changes. Raises `Denied` or `UsageError`."""
        caller: Caller = request.scope["caller"]
        if caller.rights != "person":
            raise Denied(HTTPStatus.FORBIDDEN, "the settings need a key with the scope administer")
        return await self._runner.settings(caller, *changes)

    def _with_icons(self, domains: str) -> str:
        """The names of domains, separated by commas, each after its icon in the settings."""
        entries = self.home.config.described_domains.items()
        icons = {domain_key(name): entry.icon for name, entry in entries}
        names = (name.strip() for name in domains.split(","))
        return ", ".join(f"{icons.get(domain_key(name), '')} {name}".strip() for name in names)

    def page(
        self, request: Request, template: str, status: int = HTTPStatus.OK, **values: object
    ) -> Response:
        """A page, or only its part if a script asks for that."""
        caller: Caller = request.scope["caller"]
        text = self._templates.get_template(template).render(
            request=request,
            is_partial="hx-request" in request.headers,
            may_write=not caller.read_only,
            is_person=caller.rights == "person",
            **values,
        )
        return HTMLResponse(text, status, _HEADERS)

    async def html(self, text: str, links: Iterable[Any] = (), title: str = "") -> str:
        """The text of a note as HTML, with `links` to the pages of other notes."""
        addresses = {
            link.target: f"/note/{quote(f'{link.vault}/{link.path}')}"
            for link in links
            if link.path and link.title is not None
        }
        # A long text takes seconds, in which others are answered.
        return await to_thread.run_sync(to_html, text, addresses, title)

    async def upload(self, request: Request, folder: Path, kind: type[Struct]) -> FileOutcome:
        """Ingest the file of a form. Raises `Denied` if it does not become a document."""
        return await ingest_upload(self._runner, request, folder, kind)

    def action(
        self,
        path: str,
        operation: str,
        then: Callable[[Any], str] | None = None,
        *,
        commas: Collection[str] = (),
    ) -> Route:
        """The route of a form for `submitted`.

        The browser goes on to the address in the field `back`, or to the one that `then` makes
        from the answer.
        """

        async def act(request: Request) -> Response:
            answer = await self.submitted(request, operation, commas)
            address = await back_of(request) or (then(answer) if then else "/")
            return see(address, getattr(answer, "change", None))

        return self.route(path, act, "POST")

    async def submitted(
        self, request: Request, operation: str, commas: Collection[str] = ()
    ) -> Any:
        """The answer to a form whose fields, with those in its path, are those of an operation.

        Empty fields are left out. A list has an entry per line, or for the fields in `commas`
        between commas.
        """
        form = QueryParams((await form_of(request)).multi_items())
        fields = values_in(OPERATIONS[operation].request, form)
        fields.pop("back", None)
        for name, value in fields.items():
            if isinstance(value, list):
                entries = [
                    entry.strip()
                    for text in value
                    for entry in (text.split(",") if name in commas else text.splitlines())
                ]
                fields[name] = [entry for entry in entries if entry]
        given = {name: value for name, value in fields.items() if value not in ("", [])}
        return await self.ask(request, operation, **{**given, **request.path_params})

    def route(self, path: str, endpoint: Endpoint, *methods: str) -> Route:
        """A route of a page, on which errors are pages too."""

        async def answer(request: Request) -> Response:
            try:
                return await endpoint(request)
            except (Denied, DjinnError) as error:
                change = request.query_params.get("change")
                # An undo may take away what its page would show.
                if change and isinstance(error, NotFound):
                    return see("/", change)
                return self.failed(request, error)

        return Route(path, answer, methods=[*methods] or ["GET"])

    def failed(self, request: Request, error: Denied | DjinnError) -> Response:
        """The page of an error."""
        if isinstance(error, Denied):
            return self.page(request, "error.html", error.status, why=str(error))
        why = CommandWording().error(error)
        return self.page(request, "error.html", status_of(error), why=why)


async def form_of(request: Request) -> FormData:
    """The fields of a form that was sent."""
    return await request.form(max_files=0, max_fields=MOST_FIELDS, max_part_size=16_000_000)


async def back_of(request: Request) -> str:
    """The address in the field `back` of a form, where the browser goes on; else empty."""
    back = str((await form_of(request)).get("back", ""))
    # A form of another host may name any address.
    return back if re.match(r"/(?![/\\])", back) else ""


def see(address: str, change: str | None = None) -> Response:
    """A response after a form: the browser goes on to a page, which offers to undo a change."""
    if change:
        path, hash_, part = address.partition("#")
        address = f"{path}{'&' if '?' in path else '?'}change={quote(change)}{hash_}{part}"
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)


def note_address(row: Any) -> str:
    """The address of the page of a memory. Its id would not do: copies of a note have the same."""
    block = getattr(row, "block", None)
    return "/note/" + quote(f"{row.vault}/{row.path}" + (f"#^{block}" if block else ""))


def asked(request: Request, kind: type[Struct], *names: str) -> dict[str, Any]:
    """The fields of an operation's request in the address of a page. Empty fields are None."""
    given = values_in(kind, request.query_params)
    return {name: None if given.get(name) == "" else given.get(name) for name in names}


def chosen(query: Mapping[str, str], name: str) -> str | None:
    """The text of a field; None if it is empty."""
    return query.get(name, "").strip() or None
