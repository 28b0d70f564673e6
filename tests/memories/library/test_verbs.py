"""The verbs for documents, their statuses, who sees them, and runs that are cut short."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import psutil
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.documents.pool import FileStarted
from djinn_memory.errors import DjinnError, NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.library.requests import IngestOptions, ReprocessDocument
from djinn_memory.models import Strategy
from djinn_memory.store.ledger import Event, Ledger
from tests.memories.library.papers import fields, found, hang, pdf, put, sentences
from tests.memories.library.test_ingest import me, names, no_process_left, papers, write

__all__ = ["me", "no_process_left", "papers"]


def statuses(djinn: Djinn, **more: str) -> list[tuple[str, str, str | None]]:
    return sorted((e.filename, e.status, e.reason) for e in djinn.documents.list(**more).documents)  # type: ignore[arg-type]


# Statuses.


def test_what_failed_is_listed_until_it_succeeds_or_is_forgotten(
    djinn: Djinn, papers: Path
) -> None:
    one, two = papers / "a.pdf", papers / "b.pdf"
    one.write_bytes(b"%PDF-1.4 nothing"), two.write_bytes(b"%PDF-1.4 nothing more")
    put(djinn, one, two)
    assert [(name, status) for name, status, _ in statuses(djinn)] == [
        ("a.pdf", "failed"), ("b.pdf", "failed"),
    ]  # fmt: skip
    entry = djinn.documents.find("a.pdf")
    assert (entry.reason, entry.path, entry.source) == (entry.reason or "", None, str(one))
    for verb in (djinn.documents.show, djinn.documents.reprocess):
        with pytest.raises(NotFound, match="is not a document"):
            verb("a.pdf")
    pdf(one, sentences(2))
    put(djinn, one)
    assert djinn.documents.remove(str(two)).moved_to == ()
    assert statuses(djinn) == [("a.pdf", "indexed", None)]
    assert two.exists()


def test_a_version_that_failed_leaves_the_one_before(djinn: Djinn, papers: Path) -> None:
    path = pdf(papers / "a.pdf", sentences(6))
    put(djinn, path)
    path.write_bytes(b"%PDF-1.4 nothing")
    put(djinn, path)
    assert [status for _, status, _ in statuses(djinn)] == ["failed", "indexed"]
    assert found(djinn, "violin") == [("a.pdf", 6)]
    pdf(path, sentences(7))
    assert put(djinn, path).documents[0].version == 2
    assert [status for _, status, _ in statuses(djinn)] == ["indexed"]


def test_failed_files_of_one_name_are_named_by_their_paths(djinn: Djinn, papers: Path) -> None:
    for place in "xy":
        write(papers / place / "a.pdf", f"%PDF-1.4 nothing {place}")
    put(djinn, papers)
    with pytest.raises(UsageError, match="is ambiguous"):
        djinn.documents.remove("a.pdf")
    djinn.documents.remove(str(papers / "x" / "a.pdf"))
    assert djinn.documents.find("a.pdf").source == str(papers / "y" / "a.pdf")


def test_one_vault_says_nothing_of_another(home: Home, papers: Path) -> None:
    add_agent(home, "finn")
    djinn = Djinn(home)
    path = write(papers / "a.pdf", "%PDF-1.4 nothing")
    put(djinn, path)
    pdf(path, sentences(2))
    put(djinn, path, agent="finn")
    assert [status for _, status, _ in statuses(djinn)] == ["failed"]
    assert [status for _, status, _ in statuses(djinn, agent="finn")] == ["indexed"]


def test_a_run_shows_what_waits_and_what_is_read(home: Home, papers: Path) -> None:
    home.edit((("documents", "workers"), 1))
    write(papers / "a.txt", "kettle"), write(papers / "b.txt", "lantern")
    seen: list[list[tuple[str, str, str | None]]] = []
    watching = Djinn(home)

    def tell(event: object) -> None:
        if isinstance(event, FileStarted):
            # What `FileStarted` says is in the ledger when the next thing is told.
            seen.append(statuses(watching))

    Djinn(home).documents.ingest_files(IngestOptions(paths=(papers,)), tell=tell)
    assert seen[0] == [("a.txt", "pending", None), ("b.txt", "pending", None)]
    assert ("b.txt", "pending", None) in seen[1]
    assert statuses(watching) == [("a.txt", "indexed", None), ("b.txt", "indexed", None)]
    assert list((home.state / "locks").glob("ingest-*")) == []


def test_a_ledger_of_somebody_else_names_no_file_of_ours(home: Home, djinn: Djinn) -> None:
    djinn.index()
    [vault] = [one for one in home.vaults if one.name == "me"]
    locks = home.state / "locks"
    (locks / "ingest-..").mkdir(parents=True)
    treasure = write(home.state / "x.lock", "mine")
    ledger = Ledger(home.ledger_path)
    for number, run in enumerate(["../../../x", 7, None, ["a"]]):
        data = {"vault": vault.id, "run": run, "name": [1], "why": {}, "source": number}
        ledger.append([Event("document.processing", str(number), data)])
    ledger.append([Event("document.done", "9", {"vault": [1], "document": {}})])
    assert [status for _, status, _ in statuses(djinn)] == ["failed"] * 4
    assert treasure.read_text() == "mine"


# Privacy.


def test_documents_of_another_agent_are_not_there(home: Home, papers: Path) -> None:
    add_agent(home, "grace")
    djinn = Djinn(home)
    put(djinn, write(papers / "secret.txt", "kettle"), agent="grace")
    write(papers / "bad.pdf", "%PDF-1.4 nothing")
    put(djinn, papers / "bad.pdf", agent="grace")
    note = home.root / "vaults" / "grace" / "documents" / "secret.md"
    before = note.read_bytes()
    identity = fields(note)["id"]
    assert djinn.documents.list().documents == ()
    assert found(djinn, "kettle") == []
    with pytest.raises(NotFound):
        djinn.documents.list(vaults=("grace",))
    verbs: list[Callable[[str], object]] = [
        djinn.documents.show, djinn.documents.find, djinn.documents.remove,
        djinn.documents.reprocess,
    ]  # fmt: skip
    sayings = ["secret.txt", "secret", identity, "documents/secret.md", "grace/documents/secret.md",
               "bad.pdf", str(papers / "bad.pdf")]  # fmt: skip
    for verb in verbs:
        for name in sayings:
            with pytest.raises(NotFound, match=r"^no document"):
                verb(name)
    assert note.read_bytes() == before
    assert len(djinn.documents.list(agent="grace").documents) == 2
    # Nor does what they did say whether the same was done here.
    settled = sorted(one.status for one in put(djinn, papers).documents)
    assert settled == ["failed", "ingested"]


# Show and remove.


def test_show_gives_the_text_as_it_stands(djinn: Djinn, me: Path, papers: Path) -> None:
    put(djinn, pdf(papers / "a.pdf", sentences(3)))
    assert "anchor" not in djinn.documents.show("a.pdf").text
    assert "harbour" in djinn.documents.show("a.pdf", page=3).text
    assert "lantern" not in djinn.documents.show("a.pdf", page=3).text
    with pytest.raises(NotFound, match="has pages 1 to 3"):
        djinn.documents.show("a.pdf", page=4)
    write(me / "a.md", (me / "a.md").read_text().replace("harbour", "haven"))
    assert "haven" in djinn.documents.show("a.pdf", page=3).text
    for name in ("A.PDF", "a", "documents/a.md", "me/documents/a.md", "[[a]]"):
        assert djinn.documents.find(name).filename == "a.pdf"
    with pytest.raises(NotFound):
        djinn.documents.find("")


def test_remove_takes_all_of_one_to_the_trash(djinn: Djinn, me: Path, papers: Path) -> None:
    path = write(papers / "a.txt", "kettle one")
    for text in ("kettle one", "kettle two", "kettle three"):
        path.write_text(text)
        put(djinn, path)
    put(djinn, write(papers / "b.txt", "lantern"))
    moved = djinn.documents.remove("a.txt").moved_to or ()
    assert len(moved) == 6
    assert all(place.is_file() and ".trash" in place.parts for place in moved)
    assert names(me) == [".history", "b.md", "b.txt"]
    assert statuses(djinn) == [("b.txt", "indexed", None)]
    assert found(djinn, "kettle") == []
    path.write_text("kettle one")
    assert put(djinn, path).documents[0].version == 1


# Reprocess.


@pytest.mark.few(2)
@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_reprocess_changes_lines_of_the_front_matter_only(
    djinn: Djinn, me: Path, papers: Path, strategy: Strategy
) -> None:
    put(djinn, pdf(papers / "a.pdf", sentences()))
    note = me / "a.md"
    text = note.read_text().replace("violin", "zither")
    text = text.replace("type: document\n", "type: document  # mine\n# a remark\nmood: {a:   1}\n")
    before = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"  my own words\t \r\n\r\n"
    note.write_bytes(before)
    done = djinn.documents.reprocess("a.pdf", strategy=strategy)
    old, new = before.split(b"\r\n"), note.read_bytes().split(b"\r\n")
    assert len(old) == len(new)
    changed = {line.partition(b":")[0].decode() for was, line in zip(old, new, strict=True)
               if line != was}  # fmt: skip
    assert changed <= {
        "chunk_strategy", "chunk_size", "chunk_overlap", "total_chunks", "processed_at",
    }  # fmt: skip
    said = fields(note)
    assert said["chunk_strategy"] == done.document.chunk_strategy == strategy
    assert int(said["total_chunks"]) == done.document.total_chunks
    assert found(djinn, "zither")[0] == ("a.pdf", 6)
    assert (done.problems, djinn.index().problems) == ((), ())


def test_reprocess_refuses_before_it_writes(home: Home, papers: Path) -> None:
    djinn = Djinn(home)
    note = home.root / "vaults" / "me" / "documents" / "a.md"
    put(djinn, write(papers / "a.txt", "kettle"))
    before = note.read_bytes()
    for request in (
        ReprocessDocument("a.txt", chunk_size=7),
        ReprocessDocument("a.txt", chunk_overlap=9999),
        ReprocessDocument("a.txt", model_context="gpt-99"),
        ReprocessDocument("a.txt", strategy="words", chunk_size=99),
    ):
        with pytest.raises(UsageError):
            djinn.documents.reprocess(request)
    assert note.read_bytes() == before
    home.edit((("vaults", "me", "read_only"), True))
    with pytest.raises(Refused, match="read-only"):
        Djinn(home).documents.reprocess("a.txt")
    assert note.read_bytes() == before


@pytest.mark.parametrize(
    "line", ["chunk_strategy: foo", "chunk_strategy: [a]", "chunk_size: {a: b}", "chunk_size: 7"]
)
def test_reprocess_mends_nonsense(djinn: Djinn, me: Path, papers: Path, line: str) -> None:
    put(djinn, write(papers / "a.txt", "kettle"))
    note = me / "a.md"
    key = line.partition(":")[0]
    note.write_text("".join(
        f"{line}\n" if one.startswith(f"{key}:") else one
        for one in note.read_text().splitlines(keepends=True)
    ))  # fmt: skip
    djinn.index()
    djinn.documents.reprocess("a.txt")
    assert (fields(note)["chunk_strategy"], fields(note)["chunk_size"]) == ("adaptive", "409")


def test_reprocess_of_broken_front_matter_changes_nothing(
    djinn: Djinn, me: Path, papers: Path
) -> None:
    put(djinn, write(papers / "a.txt", "kettle"))
    note = me / "a.md"
    note.write_text(note.read_text().replace("type: document", "type: document\nx: [unclosed"))
    before = note.read_bytes()
    with pytest.raises(DjinnError, match="correct it first"):
        djinn.documents.reprocess("a.txt", strategy="fixed")
    assert note.read_bytes() == before


# Runs that are cut short, and runs side by side.


def start(home: Home, *arguments: object, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "djinn_memory", "--home", str(home.root), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more,
    )  # type: ignore[call-overload, no-any-return]  # fmt: skip


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def reading(home: Home, name: str) -> Callable[[], bool]:
    def look() -> bool:
        djinn = Djinn(home)
        try:
            return (name, "processing", None) in statuses(djinn)
        finally:
            djinn.close()

    return look


def leftovers(home: Home) -> list[Path]:
    return [path for path in home.root.rglob(".djinn-*") if path.is_file()]


@pytest.mark.few(1)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_cut_short_goes_on(
    home: Home, me: Path, papers: Path, how: signal.Signals
) -> None:
    home.edit((("documents", "workers"), 1))
    write(papers / "a.txt", "kettle")
    hang(papers / "b.pdf")
    write(papers / "c.txt", "lantern")
    process = start(home, "ingest", papers)
    until(reading(home, "b.pdf"))
    workers = psutil.Process(process.pid).children(recursive=True)
    assert workers
    os.kill(process.pid, how)
    _, err = process.communicate(timeout=20)
    assert process.returncode == (130 if how == signal.SIGINT else -9)
    assert "Traceback" not in err
    psutil.wait_procs(workers, timeout=20)
    assert not any(one.is_running() and one.status() != "zombie" for one in workers)
    assert names(me) == ["a.md", "a.txt"]
    assert leftovers(home) == []
    assert [(name, status, (why or "").partition(";")[0])
            for name, status, why in statuses(Djinn(home))] == [
        # It was written, and not embedded yet.
        ("a.txt", "pending", ""), ("b.pdf", "failed", "was interrupted"),
        ("c.txt", "failed", "was interrupted"),
    ]  # fmt: skip
    (papers / "b.pdf").unlink()
    djinn = Djinn(home)
    report = put(djinn, papers)
    assert (report.done, report.skipped, report.failed) == (1, 1, 0)
    djinn.documents.remove("b.pdf")
    assert [status for _, status, _ in statuses(djinn)] == ["indexed", "indexed"]


@pytest.mark.soak
def test_two_processes_make_one_document_of_each_file(home: Home, me: Path, papers: Path) -> None:
    for number in range(30):
        write(papers / f"{number:02}.txt", f"kettle {number}")
    put(Djinn(home), papers / "00.txt")
    write(papers / "00.txt", "lantern")
    both = [start(home, "ingest", papers, "--json") for _ in range(2)]
    reports = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(report["done"] for report in reports) == 30
    assert sum(report["skipped"] for report in reports) == 30
    assert len(list(me.glob("*.md"))) == len(list(me.glob("*.txt"))) == 30
    assert names(me / ".history") == ["00.v1.md", "00.v1.txt"]
    djinn = Djinn(home)
    assert {status for _, status, _ in statuses(djinn)} == {"indexed"}
    assert len({fields(note)["sha256"] for note in me.glob("*.md")}) == 30
    assert leftovers(home) == []


def test_another_version_that_came_meanwhile_is_kept(home: Home, me: Path, papers: Path) -> None:
    """Two runs that read the same document's next versions: the second supersedes the first."""
    path = write(papers / "a.txt", "kettle one")
    put(Djinn(home), path)
    path.write_text("kettle two")
    other = write(papers / "z" / "a.txt", "kettle three")
    done = threading.Event()

    def tell(event: object) -> None:
        if isinstance(event, FileStarted) and not done.is_set():
            done.set()
            put(Djinn(home), other)

    djinn = Djinn(home)
    report = djinn.documents.ingest_files(IngestOptions(paths=(path,)), tell=tell)
    assert report.documents[0].version == 3
    assert names(me) == [".history", "a.md", "a.txt"]
    texts = {(me / ".history" / f"a.v{n}.txt").read_text() for n in (1, 2)}
    assert texts == {"kettle one", "kettle three"}
    assert len(djinn.documents.show("a.txt").versions) == 4


