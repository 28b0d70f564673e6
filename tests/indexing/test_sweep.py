"""A search sees what changed since the last index run, without one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import (
    SCAN_HOLDS_SECONDS,
    SCANNED,
    SWEEP_WINDOWS,
    TOLD_SECONDS,
)
from djinn_memory.store.index import meta
from djinn_memory.store.sqlite import transaction
from tests.indexing.vaults import fill, settle


def found(home: Home, text: str, **options: object) -> set[str]:
    return {hit.path for hit in Djinn(home).search(text, **options).hits}  # type: ignore[arg-type]


def test_new_edited_and_deleted_notes_are_seen_by_the_next_search(home: Home, shared: Path) -> None:
    fill(shared, 3)
    Djinn(home).index()
    (shared / "new.md").write_text("a walrus")
    assert found(home, '"walrus"') == {"new.md"}
    (shared / "new.md").write_text("a heron")
    assert found(home, '"walrus"') == set()
    assert found(home, '"heron"') == {"new.md"}
    (shared / "new.md").rename(shared / "deep.md")
    assert found(home, '"heron"') == {"deep.md"}
    (shared / "deep.md").unlink()
    assert found(home, '"heron"') == set()


def test_what_the_sweep_read_is_found_by_meaning_too(home: Home, shared: Path) -> None:
    fill(shared, 3)
    Djinn(home).index()
    (shared / "new.md").write_text("a walrus")
    result = Djinn(home).search("walrus", mode="meaning")
    assert result.hits[0].path == "new.md"
    assert result.unembedded == 0


def test_what_stays_of_a_long_note_keeps_its_vectors(home: Home, shared: Path) -> None:
    parts = ["# Long\n"] + [
        f"## Part {number}\n\n{'A walrus swims. ' * 30}\n" for number in range(90)
    ]
    note = shared / "long.md"
    note.write_text("\n".join(parts))
    Djinn(home).index()
    home.embeddings_path.unlink()
    note.write_text("\n".join([*parts[:-1], "## Part 89\n\nA heron waits."]))
    assert Djinn(home).search("heron", mode="meaning").unembedded == 0
    note.rename(shared / "moved.md")
    assert Djinn(home).search("heron", mode="meaning").unembedded == 0


def test_a_home_never_indexed_answers_when_it_is_small(home: Home, shared: Path) -> None:
    fill(shared, 3)
    assert len(found(home, "type:lesson")) == 3


def test_more_than_twenty_changes_are_announced(home: Home, shared: Path) -> None:
    fill(shared, 30)
    first = Djinn(home).search("kettle")
    assert first.pending == 10
    assert Djinn(home).search("kettle").pending == 0


def test_notes_as_indexed_a_moment_ago_are_not_called_changed(home: Home, shared: Path) -> None:
    fill(shared, 60)
    djinn = Djinn(home)
    djinn.index()
    assert djinn.search("kettle").pending == 0
    assert djinn.status().stale == 0
    settle()
    for _ in range(4):
        assert Djinn(home).search("kettle").pending == 0
    assert Djinn(home).index().read == 0


def test_a_change_among_many_fresh_notes_is_read_first(home: Home, shared: Path) -> None:
    fill(shared, 60)
    Djinn(home).index()
    (shared / "zz.md").write_text("a walrus")
    assert found(home, '"walrus"') == {"zz.md"}


def test_a_deleted_note_never_appears_even_without_a_sweep(home: Home, shared: Path) -> None:
    fill(shared, 4)
    home.edit((("search", "sweep_ms"), 0))
    Djinn(home).index()
    (shared / "note-00001.md").unlink()
    for mode in ("hybrid", "words", "meaning"):
        assert "note-00001.md" not in found(home, "kettle", mode=mode)
    assert found(home, "type:lesson") == {f"note-0000{n}.md" for n in (0, 2, 3)}
    djinn = Djinn(home)
    assert {entry.path for entry in djinn.memories.list().memories} == {
        f"note-0000{n}.md" for n in (0, 2, 3)
    }


def test_list_show_and_stats_are_fresh_too(home: Home, shared: Path) -> None:
    djinn = Djinn(home)
    djinn.index()
    (shared / "a.md").write_text("---\ntitle: Heron\n---\nx")
    assert [entry.title for entry in Djinn(home).memories.list().memories] == ["Heron"]
    assert Djinn(home).memories.show("heron").path == "a.md"
    assert Djinn(home).memories.stats().notes == 1


def test_the_sweep_embeds_what_is_new_not_a_backlog(home: Home, shared: Path) -> None:
    fill(shared, 60)
    home.edit((("embedding", "provider"), "none"))
    Djinn(home).index()
    home.edit((("embedding", "provider"), "hashing"))
    (shared / "new.md").write_text("a walrus")
    result = Djinn(home).search("walrus", mode="meaning")
    assert result.hits[0].path == "new.md"
    assert result.unembedded > 100


def test_a_vault_folder_that_is_gone_is_a_problem_and_the_rest_answers(
    home: Home, shared: Path
) -> None:
    fill(shared, 2)
    fill(shared.parent / "me", 2)
    Djinn(home).index()
    (shared.parent / "me").rename(shared.parent / "away")
    result = Djinn(home).search("type:lesson")
    assert {hit.vault for hit in result.hits} == {"shared"}
    assert [problem.what for problem in result.problems] == ["me"]


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_a_note_that_leads_out_of_its_vault_is_not_read(
    home: Home, shared: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("a walrus")
    (shared / "link.md").symlink_to(tmp_path / "secret.md")
    (shared.parent / "me" / "mine.md").write_text("a heron")
    (shared / "other.md").symlink_to(shared.parent / "me" / "mine.md")
    Djinn(home).index()
    assert found(home, '"walrus"') == set()
    assert {hit.vault for hit in Djinn(home).search('"heron"').hits} == {"me"}


def test_an_incomplete_scan_is_told_once_a_day_and_not_after_a_whole_one(
    home: Home, shared: Path
) -> None:
    fill(shared, 3)
    for number in range(400):
        (shared / f"folder {number}").mkdir()
        (shared / f"folder {number}" / "x.txt").touch()
    home.edit((("search", "sweep_ms"), 1))
    Djinn(home).index()
    assert Djinn(home).search("kettle").problems == ()
    state = Djinn(home).runtime.state
    with transaction(state.index):
        meta.put(state.index, SCANNED, str(time.time() - SCAN_HOLDS_SECONDS))
    [problem] = Djinn(home).search("kettle").problems
    assert "djinn watch" in problem.why
    assert Djinn(home).search("kettle").problems == ()
    yesterday = time.time() - TOLD_SECONDS
    os.utime(home.state / "incomplete-scan", (yesterday, yesterday))
    assert len(Djinn(home).search("kettle").problems) == 1


def test_what_was_written_without_a_model_is_embedded_by_the_next_searches(home: Home) -> None:
    home.edit((("embedding", "provider"), "hashing"))
    with Djinn(home) as djinn:
        for number in range(SWEEP_WINDOWS + 5):
            djinn.remember("lesson", f"Lamp {number}", f"A walrus on pier {number}.", force=True)
        djinn.remember("lesson", "Heron", "A heron waits.")
        stats = djinn.status().stats
        assert stats
        assert stats.pending == SWEEP_WINDOWS + 6
    first = Djinn(home).search("heron", mode="meaning")
    assert (first.hits[0].title, first.unembedded) == ("Heron", 6)
    assert Djinn(home).search("walrus", mode="meaning").unembedded == 0
