"""Every tool, beside the server in one process."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import jsonschema
import pytest
from mcp import Client, MCPError
from mcp_types import Implementation

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations.caller import Caller
from djinn_memory.store.ledger import Event
from tests.mcp.clients import asked, call, refused, text

MOST_TOOLS, MOST_CHARACTERS = 17, 17_200

SAY_ALL = {
    "limit", "offset", "sort", "key", "value", "query", "type", "from_line", "max_characters",
    "limit_per_type", "aliases", "append", "as_of", "at", "channel", "category", "confidence",
    "context", "domain", "evidence", "expired", "focus", "force", "importance", "name", "profile",
    "source", "supersedes", "tags", "title", "to", "untag", "until", "valid_from", "valid_to",
    "vault", "vaults",
}  # fmt: skip
"""Arguments that need no description."""

TOKEN = "ghp_" + "x7Kq2mZ9vLw4TbN8cRj5PfH3sDy6GaE1uXo0"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_tells_what_it_is_for(tool: Any) -> None:
    """A model knows nothing but this: when to use it, when not, how, and what comes back."""
    for word in ("Use it", "Not "):
        assert word in tool.description
    for schema in (tool.input_schema(), tool.input_schema(Caller(read_only=True))):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    for name, argument in tool.input_schema()["properties"].items():
        known = argument.get("description") or argument.get("enum")
        assert known or name in SAY_ALL, name


def test_the_tools_leave_room_in_a_session(pair: Home) -> None:
    """Every session of every client begins with this text."""

    async def work(client: Client) -> None:
        listed = await client.list_tools()
        assert len(listed.tools) <= MOST_TOOLS
        written = listed.model_dump_json(by_alias=True, exclude_none=True)
        assert len(written) <= MOST_CHARACTERS

    asked(pair, work)


def test_only_tools_that_change_nothing_say_that_they_only_read(pair: Home) -> None:
    """What `recall`, `read` and `wake` record changes how memories rank."""

    async def work(client: Client) -> None:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {
            "search",
        }  # fmt: skip
        # Where nothing is said, a tool may destroy.
        assert {name for name, hint in hints.items() if hint is None} == {
            "context", "memory", "fact", "working",
        }  # fmt: skip

    asked(pair, work)


def test_forget_moves_to_the_trash(pair: Home) -> None:
    async def work(client: Client) -> None:
        forgotten = await call(client, "memory", action="delete", name="shared:harbour.md")
        assert forgotten["memory"]["title"] == "Harbour light"
        assert Path(forgotten["moved_to"]) == pair.root / "vaults/shared/.trash/harbour.md"
        assert "twice a minute" in Path(forgotten["moved_to"]).read_text()
        assert "no note" in await refused(client, "memory", action="delete", name="Hidden")

    asked(pair, work)


def test_answers_name_the_domain_of_a_memory(pair: Home) -> None:
    """As `--json` does."""
    (pair.root / "vaults" / "shared" / "loan.md").write_text(
        "---\ntype: fact\ncategory: loan\nkey: rate\ntitle: Loan\ndomain: [money, home]\n---\n"
        "Three percent.\n"
    )

    async def work(client: Client) -> None:
        found = await call(client, "search", query="percent")
        recalled = await call(client, "recall", query="loan rate percent")
        listed = await call(client, "read", action="list", types=["fact"])
        note = await call(client, "read", name="Loan")
        around = await call(client, "neighbours", action="links", name="Loan")
        fact = await call(client, "fact", action="get", category="loan", key="rate")
        memories = [
            found["passages"][0], recalled["memories"][0], listed["memories"][0], note,
            around["note"], fact["facts"][0],
        ]  # fmt: skip
        assert {memory["domain"] for memory in memories} == {"money, home"}
        result = await client.call_tool("read", {"name": "Loan"})
        assert "domain money, home" in text(result)

    asked(pair, work)


def test_ingest(pair: Home, tmp_path: Path) -> None:
    report = tmp_path / "tide.txt"
    report.write_text("The tide table of the harbour, for the keeper.\n")
    (pair.state / "keys.json").write_text("[]")
    hers = pair.root / "vaults" / "grace"
    (hers / "hers.txt").write_text("Only grace reads this.\n")

    async def work(client: Client) -> None:
        [file] = (await call(client, "ingest", paths=[str(report)]))["files"]
        assert (file["status"], file["vault"]) == ("ingested", "finn")
        [passage, *_] = (await call(client, "search", query="tide table"))["passages"]
        assert passage["id"] == file["document_id"]
        missing = await refused(client, "ingest", paths=[str(hers / "no.txt")])
        hidden = await refused(client, "ingest", paths=[str(hers / "hers.txt")])
        assert hidden == missing.replace("no.txt", "hers.txt")
        every = await call(client, "ingest", paths=[str(pair.root)], recursive=True)
        assert not [file for file in every["files"] if "grace" in str(file)]
        assert "is hidden" in await refused(client, "ingest", paths=[str(pair.state / "keys.json")])

    asked(pair, work)


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if "Example" in tool.description], ids=lambda tool: tool.name
)
def test_its_example_is_one(tool: Any) -> None:
    example = json.loads(" ".join(tool.description.split("Example: ")[1].split()))
    tool.parse(example)
    jsonschema.validate(example, tool.input_schema())


def test_search_read_and_neighbours(pair: Home) -> None:
    async def work(client: Client) -> None:
        found = await call(client, "search", query="lamp", limit=5)
        assert {one["vault"] for one in found["passages"]} == {"shared", "finn"}
        assert found["passages"][0]["text"]
        note = await call(client, "read", name="mem_7k2m9q4dxw30hv5t")
        assert "twice a minute" in note["text"]
        assert note["uri"] == "djinn://shared/harbour.md"
        around = await call(client, "neighbours", action="links", name="shared:harbour.md")
        assert [one["title"] for one in around["backlinks"]] == ["Keeper"]
        assert [(one["title"], one["path"]) for one in around["links"]] == [("Nowhere", None)]

    asked(pair, work)


def test_a_long_note_is_read_in_parts(pair: Home) -> None:
    lines = [f"line {number} of a very long note" for number in range(1, 2001)]
    (pair.root / "vaults" / "shared" / "long.md").write_text("\n".join(lines))

    async def work(client: Client) -> None:
        got: list[str] = []
        at = 1
        while at:
            note = await call(client, "read", name="long", from_line=at, max_characters=9000)
            assert len(note["text"]) <= 9000
            got += note["text"].splitlines()
            at = note["last_line"] + 1 if note["last_line"] < note["total_lines"] else 0
        assert got == lines
        end = await call(client, "read", name="long", from_line=1_000_000)
        assert end["text"] == lines[-1]

    asked(pair, work)


def test_list(pair: Home) -> None:
    async def work(client: Client) -> None:
        listed = await call(client, "read", action="list", types=["project"])
        assert [one["title"] for one in listed["memories"]] == ["Harbour light"]
        none = await call(client, "read", action="list", since="2001", until="2002")
        assert not none["memories"]

    asked(pair, work)


def test_remember_is_found_at_once(pair: Home) -> None:
    async def work(client: Client) -> None:
        done = await call(
            client, "remember", type="decision", title="Paint it white", text="So ships see it."
        )
        assert done["vault"] == "finn"
        assert (pair.root / "vaults" / "finn" / done["path"]).is_file()
        found = await call(client, "search", query="ships")
        assert found["passages"][0]["id"] == done["id"]
        again = {"type": "decision", "title": "Paint it white", "text": "And red."}
        said = await refused(client, "remember", **again)
        assert "append" in said and "revise" in said and "--" not in said
        added = await call(client, "remember", **again, existing="append")
        assert (added["action"], added["id"]) == ("appended", done["id"])
        other = await call(client, "remember", type="lesson", title="Gulls", shared=True)
        assert other["vault"] == "shared"
        said = await refused(client, "remember", type="fact", title="Key", text=TOKEN)
        assert "GitHub token" in said and TOKEN[9:20] not in said

    asked(pair, work)


def test_memories_name_the_program_of_the_client(pair: Home) -> None:
    async def work(client: Client) -> None:
        same = {"type": "lesson", "title": "Gulls", "force": True}
        await call(client, "remember", **same, text="They steal bread.")
        await call(client, "fact", action="set", category="ada", key="city", value="Oslo")
        await call(client, "episode", action="record_interaction", message="Lit?", response="Yes.")
        await call(
            client, "remember", type="lesson", title="By hand", text="More.", existing="append"
        )

    with Djinn(pair) as djinn:
        djinn.remember("lesson", "By hand", "I wrote this.", agent="finn")
    info = Implementation(name=f"claude\n code {TOKEN}", version="1")
    asked(pair, work, client_info=info)
    with Djinn(pair) as djinn:
        for name in ("Gulls", "ada/city"):
            why = djinn.memories.show(name, agent="finn", why=True).why
            assert why and why.author == "finn"
            assert (
                why.client
                and why.client.startswith("claude code gh")
                and TOKEN[9:20] not in why.client
            )
        why = djinn.memories.show("By hand", agent="finn", why=True).why
        assert why and (why.author, why.client) == (None, None)
        [episode] = djinn.episodes.list(agent="finn").episodes
        why = djinn.memories.show(episode.id or "", agent="finn", why=True).why
        assert why and why.client and why.client.startswith("claude code")
        djinn.remember("lesson", "Gulls", "They sleep.", agent="finn", existing="revise")
        why = djinn.memories.show("Gulls", agent="finn", why=True).why
        assert why and (why.author, why.client) == (None, None)


def test_recall(pair: Home) -> None:
    async def work(client: Client) -> None:
        found = await call(client, "recall", query="the lamp", profile="planning")
        assert {one["title"] for one in found["memories"]} == {"Harbour light", "Keeper"}
        assert found["profile"] == "planning"
        assert found["request_id"]
        assert "known:" in await refused(client, "recall", query="x", profile="nope")
        for narrow in ({"types": ["project"]}, {"tags": ["sea"]}, {"vaults": ["shared"]}):
            [one] = (await call(client, "recall", query="the lamp", **narrow))["memories"]
            assert one["title"] == "Harbour light"
        for narrow in ({"since": "2999"}, {"until": "1999"}):
            assert not (await call(client, "recall", query="the lamp", **narrow))["memories"]

    asked(pair, work)


def test_rate_and_gaps(pair: Home) -> None:
    async def work(client: Client) -> None:
        found = await call(client, "recall", query="the lamp")
        rated = await call(client, "rate", useful=[1], not_useful=[2], gap="who made the lamp")
        assert rated["request_id"] == found["request_id"]
        assert [one["useful"] for one in rated["judged"]] == [True, False]
        named = found["memories"][0]["id"] or "shared:harbour.md"
        assert (await call(client, "rate", useful=[named]))["request_id"] is None
        assert "rank" in await refused(client, "rate", target="last", useful=[9])
        more = await call(client, "gap", action="report", description="who owns the harbour")
        listed = await call(client, "gap", action="list")
        assert sum(len(one["gaps"]) for one in listed["groups"]) == 2
        await call(client, "gap", action="suggest")
        closed = await call(client, "gap", action="close", gap=more["reported"], by="Keeper")
        assert closed["closed"]["status"] == "closed"
        assert len((await call(client, "gap", action="list"))["groups"]) == 1
        for wrong in ({"action": "report"}, {"action": "close"}):
            assert "needs" in await refused(client, "gap", **wrong)

    asked(pair, work)


def test_facts(pair: Home) -> None:
    birthday = {"category": "ada", "key": "birthday"}
    then = datetime(2020, 1, 1, tzinfo=UTC)
    Djinn(pair, clock=lambda: then).facts.set("ada", "old", "v", agent="finn", expires="2020-01-02")

    async def work(client: Client) -> None:
        await call(client, "fact", action="set", **birthday, value="9 December")
        done = await call(client, "fact", action="set", **birthday, value="10 December")
        assert "9 December" in done["done"]
        [one] = (await call(client, "fact", action="get", key="birthday"))["facts"]
        assert (one["value"], one["confidence"]) == ("10 December", 0.7)
        await call(client, "fact", action="set", category="b", key="k", value="v", shared=True)
        assert (await call(client, "fact", action="list", limit=1))["total"] == 2
        await call(client, "fact", action="set", category="b", key="z", value="v", confidence=1)
        surest = await call(client, "fact", action="list", sort="confidence", limit=1)
        assert surest["facts"][0]["key"] == "z"
        every = await call(client, "fact", action="list", expired=True)
        assert (every["total"], [one["key"] for one in every["facts"] if one["expired"]]) == (
            4, ["old"],
        )  # fmt: skip
        found = await call(client, "fact", action="search", query="10 December")
        assert found["facts"][0]["key"] == "birthday"
        await call(client, "fact", action="verify", key="birthday")
        await call(client, "fact", action="forget", **birthday)
        assert "no fact" in await refused(client, "fact", action="get", key="birthday")
        said = await refused(
            client, "fact", action="set", category="db", key="password", value="hunter2!Zk9"
        )
        assert "hunter2!Zk9" not in said
        for wrong in ({"action": "set"}, {"action": "get"}, {"action": "search"}):
            assert "needs `" in await refused(client, "fact", **wrong)

    asked(pair, work)
    assert "hunter2!Zk9" not in repr(_events(pair))


def test_sessions(pair: Home) -> None:
    """What one server hands over another begins with."""

    async def first(client: Client) -> None:
        assert (await call(client, "wake"))["handoff"] is None
        await call(client, "checkpoint", text="scraping", decisions=["no ladder"])
        await call(client, "sleep", summary="scraped the rail", next=["paint the rail"])

    async def second(client: Client) -> None:
        awake = await call(client, "wake", task="the rail")
        assert "paint the rail" in awake["handoff"]["text"]

    asked(pair, first)
    asked(pair, second)


def test_the_summary(pair: Home) -> None:
    async def work(client: Client) -> None:
        said = await refused(client, "context", action="summary")
        assert "no summary yet; call `context` with `action: build_summary`" in said
        done = await call(client, "context", action="set_summary", text="Ada keeps the light.")
        assert (done["done"], done["summary"]["by"]) == ("created", "hand")
        assert "`force: true`" in await refused(client, "context", action="build_summary")
        await call(client, "fact", action="set", category="ada", key="born", value="1815")
        done = await call(client, "context", action="build_summary", force=True)
        assert "1815" in done["summary"]["text"] and done["previous"]
        assert (await call(client, "context", action="summary"))["summary"] == done["summary"]
        assert "1815" in (await call(client, "wake"))["summary"]["text"]

    asked(pair, work)


def test_scores(pair: Home) -> None:
    async def work(client: Client) -> None:
        assert (await call(client, "read", action="score"))["memories"] == []
        await call(client, "recall", query="the lamp")
        await call(client, "rate", useful=[1, 2])
        [first] = (await call(client, "read", action="score", limit=1))["memories"]
        assert (await call(client, "read", action="score", limit=1))["more"] == 1
        [one] = (await call(client, "read", action="score", name=first["title"]))["memories"]
        assert one["record"]["useful"] == 1 and one["score"]["adaptive"] > 0.5

    asked(pair, work)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {}, "query: missing required field"),
        ("search", {"query": "x", "limit": 99}, "limit: give a whole number up to 50"),
        ("search", {"query": 7}, "query: expected str, got int"),
        ("search", {"query": ""}, "query: give a text"),
        ("context", {"budget": 5}, "budget: give a whole number from 100"),
        ("search", {"query": "x", "mode": "z"},
         "mode: invalid enum value 'z'; give one of hybrid, words, meaning"),
        ("search", {"query": "x", "top_k": 1}, "top_k: no such argument; did you mean limit?"),
        ("search", {"query": "x", "tag": ["a"]}, "tag: no such argument; did you mean tags?"),
        ("rate", {"request": "last"}, "request: no such argument; did you mean target?"),
        ("read", {"title": "x"}, "title: no such argument; did you mean name?"),
        ("memory", {"action": "move", "name": "x", "folder": "y"}, "did you mean to?"),
        ("memory", {"action": "undo", "id": "chg_1"}, "did you mean change?"),
        ("memory", {"action": "delete", "id": "mem_1"}, "did you mean name?"),
        ("entity", {"action": "add", "name": "x", "type": "place"}, "did you mean kind?"),
        ("gap", {"action": "report", "text": "x"}, "did you mean description?"),
        ("sleep", {"text": "x"}, "did you mean summary?"),
        ("ingest", {"files": ["x"]}, "did you mean paths?"),
        ("search", {"query": "x", "colour": 1}, "colour: no such argument; known: query, limit"),
        ("search", {"query": "x", "since": "soon"}, "`since` soon: not a date"),
        ("search", {"query": "x", "vaults": ["grace"]}, "no vault 'grace'; known: shared, finn"),
        ("search", {"query": "x", "agent": "grace"}, "serves only one agent"),
        ("read", {"name": "Hidden"}, "no note 'Hidden'"),
        ("remember", {"type": "fact", "title": "x", "text": ["a"]}, "text: expected str"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(pair: Home, tool: str, arguments: Any, said: str) -> None:
    async def work(client: Client) -> None:
        assert said in await refused(client, tool, **arguments)

    asked(pair, work)


def test_null_is_left_out(pair: Home) -> None:
    async def work(client: Client) -> None:
        assert (await call(client, "search", query="lamp", types=None, since=None))["passages"]

    asked(pair, work)


def test_an_unknown_tool(pair: Home) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="no tool 'forgive'; known: "):
            await client.call_tool("forgive", {})

    asked(pair, work)


def test_a_bug_ends_a_call_and_not_the_server(
    pair: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one who asks learns that it is a bug, not what was at hand; the log has the rest."""

    async def work(client: Client) -> None:
        with monkeypatch.context() as patched:
            bug = lambda *_: {}["a secret key"]  # noqa: E731
            patched.setattr("djinn_memory.search.search.search", bug)
            done = await client.call_tool("search", {"query": "x"})
        assert done.is_error
        assert "a bug in djinn (KeyError)" in text(done) and "secret" not in text(done)
        assert (await call(client, "search", query="lamp"))["passages"]

    with pytest.raises(AssertionError, match="Traceback"):
        asked(pair, work)  # It talks, which no other test lets it.


