"""A home in which all that can wait for somebody waits, and all that can be wrong is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from djinn_memory.home.home import Home
from djinn_memory.sync.notes.names import conflict_path
from tests.conftest import Run

SEAL = "The bilge pump of the old boat needs a new seal before the summer begins."
TABLE = "The tide tables of the harbour office are wrong by an hour in the winter."
DAMAGED = {
    "damaged.md": b"---\ntitle: [\nstatus: {\n---\nThe lamp of the damaged note is dark.\n",
    "binary.md": b"\x00\x01\x02 no text \xff\xfe",
    "latin.md": b"# Latin\n\nCaf\xe9 au lait at the quay.\n",
}
"""Notes that are not as djinn writes them: broken front matter, no text, another encoding."""


class Troubled(NamedTuple):
    """The home and what is open in it."""

    root: Path
    names: dict[str, str]
    """The ids of what is open, by what it is: `gap`, `proposal`, `contradiction`, `recall`."""

    def filled(self, text: Any) -> Any:
        """A text, or texts, with the ids in place of `{gap}` and the like."""
        if isinstance(text, list | tuple):
            return type(text)(map(self.filled, text))
        if isinstance(text, dict):
            return {key: self.filled(value) for key, value in text.items()}
        if not isinstance(text, str):
            return text
        return re.sub(r"\{(\w+)\}", lambda found: self.names.get(found[1], found[0]), text)

    def request(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request with the ids in place of `{gap}` and the like, also in paths."""
        return {
            name: tuple(Path(self.filled(str(path))) for path in value)
            if isinstance(value, tuple) and isinstance(value[0], Path)
            else Path(self.filled(str(value))) if isinstance(value, Path)
            else self.filled(value)
            for name, value in given.items()
        }  # fmt: skip


def troubled(root: Path, run: Run) -> Troubled:
    """Make the home with the commands that a user has."""

    def djinn(*words: object, stdin: str = "") -> str:
        done = run(*words, home=root, stdin=stdin)
        assert done.returncode in (0, 1), (words, done)
        return done.stdout

    run("init", root, "--agent", "me", "--agent", "ben")
    Home(root).edit((("embedding", "provider"), "hashing"))
    archive = root / "archive"
    archive.mkdir()
    (archive / "lamp.md").write_text("# Old lamp\n\nThe lamp of the archive burned oil.\n")
    djinn("vault", "add", "archive", archive, "--read-only")
    # The facts contradict each other.
    djinn("fact", "set", "anna", "city", "Warsaw")
    djinn("fact", "set", "anna", "city", "Rome", "--shared")
    djinn("fact", "set", "boat", "berth", "12", "--expires", "1d")
    djinn("remember", "commitment", "Grease the winch", "Before the regatta.", "--due", "1d")
    djinn("remember", "lesson", "Bilge pump", SEAL)
    djinn("remember", "lesson", "Pump of the boat", SEAL, "--force")
    djinn("remember", "project", "Harbour log", "The log has a page a day.", "--shared")
    djinn("remember", "lesson", "Ben's knots", "A bowline holds.", "--agent", "ben")
    djinn("ingest", "-", "--title", "Tide tables", stdin=TABLE)
    djinn("entity", "add", "Anna Kowalska", "--kind", "person", "--alias", "Anna")
    djinn("entity", "add", "Anna K.", "--kind", "person", "--force")
    djinn("episode", "record", "--message", "The lamp is dark.", "--response", "I see.")
    djinn("episode", "outcome", "record", "restart the lamp", "failure")
    djinn("agent", "set", "identity", "Keeps the lamp.")
    djinn("session", "working", "set", "plan", "rig the mast", "--task", "regatta")
    djinn("session", "working", "set", "sail", "--task", "regatta", "--status", "running")
    djinn("session", "working", "set", "wind", "north")
    djinn("gap", "report", "How many watts has the mole lamp?", "--query", "mole lamp watts")
    djinn("remember", "idea", "Gone", "Nobody needs it.", "--force")
    djinn("memory", "delete", "Gone", "--yes")
    recalled = json.loads(djinn("recall", "bilge pump seal", "--json"))
    djinn("wake")
    djinn("checkpoint", "Half of the tables are read.")
    _damage(root)
    djinn("index")
    djinn("maintain", "--only", "contradictions", "--only", "duplicates", "--only", "expire")
    listed = {
        noun: json.loads(djinn(noun, "list", "--json")) for noun in ("gap", "episode", "session")
    }
    waiting = {
        kind: json.loads(djinn("review", "--kind", kind, "--json"))["items"][0]["id"]
        for kind in ("contradiction", "merge")
    }
    return Troubled(root, {
        "recall": recalled["request_id"],
        "contradiction": waiting["contradiction"],
        "proposal": waiting["merge"],
        "gap": listed["gap"]["groups"][0]["gaps"][0]["id"],
        "episode": listed["episode"]["episodes"][0]["id"],
        "session": next(
            each["session"] for each in listed["session"]["sessions"] if each["open"]
        ),
    })  # fmt: skip


def _damage(root: Path) -> None:
    """What no command makes: files that others wrote, and days that pass."""
    me = root / "vaults" / "me"
    shared = root / "vaults" / "shared"
    for name, data in DAMAGED.items():
        (me / name).write_bytes(data)
    note = next(shared.rglob("harbour-log.md"))
    copy = note.with_name(conflict_path(note.name, "laptop", b"\x07" * 32))
    copy.write_bytes(note.read_bytes() + b"From the laptop.\n")
    (shared / "loop.md").symlink_to("loop.md")
    (me / "monday.md").write_text(
        "---\ntype: pattern\nsource: consolidation\nconfidence: 0.8\nweekdays: monday\n---\n"
        "# Plan the week\n\nOn Mondays the week is planned.\n"
    )
    for kind, path in (("due", "winch"), ("expires", "berth")):
        [note] = [each for each in me.rglob("*.md") if path in each.name]
        text = re.sub(rf"(?m)^{kind}: .*$", f"{kind}: 2024-03-01", note.read_text())
        note.write_text(text)
