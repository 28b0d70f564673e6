"""What one agent is told stays the same, byte for byte, whatever another agent does.

Two homes are alike for finn. In one of them grace works. Every tool answers finn the same in both.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init
from djinn_memory.mcp.tools import TOOLS
from tests import grace
from tests.examples import examples
from tests.grace import DEEDS, SAME_ID, Deed, Fixed, do
from tests.mcp.clients import asked
from tests.memories.hooks.events import prompt, record, stop, tool


@pytest.fixture(scope="module", autouse=True)
def fixed() -> Iterator[None]:
    """The clock and the ids of the homes."""
    with grace.fixed():
        yield


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, fixed: None) -> Path:
    """A home of finn and grace, in which grace has nothing yet."""
    home, _ = init(tmp_path_factory.mktemp("spy") / "home", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    (home.root / "shelf").mkdir()
    add_vault(home, "shelf", home.root / "shelf", agent="grace")
    shared = home.root / "vaults" / "shared"
    (shared / "a.md").write_text("# Shared note\n\nkettle [[Private plan]] [[Mine]] #tea\n")
    (shared / "b.md").write_text("# Tea first\n\nTea before the kettle. [[Shared note]]\n")
    (shared / "port.md").write_text(
        f"---\nid: {SAME_ID}\naliases: [Port]\n---\n# Harbour\n\nA kettle at the pier. [[Kept]]\n"
    )
    djinn = Djinn(home)
    djinn.remember("lesson", "Mine", "kettle and lamp", agent="finn")
    djinn.facts.set("boat", "name", "Otter", agent="finn")
    djinn.facts.set("tea", "time", "four", agent="finn", shared=True)
    # The first episode gives the home its name, which is drawn.
    djinn.episodes.record_observation(text="The pier is wet", agent="finn")
    djinn.index()
    djinn.close()
    record(home, prompt("Is the pier wet?"), tool("look"), stop("It is."), agent="finn")
    for note in home.root.rglob("*.md"):
        os.utime(note, (1.7e9, 1.7e9))
    return home.root


def answers(root: Path, *stages: tuple[Deed, ...]) -> list[tuple[str, Any, str]]:
    """What finn is told by each call, after each stage of what grace does."""

    async def work(client: Client) -> list[tuple[str, Any, str]]:
        told = []
        for number, deeds in enumerate(stages):
            Fixed.step("grace", number)
            djinn = Djinn(Home(root))
            do(djinn, deeds)
            djinn.close()
            for at, (what, said) in enumerate(CALLS, 1 + number * len(CALLS)):
                Fixed.step("finn", at)
                text = (await answer(client, what, said)).replace(str(root), "HOME")
                told.append((what, said, text))
        return told

    return asked(Home(root), work)


async def answer(client: Client, what: str, said: dict[str, Any]) -> str:
    try:
        if what == "resources/list":
            result: Any = await client.list_resources()
        elif what == "resources/read":
            result = await client.read_resource(said["uri"])
        elif what == "prompts/get":
            result = await client.get_prompt("start_session", said)
        else:
            result = await client.call_tool(what, said)
    except MCPError as error:
        return str(error)
    return re.sub(r'"milliseconds": [\d.]+', "", json.dumps(result.model_dump(mode="json")))


def calls() -> Iterator[tuple[str, dict[str, Any]]]:
    names = ("Private plan", "Mine", "Kept", "Shared note", "Port", SAME_ID, "grace:mine.md", "L3")
    for name in names:
        yield "read", {"name": name}
        yield "neighbours", {"action": "links", "name": name}
        yield "read", {"action": "score", "name": name}
        yield "entity", {"action": "show", "name": name}
        yield "memory", {"action": "restore", "name": name}
        yield "ingest", {"paths": [f"/no/such/{name}"]}
        yield "rate", {"useful": [name]}
        yield "resources/read", {"uri": f"djinn://grace/{name}"}
    for query in ("kettle", "layoffs", "lamp tea"):
        yield "search", {"query": query}
        yield "recall", {"query": query}
    yield "search", {"query": "kettle", "vaults": ["grace"]}
    for narrowed in ({}, {"types": ["vibraphone"]}, {"tags": ["hers"]}, {"vaults": ["shelf"]}):
        yield "read", {"action": "list", **narrowed}
    yield "read", {"action": "score"}
    yield "entity", {"action": "list"}
    yield "episode", {"action": "list_outcomes"}
    for action in ("list", "suggest", "report", "suggest", "list"):
        more = {"description": "who is layoffs"} if action == "report" else {}
        yield "gap", {"action": action, **more}
    for action in ("get", "verify", "forget"):
        yield "fact", {"action": action, "key": "ceo"}
    yield "fact", {"action": "list"}
    yield "fact", {"action": "search", "query": "salary of the ceo"}
    yield "fact", {"action": "set", "category": "boat", "key": "name", "value": "Otter"}
    yield "fact", {"action": "set", "category": "salary", "key": "ceo", "value": "2"}
    for action, more in (
        ("list", {"all": True}), ("tasks", {}), ("get", {"key": "plan"}),
        ("resume", {"task": "dig"}),
        ("get", {"key": "plan", "from": "grace"}), ("clear", {"from": "grace"}),
        ("step", {"task": "dig", "key": "first"}), ("set", {"key": "plan", "value": 1}),
        ("share", {"key": "plan", "to": "grace"}), ("share", {"key": "plan", "to": "hal"}),
        ("clear", {"key": "plan"}),
    ):  # fmt: skip
        yield "working", {"action": action, **more}
    for title, more in (
        ("Private plan", {}), ("L3", {}), ("Tie", {"links": ["Private plan", "Port"]}),
        ("Sup", {"supersedes": "Private plan"}), ("Mine", {"existing": "append"}),
        ("Kept", {"shared": True}), ("Mine", {"existing": "revise"}),
    ):  # fmt: skip
        text = f"Of {title}: layoffs [[Private plan]]"
        yield "remember", {"type": "lesson", "title": title, "text": text, "force": True, **more}
    for name in names:
        yield "memory", {"action": "delete", "name": name}
    yield "memory", {"action": "restore"}
    yield "memory", {"action": "changes"}
    said = {"message": "Private plan of layoffs", "session": "dig"}
    yield "episode", {"action": "record_interaction", **said}
    yield "episode", {"action": "record_observation", "text": "Mine is kept"}
    yield "checkpoint", {"text": "halfway"}
    yield "wake", {"task": "layoffs kettle"}
    yield "context", {"task": "layoffs kettle"}
    yield "context", {}
    yield "search", {"query": "layoffs kettle", "mode": "meaning"}
    yield "context", {"action": "build_summary"}
    yield "context", {"action": "summary"}
    yield "sleep", {"summary": "done"}
    yield "resources/list", {}
    yield "prompts/get", {}


CALLS = tuple(calls())


def test_all_tools_are_tried() -> None:
    assert {tool.name for tool in TOOLS} == {name for name, _ in CALLS if "/" not in name}


def compare(template: Path, folder: Path, *stages: tuple[Deed, ...]) -> None:
    told = []
    for name, deeds in (("alone", [() for _ in stages]), ("watched", stages)):
        root = Path(shutil.copytree(template, folder / name / "home", symlinks=True))
        told.append(answers(root, *deeds))
    for alone, watched in zip(*told, strict=True):
        assert watched == alone


@pytest.mark.soak
def test_finn_is_told_the_same_whatever_grace_does(template: Path, tmp_path: Path) -> None:
    compare(
        template,
        tmp_path,
        DEEDS,
        (grace.judges, grace.makes_disorder, grace.loses_a_folder, grace.hooks_record),
    )


def test_finn_is_not_told_of_events_that_were_lost(template: Path, tmp_path: Path) -> None:
    home = Home(Path(shutil.copytree(template, tmp_path / "home", symlinks=True)))

    async def work(client: Client) -> str:
        grace.hooks_record(Djinn(home))
        return await answer(client, "search", {"query": "kettle"})

    assert "hooks" not in asked(home, work)
    with Djinn(home) as djinn:
        record(home, tool("look"), agent="grace")
        djinn.memories.list()
        assert [problem.what for problem in djinn.problems] == ["hooks"]


@pytest.mark.soak
@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(stages=st.lists(st.lists(st.sampled_from(DEEDS), max_size=6).map(tuple), max_size=3))
def test_in_whatever_order(
    template: Path, tmp_path_factory: pytest.TempPathFactory, stages: list[tuple[Deed, ...]]
) -> None:
    compare(template, tmp_path_factory.mktemp("order"), *stages)
