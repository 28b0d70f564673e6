"""A server with pages, and browsers without a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.web.api.servers import RunningServer, serving


class Place(NamedTuple):
    """A server, and browsers without a script that are logged in with keys."""

    server: RunningServer
    home: Home
    shared: Path
    admin: httpx2.Client
    reader: httpx2.Client
    other: httpx2.Client
    """Logged in with the key of an agent that does not see the vault `me`."""


def browser(server: RunningServer, key: str) -> httpx2.Client:
    """A browser that has logged in with a key."""
    client = httpx2.Client(
        base_url=server.url, timeout=60, follow_redirects=True,
        headers={"Accept": "text/html", "Sec-Fetch-Site": "same-origin"},
    )  # fmt: skip
    page = client.post("/login", data={"key": key})
    assert page.status_code == 200 and page.url.path == "/", page.text
    return client


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        home, _ = init(tmp_path_factory.mktemp("pages") / "home", ("me", "other"))
        home.edit((("embedding", "provider"), "hashing"), (("server", "rate"), 1000))
        shared = home.root / "vaults" / "shared"
        (shared / "pier.md").write_text("# Pier\n\nIt is wet.\n")
        (home.root / "vaults" / "me" / "diary.md").write_text("# Diary\n\nSecretly.\n")
        with Djinn(Home(home.root)) as djinn:
            djinn.index()
            djinn.gaps.report(description="Who lights the lamp?")
            keys = [
                djinn.keys.add("admin", scope="administer").secret,
                djinn.keys.add("reader").secret,
                djinn.keys.add("other", scope="write", agents=["other"]).secret,
            ]
        with serving(home) as server:
            browsers = [browser(server, key) for key in keys]
            yield Place(server, home, shared, *browsers)
            for client in browsers:
                client.close()
