"""A home broken in each way: the finding, what --fix does, and that nothing else changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.home.home import Home
from djinn_memory.home.watcher import claim
from djinn_memory.store import inspection
from djinn_memory.store.index import SCHEMA, open_index
from djinn_memory.store.ledger import Event, Ledger
from djinn_memory.store.postgres.connection import ServerAddress
from djinn_memory.store.postgres.servers import URL
from djinn_memory.system.disks import synced
from djinn_memory.system.locks import lock
from djinn_memory.upkeep.doctor import CHECKS, examine
from djinn_memory.upkeep.findings import Check, error, ok
from djinn_memory.upkeep.requests import Diagnosis, DoctorFinding
from tests.conftest import Run
from tests.embedding.tiny import tiny_model
from tests.hostile.running import started
from tests.indexing.content import content
from tests.indexing.vaults import fill, settle
from tests.servers import ModelServer
from tests.store.older import older
from tests.sync.homes import register

AGES = 7200


@pytest.fixture
def well(home: Home, shared: Path) -> Home:
    """A home with nothing to complain of."""
    fill(shared, 12)
    ledger = Ledger(home.ledger_path)
    ledger.append(Event("document.done", f"{n}", {"x": "y" * 300}) for n in range(300))
    ledger.close()
    djinn = Djinn(home)
    djinn.index()
    djinn.close()
    return home


def look(home: Home, *, fix: bool = False) -> Diagnosis:
    djinn = Djinn(Home(home.root))
    try:
        return djinn.doctor(fix=fix)
    finally:
        djinn.close()


def bad(found: Diagnosis) -> list[DoctorFinding]:
    """What is not well, without what is so on any machine that runs tests."""
    passed = ("GB free", "MB free")
    return [
        one
        for one in found.findings
        if one.severity != "ok"
        and not any(word in one.what for word in passed)
        # What --fix has set aside stays, and says so.
        and not (one.part == "leftovers" and "set aside" in one.what)
    ]


def only(found: Diagnosis) -> DoctorFinding:
    [one] = bad(found)
    return one


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).digest()
        for path in root.rglob("*")
        # SQLite's own scratch, made whenever somebody looks at a log.
        if path.is_file() and not path.is_symlink() and not path.name.endswith("-shm")
    }


def notes(home: Home) -> dict[str, bytes]:
    return {name: data for name, data in files(home.root / "vaults").items() if name[-3:] == ".md"}


def old(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("half")
    os.utime(path, (time.time() - AGES, time.time() - AGES))
    return path


def test_all_is_well_and_every_part_was_looked_at(well: Home) -> None:
    before = files(well.root)
    found = look(well)
    assert not bad(found) and found.well
    assert {"home", "config", "state", "disk", "vault shared", "vault me", "ledger", "vectors",
            "working", "index", "notes", "models", "embedder", "reranker", "chat model",
            "leftovers", "backup"} == {one.part for one in found.findings}  # fmt: skip
    assert files(well.root) == before


def test_looking_makes_nothing(home: Home, shared: Path) -> None:
    fill(shared, 2)
    shutil.rmtree(home.state)
    before = sorted(home.root.rglob("*"))
    found = look(home)
    assert {(one.severity, one.part) for one in bad(found)} == {
        ("hint", "state"), ("warning", "index"),
    }  # fmt: skip
    assert sorted(home.root.rglob("*")) == before
    fixed = look(home, fix=True)
    assert fixed.well
    assert not bad(look(home))


# --- what --fix mends


def corrupt_ledger(home: Home) -> None:
    with closing(apsw.Connection(str(home.ledger_path))) as ledger:
        pages = "select pageno from dbstat where name = 'event' and pagetype = 'leaf' limit 4"
        damaged = [page for (page,) in ledger.execute(pages)]
    with home.ledger_path.open("r+b") as file:
        for page in damaged:
            file.seek((page - 1) * 4096)
            file.write(os.urandom(4096))


def foreign_ledger(home: Home) -> None:
    home.ledger_path.unlink()
    with sqlite3.connect(home.ledger_path) as other:
        other.execute("create table bookmarks (id)")
    other.close()


def garbage_log(home: Home) -> None:
    live = Ledger(home.ledger_path)
    for number in range(3):
        live.append([Event("document.done", f"late {number}", {})])
    kept = home.state / "kept"
    kept.mkdir()
    for end in ("", "-wal"):
        shutil.copy(f"{home.ledger_path}{end}", kept / f"x{end}")
    live.close()
    for end in ("", "-wal"):
        shutil.copy(kept / f"x{end}", f"{home.ledger_path}{end}")
    shutil.rmtree(kept)
    log = Path(f"{home.ledger_path}-wal")
    data = bytearray(log.read_bytes())
    data[:32] = os.urandom(32)
    log.write_bytes(data)


def garbage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:-4096] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)


def orphan_vector(home: Home) -> None:
    connection = open_index(home.index_path)
    connection.execute("delete from vectors_1 where window_id = 1")
    connection.close()


def lost_words(home: Home) -> None:
    connection = open_index(home.index_path)
    connection.execute("delete from words_1 where rowid = 1")
    connection.close()


def orphan_rows(home: Home) -> None:
    connection = open_index(home.index_path)
    connection.execute("pragma foreign_keys = off; delete from chunk where id = 1")
    connection.close()


def unembedded(home: Home) -> None:
    connection = open_index(home.index_path)
    connection.execute("delete from vectors_1 where window_id = 1")
    connection.execute("update window set embedded = 0 where id = 1")
    connection.close()


def older_index(home: Home) -> None:
    newest = home.index_path.rename(home.state / "newest.db")
    older(newest, home.index_path, SCHEMA, 4)
    for leftover in home.state.glob("newest.db*"):
        leftover.unlink()


def other_maker(home: Home) -> None:
    connection = open_index(home.index_path)
    connection.execute("update meta set value = 'chunks 0' where key = 'maker'")
    connection.close()


def other_vault(home: Home) -> None:
    connection = open_index(home.index_path)
    connection.execute("insert into vault (uuid, name) values ('gone', 'gone')")
    connection.close()


def empty_pages(home: Home) -> None:
    connection = apsw.Connection(str(home.embeddings_path))
    connection.execute("create table big (x); insert into big values (zeroblob(30000000))")
    connection.execute("drop table big")
    connection.close()


def unfinished_recovery(home: Home) -> None:
    shutil.copy(home.ledger_path, f"{home.ledger_path}.recovered")


FIXED: dict[str, tuple[Callable[[Home], object], str, str, str]] = {
    "a new note": (lambda h: fill(h.root / "vaults/me", 3), "hint", "index", "3 notes new"),
    "index: text": (lambda h: h.index_path.write_text("x" * 99), "error", "index", "damaged"),
    "index: pages": (lambda h: garbage(h.index_path), "error", "index", "is damaged"),
    "index: none": (lambda h: h.index_path.unlink(), "warning", "index", "no index yet"),
    "index: vectors": (orphan_vector, "error", "index", "vectors for"),
    "index: words": (lost_words, "error", "index", "words of"),
    "index: rows": (orphan_rows, "error", "index", "have no parent row"),
    "index: pending": (unembedded, "hint", "index", "1 window not embedded yet"),
    "index: older": (older_index, "hint", "index", "older version"),
    "index: maker": (other_maker, "warning", "index", "another version of djinn"),
    "index: vault": (other_vault, "hint", "index", "1 vault that the home no longer has"),
    "vectors: text": (
        lambda h: h.embeddings_path.write_text("x" * 99), "error", "vectors", "is damaged",
    ),
    "vectors: empty pages": (empty_pages, "hint", "vectors", "MB of embeddings.db are unused"),
    "working": (
        lambda h: h.working_path.write_text("x" * 99), "error", "working", "is damaged",
    ),
    "ledger: pages": (corrupt_ledger, "error", "ledger", "events; lost"),
    "ledger: foreign": (foreign_ledger, "error", "ledger", "not created by djinn"),
    "ledger: log": (garbage_log, "error", "ledger", "3 events in its log"),
    "ledger: unfinished": (unfinished_recovery, "error", "ledger", "recovery"),
    "locks": (
        lambda h: old(h.state / "locks" / "ingest-1.lock"), "hint", "leftovers", "1 ended run ",
    ),
    "half a file": (
        lambda h: old(h.root / ".djinn-0123456789abcdef.tmp"),
        "hint", "leftovers", "an interrupted",
    ),
    "half a note": (
        lambda h: old(h.root / "vaults/shared/sub/.djinn-0123456789abcdef.tmp"),
        "hint", "vault shared", "an interrupted process left .djinn-0123456789abcdef.tmp",
    ),
}  # fmt: skip


@pytest.mark.few(5)
@pytest.mark.parametrize("name", FIXED)
def test_what_is_broken_is_found_mended_and_gone(well: Home, name: str) -> None:
    break_it, severity, part, says = FIXED[name]
    break_it(well)
    before, told = files(well.root), notes(well)
    found = look(well)
    one = next(one for one in bad(found) if one.part == part)
    assert (one.severity, one.fixable, one.fixed) == (severity, True, None)
    assert says in one.what
    assert one.remedy
    assert found.well == (severity == "hint")
    assert files(well.root) == before, "looking changed something"
    fixed = look(well, fix=True)
    assert next(one.fixed for one in bad(fixed) if one.part == part)
    assert fixed.well
    assert notes(well) == told
    after = look(well)
    assert not bad(after), after
    assert after.well
    made = content(well.index_path)
    for leftover in well.state.glob("index.db*"):
        leftover.unlink()
    Djinn(well).index()
    assert made == content(well.index_path)


def test_what_is_held_is_counted_and_a_server_asked(well: Home) -> None:
    djinn = Djinn(well)
    djinn.working.set("a", "x")
    djinn.close()
    assert "contains 1 value" in [one.what for one in look(well).findings]
    well.edit((("working_memory",), f"unix://{well.root}/none"))
    well.trust(well.untrusted)
    [found] = bad(look(well))
    assert found.part == "working" and "start it, or remove" in found.remedy


DATABASES = {
    "ledger": "ledger.db", "vectors": "embeddings.db", "working": "working.db", "index": "index.db"
}  # fmt: skip


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A held database is not waited for longer than it takes to see that it is."""
    monkeypatch.setattr(inspection, "HELD_SECONDS", 0.1)


