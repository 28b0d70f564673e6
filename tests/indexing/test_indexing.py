"""An index run: what it reads, parses and embeds, and what it leaves alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.calibration import HashingEmbedder
from djinn_memory.errors import Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, remove_vault
from djinn_memory.indexing import indexer
from djinn_memory.indexing.embed import embed
from djinn_memory.indexing.refresh import sweep
from djinn_memory.models import Progress
from djinn_memory.store.index import meta, open_index, vectors, words
from djinn_memory.store.vector_cache import text_hash
from tests.indexing.content import content
from tests.indexing.vaults import fill, settle, with_sample
from tests.processes.commands import strays

_OPENED_NOTES = """
import sys
opened = []
sys.addaudithook(
    lambda event, args: opened.append(args[0])
    if event == "open" and str(args[0]).endswith(".md") else None
)
from djinn_memory.djinn import Djinn
report = Djinn.open(sys.argv[1]).index()
print(report.read, len(opened))
"""


def notes_opened(home: Home) -> tuple[int, int]:
    """Run an index in a process of its own: notes it says it read, and those it really opened."""
    told = subprocess.run(
        [sys.executable, "-c", _OPENED_NOTES, str(home.root)],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    return int(told[0]), int(told[1])


def test_a_run_without_change_opens_no_note(home: Home, sample: Path) -> None:
    with_sample(home, sample)
    settle()
    assert notes_opened(home) == (37, 37)
    assert notes_opened(home) == (0, 0)


def test_many_small_runs_leave_few_segments_to_search(djinn: Djinn, shared: Path) -> None:
    fill(shared, 2)
    djinn.index()
    index = djinn.runtime.state.index
    vault = index.execute("select id from vault where name = 'shared'").get
    # FTS5 merges by itself, too, but late.
    index.execute(f"insert into words_{vault} (words_{vault}, rank) values ('automerge', 0)")
    for number in range(12):
        (shared / f"{number}.md").write_text(f"# Quoll {number}\n\nIt eats at night.\n")
        djinn.index()
        segments = index.execute(f"select count(distinct segid) from words_{vault}_idx").get
        assert segments <= words.MAX_SEGMENTS
    assert len(djinn.search("quoll", mode="words", limit=20).hits) == 12


def test_notes_too_fresh_to_trust_their_times_are_read_once_more(
    djinn: Djinn, shared: Path
) -> None:
    fill(shared, 3)
    assert djinn.index().read == 3
    again = djinn.index()
    assert (again.read, again.changed, again.embedded) == (3, 0, 0)
    settle()
    assert djinn.index().read == 3
    assert djinn.index().read == 0


def test_the_same_bytes_with_a_new_time_are_read_but_not_parsed(djinn: Djinn, shared: Path) -> None:
    fill(shared, 3)
    djinn.index()
    before = djinn.runtime.state.index.execute("select id from memory").fetchall()
    os.utime(shared / "note-00001.md", (1_000_000_000, 1_000_000_000))
    report = djinn.index()
    assert (report.added, report.changed, report.moved, report.embedded) == (0, 0, 0, 0)
    assert djinn.runtime.state.index.execute("select id from memory").fetchall() == before


def test_an_edit_that_keeps_size_and_mtime_is_seen(djinn: Djinn, shared: Path) -> None:
    note = shared / "a.md"
    note.write_text("the kettle sings")
    djinn.index()
    times = note.stat()
    note.write_text("the zephyr sings")
    os.utime(note, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert djinn.index().changed == 1


@pytest.mark.parametrize("change", ["rename", "move", "rebuild", "copy", "other vault"])
def test_text_that_is_known_is_never_embedded_again(
    djinn: Djinn, shared: Path, change: str
) -> None:
    fill(shared, 5)
    (shared / "named.md").write_text("# A name of its own\n\nsome text about a kettle\n")
    first = djinn.index()
    assert first.embedded > 5
    place = shared / "named.md"
    if change == "rename":
        place.rename(shared / "renamed.md")
    elif change == "move":
        (shared / "deep").mkdir()
        place.rename(shared / "deep" / "named.md")
    elif change == "copy":
        shutil.copy(place, shared / "copy.md")
    elif change == "other vault":
        place.rename(shared.parent / "me" / "named.md")
    report = djinn.index(rebuild=change == "rebuild")
    assert report.embedded == 0
    assert report.moved == (change in ("rename", "move"))
    assert (
        djinn.runtime.state.index.execute("select count(*) from window where not embedded").get == 0
    )


def test_a_moved_note_is_the_same_note(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("# Kettle\n\ntext")
    (shared / "b.md").write_text("see [[Kettle]]")
    djinn.index()
    number = djinn.runtime.state.index.execute("select id from note where path = 'a.md'").get
    (shared / "a.md").rename(shared / "z.md")
    djinn.index()
    assert (
        djinn.runtime.state.index.execute("select id from note where path = 'z.md'").get == number
    )
    assert djinn.runtime.state.index.execute(
        "select count(*) from link where target_note_id = ?", (number,)
    ).get


def test_deleting_the_index_costs_nothing_but_reading(home: Home, sample: Path) -> None:
    with_sample(home, sample)
    Djinn(home).index()
    queries = [
        f"{path.stem.replace('-', ' ')} {extra}".strip()
        for path in sorted(sample.rglob("*.md"))
        for extra in ("", "why")
    ][:50]

    def answers() -> list[object]:
        djinn = Djinn(home)
        return [
            [(hit.vault, hit.path, hit.lines, hit.score) for hit in djinn.search(text).hits]
            for text in queries
        ]

    assert len(queries) == 50
    before, held = answers(), content(home.index_path)
    for leftover in home.state.glob("index.db*"):
        leftover.unlink()
    report = Djinn(home).index()
    assert report.embedded == 0
    assert report.reused == report.windows > 50
    assert answers() == before
    assert content(home.index_path) == held


def test_a_rebuild_gives_what_is_there(home: Home, sample: Path) -> None:
    with_sample(home, sample)
    djinn = Djinn(home)
    djinn.index()
    before = content(home.index_path)
    report = djinn.index(rebuild=True)
    assert (report.read, report.embedded) == (37, 0)
    assert content(home.index_path) == before


def test_changes_leave_what_a_fresh_index_holds(home: Home, shared: Path) -> None:
    fill(shared, 20)
    Djinn(home).index()
    fill(shared, 6, seed=8)
    (shared / "note-00003.md").unlink()
    (shared / "note-00004.md").rename(shared / "moved.md")
    (shared / "new.md").write_text("[[moved]] and [[note-00003]]")
    Djinn(home).index()
    after = content(home.index_path)
    home.index_path.unlink()
    Djinn(home).index()
    assert content(home.index_path) == after


def test_words_answer_before_vectors_are_made(home: Home, shared: Path) -> None:
    """A search embeds a few windows that wait. Of more it says how many are left."""
    fill(shared, 40)
    djinn = Djinn(home)
    indexer.update(djinn.runtime.state, home.vaults)
    result = Djinn(home).search("kettle", mode="words")
    windows = djinn.memories.stats().windows
    assert result.hits and djinn.memories.stats().pending == windows
    hybrid = Djinn(home).search("kettle")
    assert hybrid.hits
    assert 0 < hybrid.unembedded == djinn.memories.stats().pending < windows


def test_a_vault_that_left_the_config_leaves_the_index(home: Home, tmp_path: Path) -> None:
    fill(tmp_path / "outside", 3)
    add_vault(home, "outside", tmp_path / "outside")
    Djinn(home).index()
    assert len(Djinn(home).search("type:lesson").hits) == 3
    remove_vault(home, "outside")
    assert not Djinn(home).search("type:lesson").hits
    Djinn(home).index()
    assert Djinn(home).runtime.state.index.execute("select count(*) from note").get == 0
    assert not content(home.index_path).get("words of outside")
    assert len(list((tmp_path / "outside").iterdir())) == 3


def test_a_vault_whose_folder_is_away_keeps_its_notes(home: Home, tmp_path: Path) -> None:
    fill(tmp_path / "stick", 3)
    add_vault(home, "stick", tmp_path / "stick")
    Djinn(home).index()
    (tmp_path / "stick").rename(tmp_path / "unplugged")
    report = Djinn(home).index()
    assert [problem.what for problem in report.problems] == ["stick"]
    assert not Djinn(home).search("type:lesson").hits
    (tmp_path / "unplugged").rename(tmp_path / "stick")
    assert Djinn(home).index().read == 0 or len(Djinn(home).search("type:lesson").hits) == 3


def test_one_vault_can_be_indexed_alone(home: Home, shared: Path) -> None:
    fill(shared, 2)
    fill(shared.parent / "me", 3)
    report = Djinn(home).index(["me"])
    assert report.notes == report.added == 3
    assert Djinn(home).index().added == 2


def test_links_find_a_target_that_appears_later(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("[[Later]] and ![[plan.png]]")
    djinn.index()
    assert djinn.memories.stats().unresolved == 2
    (shared / "b.md").write_text("# Later\n")
    assert djinn.index().added == 1
    assert djinn.memories.stats().unresolved == 1
    (shared / "plan.png").write_bytes(b"\x89PNG")
    djinn.index()
    assert djinn.memories.stats().unresolved == 0
    (shared / "b.md").unlink()
    djinn.index()
    assert djinn.memories.stats().unresolved == 1


def test_an_index_of_another_version_is_made_anew_by_an_index_run_only(
    djinn: Djinn, shared: Path
) -> None:
    fill(shared, 30)
    djinn.index()
    meta.put(djinn.runtime.state.index, "maker", "chunks 0, words 0")
    (shared / "new.md").write_text("a kettle")
    assert djinn.search("kettle").pending == 0
    report = djinn.index()
    assert (report.read, report.embedded) == (31, 0)
    assert djinn.index().changed == 0


def test_a_broken_note_is_indexed_by_its_text_and_named(djinn: Djinn, shared: Path) -> None:
    (shared / "broken.md").write_text("---\ntags: [a, b\ntitle: 'x\n---\nthe zephyr blows\n")
    (shared / "latin.md").write_bytes("der Zephyr weht über Köln".encode("latin-1"))
    report = djinn.index()
    assert {problem.what for problem in report.problems} == {"shared/broken.md", "shared/latin.md"}
    assert all("\n" not in problem.why for problem in report.problems)
    assert {hit.path for hit in djinn.search("zephyr").hits} == {"broken.md", "latin.md"}


def test_a_changed_provider_is_named_with_its_remedy_and_words_answer(
    home: Home, shared: Path
) -> None:
    fill(shared, 3)
    djinn = Djinn(home)
    djinn.index()
    with djinn.runtime.state.index:
        djinn.runtime.state.index.execute("update space set identity = 'another-model-1'")
    result = Djinn(home).search("kettle")
    assert result.hits
    [problem] = result.problems
    assert "another-model-1" in problem.why
    assert "hashing-128-1" in problem.why
    assert "`index()`" in problem.why
    report = Djinn(home).index()
    assert (report.embedded, report.reused) == (0, report.windows)
    assert not Djinn(home).search("kettle").problems


def test_a_thousand_windows_with_one_text_are_embedded_once(djinn: Djinn, shared: Path) -> None:
    for number in range(40):
        (shared / f"{number}").mkdir()
        (shared / f"{number}" / "same.md").write_text("the same words everywhere")
    report = djinn.index()
    assert (report.embedded, report.windows) == (1, 40)
    assert djinn.runtime.state.index.execute("select count(*) from vectors_1").get == 40


def test_absurd_times_are_a_note_like_any_other(djinn: Djinn, shared: Path) -> None:
    for name, when in (("future.md", 10_413_792_000), ("past.md", -10_000_000_000)):
        (shared / name).write_text("kettle\n")
        os.utime(shared / name, (when, when))
    report = djinn.index()
    assert (report.added, report.problems) == (2, ())
    assert len(djinn.search("kettle").hits) == 2


def test_one_note_that_breaks_the_reader_costs_only_itself(
    djinn: Djinn, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(shared, 3)
    victim = sorted(path.name for path in shared.glob("*.md"))[1]
    parse_file = indexer.parse_file

    def breaks(path: str, data: bytes, dialect: str) -> object:
        if path == victim:
            raise ZeroDivisionError("a bug")
        return parse_file(path, data, dialect)

    monkeypatch.setattr(indexer, "parse_file", breaks)
    report = djinn.index()
    assert [problem.what for problem in report.problems] == [f"shared/{victim}"]
    assert djinn.memories.stats().notes == 2
    monkeypatch.undo()
    assert djinn.index().added == 1


def test_what_is_embedded_is_what_its_key_says(djinn: Djinn, home: Home, shared: Path) -> None:
    front = "title: T\ncreated: 2026-03-04\n"
    (shared / "dated.md").write_text(f"---\n{front}---\n# H\nAt noon the gun.\n")
    plan = "chunk_strategy: page_based\nchunk_size: 100\n"
    pages = "*Page 1* ^p1\n\n# One\nthe mole\n# Two\nthe pier\n\n*Page 2* ^p2\n\nthe lamp\n"
    (shared / "made.md").write_text(f"---\n{front}type: document\n{plan}---\n{pages}")
    (shared / "by-hand.md").write_text(f"---\n{front}type: document\n---\n# H\nBy hand.\n")
    djinn.index()
    connection = open_index(home.index_path)
    keys = dict(connection.execute("select id, hash from window"))
    assert len(keys) >= 4
    assert {
        key: text_hash(text) for key, text in vectors.texts(connection, list(keys)).items()
    } == keys


def test_a_window_that_takes_the_number_of_another_gets_a_vector_of_its_own(
    djinn: Djinn, home: Home, shared: Path
) -> None:
    """SQLite gives the number of a row that went to the next one."""
    fill(shared, 3)
    djinn.index()
    gone, new = shared / "gone.md", shared / "new.md"

    class Meddling(HashingEmbedder):
        """While it embeds the text of a note, another process reads that the note was replaced."""

        def embed(self, texts: Sequence[str], **options: Any) -> Any:
            if gone.exists():
                with Djinn(home) as other:
                    gone.unlink()
                    sweep(other.runtime.state, home.vaults)
                    new.write_text("a kettle on the hob\n")
                    sweep(other.runtime.state, home.vaults)
            return super().embed(texts, **options)

    gone.write_text("a gun at noon in the harbour\n")
    state = djinn.runtime.state
    sweep(state, home.vaults)
    embed(state, Meddling(), djinn.runtime.models.recipe)
    djinn.index()
    assert strays(home) == []


def test_a_chunk_that_is_not_the_first_carries_few_of_100_000_tags(
    djinn: Djinn, home: Home, shared: Path
) -> None:
    tags = " ".join(f"#tag{number}" for number in range(20_000))
    (shared / "a.md").write_text(
        f"needle {tags}\n\n" + "".join(f"# h{n}\ntide\n" for n in range(300))
    )
    djinn.index()
    assert home.index_path.stat().st_size < 20_000_000
    assert djinn.search("tag19999", mode="words").hits
    assert djinn.search("tag0 tide", mode="words").hits[0].path == "a.md"


def test_a_linked_folder_is_told_until_it_is_a_vault(
    djinn: Djinn, home: Home, shared: Path, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.md").write_text("tide")
    (shared / "x").symlink_to(tmp_path / "more")
    [problem] = djinn.index().problems
    assert problem.what == "shared/x" and "`djinn vault add NAME " in problem.why
    add_vault(home, "more", tmp_path / "more")
    assert not Djinn(home).index().problems


@pytest.mark.soak
@pytest.mark.few(2)
@pytest.mark.parametrize("pages", [0, 3, 10, 30, 60])
def test_a_disk_that_gets_full_within_a_note(djinn: Djinn, shared: Path, pages: int) -> None:
    fill(shared, 3)
    djinn.index()
    before = content(djinn.home.index_path)
    index = djinn.runtime.state.index
    used = index.pragma("page_count")
    lines = "".join(f"word{number} is new\n" for number in range(20_000))
    (shared / "long.md").write_text(f"# Long\n\n{lines}")
    index.pragma("max_page_count", used + pages)
    with pytest.raises(Unavailable, match=r"index\.db cannot be written: the disk is full"):
        djinn.index()
    assert content(djinn.home.index_path) == before
    index.pragma("max_page_count", 1_000_000)
    assert djinn.index().added == 1
    assert strays(djinn.home) == []


def test_a_large_note_is_announced_before_it_is_read(
    djinn: Djinn, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "LARGE_BYTES", 600_000)
    (shared / "large.md").write_text("A kettle sings.\n" * 40_000)
    (shared / "small.md").write_text("# Small\n")
    reports: list[Progress] = []
    djinn.runtime.progress = reports.append
    djinn.index()
    assert reports[0] == Progress("wait", 0, None, "reading shared/large.md (1 MB)")
    assert [each.stage for each in reports].count("wait") == 1
