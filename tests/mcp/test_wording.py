"""What a client is refused is told in the words of its tools."""

from __future__ import annotations

import re
from typing import Any

import pytest
from mcp import Client

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.mcp.tools import TOOLS
from tests.mcp.clients import asked, call, refused
from tests.mcp.test_tools import TOKEN

BY_NAME = {tool.name: tool for tool in TOOLS}

COMMAND_LINE = re.compile(r"--[a-z]|djinn [a-z]+(?![^`]*` \(ask a person\))")
FOR_A_PERSON = re.compile(r"ask a person to run `djinn [^`]+`")


def command_line(text: str) -> bool:
    """Whether a text has an option, or a command that is not named for a person to run."""
    return bool(COMMAND_LINE.search(FOR_A_PERSON.sub("", text)))


LONG = "The keeper paints the rail of the mole white each spring before the ships come home."

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("wake", {"budget": 1}, "budget"),
    ("checkpoint", {"text": " "}, "give one sentence"),
    ("sleep", {"summary": " "}, "give one sentence"),
    ("recall", {"query": " "}, "the query is empty"),
    ("recall", {"query": "lamp", "profile": "no"}, "known:"),
    ("recall", {"query": "lamp", "since": "soon"}, "since"),
    ("rate", {}, "`rate` with `gap: what was missing`"),
    ("rate", {"target": "last", "useful": [1]}, "`recall`"),
    ("rate", {"target": "nothing", "useful": [1]}, "`recall`"),
    ("rate", {"useful": ["nothing"]}, "`read` with `action: list`"),
    ("read", {"action": "score", "name": "nothing"}, "`read` with `action: list`"),
    ("gap", {"action": "close", "gap": "gap_1"}, "`gap` with `action: list`"),
    ("entity", {"action": "show", "name": "nothing"}, "`entity` with `action: list`"),
    ("gap", {"action": "report"}, "needs `description`, what was missing"),
    ("context", {"budget": 1}, "budget"),
    ("search", {"mode": "meaning", "query": " "}, "the query is empty"),
    ("search", {"query": " "}, "the query is empty"),
    ("search", {"query": "lamp", "vaults": ["none"]}, "known:"),
    ("read", {"name": "nothing"}, "`read` with `action: list`"),
    ("neighbours", {"action": "links", "name": "nothing"}, "`read` with `action: list`"),
    ("neighbours", {"action": "link_mentions", "name": "Else", "mentions": ["x"]}, "no note"),
    ("read", {"action": "list", "since": "soon"}, "since"),
    ("remember", {"type": "x", "title": "There"}, "`existing: append`"),
    ("remember", {"type": "x", "title": "Else", "text": LONG}, "`force: true`"),
    ("remember", {"type": "x", "title": "There", "existing": "revise", "supersedes": "There"},
     "`existing: revise`"),
    ("remember", {"type": "x", "title": "T", "expires": "soon"}, "`expires` soon"),
    ("remember", {"type": "x", "title": "T", "expires": "2001-01-01"}, "`expires` 2001"),
    ("remember", {"type": "x", "title": "T", "due": "soon"}, "`due` soon"),
    ("remember", {"type": "x", "title": "T", "tags": ["a b"]}, "`tags` 'a b'"),
    ("remember", {"type": "x", "title": "T", "links": ["a]]b"]}, "`links` 'a]]b'"),
    ("remember", {"type": "document", "title": "T"}, "`ingest`"),
    ("remember", {"type": "x", "title": "T", "text": TOKEN},
     "remove it, or add a pattern"),
    ("memory", {"action": "delete", "name": "nothing"}, "`read` with `action: list`"),
    ("ingest", {"paths": ["report.pdf"]}, "give an absolute path"),
    ("ingest", {"paths": ["/no/such/file"]}, "no such file"),
    ("ingest", {"paths": ["/home/ada/.ssh/id_ed25519"]}, "ask a person to copy it"),
    ("episode", {"action": "record_interaction", "message": "x", "at": "soon"}, "`at` soon"),
    ("episode", {"action": "record_observation", "text": " "}, "write what was said"),
    ("fact", {"action": "get", "key": "nothing"}, "`fact` with `action: list`"),
    ("fact", {"action": "search", "query": " "}, "`fact` with `action: search`"),
    ("fact", {"action": "set", "category": "a", "key": "b", "value": "c", "expires": "soon"},
     "`expires` soon"),
    ("context", {"action": "summary"}, "`context` with `action: build_summary`"),
    ("context", {"action": "set_summary"}, "needs `text`"),
    ("working", {"action": "get", "key": "nothing"},
     "`working` with `action: list` and `all: true`"),
    ("working", {"action": "get", "key": "k", "from": "grace", "task": "t"},
     "pass `task`, or pass `from`"),
    ("working", {"action": "get", "key": "two"}, "pass `from` to choose"),
    ("working", {"action": "resume", "task": "nothing"}, "`working` with `action: tasks`"),
    ("working", {"action": "share", "key": "one", "to": "finn"}, "`to` finn"),
    ("working", {"action": "step", "task": "t", "key": "b", "after": ["no"]}, "`after` 'no'"),
    ("working", {"action": "set", "key": "step", "value": 1, "task": "t"},
     "`action: step` and `task: t` and `key: step` and `status`"),
    ("working", {"action": "set", "key": "one", "value": "x" * 1_000_001},
     "call `ingest` with `paths` to"),
    ("working", {"action": "set", "key": "one", "value": 1, "task": "\n"}, "`task` '"),
]  # fmt: skip


def test_no_refusal_names_a_command_or_an_option(pair: Home) -> None:
    pair.edit((("agents",), ["finn", "grace", "hal"]))
    for agent in ("grace", "hal"):
        working = Djinn(Home(pair.root)).working
        working.set("two", "x", agent=agent)
        working.share("two", "finn", agent=agent)

    async def work(client: Client) -> None:
        await call(client, "remember", type="x", title="There", text=LONG)
        await call(client, "working", action="set", key="one", value=1)
        await call(client, "working", action="step", task="t", key="step")
        for tool, given, remedy in WRONG:
            said = await refused(client, tool, **given)
            assert remedy in said and not command_line(said), (tool, given, said)

    assert {tool for tool, _, _ in WRONG} == BY_NAME.keys()
    asked(pair, work)


def test_nor_does_a_wake(pair: Home) -> None:
    async def work(client: Client) -> None:
        await call(client, "checkpoint", text="scraping")
        said = (await call(client, "wake", task="the lamp", budget=300))["suggestions"]
        assert said and not command_line(" ".join(said))

    asked(pair, work)


@pytest.mark.parametrize("said", ["--force `djinn wake`", '"--new"', "it -- x"])
def test_what_a_client_said_itself_stays(pair: Home, said: str) -> None:
    async def work(client: Client) -> None:
        text = await refused(client, "read", name=said)
        assert repr(said) in text and not command_line(text.replace(repr(said), ""))

    asked(pair, work)


def test_nor_does_a_problem_of_the_settings(pair: Home) -> None:
    pair.edit((("embedding", "provider"), "openai"), (("embedding", "url"), "http://localhost:9"))

    async def work(client: Client) -> None:
        answer = await call(client, "search", query="lamp")
        [problem, *_] = [each["why"] for each in answer["problems"] if "is ignored" in each["why"]]
        assert "ask a person to run `djinn config trust`" in problem and not command_line(problem)

    asked(Home(pair.root), work)
