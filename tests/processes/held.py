"""Every command, on a home in which there is something for each, while a lock is held."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from djinn_memory.home.home import Home

LOCKS = ("index", "ledger", "cache", "working", "vault")
"""What is held in turn: the four databases, and the locks of all vaults."""

READS = {
    "status": "status",
    "recall": "recall kettle",
    "context": "context kettle",
    "wake": "wake --task kettle",
    "memory search": "memory search kettle",
    "memory list": "memory list",
    "memory show": "memory show Kettle",
    "memory open": "memory open Kettle",
    "memory related": "memory related Kettle",
    "memory mentions": "memory mentions Kettle",
    "memory versions": "memory versions Kettle",
    "memory stats": "memory stats",
    "graph neighbours": "graph neighbours Kettle",
    "graph path": "graph path Kettle Robert",
    "graph communities": "graph communities",
    "graph stats": "graph stats",
    "graph view": "graph view",
    "graph export": "graph export --format json",
    "memory values": "memory values tag",
    "fact get": "fact get anna city",
    "fact list": "fact list",
    "fact search": "fact search city",
    "entity list": "entity list",
    "entity show": "entity show Robert",
    "episode list": "episode list",
    "episode show": "episode show {episode}",
    "episode stats": "episode stats",
    "session list": "session list",
    "session history": "session history dinner",
    "hook status": "hook status",
    "agent summary show": "agent summary show",
    "pattern list": "pattern list",
    "pattern show": "pattern show {pattern}",
    "pattern correlations": "pattern correlations",
    "episode outcome list": "episode outcome list",
    "review list": "review",
    "review show": "review show {proposal}",
    "gap list": "gap list",
    "gap suggest": "gap suggest",
    "document list": "document list",
    "document show": "document show paper.txt",
    "vault list": "vault list",
    "agent profile": "agent profile",
    "agent list": "agent list",
    "session working get": "session working get cursor",
    "session working list": "session working list",
    "config show": "config show",
    "config get": "config get agents",
    "config path": "config path",
    "key list": "key list",
    "help": "help search",
    "mcp": "mcp --print-config claude",
}
"""Commands that read, by name. Some record uses."""

WRITES = {
    "episode mark": "episode mark {episode}",
    "session start": "session start --session review",
    "session end": "session end",
    "init": "init {tmp}/new",
    "remember": "remember lesson Lamp A-lamp-for-the-mole.",
    "rate": "rate last --useful 1",
    "checkpoint": "checkpoint Half-of-it-is-done.",
    "sleep": "sleep --summary All-of-it-is-done.",
    "config trust": "config trust",
    "undo": "undo {change} --yes",
    "memory delete": "memory delete Kettle --yes",
    "memory restore": "memory restore Gone",
    "memory edit": "memory edit Kettle --status done",
    "memory link": "memory link Robert Kettle",
    "fact set": "fact set anna street Quay",
    "fact forget": "fact forget anna colour",
    "fact verify": "fact verify anna colour",
    "entity add": "entity add Zora --kind person",
    "entity set": "entity set Robert role keeper",
    "entity alias": "entity alias add Robert Bobby",
    "entity remove": "entity remove Robert",
    "episode record": "episode record --message The-bell-rang.",
    "hook install": "hook install claude",
    "hook remove": "hook remove claude",
    "agent summary set": "agent summary set Anna-keeps-the-lamps.",
    "agent summary build": "agent summary build --force",
    "episode outcome record": "episode outcome record reboot success",
    "review accept": "review accept {proposal}",
    "review dismiss": "review dismiss {contradiction}",
    "gap report": "gap report Why-the-kettle-whistles.",
    "gap close": "gap close {gap}",
    "gap reopen": "gap reopen {closed}",
    "document remove": "document remove paper.txt --yes",
    "vault add": "vault add notes {tmp}/notes",
    "vault describe": "vault describe me Mine.",
    "vault move": "vault move me {tmp}/moved --yes",
    "vault remove": "vault remove added",
    "agent add": "agent add hal",
    "agent remove": "agent remove grace --yes",
    "agent set": "agent set voice brief",
    "agent unset": "agent unset identity",
    "session working set": "session working set cursor other",
    "session working clear": "session working clear cursor",
    "session working share": "session working share cursor --to grace",
    "config set": "config set search.limit 7",
    "key add": "key add laptop",
    "key revoke": "key revoke notes-app",
}
"""Commands that write little, by name."""

RUNS = {
    "index": "index",
    "lint": "lint --fix",
    "doctor": "doctor",
    "maintain": "maintain",
    "pattern find": "pattern find --min-age 0d",
    "ingest": "ingest {tmp}/other.txt",
    "import": "import {tmp}/turns.jsonl",
    "memory purge": "memory purge Kettle --yes",
    "memory rename": "memory rename Kettle Pot",
    "memory move": "memory move Kettle pots",
    "entity edit": "entity edit Robert --kind boat",
    "entity merge": "entity merge Rob Robert",
    "entity split": "entity split Hubert Bert",
    "session extract": "session extract --session dinner",
    "document reprocess": "document reprocess paper.txt --chunk-size 200",
    "backup create": "backup create {tmp}/backup.tar.gz",
    "backup restore": "backup restore {tmp}/earlier.tar.gz {tmp}/restored",
}
"""Commands that may run for long, by name."""

SYNC = {
    "sync status": "sync status",
    "sync run": "sync run",
    "sync pull": "sync pull",
    "sync push": "sync push",
    "sync conflicts": "sync conflicts",
    "sync verify": "sync verify",
    "sync stats": "sync stats",
    "sync facts": "sync facts city",
    "sync backfill": "sync backfill",
    "sync forget": "sync forget --vault shared --yes",
    "sync migrate": "sync migrate",
    "sync init": "sync init",
}
"""Commands that need a server, by name."""


def environment(place: Path) -> dict[str, str]:
    """The environment of a user whose settings lie in `place`."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("DJINN_")}
    return {
        **own, "HOME": str(place), "DJINN_CONFIG_DIR": str(place / "user"),
        "DJINN_CACHE": str(place / "cache"), "EDITOR": "true", "VISUAL": "true",
        "DJINN_SESSIONS__EXTRACT": "false",
    }  # fmt: skip