@pytest.mark.soak
def test_what_is_written_while_the_index_is_held_is_no_error(pair: Home) -> None:
    with Djinn(pair) as djinn:
        djinn.index()

    async def work(client: Client) -> None:
        written = await call(client, "remember", type="lesson", title="Tide", text="It waits.")
        [problem] = written["problems"]
        assert "not compared" in problem["why"]
        fact = {"category": "harbour", "key": "lamps"}
        await call(client, "fact", action="set", value="2", **fact)
        await call(client, "fact", action="verify", **fact)
        assert "index.db; try again when it has finished" in await refused(
            client, "search", query="lamp"
        )

    with closing(apsw.Connection(str(pair.index_path))) as other:
        other.pragma("locking_mode", "exclusive")
        other.execute("begin exclusive")
        asked(pair, work)


def test_read_only(pair: Home) -> None:
    before = {path: path.read_bytes() for path in (pair.root / "vaults").rglob("*.md")}

    async def work(client: Client) -> None:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        assert "remember" not in tools
        assert all(one.annotations and one.annotations.read_only_hint for one in tools.values())
        actions = tools["working"].input_schema["properties"]["action"]["enum"]
        assert set(actions) == {"get", "list", "tasks", "resume"}
        assert tools["context"].input_schema["properties"]["action"]["enum"] == ["task", "summary"]
        for tool, given in (
            ("remember", {"type": "fact", "title": "x"}),
            ("working", {"action": "set", "key": "a", "value": "b"}),
            ("context", {"action": "build_summary"}),
            ("rate", {"useful": ["Keeper"]}),
        ):
            assert "this server is read-only" in await refused(client, tool, **given)
        assert (await call(client, "read", action="score"))["memories"] == []
        await call(client, "recall", query="lamp")
        await call(client, "read", name="Keeper")

    asked(pair, work, read_only=True)
    assert before == {path: path.read_bytes() for path in (pair.root / "vaults").rglob("*.md")}
    kinds = {one.kind for one in _events(pair)}
    assert kinds == {"tool.called"}


