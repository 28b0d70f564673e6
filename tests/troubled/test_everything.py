"""Every tool, command and operation on a home with everything that waits or is wrong.

None ends in a traceback or a bug, and none answers nothing where there is something.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping

import msgspec
import pytest
from mcp import Client

from djinn_memory.cli import tree
from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations import OPERATIONS
from tests.conftest import Run
from tests.mcp.clients import asked, text
from tests.troubled import commands, operations, tools
from tests.troubled.home import Troubled

BUG = re.compile(r"Traceback|bug in djinn|KeyError|AttributeError|None\b.*is not|; *$")


def test_the_home_has_everything_that_waits_or_is_wrong(place: Troubled) -> None:
    with Djinn(Home(place.root)) as djinn:
        assert djinn.review.list(kind="contradiction").total == 1
        assert djinn.gaps.list().groups and djinn.review.list(kind="merge").items
        assert [fact.key for fact in djinn.facts.list(expired=True).facts if fact.expired]
        assert djinn.sync.conflicts().conflicts
        context = djinn.wake()
        assert context.unfinished and context.commitments[0].overdue
        assert len(djinn.index().problems) >= 3
        assert [vault.name for vault in djinn.home.vaults if vault.read_only] == ["archive"]


def wrong_lines(
    place: Troubled, run: Run, lines: Mapping[str, tuple[int, str]], *options: str
) -> Iterable[str]:
    """What is wrong with what commands say, for each that says something wrong."""
    for line, (code, said) in lines.items():
        done = run(*place.filled(shlex.split(line)), *options, home=place.root)
        if why := _wrong(done, code, said, as_json=bool(options)):
            yield f"{line}: {why}\n{done}"


def _wrong(
    done: subprocess.CompletedProcess[str], code: int, said: str, *, as_json: bool
) -> str | None:
    everything = done.stdout + done.stderr
    if BUG.search(everything):
        return "a bug"
    if done.returncode != code:
        return f"ended with {done.returncode}"
    if as_json and (not done.stdout or not json.loads(done.stdout)):
        return "no object"
    return None if as_json or re.search(said, everything, re.DOTALL) else f"no {said!r}"


def test_every_command_is_listed() -> None:
    listed = [*commands.READING, *commands.WRITING]
    words = [shlex.split(line) for line in listed]
    named = {tree.canonical(" ".join(each[:count])) for each in words for count in (1, 2, 3)}
    assert tree.COMMANDS.keys() <= named


def test_every_command_that_reads(place: Troubled, run: Run) -> None:
    wrong = [*wrong_lines(place, run, commands.READING)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
def test_every_command_that_writes(place: Troubled, run: Run) -> None:
    wrong = [*wrong_lines(place, run, commands.WRITING)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
def test_every_command_as_a_program_reads_it(place: Troubled, run: Run) -> None:
    plain = {"help --json", "help --json wake", "mcp --print-config claude",
             "open 'Bilge pump' --print", "watch --install-service",
             "serve --host 0.0.0.0"}  # fmt: skip
    lines = {
        line: outcome
        for line, outcome in {**commands.READING, **commands.WRITING}.items()
        if line not in plain
    }
    wrong = [*wrong_lines(place, run, lines, "--json")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
def test_every_command_in_a_process_of_its_own(place: Troubled, spawn: Run) -> None:
    wrong = [*wrong_lines(place, spawn, {**commands.READING, **commands.WRITING})]
    assert not wrong, "\n".join(wrong)


def test_every_operation_is_listed() -> None:
    called = {name for name, *_ in (*operations.READING, *operations.WRITING)}
    assert called == OPERATIONS.keys()


def wrong_calls(place: Troubled, calls: Iterable[operations.Call]) -> Iterable[str]:
    """What is wrong with what operations say, for each that says something wrong."""
    with Djinn(Home(place.root)) as djinn:
        for name, given, said in calls:
            request = OPERATIONS[name].request(**place.request(given))
            try:
                answer = OPERATIONS[name].bind(djinn)(request)
            except DjinnError as error:
                spoken = str(error)
            else:
                assert isinstance(answer, OPERATIONS[name].answer), name
                spoken = msgspec.json.encode(answer, enc_hook=str).decode()
            if BUG.search(spoken) or not re.search(said, spoken, re.DOTALL):
                yield f"{name}: no {said!r}: {spoken}"


def test_every_operation_that_reads(place: Troubled) -> None:
    wrong = [*wrong_calls(place, operations.READING)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
def test_every_operation_that_writes(place: Troubled) -> None:
    wrong = [*wrong_calls(place, operations.WRITING)]
    assert not wrong, "\n".join(wrong)


def test_every_tool_and_action_is_listed() -> None:
    calls = (*tools.READING, *tools.WRITING)
    defaults = {tool.name: tool.default for tool in TOOLS}
    called = {(name, given.get("action", defaults[name])) for name, given, _ in calls}
    assert called == {(tool.name, action) for tool in TOOLS for action in tool.by_action}


@pytest.mark.parametrize("read_only", [False, True])
def test_every_tool(place: Troubled, read_only: bool) -> None:
    calls = [(call, False) for call in tools.READING] + [(call, True) for call in tools.REFUSED]
    writing = [(call, read_only) for call in tools.WRITING]
    calls += [*writing, *((call, True) for call in tools.WRITES_REFUSED)]
    wrong = []

    async def work(client: Client) -> None:
        for (name, given, said), is_refused in calls:
            done = await client.call_tool(name, place.filled(given))
            spoken = text(done)
            if read_only and done.is_error and "this server is read-only" in spoken:
                said = "this server is read-only"
            if (
                done.is_error != is_refused
                or BUG.search(spoken)
                or not re.search(said, spoken, re.DOTALL)
            ):
                wrong.append(f"{name} {given}: no {said!r}: {spoken}")

    asked(Home(place.root), work, agent="me", read_only=read_only)
    assert not wrong, "\n".join(wrong)


def test_every_resource_and_prompt(place: Troubled) -> None:
    async def work(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert {"me/damaged.md", "archive/lamp.md"} <= {each.name for each in listed}
        for each in listed:
            [content] = (await client.read_resource(each.uri)).contents
            assert getattr(content, "text", "") or each.name == "me/binary.md", each.name
        for prompt in (await client.list_prompts()).prompts:
            [message] = (await client.get_prompt(prompt.name)).messages
            said = getattr(message.content, "text", "")
            assert said and not BUG.search(said), prompt.name
            assert (
                prompt.name == "end_session"
                or "`djinn review list --kind contradiction` (ask" in said
            )

    asked(Home(place.root), work, agent="me")