@pytest.mark.few(3)
@pytest.mark.parametrize("part", DATABASES)
@pytest.mark.parametrize(("exclusive", "can"), [(True, "read"), (False, "written")])
@pytest.mark.usefixtures("hasty")
def test_a_held_database_is_named(well: Home, part: str, exclusive: bool, can: str) -> None:
    with Djinn(well) as djinn:
        djinn.working.set("a", "x")
    path = well.state / DATABASES[part]
    with closing(apsw.Connection(str(path))) as other:
        if exclusive:
            other.pragma("locking_mode", "exclusive")
        other.execute("begin immediate")
        before = files(well.root)
        finding = only(look(well))
        assert files(well.root) == before
    assert (finding.severity, finding.part) == ("warning", part)
    assert finding.what == f"{path} is locked by another process and cannot be {can}"
    assert not bad(look(well))


@pytest.mark.usefixtures("hasty")
def test_a_database_that_djinn_writes_is_well(well: Home) -> None:
    with (
        lock(well.state / "index.lock"),
        closing(apsw.Connection(str(well.index_path))) as other,
    ):
        other.execute("begin immediate")
        assert not bad(look(well))


def test_the_ledger_is_recovered_and_says_what_was_lost(well: Home, run: Run) -> None:
    corrupt_ledger(well)
    damaged = well.ledger_path.read_bytes()
    done = run("document", "list", home=well.root)
    assert done.returncode == 5
    assert done.stderr.rstrip().endswith("run `djinn doctor --fix`")
    assert run("memory", "search", "kettle", home=well.root).returncode == 0
    done = run("doctor", "--fix", home=well.root)
    assert done.returncode == 0, done
    assert "of 300 events; lost " in done.stdout
    assert "document.done x " in done.stdout
    [aside] = well.state.glob("ledger.db.corrupt-*")
    assert aside.read_bytes() == damaged
    assert run("document", "list", home=well.root).returncode == 0