def djinn(place: Path, *words: object, **more: str) -> str:
    """What a command prints on the home in `place`; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "djinn_memory", "--home", str(place / "home"), *map(str, words)],
        capture_output=True, text=True, check=False, cwd=place, stdin=subprocess.DEVNULL,
        env={**environment(place), **more},
    )  # fmt: skip
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def prepare(place: Path, sample: Path) -> dict[str, str]:
    """Make a home in `place` on which each command has something to do. Returns names for them."""
    place.mkdir()

    def do(*words: object) -> str:
        return djinn(place, *words)

    def found(*words: object) -> Any:
        return json.loads(do(*words, "--json"))

    do("init", "--agent", "me", "--agent", "grace")
    do("config", "set", "embedding.provider", "hashing")
    home = place / "home"
    shared = home / "vaults" / "shared"
    shutil.copytree(sample / "shared", shared, dirs_exist_ok=True)
    # Notes of a new checkout are too young to be stale.
    for note in shared.rglob("*.md"):
        os.utime(note, (note.stat().st_atime, note.stat().st_mtime - 7 * 86_400))
    (shared / "kettle.md").write_text("---\ntitle: Kettle\n---\nThe kettle whistles. [[Lapm]]\n")
    (shared / "gone.md").write_text("---\ntitle: Gone\n---\nThe tide has gone out.\n")
    (shared / "lost.md").write_text("---\ntitle: Lost\n---\nSee [[Gone]].\n")
    (place / "paper.txt").write_text("A paper about kettles and about lamps.\n" * 200)
    (place / "other.txt").write_text("Another paper about the tide.\n" * 200)
    (place / "notes").mkdir()
    (place / "notes" / "a.md").write_text("# A\n\nA note of another program.\n")
    shutil.copytree(place / "notes", place / "added")
    do("vault", "add", "added", place / "added")
    turns = (
        {"role": role, "content": f"{role} turn {number} about the harbour", "session": "talk",
         "timestamp": f"2026-01-{1 + number // 20:02}T10:{number % 60:02}:00Z"}
        for number in range(300) for role in ("user", "assistant")
    )  # fmt: skip
    (place / "turns.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in turns))
    do("index")
    do("ingest", place / "paper.txt")
    do("recall", "kettle")
    do("wake")
    do("fact", "set", "anna", "city", "Warsaw")
    do("fact", "set", "anna", "city", "Rome", "--shared")
    do("fact", "set", "anna", "colour", "red")
    do("entity", "add", "Robert", "--kind", "person")
    do("entity", "add", "Rob", "--kind", "person")
    do("entity", "add", "Hubert", "--kind", "person")
    do("entity", "add", "Bert", "--kind", "person")
    do("entity", "merge", "Bert", "Hubert")
    for number in range(4):
        do("episode", "record", "--message", f"I prefer tea {number} over coffee. We decided to "
           f"move the hut {number}. My city is Oslo.", "--session", "dinner")  # fmt: skip
    do("import", place / "turns.jsonl")
    (place / "turns.jsonl").write_text(
        (place / "turns.jsonl").read_text().replace("harbour", "quay").replace("talk", "chat")
    )
    do("pattern", "find", "--min-age", "0d")
    do("agent", "set", "identity", "Keeps the log.")
    do("session", "working", "set", "cursor", "line 7", "--ttl", "36000")
    do("gap", "report", "Why the kettle sings.")
    do("gap", "report", "Why the lamp is dark.")
    do("key", "add", "notes-app")
    do("agent", "summary", "set", "Anna keeps the kettle.")
    do("memory", "delete", "Gone", "--yes")
    do("config", "set", "upkeep.stale_at", "0.00001")
    do("maintain")
    do("backup", "create", place / "earlier.tar.gz")
    gaps = [gap["id"] for group in found("gap", "list")["groups"] for gap in group["gaps"]]
    do("gap", "close", gaps[0])
    names = {
        "gap": gaps[1],
        "closed": gaps[0],
        "episode": found("episode", "list")["episodes"][0]["id"],
        "contradiction": found("review", "--kind", "contradiction")["items"][0]["id"],
        "proposal": found("review", "--kind", "archive")["items"][0]["id"],
        "change": found("undo", "--list")["changes"][0]["id"],
        "pattern": found("pattern", "list")["patterns"][0]["id"],
    }
    return {name: str(value) for name, value in names.items()}


HOLDER = """
import sys
from contextlib import ExitStack
from pathlib import Path
import apsw
from djinn_memory.system.locks import lock
with ExitStack() as stack:
    for path in map(Path, sys.argv[1:]):
        if path.suffix == ".lock":
            stack.enter_context(lock(path))
        else:
            connection = apsw.Connection(str(path))
            connection.execute("begin immediate")
    print("held", flush=True)
    sys.stdin.read()
"""


def targets(home: Home, lock: str) -> list[Path]:
    """The files of a lock."""
    if lock == "vault":
        names = [vault.id.replace("/", "-").replace(":", "-") for vault in home.vaults]
        return [home.state / "locks" / f"{name}.lock" for name in names]
    databases = {
        "index": home.index_path,
        "ledger": home.ledger_path,
        "cache": home.embeddings_path,
        "working": home.working_path,
    }
    return [databases[lock]]


@contextmanager
def holding(*paths: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds these lock files and databases until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *map(str, paths)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
