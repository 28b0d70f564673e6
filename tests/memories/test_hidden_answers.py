"""What is another agent's is answered as what does not exist, by path and by name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.operations import OPERATIONS
from tests.conftest import Run
from tests.mcp.clients import asked, text

SEAL = "The bilge pump of the old boat needs a new seal before the summer begins."
CHAT = '[{"role": "user", "content": "quokka"}, {"role": "assistant", "content": "yes"}]'


class Shelves:
    """A home in which grace has something of each kind, and finn links into her vault."""

    def __init__(self, folder: Path) -> None:
        self.home, _ = init(folder / "home", ("finn", "grace"))
        self.home.edit((("embedding", "provider"), "hashing"))
        vaults = self.home.root / "vaults"
        self.hers, self.his = vaults / "grace", vaults / "finn"
        (self.hers / "decisions" / "deep").mkdir(parents=True)
        (self.hers / "decisions" / "lamp.md").write_text("The quokka lamp.\n")
        (self.hers / "decisions" / "chat.json").write_text(CHAT)
        (self.hers / "decisions" / "locked").mkdir(mode=0)
        (self.hers / "secret").symlink_to(folder / ".ssh")
        (self.his / "in").symlink_to(self.hers)
        (self.his / "lamp.md").symlink_to(self.hers / "decisions" / "lamp.md")
        (self.his / "own.txt").write_text("The kettle of the hut.\n")
        self.names = self._filled()

    def _filled(self) -> dict[str, str]:
        """Give grace something of each kind. Returns the names by kind."""
        grace: Any = {"agent": "grace"}
        vaults = self.home.root / "vaults"
        with Djinn(self.home) as djinn:
            session = djinn.wake(**grace).session
            for title in ("Quokka pump", "Quokka seal"):
                djinn.remember("lesson", title, SEAL, force=True, **grace)
            note = djinn.remember("decision", "Quokka plan", "It is decided.", **grace)
            djinn.remember("lesson", "Quokka gone", "It is gone.", force=True, **grace)
            djinn.memories.delete("Quokka gone", **grace)
            djinn.facts.set("quokka", "city", "Warsaw", **grace)
            djinn.facts.set("quokka", "city", "Rome", shared=True, **grace)
            (vaults / "shared" / "facts" / "quokka-city.md").rename(self.hers / "rome.md")
            djinn.entities.add("Quokka Anna", "person", **grace)
            djinn.entities.add("Quokka Ann", "person", force=True, **grace)
            djinn.entities.merge("Quokka Ann", "Quokka Anna", **grace)
            (self.hers / "habit.md").write_text(
                "---\ntype: pattern\nweekdays: monday\n---\n# Quokka habit\n\nMondays.\n"
            )
            (self.hers.parent.parent / "tide.txt").write_text("quokka tide tables\n")
            djinn.documents.ingest(paths=(self.hers.parent.parent / "tide.txt",), **grace)
            episode = djinn.episodes.record_interaction("quokka talk", session="quokkas", **grace)
            djinn.working.set("quokkakey", "x", ttl=86_400, **grace)
            djinn.working.set("quokkastate", "x", task="quokkatask", **grace)
            recalled = djinn.recall("pump seal", **grace)
            gap = djinn.gaps.report("how many quokkas", **grace).gap_id
            djinn.index()
            djinn.maintain(only=("duplicates", "contradictions"), **grace)
            [proposal, *_] = djinn.review.list("merge", **grace).items
            [contradiction, *_] = djinn.review.list("contradiction", **grace).items
            [change, *_] = djinn.changes.list(**grace).changes
        return {
            "note": str(note.id), "path": f"grace:{note.path}", "title": "Quokka plan",
            "trashed": "Quokka gone", "entity": "Quokka Anna", "pattern": "Quokka habit",
            "document": "tide.txt", "episode": str(episode.id), "session": str(session),
            "talk": "quokkas", "key": "quokkakey", "task": "quokkatask", "gap": gap,
            "recall": str(recalled.request_id), "proposal": proposal.id,
            "contradiction": contradiction.id, "change": change.id, "category": "quokka",
            "fact": "quokka/city", "vault": "grace", "file": str(self.hers / note.path),
        }  # fmt: skip

    def missing(self, kind: str) -> str:
        """A name of the same form that names nothing."""
        name = self.names[kind]
        if kind in ("file", "path", "fact"):
            return name.replace("quokka", "wombat")
        head, mark, tail = name.rpartition("_")
        return f"{head}_{'0' * len(tail)}" if mark and name.islower() else "wombat"


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> Shelves:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("shelves")
        patch.setenv("DJINN_CONFIG_DIR", str(folder / "user"))
        return Shelves(folder)


PLACES = [
    ("decisions", "nothing"),
    ("decisions/", "nothing/"),
    ("decisions/lamp.md", "decisions/wombat.md"),
    ("decisions/chat.json", "nothing/chat.json"),
    ("decisions/lamp.md/x", "decisions/wombat.md/x"),
    ("decisions/deep", "decisions/flat"),
    ("decisions/locked/x", "decisions/wombat/x"),
    ("decisions/../decisions", "nothing/../nothing"),
    ("decisions/../../shared", "nothing/../../shared"),
    ("secret/key", "nothing/key"),
    ("../finn/in/decisions", "../finn/in/nothing"),
    ("../finn/lamp.md", "../finn/in/wombat.md"),
    ("../finn/../grace/decisions", "../finn/../grace/nothing"),
    ("decisions/*.md", "nothing/*.md"),
    ("DECISIONS", "NOTHING"),
    ("decisions\0", "nothing\0"),
    ("x" * 300, "y" * 300),
]
"""A path in grace's vault that exists, and one of the same form that does not."""

