"""Files become documents: what is written, what is skipped, what supersedes what."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import apsw
import psutil
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.documents.pool import FileStarted
from djinn_memory.documents.sources import Source
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from djinn_memory.memories.library.requests import IngestOptions
from djinn_memory.notes.ids import ID
from tests.memories.library.papers import (
    WORDS,
    bomb,
    fields,
    found,
    hang,
    outcomes,
    pdf,
    put,
    put_sources,
    sentences,
)
from tests.servers import ModelServer

LISTED = {
    "filename", "content_type", "file_size_bytes", "total_pages", "title", "author", "subject",
    "chunk_strategy", "chunk_size", "total_chunks", "embedding_model", "uploaded_at",
    "processed_at", "sha256", "document_type",
}  # fmt: skip
"""What the spec wants kept."""


@pytest.fixture
def me(home: Home) -> Path:
    """The folder of the default agent's documents."""
    return home.root / "vaults" / "me" / "documents"


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def no_process_left() -> object:
    yield
    assert psutil.Process().children(recursive=True) == []


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# What is written.


def test_documents_and_chunks_are_counted_by_type(djinn: Djinn, papers: Path) -> None:
    for name, kind in (("a", "technical"), ("b", "technical"), ("c", "general")):
        path = papers / f"{name}.csv"
        path.write_text(f"word,number\n{name},1\n")
        put(djinn, path, document_type=kind)
    counts = djinn.memories.stats().documents
    found = {name: (each.documents, each.chunks) for name, each in counts.items()}
    assert found == {"general": (1, 1), "technical": (2, 2)}


def test_a_pdf_becomes_a_note_with_all_that_is_known(djinn: Djinn, me: Path, papers: Path) -> None:
    path = pdf(papers / "Report 1.pdf", sentences(3), title="The Machine", author="A. B",
               subject="Safety")  # fmt: skip
    report = put(djinn, path, document_type="technical", strategy="semantic")
    [one] = report.documents
    assert (report.done, report.skipped, report.failed) == (1, 0, 0)
    assert names(me) == ["report-1.md", "report-1.pdf"]
    assert (me / "report-1.pdf").read_bytes() == path.read_bytes()
    said = fields(me / "report-1.md")
    assert set(said) >= LISTED
    assert ID.fullmatch(said["id"])
    assert said["title"] == one.title == "The Machine"
    assert (said["author"], said["subject"], said["type"]) == ("A. B", "Safety", "document")
    assert (said["total_pages"], said["chunk_strategy"], said["chunk_size"]) == (
        "3", "semantic", "512",
    )  # fmt: skip
    assert said["file_size_bytes"] == str(path.stat().st_size)
    assert said["original"] == "[[report-1.pdf]]"
    assert (one.document_id, one.filename, one.path) == (
        said["id"], "Report 1.pdf", "documents/report-1.md",
    )  # fmt: skip
    assert one.content_type == said["content_type"] == "application/pdf"
    assert (one.total_pages, one.chunk_size_tokens, one.document_type) == (3, 512, "technical")
    assert {key: str(value) for key, value in one.metadata.items()} == said
    [entry] = djinn.documents.list().documents
    assert (entry.status, entry.total_chunks) == ("indexed", one.chunks_created)
    assert str(entry.total_chunks) == said["total_chunks"]


@pytest.mark.parametrize("name", ["notes.txt", "notes.md"])
def test_a_text_becomes_a_note(djinn: Djinn, me: Path, papers: Path, name: str) -> None:
    report = put(djinn, write(papers / name, "# Tea\n\nThe kettle sings.\n"))
    [one] = report.documents
    said = fields(me / "notes.md")
    assert {"total_pages", "author", "subject"}.isdisjoint(said)
    assert LISTED - set(said) == {"total_pages", "author", "subject"}
    assert one.total_pages is None
    # A kept file must not be a note of its own.
    assert names(me) == ["notes.md", "notes.txt" if name == "notes.txt" else "notes.md.original"]
    [hit] = djinn.search("kettle", mode="words").hits
    assert (hit.filename, hit.page_number, hit.total_pages, hit.document_id) == (
        name, None, None, one.document_id,
    )  # fmt: skip