def test_settings_that_change_hold_for_the_next_call(pair: Home) -> None:
    async def work(client: Client) -> None:
        assert len((await call(client, "search", query="lamp"))["passages"]) == 2
        pair.edit((("exclude",), ["keeper.md"]))
        assert len((await call(client, "search", query="lamp"))["passages"]) == 1
        pair.config_path.write_text(pair.config_path.read_text() + "\nnonsense: 1\n")
        assert "nonsense" in await refused(client, "search", query="lamp")
        pair.config_path.write_text(pair.config_path.read_text().replace("\nnonsense: 1\n", ""))
        assert await call(client, "search", query="lamp")

    asked(pair, work)


def test_what_is_written_beside_is_found_by_the_next_call(pair: Home) -> None:
    async def work(client: Client) -> None:
        for number in range(3):
            place = pair.root / "vaults" / "shared" / f"new{number}" / "one.md"
            await call(client, "search", query="nothing special")
            place.parent.mkdir()
            place.write_text(f"# Zanzibar{number}\n\nzanzibar{number}\n")
            [hit] = (await call(client, "search", query=f"zanzibar{number}", mode="words"))[
                "passages"
            ]
            assert hit["title"] == f"Zanzibar{number}"
            place.write_text(f"# Zanzibar{number}\n\nmadagascar{number}\n")
            [hit] = (await call(client, "search", query=f"madagascar{number}", mode="words"))[
                "passages"
            ]
            place.unlink()
            found = await call(client, "search", query=f"madagascar{number}", mode="words")
            assert not found["passages"]

    asked(pair, work)