# --- what a person has to mend


def twins(home: Home) -> None:
    for name, day in (("a", 2), ("b", 1)):
        (home.root / f"vaults/shared/{name}.md").write_text(
            f"---\nid: mem_0123456789abcdef\ncreated: 2026-01-0{day}\n---\n{name}"
        )
    reindex(home)


def reindex(home: Home) -> None:
    djinn = Djinn(home)
    djinn.index()
    djinn.close()


def broken_note(home: Home) -> None:
    (home.root / "vaults/shared/broken.md").write_text("---\na: [\n---\nx")
    reindex(home)


def conflict(home: Home) -> None:
    for name in ("a (conflicted copy 2026-01-02)", "b.sync-conflict-20260102-030405-ABCDEFG", "c"):
        (home.root / f"vaults/shared/{name}.md").write_text("x")
    reindex(home)


def newer_index(home: Home) -> None:
    connection = open_index(home.index_path)
    connection.pragma("user_version", 99)
    connection.close()


def newer_ledger(home: Home) -> None:
    with apsw.Connection(str(home.ledger_path)) as connection:
        connection.pragma("user_version", 99)
    connection.close()


def nested(home: Home) -> None:
    inner = home.root / "vaults/shared/inner"
    inner.mkdir()
    home.edit((("vaults", "inner", "path"), str(inner)), (("vaults", "inner", "id"), "inner"))


