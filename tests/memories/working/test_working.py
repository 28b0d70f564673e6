"""The verbs of working memory, on SQLite and on a real Redis server alike."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, NotFound, Refused, Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.memories.working.verbs import MOST_BYTES
from tests.examples import examples
from tests.redis_server import pass_time, redis_server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with redis_server() as url:
        yield url


class Agents:
    """A home with two agents, whose time can be made to pass."""

    def __init__(self, home: Home, url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self._url = url
        self._patch = monkeypatch
        self._later = 0.0
        self.djinn = Djinn(home)

    def pass_time(self, seconds: float) -> None:
        if self._url:
            pass_time(self._url, seconds)
            return
        store: Any = self.djinn._state.working
        self._later += seconds
        store._clock = lambda: time.time() + self._later


@pytest.fixture(params=["sqlite", "redis"])
def agents(
    request: pytest.FixtureRequest, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Agents]:
    monkeypatch.delenv("DJINN_SESSION", raising=False)
    home, _ = init(tmp_path / "home", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    url = request.getfixturevalue("server") if request.param == "redis" else None
    if url:
        home.edit((("working_memory",), url))
        home.trust(home.untrusted)
    made = Agents(home, url, monkeypatch)
    yield made
    made.djinn.close()


@pytest.fixture
def working(agents: Agents) -> Any:
    return agents.djinn.working


def keys(working: Any, **where: Any) -> list[str]:
    return [one.key for one in working.list(**where).values]


def test_a_value_is_kept_for_its_time(agents: Agents, working: Any) -> None:
    done = working.set("cursor", {"line": 12, "of": ["ä", None]})
    assert done.replaced is None and done.value.ttl == 300 and done.value.session == "default"
    agents.pass_time(290)
    assert working.get("cursor").value == {"line": 12, "of": ["ä", None]}
    agents.pass_time(20)
    with pytest.raises(NotFound, match="no value 'cursor' in session default"):
        working.get("cursor")
    assert keys(working) == []


def test_a_set_says_what_it_replaced_and_a_get_is_counted(working: Any) -> None:
    working.set("a", "one", type="tool_result")
    used = [working.get("a") for _ in range(2)][-1]
    assert used.uses == 2 and used.last_used is not None
    done = working.set("a", "two", ttl=60)
    assert done.replaced.value == "one" and done.replaced.uses == 2
    assert (done.value.uses, done.value.type, done.value.last_used, done.value.ttl) == (
        0,
        None,
        None,
        60,
    )


def test_sessions_and_tasks_are_apart(working: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    working.set("a", "here")
    working.set("a", "there", session="other")
    working.set("a", "of a task", task="other")
    places: list[dict[str, str]] = [{}, {"session": "other"}, {"task": "other"}]
    found = [working.get("a", **where).value for where in places]
    assert found == ["here", "there", "of a task"]
    assert (
        keys(working) == keys(working, task="other") == ["a"] and len(keys(working, all=True)) == 3
    )
    assert working.clear("a", session="default").cleared
    with pytest.raises(NotFound):
        working.get("a", session="default")
    monkeypatch.setenv("DJINN_SESSION", "other")
    assert working.get("a").value == "there"
    with pytest.raises(UsageError, match=r"pass `session=...`, or pass `task=...`"):
        working.get("a", session="x", task="y")


def test_what_was_set_before_a_session_is_found_in_it(working: Any, agents: Agents) -> None:
    working.set("a", "before")
    working.set("b", "before")
    agents.djinn.wake()
    assert working.get("a").value == "before" and keys(working) == ["a", "b"]
    assert working.set("a", "in it").replaced is None
    assert (working.get("a").value, working.get("b").value) == ("in it", "before")
    assert [one.session for one in working.clear("b").cleared] == ["default"]
    working.set("b", "outside", session="default")
    assert [one.value for one in working.clear().cleared] == ["before", "in it", "outside"]
    assert keys(working, all=True) == []


def test_an_agent_sees_its_own_and_what_was_handed_to_it(working: Any) -> None:
    working.set("plan", "swim", agent="finn")
    working.set("mine", "x", agent="finn")
    with pytest.raises(NotFound):
        working.get("plan", agent="grace")
    assert keys(working, agent="grace", all=True) == []
    done = working.share("plan", "grace", agent="finn")
    assert (done.value.agent, done.value.given_by, done.replaced) == ("grace", "finn", None)
    assert keys(working, agent="grace") == ["plan"]
    working.set("plan", "walk", agent="finn")
    handed = working.get("plan", agent="grace")
    assert (handed.value, handed.given_by, handed.uses) == ("swim", "finn", 1)
    assert working.get("plan", agent="finn").uses == 1
    assert working.share("plan", "grace", agent="finn").replaced is None
    working.set("plan", "her own", agent="grace")
    for to, error in (("finn", UsageError), ("nobody", NotFound)):
        with pytest.raises(error):
            working.share("plan", to, agent="finn")


@pytest.mark.parametrize("where", [{}, {"session": "s"}], ids=["outside", "in a session"])
def test_what_was_handed_over_is_reached_beside_her_own(
    working: Any, where: dict[str, str]
) -> None:
    grace = {"agent": "grace", **where}
    working.set("plan", "swim")
    working.share("plan", "grace")
    assert working.get("plan", **grace).value == "swim"
    working.set("plan", "walk", **grace)
    found = working.get("plan", **grace)
    assert (found.value, found.also_from) == ("walk", ["finn"])
    handed = working.get("plan", agent="grace", giver="finn")
    assert (handed.value, handed.also_from) == ("swim", [])
    assert [(one.value, one.given_by) for one in working.list(**grace).values] == [
        ("swim", "finn"), ("walk", None),
    ]  # fmt: skip
    assert {one.value for one in working.clear("plan", **grace).cleared} == {"swim", "walk"}
    with pytest.raises(NotFound):
        working.get("plan", **grace)
    assert working.get("plan").value == "swim"


def test_clear_leaves_nothing_that_a_list_shows(working: Any) -> None:
    working.set("plan", "swim")
    working.share("plan", "grace")
    working.set("of a task", "x", agent="grace", task="t")
    working.set("mine", "x", agent="grace")
    assert len(working.clear(agent="grace", giver="finn").cleared) == 1
    working.share("plan", "grace")
    assert len(working.clear(agent="grace").cleared) == 2
    assert keys(working, agent="grace") == []
    assert keys(working, agent="grace", all=True) == ["of a task"]


def test_what_was_handed_over_lasts_as_long(agents: Agents, working: Any) -> None:
    working.set("a", "x", ttl=100)
    working.set("b", "x", ttl=100)
    agents.pass_time(50)
    working.share("a", "grace")
    working.share("b", "grace", ttl=100)
    agents.pass_time(60)
    assert keys(working, agent="grace") == ["b"]


def test_clear(working: Any) -> None:
    for key in "abc":
        working.set(key, key)
    working.set("a", "x", session="other")
    assert [one.value for one in working.clear("a").cleared] == ["a"]
    with pytest.raises(NotFound):
        working.clear("a")
    assert [one.key for one in working.clear().cleared] == ["b", "c"]
    assert working.clear().cleared == []
    assert keys(working, session="other") == ["a"]


def test_a_conversation_keeps_its_last_turns(agents: Agents, working: Any) -> None:
    agents.home.edit((("working", "history"), 3))
    for turn in range(5):
        done = working.set("chat", {"role": "user", "text": str(turn)}, append=True)
        assert done.replaced is None
    assert [one["text"] for one in working.get("chat").value] == ["2", "3", "4"]
    long = "x" * (MOST_BYTES // 2)
    for _ in range(3):
        working.set("chat", long, append=True)
    assert [len(one) for one in working.get("chat").value] == [len(long)]
    working.set("text", "x")
    with pytest.raises(UsageError, match="is not a list"):
        working.set("text", "y", append=True)
    assert working.get("text").value == "x"


# --- tasks


def test_a_task_is_resumed(agents: Agents, working: Any) -> None:
    working.set("branch", "main", task="deploy")
    assert working.resume("deploy").status == "running"
    for title, after in (
        ("build", ()),
        ("test", ("build",)),
        ("docs", ()),
        ("ship", ("test", "docs")),
    ):
        working.step("deploy", title, "pending", after=after)
    assert working.resume("deploy").next == ["build", "docs"]
    working.step("deploy", "build", "running")
    working.step("deploy", "build", "completed", {"size": 3})
    working.step("deploy", "test", "running")
    found = working.resume("deploy")
    assert [one.title for one in found.steps] == ["build", "test", "docs", "ship"]
    assert (found.status, found.completed, found.total) == ("running", 1, 4)
    assert found.steps[0].result == {"size": 3} and found.steps[3].after == ("test", "docs")
    assert found.next == ["test", "docs"] and [one.key for one in found.state] == ["branch"]
    working.step("deploy", "test", "failed", "3 tests fail")
    assert working.resume("deploy").status == "failed"
    for title in ("test", "docs", "ship"):
        working.step("deploy", title, "completed" if title == "test" else "cancelled")
    [listed] = working.tasks().tasks
    assert (listed.task, listed.status, listed.completed) == ("deploy", "completed", 2)
    assert working.resume("deploy").steps[1].result == "3 tests fail"
    assert working.tasks(agent="grace").tasks == []
    with pytest.raises(NotFound, match="no task 'deploy'"):
        working.resume("deploy", agent="grace")


def test_a_task_lasts_as_long_as_somebody_writes_to_it(agents: Agents, working: Any) -> None:
    working.set("first", "x", task="long")
    working.set("brief", "x", task="long", ttl=60)
    for _ in range(4):
        agents.pass_time(4 * 86_400)
        working.step("long", "step", "running")
    assert [one.key for one in working.resume("long").state] == ["first"]
    agents.pass_time(8 * 86_400)
    assert working.tasks().tasks == []


def test_steps_and_values_do_not_mix(working: Any) -> None:
    working.set("a", "x", task="t")
    working.step("t", "b", "pending")
    for wrong in (
        lambda: working.step("t", "a", "running"),
        lambda: working.set("b", "x", task="t"),
        lambda: working.step("t", "c", "pending", after=["nothing"]),
        lambda: working.step("t", "b", "pending", after=["b"]),
        lambda: working.step("t", "b", "done"),
    ):
        with pytest.raises(UsageError):
            wrong()
    assert len(working.list(task="t").values) == 2


# --- what is refused


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\0", "x" * 201, "\ud800", "\u2028", "\x1b[2J"])
def test_names_that_are_none(working: Any, name: str) -> None:
    for wrong in (
        lambda: working.set(name, "x"),
        lambda: working.step(name, "x", "pending"),
        lambda: working.step("t", name, "pending"),
    ):
        with pytest.raises(UsageError, match="on one line"):
            wrong()
    with pytest.raises(UsageError, match="session"):
        working.set("a", "x", session=name)
    assert keys(working, all=True) == []


@pytest.mark.parametrize("ttl", [0, -1, 2_592_001, 10**30])
def test_times_that_are_none(working: Any, ttl: int) -> None:
    working.set("a", "x")
    for wrong in (
        lambda: working.set("a", "y", ttl=ttl),
        lambda: working.share("a", "grace", ttl=ttl),
        lambda: working.step("t", "a", "pending", ttl=ttl),
    ):
        with pytest.raises(UsageError, match="1 to 2,592,000"):
            wrong()
    assert working.get("a").value == "x"


def test_values_that_are_none(working: Any) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("x" * MOST_BYTES, "\ud800", object(), deep):
        with pytest.raises(UsageError):
            working.set("a", value)
    with pytest.raises(UsageError, match="1,000,002 bytes"):
        working.step("t", "a", "completed", "x" * MOST_BYTES)
    working.set("a", "x" * (MOST_BYTES - 2))
    assert len(working.get("a").value) == MOST_BYTES - 2
    while deep:
        deep = deep.pop()


def test_a_secret_is_refused(working: Any) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    for wrong in (
        lambda: working.set("a", f"use {secret}"),
        lambda: working.set("a", {"token": [secret]}),
        lambda: working.set("a", secret, append=True),
        lambda: working.step("t", "a", "completed", secret),
        lambda: working.set("a", "b", task=secret),
        lambda: working.step(secret, "a", "completed"),
        lambda: working.set("password", "Tr0ub4dor&3"),
        lambda: working.step("t", "the password", "completed", "Tr0ub4dor&3"),
    ):
        with pytest.raises(Refused, match=r"GitHub token|a password") as told:
            wrong()
        assert secret not in str(told.value)
    assert keys(working, all=True) == []
    assert working.set("a", secret, allow_secret=True).value.value == secret


# --- where it is kept


def test_a_home_does_not_reach_a_server_untrusted(home: Home, server: str) -> None:
    home.edit((("working_memory",), server))
    home.trust(home.untrusted)
    Djinn(home).working.set("a", "x")
    home.distrust()
    djinn = Djinn(home)
    assert djinn.working.list().values == []
    [problem] = djinn.problems
    assert "working_memory provider redis at unix://" in problem.why
    assert not home.working_path.exists()


def test_without_the_package_the_extra_is_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.edit((("working_memory",), "redis://localhost"))
    home.trust(home.untrusted)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(Unavailable, match=r"pip install '\.\[redis\]' in a clone"):
        Djinn(home).working.list()


# --- any names and values


NAMES = st.text(max_size=12) | st.sampled_from(["a", "*", "[a]", ":", "{x}", "ä", "a" * 200])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=9)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@given(key=NAMES, session=NAMES, value=JSON)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_any_name_is_kept_or_refused_in_a_line(
    agents: Agents, key: str, session: str, value: Any
) -> None:
    working = agents.djinn.working
    try:
        working.set(key, value, session=session)
    except DjinnError as error:
        assert error.exit_code == 2 and "\n" not in str(error)
        return
    assert working.get(key, session=session).value == value
    assert key in keys(working, session=session)
    working.clear(key, session=session)
    assert key not in keys(working, session=session)