def test_the_audit(pair: Home) -> None:

    async def work(client: Client) -> None:
        await call(client, "search", query=f"what is {TOKEN}?")
        await refused(client, "read", name="x" * 1000)
        await refused(client, "search", query="x", depth={"a": [{"b": {"c": {"d": {}}}}]})
        with pytest.raises(MCPError):
            await client.call_tool("nope", {"much": "z" * 100_000})
        with pytest.raises(MCPError):
            await client.read_resource("djinn://grace/hidden.md")

    asked(pair, work)
    calls = [one for one in _events(pair) if one.kind == "tool.called"]
    assert [one.subject for one in calls] == ["search", "read", "search", "nope", "resources/read"]
    assert [one.data["outcome"].partition(":")[0] for one in calls] == [
        "done", "NotFound", "UsageError", "Refused", "NotFound",
    ]  # fmt: skip
    for one in calls:
        assert one.data["agent"] == "finn"
        assert one.data["milliseconds"] >= 0
        assert len(repr(one.data)) < 5000
    assert TOKEN[9:20] not in repr(calls)
    assert "what is ghp_" in calls[0].data["arguments"]["query"]


def test_the_audit_masks_what_its_name_says_is_a_secret(pair: Home) -> None:
    word = "Tr0ub4dor&3"

    async def work(client: Client) -> None:
        for given in (
            {"action": "set", "key": "db", "value": {"user": "x", "password": word}},
            {"action": "set", "key": "db", "value": [{"password": word}]},
            {"action": "set", "key": "the password", "value": word},
            {"action": "list", "password": word},
        ):
            await refused(client, "working", **given)
        said = {"type": "fact", "title": "WiFi password", "text": word}
        await refused(client, "remember", **said)
        await refused(client, "fact", action="set", category="db", key="password", value=word)
        await call(client, "working", action="set", key="where", value="in the drawer")

    asked(pair, work)
    calls = [one for one in _events(pair) if one.kind == "tool.called"]
    assert len(calls) == 7 and word[4:] not in repr(calls)
    assert calls[0].data["arguments"]["value"] == {"user": "x", "password": "Tr****"}
    assert calls[-1].data["arguments"]["value"] == "in the drawer"