def linked(home: Home) -> None:
    elsewhere = home.root / "elsewhere.db"
    home.ledger_path.rename(elsewhere)
    home.ledger_path.symlink_to(elsewhere)


LEFT: dict[str, tuple[Callable[[Home], object], str, str, str, str]] = {
    "two notes with one id": (
        twins, "warning", "notes", "the older note, shared/b.md, keeps it", "into shared/a.md",
    ),
    "a note that is not understood": (
        broken_note, "warning", "notes", "shared/broken.md: ", "correct the note",
    ),
    "conflict copies": (conflict, "warning", "vault shared", "a sync client left", "copies"),
    "a folder that is gone": (
        lambda h: shutil.rmtree(h.root / "vaults/me"),
        "error", "vault me", "does not exist", "restore",
    ),
    "a newer index": (newer_index, "error", "index", "newer djinn (version 99)", "update djinn"),
    "a newer ledger": (newer_ledger, "error", "ledger", "newer djinn", "update djinn"),
    "a vault in a vault": (nested, "hint", "config", "is a separate vault", ""),
    "a ledger that "
        "is a link": (linked, "error", "ledger", "is a symbolic link", "replace the link"),
    "no trust": (
        lambda h: h.config_path.write_text(
            h.config_path.read_text() + "\nllm:\n  model: m\n  url: http://localhost:9\n"
        ),
        "warning", "config", "the llm provider", "djinn config trust",
    ),
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("name", LEFT)
def test_what_is_for_a_person_is_named_and_left_alone(well: Home, name: str) -> None:
    break_it, severity, part, says, remedy = LEFT[name]
    break_it(well)
    told = notes(well)
    for fix in (False, True):
        found = look(well, fix=fix)
        one = next(one for one in bad(found) if one.part == part)
        assert (one.severity, one.fixable, one.fixed) == (severity, False, None)
        assert says in one.what
        assert remedy in (one.remedy or "")
        assert found.well == (severity == "hint")
    assert notes(well) == told
    assert not list(well.state.glob("*corrupt*"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a: [\n", "line 2"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"serch: {}\n", "serch"),
        (b"- a\n", "key: value"),
        (b"vaults: {x: {path: v, id: a}, y: {path: v, id: b}}\n", "the same folder"),
        (b"vaults: {x: {path: v, id: a}, y: {path: w, id: a}}\n", "is already the id of vaults.x"),
        (b"vaults: {x: {}}\n", "vaults.x.path"),
    ],
)
def test_settings_that_are_none(well: Home, run: Run, text: bytes, says: str) -> None:
    well.config_path.write_bytes(text)
    before = files(well.root)
    for command in (["doctor"], ["doctor", "--fix"]):
        done = run(*command, home=well.root)
        assert done.returncode == 1, done
        assert done.stderr == ""
        assert says in done.stdout and "not checked" in done.stdout
    assert files(well.root) == before


@pytest.mark.parametrize("gone", ["config.yaml", ".djinn", "vaults"])
def test_parts_of_the_home_that_are_gone(well: Home, run: Run, gone: str) -> None:
    place = well.root / gone
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    for command in (["doctor"], ["doctor", "--fix"]):
        done = run(*command, home=well.root)
        assert done.returncode in (0, 1)
        assert "Traceback" not in done.stderr


def test_no_home_at_all(run: Run, tmp_path: Path) -> None:
    done = run("doctor", home=tmp_path / "nowhere")
    assert done.returncode == 4
    assert done.stdout == "" and done.stderr.count("\n") == 1


def test_a_check_that_crashes_is_a_finding(well: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(case: object) -> list[object]:
        raise ZeroDivisionError("by\nnothing")

    monkeypatch.setitem(CHECKS, "disk", crash)
    one = only(examine(well, fix=True, progress=lambda _: None))
    assert (one.severity, one.part) == ("error", "disk")
    assert one.what == "the check failed (ZeroDivisionError: by nothing)"


def test_what_is_wrong_at_a_second_look_only_is_told(
    well: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []

    def in_motion(case: object) -> Iterator[Check]:
        looks.append(case)
        yield error("disk", "half made") if len(looks) == 1 else ok("disk", "made")

    monkeypatch.setitem(CHECKS, "disk", in_motion)
    assert not bad(examine(well, fix=True, progress=lambda _: None))
    assert len(looks) == 2


def test_an_index_that_is_being_made_is_no_error(well: Home) -> None:
    for path in well.state.glob("index.db*"):
        path.unlink()
    with closing(sqlite3.connect(well.index_path)) as making:
        making.execute("pragma user_version = 0")
        making.execute("vacuum")
    found = look(well)
    assert {one.severity for one in bad(found)} <= {"hint"}


def test_events_that_are_written_meanwhile_are_no_error(well: Home) -> None:
    over = threading.Event()

    def write() -> None:
        ledger = Ledger(well.ledger_path)
        while not over.is_set():
            ledger.append([Event("a.b", "c", {"x": "y" * 300})])
        ledger.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        unseen = [inspection.count_unseen_events(well.ledger_path) for _ in range(8)]
    finally:
        over.set()
        thread.join()
    assert unseen == [0] * 8


def test_what_cannot_be_mended_says_why(well: Home) -> None:
    left = well.state / "locks" / "ingest-1.lock"
    old(left)
    corrupt_ledger(well)
    (well.state / "ledger.db.recovering").mkdir()
    found = look(well, fix=True)
    one = only(Diagnosis(found.home, tuple(o for o in found.findings if o.part == "ledger")))
    assert "; the fix failed: " in one.what
    assert one.fixed is None and not found.well
    assert not left.exists()


def test_settings_that_were_lost(well: Home) -> None:
    well.config_path.write_text("")
    found = [one for one in bad(look(Home(well.root))) if one.part == "config"]
    assert [one.severity for one in found] == ["warning"]
    assert "lists no vault" in found[0].what


def test_files_that_writers_may_still_use_are_left(well: Home, shared: Path) -> None:
    (well.root / ".djinn-0123456789abcdef.tmp").write_text("fresh")
    old(shared / ".djinn-mine.tmp")
    with claim(well), Djinn(well) as writer, writer._state.vault_lock(well.shared):
        (shared / ".djinn-0123456789abcdef.tmp").write_text("fresh")
        found = look(well, fix=True)
    assert not bad(found)
    assert f"process {os.getpid()} is watching" in str(found)
    assert (shared / ".djinn-0123456789abcdef.tmp").exists()
    assert (shared / ".djinn-mine.tmp").exists()


def test_a_server_that_is_away_and_one_that_is_there(
    well: Home, server: ModelServer, keys: None
) -> None:
    well.edit(
        (("embedding", "provider"), "ollama"),
        (("embedding", "url"), server.url),
        (("embedding", "model"), "a-model"),
    )
    assert "not trusted" in str(look(well))
    well.trust(well.untrusted)
    assert not [one for one in bad(look(well)) if one.part == "embedder"]
    well.edit((("embedding", "url"), "http://127.0.0.1:9"))
    well.trust(well.untrusted)
    began = time.monotonic()
    one = next(one for one in bad(look(well)) if one.part == "embedder")
    assert time.monotonic() - began < 20
    assert one.severity == "error" and "127.0.0.1:9" in one.what and one.remedy


def test_the_postgres_server_of_a_home(
    well: Home, database: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL, database.conninfo)
    assert "does not have vault shared" in only(look(well)).what
    register(database, UUID(well.shared.id))
    findings = look(well)
    assert not bad(findings) and "has vault shared" in str(findings)
    monkeypatch.setenv(URL, "postgresql://127.0.0.1:1/memory")
    down = only(look(well))
    assert down.severity == "warning" and "does not answer" in down.what and down.remedy
    monkeypatch.delenv(URL)
    well.edit((("sync", "url"), "embedded"))
    well.trust(well.untrusted)
    absent = only(look(well))
    assert "is not there" in absent.what and "sync.init(embedded=True)" in str(absent.remedy)
    assert not (well.state / "postgres").exists()


def test_a_model_that_was_not_prepared_is_not_prepared_by_looking(
    well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "models"))
    well.edit((("embedding", "provider"), "sentence-transformers"), (("embedding", "model"), "x/y"))
    well.trust(well.untrusted)
    one = next(one for one in bad(look(well)) if one.part == "embedder")
    assert (one.severity, one.fixable) == ("hint", True)
    assert not (tmp_path / "models").exists()


@pytest.mark.soak
def test_a_damaged_model_is_prepared_anew(
    well: Home, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "models"))
    folder = tmp_path / "models" / "models"
    model = str(tiny_model(tmp_path))
    well.edit((("embedding", "provider"), "sentence-transformers"), (("embedding", "model"), model))
    well.trust(well.untrusted)
    embedder = LocalEmbedder(well.config.embedding)
    (embedder.folder / "model.onnx").write_bytes(b"no graph")
    old(folder / ".export-abc" / "fp32.onnx")
    os.utime(folder / ".export-abc", (1, 1))
    found = json.loads(run("doctor", "--json", home=well.root).stdout)["findings"]
    said = {one["part"]: (one["severity"], one["fixable"]) for one in found}
    assert said["embedder"] == ("error", True)
    assert said["models"] == ("hint", True)
    done = run("doctor", "--fix", home=well.root)
    assert done.returncode == 0, done
    assert not list(folder.glob(".export-*"))
    found = json.loads(run("doctor", "--json", home=well.root).stdout)["findings"]
    assert {one["severity"] for one in found if one["part"] in ("embedder", "models")} == {"ok"}


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_folders_that_cannot_be_written(well: Home, shared: Path) -> None:
    shared.chmod(0o555)
    well.state.chmod(0o555)
    try:
        # Root may write anywhere, so as one who may not.
        done = started(well, "doctor", "--json")
    finally:
        shared.chmod(0o755)
        well.state.chmod(0o755)
    assert done.code == 1
    parts = {(one["severity"], one["part"]) for one in json.loads(done.stdout)["findings"]}
    assert {("warning", "vault shared"), ("error", "state")} <= parts


@pytest.mark.parametrize("mark", ["Dropbox", "OneDrive - Fennick", ".stfolder", "iCloud Drive"])
def test_a_state_folder_that_a_sync_client_copies(tmp_path: Path, mark: str) -> None:
    assert synced(tmp_path) is None
    folder = tmp_path / ("x" if mark.startswith(".") else mark) / "notes" / ".djinn"
    folder.mkdir(parents=True)
    if mark.startswith("."):
        (tmp_path / "x" / mark).mkdir()
    assert synced(folder) == folder.parents[1]


def test_json_and_exit_codes(well: Home, run: Run) -> None:
    settle()
    done = run("doctor", "--json", home=well.root)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["schema"] == "djinn.doctor/1"
    assert found["problems"] == []
    assert {one["severity"] for one in found["findings"]} <= {"ok", "hint"}
    newer_index(well)
    assert run("doctor", "--json", home=well.root).returncode == 1


def test_names_of_notes_command_no_terminal(well: Home, run: Run, shared: Path) -> None:
    (shared / "\x1b[2J (conflicted copy).md").write_text("---\n\x1b]0;x\x07: [\n---\n")
    reindex(well)
    done = run("doctor", home=well.root)
    assert done.returncode == 1
    assert not set(done.stdout + done.stderr) & set("\x1b\x07")
