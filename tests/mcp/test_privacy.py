"""On a server whose agent is fixed no call shows or changes what is another agent's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import add_vault, init
from djinn_memory.mcp.tools import TOOLS
from tests.examples import examples
from tests.mcp.clients import asked, text
from tests.mcp.test_wording import command_line

CANARIES = (
    "quokkanote", "quokkatitle", "quokkafact", "quokkaworking", "quokkaquery", "quokkagap",
    "quokkatask", "quokkahandoff", "quokkashelf", "quokkatag", "quokkasummary",
)  # fmt: skip
"""Each stands only in what is grace's, and in no argument."""


class Split:
    """A home in which grace has something in every place there is, and finn a little."""

    def __init__(self, folder: Path) -> None:
        self.home, _ = init(folder / "home", ("finn", "grace"))
        self.home.edit((("embedding", "provider"), "hashing"))
        shelf = folder / "shelf"
        shelf.mkdir()
        add_vault(self.home, "shelf", shelf, agent="grace")
        (shelf / "kept.md").write_text(
            "---\nid: mem_7k2m9q4dxw30hv5t\n---\n# Kept\n\nquokkashelf\n"
        )
        self.hidden = (self.home.root / "vaults" / "grace", shelf)
        djinn = Djinn(self.home)
        grace: dict[str, Any] = {"agent": "grace"}
        awake = djinn.wake(**grace)
        note = djinn.remember(
            "decision", "Lighthouse plan", "quokkanote [[Shared note]]", tags=["quokkatag"], **grace
        )
        djinn.remember("lesson", "About quokkatitle", "kettle", **grace)
        djinn.facts.set("lighthouse", "owner", "quokkafact", **grace)
        djinn.summary.set("quokkasummary", **grace)
        djinn.working.set("plan", "quokkaworking", **grace, ttl=86_400)
        djinn.working.set("state", "quokkatask", task="dig", **grace)
        recalled = djinn.recall("kettle quokkaquery", **grace)
        djinn.rate("last", useful=[1], gap="who is quokkagap", **grace)
        djinn.checkpoint("digging for quokkahandoff", **grace)
        gap = djinn.gaps.report("where is quokkagap", **grace).gap_id
        (self.home.root / "vaults" / "shared" / "a.md").write_text("# Shared note\n\nkettle\n")
        djinn.remember("lesson", "Mine", "kettle", agent="finn")
        names = [
            "Lighthouse plan", "Kept", "mem_7k2m9q4dxw30hv5t", "grace", "shelf", "grace:x.md",
            "shelf:kept.md", "shelf/kept.md", "../grace", "dig", "plan", "state", "owner",
            "lighthouse", "lighthouse/owner", "last", "kettle", "Mine", "Shared note",
            "vault:grace", "path:grace", "*", "", "\x00", "quokk", "djinn://shelf/kept.md",
        ]  # fmt: skip
        names += [note.id, note.path, f"grace:{note.path}", f"grace/{note.path}"]
        names += [
            f"../grace/{note.path}",
            f"[[../grace/{note.path}]]",
            f"djinn://grace/{note.path}",
        ]
        names += [recalled.request_id, gap, awake.session, str(self.hidden[0]), str(shelf)]
        names += [vault.id for vault in self.home.vaults]
        self.names = [name for name in names if name is not None]
        djinn.close()

    def bytes(self) -> dict[Path, bytes]:
        """All that is in the vaults of grace."""
        found = (path for folder in self.hidden for path in folder.rglob("*"))
        return {path: path.read_bytes() for path in found if path.is_file()}


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    return Split(tmp_path_factory.mktemp("privacy"))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """One in which finn has not written what hypothesis thought of, maybe under grace's titles."""
    return Split(tmp_path_factory.mktemp("untouched"))


def told(answer: Any) -> set[str]:
    """The canaries in all that an answer says."""
    text = answer if isinstance(answer, str) else json.dumps(answer.model_dump(mode="json"))
    return {one for one in CANARIES if one in text.casefold()}


