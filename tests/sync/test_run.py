"""Two homes and a server: what becomes of a note that one of them, or both, changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, SyncedHome, register


@pytest.fixture
def homes(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer
) -> Iterator[tuple[SyncedHome, SyncedHome]]:
    with postgres.migrated(HASHING) as address:
        register(address)
        yield (
            SyncedHome(tmp_path / "anna", home_template, address),
            SyncedHome(tmp_path / "ben", home_template, address),
        )


def test_notes_travel_byte_for_byte(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# A\r\n\r\ntext")
    anna.write("deep/er/ü.md", "x" * 100_000)
    (anna.root / "raw.md").write_bytes(bytes(range(256)))
    sent = anna.sync()
    assert (sent.sent, sent.received) == (3, 0)
    received = ben.sync()
    assert (received.sent, received.received) == (0, 3)
    assert ben.notes() == anna.notes()
    again = anna.sync()
    assert not (again.sent or again.received or again.waiting)


def test_edits_renames_and_deletions_travel(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    for name in ("a", "b", "c", "d"):
        anna.write(f"{name}.md", f"# {name}\n")
    anna.sync()
    ben.sync()
    ben.write("a.md", "# a\nedited\n")
    (ben.root / "b.md").rename(ben.root / "renamed.md")
    (ben.root / "c.md").unlink()
    ben.write("e.md", "new\n")
    sent = ben.sync()
    assert (sent.sent, sent.withdrawn) == (3, 1)
    received = anna.sync()
    assert (received.received, received.removed) == (3, 1)
    assert anna.notes() == ben.notes()
    assert sorted(anna.notes()) == ["a.md", "d.md", "e.md", "renamed.md"]


def test_both_changed(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.sync()
    ben.sync()
    anna.write("a.md", "# a\nanna\n")
    ben.write("a.md", "# a\nben\n")
    anna.sync()
    result = ben.sync()
    [copy] = result.conflicts
    assert copy.startswith("a (conflict ben ")
    assert ben.notes() == {"a.md": b"# a\nanna\n", copy: b"# a\nben\n"}
    anna.sync()
    assert anna.notes() == ben.notes()


def test_two_exchange_their_names(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "---\nid: mem_aaaaaaaaaaaaaaaa\n---\n# a\n")
    anna.write("b.md", "---\nid: mem_bbbbbbbbbbbbbbbb\n---\n# b\n")
    anna.sync()
    ben.sync()
    (ben.root / "a.md").rename(ben.root / "x.md")
    (ben.root / "b.md").rename(ben.root / "a.md")
    (ben.root / "x.md").rename(ben.root / "b.md")
    ben.sync()
    anna.sync()
    assert anna.notes() == ben.notes()


def test_attachments_travel_up_to_a_size(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    (anna.root / "img").mkdir()
    (anna.root / "img/a.png").write_bytes(bytes(range(256)) * 100)
    (anna.root / "large.bin").write_bytes(b"x" * 200_000)
    assert anna.sync().too_large == ["large.bin"]
    ben.sync()
    assert ben.notes() == {"img/a.png": bytes(range(256)) * 100}
    (ben.root / "img/a.png").rename(ben.root / "b.png")
    ben.sync()
    anna.sync()
    assert sorted(anna.notes()) == ["b.png", "large.bin"]
    (anna.root / "b.png").write_bytes(b"edited")
    (ben.root / "b.png").unlink()
    assert anna.sync().sent == 1
    assert ben.sync().received == 1
    assert ben.notes() == {"b.png": b"edited"}
