"""The pages without a script: what a form does, who sees what, and what a page answers."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from html import unescape
from pathlib import Path

import httpx2
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.web.api.guard import MOST_COOKIES
from tests.web.pages.conftest import Place, browser

PDF = Path(__file__).resolve().parents[3] / "docs" / "samples" / "tide-gauge-manual.pdf"
LAMP = "---\ntitle: Lamp\ntype: lesson\n---\n# Lamp\n\nIt turns. See [[Pier]].\n"


@pytest.fixture
def lamp(place: Place) -> str:
    (place.shared / "lamp.md").write_text(LAMP)
    return "/note/shared/lamp.md"


PAGES = ("/", "/search", "/search?query=pier", "/documents", "/graph", "/note/shared/pier.md",
         "/entities", "/facts")  # fmt: skip


@pytest.mark.parametrize("path", [*PAGES, "/review", "/edit/note/shared/pier.md"])
def test_a_page_and_its_part(place: Place, path: str) -> None:
    page = place.admin.get(path)
    assert page.status_code == 200 and page.text.startswith("<!doctype html>")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not re.search(r"<script(?! type=\"module\" src=)|\sstyle=|\son\w+=", page.text)
    part = place.admin.get(path, headers={"HX-Request": "true"})
    assert part.status_code == 200 and "<html" not in part.text
    headings = re.findall("<h1.*?</h1>", part.text)
    assert all(heading in page.text for heading in headings)


def test_without_a_login_there_is_only_the_login(place: Place) -> None:
    html = {"Accept": "text/html"}
    for path in PAGES:
        page = httpx2.get(f"{place.server.url}{path}", headers=html)
        assert (page.status_code, page.headers["location"]) == (303, "/login")
    assert httpx2.get(f"{place.server.url}/login", headers=html).status_code == 200
    assert httpx2.get(f"{place.server.url}/").status_code == 401
    own = {**html, "Sec-Fetch-Site": "same-origin"}
    wrong = httpx2.post(f"{place.server.url}/login", data={"key": "wrong"}, headers=own)
    assert wrong.status_code == 401 and "unknown or revoked" in wrong.text
    assert "set-cookie" not in wrong.headers
    assert httpx2.get(f"{place.server.url}/static/../serve.py").status_code in (401, 404)


def test_a_key_that_is_revoked_logs_out(place: Place) -> None:
    with Djinn(Home(place.home.root)) as djinn:
        secret = djinn.keys.add("short").secret
    client = browser(place.server, secret)
    assert client.get("/search").url.path == "/search"
    with Djinn(Home(place.home.root)) as djinn:
        djinn.keys.revoke("short")
    assert client.get("/search").url.path == "/login"


def test_no_page_shows_what_a_key_does_not_open(place: Place) -> None:
    assert "Diary" in place.admin.get("/").text
    for path in (*PAGES, "/search?query=diary+secretly", "/v1/graph.view"):
        assert "Diary" not in place.other.get(path).text, path
        assert "lights" not in place.other.get(path).text, path
    for path in ("/note/me/diary.md", "/edit/note/me/diary.md"):
        assert place.other.get(path).status_code == 404
    sent: dict[str, dict[str, str]] = {
        "edit": {"text": "x", "digest": "y"}, "delete": {}, "preview": {"text": "x"},
        "rename": {"title": "x"}, "move": {"to": "x"}, "fields": {"tags": "x"},
        "link_mentions": {"mentions": "all"},
    }  # fmt: skip
    for action, data in sent.items():
        answer = place.other.post(f"/{action}/note/me/diary.md", data=data)
        assert answer.status_code in (403, 404), action
    assert place.other.get("/review").status_code == 403


def changed_in(text: str) -> str:
    """The change that the form of a page takes back."""
    return re.findall(r'name="change" value="(chg_\w+)"', text)[0]


def test_each_deletion_takes_back_its_own(place: Place) -> None:
    names = [f"gone {number}.md" for number in range(6)]
    for name in names:
        (place.shared / name).write_text(f"# {name}\n")
    with ThreadPoolExecutor(6) as threads:
        pages = [*threads.map(lambda name: place.admin.post(f"/delete/note/shared/{name}"), names)]
    assert len({changed_in(page.text) for page in pages}) == 6
    for page, name in zip(pages, names, strict=True):
        place.admin.post("/undo", data={"change": changed_in(page.text)})
        assert (place.shared / name).exists()
        (place.shared / name).unlink()


def test_strange_notes_have_pages(place: Place) -> None:
    links = "[x](http://[abc) <http://[abc> [x](//[a) ![x](http://a]b)\n"
    (place.shared / "odd.md").write_text(f"# Odd\n\n{links}")
    (place.shared / "long.md").write_text("# Long\n\n" + "---x\n" * 100_000)
    for path in ("/note/shared/odd.md", "/edit/note/shared/odd.md", "/note/shared/long.md"):
        assert place.admin.get(path).status_code == 200, path
    for name in ("odd.md", "long.md"):
        (place.shared / name).unlink()


@pytest.mark.soak
def test_a_key_does_not_log_others_out(place: Place) -> None:
    with Djinn(Home(place.home.root)) as djinn:
        secret = djinn.keys.add("many").secret
    for _ in range(MOST_COOKIES + 3):
        origin = {"Sec-Fetch-Site": "same-origin"}
        page = httpx2.post(f"{place.server.url}/login", data={"key": secret}, headers=origin)
        assert page.status_code == 303
    assert place.admin.get("/search").url.path == "/search"
    foreign = httpx2.post(f"{place.server.url}/login", data={"key": secret})
    assert foreign.status_code == 403


def test_a_note_is_edited_and_taken_back(place: Place, lamp: str) -> None:
    page = place.admin.get(f"/edit{lamp}")
    digest = re.findall(r'name="digest" value="([^"]+)"', page.text)[0]
    text = LAMP.replace("turns", "blinks").replace("\n", "\r\n")
    saved = place.admin.post(f"/edit{lamp}", data={"text": text, "digest": digest})
    assert saved.status_code == 200 and "It blinks." in saved.text
    assert "It blinks. See [[Pier]].\n" in (place.shared / "lamp.md").read_text()
    change = changed_in(saved.text)
    back = place.admin.post("/undo", data={"back": lamp, "change": change})
    assert back.url.path == lamp and "It turns." in back.text
    assert (place.shared / "lamp.md").read_text() == LAMP
    away = place.admin.post("/undo", data={"back": "//evil.example", "change": change})
    assert away.url.host == "127.0.0.1"
    tricked = place.admin.get(f"{lamp}?change=../delete{lamp}")
    assert 'action="/undo"' in tricked.text


def test_a_conflict_shows_both_texts_and_overwrites_nothing(place: Place, lamp: str) -> None:
    page = place.admin.get(f"/edit{lamp}")
    digest = re.findall(r'name="digest" value="([^"]+)"', page.text)[0]
    theirs = LAMP.replace("turns", "burns")
    (place.shared / "lamp.md").write_text(theirs)
    mine = {"text": LAMP.replace("turns", "blinks"), "digest": digest}
    conflict = place.admin.post(f"/edit{lamp}", data=mine)
    assert conflict.status_code == 409
    assert "It burns." in conflict.text and "It blinks." in conflict.text
    assert (place.shared / "lamp.md").read_text() == theirs
    newer = re.findall(r'name="digest" value="([^"]+)"', conflict.text)[0]
    saved = place.admin.post(f"/edit{lamp}", data={**mine, "digest": newer})
    assert saved.status_code == 200 and "It blinks." in saved.text


def test_a_note_is_renamed_and_deleted(place: Place, lamp: str) -> None:
    renamed = place.admin.post(f"/rename{lamp}", data={"title": "Beacon"})
    assert renamed.status_code == 200 and '<h1 id="title">Beacon</h1>' in renamed.text
    gone = place.admin.post(f"/delete{renamed.url.path}")
    assert gone.status_code == 200 and not (place.shared / "beacon.md").exists()
    assert place.admin.post("/undo", data={"change": changed_in(gone.text)}).status_code == 200
    assert (place.shared / "beacon.md").exists()
    (place.shared / "beacon.md").unlink()


def test_a_note_is_tagged_moved_and_rated_and_its_mentions_become_links(place: Place) -> None:
    (place.shared / "buoy.md").write_text("# Buoy\n\nIt rings.\n")
    (place.shared / "fog.md").write_text("# Fog\n\nThe Buoy rings in it.\n")
    tagged = place.admin.post("/fields/note/shared/buoy.md", data={"tags": "sea, red/one"})
    assert tagged.status_code == 200 and "#red/one" in tagged.text
    assert "tags: [sea, red/one]" in (place.shared / "buoy.md").read_text()
    moved = place.admin.post("/move/note/shared/buoy.md", data={"to": "sea"})
    assert moved.status_code == 200 and moved.url.path == "/note/shared/sea/buoy.md"
    more = place.admin.get("/more/note/shared/sea/buoy.md").text
    assert "memory move" in more and "<ins>+tags: [sea, red/one]</ins>" in more
    [key, _] = re.findall(r'name="mentions" value="([^"]+)"', more)
    back = {"mentions": key, "back": moved.url.path}
    linked = place.admin.post("/link_mentions/note/shared/sea/buoy.md", data=back)
    assert "[[" in (place.shared / "fog.md").read_text() and "Fog" in linked.text
    place.admin.post("/undo", data={"change": changed_in(linked.text)})
    assert "[[" not in (place.shared / "fog.md").read_text()
    name = {"useful": "shared:sea/buoy.md", "back": moved.url.path}
    assert "<dd>1 useful of 1</dd>" in place.admin.post("/rate", data=name).text
    for path in ("sea/buoy.md", "fog.md"):
        (place.shared / path).unlink()


def test_a_memory_is_written_and_superseded(place: Place) -> None:
    new = {
        "type": "lesson",
        "title": "Noon gun",
        "text": "It is fired.",
        "tags": "",
        "shared": "true",
    }
    first = place.admin.post("/new", data=new)
    assert first.status_code == 200 and '<h1 id="title">Noon gun</h1>' in first.text
    [address] = re.findall(r'href="(/new\?supersedes=[^"]+)"', first.text)
    form = place.admin.get(address).text
    [old] = re.findall(r'name="supersedes" value="([^"]+)"', form)
    newer = place.admin.post("/new", data={**new, "title": "Siren", "supersedes": old})
    assert newer.status_code == 200 and "Siren" in newer.text
    assert "superseded" in (place.shared / "lessons" / "noon-gun.md").read_text()
    for name in ("noon-gun", "siren"):
        (place.shared / "lessons" / f"{name}.md").unlink()


def test_a_document_is_uploaded(place: Place) -> None:
    files = {"file": ("manual.pdf", PDF.read_bytes())}
    empty = {"document_type": "", "chunk_strategy": "", "password": ""}
    page = place.admin.post("/documents", files=files, data=empty)
    assert page.status_code == 200 and "manual.pdf" in page.text
    again = place.admin.post("/documents", files=files, data=empty)
    assert again.status_code == 409 and "<h1>That did not work</h1>" in again.text
    [name] = re.findall(r'href="/documents/([^"]+)"', page.text)
    read = place.admin.get(f"/documents/{name}?page=2")
    assert read.status_code == 200 and "2 Mounting" in read.text and "page 2 of 5" in read.text
    drawn = place.admin.get(f"/documents/{name}/2.png")
    assert drawn.content.startswith(b"\x89PNG") and drawn.headers["content-type"] == "image/png"
    assert place.other.get(f"/documents/{name}/9.png").status_code == 404
    broken = {"file": ("broken.pdf", b"%PDF-1.7 nothing")}
    refused = place.admin.post("/documents", files=broken, data=empty)
    assert refused.status_code == 422 and "broken.pdf" in refused.text
    [name] = re.findall(r'action="/documents/([^"]+)/remove"', page.text)
    assert "manual.pdf" not in place.admin.post(f"/documents/{name}/remove").text


def test_what_does_not_work_is_a_page_that_says_why(place: Place, lamp: str) -> None:
    missing = place.admin.get("/note/nowhere")
    assert missing.status_code == 404 and "<h1>That did not work</h1>" in missing.text
    odd = place.admin.get("/search?query=pier&since=yestermorrow")
    assert odd.status_code == 400 and "yestermorrow" in odd.text
    refused = place.reader.post(f"/delete{lamp}")
    assert refused.status_code == 403 and "scope write" in refused.text
    foreign = httpx2.post(
        f"{place.server.url}/delete{lamp}", cookies=dict(place.admin.cookies),
        headers={"Sec-Fetch-Site": "cross-site"},
    )  # fmt: skip
    assert foreign.status_code == 403
    assert (place.shared / "lamp.md").exists()


def test_an_undo_that_takes_a_page_away_leads_to_the_start(place: Place) -> None:
    page = place.admin.post("/entities", data={"name": "Anna", "kind": "person"})
    undo = {"change": changed_in(page.text), "back": page.url.path}
    gone = place.admin.post("/undo", data=undo)
    assert (gone.status_code, gone.url.path) == (200, "/")
    assert place.admin.post("/undo", data={"change": changed_in(gone.text)}).status_code == 200
    place.admin.post(page.url.path.replace("entity", "entities/remove"))


def test_notes_of_the_future_are_not_those_of_today(place: Place) -> None:
    (place.shared / "soon.md").write_text("---\ntype: decision\ndate: 2999-01-01\n---\n# Soon\n")
    (place.shared / "now.md").write_text(
        f"---\ntype: decision\ndate: {date.today()}\n---\n# Right now\n"
    )
    page = place.admin.get("/").text
    today = page[page.index('id="today"') : page.index('id="new"')]
    assert "Right now" in today and "Soon" not in today
    assert page.count("Right now</a>") == page.count("Soon</a>") == 1
    for name in ("soon", "now"):
        (place.shared / f"{name}.md").unlink()


def test_a_gap_is_closed(place: Place) -> None:
    page = place.admin.get("/")
    [path] = re.findall(r'action="(/gaps/gap_\w+/close)"', page.text)
    assert "No agent has reported a gap." in place.admin.post(path).text


def test_a_number_in_an_address_that_is_none_is_an_error_of_the_reader(place: Place) -> None:
    for path in ("/review?limit=abc", "/documents/nothing?page=abc", "/timeline?skip=abc"):
        page = place.admin.get(path)
        assert page.status_code in (400, 404) and "That did not work" in page.text, path


def test_a_form_says_what_became_of_it(place: Place) -> None:
    page = place.admin.post("/rate", data={"useful": "shared/pier.md", "back": "/note/x?done=1"})
    assert page.url.query == b"done=1"
    assert "Done." in place.admin.get("/note/shared/pier.md?done=1").text
    page = place.admin.post("/move/note/shared/pier.md", data={"to": "nowhere:x"})
    assert page.status_code == 400 and "Go back in your browser" in page.text
    assert "Go back in your browser" not in place.admin.get("/note/nowhere").text


def test_a_memory_that_supersedes_another_has_its_type(place: Place) -> None:
    note = place.admin.post("/new", data={"type": "lesson", "title": "Old", "text": "x y"})
    link = re.search(r"/new\?[^\"]*", note.text)
    assert link
    page = place.admin.get(unescape(link[0])).text
    assert 'value="lesson"' in page and ">Old</a>" in page


def test_filters_that_nothing_matches_can_be_cleared(place: Place) -> None:
    assert 'href="/search">Clear them' in place.admin.get("/search?types=nothing").text


def test_the_page_of_a_login_offers_nothing_else(place: Place) -> None:
    text = httpx2.get(f"{place.server.url}/login").text
    assert "Log in" in text and "<nav" not in text