@pytest.mark.parametrize("keep", ["copy", "link", "no"])
def test_originals_are_kept_as_the_settings_say(
    home: Home, me: Path, papers: Path, keep: str
) -> None:
    home.edit((("documents", "keep_originals"), keep))
    path = write(papers / "a.txt", "kettle")
    djinn = Djinn(home)
    put(djinn, path)
    kept = me / "a.txt"
    assert kept.exists() == (keep != "no")
    assert kept.is_symlink() == (keep == "link")
    assert ("original" in fields(me / "a.md")) == (keep != "no")
    path.write_text("lantern")
    assert outcomes(put(djinn, path)) == [("a.txt", "ingested", None)]
    history = names(me / ".history")
    assert history == (["a.v1.md"] if keep == "no" else ["a.v1.md", "a.v1.txt"])
    [moved, *_] = djinn.documents.remove("a.txt").moved_to or ()
    assert moved.exists()
    assert names(me) == [".history"] and names(me / ".history") == []
    assert path.read_text() == "lantern"


def test_what_is_piped_is_copied_though_files_are_linked(
    home: Home, me: Path, papers: Path
) -> None:
    home.edit((("documents", "keep_originals"), "link"))
    piped = Source(write(papers / "piped", "kettle"), "Minutes", lasting=False)
    put_sources(Djinn(home), [piped], title="Minutes")
    assert not any(path.is_symlink() for path in me.iterdir())
    assert len(names(me)) == 2


def test_the_vault_is_the_agents_own_or_the_one_named(home: Home, papers: Path) -> None:
    add_agent(home, "finn")
    djinn = Djinn(home)
    path = write(papers / "a.txt", "kettle")
    assert put(djinn, path).documents[0].vault == "me"
    assert put(djinn, path, agent="finn").documents[0].vault == "finn"
    assert put(djinn, path, vault="shared").documents[0].vault == "shared"
    assert outcomes(put(djinn, path, agent="finn"))[0][1] == "skipped"


def test_a_vault_that_cannot_take_them(home: Home, papers: Path) -> None:
    theirs, gone = papers.parent / "theirs", papers.parent / "gone"
    theirs.mkdir(), gone.mkdir()
    add_agent(home, "finn")
    add_vault(home, "theirs", theirs)
    add_vault(home, "gone", gone)
    home.edit((("vaults", "theirs", "read_only"), True))
    gone.rmdir()
    path = write(papers / "a.txt", "kettle")
    djinn = Djinn(home)
    with pytest.raises(Refused, match="read-only"):
        put(djinn, path, vault="theirs")
    with pytest.raises(NotFound, match="does not exist"):
        put(djinn, path, vault="gone")
    for vault in ("none", "finn"):
        with pytest.raises(NotFound, match="no vault"):
            put(djinn, path, vault=vault)
    assert names(theirs) == []
    assert not gone.exists()


def test_a_wish_out_of_range_is_refused_before_anything(home: Home, me: Path, papers: Path) -> None:
    path = write(papers / "a.txt", "kettle")
    djinn = Djinn(home)
    with pytest.raises(UsageError, match="64 to 4,096 tokens"):
        put(djinn, path, chunk_size=7)
    with pytest.raises(UsageError, match="gpt-4-turbo"):
        put(djinn, path, model_context="gpt-99")
    assert names(me) == []
    assert djinn.documents.list().documents == ()
    home.edit((("documents", "model_contexts"), {"gpt-99": 20_000}))
    assert put(Djinn(home), path, model_context="gpt-99").documents[0].chunk_size_tokens == 1000


# The note is the truth.


def hits(djinn: Djinn, text: str) -> list[tuple[object, ...]]:
    return [
        (one.id, one.path, one.page_number, one.total_pages, one.chunk_index, one.snippet)
        for one in djinn.search(text).hits
    ]


def test_the_note_alone_gives_the_same_hits(home: Home, papers: Path) -> None:
    pdf(papers / "a.pdf", sentences(24))
    write(papers / "b.txt", "The kettle sings. " * 300)
    djinn = Djinn(home)
    put(djinn, papers)
    before = [hits(djinn, word) for word in ("kettle", "violin safe", "tunnel machine")]
    assert before[1][0][2] == 6
    djinn.close()
    home.index_path.unlink()
    home.ledger_path.unlink()
    djinn = Djinn(home)
    djinn.index()
    assert [hits(djinn, word) for word in ("kettle", "violin safe", "tunnel machine")] == before
    assert {one[1] for one in outcomes(put(djinn, papers))} == {"skipped"}


