"""What `--json` prints follows the schemas, for every command and for hostile vaults."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from djinn_memory.cli.app import root
from djinn_memory.cli.tree import ALIASES, load
from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.conftest import Run
from tests.examples import examples
from tests.indexing.vaults import fill
from tests.memories.imports.exports import write_exports


def schemas(command: str) -> list[str]:
    """The names of the schemas of what a command prints."""
    declaration = load(command)
    declaration.build(command)
    return [f"djinn.{name}/1" for name in declaration.schemas]


CHECKS = {
    schema["title"]: Draft202012Validator(schema)
    for schema in (
        json.loads(file.read_text("utf-8"))
        for file in (files("djinn_memory") / "schemas").iterdir()
    )
}


def one_object(stdout: bytes, names: str | None = None) -> dict[str, Any]:
    """The object that stdout is, checked against its schema."""
    text = stdout.decode("utf-8")
    assert text.endswith("}\n")
    found: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    assert names in (None, found["schema"])
    CHECKS[found["schema"]].validate(found)
    assert not set(text) & set("\x1b\x07\x7f\x9b\u202e\u2066\u200f")
    return found


PAPERS = Path(__file__).resolve().parents[2] / "docs" / "samples"

COMMAND: Any = root()


def commands() -> Iterator[str]:
    """Every command that has `--json`."""

    def walk(command: Any, path: list[str]) -> Iterator[str]:
        if any("--json" in option.opts for option in command.params):
            yield " ".join(path)
        for name in getattr(command, "lines", ()):
            yield from walk(command.get_command(None, name), [*path, name])

    # With `--json`, help prints a schema.
    yield from (words for words in walk(COMMAND, []) if words not in {*ALIASES, "help"})


RUNS = {
    "review list": [["review"], ["review", "--kind", "archive"]],
    "review show": [["review", "show", "{proposal}"]],
    "review dismiss": [["review", "dismiss", "{proposal}"]],
    "init": [["init", "--agent", "finn"]],
    "index": [["index"], ["index", "--rebuild"], ["index", "--background"]],
    "status": [["status"]],
    "watch": [["watch", "--install-service"]],
    "doctor": [["doctor"], ["doctor", "--fix"]],
    "config trust": [
        ["config", "trust", "--list"],
        ["config", "trust", "--yes"],
        ["config", "trust", "--revoke"],
    ],
    "wake": [["wake", "--task", "the kettle"]],
    "checkpoint": [["checkpoint", "at the kettle", "--decision", "vinegar"]],
    "sleep": [["sleep", "--summary", "the kettle is clean", "--next", "tea"]],
    "remember": [
        ["remember", "lesson", "Descale the kettle", "Vinegar does it."],
        ["remember", "pattern", "Keeps bees"],
    ],
    "recall": [["recall", "kettle"], ["recall", "kettle", "--profile", "planning"]],
    "context": [["context", "the kettle"], ["context", "--limit-per-type", "2"]],
    "rate": [["rate", "last", "--useful", "1", "--gap", "no word on tea"]],
    "gap report": [["gap", "report", "nothing on tea"]],
    "gap list": [["gap", "list"], ["gap", "list", "--closed"]],
    "gap suggest": [["gap", "suggest"]],
    "gap close": [["gap", "close", "{gap}"]],
    "gap reopen": [["gap", "reopen", "{gap}"]],
    "fact set": [
        ["fact", "set", "anna", "city", "Warsaw"], ["fact", "set", "anna", "city", "Oslo"],
    ],
    "fact get": [["fact", "get", "anna", "city"], ["fact", "get", "city"]],
    "fact list": [["fact", "list"], ["fact", "list", "--category", "none"]],
    "fact search": [["fact", "search", "anna city"]],
    "entity add": [
        ["entity", "add", "Ada Holt", "--kind", "person", "--alias", "Ada"],
        ["entity", "add", "Quay lamp", "She glows.", "--kind", "project", "--set", "city=Oslo"],
    ],
    "entity set": [
        ["entity", "set", "Quay lamp", "led-by", "[[Ada Holt]]", "--valid-from", "2026-05-01"],
    ],
    "entity edit": [["entity", "edit", "Quay lamp", "--kind", "boat", "--text", "It glows."]],
    "entity alias": [["entity", "alias", "add", "Ada Holt", "Addy"]],
    "graph neighbours": [["graph", "neighbours", "Note 1"]],
    "graph path": [["graph", "path", "Note 1", "Note 2"]],
    "graph communities": [["graph", "communities"]],
    "graph stats": [["graph", "stats"]],
    "graph view": [
        ["graph", "view"], ["graph", "view", "Note 1", "--hops", "2", "--out", "graph.html"],
    ],
    "graph export": [["graph", "export", "--format", "json"]],
    "entity list": [["entity", "list"], ["entity", "list", "--kind", "person"]],
    "entity show": [
        ["entity", "show", "Quay lamp"], ["entity", "show", "Ada", "--as-of", "2026-05-02"],
        ["entity", "show", "Holt", "--context", "she glows"],
    ],
    "entity merge": [
        ["entity", "merge", "Ada", "Quay lamp", "--dry-run"],
        ["entity", "merge", "Ada", "Quay lamp"],
    ],
    "entity split": [["entity", "split", "Quay lamp"]],
    "entity remove": [
        ["entity", "remove", "Quay lamp", "--dry-run"], ["entity", "remove", "Quay lamp"],
    ],
    "agent summary build": [["agent", "summary", "build"]],
    "agent summary set": [["agent", "summary", "set", "Anna keeps bees."]],
    "agent summary show": [["agent", "summary", "show"]],
    "fact verify": [["fact", "verify", "anna/city"], ["fact", "verify", "anna", "city"]],
    "fact forget": [["fact", "forget", "anna/city"]],
    "episode record": [
        ["episode", "record", "--message", "Anna keeps bees.", "--response", "Since May."],
        ["episode", "record", "--kind", "observation", "--message", "A bee stung Anna."],
    ],
    "episode list": [["episode", "list"], ["episode", "list", "--channel", "voice"]],
    "episode show": [["episode", "show", "Anna keeps bees."]],
    "episode stats": [["episode", "stats"]],
    "episode mark": [["episode", "mark", "Anna keeps bees."]],
    "episode outcome record": [
        ["episode", "outcome", "record", "smoke the bees", "success", "--context", "rain"],
    ],
    "episode outcome list": [["episode", "outcome", "list"]],
    "pattern find": [["pattern", "find", "--dry-run"], ["pattern", "find", "--min-age", "0d"]],
    "pattern correlations": [["pattern", "correlations"]],
    "pattern list": [["pattern", "list", "--habits"]],
    "pattern show": [["pattern", "show", "Keeps bees"]],
    "session start": [["session", "start"], ["session", "start", "--session", "review"]],
    "session list": [["session", "list"], ["session", "list", "--since", "7d", "-n", "1"]],
    "session history": [["session", "history"], ["session", "history", "nowhere"]],
    "session extract": [
        ["session", "extract"], ["session", "extract", "--session", "review", "--dry-run"],
    ],
    "session end": [["session", "end", "--session", "review"]],
    "import": [["import", "{exports}"], ["import", "{exports}", "nowhere.json", "--dry-run"]],
    "memory purge": [
        ["memory", "purge", "anna/city", "--dry-run"], ["memory", "purge", "anna/city", "--yes"],
    ],
    "memory search": [
        ["memory", "search", "kettle"],
        ["memory", "search", "kettle", "--explain", "--mode", "words"],
        ["memory", "search", "kettel", "--mode", "words"],
        ["memory", "search", "tag:x"],
    ],
    "ingest": [
        ["ingest", "{papers}", "--strategy", "page_based"], ["ingest", "{papers}", "nowhere.pdf"],
    ],
    "document list": [["document", "list"]],
    "document show": [
        ["document", "show", "tide-gauge-manual.pdf"],
        ["document", "show", "tide-gauge-manual.pdf", "--page", "3"],
    ],
    "document reprocess": [
        ["document", "reprocess", "tide-gauge-manual.pdf", "--strategy", "words"],
        ["memory", "search", "thermal", "--plane", "documents"],
    ],
    "document remove": [
        ["document", "remove", "tide-gauge-manual.pdf", "--dry-run"],
        ["document", "remove", "tide-gauge-manual.pdf", "--yes"],
        ["document", "remove", "broken.pdf", "--yes"],
    ],
    "memory list": [["memory", "list"], ["memory", "list", "--type", "none"]],
    "memory show": [
        ["memory", "show", "note-00001"], ["memory", "show", "broken"],
        ["memory", "show", "note-00001", "--why"],
    ],
    "memory open": [["memory", "open", "note-00001", "--print"]],
    "memory rename": [["memory", "rename", "note-00002", "A lamp", "--dry-run"]],
    "memory move": [["memory", "move", "note-00002", "lamps"]],
    "memory edit": [
        ["memory", "edit", "note-00002", "--status", "done"],
        ["memory", "edit", "note-00002", "--tag", "lamp", "--dry-run"],
    ],
    "memory delete": [
        ["memory", "delete", "note-00001", "--dry-run"],
        ["memory", "delete", "note-00001", "--yes"],
    ],
    "memory restore": [["memory", "restore"], ["memory", "restore", "note-00001.md"]],
    "memory related": [["memory", "related", "note-00002"]],
    "memory versions": [["memory", "versions", "note-00002"]],
    "memory mentions": [
        ["memory", "mentions", "note-00002"],
        ["memory", "mentions", "note-00002", "--link", "all", "--dry-run"],
    ],
    "memory link": [["memory", "link", "note-00002", "note-00001", "--dry-run"]],
    "memory stats": [["memory", "stats"]],
    "memory values": [["memory", "values", "tag"]],
    "vault add": [["vault", "add", "more", "{more}", "--for", "finn", "--read-only"]],
    "vault list": [["vault", "list"]],
    "vault describe": [
        ["vault", "describe", "more", "Of the council"], ["vault", "describe", "shared"],
        ["vault", "list"],
    ],
    "vault move": [["vault", "move", "more", "moved", "--yes"]],
    "vault remove": [["vault", "remove", "more"]],
    "agent add": [["agent", "add", "hal"], ["agent", "add", "hal"]],
    "agent list": [["agent", "list"]],
    "agent set": [
        ["agent", "set", "voice", "brief"], ["agent", "set", "rules", "Ask.", "--add"],
        ["agent", "set", "time_zone", "UTC"], ["agent", "set", "working_hours", "daily 9:00-10:00"],
    ],
    "agent profile": [["agent", "profile"], ["agent", "profile", "hal"]],
    "agent unset": [["agent", "unset", "rules"], ["agent", "unset", "voice", "--agent", "hal"]],
    "agent remove": [["agent", "remove", "hal", "--yes"]],
    "backup create": [["backup", "create", "b.tar.gz"]],
    "backup restore": [["backup", "restore", "b.tar.gz", "restored"]],
    "sync init": [["sync", "init", "--embedded"], ["sync", "init"]],
    "sync migrate": [["sync", "migrate"], ["sync", "migrate", "--change-model", "--yes"]],
    "sync status": [["sync", "status"]],
    "sync run": [["sync", "run", "--dry-run"], ["sync", "run"]],
    "sync pull": [["sync", "pull"]],
    "sync push": [["sync", "push"]],
    "sync conflicts": [["sync", "conflicts"]],
    "sync verify": [["sync", "verify"]],
    "sync backfill": [["sync", "backfill"]],
    "sync stats": [["sync", "stats"]],
    "sync forget": [["sync", "forget", "--vault", "shared", "--dry-run"]],
    "sync facts": [["sync", "facts", "city"]],
    "hook install": [["hook", "install", "claude", "--print"], ["hook", "install", "codex"]],
    "hook status": [["hook", "status"]],
    "hook remove": [["hook", "remove", "codex"], ["hook", "remove", "codex"]],
    "session working set": [
        ["session", "working", "set", "a", "x"],
        ["session", "working", "set", "a", "[1]", "--json-value", "--short"],
        ["session", "working", "set", "b", "x", "--task", "t"],
        [
            "session", "working", "set", "s", "{{}}", "--json-value",
            "--task", "t", "--status", "running",
        ],
    ],
    "session working get": [
        ["session", "working", "get", "a"],
        ["session", "working", "get", "--task", "t"],
    ],
    "session working list": [
        ["session", "working", "list"],
        ["session", "working", "list", "--tasks"],
    ],
    "session working share": [["session", "working", "share", "a", "--to", "finn"]],
    "session working clear": [
        ["session", "working", "clear", "a"],
        ["session", "working", "clear", "--yes"],
    ],
    "lint": [["lint"], ["lint", "--fix"]],
    "undo": [["undo", "--list"], ["undo", "--dry-run"], ["undo", "--yes"], ["undo", "--list"]],
    "maintain": [["maintain"], ["maintain", "--dry-run"]],
    "key add": [["key", "add", "laptop"], ["key", "add", "all", "--scope", "read_all"]],
    "key list": [["key", "list"]],
    "key revoke": [["key", "revoke", "laptop"]],
    "config show": [["config", "show"]],
    "config get": [["config", "get", key] for key in ("search.limit", "search", "embedding.url")],
    "config set": [
        ["config", "set", "search.limit", "20"], ["config", "set", "exclude", "[a, 'b c']"],
        ["config", "set", "--user", "search.mode", "words"],
    ],
    "config path": [["config", "path"], ["config", "path", "--user"]],
    "review accept": [["review", "accept", "{contradiction}", "--keep", "A"]],
}  # fmt: skip
"""A few runs of each command, in an order in which they can be run."""


def test_every_command_has_a_schema_and_a_run() -> None:
    assert sorted(RUNS) == sorted(commands())
    names = {name for command in RUNS for name in schemas(command)}
    assert names | {"djinn.error/1"} == set(CHECKS)


def test_the_schema_of_a_command_is_printed(run: Run) -> None:
    listed = run("help", "--json").stdout.split()
    assert sorted(f"djinn.{name}/1" for name in listed) == sorted(CHECKS)
    for name in ("gap.list", "djinn.gap.list/1"):
        assert json.loads(run("help", "--json", name).stdout) == CHECKS["djinn.gap.list/1"].schema
    done = run("help", "--json", "nothing")
    assert done.returncode == 4
    remedy = json.loads(done.stdout)["error"]["remedy"]
    assert remedy == "run `djinn help --json` to list the names"


def test_the_schemas_are_schemas_that_describe_every_field() -> None:
    for check in CHECKS.values():
        schema = check.schema
        Draft202012Validator.check_schema(schema)
        for part in (schema, *schema.get("$defs", {}).values()):
            assert part["description"]
            for name, field in part["properties"].items():
                assert field.get("description"), f"{schema['title']}: {part['title']}.{name}"
        assert schema["title"] == "djinn.error/1" or "problems" in schema["required"]


def test_every_command_prints_its_schema(home: Home, shared: Path, run: Run) -> None:
    fill(shared, 3)
    (shared / "low.md").write_text("# Low\n\n## It falls\n\n[[low#it-falls]]\n")
    (shared / "broken.md").write_text("---\na: [\n---\nkettle [[nowhere]] [[note-00002]]\n")
    more = home.root / "more"
    more.mkdir()
    papers = home.root / "papers"
    shutil.copytree(PAPERS, papers)
    (papers / "broken.pdf").write_bytes(b"%PDF-")
    exports = write_exports(home.root / "exports")
    config = home.config_path.read_text()
    home.config_path.write_text(config + "\nllm:\n  model: m\n  url: http://localhost:9\n")
    Djinn(home).index()
    gap = ""
    djinn = Djinn(home)
    for shared_too in (False, True):
        djinn.facts.set("pier", "length", f"{40 + shared_too} m", shared=shared_too)
    djinn.home.edit((("upkeep", "stale_at"), 1e-9))
    djinn.maintain(["rot"])
    proposal = djinn.review.list(kind="archive").items[0].id
    contradiction = djinn.review.list(kind="contradiction").items[0].id
    for command, runs in RUNS.items():
        titles = set(schemas(command))
        for words in runs:
            done = run(
                *(
                    word.format(
                        more=more,
                        papers=papers,
                        exports=exports,
                        gap=gap,
                        contradiction=contradiction,
                        proposal=proposal,
                    )
                    for word in words
                ),
                "--json",
                home=home.root,
            )
            assert done.returncode in (0, 1), (words, done)
            found = one_object(done.stdout.encode())
            gap = found.get("gap_id") or gap
            if found.get("contradictions"):
                contradiction = found["contradictions"][0]["id"]
            assert found["schema"] in titles or words[1] in ("list", "search")


@pytest.mark.parametrize("command", ["status", "memory search x", "memory show nothing"])
def test_an_error_is_an_object_of_its_own(run: Run, tmp_path: Path, command: str) -> None:
    done = run(*command.split(), "--json", home=tmp_path / "nowhere")
    assert done.returncode == 4
    one_object(done.stdout.encode(), "djinn.error/1")
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


# --- vaults of any text

STRANGE = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["\x1b[2J", "\u202egnp", "\x00", "\ud800", "", " ", "null", "1e999", ".nan", "2026-01-01",
         "[[x]]", "kettle", "a/b", "#tag", "'", '"', "\\", "\u2028", "\ufeff", "~", "a: b", "mem_1"]
    ),
)  # fmt: skip
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | STRANGE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRANGE, inner, max_size=3),
    max_leaves=5,
)
KEY = st.sampled_from(
    ["title", "tags", "aliases", "type", "created", "updated", "id", "importance", "status"]
)
FRONT = st.dictionaries(KEY | STRANGE, VALUE, max_size=5)
BODY = st.lists(
    STRANGE | st.sampled_from(["\n", "# ", "[[", "]]", "![[", "#", "```", "- ", "---\n", "^x"]),
    max_size=12,
).map("".join)
FILE = st.binary(max_size=40) | st.builds(
    lambda front, body: f"---\n{yaml.safe_dump(front, allow_unicode=True)}---\n{body}".encode(
        "utf-8", "replace"
    ),
    FRONT,
    BODY,
)
NAME = st.one_of(
    st.binary(min_size=1, max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    STRANGE,
).map(lambda name: re.sub(r"[/\x00\ud800-\udbff]|[\udc00-\udc7f]", "_", name) or "x")


def ask(home: Home, *words: str) -> dict[str, Any] | None:
    """What a command prints with `--json`; None for an error, which prints nothing."""
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
    # A text `-` stands for the standard input, which is empty.
    stdin = patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with contextlib.redirect_stdout(stdout), stdin:
        try:
            COMMAND.main(
                ["--home", str(home.root), *words], prog_name="djinn", standalone_mode=False
            )
        except DjinnError:
            stdout.flush()
            assert stdout.buffer.getvalue() == b""  # type: ignore[attr-defined]
            return None
    stdout.flush()
    return one_object(stdout.buffer.getvalue())  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home, _ = init(tmp_path_factory.mktemp("json") / "home")
    home.edit((("embedding", "provider"), "hashing"), (("search", "sweep_ms"), 2000))
    return home


@given(files=st.dictionaries(NAME, FILE, max_size=3), query=STRANGE)
@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_strange_vaults(strange: Home, files: dict[str, bytes], query: str) -> None:
    shared = strange.root / "vaults" / "shared"
    shutil.rmtree(shared)
    shared.mkdir()
    for name, data in files.items():
        (shared / f"{name}.md").write_bytes(data)
    assert ask(strange, "index", "--json")
    listed = ask(strange, "memory", "list", "--expired", "--json")
    assert listed
    for memory in listed["memories"]:
        shown = ask(strange, "memory", "show", "--json", "--", f"shared:{memory['path']}")
        assert shown and {key: shown[key] for key in memory} == memory
    stats = ask(strange, "memory", "stats", "--json")
    assert stats and stats["notes"] == len(listed["memories"])
    assert ask(strange, "status", "--json")
    assert ask(strange, "memory", "search", "--json", "--", f"kettle {query}")
    ask(strange, "memory", "search", "--json", "--", query)
