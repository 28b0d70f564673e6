"""What changes in a vault is searchable a moment later, however it was saved."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Busy
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault
from djinn_memory.store.index import compartments
from djinn_memory.store.sqlite import peek
from djinn_memory.watch.heard import ALL, FileChanged
from tests.indexing.content import content
from tests.indexing.vaults import fill, settle
from tests.memories.hooks.events import prompt, record, spool_of, stop
from tests.processes.commands import fresh
from tests.watch.conftest import Watching, watched
from tests.watch.editors import STYLES, Save


@pytest.mark.few(5)
@pytest.mark.parametrize("save", STYLES, ids=lambda save: save.__name__)
def test_a_note_is_fresh_however_it_is_saved(watching: Watching, shared: Path, save: Save) -> None:
    for text in ("a kettle of zephyrs", "an orchard of lanterns and much more than that", "rain"):
        save(shared / "note.md", text)
        watching.until(lambda text=text: watching.has("note.md", text))
    assert set(watching.notes()) == {"note.md"}


def test_what_was_written_before_it_began_is_read_first(home: Home, shared: Path) -> None:
    (shared / "old.md").write_text("kettle")
    with watched(home) as one:
        assert one.has("old.md", "kettle")


def test_new_moved_and_deleted_notes_and_folders(watching: Watching, shared: Path) -> None:
    (shared / "a" / "b").mkdir(parents=True)
    (shared / "a" / "b" / "c.md").write_text("kettle")
    watching.until(lambda: watching.has("a/b/c.md", "kettle"))
    (shared / "a").rename(shared / "z")
    watching.until(lambda: set(watching.notes()) == {"z/b/c.md"})
    (shared / "z" / "b" / "c.md").write_text("zephyr")
    watching.until(lambda: watching.has("z/b/c.md", "zephyr"))
    shutil.copytree(shared / "z", shared / "copy")
    watching.until(lambda: set(watching.notes()) == {"z/b/c.md", "copy/b/c.md"})
    shutil.rmtree(shared / "z")
    watching.until(lambda: set(watching.notes()) == {"copy/b/c.md"})
    (shared / "copy" / "b" / "c.md").rename(shared.parents[1] / "away.md")
    watching.until(lambda: watching.notes() == {})


def test_a_moved_note_is_known_again(watching: Watching, shared: Path) -> None:
    (shared / "a.md").write_text("kettle")
    watching.until_idle()
    watching.until(lambda: watching.has("a.md", "kettle"))
    (shared / "a.md").rename(shared / "b.md")
    watching.until(lambda: set(watching.notes()) == {"b.md"})
    assert any("1 moved" in text for text in watching.of("update"))


def test_hidden_excluded_and_foreign_files_are_left_alone(home: Home, shared: Path) -> None:
    home.edit((("exclude",), ["drafts/"]))
    with watched(home) as one:
        for path in (".hidden.md", ".obsidian/x.md", "drafts/y.md", "picture.png", "a.md.swp"):
            (shared / path).parent.mkdir(exist_ok=True)
            (shared / path).write_text("kettle")
        (shared / "drafts" / "deep").mkdir()
        (shared / "drafts" / "deep" / "z.md").write_text("kettle")
        (shared / "a.md").write_text("kettle")
        one.until(lambda: one.has("a.md", "kettle"))
        one.until_idle()
        assert set(one.notes()) == {"a.md"}


@pytest.mark.soak
def test_a_checkout_of_many_notes(home: Home, shared: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=shared, check=True, capture_output=True,
        )  # fmt: skip

    git("init", "-b", "one")
    fill(shared, 300, words=20)
    git("add", "-A")
    git("commit", "-m", "one")
    git("checkout", "-b", "two")
    fill(shared, 300, words=20, seed=8)
    (shared / "note-00007.md").rename(shared / "other-name.md")
    git("add", "-A")
    git("commit", "-m", "two")
    git("checkout", "one")
    with watched(home) as one:
        git("checkout", "two")
        files = {path.name: path.read_text() for path in shared.glob("*.md")}
        one.until(lambda: one.notes().keys() == files.keys())
        one.until(lambda: all(text[-40:] in files[path] for path, text in one.notes().items()))
        one.until_idle()
    after = content(home.index_path)
    assert after == fresh(home)


def test_one_vault_of_several(home: Home, shared: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    add_vault(home, "other", other)
    with watched(Home(home.root), "other") as one:
        (shared / "a.md").write_text("kettle")
        (other / "b.md").write_text("kettle")
        one.until(lambda: one.has("b.md", "kettle"))
        assert set(one.notes()) == {"b.md"}


def test_a_vault_that_is_added_is_followed(home: Home, watching: Watching, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("kettle")
    add_vault(home, "other", other)
    watching.until(lambda: watching.has("b.md", "kettle"))
    (other / "b.md").write_text("zephyr")
    watching.until(lambda: watching.has("b.md", "zephyr"))


def test_the_domains_of_a_key_are_known(home: Home, watching: Watching, shared: Path) -> None:
    """Otherwise the index would be divided anew by each process in turn."""
    with closing(Djinn(home)) as djinn:
        for number in range(2):
            djinn.keys.add(f"key-{number}", domains=["work"])
            (shared / f"{number}.md").write_text("kettle")
            watching.until(
                lambda: (
                    compartments.grants(djinn.runtime.state.index)
                    == compartments.folded(djinn.home.grants)
                )
            )
            watching.until(lambda number=number: watching.has(f"{number}.md", "kettle"))
            watching.until_idle()


def test_settings_that_are_broken_for_a_moment(
    home: Home, watching: Watching, shared: Path
) -> None:
    whole = home.config_path.read_text()
    home.config_path.write_text(whole + "\nagents: [")
    watching.until(lambda: watching.of("warning"))
    assert "the previous settings stay in effect" in watching.of("warning")[0]
    (shared / "a.md").write_text("kettle")
    watching.until(lambda: watching.has("a.md", "kettle"))
    home.config_path.write_text(whole)


def test_a_folder_that_goes_and_comes_back(watching: Watching, shared: Path) -> None:
    (shared / "a.md").write_text("kettle")
    watching.until(lambda: watching.has("a.md", "kettle"))
    away = shared.with_name("away")
    shared.rename(away)
    watching.until(lambda: watching.of("warning"))
    assert "does not exist" in watching.of("warning")[0]
    # An unplugged disk is no reason to forget what is on it.
    assert watching.has("a.md", "kettle")
    (away / "a.md").write_text("zephyr")
    away.rename(shared)
    watching.until(lambda: watching.has("a.md", "zephyr"))
    (shared / "b.md").write_text("lantern")
    watching.until(lambda: watching.has("b.md", "lantern"))


def test_an_index_that_is_deleted_is_made_again(
    home: Home, watching: Watching, shared: Path
) -> None:
    (shared / "a.md").write_text("kettle")
    watching.until(lambda: watching.has("a.md", "kettle"))
    for leftover in home.state.glob("index.db*"):
        leftover.unlink()
    watching.until(home.index_path.exists)
    watching.until(lambda: watching.has("a.md", "kettle"))


def test_a_damaged_index_is_made_anew_when_it_begins(home: Home, shared: Path) -> None:
    (shared / "a.md").write_text("kettle")
    home.index_path.parent.mkdir(exist_ok=True)
    home.index_path.write_bytes(b"no database" * 1000)
    with watched(home) as one:
        assert one.has("a.md", "kettle")
        assert "set aside as index.db.corrupt-" in one.of("warning")[0]


def test_settings_that_no_part_of_it_can_use(home: Home, watching: Watching, shared: Path) -> None:
    before = home.config_path.read_text()
    home.config_path.write_text(before + 'exclude: ["[z-a]"]\n')
    watching.until(lambda: "exclude: bad character range" in "".join(watching.of("warning")))
    home.config_path.write_text(before + 'exclude: ["b.md"]\n')
    (shared / "a.md").write_text("kettle")
    (shared / "b.md").write_text("kettle")
    watching.until(lambda: set(watching.notes()) == {"a.md"})


def test_events_that_are_lost_are_made_up_for(watching: Watching, shared: Path) -> None:
    settle()
    (shared / "a.md").write_text("kettle")
    # What watchdog's log says of an overflow becomes this.
    watching.heard.put(FileChanged(None, ALL))
    watching.until(lambda: watching.has("a.md", "kettle"))


def test_an_overflow_of_the_systems_queue_is_noticed(home: Home, shared: Path) -> None:
    import logging

    with watched(home) as one:
        logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed")
        one.until(lambda: "dropped change events" in " ".join(one.of("update")))
        one.until_idle()


@pytest.mark.soak
def test_where_the_system_tells_of_nothing_it_looks_again_and_again(
    home: Home, shared: Path
) -> None:
    home.edit((("watch", "poll"), "always"), (("watch", "poll_seconds"), 0.2))
    with watched(Home(home.root)) as one:
        assert any("scanned every 0.2 s" in text for text in one.of("warning"))
        (shared / "a.md").write_text("kettle")
        one.until(lambda: one.has("a.md", "kettle"))
        (shared / "a.md").rename(shared / "b.md")
        one.until(lambda: set(one.notes()) == {"b.md"})
        one.until_idle()
        before = len(one.said)
        time.sleep(1)
        assert len(one.said) == before
        (shared / "b.md").unlink()
        one.until(lambda: one.notes() == {})


def test_a_link_to_a_picture_that_comes_later_leads_there(home: Home, shared: Path) -> None:
    home.edit((("watch", "reconcile_seconds"), 1.0))
    with watched(home) as one:
        (shared / "a.md").write_text("kettle ![[picture.png]]")
        one.until(lambda: one.has("a.md", "kettle"))
        one.until_idle()
        (shared / "picture.png").write_bytes(b"")
        with closing(peek(home.index_path)) as index:
            one.until(lambda: index.execute("select how from link").get)


def test_what_no_event_told_of_is_found_by_the_next_look(home: Home, shared: Path) -> None:
    home.edit((("watch", "reconcile_seconds"), 1))
    (shared / "a.md").write_text("kettle")
    settle()
    with watched(Home(home.root)) as one:
        # The system tells of no change that is made through memory.
        with (shared / "a.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[:] = b"zephyr"
        one.until(lambda: one.has("a.md", "zephyr"))


def test_there_is_one_for_a_home(home: Home, watching: Watching) -> None:
    second = Watching(home)
    second._thread.join(20)
    assert isinstance(second.error, Busy)
    assert f"process {os.getpid()} already watches {home.root};" in str(second.error)
    assert watching.error is None
    assert Djinn(home).status().watcher == os.getpid()


def test_a_broken_note_is_told_once(watching: Watching, shared: Path) -> None:
    for text in ("one", "two"):
        (shared / "a.md").write_text(f"---\ntitle: [\n---\n{text}")
        watching.until(lambda text=text: watching.has("a.md", text))
    watching.until_idle()
    assert len([text for text in watching.of("warning") if "a.md" in text]) == 1


def test_while_another_process_reads_it_waits(home: Home, watching: Watching, shared: Path) -> None:
    from djinn_memory.system.locks import lock

    with lock(home.state / "index.lock"):
        (shared / "a.md").write_text("kettle")
        time.sleep(1.5)
        assert watching.notes() == {}
    watching.until(lambda: watching.has("a.md", "kettle"))


@pytest.mark.soak
def test_words_are_found_while_the_model_cannot_be_had(home: Home, shared: Path) -> None:
    home.edit(
        (("embedding", "provider"), "ollama"),
        (("embedding", "model"), "nobody"),
        (("embedding", "url"), "http://127.0.0.1:9"),
    )
    home.trust(home.untrusted)
    one = Watching(home)
    try:
        (shared / "a.md").write_text("kettle zephyr")
        one.until(lambda: one.of("warning"))
        one.until(lambda: "kettle" in one.words().get("a.md", ""))
        (shared / "b.md").write_text("kettle zephyr")
        one.until(lambda: "kettle" in one.words().get("b.md", ""))
    finally:
        one.stop()
    assert one.error is None
    assert {hit.path for hit in Djinn(home).search("kettle", mode="words").hits} == {"a.md", "b.md"}


def test_what_hooks_record_becomes_episodes(home: Home, watching: Watching) -> None:
    record(home, prompt("Where is the zephyr?"), stop("In the kettle."))
    watching.until(lambda: spool_of(home).size() == 0)
    watching.until(lambda: any("zephyr" in text for text in words_of(home, "me").values()))
    watching.until_idle()
    assert watching.of("warning") == []


def words_of(home: Home, vault: str) -> dict[str, str]:
    """The texts of the journals of a vault, by name."""
    folder = home.root / "vaults" / vault / "journal"
    return {path.name: path.read_text() for path in folder.glob("*.md")}