def test_a_call_works_when_nothing_can_be_written_down(pair: Home) -> None:
    Djinn(pair).search("lamp")
    pair.ledger_path.mkdir()

    async def work(client: Client) -> None:
        assert (await call(client, "search", query="lamp"))["passages"]
        assert (await call(client, "search", query="keeper"))["passages"]

    with pytest.raises(AssertionError, match="not in the audit"):
        asked(pair, work)


def _events(home: Home) -> list[Event]:
    with closing(apsw.Connection(str(home.ledger_path))) as connection:
        found = connection.execute("select kind, subject, data, at from event order by id")
        return [Event(kind, subject, json.loads(data), at) for kind, subject, data, at in found]


def test_context(pair: Home) -> None:
    async def work(client: Client) -> None:
        answer = await call(client, "context", task="the lamp", limit_per_type=2)
        assert answer["query_used"] == "the lamp"
        assert answer["confident"]
        assert len(answer["patterns"]) <= 2
        shown = text(await client.call_tool("context", {"task": "the lamp"}))
        assert shown.startswith("# Context for finn: the lamp")
        assert "Rate what helped" in shown
        assert (await call(client, "context"))["query_used"] is None

    asked(pair, work)


def test_entities(pair: Home) -> None:
    async def work(client: Client) -> None:
        added = await call(client, "entity", action="add", name="Maren Holt", kind="person")
        assert added["action"] == "created"
        who = {"name": "Maren Holt"}
        await call(client, "entity", action="set", **who, key="city", value="Bergen")
        await call(client, "entity", action="alias", **who, change="add", aliases=["Maren"])
        shown = (await call(client, "entity", action="show", name="Maren"))["entity"]
        [city] = [each for each in shown["properties"] if each["key"] == "city"]
        assert (city["value"], city["source"]) == ("Bergen", "conversation")
        listed = await call(client, "entity", action="list", kind="person")
        assert [each["title"] for each in listed["entities"]] == ["Maren Holt"]
        await call(client, "entity", action="add", name="M. Holt", kind="person")
        merged = await call(client, "entity", action="merge", name="M. Holt", into="Maren Holt")
        assert "M. Holt" in merged["entity"]["aliases"]
        taken = await call(client, "memory", action="undo")
        assert taken["change"]["id"] == merged["change"]
        assert (await call(client, "entity", action="list", kind="person"))["total"] == 2
        said = await refused(client, "entity", action="set", **who, key="kind", value="place")
        assert "`entity` with `action: edit`" in said
        await call(client, "entity", action="edit", **who, text="Tall.")
        moved = await call(client, "entity", action="edit", **who, kind="keeper")
        assert (moved["entity"]["type"], moved["entity"]["text"]) == ("keeper", "Tall.")

    asked(pair, work)


