"""Journals in the index: a memory for each section, and what an append costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.indexing import indexer
from djinn_memory.notes import journal
from tests.indexing.content import content

NAME = "2026-11-20.laptop"
PATH = f"journal/{NAME}.md"
HEADER = journal.header("2026-11-20", "laptop")

ROWS = {
    "note": "id, path",
    "memory": "id, block, digest, title, lines_above",
    "chunk": "id, memory_id, first_line, last_line, text",
    "window": "id, chunk_id, hash, embedded",
    "words_1_docsize": "id, sz",
    "vectors_1": "window_id, embedding",
    "field": "rowid, memory_id, key, value",
    "link": "id, memory_id, target, line, start, target_memory_id",
}
"""The columns of a table by which its rows are compared."""


def record(number: int, text: str = "", **data: object) -> str:
    return journal.compose(
        "09:30",
        f"Episode {number}",
        f"e{number}",
        text or f"The kettle sang {number} times, and the tide came.\nNobody saw [[Nothing]].",
        {"type": "interaction", "created": "2026-11-20T09:30:00Z", "about": "[[Kettle]]", **data},
    )


@pytest.fixture
def file(shared: Path) -> Path:
    """A journal of five records, and a note about kettles."""
    (shared / "journal").mkdir()
    (shared / "Kettle.md").write_text("# Kettle\n\nIt sings.\n", encoding="utf-8")
    path = shared / PATH
    path.write_text(HEADER + "".join(record(number) for number in range(5)), encoding="utf-8")
    return path


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as journal_file:
        journal_file.write(text)


def table_rows(djinn: Djinn) -> dict[str, set[tuple[Any, ...]]]:
    connection = djinn.runtime.state.index
    return {
        table: set(connection.execute(f"select {columns} from {table}").fetchall())
        for table, columns in ROWS.items()
    }


def memory_of(djinn: Djinn, block: str | None) -> int:
    connection: apsw.Connection = djinn.runtime.state.index
    memory_id: int = connection.execute(
        "select memory.id from memory join note on note.id = note_id where path = ? and block is ?",
        (PATH, block),
    ).get
    return memory_id


def test_each_section_is_a_memory(djinn: Djinn, file: Path) -> None:
    report = djinn.index()
    assert (report.notes, report.added, report.problems) == (2, 2, ())
    rows = djinn.runtime.state.index.execute(
        "select block, type, plane, title, created, updated, date, dated from memory "
        "where block is not null order by block"
    ).fetchall()
    at = "2026-11-20T09:30:00Z"
    assert rows == [
        (f"e{number}", "interaction", "episodic", f"Episode {number}", at, at, at, 1)
        for number in range(5)
    ]
    hits = djinn.search("kettle type:interaction").hits
    assert sorted(str(hit.block) for hit in hits) == ["e0", "e1", "e2", "e3", "e4"]
    assert {hit.title for hit in hits} == {f"Episode {number}" for number in range(5)}
    lines = file.read_text(encoding="utf-8").splitlines()
    for hit in hits:
        first, last = hit.lines
        assert lines[first - 1].startswith("> The kettle sang " + hit.title.split()[1])
        assert lines[last - 1] == "> Nobody saw [[Nothing]]."


def test_an_append_to_a_thousand_changes_the_rows_of_one(djinn: Djinn, file: Path) -> None:
    file.write_text(HEADER + "".join(record(number) for number in range(1000)), encoding="utf-8")
    djinn.index()
    before, changes = table_rows(djinn), djinn.runtime.state.index.total_changes()
    append(file, record(1000))
    report = djinn.index()
    assert (report.changed, report.embedded, report.reused) == (1, 1, 0)
    after = table_rows(djinn)
    memory_id = memory_of(djinn, "e1000")
    assert after["note"] == before["note"]
    for table in set(ROWS) - {"note"}:
        assert before[table] < after[table]
        assert len(after[table] - before[table]) == (3 if table == "field" else 1)
    [(_, *chunk)] = after["chunk"] - before["chunk"]
    assert chunk[0] == memory_id
    assert djinn.runtime.state.index.total_changes() - changes < 50


def test_what_an_append_reads_and_cuts_is_one_section(
    djinn: Djinn, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    djinn.index()
    titles: list[str] = []
    cut: Callable[..., Any] = indexer.cut

    def counted(note: Any, **options: Any) -> Any:
        titles.append(note.title)
        return cut(note, **options)

    monkeypatch.setattr(indexer, "cut", counted)
    append(file, record(5) + record(6))
    djinn.index()
    assert titles == ["Episode 5", "Episode 6"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(record(1), record(1) + record(7, "New\nwith [[Kettle]]")),
        lambda text: text.replace(record(1), ""),
        lambda text: text.replace("kettle sang 2", "kettle wept\n> long and 2"),
        lambda text: text.replace(record(3), "") + record(3),
        lambda text: text.replace(HEADER, f"{HEADER}\nA person's own [[Kettle]].\n"),
        lambda text: text.replace("date: 2026-11-20", "date: 2026-11-21"),
        lambda text: text.replace("^e4", "^e4\n\nBeside it: [[Kettle]], [[#^e2]]."),
        lambda text: text.replace("e2", "e1"),
        lambda text: text[:-5],
        lambda text: HEADER,
        lambda text: "Only text.\n",
    ],
    ids=[
        "inserted", "removed", "edited", "moved", "text of a person", "redated", "link",
        "block twice", "torn", "header", "no journal",
    ],
)  # fmt: skip
def test_a_change_leaves_what_an_index_made_anew_holds(
    djinn: Djinn, home: Home, file: Path, change: Callable[[str], str]
) -> None:
    djinn.index()
    original = file.read_text(encoding="utf-8")
    for text in (change(original), original):
        file.write_text(text, encoding="utf-8")
        assert djinn.index().changed == 1
        updated = content(home.index_path)
        assert djinn.index(rebuild=True).changed
        assert content(home.index_path) == updated


def test_unchanged_memories_keep_their_rows(djinn: Djinn, file: Path) -> None:
    djinn.index()
    before = table_rows(djinn)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(record(1), record(7) + record(1)), encoding="utf-8")
    report = djinn.index()
    after = table_rows(djinn)
    assert report.embedded == 1
    ids = {table: {row[0] for row in rows} for table, rows in before.items()}
    for table, rows in after.items():
        assert ids[table] <= {row[0] for row in rows}
    assert before["window"] < after["window"]
    assert before["words_1_docsize"] < after["words_1_docsize"]
    shifted = {row[0]: row for row in after["chunk"]}
    for chunk_id, memory_id, first, last, text in before["chunk"]:
        down = record(7).count("\n") if text in record(1) + record(2) + record(3) + record(4) else 0
        assert shifted[chunk_id] == (chunk_id, memory_id, first + down, last + down, text)


def test_a_changed_section_keeps_its_memory(djinn: Djinn, file: Path) -> None:
    djinn.index()
    before = memory_of(djinn, "e2")
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("kettle sang 2", "kettle wept 2"), encoding="utf-8")
    djinn.index()
    assert memory_of(djinn, "e2") == before
    assert djinn.search("wept").hits[0].title == "Episode 2"


def test_links_lead_to_sections_and_belong_to_them(djinn: Djinn, shared: Path, file: Path) -> None:
    (shared / "a.md").write_text(f"[[{NAME}#^e3]] [[{NAME}#^E9]] [[{NAME}]]", encoding="utf-8")
    djinn.index()

    def targets() -> list[tuple[str | None, str | None, int | None]]:
        return djinn.runtime.state.index.execute(
            "select link.block, how, target_memory_id from link "
            "join note on note.id = link.note_id where path = 'a.md' order by link.start"
        ).fetchall()

    assert targets() == [
        ("e3", "name", memory_of(djinn, "e3")), ("E9", "name", None), (None, "name", None)
    ]  # fmt: skip
    append(file, record(9))
    djinn.index()
    assert targets()[1] == ("E9", "name", memory_of(djinn, "e9"))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(record(3), ""), encoding="utf-8")
    djinn.index()
    assert targets()[0] == ("e3", "name", None)
    links = djinn.runtime.state.index.execute(
        "select memory.block, target, how from link join memory on memory.id = memory_id "
        "where memory.block is not null order by 1"
    ).fetchall()
    blocks = ["e0", "e1", "e2", "e4", "e9"]
    assert links == [(block, "Kettle", "path") for block in blocks]


def test_an_append_resolves_its_own_links_only(
    djinn: Djinn, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    djinn.index()
    resolved: list[str] = []
    from djinn_memory.notes.link_resolution import Resolver

    resolve = Resolver.resolve

    def counted(self: Resolver, target: str, **source: Any) -> Any:
        resolved.append(target)
        return resolve(self, target, **source)

    monkeypatch.setattr(Resolver, "resolve", counted)
    append(file, record(5))
    djinn.index()
    assert resolved == ["Kettle"]


def test_a_renamed_journal_keeps_its_memories(djinn: Djinn, shared: Path, file: Path) -> None:
    djinn.index()
    before = memory_of(djinn, "e2")
    file.rename(file.with_name("2026-11-21.laptop.md"))
    assert djinn.index().moved == 1
    rows = djinn.runtime.state.index.execute(
        "select memory.id, path from memory join note on note.id = note_id where block = 'e2'"
    ).fetchall()
    assert rows == [(before, "journal/2026-11-21.laptop.md")]
    file.with_name("2026-11-21.laptop.md").unlink()
    djinn.index()
    assert not djinn.search("type:interaction").hits


def test_a_torn_record_is_a_problem_until_it_is_mended(djinn: Djinn, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(text + record(5)[:60], encoding="utf-8")
    [problem] = djinn.index().problems
    assert problem.what == f"shared/{PATH}"
    assert problem.why.endswith("the last record is incomplete and was not read")
    file.write_text(text + record(5), encoding="utf-8")
    assert djinn.index().problems == ()
    assert memory_of(djinn, "e5")
