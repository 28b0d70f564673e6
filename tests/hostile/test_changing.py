"""Files that vanish, change and turn into other things while they are read."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.hostile.running import started
from tests.indexing.content import content
from tests.indexing.vaults import fill


def _stir(folder: Path, until: threading.Event) -> None:
    """Do to one note after another what other programs may do, until told to stop."""
    dice = random.Random(5)
    while not until.is_set():
        note = folder / f"note-{dice.randrange(300):05}.md"
        with suppress(OSError):
            match dice.randrange(7):
                case 0:
                    note.unlink()
                case 1:
                    note.rename(folder / f"moved-{dice.randrange(300)}.md")
                case 2:
                    note.unlink(missing_ok=True)
                    os.mkfifo(note)
                case 3:
                    note.unlink(missing_ok=True)
                    note.mkdir()
                case 4:
                    note.unlink(missing_ok=True)
                    note.symlink_to("/etc/passwd")
                # Not through a link: root could write into the file outside.
                case 5 if note.is_file() and not note.is_symlink():
                    note.write_text(f"changed {dice.random()}\n" * dice.randrange(200))
                case _:
                    inner = folder / "inner"
                    inner.mkdir(exist_ok=True)
                    (inner / "a.md").write_text("inner")
                    shutil.rmtree(inner)
        time.sleep(0.0005)


@pytest.mark.soak
def test_a_vault_that_changes_while_it_is_read(home: Home, shared: Path) -> None:
    fill(shared, 300, words=40)
    until = threading.Event()
    stirring = threading.Thread(target=_stir, args=(shared, until))
    stirring.start()
    try:
        for _ in range(3):
            done = started(home, "index", "--rebuild", seconds=60)
            assert done.code in (0, 1), done
            assert "cannot be understood" not in done.stderr
    finally:
        until.set()
        stirring.join()
    Djinn(home).index()
    after = content(home.index_path)
    for path in home.state.glob("index.db*"):
        path.unlink()
    Djinn(home).index()
    fresh = content(home.index_path)
    assert {row[0] for row in after["notes"]} == {row[0] for row in fresh["notes"]}
    assert after["chunks"] == fresh["chunks"]
    assert after["links"] == fresh["links"]