def values(schema: dict[str, Any], texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """What a schema of a tool lets a client say, and sometimes what it does not."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*(values(one, texts) for one in schema["anyOf"]))
    match schema.get("type"):
        case "string":
            return texts
        case "integer":
            return st.integers(1, 50) | st.integers(100, 250)
        case "number":
            return st.floats(0, 1)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(schema["items"], texts), max_size=3)
    return texts | st.lists(texts, max_size=2) | st.none()


def arguments(schema: dict[str, Any], names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of a tool, now and then with one that says whose memory is meant."""
    some = st.sampled_from(names)
    texts = some | st.builds("{} {}".format, some, some) | st.text(max_size=8)
    properties = {name: values(one, texts) for name, one in schema["properties"].items()}
    must = {name: properties[name] for name in schema.get("required", [])}
    may = {name: one for name, one in properties.items() if name not in must}
    may |= dict.fromkeys(("agent", "vault", "session", "home"), texts)
    return st.fixed_dictionaries(must, optional=may)


def requests(names: list[str]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """A call of any tool, a resource or a prompt."""
    tools = [st.tuples(st.just(tool.name), arguments(tool.input_schema(), names)) for tool in TOOLS]
    some = st.sampled_from(names)
    uris = some | st.builds("djinn://{}/{}".format, some, some)
    resource = st.tuples(st.just("resources/read"), st.fixed_dictionaries({"uri": uris}))
    prompt = st.tuples(st.just("prompts/get"), st.fixed_dictionaries({"task": some}))
    return st.one_of(*tools, resource, prompt)


async def answer(client: Client, what: str, given: dict[str, Any]) -> Any:
    """Whatever comes back, errors too."""
    try:
        if what == "resources/read":
            return await client.read_resource(given["uri"])
        if what == "prompts/get":
            return await client.get_prompt("start_session", given)
        return await client.call_tool(what, given)
    except MCPError as error:
        return str(error)


def test_no_call_reaches_them(split: Split) -> None:
    before = split.bytes()
    listed = requests(split.names)

    @settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(listed, min_size=1, max_size=12))
    def check(sequence: list[tuple[str, dict[str, Any]]]) -> None:
        async def work(client: Client) -> None:
            for what, said in sequence:
                found = await answer(client, what, said)
                assert not told(found), (what, said)
                if getattr(found, "is_error", False):
                    assert not command_line(text(found)), (what, said)

        asked(split.home, work)
        assert split.bytes() == before

    check()
    # And grace still has it all.
    assert Djinn(split.home).facts.get(None, "owner", agent="grace").value == "quokkafact"
    assert Djinn(split.home).working.resume("dig", agent="grace").state[0].value == "quokkatask"


def _pairs() -> Iterator[tuple[str, dict[str, Any]]]:
    for action in ("links", "related", "mentions"):
        yield "neighbours", {"action": action, "name": "{}"}
    yield "neighbours", {"action": "neighbours", "name": "{}", "hops": 3}
    for action in ("show", "score"):
        yield "read", {"action": action, "name": "{}"}
    for action in ("delete", "restore"):
        yield "memory", {"action": action, "name": "{}"}
    yield "memory", {"action": "undo", "change": "{}"}
    yield "entity", {"action": "show", "name": "{}"}
    yield "ingest", {"paths": ["{}"]}
    yield "ingest", {"paths": ["/no/such/file"], "vault": "{}"}
    yield "search", {"query": "kettle", "vaults": ["{}"]}
    yield "remember", {"type": "x", "title": "T", "supersedes": "{}"}
    yield "recall", {"query": "kettle", "vaults": ["{}"]}
    yield "gap", {"action": "close", "gap": "{}"}
    yield "gap", {"action": "close", "gap": "gap_0", "by": "{}"}
    yield "rate", {"useful": ["{}"]}
    yield "rate", {"target": "{}", "useful": [1]}
    yield "working", {"action": "get", "key": "{}"}
    yield "working", {"action": "get", "key": "zq1", "from": "{}"}
    yield "working", {"action": "clear", "from": "{}"}
    yield "working", {"action": "resume", "task": "{}"}
    yield "fact", {"action": "get", "key": "{}"}
    yield "fact", {"action": "forget", "key": "{}"}
    yield "resources/read", {"uri": "djinn://{}/x.md"}


@pytest.mark.few(7)
@pytest.mark.parametrize(("what", "given"), _pairs(), ids=str)
def test_what_is_hers_is_told_as_what_is_not(
    untouched: Split, what: str, given: dict[str, Any]
) -> None:
    """An answer does not say whether there is something that finn may not see."""

    async def work(client: Client) -> None:
        nothing = "zq0-no-such"

        async def said(name: str) -> str:
            text = json.dumps(given).replace("{}", json.dumps(name)[1:-1])
            found = await answer(client, what, json.loads(text))
            text = found if isinstance(found, str) else found.content[0].text
            return str(text).replace(name, nothing)

        expected = await said(nothing)
        for name in untouched.names:
            own = {"Mine", "Shared note", "", "\x00", "*", "last", "kettle"}
            if name not in own and not name.startswith("/"):
                assert await said(name) == expected, name

    asked(untouched.home, work)