_LOOKED_INTO: list[tuple[str, str]] | None = None


def _note_use(event: str, given: tuple[object, ...]) -> None:
    if _LOOKED_INTO is not None and event in ("open", "os.listdir", "os.scandir", "os.walk"):
        _LOOKED_INTO.extend((event, str(place)) for place in given[:1])


sys.addaudithook(_note_use)


@contextmanager
def looked_into() -> Iterator[list[tuple[str, str]]]:
    """The files and folders that are opened or listed meanwhile, each with the audit event."""
    global _LOOKED_INTO
    _LOOKED_INTO = used = []
    try:
        yield used
    finally:
        _LOOKED_INTO = None


def same(say: Callable[[str], str], here: str, nothing: str, *, place: Path) -> None:
    """Check that the answers to two names are the same, and that nothing at `place` was read."""
    with looked_into() as used:
        said = say(here)
    assert _without(said, here) == _without(say(nothing), nothing)
    assert not [path for _, path in used if path.startswith(str(place))]


def _without(said: str, path: str) -> str:
    """What was said, without the path as it was given or as it is shown."""
    for form in (path, str(Path(path)), os.path.normpath(path)):
        said = said.replace(form, "PATH")
    return said


def spoken(call: Callable[[], Any]) -> str:
    """An answer or an error as text, without what differs from run to run."""
    try:
        answer = msgspec.json.encode(call(), enc_hook=str).decode()
    except DjinnError as error:
        answer = f"{type(error).__name__}: {error}"
    answer = re.sub(r"mem_[0-9a-z]{16}|[a-z]{3}_[0-9a-z]{10}", "ID", answer)
    return re.sub(r"\d{4}-\d\d-\d\dT[^\"]*|\"seconds\":[^,}]*", "TIME", answer)


@pytest.mark.parametrize("options", [{}, {"title": "T"}, {"recursive": True}], ids=str)
@pytest.mark.parametrize(("here", "nothing"), PLACES, ids=repr)
def test_ingest_in_python(
    shelves: Shelves, here: str, nothing: str, options: dict[str, Any]
) -> None:
    def say(path: str) -> str:
        with Djinn(shelves.home) as djinn:
            return spoken(lambda: djinn.documents.ingest(paths=(Path(path),), **options))

    at = f"{shelves.hers}/"
    same(say, str(Path(at + here)), str(Path(at + nothing)), place=shelves.hers)


@pytest.mark.parametrize(("here", "nothing"), PLACES, ids=repr)
def test_import_in_python(shelves: Shelves, here: str, nothing: str) -> None:
    def say(path: str) -> str:
        with Djinn(shelves.home) as djinn:
            return spoken(lambda: djinn.import_history((Path(path),)))

    at = f"{shelves.hers}/"
    same(say, str(Path(at + here)), str(Path(at + nothing)), place=shelves.hers)


@pytest.mark.parametrize("command", ["ingest", "ingest -r", "ingest --title T", "import"])
def test_the_commands(shelves: Shelves, run: Run, command: str) -> None:
    def say(path: str) -> str:
        done = run(*command.split(), path, home=shelves.home.root)
        assert "Traceback" not in done.stderr
        return f"{done.returncode} {done.stdout} {done.stderr}"

    for here, nothing in PLACES:
        if "\0" not in here:
            same(
                say, f"{shelves.hers}/{here}", f"{shelves.hers}/{nothing}", place=shelves.hers
            )  # fmt: skip


def test_a_relative_path(shelves: Shelves, run: Run) -> None:
    for command in ("ingest", "import"):
        for here, nothing in (("grace/decisions", "grace/nothing"), ("finn/in/decisions", "x")):
            said = [
                run(command, path, home=shelves.home.root, cwd=shelves.hers.parent).stderr
                for path in (here, nothing)
            ]
            assert said[0].replace(here, nothing) == said[1]


