"""The timeline, and the page of a session."""

from __future__ import annotations

import re

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.web.pages.history.conftest import Past


def test_the_timeline_lists_episodes_by_day_and_session(past: Past) -> None:
    page = past.place.admin.get("/timeline").text
    assert '<time datetime="2026-03-06">2026-03-06</time>' in page
    for turn in past.turns:
        assert f'href="{past.session}#{turn}"' in page
    assert "I prefer trains to planes." in page and "<script>document" not in page
    assert "No episode matches." in past.place.admin.get("/timeline?channel=voice").text
    assert "No episode matches." in past.place.admin.get("/timeline?agent=grace").text
    assert past.place.admin.get("/timeline?since=2026-03-06&skip=2").text.count(past.session) == 3
    assert past.place.admin.get("/timeline?since=soon").status_code == 400


def test_a_session_is_extracted_after_a_preview_and_ended(past: Past) -> None:
    admin, session = past.place.admin, past.session
    page = admin.get(session).text
    assert all(f'id="{turn}"' in page for turn in past.turns)
    assert "<script>document" not in page and "The other 1000 characters" in page
    assert "Half of the trench is dug" in page and "<strong>open</strong>" in page
    assert "Derived from this turn" in page and ">Checks the lamp around 9</a>" in page
    preview = admin.get(f"{session}?preview=1").text
    assert "Prefers trains to planes" in preview and "1 memory would be written" in preview
    assert "Prefers trains to planes" not in admin.get(session).text
    done = admin.post(f"/extract{session}")
    assert done.url.raw_path.decode() == session
    assert re.search(r'<a href="/note/[^"]+">Prefers trains to planes</a>', done.text)
    assert "1 memory extracted" in done.text
    ended = admin.post(f"/end{session}", data={"agent": "me"})
    assert ended.status_code == 200 and "<strong>open</strong>" not in ended.text
    assert admin.post(f"/end{session}").status_code == 404


def test_a_session_without_turns_names_similar_ones(past: Past) -> None:
    page = past.place.admin.get("/session/the%20dig")
    assert "This session has no turns." in page.text and f'href="{past.session}"' in page.text
    assert past.place.admin.get("/session/x?last=many").status_code == 400


def test_others_neither_see_nor_change_a_session(past: Past) -> None:
    place = past.place
    for path in ("/timeline", past.session, f"{past.session}?agent=me", "/timeline?agent=me"):
        assert "I prefer trains" not in place.other.get(path).text, path
    assert "See what can be extracted" not in place.reader.get(past.session).text
    assert place.reader.post(f"/extract{past.session}").status_code == 403
    assert place.other.post(f"/extract{past.session}", data={"agent": "me"}).status_code == 404
    with Djinn(Home(place.home.root)) as djinn:
        assert djinn.sessions.history("the dig/1").total == 3