def test_a_note_may_be_edited_by_hand(djinn: Djinn, me: Path, papers: Path) -> None:
    path = pdf(papers / "a.pdf", sentences(6))
    put(djinn, path)
    note = me / "a.md"
    note.write_text(note.read_text().replace("violin", "zither"))
    djinn.index()
    assert found(djinn, "zither")[0] == ("a.pdf", 6)
    assert found(djinn, "violin") == []
    assert outcomes(put(djinn, path)) == [
        ("a.pdf", "skipped", "already ingested as documents/a.md")
    ]


def test_a_note_that_was_moved_is_still_that_document(djinn: Djinn, me: Path, papers: Path) -> None:
    path = write(papers / "a.txt", "kettle one")
    put(djinn, path)
    path.write_text("kettle two")
    put(djinn, path)
    place = me.parent / "projects"
    place.mkdir()
    (me / "a.md").rename(place / "a.md")
    write(place / "a.txt", "mine, not the document's")
    assert outcomes(put(djinn, path)) == [("a.txt", "skipped", "already ingested as projects/a.md")]
    assert len(djinn.documents.show("a.txt").versions) == 2
    path.write_text("kettle three")
    [one] = put(djinn, path).documents
    assert (one.path, one.version) == ("projects/a.md", 3)
    assert (place / "a.txt").read_text() == "mine, not the document's"
    assert (place / "a-2.txt").read_text() == "kettle three"
    kept = {name: (me / ".history" / name).read_text() for name in names(me / ".history")}
    assert kept["a.v1.txt"] == "kettle one"
    assert kept["a.v2.txt"] == "kettle two"
    assert len(djinn.documents.show("a.txt").versions) == 4
    assert names(me) == [".history"]
    djinn.documents.remove("a.txt")
    assert names(me / ".history") == []
    assert names(place) == ["a.txt"]


def test_notes_of_one_name_share_no_history(djinn: Djinn, me: Path, papers: Path) -> None:
    one, two = papers / "x" / "a.txt", papers / "y" / "a.txt"
    put(djinn, write(one, "kettle one"))
    (me.parent / "kept").mkdir()
    for name in names(me):
        (me / name).rename(me.parent / "kept" / name)
    djinn.index()
    put(djinn, write(one, "kettle two"))
    write(two, "lantern one")
    put(djinn, one, two)
    put(djinn, write(two, "lantern two"))
    first, second = (djinn.documents.show(f"me/{place}/a.md") for place in ("kept", "documents"))
    assert [len(shown.versions) for shown in (first, second)] == [2, 2]
    assert not set(first.versions) & set(second.versions)
    texts = {(me / ".history" / name).read_text().split("---")[-1].strip()
             for name in names(me / ".history")}  # fmt: skip
    assert texts == {"kettle one", "lantern one"}
    djinn.documents.remove("me/documents/a.md")
    assert len(djinn.documents.show("me/kept/a.md").versions) == 2


# The same again, and versions.


def test_the_same_bytes_are_one_document(djinn: Djinn, me: Path, papers: Path) -> None:
    path = write(papers / "a.txt", "kettle")
    other = write(papers / "b.txt", "kettle")
    report = put(djinn, path, other, path)
    assert outcomes(report) == [
        ("a.txt", "ingested", None),
        ("b.txt", "skipped", "is identical to a.txt"),
    ]
    assert {one[2] for one in outcomes(put(djinn, path, other))} == {
        "already ingested as documents/a.md"
    }
    assert names(me) == ["a.md", "a.txt"]


def test_a_copy_of_a_file_that_fails_is_not_called_ingested(djinn: Djinn, papers: Path) -> None:
    for name in ("a.pdf", "b.pdf"):
        (papers / name).write_bytes(b"%PDF-1.4 nothing")
    report = put(djinn, papers)
    assert (report.failed, report.skipped) == (1, 1)
    assert not any("already" in (one.why or "") for one in report.documents)


def test_a_kept_original_and_a_note_are_no_new_documents(
    djinn: Djinn, me: Path, papers: Path
) -> None:
    put(djinn, write(papers / "a.txt", "kettle"))
    report = put(djinn, me)
    assert [one[1] for one in outcomes(report)] == ["skipped", "skipped"]
    assert names(me) == ["a.md", "a.txt"]


