"""A home gives the same answers over HTTP, on the command line, and over MCP."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from djinn_memory.cli import tree
from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.mcp.tool import Tool
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations import OPERATIONS, VERBS
from djinn_memory.operations.caller import Caller
from tests.memories.imports.exports import LOG, lines
from tests.memories.test_unseen_vaults import (
    ASKED,
    CALENDAR,
    OWN,
    SHARED,
    Question,
    write_stale,
)
from tests.processes.commands import HANG
from tests.web.api.servers import add_key, serving

CLIENT = "test"
"""The name of the key, which the notes that a program writes name as their client."""

NO_COMMAND = {
    "documents.draw": "`djinn open` opens the original",
    "documents.find": "each command on a document finds it",
    "entities.resolve": "`djinn entity show` resolves the name",
    "graph.view": "`djinn graph view` writes a page",
    "jobs": "`djinn maintain --help` lists them, and `djinn maintain` runs them",
    "memories.find": "each command on a note finds it",
    "memories.links": "`djinn show` prints the links with the note",
    "memories.write": "a person writes a note in an editor",
    "scores.preview": "a page shows it while a person edits the parameters",
    "scores.recalls": "the page of an agent lists them",
    "scores.show": "`djinn show --why` prints the score with the note",
}
"""Operations that no command answers, and why. Python is asked instead."""

NO_TOOL = {
    "agents.list", "agents.profile", "agents.set", "agents.unset", "documents.draw",
    "documents.find", "documents.list", "documents.remove", "documents.reprocess",
    "documents.show", "entities.remove", "entities.resolve", "entities.split", "episodes.list",
    "episodes.mark", "episodes.show", "episodes.stats", "gaps.reopen", "graph.export",
    "graph.view", "memories.find", "memories.stats", "memories.values", "memories.versions",
    "memories.write", "patterns.consolidate", "patterns.correlations", "patterns.list",
    "patterns.show", "sessions.end", "sessions.extract", "sessions.history", "sessions.list",
    "sessions.start",
}  # fmt: skip
"""Operations that agents may call and no tool runs, so that a model has few to choose from. Python
is asked instead, as for the operations of persons."""

NO_ARGUMENT = {
    "closed", "confidence", "domains", "dry_run", "expand", "properties", "session", "why",
}  # fmt: skip
"""Fields that tools leave out for the same reason. `session` is that of the caller."""

CONFIRMED = {
    "changes.undo", "documents.remove", "memories.delete", "memories.link_mentions",
    "memories.purge", "review.accept", "review.dismiss", "working.clear",
}  # fmt: skip
"""Operations whose command asks a person first, or gets --yes."""

STATED = {
    "entities.set": {"source": "conversation"},
    "episodes.record_interaction": {"channel": "api"},
    "episodes.record_observation": {"channel": "api"},
    "facts.set": {"source": "conversation"},
    "working.step": {"status": "pending"},
}
"""Fields that have another default on the command line or over MCP, where not all can be set."""

RENAMED = {
    ("memories.link_mentions", "mentions"): "link",
    ("episodes.record_observation", "text"): "message",
}
"""Fields that the command of another operation takes under another name."""

FILTERED = {"episodes.list", "sessions.extract"}
"""Operations whose field `session` chooses sessions."""

FAILURE = "error of the operation"

Ask = Callable[[str, dict[str, Any]], Any]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        folder = tmp_path_factory.mktemp("conformance") / "template"
        home, _ = init(folder / "home", ("finn", "grace"))
        # A busy machine leaves no folder for later.
        home.edit((("embedding", "provider"), "hashing"), (("search", "sweep_ms"), 10_000))
        (folder / "paper.txt").write_text("A kettle sings at the pier.\n\n" * 90)
        lines(folder / "log.jsonl", LOG)
        (folder / "work.ics").write_text(CALENDAR.format(title="High tide"))
        for vault, notes in (("shared", SHARED), ("finn", OWN)):
            for path, text in notes.items():
                (home.root / "vaults" / vault / path).write_text(text, encoding="utf-8")
        write_stale(home)
        with Djinn(home) as djinn:
            # The first episode gives the home its name, which is drawn.
            djinn.episodes.record_observation(text="The pier is wet", agent="finn")
            djinn.index()
        yield folder


@contextmanager
def over_http(place: Path) -> Iterator[Ask]:
    home = Home(place / "home")
    key = add_key(home, CLIENT, "--scope", "administer")
    with (
        serving(home) as server,
        httpx2.Client(base_url=server.url, headers={"X-API-Key": key}, timeout=HANG) as http,
    ):

        def ask(name: str, fields: dict[str, Any]) -> Any:
            given = http.post(f"/v1/{name}", json=msgspec.to_builtins(fields, enc_hook=str))
            answer = given.json()
            return answer if given.status_code == 200 else failed(answer["type"].split(":")[-1])

        yield ask


@contextmanager
def on_the_command_line(place: Path) -> Iterator[Ask]:
    def ask(name: str, fields: dict[str, Any]) -> Any:
        if name in NO_COMMAND:
            with Djinn(Home(place / "home")) as djinn:
                return in_python(djinn, name, fields)
        done = subprocess.run(
            [sys.executable, "-m", "djinn_memory", "--home", place / "home",
             *words_of(name, fields, place)],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.stdout, (name, fields, done.stderr)
        answer = json.loads(done.stdout)
        return failed(answer["error"]["code"]) if "error" in answer else answer

    yield ask


def words_of(name: str, fields: dict[str, Any], place: Path) -> list[str]:
    """The words that run an operation, without `djinn`."""
    verb = VERBS[name]
    assert verb.command, f"{name} has no command; say why in NO_COMMAND"
    declared = tree.load(verb.command).build(verb.command)
    offered = {param.name: param for param in declared.params}
    options = ["--yes"] * (name in CONFIRMED)
    options += ["--kind", "observation"] * (name == "episodes.record_observation")
    texts = {}
    for field, value in fields.items():
        if value is None or value is False:
            continue
        field = RENAMED.get((name, field), field)
        if isinstance(value, dict):
            (place / "object.json").write_text(json.dumps(value))
            value = place / "object.json"
        values = [str(each) for each in value] if isinstance(value, list) else [str(value)]
        param = offered[field]
        if param.param_type_name == "argument":
            texts[field] = values
        elif value is True:
            options.append(param.opts[0])
        else:
            options += [word for each in values for word in (param.opts[0], each)]
    if verb.option and verb.option not in options:
        options.append(verb.option)
    given = [word for param in offered if param in texts for word in texts[param]]
    return [*verb.command.split(), *options, "--json", "--", *given]


@contextmanager
def over_mcp(place: Path) -> Iterator[Ask]:
    """The tools as the server runs them, without the protocol, which tests/mcp covers."""
    caller = Caller("finn", CLIENT)
    offered = {
        verb.name: (tool, action) for tool in TOOLS for action, verb in tool.by_action.items()
    }
    with Djinn(Home(place / "home"), resident=True) as djinn:

        def ask(name: str, fields: dict[str, Any]) -> Any:
            djinn.runtime.begin_call(CLIENT, lambda *_: None)
            tool, action = offered.get(name, (None, ""))
            if tool:
                left_out = fields.keys() - {"agent", *STATED.get(name, ()), *tool.offered(action)}
                assert left_out <= NO_ARGUMENT, (name, left_out)
                if not left_out:
                    return called(tool, action, djinn, caller, fields)
            else:
                assert OPERATIONS[name].rights == "person" or name in NO_TOOL, name
            # No tool does this. It is done in the session of the caller all the same.
            in_session = "session" in OPERATIONS[name].request.__struct_fields__
            if caller.session and in_session and name not in FILTERED:
                fields = {"session": caller.session, **fields}
            answer = in_python(djinn, name, fields)
            if name == "wake":
                caller.session = answer["session"]
            return answer

        yield ask


def called(tool: Tool, action: str, djinn: Djinn, caller: Caller, fields: dict[str, Any]) -> Any:
    offered = tool.offered(action).keys() - {"agent"}
    given = {tool.argument_names[name]: value for name, value in fields.items() if name in offered}
    arguments = {**({"action": action} if action else {}), **given}
    try:
        answer = tool.run(djinn, caller, tool.parse(msgspec.to_builtins(arguments, enc_hook=str)))
    except DjinnError as error:
        return failed(error.code)
    return msgspec.to_builtins(answer, enc_hook=str)


def in_python(djinn: Djinn, name: str, fields: dict[str, Any]) -> Any:
    verb = OPERATIONS[name]
    try:
        answer = msgspec.to_builtins(verb.bind(djinn)(verb.request(**fields)), enc_hook=str)
        return {"problems": [], **answer}
    except DjinnError as error:
        return failed(error.code)


def failed(code: str) -> dict[str, str]:
    """What a failure is compared by: its text names the remedy in the words of each door."""
    return {FAILURE: code}


LEFT_OUT = {
    # They say how a command or request went, not what the home holds.
    "schema", "milliseconds", "seconds", "next_cursor",
    # A program that writes is named in its notes, a person is not; the audit has its calls.
    "author", "client", "events",
    # The front matter that names it moves the lines below.
    "line",
    # They count the words of suggestions, which are those of each door.
    "tokens",
    # A note that was written in the last moment is read once more.
    "read",
}  # fmt: skip
"""Fields that differ by door."""

DRAWN = (
    (re.compile(r"\b(?:mem|gap|con|rec|ep|chg|doc|ses|prp)[_-][0-9a-z]{6,}"), "id"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b"), "id"),
    (re.compile(r"\bs20\d{6}-\d{6}-\d{6}\b"), "session"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[T -]\d\d[:-]\d\d(?:[:-]\d\d)?(?:\.\d+)?Z?"), "then"),
    (re.compile(r"^@@ .* @@$", re.MULTILINE), "@@"),
    (re.compile(r"^[+ -](?:author|client): .*\n", re.MULTILINE), ""),
)
"""Ids, sessions, times and, in a diff, numbers of lines and who wrote."""

CALL = re.compile(r"`[^`]*`(?: with `[^`]*`)?")
"""An operation in a suggestion, which each door writes in its own way."""

WRAPPED = {
    "documents.ingest": ("documents", "files"),
    "facts.forget": ("fact", "facts"),
    "facts.get": ("", "facts"),
    "facts.set": ("fact", "facts"),
    "facts.verify": ("fact", "facts"),
    "gaps.close": ("gap", "closed"),
    "gaps.report": ("gap_id", "reported"),
    "scores.show": ("scores", "memories"),
    "summary.show": ("", "summary"),
    "working.clear": ("cleared", "values"),
    "working.get": ("", "values"),
    "working.resume": ("", "task"),
    "working.set": ("value", "values"),
    "working.share": ("value", "values"),
    "working.step": ("", "step"),
}
"""The part of an answer and the part of the small answer over MCP that say the same."""

NEAR = 0.05
"""How much scores may differ: recency counts seconds, and embedded text may name the program."""


def plain(value: Any, place: Path, field: str = "") -> Any:
    """An answer without what differs from home to home and from door to door."""
    if isinstance(value, dict):
        return {
            name: plain(part, place, name) for name, part in value.items() if name not in LEFT_OUT
        }
    if field == "problems" and isinstance(value, list):
        # Their text names the remedy in the words of each door.
        return [problem["what"] for problem in value]
    if field == "lines" and value:
        return value[1] - value[0]
    if isinstance(value, list):
        return [plain(part, place, field) for part in value]
    if isinstance(value, str):
        text = value.replace(str(place), "")
        for drawn, word in DRAWN:
            text = drawn.sub(word, text)
        return CALL.sub("``", text) if field == "suggestions" else text
    return value


def differences(first: Any, second: Any, *, small: bool, path: str = "") -> Iterator[str]:
    """Where two answers differ. A `small` answer has only some of the fields of the other."""
    if isinstance(first, dict) and isinstance(second, dict):
        names = first.keys() & second.keys() if small else first.keys() | second.keys()
        for name in sorted(names):
            parts = (answer.get(name, "(no field)") for answer in (first, second))
            yield from differences(*parts, small=small, path=f"{path}.{name}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, pair in enumerate(zip(first, second, strict=True)):
            yield from differences(*pair, small=small, path=f"{path}[{number}]")
    elif isinstance(first, float) and isinstance(second, float) and abs(first - second) <= NEAR:
        return
    # A small answer says a part in a word or a number.
    elif first != second and not (small and isinstance(first, dict) != isinstance(second, dict)):
        yield f"{path}: {json.dumps(first)[:700]} != {json.dumps(second)[:700]}"


def unwrapped(name: str, answer: Any, small: Any) -> tuple[Any, Any]:
    """The parts of an answer and of the small answer of a tool that can be compared."""
    if name not in WRAPPED or FAILURE in answer or FAILURE in small:
        return answer, small
    part, small_part = WRAPPED[name]
    whole, row = answer[part] if part else answer, small[small_part]
    return whole, row[0] if isinstance(row, list) and not isinstance(whole, list) else row


def compare(template: Path, questions: Sequence[Question]) -> None:
    """Ask three copies of a home, one through each door."""
    doors = (over_http, on_the_command_line, over_mcp)
    places = [shutil.copytree(template, template.with_name(door.__name__)) for door in doors]
    differ = []
    with ExitStack() as stack:
        asks = [stack.enter_context(door(place)) for door, place in zip(doors, places, strict=True)]
        given: list[list[str]] = [[], [], []]
        for name, question in questions:
            answers = []
            for place, ask, texts in zip(places, asks, given, strict=True):
                answer = ask(name, filled(name, question, place, texts))
                texts.append(json.dumps(answer, default=str))
                answers.append(plain(json.loads(texts[-1]), place))
            pairs = [(answers[0], answers[1]), unwrapped(name, answers[0], answers[2])]
            for door, (first, second) in zip(doors[1:], pairs, strict=True):
                small = door is over_mcp and not any(FAILURE in answer for answer in answers)
                where = [*differences(first, second, small=small)]
                if isinstance(first, dict) and not first.keys() & second.keys():
                    where.append("nothing in common")
                differ += [f"{door.__name__}: {name} {question} {part}" for part in where]
            if OPERATIONS[name].writes:
                # Lists are in the order of times, and two notes of one second have none.
                time.sleep(1 - time.time() % 1)
    for place in places:
        shutil.rmtree(place)
    assert not differ, "\n".join(differ)


QUICK: list[Question] = [
    ("search", {"query": "the blue kettle sings"}),
    ("recall", {"query": "layoffs budget"}),
    ("memories.show", {"name": "Kettle"}),
    ("memories.list", {"types": ["lesson", "plan"]}),
    ("status", {}),
]


def test_readers_have_one_answer(template: Path) -> None:
    compare(template, QUICK)


@pytest.mark.soak
def test_every_operation_has_one_answer(template: Path) -> None:
    compare(template, ASKED)


def filled(name: str, question: dict[str, Any], place: Path, texts: list[str]) -> dict[str, Any]:
    """The fields of a question in one of the homes."""
    fields = {**question, "agent": "finn", **STATED.get(name, {})}
    if name in ("documents.ingest", "import_history"):
        fields["paths"] = [place / path for path in fields["paths"]]
    for key, value in fields.items():
        if isinstance(value, re.Pattern):
            fields[key] = next(match[0] for text in texts if (match := value.search(text)))
    return fields