def test_outcomes(pair: Home) -> None:
    async def work(client: Client) -> None:
        done = {"action": "record_outcome", "what": "light the lamp", "context": "storm"}
        await call(client, "episode", **done, result="success")
        await call(client, "episode", **done, result="failure")
        rows = (await call(client, "episode", action="list_outcomes"))["actions"]
        assert (rows[0]["action"], rows[0]["effectiveness"]) == ("light the lamp", 0.5)

    asked(pair, work)


def test_what_was_deleted_is_restored(pair: Home) -> None:
    async def work(client: Client) -> None:
        await call(client, "memory", action="delete", name="shared:harbour.md")
        [note] = (await call(client, "memory", action="restore"))["notes"]
        assert note["path"] == "harbour.md"
        assert (await call(client, "memory", action="restore", name="harbour.md"))["restored"]
        assert (await call(client, "read", name="shared:harbour.md"))["text"]

    asked(pair, work)


def test_an_agent_undoes_only_its_own_changes(pair: Home) -> None:
    with Djinn(pair) as djinn:
        djinn.entities.add("Pier", "place", shared=True, agent="grace")
        djinn.entities.add("Quay", "place", shared=True, agent="grace")
        hers = djinn.entities.merge("Pier", "Quay", agent="grace").change

    async def work(client: Client) -> None:
        changes = (await call(client, "memory", action="changes"))["changes"]
        assert hers in [change["id"] for change in changes]
        said = await refused(client, "memory", action="undo")
        assert "no change to take back" in said
        said = await refused(client, "memory", action="undo", change=hers)
        assert "made by grace" in said and "`memory` with `action: changes`" in said

    asked(pair, work)
