"""A home gives the same answers over HTTP, on the command line, and over MCP."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, Remedy
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.mcp.tool import Tool
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations import OPERATIONS
from djinn_memory.operations.caller import Caller
from djinn_memory.operations.wording import CommandWording, command
from tests.memories.imports.exports import LOG, lines
from tests.memories.test_unseen_vaults import ASKED, CALENDAR, OWN, SHARED
from tests.processes.commands import HANG
from tests.web.api.servers import add_key, serving

IDS = re.compile(r"\b(?:mem|gap|con|rec|ep|chg|doc|ses)_[0-9a-z]{6,}|[0-9a-f]{8}-[0-9a-f-]{27}")
TIMES = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?|\b\d\d:\d\d\b")
VARIES = {"schema", "milliseconds", "seconds", "problems", "next_cursor", "events", "read"}
"""Fields that differ by door: each call over HTTP and MCP is an event of the audit."""

CONFIRMED = {name: ["--yes"] for name in ("memories.purge", "documents.remove")}
"""Commands that ask a person first."""

Ask = Callable[[str, dict[str, Any]], Any]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        folder = tmp_path_factory.mktemp("conformance") / "template"
        home, _ = init(folder / "home", ("finn", "grace"))
        home.edit((("embedding", "provider"), "hashing"))
        (folder / "paper.txt").write_text("A kettle sings at the pier.\n\n" * 90)
        lines(folder / "log.jsonl", LOG)
        (folder / "work.ics").write_text(CALENDAR.format(title="High tide"))
        for vault, notes in (("shared", SHARED), ("finn", OWN)):
            for path, text in notes.items():
                (home.root / "vaults" / vault / path).write_text(text, encoding="utf-8")
        with Djinn(home) as djinn:
            djinn.index()
        yield folder


@contextmanager
def over_http(place: Path) -> Iterator[Ask]:
    home = Home(place / "home")
    key = add_key(home, "test", "--scope", "administer")
    with (
        serving(home) as server,
        httpx2.Client(base_url=server.url, headers={"X-API-Key": key}, timeout=HANG) as http,
    ):

        def ask(name: str, fields: dict[str, Any]) -> Any:
            given = http.post(f"/v1/{name}", json=msgspec.to_builtins(fields, enc_hook=str))
            return given.json() if given.status_code == 200 else None

        yield ask


@contextmanager
def on_the_command_line(place: Path) -> Iterator[Ask]:
    def ask(name: str, fields: dict[str, Any]) -> Any:
        if not command(name):
            with Djinn(Home(place / "home")) as djinn:
                return in_python(djinn, name, fields)
        written = CommandWording().written(Remedy(name, fields)).strip("`")
        words = [*shlex.split(written)[1:], "--json", *CONFIRMED.get(name, ())]
        done = subprocess.run(
            [sys.executable, "-m", "djinn_memory", "--home", place / "home", *words],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        given = json.loads(done.stdout)
        return None if "error" in given else given

    yield ask


@contextmanager
def over_mcp(place: Path) -> Iterator[Ask]:
    """The tools as the server runs them, without the protocol, which tests/mcp covers."""
    caller = Caller("finn")
    offered = {
        verb.name: (tool, action) for tool in TOOLS for action, verb in tool.by_action.items()
    }
    with Djinn(Home(place / "home"), resident=True) as djinn:

        def ask(name: str, fields: dict[str, Any]) -> Any:
            tool, action = offered.get(name, (None, ""))
            if tool is None or not fields.keys() - {"agent"} <= tool.offered(action).keys():
                with Djinn(djinn.home) as person:
                    return in_python(person, name, fields)
            return called(tool, action, djinn, caller, fields)

        yield ask


def called(tool: Tool, action: str, djinn: Djinn, caller: Caller, fields: dict[str, Any]) -> Any:
    given = {tool.argument_names[name]: value for name, value in fields.items() if name != "agent"}
    arguments = {**({"action": action} if action else {}), **given}
    try:
        answer = tool.run(djinn, caller, tool.parse(msgspec.to_builtins(arguments, enc_hook=str)))
    except DjinnError:
        return None
    data = msgspec.to_builtins(answer, enc_hook=str)
    return {"presented": data} if tool.present else data


def in_python(djinn: Djinn, name: str, fields: dict[str, Any]) -> Any:
    verb = OPERATIONS[name]
    try:
        return msgspec.to_builtins(verb.bind(djinn)(verb.request(**fields)), enc_hook=str)
    except DjinnError:
        return None


def plain(value: Any, place: Path) -> Any:
    """An answer without what differs from home to home: ids, times, folders."""
    if isinstance(value, dict):
        return {name: plain(part, place) for name, part in value.items() if name not in VARIES}
    if isinstance(value, list):
        return [plain(part, place) for part in value]
    if isinstance(value, str):
        return TIMES.sub("then", IDS.sub("id", value.replace(str(place), "")))
    return round(value, 3) if isinstance(value, float) else value


def shared_part(answer: Any, other: Any) -> Any:
    """The part of an answer that another one has as well."""
    if isinstance(answer, dict) and isinstance(other, dict):
        return {
            name: shared_part(part, other[name]) for name, part in answer.items() if name in other
        }
    if isinstance(answer, list) and isinstance(other, list) and len(answer) == len(other):
        return [shared_part(*pair) for pair in zip(answer, other, strict=True)]
    return answer


@pytest.mark.soak
def test_every_operation_has_one_answer(template: Path) -> None:
    doors = (over_http, on_the_command_line, over_mcp)
    places = [shutil.copytree(template, template.with_name(door.__name__)) for door in doors]
    differ = []
    with ExitStack() as stack:
        asks = [stack.enter_context(door(place)) for door, place in zip(doors, places, strict=True)]
        given: list[list[str]] = [[], [], []]
        for name, question in ASKED:
            answers = []
            for place, ask, texts in zip(places, asks, given, strict=True):
                answer = ask(name, filled(name, question, place, texts))
                texts.append(json.dumps(answer, default=str))
                answers.append(plain(json.loads(texts[-1]), place))
            for door, answer in zip(("line", "mcp"), answers[1:], strict=True):
                if isinstance(answer, dict) and "presented" in answer:
                    continue
                if shared_part(answers[0], answer) != shared_part(answer, answers[0]):
                    differ.append((door, name, question, answers[0], answer))
    for door, name, question, first, second in differ:
        print(door, name, question, json.dumps(first)[:1500], json.dumps(second)[:1500], sep="\n  ")
    assert not differ


def filled(name: str, question: dict[str, Any], place: Path, texts: list[str]) -> dict[str, Any]:
    """The fields of a question in one of the homes."""
    fields = {**question, "agent": "finn"}
    if name in ("documents.ingest", "import_history"):
        fields["paths"] = [place / path for path in fields["paths"]]
    for key, value in fields.items():
        if isinstance(value, re.Pattern):
            fields[key] = next(match[0] for text in texts if (match := value.search(text)))
    return fields
