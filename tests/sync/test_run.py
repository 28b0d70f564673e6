"""Two homes and a server: what becomes of a note that one of them, or both, changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from djinn_memory.errors import NotFound, Refused
from djinn_memory.store.postgres.connection import connect
from djinn_memory.store.postgres.notes import remove_tombstones
from djinn_memory.sync.notes.base_texts import BaseTexts
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, SCOPE, SyncedHome, register


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


def test_disjoint_changes_are_merged_if_the_settings_say_so(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    ben.base_texts = BaseTexts(ben.home.state / "sync-texts")
    text = "".join(f"line {number}\n" for number in range(10))
    anna.write("a.md", text)
    anna.write("b.md", text)
    anna.sync()
    ben.sync()
    for name in ("a.md", "b.md"):
        anna.write(name, text.replace("line 1\n", "anna\n"))
    ben.write("a.md", text.replace("line 8\n", "ben\n"))
    ben.write("b.md", text.replace("line 1\n", "ben\n"))
    anna.sync()
    result = ben.sync()
    assert len(result.conflicts) == 1
    anna.sync()
    assert anna.notes() == ben.notes()
    both = text.replace("line 1\n", "anna\n").replace("line 8\n", "ben\n")
    assert ben.notes()["a.md"].decode() == both
    assert ben.notes()["b.md"].decode() == text.replace("line 1\n", "anna\n")


def test_a_purge_removes_all_copies_everywhere(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    for name in ("a", "b"):
        anna.write(f"{name}.md", f"# Secret {name}\n\nThe kettle hides the key {name}.\n")
    anna.sync()
    ben.sync()
    anna.djinn.memories.purge("shared:a.md")
    (anna.root / "b.md").unlink()
    assert anna.sync().withdrawn == 2
    with closing(connect(anna.address)) as connection:
        rows = connection.execute("select path, content, purged from notes order by path")
        assert rows.fetchall() == [("a.md", None, True), ("b.md", None, False)]
        assert connection.execute("select count(*) from index_chunks").fetchone() == (0,)
    assert ben.sync().removed == 2
    trashed = [file.name for file in (ben.root / ".trash").rglob("*.md")]
    assert trashed == ["b.md"]
    assert b"kettle hides the key a" not in ben.home.index_path.read_bytes()


def test_a_vault_that_lost_most_notes_deletes_nothing(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    for number in range(30):
        anna.write(f"{number}.md", f"# {number}\n")
    anna.sync()
    ben.sync()
    shutil.rmtree(anna.root)
    with pytest.raises(NotFound, match="folder of vault shared does not exist"):
        anna.sync()
    anna.root.mkdir()
    with pytest.raises(Refused, match="30 of 30 notes of vault shared are missing"):
        anna.sync()
    assert len(ben.notes()) == 30
    assert ben.sync().removed == 0


def test_a_home_without_its_ledger_compares_and_deletes_nothing(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    for name in ("same", "edited", "deleted"):
        anna.write(f"{name}.md", f"# {name}\n")
    anna.sync()
    ben.sync()
    ben.djinn.close()
    ben.home.ledger_path.unlink()
    ben.write("edited.md", "# edited\nben\n")
    (ben.root / "deleted.md").unlink()
    result = ben.sync()
    assert result.withdrawn == 0
    assert len(result.conflicts) == 1
    assert (ben.root / "deleted.md").exists()
    anna.sync()
    assert anna.notes() == ben.notes()


def test_a_home_that_missed_forgotten_deletions_deletes_nothing(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.write("b.md", "# b\n")
    anna.sync()
    ben.sync()
    (anna.root / "a.md").unlink()
    anna.sync()
    with closing(connect(anna.address)) as connection, connection.cursor() as cursor:
        assert remove_tombstones(cursor, SCOPE, 180) == 0
        connection.execute("update notes set written_at = now() - interval '200 days'")
        # A home that is known and active has not seen the deletion yet.
        assert remove_tombstones(cursor, SCOPE, 180) == 0
        connection.execute(
            "update homes set seen_at = now() - interval '200 days' where name = 'ben'"
        )
        assert remove_tombstones(cursor, SCOPE, 180) == 1
    (ben.root / "b.md").unlink()
    result = ben.sync()
    assert (result.removed, result.withdrawn) == (0, 0)
    anna.sync()
    assert anna.notes() == ben.notes() == {"a.md": b"# a\n", "b.md": b"# b\n"}


def test_a_file_that_is_excluded_is_left_alone(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.write("b.md", "# b\n")
    anna.sync()
    ben.sync()
    ben.home.edit((("exclude",), ["a.md"]))
    assert ben.sync().withdrawn == 0
    anna.write("a.md", "# a\nedited\n")
    anna.sync()
    assert ben.sync().waiting == ["a.md"]
    ben.home.edit((("exclude",), None))
    ben.sync()
    assert ben.notes() == anna.notes()


def test_hostile_paths_of_a_server_are_not_written(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.sync()
    for path in ("../../out.md", "/tmp/out.md", ".git/hooks/pre.md", ".obsidian/x.md"):
        with closing(connect(anna.address)) as connection:
            connection.execute("update notes set path = %s", (path,))
        result = ben.sync()
        assert result.waiting == [path]
        assert ben.problems
    assert ben.notes() == {}
    assert not list(ben.home.root.parent.rglob("out.md"))


def test_a_dry_run_changes_nothing(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    assert anna.sync(dry_run=True).sent == 1
    assert ben.sync(dry_run=True).received == 0
    anna.sync()
    assert ben.sync(dry_run=True).received == 1
    assert ben.notes() == {}


def test_pull_and_push_go_one_way(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    ben.write("b.md", "# b\n")
    anna.sync("pull")
    ben.sync("push")
    anna.sync("push")
    assert sorted(anna.notes()) == ["a.md"]
    assert anna.sync("push").waiting == ["b.md"]
    anna.sync("pull")
    assert sorted(anna.notes()) == ["a.md", "b.md"]
    assert sorted(ben.notes()) == ["b.md"]
