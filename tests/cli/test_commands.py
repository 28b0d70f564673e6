"""The command line as a user runs it: exit codes, streams, formats, messages."""

from __future__ import annotations

import csv
import ctypes
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from djinn_memory.system.locks import lock
from tests.conftest import Run
from tests.indexing.vaults import fill, with_sample


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Home:
    """The sample memory, indexed; for tests that change nothing."""
    from djinn_memory.home.setup import init

    home, _ = init(tmp_path_factory.mktemp("cli") / "home", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    with_sample(home, sample)
    Djinn(home).index()
    return home


def one_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The error of a command that failed as it should: one line, and nothing on stdout."""
    assert done.stdout == ""
    return error_line(done, code)


def error_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The only line on stderr, which is an error."""
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


BAD = {
    "unknown agent": (["memory", "search", "tide", "--agent", "nobody"], 4, "finn, grace"),
    "unknown vault": (["memory", "search", "tide", "--vault", "nope"], 4, "shared, finn"),
    "unknown vault to list": (["memory", "list", "--vault", "nope"], 4, "shared, finn"),
    "unknown vault to index": (["index", "--vault", "nope"], 4, "shared, finn, grace"),
    "vault of another": (["memory", "search", "x", "--vault", "grace"], 4, "shared, finn"),
    "unknown note": (["memory", "show", "nothing at all"], 4, "djinn list"),
    "nothing to delete": (["memory", "delete", "nothing at all", "--yes"], 4, "djinn list"),
    "delete unasked": (["memory", "delete", "Chart datum"], 2, "--yes"),
    "empty query": (["memory", "search", ""], 2, "the query is empty"),
    "no question": (["recall", ""], 2, "give a question"),
    "no query": (["memory", "search"], 2, "djinn memory search QUERY..."),
    "unknown option": (["memory", "list", "--colour", "red"], 2, "--help"),
    "unknown command": (["memory", "frobnicate"], 2, "--help"),
    "bad mode": (["memory", "search", "x", "--mode", "magic"], 2, "hybrid"),
    "bad format": (["memory", "search", "x", "--format", "pdf"], 2, "table"),
    "bad limit": (["memory", "search", "x", "-n", "0"], 2, "1"),
    "bad date": (["memory", "search", "x", "--since", "soon"], 2, "--since"),
    "bad plane": (["memory", "search", "x", "--plane", "astral"], 2, "semantic"),
    "bad where": (["memory", "search", "x", "--where", "status"], 2, "KEY=VALUE"),
    "bad key": (["config", "get", "search.limt"], 2, "limit"),
    "bad value": (["config", "set", "search.limit", "many"], 2, "search.limit"),
    "vault without folder": (["vault", "add", "x", "/nonexistent/folder"], 4, "folder"),
    "vault name taken": (["vault", "add", "shared", "/tmp"], 3, "shared"),
    "own vault removed": (["vault", "remove", "finn"], 3, "finn"),
    "unknown vault removed": (["vault", "remove", "nope"], 4, "shared"),
    "bad agent name": (["agent", "add", "../x"], 2, "letters"),
    "agent named shared": (["agent", "add", "shared"], 2, "shared"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_one_line_with_a_remedy(kept: Home, run: Run, name: str) -> None:
    command, code, hint = BAD[name]
    assert hint in one_line(run(*command, home=kept.root), code)


@pytest.mark.parametrize("name", BAD)
def test_with_json_a_mistake_is_an_object(kept: Home, run: Run, name: str) -> None:
    command, code, hint = BAD[name]
    done = run(*command, "--json", home=kept.root)
    line = error_line(done, code)
    report = json.loads(done.stdout)
    error_check().validate(report)
    error = report["error"]
    assert error["message"] in line
    assert hint in f"{error['message']}; {error['remedy']}"
    assert error["code"] in ("usage", "config", "refused", "not_found")


def error_check() -> Draft202012Validator:
    """Checks an object against the schema of errors."""
    text = (files("djinn_memory") / "schemas" / "error.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))


def test_with_json_what_is_no_command_is_an_object(run: Run) -> None:
    done = run("serach", "x", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"] == {
        "code": "usage",
        "message": "no command `djinn serach`",
        "remedy": "run `djinn search x --json`",
    }
    assert run("serach", "x", "--", "--json").stdout == ""


def test_a_query_comes_from_stdin(kept: Home, run: Run) -> None:
    for command in ("search", "recall"):
        done = run(command, "-", "-n", "3", home=kept.root, stdin="chart datum\n")
        assert done.returncode == 0, done
        assert "Chart datum" in done.stdout
        one_line(run(command, "-", home=kept.root), 2)


def test_a_home_inside_a_home_or_a_vault_is_asked_for(home: Home, run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / ".obsidian").mkdir(parents=True)
    added = tmp_path / "added"
    added.mkdir()
    add_vault(home, "added", added)
    inner = home.root / "vaults" / "shared" / "inner"
    for place, why in ((inner, str(home.root)), (notes, "Obsidian"), (added / "x", "vault added")):
        line = one_line(run("init", place, home=home.root), 2)
        assert "--yes" in line and why in line
        assert not (place / "config.yaml").exists()
    assert str(home.root) in one_line(run("init", cwd=home.root), 2)
    assert run("init", inner, "--yes", home=home.root).returncode == 0
    assert run("init", home.root).returncode == 0


@pytest.mark.parametrize(
    "command", [["init", ""], ["--home", "", "init"], ["vault", "add", "x", ""], ["ingest", ""]]
)
def test_an_empty_path_is_no_folder(home: Home, run: Run, command: list[str]) -> None:
    assert "empty" in one_line(run(*command, home=home.root), 2)


def test_an_empty_variable_is_not_set(run: Run, tmp_path: Path) -> None:
    assert run("init", DJINN_HOME="").returncode == 0
    assert (tmp_path / "djinn" / "config.yaml").is_file()


def test_a_leading_minus_says_how_to_leave_a_word_out(kept: Home, run: Run) -> None:
    for command in (["memory", "search", "tide"], ["remember", "lesson", "x"], ["recall"]):
        assert " -- " in one_line(run(*command, "-draft", home=kept.root), 2)
    assert run("memory", "search", "--", "tide", "-draft", home=kept.root).returncode == 0
    assert run("memory", "search", "tide -draft", home=kept.root).returncode == 0


@pytest.mark.parametrize(
    "command",
    [["memory", "search", "x"], ["index"], ["status"], ["memory", "list"], ["config", "show"]],
)
def test_no_home_says_how_to_make_one(run: Run, tmp_path: Path, command: list[str]) -> None:
    assert "djinn init" in one_line(run(*command), 4)
    assert "djinn init" in one_line(run(*command, home=tmp_path / "nowhere"), 4)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("serch: {}\n", "serch"),
        ("search: {limit: lots}\n", "search.limit"),
        ("search: {limit: 0}\n", "search.limit"),
        ("agents: []\n", "agents"),
        ("a: [\n", "line 2"),
        ("- a\n- b\n", "key: value"),
        ("agents: finn\n", "agents"),
        ("vaults: {x: {}}\n", "vaults.x.path"),
    ],
)
def test_a_broken_config_is_one_line_that_names_the_key(
    home: Home, run: Run, text: str, says: str
) -> None:
    home.config_path.write_text(text)
    for command in (["memory", "search", "x"], ["index"], ["status"], ["memory", "show", "x"]):
        assert says in one_line(run(*command, home=home.root), 2)


def test_a_config_that_is_no_text(home: Home, run: Run) -> None:
    home.config_path.write_bytes(b"\xff\xfe\x00bad")
    one_line(run("memory", "search", "x", home=home.root), 2)
    home.config_path.unlink()
    home.config_path.mkdir()
    one_line(run("memory", "search", "x", home=home.root), 2)


def test_a_newer_index_is_refused(home: Home, run: Run, shared: Path) -> None:
    fill(shared, 1)
    djinn = Djinn(home)
    djinn.index()
    djinn.runtime.state.index.pragma("user_version", 99)
    for command in (["memory", "search", "kettle"], ["index"], ["status"], ["memory", "stats"]):
        assert "newer djinn" in one_line(run(*command, home=home.root), 3)


@pytest.mark.few(2)
@pytest.mark.parametrize("damage", ["not a database", "a page", "cut short", "empty"])
def test_a_damaged_index_is_set_aside_and_made_anew(
    home: Home, run: Run, shared: Path, damage: str
) -> None:
    fill(shared, 30)
    Djinn(home).index()
    place = home.index_path
    data = bytearray(place.read_bytes())
    if damage == "not a database":
        data[:4096] = b"x" * 4096
    elif damage == "a page":
        data[4096:-4096] = b"\xff" * (len(data) - 8192)
    elif damage == "cut short":
        del data[len(data) // 2 :]
    else:
        data.clear()
    place.write_bytes(data)
    for leftover in home.state.glob("index.db-*"):
        leftover.unlink()
    done = run("memory", "search", "kettle", home=home.root)
    assert done.returncode == 0, done
    assert "Traceback" not in done.stderr
    if damage != "empty":
        assert "set aside" in done.stderr
        assert list(home.state.glob("index.db.corrupt-*"))
    done = run("index", "--json", home=home.root)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["embedded"] == 0
    assert "kettle" in run("memory", "search", "kettle", home=home.root).stdout


def test_a_damaged_cache_is_set_aside(home: Home, run: Run, shared: Path) -> None:
    fill(shared, 2)
    Djinn(home).index()
    home.embeddings_path.write_bytes(b"x" * 9000)
    fill(shared, 4, seed=9)
    done = run("index", home=home.root)
    assert done.returncode == 1
    assert "set aside" in done.stderr
    assert run("index", home=home.root).returncode == 0


# --- formats


def test_json_is_one_object_and_nothing_else(kept: Home, run: Run) -> None:
    done = run("memory", "search", "tide", "--json", home=kept.root)
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert found["schema"] == "djinn.search/1"
    assert found["problems"] == []
    assert sorted(found["hits"][0]) == sorted([
        "rank", "id", "type", "plane", "title", "vault", "path", "file", "lines", "page_number",
        "total_pages", "document_id", "filename", "chunk_index", "heading",
        "snippet", "marks", "excerpt", "tags", "created", "updated", "date", "score", "legs",
        "context", "domain",
        "feedback", "before", "as_of", "holds", "valid_from", "valid_to",
        "via",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("command", "schema"),
    [
        (["memory", "list"], "djinn.memory.list/1"),
        (["memory", "show", "Chart datum"], "djinn.memory.show/1"),
        (["memory", "delete", "Chart datum", "--dry-run"], "djinn.memory.delete/1"),
        (["memory", "stats"], "djinn.memory.stats/1"),
        (["index"], "djinn.index/1"),
        (["status"], "djinn.status/1"),
        (["vault", "list"], "djinn.vault.list/1"),
        (["agent", "list"], "djinn.agent.list/1"),
        (["config", "show"], "djinn.config.show/1"),
        (["config", "get", "search"], "djinn.config.get/1"),
        (["config", "path"], "djinn.config.path/1"),
    ],
)
def test_every_command_speaks_json(kept: Home, run: Run, command: list[str], schema: str) -> None:
    found = json.loads(run(*command, "--json", home=kept.root).stdout)
    assert found["schema"] == schema
    assert found["problems"] == []


def test_formats_tell_the_same_hits(kept: Home, run: Run) -> None:
    def search(*options: str) -> str:
        return run("memory", "search", "tide", "-n", "5", *options, home=kept.root).stdout

    hits = json.loads(search("--json"))["hits"]
    assert len(hits) == 5
    places = [f"{hit['vault']}/{hit['path']}:{hit['lines'][0]}" for hit in hits]
    files = [f"{hit['file']}:{hit['lines'][0]}" for hit in hits]
    assert search("--format", "paths").split("\n")[:-1] == files
    rows = list(csv.DictReader(io.StringIO(search("--format", "csv"))))
    assert [f"{row['vault']}/{row['path']}:{row['first_line']}" for row in rows] == places
    assert [float(row["score"]) for row in rows] == [hit["score"] for hit in hits]
    for form in ("table", "md"):
        text = search("--format", form)
        assert all(place in text for place in places)
        assert "**" in text


def test_explain_shows_each_leg(kept: Home, run: Run) -> None:
    hits = json.loads(
        run("memory", "search", "tide", "--explain", "--json", home=kept.root).stdout
    )["hits"]
    for hit in hits:
        parts = sum(leg["part"] for leg in hit["legs"].values()) + hit["feedback"]
        assert hit["score"] == pytest.approx(parts, abs=1e-4)
    text = run("memory", "search", "tide", "--explain", home=kept.root).stdout
    assert "words BM25" in text
    assert "meaning cosine" in text
    assert "similarity to the top hits" in text


def test_explain_shows_each_step(kept: Home, run: Run) -> None:
    ask = ("memory", "search", "tide", "--expand", "llm", "--explain")
    plain = run("memory", "search", "tide", "--json", "--explain", home=kept.root)
    assert json.loads(plain.stdout)["steps"] == []
    done = run(*ask, "--json", home=kept.root)
    assert done.returncode == 0
    result = json.loads(done.stdout)
    [step] = result["steps"]
    assert step["name"] == "expand"
    assert step["milliseconds"] >= 0
    assert "llm.model is not set" in result["problems"][0]["why"]
    assert [hit["path"] for hit in result["hits"]] == [
        hit["path"] for hit in json.loads(plain.stdout)["hits"]
    ]
    assert "expand: the model did not answer" in run(*ask, home=kept.root).stderr
    wrong = run("memory", "search", "tide", "--rerank", home=kept.root)
    assert wrong.returncode == 2
    assert "search.rerank" in wrong.stderr
    assert run("memory", "search", "tide", "--expand", "tea", home=kept.root).returncode == 2


def test_nothing_found_is_exit_0(kept: Home, run: Run) -> None:
    done = run("memory", "search", "harborlight", "--mode", "words", home=kept.root)
    assert done.returncode == 0
    assert "harbourlight" in done.stdout
    empty = run("memory", "search", "x", "--type", "nothing", "--format", "paths", home=kept.root)
    assert (empty.returncode, empty.stdout) == (0, "")
    assert "No results." in empty.stderr
    assert run("memory", "list", "--type", "nothing", home=kept.root).returncode == 0


def test_weak_hits_are_called_so(kept: Home, run: Run) -> None:
    done = run("memory", "search", "photosynthesis of desert cacti", home=kept.root)
    assert "No confident match." in done.stdout


@pytest.mark.parametrize("pipe", ["head -1", "true"])
def test_a_reader_that_leaves_is_no_error(kept: Home, pipe: str) -> None:
    command = f"{sys.executable} -m djinn_memory memory list -n 50 | {pipe}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True, text=True, env={**os.environ, "DJINN_HOME": str(kept.root)},
        check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode in (0, 1)  # 1 is Typer's own answer to a closed pipe.


# --- what notes may not do to a terminal

HOSTILE = "\x1b[2J\x1b]0;owned\x07 \u202egnp.exe \x9b31m \u2066 \x08\x7f \u200f"
FORMATS = ("table", "md", "paths", "csv")
DANGER = set("\x1b\x07\x08\x7f\x9b\u202e\u2066\u200f")


@pytest.fixture
def hostile(home: Home, shared: Path) -> Home:
    (shared / "a\u202eb\x1bc.md").write_text(
        f'---\ntags: ["x\u202ey"]\ntype: "t\u202ez"\naliases: ["q\u202e"]\n---\n'
        f"# Title {HOSTILE}\n\nkettle {HOSTILE} [[{HOSTILE}]]\n\n## Part {HOSTILE}\n\nkettle\n"
    )
    (shared / "broken\u202e.md").write_bytes(b"---\na: [\n---\nkettle \xff")
    return home


@pytest.mark.parametrize(
    "command",
    [
        *(["memory", "search", "kettle", "--format", form] for form in FORMATS),
        ["memory", "search", "kettle", "--explain"],
        ["memory", "search", "kettle", "--json"],
        ["memory", "search", "kettel", "--mode", "words"],
        ["memory", "list"],
        ["memory", "list", "--json"],
        ["memory", "stats"],
        ["memory", "stats", "--json"],
        ["memory", "show", "a\u202eb\x1bc.md"],
        ["memory", "show", "a\u202eb\x1bc.md", "--json"],
        ["memory", "show", HOSTILE],
        ["memory", "search", HOSTILE, "--json"],
        ["memory", "search", "x", "--agent", HOSTILE],
        ["memory", "delete", "a\u202eb\x1bc.md", "--dry-run"],
        ["index"],
        ["index", "--rebuild", "--json"],
        ["status"],
    ],
    ids=range(20),
)  # fmt: skip
def test_no_note_commands_the_terminal(hostile: Home, run: Run, command: list[str]) -> None:
    done = run(*command, home=hostile.root)
    assert "Traceback" not in done.stderr
    assert not DANGER & set(done.stdout + done.stderr)
    if "--json" in command and done.returncode in (0, 1):
        json.loads(done.stdout)


def test_json_keeps_what_it_escapes(hostile: Home, run: Run) -> None:
    found = json.loads(run("memory", "list", "--json", home=hostile.root).stdout)
    assert {memory["path"] for memory in found["memories"]} == {
        "a\u202eb\x1bc.md", "broken\u202e.md",
    }  # fmt: skip


BAD_BYTES = b"k\xff=\xfe"


@pytest.mark.parametrize("words", [[b"search", BAD_BYTES, b"--json"], [b"show", BAD_BYTES]])
def test_arguments_that_are_no_text(kept: Home, words: list[bytes]) -> None:
    done = subprocess.run(
        [sys.executable.encode(), b"-m", b"djinn_memory", b"memory", *words],
        capture_output=True, env={**os.environ, "DJINN_HOME": str(kept.root)}, check=False,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 4)
    done.stdout.decode()


@pytest.mark.parametrize("option", ["--tag", "--type", "--vault", "--agent", "--where"])
def test_options_that_are_no_text(kept: Home, run: Run, option: str) -> None:
    done = run("memory", "search", "x", option, os.fsdecode(BAD_BYTES), home=kept.root)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 4)


def test_a_terminal_that_cannot_show_a_letter(kept: Home, run: Run) -> None:
    done = run("memory", "list", home=kept.root, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr


# --- delete


def answered(home: Home, answer: bytes | None) -> tuple[int, str]:
    """Delete on a terminal, and answer the question; None presses Ctrl-C."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["DJINN_HOME"] = str(home.root)
        os.execv(
            sys.executable, [sys.executable, "-m", "djinn_memory", "memory", "delete", "note-00001"]
        )
    shown, asked = b"", False
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
            # The question may come in pieces.
            if b"]:" in shown and not asked:
                asked = True
                if answer is None:
                    # Python loses a signal that comes just before `input` begins to wait.
                    time.sleep(0.3)
                    os.kill(child, signal.SIGINT)
                else:
                    os.write(terminal, answer)
    if time.monotonic() >= deadline:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()


def test_delete_asks_and_obeys(home: Home, shared: Path) -> None:
    fill(shared, 2)
    note = shared / "note-00001.md"
    code, shown = answered(home, b"n\n")
    assert (code, note.exists()) == (0, True)
    assert "Note 1" in shown
    assert "nothing was moved" in shown
    code, shown = answered(home, None)
    assert (code, note.exists()) == (130, True)
    assert "nothing was changed" in shown
    assert "Traceback" not in shown
    code, shown = answered(home, b"y\n")
    assert (code, note.exists()) == (0, False)
    assert (shared / ".trash" / "note-00001.md").exists()


def test_delete_without_a_terminal(home: Home, run: Run, shared: Path) -> None:
    fill(shared, 2)
    one_line(run("memory", "delete", "note-00001", home=home.root), 2)
    dry = run("memory", "delete", "note-00001", "--dry-run", home=home.root)
    assert (dry.returncode, (shared / "note-00001.md").exists()) == (0, True)
    done = run("memory", "delete", "note-00001", "--yes", "--json", home=home.root)
    moved = json.loads(done.stdout)["moved_to"]
    assert Path(moved).is_file()
    assert not (shared / "note-00001.md").exists()


# --- disks and permissions


def _powerless() -> None:
    """Root without its powers obeys the permissions of files as anybody does."""
    drop_from_bounding_set = 24
    for capability in range(64):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux" and os.geteuid() == 0, reason="root can do anything")
class TestPermissions:
    def djinn(self, home: Home, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "djinn_memory", "--home", str(home.root), *command],
            capture_output=True, text=True, check=False, preexec_fn=_powerless,
        )  # fmt: skip

    @pytest.fixture
    def locked(self, home: Home, shared: Path) -> Iterator[Home]:
        """A home that may be read but not written."""
        fill(shared, 4)
        fill(shared.parent / "me", 2, seed=8)
        djinn = Djinn(home)
        djinn.index()
        djinn.runtime.state.index.close()
        # Not the notes: a change of permissions is a change to be looked at.
        places = [home.root, *(one for one in home.root.rglob("*") if one.suffix != ".md")]
        for place in places:
            place.chmod(0o555 if place.is_dir() else 0o444)
        yield home
        for place in places:
            if place.exists():
                place.chmod(0o755 if place.is_dir() else 0o644)

    def test_a_home_that_cannot_be_written_still_answers(self, locked: Home) -> None:
        done = self.djinn(locked, "memory", "search", "kettle")
        assert done.returncode == 0, done
        assert "note-0000" in done.stdout
        for command in (
            "memory list",
            "memory show shared/note-00001.md",
            "memory stats",
            "status",
        ):
            done = self.djinn(locked, *command.split())
            assert (done.returncode, done.stderr.replace("shared/note-00001.md\n", "")) == (0, "")

    def test_what_is_held_there_is_told_and_no_use_counted(self, home: Home) -> None:
        assert self.djinn(home, "session", "working", "set", "a", "x").returncode == 0
        place = home.working_path
        place.chmod(0o444)
        place.parent.chmod(0o555)
        try:
            done = self.djinn(home, "session", "working", "get", "a")
            assert (done.returncode, done.stdout) == (0, "x\n")
            assert "cannot be written" in done.stderr and "this use is not counted" in done.stderr
            assert self.djinn(home, "session", "working", "list").returncode == 0
            done = self.djinn(home, "session", "working", "set", "a", "y")
            assert (done.returncode, done.stderr.count("\n")) == (5, 1)
        finally:
            place.parent.chmod(0o755)

    def test_what_changed_there_is_announced(self, locked: Home, shared: Path) -> None:
        shared.chmod(0o755)
        (shared / "new.md").write_text("a kettle")
        (shared / "note-00001.md").unlink()
        shared.chmod(0o555)
        done = self.djinn(locked, "memory", "search", "kettle")
        assert "2 changed notes not indexed yet" in done.stderr
        assert "shared/note-00001" not in done.stdout

    def test_what_must_write_is_refused(self, locked: Home) -> None:
        for command in (
            "index", "memory delete shared/note-00001.md --yes", "config set search.limit 3",
            "agent add x", "vault add tmp /tmp",
        ):  # fmt: skip
            done = self.djinn(locked, *command.split())
            assert done.returncode == 5, (command, done)
            assert "Traceback" not in done.stderr
            assert done.stdout == ""

    def test_no_index_and_no_way_to_make_one(self, locked: Home) -> None:
        locked.state.chmod(0o755)
        for leftover in locked.state.glob("*.db*"):
            leftover.unlink()
        locked.state.chmod(0o555)
        assert "state_dir" in one_line(self.djinn(locked, "memory", "search", "kettle"), 5)

    def test_a_damaged_index_that_cannot_be_moved(self, locked: Home) -> None:
        locked.index_path.chmod(0o644)
        locked.index_path.write_bytes(b"x" * 9000)
        assert "damaged" in one_line(self.djinn(locked, "memory", "search", "kettle"), 5)

    def test_a_vault_that_may_not_be_read(self, locked: Home, shared: Path) -> None:
        shared.chmod(0o000)
        done = self.djinn(locked, "memory", "search", "kettle")
        assert done.returncode == 0, done
        assert "me/note-0000" in done.stdout
        assert "shared" in done.stderr
        assert "shared/" not in done.stdout

    def test_a_config_that_may_not_be_read(self, locked: Home) -> None:
        locked.config_path.chmod(0o000)
        one_line(self.djinn(locked, "memory", "search", "kettle"), 2)


def test_a_note_that_cannot_be_read_is_named(home: Home, run: Run, shared: Path) -> None:
    fill(shared, 2)
    (shared / "loop.md").symlink_to("loop.md")
    (shared / "dangling.md").symlink_to("nowhere.md")
    (shared / "folder.md").mkdir()
    done = run("index", home=home.root)
    assert "Traceback" not in done.stderr
    assert "2 notes" in done.stdout
    assert done.returncode in (0, 1)


def test_a_vault_folder_that_is_gone(home: Home, run: Run, shared: Path) -> None:
    fill(shared, 2)
    Djinn(home).index()
    shared.rename(shared.parent / "away")
    for command in (
        ["memory", "search", "kettle"],
        ["memory", "list"],
        ["memory", "stats"],
        ["status"],
        ["lint"],
        ["memory", "show", "kettle"],
    ):
        done = run(*command, home=home.root)
        assert done.returncode == (4 if "show" in command else 0), done
        assert "shared" in done.stderr
        assert "does not exist" in done.stderr
    done = run("index", home=home.root)
    assert done.returncode == 1
    assert "does not exist" in done.stderr


def bash(kept: Home, line: str) -> subprocess.CompletedProcess[str]:
    """A line of the shell in which `djinn` stands."""
    return subprocess.run(
        ["bash", "-c", line.replace("djinn", f"{sys.executable} -m djinn_memory")],
        capture_output=True, text=True, env={**os.environ, "DJINN_HOME": str(kept.root)},
        check=False, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip


def test_a_warning_is_told_once(home: Home, run: Run, shared: Path) -> None:
    Djinn(home).facts.set("lamp", "bulb", "LED")
    shared.rmdir()
    for command in (["fact", "get", "bulb"], ["fact", "list"], ["wake"]):
        done = run(*command, home=home.root)
        assert done.stderr.count("shared does not exist") == 1, done
    problems = json.loads(run("fact", "get", "bulb", "--json", home=home.root).stdout)["problems"]
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("command", "what"),
    [(["checkpoint"], "the text contains"), (["sleep", "--summary"], "the summary contains")],
)
def test_a_secret_is_where_the_user_put_it(
    home: Home, run: Run, command: list[str], what: str
) -> None:
    secret = f"token {'ghp_'}abcdefghijklmnopqrstuvwxyz0123456789"
    assert what in one_line(run(*command, secret, home=home.root), 3)


def test_a_secret_in_a_list_is_no_setting(home: Home, run: Run) -> None:
    token = "ghp_" + "4kq9Zt7Lm2Xw8Rb5Vn3Jd6Hs1Pf0Gc4Ya9Te"
    said = one_line(run("config", "set", "exclude", f'["drafts/", "{token}"]', home=home.root), 3)
    assert "exclude" in said
    assert token not in home.config_path.read_text()


@pytest.mark.parametrize("command", ["memory list", "memory list --json", "--version"])
def test_stdout_that_is_full(kept: Home, command: str) -> None:
    said = one_line(bash(kept, f"djinn {command} >/dev/full"), 5)
    assert "stdout could not be written: No space left" in said
    assert "the command itself has finished" in said


def test_what_cannot_be_told_is_done_all_the_same(home: Home, shared: Path) -> None:
    (shared / "a.md").write_text("A lamp.\n")
    told = bash(home, "djinn index >/dev/full 2>&1")
    assert told.returncode == 5
    assert bash(home, "djinn memory list 2>/dev/full").stdout.endswith("shared/a.md\n")


@pytest.mark.few(2)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(home: Home, shared: Path, closed: str) -> None:
    done = bash(home, f"djinn remember lesson Moles --shared {closed}")
    assert done.returncode == 0, done
    assert "Traceback" not in done.stderr
    assert [path.name for path in shared.rglob("*.md")] == ["moles.md"]
    for file in (home.root / ".djinn").glob("*.db"):
        assert file.read_bytes()[:16] in (b"", b"SQLite format 3\0"), file


def test_a_server_without_streams_ends(kept: Home) -> None:
    assert bash(kept, "djinn mcp <&- >&-").returncode == 0


def test_timings_tell_the_time_that_locks_cost(home: Home, run: Run, shared: Path) -> None:
    def waited(*command: str) -> float:
        done = run("--timings", *command, home=home.root)
        [said] = re.findall(
            r"^timings: \d+\.\d{3} s in total, (\d+\.\d{3}) s of it waiting for locks; "
            r"run by this process$",
            done.stderr, re.MULTILINE,
        )  # fmt: skip
        return float(said)

    fill(shared, 2)
    assert waited("index") == 0
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        with lock(home.state / "index.lock"):
            holding.set()
            release.wait(0.5)

    holder = threading.Thread(target=hold)
    holder.start()
    holding.wait()
    fill(shared, 4, seed=3)
    assert waited("index") > 0.2
    release.set()
    holder.join()
    assert waited("memory", "show", "nothing of this name") == 0


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout.startswith("djinn 0.")
    for command in ([], ["memory"], ["memory", "search"], ["vault", "add"], ["index"]):
        done = run(*command, "--help")
        assert done.returncode == 0
        assert "Usage" in done.stdout
        assert done.stderr == ""


def test_init_adds_a_folder_of_notes_and_leaves_it_where_it_is(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "My Notes"
    notes.mkdir()
    (notes / "lamp.md").write_text("The mole gets a new lamp.\n")
    place = tmp_path / "memory"
    assert "added vault my-notes" in run("init", place, "--notes", notes).stdout
    assert "my-notes/lamp.md" in run("search", "lamp", home=place).stdout
    assert "added" not in run("init", place, "--notes", notes).stdout
    assert [path.name for path in notes.iterdir()] == ["lamp.md"]
    one_line(run("init", tmp_path / "other", "--notes", tmp_path / "none"), 4)
    assert not (tmp_path / "other").exists()


def test_init_is_safe_to_run_again(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "memory"
    first = run("init", place, "--agent", "finn")
    assert first.returncode == 0
    config = (place / "config.yaml").read_text()
    again = run("init", place)
    assert "nothing to create" in again.stdout
    assert (place / "config.yaml").read_text() == config
    assert run("init", place, "--agent", "grace").returncode == 0
    assert (place / "vaults" / "grace").is_dir()
    assert "agents: [finn, grace]" in (place / "config.yaml").read_text()
    (tmp_path / "file").write_text("x")
    one_line(run("init", tmp_path / "file"), 3)


def test_an_added_vault_is_searched_and_its_files_stay(
    home: Home, run: Run, tmp_path: Path
) -> None:
    fill(tmp_path / "theirs", 2)
    assert run("vault", "add", "theirs", tmp_path / "theirs", home=home.root).returncode == 0
    assert "theirs/note-0000" in run("memory", "search", "kettle", home=home.root).stdout
    assert run("vault", "remove", "theirs", home=home.root).returncode == 0
    assert "theirs" not in run("memory", "search", "kettle", home=home.root).stdout
    assert len(list((tmp_path / "theirs").iterdir())) == 2


def test_a_folder_that_is_taken_from_others_is_told(home: Home, run: Run, tmp_path: Path) -> None:
    add_agent(home, "grace")
    (tmp_path / "notes" / "minutes" / "own").mkdir(parents=True)
    add_vault(home, "notes", tmp_path / "notes")
    add = ("vault", "add", "--for", "grace")
    done = run(*add, "minutes", tmp_path / "notes/minutes", home=home.root)
    told = "warning: minutes: is inside vault notes; from now on only grace sees that folder\n"
    assert told in done.stderr
    # That folder was hers already.
    done = run(*add, "own", tmp_path / "notes/minutes/own", "--json", home=home.root)
    assert json.loads(done.stdout)["problems"] == []


def test_settings_from_the_environment(home: Home, run: Run, shared: Path) -> None:
    fill(shared, 5)
    done = run("memory", "search", "kettle", "--json", home=home.root, DJINN_SEARCH__LIMIT="2")
    assert len(json.loads(done.stdout)["hits"]) == 2
    bad = run("memory", "search", "kettle", home=home.root, DJINN_SEARCH__LIMIT="many")
    assert "DJINN_SEARCH__LIMIT" in one_line(bad, 2)


# --- typing errors


@pytest.mark.parametrize("command", ["list", "search tide", "recall tide"])
def test_an_unknown_tag_or_type_names_those_spelled_alike(
    kept: Home, run: Run, command: str
) -> None:
    done = run(*command.split(), "--tag", "glosary", "--type", "decison", home=kept.root)
    assert done.returncode == 0, done
    assert "--tag glosary: no memory has it; did you mean glossary?" in done.stderr
    assert "--type decison: no memory has it; did you mean decision?" in done.stderr
    done = run(*command.split(), "--tag", "glossary", "--json", home=kept.root)
    assert json.loads(done.stdout)["problems"] == []


def test_a_tag_finds_those_below_it(home: Home, run: Run, shared: Path) -> None:
    for number, tag in enumerate(("project", "project/x", "project:x", "projects", "my/project")):
        (shared / f"{number}.md").write_text(f"---\ntags: ['{tag}']\n---\nx")
    done = run("list", "--tag", "project", "--json", home=home.root)
    listed = {memory["tags"][0] for memory in json.loads(done.stdout)["memories"]}
    assert listed == {"project", "project/x", "project:x"}


def test_a_list_says_which_part_it_is(home: Home, run: Run, shared: Path) -> None:
    fill(shared, 7)
    done = run("list", "-n", "3", home=home.root)
    assert done.stdout.count("\n") == 3
    assert done.stderr == "1 to 3 of 7 memories; --offset 3 shows the next\n"
    done = run("list", "-n", "3", "--offset", "6", home=home.root)
    assert (done.stdout.count("\n"), done.stderr) == (1, "7 to 7 of 7 memories\n")
    done = run("list", "--offset", "9", home=home.root)
    assert (done.stdout, done.stderr) == ("", "No memories after offset 9; there are 7 memories.\n")
    assert run("list", home=home.root).stderr == ""
    assert json.loads(run("list", "-n", "2", "--json", home=home.root).stdout)["total"] == 7


def test_a_name_that_is_none_names_those_spelled_alike(home: Home, run: Run, shared: Path) -> None:
    (shared / "a.md").write_text("---\ntitle: CRDT\n---\nMerges.")
    assert "did you mean 'CRDT'?" in one_line(run("show", "CRTD", home=home.root), 4)
    assert "djinn list" in one_line(run("show", "zebra", home=home.root), 4)


def test_a_type_that_looks_mistyped_is_refused(home: Home, run: Run) -> None:
    line = one_line(run("remember", "decison", "Two lamps", "x", home=home.root), 3)
    assert "use 'decision'" in line and "--force" in line
    for options in (["recipe"], ["decison", "--force"]):
        done = run("remember", *options, f"About {options[0]}", "y", home=home.root)
        assert done.returncode == 0, done
    assert run("remember", "decison", "Three lamps", "z", home=home.root).returncode == 0


def test_a_link_to_nothing_is_reported(home: Home, run: Run, shared: Path) -> None:
    (shared / "a.md").write_text("---\ntitle: 'Project: Harbour'\n---\nx")
    links = ["--link", "Projct: Harbour", "--link", "Project: Harbour", "--link", "Zebra"]
    done = run("remember", "lesson", "Lamps", "Two.", *links, home=home.root)
    assert done.returncode == 0
    assert (
        "'Projct: Harbour' does not match any note yet; did you mean 'Project: Harbour'?"
        in done.stderr
    )
    assert "'Zebra' does not match any note yet" in done.stderr
    assert done.stderr.count("does not match") == 2
