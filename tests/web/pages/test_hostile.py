"""Memories of an attacker are inert on every page, whatever field holds the attack."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest
from PIL import Image

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.web.api.servers import serving
from tests.web.pages.conftest import browser
from tests.web.pages.test_limits import crawled
from tests.web.pages.test_markdown import ATTACKS

MINE = "MINE"
"""Stands in each attack, so that pages that show one are counted."""


class Hostile(HTMLParser):
    """What a page holds that could run or ask another host."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.dangers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in ("iframe", "object", "embed", "base", "style", "foreignobject", "animate"):
            self.dangers.append(tag)
        if tag == "script" and not values.get("src", "").startswith("/static/"):
            self.dangers.append(tag)
        for name, value in values.items():
            leads = name in ("href", "src", "action", "formaction", "hx-get", "hx-post")
            scheme = re.match(r"\s*([a-z]+):|//", value.lower())
            # A link of a text may lead to another host, and nothing else may.
            known = tag == "a" and scheme and scheme[1] in ("http", "https", "mailto")
            if name.startswith("on") or name == "style" or (leads and scheme and not known):
                self.dangers.append(f"{tag} {name}={value}")


def hostile(folder: Path) -> Home:
    """A home in which each field of each kind of memory holds attacks."""
    home, _ = init(folder / "home", ("me",))
    home.edit((("embedding", "provider"), "hashing"), (("server", "rate"), 10_000))
    shared = home.root / "vaults" / "shared"
    attacks = [f"{MINE} {attack}" for attack in ATTACKS]
    for number, attack in enumerate(attacks):
        quoted = json.dumps(attack)
        name = re.sub(r"[/\n]", "-", attack)[:80]
        front = f"title: {quoted}\ntags: [{quoted}]\ntype: lesson\nsource: {quoted}\n"
        (shared / f"{number} {name}.md").write_text(f"---\n{front}---\n{attack}\n\n[[Pier]]\n")
    (shared / "Pier.md").write_text(f"# Pier\n\nMentions {attacks[0]}\n")
    with Djinn(Home(home.root)) as djinn:
        djinn.index()
        for number, attack in enumerate(attacks[:8]):
            line = attack.replace("\n", " ")
            with suppress(DjinnError):
                djinn.entities.add(f"{line} {number}", "person", attack, aliases=[f"{line} alias"])
                djinn.entities.set(f"{line} {number}", f"key-{number}", line)
            with suppress(DjinnError):
                djinn.facts.set("boat", f"key{number}", line)
                djinn.facts.set("boat", f"key{number}", f"{line} again")
            djinn.episodes.record_interaction(attack, attack, session=f"{line} session"[:90])
            djinn.gaps.report(description=line)
            djinn.recall(line)
            file = folder / re.sub(r"[/\n]", "-", f"{attack}.pdf")
            Image.new("L", (40, 40), 255).save(file, "PDF", title=attack, author=attack)
            djinn.documents.ingest([file])
            (folder / f"{number}.md").write_text(f"# {attack}\n\n{attack}\n")
            djinn.documents.ingest([folder / f"{number}.md"], title=line)
        djinn.maintain(["duplicates", "contradictions"])
    return home


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        home = hostile(tmp_path_factory.mktemp("hostile"))
        with Djinn(Home(home.root)) as djinn:
            key = djinn.keys.add("admin", scope="administer").secret
        with serving(home) as server:
            opened = browser(server, key)
            yield opened
            opened.close()


def test_every_page_is_inert(client: httpx2.Client) -> None:
    showing = 0
    for page in crawled(client):
        if "html" not in page.headers["content-type"]:
            continue
        assert page.status_code == 200, page.url
        assert Hostile(page.text).dangers == [], page.url
        assert "'unsafe" not in page.headers["content-security-policy"]
        showing += MINE in page.text
    assert showing > 60