def test_other_bytes_under_the_name_are_a_new_version(djinn: Djinn, me: Path, papers: Path) -> None:
    path = write(papers / "a.txt", "The kettle sings.")
    [first] = put(djinn, path, document_type="technical").documents
    note = me / "a.md"
    text = note.read_text()
    head, _, rest = text.partition("type: document\n")
    note.write_text(f"{head}type: document\nTags: [tea, pot]\naliases: [Kanne]\nimportance: 0.9\n"
                    f"mine: {{a: [b]}}\n{rest}")  # fmt: skip
    path.write_text("The lantern burns.")
    [second] = put(djinn, path).documents
    assert (second.version, second.path) == (2, "documents/a.md")
    said = fields(note)
    assert said["supersedes"] == first.document_id != said["id"]
    assert (said["Tags"], said["aliases"], said["importance"]) == (["tea", "pot"], ["Kanne"], "0.9")
    assert (said["mine"], said["document_type"]) == ({"a": ["b"]}, "technical")
    assert djinn.memories.find("Kanne").id == second.document_id
    assert found(djinn, "kettle sings") == []
    assert found(djinn, "lantern") == [("a.txt", None)]
    assert djinn.search("lantern", tags=("tea",), mode="words").hits
    assert (me / ".history" / "a.v1.txt").read_text() == "The kettle sings."
    assert "Tags: [tea, pot]" in (me / ".history" / "a.v1.md").read_text()
    assert djinn.documents.show("a.txt").versions == (
        "documents/.history/a.v1.md", "documents/.history/a.v1.txt",
    )  # fmt: skip
    [entry] = djinn.documents.list().documents
    assert entry.version == 2


def test_files_of_one_name_are_documents_of_their_own(djinn: Djinn, me: Path, papers: Path) -> None:
    for place in "xyz":
        write(papers / place / "report.txt", f"kettle {place}")
    assert put(djinn, papers).done == 3
    write(papers / "y" / "report.txt", "kettle why")
    [changed] = [one for one in put(djinn, papers).documents if one.status == "ingested"]
    assert changed.version == 2
    assert "kettle y" in (me / ".history" / f"{Path(changed.path or '').stem}.v1.md").read_text()
    write(papers / "x" / "report.txt", "kettle ex")
    # Alone it can be told from the others too.
    assert put(djinn, papers / "x").documents[0].version == 2
    assert len(djinn.documents.list().documents) == 3
    for word in ("ex", "why", "z"):
        assert found(djinn, f'"kettle {word}"') == [("report.txt", None)]
    assert put(djinn, papers).skipped == 3


def test_one_of_two_equal_files_that_changes_takes_nothing_from_the_other(
    djinn: Djinn, papers: Path
) -> None:
    for place in "xy":
        write(papers / place / "report.txt", "kettle")
    assert put(djinn, papers).done == 1
    write(papers / "y" / "report.txt", "lantern")
    [one] = [one for one in put(djinn, papers).documents if one.status == "ingested"]
    assert one.version == 1
    assert found(djinn, "kettle") == found(djinn, "lantern") == [("report.txt", None)]
    assert put(djinn, papers).skipped == 2


def test_a_file_whose_document_was_removed_takes_no_others_place(
    djinn: Djinn, papers: Path
) -> None:
    for place in "xy":
        write(papers / place / "report.txt", f"kettle {place}")
    put(djinn, papers)
    [mine] = [one for one in djinn.documents.list().documents if "kettle x" in
              djinn.documents.show(one.document_id or "").text]  # fmt: skip
    djinn.documents.remove(mine.document_id or "")
    assert put(djinn, write(papers / "x" / "report.txt", "kettle ex")).documents[0].version == 1
    assert len(djinn.documents.list().documents) == 2


def test_a_version_that_came_from_elsewhere_is_superseded_in_its_turn(
    djinn: Djinn, papers: Path
) -> None:
    one, two = papers / "x" / "report.txt", papers / "y" / "report.txt"
    versions = [
        put(djinn, write(path, f"kettle {number}")).documents[0].version
        for number, path in enumerate([one, two, two, one])
    ]
    assert versions == [1, 2, 3, 4]


def test_what_is_piped_without_a_title_supersedes_nothing(djinn: Djinn, papers: Path) -> None:
    def piped(text: str, title: str | None) -> int:
        source = Source(write(papers / "piped", text), title or "text from stdin", lasting=False)
        return put_sources(djinn, [source], title=title).documents[0].version

    assert [piped("kettle", None), piped("lantern", None)] == [1, 1]
    assert [piped("copper", "Minutes"), piped("walnut", "Minutes")] == [1, 2]