@pytest.mark.parametrize("options", [{}, {"title": "T"}, {"recursive": True}], ids=str)
def test_the_tool(shelves: Shelves, options: dict[str, Any]) -> None:
    async def work(client: Client) -> None:
        async def say(path: str) -> str:
            done = await client.call_tool("ingest", {"paths": [path], **options})
            return f"{done.is_error} {text(done)}"

        for here, nothing in PLACES:
            paths = [f"{shelves.hers}/{path}" for path in (here, nothing)]
            with looked_into() as used:
                said = await say(paths[0])
            assert _without(said, paths[0]) == _without(await say(paths[1]), paths[1])
            assert not [path for _, path in used if path.startswith(str(shelves.hers))], here

    asked(shelves.home, work)


@pytest.mark.parametrize("command", ["ingest", "import"])
def test_a_folder_above_leaves_the_hidden_one_out(shelves: Shelves, run: Run, command: str) -> None:
    options = ["-r"] if command == "ingest" else []
    with looked_into() as used:
        done = run(command, *options, shelves.hers.parent, home=shelves.home.root)
    # The index lists the attachments of all vaults, to which links may lead.
    opened = [path for event, path in used if event == "open"]
    assert not [path for path in opened if path.startswith(str(shelves.hers))]
    assert "grace" not in done.stdout + done.stderr and "quokka" not in done.stdout + done.stderr


NAMES: list[tuple[str, dict[str, Any], str]] = [
    *((f"memories.{verb}", {"name": "{}"}, "note path title file")
      for verb in ("show", "find", "links", "delete", "purge", "related", "mentions")),
    ("memories.link_mentions", {"name": "{}", "mentions": ("all",)}, "note path title"),
    ("memories.link", {"name": "{}", "to": "Kettle"}, "note path title"),
    ("memories.restore", {"name": "{}"}, "trashed note path"),
    ("memories.values", {"field": "{}"}, "title"),
    ("scores.show", {"name": "{}"}, "note path title"),
    ("rate", {"useful": ("{}",)}, "note path title"),
    ("rate", {"target": "{}", "useful": (1,)}, "recall"),
    *((name, {"vaults": ("{}",)}, "vault")
      for name in ("memories.list", "memories.stats", "documents.list", "index", "lint")),
    *((name, {"query": "kettle", "vaults": ("{}",)}, "vault") for name in ("search", "recall")),
    ("remember", {"type": "x", "title": "T", "supersedes": "{}"}, "note path title"),
    ("facts.get", {"category": "{}", "key": "city"}, "category"),
    ("facts.forget", {"category": "{}", "key": "city"}, "category"),
    ("facts.verify", {"key": "{}"}, "fact"),
    ("facts.list", {"category": "{}"}, "category"),
    ("entities.show", {"name": "{}"}, "entity"),
    ("entities.set", {"name": "{}", "key": "k", "value": "v"}, "entity"),
    ("entities.edit", {"name": "{}", "kind": "boat"}, "entity"),
    ("memories.rename", {"name": "{}", "title": "T"}, "note path title"),
    ("memories.move", {"name": "{}", "to": "f"}, "note path title"),
    ("memories.edit", {"name": "{}", "status": "done"}, "note path title"),
    ("entities.alias", {"action": "add", "name": "{}", "aliases": ("A",)}, "entity"),
    ("entities.merge", {"name": "{}", "into": "{}x"}, "entity"),
    ("entities.split", {"name": "{}"}, "entity"),
    ("entities.remove", {"name": "{}"}, "entity"),
    ("entities.resolve", {"mention": "{}"}, "entity"),
    ("episodes.show", {"name": "{}"}, "episode"),
    ("episodes.mark", {"names": ("{}",)}, "episode"),
    ("episodes.list", {"session": "{}"}, "talk session"),
    ("patterns.show", {"name": "{}"}, "pattern"),
    ("documents.show", {"name": "{}"}, "document"),
    ("documents.find", {"name": "{}"}, "document"),
    ("documents.remove", {"name": "{}"}, "document"),
    ("documents.reprocess", {"name": "{}"}, "document"),
    ("documents.ingest", {"paths": (), "vault": "{}"}, "vault"),
    ("sessions.history", {"session": "{}"}, "talk session"),
    ("sessions.end", {"session": "{}"}, "session talk"),
    ("sessions.extract", {"session": "{}", "dry_run": True}, "talk session"),
    ("gaps.close", {"gap": "{}"}, "gap"),
    ("gaps.reopen", {"gap": "{}"}, "gap"),
    ("review.show", {"name": "{}"}, "proposal contradiction"),
    ("review.accept", {"items": ("{}",)}, "proposal"),
    ("review.dismiss", {"items": ("{}",)}, "proposal contradiction"),
    ("review.accept", {"items": ("{}",), "keep": "A"}, "contradiction"),
    ("changes.undo", {"change": "{}"}, "change"),
    ("working.get", {"key": "{}"}, "key"),
    ("working.get", {"key": "x", "task": "{}"}, "task"),
    ("working.get", {"key": "quokkakey", "giver": "{}"}, "vault"),
    ("working.clear", {"key": "{}"}, "key"),
    ("working.clear", {"task": "{}"}, "task"),
    ("working.share", {"key": "{}", "to": "grace"}, "key"),
    ("working.resume", {"task": "{}"}, "task"),
]  # fmt: skip
"""Operations with a name of something that is grace's, and the kinds of the name."""


