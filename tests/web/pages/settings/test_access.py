"""The page of domains, agents and keys."""

from __future__ import annotations

import re

import httpx2

from djinn_memory.home.home import Home
from djinn_memory.home.settings import DomainConfig
from tests.web.pages.conftest import Place, browser

URL = "/settings/access"


def test_domains_and_what_agents_see_of_them(place: Place) -> None:
    assert "No domain is listed" in place.admin.get(URL).text
    hostile = '<img src=x onerror="x">'
    for name, icon, description in (("work", "⚓", hostile), ("home", "", "Family")):
        data = {"name": name, "icon": icon, "description": description}
        page = place.admin.post(f"{URL}/domains", data=data)
        assert page.url.path == URL
    assert hostile not in page.text and "&lt;img src=x" in page.text and "⚓ work" in page.text
    assert Home(place.home.root).config.domains == {
        "work": DomainConfig(hostile, "⚓"), "home": "Family",
    }  # fmt: skip
    page = place.admin.post(f"{URL}/agents/other", data={"limited": "on", "domain": "home"})
    assert "hidden from other" in page.text
    assert Home(place.home.root).config.access == {"other": ["home"]}
    (place.shared / "till.md").write_text("---\ndomain: work\n---\n# Till\n\nIt is shut.\n")
    assert "⚓ work" in place.admin.get("/search?query=till").text
    assert "Till" not in place.other.get("/search?query=till").text
    owner = place.admin.post(f"{URL}/agents/me", data={"limited": "on"})
    assert owner.status_code == 400 and "sees every domain" in owner.text
    used = place.admin.post(f"{URL}/domains", data={"name": "home", "remove": "1"})
    assert used.status_code == 400 and "access.other" in used.text
    for data in ({"name": "a b"}, {"name": ""}, {"name": "x", "icon": "long " * 9}):
        assert place.admin.post(f"{URL}/domains", data=data).status_code == 400
    place.admin.post(f"{URL}/agents/other", data={"domain": "home"})
    for name in ("work", "home"):
        place.admin.post(f"{URL}/domains", data={"name": name, "remove": "1"})
    config = Home(place.home.root).config
    assert (config.domains, config.access) == ({}, {})
    (place.shared / "till.md").unlink()


def test_a_domain_that_is_not_listed_stays_open(place: Place) -> None:
    place.home.edit((("access", "other"), ["health"]))
    page = place.admin.get(URL).text
    assert re.search(r'name="domain" value="health" checked', page)
    place.admin.post(f"{URL}/agents/other")


def test_only_a_person_changes_access(place: Place) -> None:
    before = place.home.config_path.read_bytes(), place.home.keys_path.read_bytes()
    for path in ("domains", "agents/other", "keys", "keys/reader/revoke"):
        refused = place.other.post(f"{URL}/{path}", data={"name": "evil", "limited": "on"})
        assert refused.status_code == 403, path
    assert (place.home.config_path.read_bytes(), place.home.keys_path.read_bytes()) == before


def test_the_secret_of_a_key_is_shown_once(place: Place) -> None:
    data = {"name": "phone", "scope": "write", "agents": "me, other", "expires": "90d",
            "vaults": "shared", "domains": ""}  # fmt: skip
    page = place.admin.post(f"{URL}/keys", data=data)
    [secret] = re.findall(r"<code>(djinn_[\w-]+)</code>", page.text)
    assert "djinn_" not in str(page.url)
    again = place.admin.get(URL)
    assert secret not in again.text and "phone" in again.text and "vaults: shared" in again.text
    phone = browser(place.server, secret)
    assert "Diary" not in phone.get("/").text
    twice = place.admin.post(f"{URL}/keys", data=data)
    assert twice.status_code == 409 and "a key &#39;phone&#39; exists" in twice.text
    revoked = place.admin.post(f"{URL}/keys/phone/revoke")
    assert revoked.url.path == URL and "phone/revoke" not in revoked.text
    assert phone.get("/search").url.path == "/login"
    phone.close()
    bearer = {"Authorization": f"Bearer {secret}"}
    assert httpx2.get(f"{place.server.url}/v1/keys.list", headers=bearer).status_code == 401