# Bad input.


def test_what_cannot_be_read_costs_only_itself(djinn: Djinn, me: Path, papers: Path) -> None:
    write(papers / "good.txt", "kettle")
    (papers / "empty.pdf").write_bytes(b"")
    (papers / "cut.pdf").write_bytes(pdf(papers / "whole.pdf", sentences(2)).read_bytes()[:300])
    (papers / "whole.pdf").unlink()
    (papers / "circle.md").symlink_to(papers / "circle.md")
    os.mkfifo(papers / "pipe.txt")
    report = put(djinn, papers, papers / "missing.pdf")
    assert (report.done, report.failed) == (1, 5)
    for _, status, why in outcomes(report):
        assert (status == "failed") == bool(why)
        assert "\n" not in (why or "")
    assert names(me) == ["good.md", "good.txt"]
    failed = {
        one.filename: one for one in djinn.documents.list().documents if one.status == "failed"
    }
    assert sorted(failed) == ["circle.md", "cut.pdf", "empty.pdf", "pipe.txt"]


def test_a_failed_file_is_read_again_only_when_something_changed(home: Home, papers: Path) -> None:
    papers.mkdir(exist_ok=True)
    broken = papers / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing")

    def attempt(**options: object) -> tuple[bool, str]:
        """Whether the file was read, and why it failed."""
        read: list[object] = []
        request = IngestOptions(paths=[papers], **options)  # type: ignore[arg-type]
        report = Djinn(home).documents.ingest_files(request, tell=read.append)
        assert (report.failed, report.done) == (1, 0)
        return any(isinstance(event, FileStarted) for event in read), report.documents[0].why or ""

    assert attempt() == (True, "is damaged or truncated, so no page can be read; download it again")
    was_read, why = attempt()
    assert not was_read
    assert why.startswith("is damaged or truncated, so no page can be read; download it again (")
    assert "the file has not changed since" in why
    assert "retry" in why
    assert attempt()[0] is False
    for options in ({"retry": True}, {"password": "mate"}):
        assert attempt(**options)[0] is True
    assert attempt()[0] is False
    home.edit((("documents", "timeout"), 20.0))
    assert [attempt()[0], attempt()[0]] == [True, False]
    broken.write_bytes(b"%PDF-1.7 nothing else")
    assert [attempt()[0], attempt()[0]] == [True, False]
    (entry,) = Djinn(home).documents.list().documents
    assert (entry.status, entry.reason) == (
        "failed",
        "is damaged or truncated, so no page can be read; download it again",
    )


@pytest.mark.soak
def test_a_bomb_and_a_hang_among_twenty_cost_two(home: Home, papers: Path) -> None:
    home.edit((("documents", "timeout"), 2.5), (("documents", "memory"), 200))
    for number in range(20):
        write(papers / f"good{number:02}.txt", f"kettle {number}")
    bomb(papers / "bomb.pdf")
    hang(papers / "hang.pdf")
    djinn = Djinn(home)
    report = put(djinn, papers)
    assert (report.done, report.failed) == (20, 2)
    failed = {one.filename: one.why or "" for one in report.documents if one.status == "failed"}
    assert sorted(failed) == ["bomb.pdf", "hang.pdf"]
    assert all("documents." in why for why in failed.values())
    assert psutil.Process().children(recursive=True) == []


def test_words_find_documents_where_no_model_embeds(home: Home, papers: Path) -> None:
    home.edit((("embedding", "provider"), "none"))
    djinn = Djinn(home)
    report = put(djinn, write(papers / "a.txt", "kettle"))
    assert (report.done, report.embedded, report.problems) == (1, 0, ())
    assert "embedding_model" not in report.documents[0].metadata
    assert [one.status for one in djinn.documents.list().documents] == ["indexed"]
    assert found(djinn, "kettle") == [("a.txt", None)]