def _with(given: Any, name: str) -> Any:
    if isinstance(given, dict):
        return {key: _with(value, name) for key, value in given.items()}
    if isinstance(given, tuple):
        return tuple(_with(value, name) for value in given)
    return given.replace("{}", name) if isinstance(given, str) else given


@pytest.mark.parametrize(("operation", "given", "kinds"), NAMES, ids=str)
def test_a_name_in_python(
    shelves: Shelves, operation: str, given: dict[str, Any], kinds: str
) -> None:
    with Djinn(Home(shelves.home.root)) as djinn:

        def say(name: str) -> str:
            request = OPERATIONS[operation].request(**_with(given, name), agent="finn")
            return spoken(lambda: OPERATIONS[operation].bind(djinn)(request))

        for kind in kinds.split():
            here, nothing = shelves.names[kind], shelves.missing(kind)
            assert say(here).replace(here, "ID") == say(nothing).replace(nothing, "ID"), kind


def test_evidence_that_is_hers(shelves: Shelves) -> None:
    said = []
    with Djinn(Home(shelves.home.root)) as djinn:
        for name in (shelves.names["path"], shelves.missing("path")):
            change = djinn.facts.set("lamp", name[-12:-8], "dark", evidence=(name,), agent="finn")
            said.append((change.action, change.problems, len(change.fact.evidence)))
    assert said[0] == said[1]


COMMANDS = [
    *((f"{verb} {{}}", "note path title file") for verb in ("show", "open --print")),
    ("memory delete {} --yes", "note path title"),
    ("memory purge {} --yes", "note path title"),
    ("memory restore {}", "trashed"),
    ("show {} --why", "note"),
    ("show {} --why", "note title"),
    ("list --vault {}", "vault"),
    ("search kettle --vault {}", "vault"),
    ("index --vault {}", "vault"),
    ("lint --vault {}", "vault"),
    ("entity show {}", "entity"),
    ("entity remove {}", "entity"),
    ("document show {}", "document"),
    ("document remove {} --yes", "document"),
    ("episode show {}", "episode"),
    ("pattern show {}", "pattern"),
    ("session history {}", "talk session"),
    ("session end --session {}", "session"),
    ("gap close {}", "gap"),
    ("review show {}", "proposal"),
    ("review accept {}", "proposal"),
    ("review accept {} --keep A", "contradiction"),
    ("undo {} --yes", "change"),
    ("rate {} --useful 1", "recall"),
    ("session working get {}", "key"),
    ("session working get --task {}", "task"),
    ("session working clear {} --yes", "key"),
]


@pytest.mark.parametrize(("line", "kinds"), COMMANDS, ids=str)
def test_a_name_on_the_command_line(shelves: Shelves, run: Run, line: str, kinds: str) -> None:
    def say(name: str) -> str:
        words = [word.replace("{}", name) for word in line.split()]
        done = run(*words, "--agent", "finn", home=shelves.home.root)
        assert "Traceback" not in done.stderr
        return f"{done.returncode} {done.stdout} {done.stderr}"

    for kind in kinds.split():
        here, nothing = shelves.names[kind], shelves.missing(kind)
        assert say(here).replace(here, nothing) == say(nothing), (line, kind)


def test_each_name_is_found_by_its_owner(shelves: Shelves) -> None:
    names = shelves.names
    with Djinn(Home(shelves.home.root)) as djinn:
        grace: Any = {"agent": "grace"}
        for kind in ("note", "path", "title"):
            assert djinn.memories.find(names[kind], **grace)
        assert djinn.entities.show(names["entity"], **grace)
        assert djinn.documents.show(names["document"], **grace)
        assert djinn.episodes.show(names["episode"], **grace)
        assert djinn.patterns.show(names["pattern"], **grace)
        assert djinn.sessions.history(names["talk"], **grace).turns
        assert djinn.working.get(names["key"], **grace)
        assert djinn.working.resume(names["task"], **grace)
        assert djinn.review.show(names["proposal"], **grace)
        assert djinn.facts.get("quokka", "city", **grace)
