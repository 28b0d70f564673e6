"""Working memory over the protocol."""

from __future__ import annotations

from mcp import Client

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.mcp.clients import asked, call, refused


def test_working(pair: Home) -> None:
    async def work(client: Client) -> None:
        await call(client, "working", action="set", key="step", value={"at": 3}, ttl=600)
        held = await call(client, "working", action="get", key="step")
        assert held["values"][0]["value"] == {"at": 3}
        await call(client, "working", action="share", key="step", to="grace")
        await call(client, "working", action="step", task="t1", key="dig", status="running")
        listed = await call(client, "working", action="tasks")
        assert [one["task"] for one in listed["tasks"]] == ["t1"]
        assert (await call(client, "working", action="resume", task="t1"))["task"]["next"] == [
            "dig"
        ]
        assert len((await call(client, "working", action="list"))["values"]) == 1
        await call(client, "working", action="clear", key="step")
        assert "no value" in await refused(client, "working", action="get", key="step")
        for wrong in ({"action": "set", "key": "x"}, {"action": "get"}, {"action": "resume"}):
            assert "needs `" in await refused(client, "working", **wrong)

    asked(pair, work)


def test_what_was_used_three_times_becomes_a_note(pair: Home) -> None:
    async def work(client: Client) -> None:
        await call(client, "wake")
        said = {"key": "seen", "value": "The lamp is dark.", "short": True, "type": "reflection"}
        [kept] = (await call(client, "working", action="set", **said))["values"]
        assert (kept["tier"], kept["type"], kept["ttl"]) == ("short", "reflection", 3600)
        for _ in range(3):
            await call(client, "working", action="get", key="seen")

    asked(pair, work)
    Djinn(pair).maintain(["promote"])
    assert [one.type for one in Djinn(pair).memories.list(agent="finn", limit=9).memories].count(
        "reflection"
    ) == 1


def test_what_another_agent_handed_over(pair: Home) -> None:
    grace = Djinn(pair).working
    grace.set("plan", "swim", agent="grace")
    grace.share("plan", "finn", agent="grace")

    async def work(client: Client) -> None:
        await call(client, "wake")
        [one] = (await call(client, "working", action="get", key="plan"))["values"]
        assert (one["value"], one["given_by"]) == ("swim", "grace")
        await call(client, "working", action="set", key="plan", value="walk")
        found = await call(client, "working", action="get", key="plan")
        assert found["values"][0]["value"] == "walk" and "grace" in found["done"]
        given = {"key": "plan", "from": "grace"}
        [one] = (await call(client, "working", action="get", **given))["values"]
        assert one["value"] == "swim"
        assert len((await call(client, "working", action="list"))["values"]) == 2
        assert len((await call(client, "working", action="clear", key="plan"))["values"]) == 2
        assert not (await call(client, "working", action="list", all=True))["values"]

    asked(pair, work)


def test_lists_and_the_order_of_steps(pair: Home) -> None:
    async def work(client: Client) -> None:
        for turn in ("one", "two"):
            await call(client, "working", action="set", key="chat", value=turn, append=True)
        [one] = (await call(client, "working", action="get", key="chat"))["values"]
        assert one["value"] == ["one", "two"]
        await call(client, "working", action="step", task="t", key="dig")
        await call(client, "working", action="step", task="t", key="fill", after=["dig"])
        assert (await call(client, "working", action="resume", task="t"))["task"]["next"] == ["dig"]
        every = await call(client, "working", action="list", all=True)
        assert [one["key"] for one in every["values"]] == ["chat", "dig", "fill"]

    asked(pair, work)
