"""No page, and no part of one, shows a browser what its key does not open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.routing import Route

from djinn_memory.web.pages.pages import page_routes
from djinn_memory.web.pages.site import Site
from tests.web.api.serving import Served
from tests.web.limited import WORD

NAMES = [
    *(f"{vault}/{WORD}/{WORD}-note.md" for vault in ("shelf", "grace", "finn", "shared")),
    WORD.title(), WORD, f"{WORD} player", f"{WORD}s on Mondays", f"{WORD}.pdf", "grace",
]  # fmt: skip
"""Names of what is hidden: of notes, entities, sessions, patterns, documents and agents."""

ABSENT = "qwxqwx"
"""Has as many letters as the word of what is hidden, and names nothing."""

MOST = 400
"""Pages that are followed from the start."""


def routes(method: str) -> list[str]:
    """The paths of all pages and forms, with their parameters."""
    made: Any = None
    listed = page_routes(Site(made), made, Path())
    return [
        route.path for route in listed
        if isinstance(route, Route) and method in (route.methods or ()) and route.path != "/login"
    ]  # fmt: skip


def filled(path: str, name: str) -> str:
    """A path about a name."""
    number = path.replace("{page:int}", "1")
    return re.sub(r"\{\w+(:path)?\}", name.replace(" ", "%20"), number)


def browsers(server: Served, key: str) -> Iterator[httpx2.Client]:
    """A browser that is logged in, without and with the header of a script that asks for parts."""
    for asks_for_part in ({}, {"HX-Request": "true"}):
        client = httpx2.Client(
            base_url=f"http://{server.host}", timeout=60, follow_redirects=True,
            headers={"Accept": "text/html", "Sec-Fetch-Site": "same-origin"},
        )  # fmt: skip
        assert client.post("/login", data={"key": key}).status_code == 200
        client.headers.update(asks_for_part)
        yield client
        client.close()


def crawled(client: httpx2.Client) -> Iterator[httpx2.Response]:
    """The pages that links lead to, from the pages without parameters on."""
    waiting = [path for path in routes("GET") if "{" not in path]
    seen = {*waiting}
    while waiting and len(seen) < MOST:
        yield (page := client.get(waiting.pop()))
        for link in re.findall(r'(?:href|src|hx-get)="(/[^"]*)"', page.text):
            address = unescape(link).partition("#")[0]
            if address not in seen and not address.startswith(("/static", "/docs")):
                seen.add(address)
                waiting.append(address)


@pytest.mark.parametrize("limit", ["domain", pytest.param("shared", marks=pytest.mark.soak)])
def test_no_page_shows_what_is_hidden(served: tuple[Served, dict[str, str]], limit: str) -> None:
    server, keys = served
    for client in browsers(server, keys[limit]):
        pages = [*crawled(client)]
        assert len(pages) >= 10
        for page in pages:
            assert page.status_code < 500, page.url
            assert WORD not in page.text.lower(), page.url


def test_the_pages_show_it_to_a_key_without_limits(served: tuple[Served, dict[str, str]]) -> None:
    server, keys = served
    for client in browsers(server, keys["all"]):
        assert sum(WORD in page.text.lower() for page in crawled(client)) > 20


@pytest.mark.parametrize("limit", ["domain", pytest.param("shared", marks=pytest.mark.soak)])
def test_what_is_hidden_has_the_page_of_what_does_not_exist(
    served: tuple[Served, dict[str, str]], limit: str
) -> None:
    server, keys = served
    for client in browsers(server, keys[limit]):
        for path in (path for path in routes("GET") if "{" in path):
            for name in NAMES:
                shown, other = (
                    client.get(filled(path, each))
                    for each in (name, name.replace(WORD, ABSENT).replace("Zither", "Qwxqwx"))
                )
                assert shown.status_code == other.status_code < 500, (path, name)
                absent = re.sub(ABSENT, WORD, other.text.lower())
                assert shown.text.lower() == absent, (path, name)


@pytest.mark.parametrize("limit", ["domain", pytest.param("shared", marks=pytest.mark.soak)])
def test_no_form_changes_what_is_hidden(served: tuple[Served, dict[str, str]], limit: str) -> None:
    server, keys = served

    def hidden() -> dict[Path, bytes]:
        return {file: file.read_bytes() for file in server.home.root.rglob(f"*{WORD}*.md")}

    before = hidden()
    assert before
    for client in browsers(server, keys[limit]):
        for path in routes("POST"):
            for name in NAMES if "{" in path else [""]:
                answer = client.post(filled(path, name), data={"title": "x", "to": "x"})
                assert answer.status_code < 500, (path, name)
    assert hidden() == before
