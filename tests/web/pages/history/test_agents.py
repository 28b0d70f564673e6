"""The pages of agents."""

from __future__ import annotations

import re

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.web.pages.history.conftest import Past


def test_agents_are_listed_as_far_as_a_key_opens_them(past: Past) -> None:
    page = past.place.admin.get("/agents").text
    assert re.findall(r'href="/agent/(\w+)"', page) == ["me", "other", "grace"]
    assert "vaults/grace" in page
    page = past.place.other.get("/agents").text
    assert re.findall(r'href="/agent/(\w+)"', page) == ["other"] and "vaults/" not in page
    assert past.place.other.get("/agent/me").status_code == 404


def test_a_profile_is_set_unset_and_taken_back(past: Past) -> None:
    admin = past.place.admin
    rules = {"key": "rules", "values": "Ask before you delete.\r\nSay <b>why</b>."}
    page = admin.post("/set/agent/grace", data=rules)
    assert page.url.path == "/agent/grace"
    assert "Ask before you delete.; Say &lt;b&gt;why&lt;/b&gt;." in page.text
    [change] = re.findall(r'name="change" value="(chg_\w+)"', page.text)
    page = admin.post("/undo", data={"change": change, "back": "/agent/grace"})
    assert "Ask before you delete." not in page.text
    assert "Ask before you delete." in admin.post("/set/agent/grace", data=rules).text
    page = admin.post("/unset/agent/grace", data={"key": "rules"})
    assert "Ask before you delete." not in page.text
    page = admin.post("/set/agent/grace", data={"key": "default_budget", "values": "many"})
    assert page.status_code == 400 and "default_budget" in page.text
    assert past.place.reader.post("/set/agent/me", data=rules).status_code == 403
    assert 'action="/set/agent' not in past.place.reader.get("/agent/me").text


def test_to_look_at_an_agent_starts_no_session_and_logs_no_recall(past: Past) -> None:
    with Djinn(Home(past.place.home.root)) as djinn:
        djinn.sessions.start(agent="grace")
        djinn.remember("lesson", "Pumps clog", "Pumps clog with weed.", agent="grace")
        recalled = djinn.recall("pumps", agent="grace")
        djinn.rate(recalled.request_id or "", useful=[1], agent="grace")
    page = past.place.admin.get("/agent/grace").text
    assert page.count("Pumps clog</a>") == 2
    asked = page.partition("What it asked")[2].partition("</table>")[0]
    assert re.search(r"pumps</a></th>\s*<td>[^<]+</td><td>\d+</td><td>1</td><td>0</td>", asked), (
        asked
    )
    assert "What it asked" not in past.place.reader.get("/agent/me").text
    assert re.search(r"Pumps clog</a></th><td>1</td><td>1</td><td>0</td>", page)
    with Djinn(Home(past.place.home.root)) as djinn:
        assert len(djinn.sessions.list(agent="grace").sessions) == 1
        assert djinn.scores.show(agent="grace").scores[0].record.uses == 1
        assert djinn.wake(agent="grace").unfinished