def limited(size: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.soak
@pytest.mark.few(1)
@pytest.mark.skipif(sys.platform == "win32", reason="has no such limits")
@pytest.mark.parametrize(
    ("limit", "size"),
    [(2_000_000, 3_200_000), (2_000_000, 1_999_900), (30_000, 100)],
    ids=["no room for the original", "no room for the note", "no room for the databases"],
)
def test_a_disk_that_is_full_is_told_and_nothing_half_is_written(
    home: Home, me: Path, papers: Path, limit: int, size: int
) -> None:
    small = write(papers / "a.txt", "kettle")
    put(Djinn(home), small)
    write(small, ("lantern " * 400_000)[:size])
    before = {path: path.read_bytes() for path in me.iterdir()}
    process = start(home, "ingest", small, preexec_fn=limited(limit))
    _, err = process.communicate(timeout=60)
    assert process.returncode in (1, 5)
    assert "Traceback" not in err
    assert "cannot be" in err
    assert len(err.strip().splitlines()) == 1
    assert {path: path.read_bytes() for path in me.iterdir() if path.is_file()} == before
    assert leftovers(home) == []
    djinn = Djinn(home)
    assert found(djinn, "kettle") == [("a.txt", None)]
    assert djinn.documents.find("a.txt").version == 1
    write(small, "lantern")
    assert put(djinn, small).documents[0].version == 2
    assert len(djinn.documents.show("a.txt").versions) == 2


@pytest.mark.soak
def test_runs_that_are_killed_at_any_time_leave_whole_notes(
    home: Home, me: Path, papers: Path
) -> None:
    for number in range(40):
        write(papers / f"{number:02}.txt", f"kettle {number} " * 2000)
    for wait in range(12):
        process = start(home, "ingest", papers)
        time.sleep(0.3 + wait * 0.15)
        process.kill()
        process.communicate()
        for note in me.glob("*.md"):
            said = fields(note)
            assert len(said["sha256"]) == 64
            assert (me / said["original"][2:-2]).stat().st_size == int(said["file_size_bytes"])
    assert put(Djinn(home), papers).failed == 0
    assert len(list(me.glob("*.md"))) == 40
