"""Notes and settings that somebody saves just when djinn writes them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Changed, Refused
from djinn_memory.home.home import Home
from djinn_memory.system.files import replace
from djinn_memory.system.yaml_edit import load
from tests.memories.library.papers import fields, put


@pytest.fixture
def me(home: Home) -> Path:
    return home.root / "vaults" / "me" / "documents"


class Scribe:
    """An editor that adds a line to a file again and again, over what it has read only."""

    def __init__(self, path: Path, pause: float, form: str = "line {}") -> None:
        self.path, self.pause, self.form = path, pause, form
        self.saved: list[str] = []
        self.still = threading.Lock()
        """Held by who wants nothing to be saved."""

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Save all the while."""
        over, dice = threading.Event(), random.Random(7)

        def work() -> None:
            while not over.is_set():
                with self.still:
                    self._save()
                time.sleep(dice.uniform(0, 2 * self.pause))

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _save(self) -> None:
        line = self.form.format(len(self.saved))
        was = self.path.read_bytes()
        with suppress(Changed):
            replace(self.path, was + f"{line}\n".encode(), was)
            self.saved.append(line)


def rounds(scribe: Scribe, saves: int) -> Iterator[int]:
    """At least ten, and until an editor has saved so often."""
    for number in count():
        if number >= 10 and len(scribe.saved) >= saves:
            return
        yield number


def test_cutting_anew_keeps_what_an_editor_saves(home: Home, me: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("kettle " * 300)
    djinn = Djinn(home)
    put(djinn, tmp_path / "a.txt")
    scribe = Scribe(me / "a.md", 0.05)
    with scribe.busy():
        for number in rounds(scribe, 15):
            with suppress(Refused):
                djinn.documents.reprocess("a.txt", chunk_size=150 + number % 50)
            with scribe.still:
                djinn.documents.reprocess("a.txt", chunk_size=200 + number % 50)
                assert fields(me / "a.md")["chunk_size"] == str(200 + number % 50)
    assert set(scribe.saved) <= set((me / "a.md").read_text().splitlines())


@pytest.mark.soak
def test_a_new_version_keeps_what_an_editor_saves_in_the_old(
    home: Home, me: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("kettle")
    djinn = Djinn(home)
    put(djinn, path)
    scribe = Scribe(me / "a.md", 0.05)
    done = 1
    with scribe.busy():
        for number in rounds(scribe, 15):
            path.write_text(f"kettle {number}")
            done += put(djinn, path).done
            path.write_text(f"lantern {number}")
            with scribe.still:
                assert put(djinn, path).done == 1
            done += 1
    texts = [note.read_text() for note in (me / "a.md", *(me / ".history").glob("*.md"))]
    lines = {line for text in texts for line in text.splitlines()}
    assert set(scribe.saved) <= lines
    # No try that was given up left a version behind.
    assert len(texts) == done == int(fields(me / "a.md")["version"])
    assert len(list((me / ".history").glob("*.txt"))) == done - 1


def test_settings_are_merged_with_what_an_editor_saves(home: Home) -> None:
    scribe = Scribe(home.config_path, 0.02, "# remark {}")
    with scribe.busy():
        for number in rounds(scribe, 15):
            with suppress(Changed):
                home.edit((("search", "limit"), 5 + number % 50))
            with scribe.still:
                home.edit((("search", "limit"), 55 + number % 40))
    assert set(scribe.saved) <= set(home.config_path.read_text().splitlines())
    assert load(home.config_path.read_text())["search"]["limit"] == 55 + number % 40


def test_a_note_that_was_changed_while_the_person_was_asked_stays(home: Home, shared: Path) -> None:
    note = shared / "a.md"
    note.write_text("one")
    djinn = Djinn(home)
    digest = djinn.memories.find("a").digest
    note.write_text("two")
    with pytest.raises(Changed, match="was changed by another program"):
        djinn.memories.delete("a", digest=digest)
    assert note.read_text() == "two"
    moved_to = djinn.memories.delete("a").moved_to
    assert moved_to and moved_to.read_text() == "two"


def test_a_document_with_a_new_version_stays(home: Home, me: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("kettle one")
    djinn = Djinn(home)
    put(djinn, path)
    seen = djinn.documents.find("a.txt")
    path.write_text("kettle two")
    put(djinn, path)
    with pytest.raises(Refused, match=r"a\.txt has a newer version; check it"):
        djinn.documents.remove("a.txt", document_id=seen.document_id, version=seen.version)
    assert (me / "a.md").exists()
    seen = djinn.documents.find("a.txt")
    djinn.documents.remove("a.txt", document_id=seen.document_id, version=seen.version)
    assert not (me / "a.md").exists()