def test_a_model_that_cannot_be_had_costs_no_document(
    home: Home, papers: Path, server: ModelServer, keys: None
) -> None:
    home.edit(
        (("embedding", "provider"), "ollama"), (("embedding", "model"), "all-minilm"),
        (("embedding", "url"), "http://127.0.0.1:9"), (("embedding", "timeout"), 0.2),
    )  # fmt: skip
    home.trust(home.untrusted)
    djinn = Djinn(home)
    report = put(djinn, write(papers / "a.txt", "kettle"))
    assert report.done == 1
    assert [one.what for one in report.problems] == ["embedding"]
    assert [one.status for one in djinn.documents.list().documents] == ["pending"]
    assert found(djinn, "kettle") == [("a.txt", None)]
    done = djinn.documents.reprocess("a.txt", strategy="semantic")
    assert [one.what for one in done.problems] == ["embedding"]
    home.edit((("embedding", "provider"), "hashing"), (("embedding", "model"), None),
              (("embedding", "url"), None))  # fmt: skip
    djinn = Djinn(home)
    # What an earlier run left is done by the next, though no file is new.
    assert put(djinn, papers / "a.txt").embedded == 1
    assert [one.status for one in djinn.documents.list().documents] == ["indexed"]


NAMES = [
    b"caf\xe9.txt", b"caf\xe8.txt", b"two\nlines.txt", b"---.txt", b"a" * 251 + b".txt",
    "\U0001f60a \U0001f469\u200d\U0001f680.txt".encode(), b"a..txt.txt", b"con.txt",
    b"# [[x]] ^p1.txt", b"'\"{}: &a *b.txt", b"\x1b[31m.txt", b"\xe2\x80\xae txt.exe.txt",
    b"no-suffix", b"null.txt", b"\\..\\..\\x.txt", b"!!python%object.txt",
]  # fmt: skip


def test_hostile_names(djinn: Djinn, me: Path, papers: Path) -> None:
    for number, name in enumerate(NAMES):
        (papers / os.fsdecode(name)).write_text(WORDS[number])
    before = set(Path(papers.parent).iterdir())
    report = put(djinn, papers)
    assert (report.done, report.failed) == (len(NAMES), 0)
    assert set(Path(papers.parent).iterdir()) <= before | {papers.parent / "user"}
    assert len(names(me)) == 2 * len(NAMES)
    for number in range(len(NAMES)):
        assert len(found(djinn, WORDS[number])) == 1
    for note in me.glob("*.md"):
        said = fields(note)
        assert said["type"] == "document"
        assert (me / said["original"][2:-2]).is_file()
    assert put(djinn, papers).skipped == len(NAMES)


def test_names_that_look_alike_are_told_apart(djinn: Djinn, papers: Path) -> None:
    one, two = (papers / os.fsdecode(name) for name in (b"caf\xe9.txt", b"caf\xe8.txt"))
    for path, text in ((one, "kettle"), (two, "lantern"), (one, "copper"), (two, "walnut")):
        path.write_text(text)
        put(djinn, path)
    assert sorted(entry.version for entry in djinn.documents.list().documents) == [2, 2]
    assert found(djinn, "kettle") == found(djinn, "lantern") == []
    assert len(found(djinn, "copper")) == len(found(djinn, "walnut")) == 1


@pytest.mark.parametrize(
    "title",
    ["../../etc/x", "a\n---\nid: mem_0000000000000000", "\0\x1b[2J", "  ", "x" * 5000, "\udce9"],
)  # fmt: skip
def test_hostile_titles(djinn: Djinn, me: Path, papers: Path, title: str) -> None:
    path = write(papers / "a.txt", "kettle")
    [one] = put(djinn, path, title=title).documents
    assert names(me) == ["a.md", "a.txt"]
    said = fields(me / "a.md")
    assert said["id"] == one.document_id != "mem_0000000000000000"
    assert said["title"] == one.title
    assert one.title and len(one.title) <= 300
    assert "\n" not in one.title
    assert found(djinn, "kettle") == [("a.txt", None)]


def test_hostile_metadata(djinn: Djinn, me: Path, papers: Path) -> None:
    bad = "x\n---\ntype: note\nsha256: [1]\n\x1b]0;t\x07"
    put(djinn, pdf(papers / "a.pdf", ["kettle"], title=bad, author=bad, subject=bad))
    said = fields(me / "a.md")
    assert said["type"] == "document"
    assert len(said["sha256"]) == 64
    assert not any(char in said["author"] for char in "\n\x1b\x07")


