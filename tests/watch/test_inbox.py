"""Files that are dropped into the inbox become documents."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.config import edit_user
from djinn_memory.home.home import Home
from djinn_memory.watch.inbox import UnsettledFiles
from tests.memories.library.papers import pdf
from tests.watch.conftest import Watching, watched


@pytest.fixture
def inbox(home: Home) -> Path:
    folder = home.root / "inbox"
    folder.mkdir()
    home.edit((("inbox",), "inbox"))
    return folder


def filed(one: Watching) -> dict[str, str]:
    """The documents in the index, whole."""
    return {path: text for path, text in one.notes().items() if path.startswith("documents/")}


def test_files_become_documents_and_stay_where_they_are(
    home: Home, inbox: Path, tmp_path: Path
) -> None:
    pdf(inbox / "before.pdf", ["a kettle", "a lantern"])
    with watched(home) as one:
        one.until(lambda: "documents/before.md" in filed(one))
        made = pdf(tmp_path / "made.pdf", ["a walnut"])
        shutil.copy(made, inbox / "copied.pdf")
        (inbox / "deep").mkdir()
        made.replace(inbox / "deep" / "moved.txt")
        (inbox / "deep" / "plain.txt").write_text("a falcon")
        one.until(lambda: {"documents/copied.md", "documents/plain.md"} <= filed(one).keys())
        one.until(lambda: len(one.of("ingest")) >= 3)
    assert Djinn(home).search("walnut", mode="words").hits[0].filename in (
        "copied.pdf",
        "moved.txt",
    )
    assert (inbox / "before.pdf").is_file()


def test_a_file_is_taken_when_it_looked_the_same_for_a_while(tmp_path: Path) -> None:
    """Whatever the clock that gave it its time says."""
    path, waiting = tmp_path / "a.txt", UnsettledFiles()
    for year in (1980, 2400):
        path.write_text("a")
        os.utime(path, (0, (year - 1970) * 31_557_600))
        waiting.add(str(path))
        assert waiting.ready(10.0, {}) == {}
        assert waiting.ready(10.5, {}) == {}
        path.write_text("a kettle")
        os.utime(path, (0, (year - 1970) * 31_557_600))
        assert waiting.ready(11.0, {}) == {}
        waiting.add(str(path))
        assert waiting.ready(11.5, {}) == {}
        found = waiting.ready(12.0, {})
        assert list(found) == [str(path)]
        assert not waiting
        waiting.add(str(path))
        assert waiting.ready(20.0, found) == {}
        assert not waiting


def test_a_file_that_is_still_being_copied_is_waited_for(home: Home, inbox: Path) -> None:
    whole = pdf(home.root / "whole.pdf", ["a kettle", "a lantern"]).read_bytes()
    with watched(home) as one:
        with (inbox / "slow.pdf").open("wb") as file:
            for at in range(0, len(whole), len(whole) // 6):
                file.write(whole[at : at + len(whole) // 6])
                file.flush()
        (inbox / "browser.pdf.part").write_bytes(whole)
        one.until(lambda: "documents/slow.md" in filed(one))
        (inbox / "browser.pdf.part").rename(inbox / "browser.pdf.crdownload")
        assert set(filed(one)) == {"documents/slow.md"}


def test_a_file_from_a_clock_that_is_ahead_is_taken(home: Home, inbox: Path) -> None:
    (inbox / "early.txt").write_text("a kettle")
    os.utime(inbox / "early.txt", (time.time() + 1e6, time.time() + 1e6))
    with watched(home) as one:
        one.until(lambda: "documents/early.md" in filed(one))


def test_one_that_is_written_for_long_does_not_hold_up_the_others(home: Home, inbox: Path) -> None:
    with watched(home) as one, (inbox / "slow.txt").open("w") as file:
        (inbox / "quick.txt").write_text("a kettle")

        def meanwhile() -> bool:
            file.write("a lantern ")
            file.flush()
            return "documents/quick.md" in filed(one)

        one.until(meanwhile)
        assert set(filed(one)) == {"documents/quick.md"}


@pytest.mark.few(1)
@pytest.mark.parametrize("poll", ["auto", "always"])
def test_an_inbox_that_goes_and_comes_back(home: Home, inbox: Path, poll: str) -> None:
    home.edit((("watch", "poll"), poll))
    home.edit((("watch", "poll_seconds"), 0.3))
    with watched(home) as one:
        inbox.rmdir()
        time.sleep(1.5)
        inbox.mkdir()
        (inbox / "a.txt").write_text("a kettle")
        one.until(lambda: "documents/a.md" in filed(one))


def test_what_cannot_be_read_costs_only_itself(home: Home, inbox: Path) -> None:
    with watched(home) as one:
        (inbox / "broken.pdf").write_bytes(b"%PDF-1.4 and nothing more")
        os.mkfifo(inbox / "pipe.pdf")
        (inbox / "link.txt").symlink_to(inbox / "link.txt")
        (inbox / "good.txt").write_text("a kettle")
        one.until(lambda: "documents/good.md" in filed(one))
        one.until(lambda: [text for text in one.of("warning") if "broken.pdf" in text])
    with watched(home) as one:
        one.until(lambda: [text for text in one.of("warning") if "broken.pdf" in text])
        assert one.of("ingest") == []


def test_an_inbox_that_is_missing_is_told_and_taken_when_it_comes(home: Home) -> None:
    home.edit((("inbox",), "later"), (("watch", "poll_seconds"), 0.2))
    with watched(Home(home.root)) as one:
        assert [text for text in one.of("warning") if "does not exist" in text]
        (home.root / "later").mkdir()
        (home.root / "later" / "a.txt").write_text("a kettle")
        one.until(lambda: "documents/a.md" in filed(one))


@pytest.mark.parametrize("named", [".", ".djinn", "vaults", "vaults/me", ".djinn/locks"])
def test_what_djinn_lives_by_is_no_inbox(home: Home, named: str) -> None:
    home.edit((("inbox",), named))
    with watched(Home(home.root)) as one:
        assert [text for text in one.of("warning") if text.startswith("inbox: ")]
        assert one.of("ingest") == []


def test_what_failed_is_not_told_again_when_settings_change(home: Home, inbox: Path) -> None:
    (inbox / "broken.pdf").write_bytes(b"%PDF-1.4 and nothing more")
    with watched(home) as one:
        one.until(lambda: [text for text in one.of("warning") if "broken.pdf" in text])
        home.edit((("search", "limit"), 7))
        one.until(lambda: len(one.of("start")) == 2)
        (inbox / "good.txt").write_text("a kettle")
        one.until(lambda: "documents/good.md" in filed(one))
        assert len([text for text in one.of("warning") if "broken.pdf" in text]) == 1


def test_a_folder_elsewhere_is_the_users_own_to_name(home: Home, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.txt").write_text("a kettle")
    home.edit((("inbox",), str(elsewhere)))
    with watched(home) as one:
        assert [text for text in one.of("warning") if "is outside the home" in text]
        assert one.of("ingest") == []
    edit_user(("inbox",), str(elsewhere))
    with watched(Home(home.root)) as one:
        one.until(lambda: "documents/secret.md" in filed(one))


@pytest.mark.soak
def test_where_the_system_tells_of_nothing_the_inbox_is_looked_at_too(
    home: Home, inbox: Path
) -> None:
    home.edit((("watch", "poll"), "always"), (("watch", "poll_seconds"), 0.3))
    with watched(Home(home.root)) as one:
        (inbox / "late.txt").write_text("a kettle")
        one.until(lambda: "documents/late.md" in filed(one))