def test_a_note_cloned_from_elsewhere_reaches_nothing_else(
    home: Home, djinn: Djinn, me: Path, papers: Path
) -> None:
    me.mkdir(parents=True)
    treasure = write(me / "treasure.md", "mine")
    outside = write(home.root.parent / "passwd", "root")
    shutil.copy(outside, me / "passwd")
    for number, original in enumerate(
        ["../../etc/passwd", str(outside), "../../../../passwd", "[[treasure.md]]", "..", "."]
    ):
        write(me / f"n{number}.md", f"---\nid: mem_7k2m9q4dxw30hv5{number}\ntype: document\n"
              f'filename: n{number}.pdf\noriginal: "{original}"\nversion: 99999999999999999999\n'
              "supersedes: mem_7k2m9q4dxw30hv50\nchunk_strategy: fixed\n---\nkettle\n")  # fmt: skip
    djinn.index()
    for number in range(6):
        assert djinn.documents.show(f"n{number}.pdf").versions == ()
        assert len(djinn.documents.remove(f"n{number}.pdf").moved_to or ()) == 1
    assert treasure.exists() and outside.exists() and (me / "passwd").exists()
    (me / ".history").symlink_to(home.root.parent)
    put(djinn, write(papers / "a.txt", "kettle"))
    assert outcomes(put(djinn, write(papers / "a.txt", "lantern")))[0][1] == "failed"
    assert not list(home.root.parent.glob("a.v1*"))
    assert found(djinn, "kettle") == [("a.txt", None)]


def test_a_password_is_asked_for_until_it_opens(djinn: Djinn, papers: Path) -> None:
    from fpdf import FPDF

    made = FPDF()
    made.set_encryption(owner_password="owner", user_password="sesame")
    made.add_page()
    made.set_font("Helvetica", size=12)
    made.multi_cell(0, 8, "The kettle is locked away.")
    made.output(str(papers / "a.pdf"))
    write(papers / "b.txt", "lantern")
    answers = iter(["wrong", "sesame"])
    asked: list[tuple[str, str]] = []

    def ask(name: str, why: str) -> str | None:
        asked.append((name, why))
        return next(answers)

    report = put(djinn, papers)
    assert [one[1] for one in outcomes(report)] == ["failed", "ingested"]
    assert "password" in (report.documents[0].why or report.documents[1].why or "")
    report = djinn.documents.ingest_files(IngestOptions(paths=(papers,)), ask=ask)
    assert [one[1] for one in outcomes(report)] == ["ingested", "skipped"]
    assert len(asked) == 2
    assert found(djinn, "kettle") == [("a.pdf", 1)]
    assert [one.status for one in djinn.documents.list().documents] == ["indexed", "indexed"]


def test_the_ledger_does_not_grow_where_nothing_happens(
    home: Home, djinn: Djinn, me: Path, papers: Path
) -> None:
    write(papers / "a.txt", "kettle"), write(papers / "b.txt", "kettle")
    put(djinn, papers, me)
    put(djinn, papers, me)
    before = events(home)
    assert put(djinn, papers, me).done == 0
    assert events(home) == before


def events(home: Home) -> int:
    with apsw.Connection(str(home.ledger_path)) as connection:
        count: int = connection.execute("select count(*) from event").get
    return count


def test_a_documents_folder_that_leads_elsewhere_is_not_written(
    home: Home, djinn: Djinn, papers: Path
) -> None:
    elsewhere = home.root.parent / "elsewhere"
    elsewhere.mkdir()
    (home.root / "vaults" / "me" / "documents").symlink_to(elsewhere)
    report = put(djinn, write(papers / "a.txt", "kettle"))
    assert report.failed == 1
    assert names(elsewhere) == []


def test_a_document_of_another_vault_is_not_copied_unasked(
    djinn: Djinn, me: Path, papers: Path
) -> None:
    path = write(papers / "a.txt", "kettle")
    put(djinn, path)
    [(_, status, why)] = outcomes(put(djinn, path, vault="shared"))
    assert status == "skipped" and "me/documents/a.md" in why and "copy=True" in why
    assert outcomes(put(djinn, path, vault="shared", copy=True)) == [("a.txt", "ingested", None)]


def test_a_document_of_another_agent_is_not_told_of(home: Home, papers: Path) -> None:
    add_agent(home, "grace")
    djinn = Djinn(Home(home.root))
    path = write(papers / "a.txt", "kettle")
    put(djinn, path, agent="grace")
    assert outcomes(put(djinn, path)) == [("a.txt", "ingested", None)]
