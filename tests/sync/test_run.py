"""Two homes and a server: what becomes of a note that one of them, or both, changed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import ANY
from uuid import uuid4

import pytest
from msgspec.structs import replace

from djinn_memory.embedding.calibration import HashingEmbedder
from djinn_memory.errors import NotFound, Refused
from djinn_memory.models import Progress, silent
from djinn_memory.store.index.memories import window_hashes
from djinn_memory.store.ledger.sync_state import PlannedStep, bases, plan, record_bases, see, seen
from djinn_memory.store.postgres.connection import ServerLost, connect
from djinn_memory.store.postgres.migrations import VectorModel
from djinn_memory.store.postgres.notes import prune_history
from djinn_memory.store.postgres.servers import URL, ServerConnection
from djinn_memory.sync.notes import push
from djinn_memory.sync.notes.files import BaseTexts, VaultFiles
from djinn_memory.sync.run import exchange
from djinn_memory.sync.verification import compare
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
    foreseen = ben.sync(dry_run=True)
    result = ben.sync()
    [copy] = result.conflicts
    assert copy.startswith("a (conflict ben ")
    # The copy is sent too.
    assert (result.received, result.sent) == (1, 1)
    assert foreseen == result
    assert ben.notes() == {"a.md": b"# a\nanna\n", copy: b"# a\nben\n"}
    anna.sync()
    assert anna.notes() == ben.notes()


def test_a_conflict_copy_knows_its_note_in_each_home(
    homes: tuple[SyncedHome, SyncedHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.sync()
    ben.sync()
    anna.write("a.md", "# a\nanna\n")
    ben.write("a.md", "# a\nben\n")
    anna.sync()
    [copy] = ben.sync().conflicts
    (ben.root / "a.md").rename(ben.root / "renamed.md")
    ben.sync()
    anna.sync()
    monkeypatch.setenv(URL, anna.address.conninfo)
    for home in homes:
        [listed] = home.djinn.sync.conflicts().conflicts
        assert (listed.path, listed.original) == (copy, "renamed.md")


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


def test_a_large_note_is_announced_before_it_is_sent(
    homes: tuple[SyncedHome, SyncedHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, _ = homes
    monkeypatch.setattr(push, "LARGE_BYTES", 600_000)
    anna.write("large.md", "A kettle sings.\n" * 40_000)
    anna.write("small.md", "# Small\n")
    reports: list[Progress] = []
    anna.djinn.runtime.progress = reports.append
    anna.sync()
    stages = [each.stage for each in reports]
    assert reports[stages.index("wait")].note == "sending shared/large.md (1 MB)"
    assert stages.count("wait") == 1 and stages.index("wait") < stages.index("push")


def test_attachments_travel_up_to_a_size(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    (anna.root / "img").mkdir()
    (anna.root / "img/a.png").write_bytes(bytes(range(256)) * 100)
    (anna.root / "large.bin").write_bytes(b"x" * 200_000)
    assert anna.sync().too_large == ["large.bin"]
    [large] = ben.sync().elsewhere
    assert large.path == "large.bin" and anna.sync().elsewhere == []
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


class Busy(VaultFiles):
    """Files of a vault of which a program saves one after it was written, or read for a push."""

    saved = b""
    reads = 0

    def read(self, path: str) -> bytes | None:
        data = super().read(path)
        self.reads += 1
        if self.reads == 2:
            self._save(path)
        return data

    def create(self, path: str, data: bytes) -> None:
        super().create(path, data)
        self._save(path)

    def _save(self, path: str) -> None:
        if self.saved:
            self.vault.root.joinpath(path).write_bytes(self.saved)


@pytest.mark.parametrize("name", ["anna", "ben"])
def test_attachments_that_a_program_saves_meanwhile(
    homes: tuple[SyncedHome, SyncedHome], name: str
) -> None:
    anna, ben = homes
    (anna.root / "a.png").write_bytes(b"first")
    if name == "ben":
        anna.sync()
    home = anna if name == "anna" else ben
    with home.link() as link:
        link.files = files = Busy(link.vault)
        for files.saved in (b"saved", b""):
            exchange(link)
    for home in (anna, ben, anna, ben):
        home.sync()
    assert anna.notes() == ben.notes() == {"a.png": b"saved"}


def test_attachments_are_not_merged(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    ben.base_texts = BaseTexts(ben.home.state / "sync-texts")
    text = "".join(f"line {number}\n" for number in range(10))
    for name in ("a.md", "a.txt"):
        anna.write(name, text)
    anna.sync()
    ben.sync()
    anna.write("a.txt", text.replace("line 1\n", "anna\n"))
    anna.sync()
    ben.write("a.txt", text.replace("line 8\n", "ben\n"))
    assert len(ben.sync().conflicts) == 1
    anna.sync()
    assert anna.notes() == ben.notes()


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


def test_a_merge_needs_a_text_that_the_server_still_has(
    homes: tuple[SyncedHome, SyncedHome], postgres: DatabaseServer
) -> None:
    anna, ben = homes
    ben.base_texts = BaseTexts(ben.home.state / "sync-texts")
    backup = postgres.copy(anna.address)
    anna.write("a.md", "old\n")
    anna.sync()
    ben.sync()
    ben.write("a.md", "new\n")
    ben.sync()
    anna.address = ben.address = backup
    # Ben has the new text as the one that both had. It must not become that of Anna, who never did.
    anna.write("a.md", "other\n")
    anna.sync()
    [copy] = ben.sync().conflicts
    assert ben.notes() == {"a.md": b"other\n", copy: b"new\n"}


def test_a_text_that_a_home_had_is_no_conflict_on_a_restored_server(
    homes: tuple[SyncedHome, SyncedHome], postgres: DatabaseServer
) -> None:
    """Another home sends its older text to the restored server before this one is there."""
    anna, ben = homes
    backup = postgres.copy(anna.address)
    for name in ("sent.md", "edited.md", "renamed.md", "data.txt"):
        anna.write(name, f"the oldest text of {name}\n")
    anna.sync()
    for name in ("sent.md", "edited.md", "data.txt"):
        anna.write(name, f"an old text of {name}\n")
    anna.sync()
    ben.sync()
    for home in homes:
        home.sync()
    for name in ("sent.md", "data.txt"):
        for version in range(3):
            ben.write(name, f"new text {version} of {name}\n")
            ben.sync()
    anna.address = ben.address = backup
    anna.sync()
    for name in ("sent.md", "edited.md", "data.txt"):
        ben.write(name, f"the newest text of {name}\n")
    (ben.root / "renamed.md").rename(ben.root / "new name.md")
    foreseen = ben.sync(dry_run=True)
    result = ben.sync()
    assert foreseen == result
    assert (result.conflicts, result.received, result.sent) == ([], 0, 4)
    anna.sync()
    assert anna.notes() == ben.notes()
    assert anna.notes() == {
        **{
            name: f"the newest text of {name}\n".encode()
            for name in ("data.txt", "edited.md", "sent.md")
        },
        "new name.md": b"the oldest text of renamed.md\n",
    }


def test_an_older_text_that_another_home_restored_is_taken(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    """A server that was not restored: a home that goes back to an older text means it."""
    anna, ben = homes
    for text in ("old\n", "new\n"):
        anna.write("a.md", text)
        anna.sync()
        ben.sync()
    ben.write("a.md", "old\n")
    ben.sync()
    assert anna.sync().received == 1
    assert anna.notes() == {"a.md": b"old\n"}


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
        assert rows.fetchall() == [(ANY, None, True), ("b.md", None, False)]
        assert connection.execute("select count(*) from index_chunks").fetchone() == (0,)
    assert ben.sync().removed == 2
    trashed = [file.name for file in (ben.root / ".trash").rglob("*.md")]
    assert trashed == ["b.md"]
    assert b"kettle hides the key a" not in ben.home.index_path.read_bytes()


def test_a_purge_that_fails_in_another_home_is_done_by_its_next_run(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    for name in ("a", "b", "kept", "trashed"):
        anna.write(f"{name}.md", f"# Note {name}\n\nThe kettle hides the key {name}.\n")
    anna.sync()
    ben.sync()
    for home in homes:
        home.djinn.memories.delete("shared:trashed.md")
        home.sync()
    state = ben.djinn.runtime.state
    hashes = window_hashes(state.index)
    ben.djinn.gaps.report(description="The kettle hides the key a.")
    for name in ("a", "b", "trashed"):
        anna.djinn.memories.purge(f"shared:{name}.md")
    anna.write("new.png", "new")
    for home in (anna, ben, anna):
        cache = home.djinn.runtime.state.cache._connection
        cache.pragma("query_only", home is ben)
        home.sync()
    assert [problem.what for problem in ben.problems] == [
        "shared/a.md", "shared/b.md", "shared/.trash/trashed.md",
    ]  # fmt: skip
    assert all(
        re.fullmatch(
            r"was purged elsewhere and cannot be removed: \S+embeddings.db cannot be written: .+; "
            "the next run tries again",
            problem.why,
        )
        for problem in ben.problems
    )
    assert sorted(ben.notes()) == ["a.md", "b.md", "kept.md", "new.png"]
    assert ben.sync().waiting == [".trash/trashed.md", "a.md", "b.md"]
    with ben.link() as link:
        exchange(link)
        assert link.purges_wait
    state.cache._connection.pragma("query_only", False)
    result = ben.sync()
    assert (result.removed, result.waiting, ben.problems) == (2, [], [])
    assert sorted(ben.notes()) == ["kept.md", "new.png"]
    gone = [*hashes - window_hashes(state.index)]
    assert len(gone) == 2
    assert state.cache.get(HashingEmbedder.identity, gone) == {}
    ben.djinn.close()
    files = [file for file in ben.home.root.rglob("*") if file.is_file()]
    for name in (b"a", b"b", b"trashed"):
        secret = b"hides the key " + name + b"."
        assert [file for file in files if secret in file.read_bytes()] == []


def test_a_purge_leaves_no_word_on_the_server(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, _ = homes
    secret = "zanzibar"
    anna.write(
        f"{secret}.md",
        f"---\ntags: [{secret}]\naliases: [{secret}s]\nowner: {secret}\n---\n"
        f"# The {secret}\n\nA {secret} is [[{secret} two]] {secret}quux.\n",
    )
    anna.write("kept.md", "# Kept\n\nA kettle is two.\n")
    anna.sync()
    assert secret in _server_text(anna)
    anna.djinn.memories.purge(f"shared:{secret}.md")
    anna.sync()
    left = _server_text(anna)
    assert secret not in left and "kettle" in left


def _server_text(home: SyncedHome) -> str:
    """All rows of all tables of the server; bytes as text too."""
    with closing(connect(home.address)) as connection:
        tables = connection.execute(
            "select c.oid::regclass::text, c.relname from pg_class c "
            "where relkind = 'r' and relnamespace = current_schema()::regnamespace"
        ).fetchall()
        rows: list[object] = []
        for table, _ in tables:
            rows += connection.execute(f"select * from {table}".encode()).fetchall()
    return str(rows).lower()


def test_a_purge_forgets_the_name_of_the_file(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("zanzibar.md", "# Zanzibar\n")
    anna.write("b.md", "# b\n")
    anna.sync()
    ben.sync()
    anna.djinn.memories.purge("shared:zanzibar.md")
    for home in (anna, ben, anna, ben):
        home.sync()
    with closing(connect(anna.address)) as connection:
        rows = connection.execute("select path, path_key from notes").fetchall()
    assert "zanzibar" not in str(rows) and ("b.md", "b.md") in rows
    for home in homes:
        home.djinn.close()
        files = [file for file in home.home.root.rglob("*") if file.is_file()]
        assert [file for file in files if b"zanzibar" in file.read_bytes().lower()] == []


def test_a_purge_reaches_the_trash_of_other_homes(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    for name in ("first", "second", "third"):
        anna.write(f"{name}.md", f"# Secret {name}\n\nThe kettle hides the key {name}.\n")
    anna.sync()
    ben.sync()
    # Both have the first and the third in the trash, and Ben alone the second.
    for name in ("first", "third"):
        anna.djinn.memories.delete(f"shared:{name}.md")
    anna.sync()
    ben.djinn.memories.delete("shared:second.md")
    ben.sync()
    anna.djinn.memories.purge("shared:first.md")
    anna.djinn.memories.purge("shared:second.md")
    for home in (anna, ben, anna, ben):
        home.sync()
    for home in homes:
        assert [file.name for file in (home.root / ".trash").rglob("*.md")] == ["third.md"]
    home_files = [file for file in ben.home.root.rglob("*") if file.is_file()]
    for name in (b"first", b"second"):
        secret = b"hides the key " + name
        assert [file for file in home_files if secret in file.read_bytes()] == []


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
    with pytest.raises(Refused, match="30 of 30 files of vault shared are missing"):
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
        assert prune_history(cursor, SCOPE, 180) == 0
        connection.execute("update notes set written_at = now() - interval '200 days'")
        # A home that is known and active has not seen the deletion yet.
        assert prune_history(cursor, SCOPE, 180) == 0
        connection.execute(
            "update homes set seen_at = now() - interval '200 days' where name = 'ben'"
        )
        assert prune_history(cursor, SCOPE, 180) == 1
    (ben.root / "b.md").unlink()
    result = ben.sync()
    assert (result.removed, result.withdrawn) == (0, 0)
    anna.sync()
    assert anna.notes() == ben.notes() == {"a.md": b"# a\n", "b.md": b"# b\n"}


def test_marks_of_old_revisions_go_but_for_those_that_homes_have_seen_last(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.write("b.md", "# b\n")
    anna.sync()
    ben.sync()
    for number in range(5):
        anna.write("a.md", f"# a\n{number}\n")
        anna.sync()
    with closing(connect(anna.address)) as connection, connection.cursor() as cursor:
        connection.execute("update revisions set written_at = now() - interval '200 days'")
        revs = "select array_agg(rev order by rev) from revisions"
        assert prune_history(cursor, SCOPE, 180) == 0
        # A home that is known and active needs all that it has not seen.
        assert cursor.execute(revs).fetchone() == ([1, 2, 3, 4, 5, 6],)
        connection.execute(
            "update homes set seen_at = now() - interval '200 days' where name = 'ben'"
        )
        assert prune_history(cursor, SCOPE, 180) == 0
        assert cursor.execute(revs).fetchone() == ([1, 6],)


@pytest.mark.few(1)
@pytest.mark.parametrize("away", [1, 2])
def test_a_home_whose_marks_were_forgotten_loses_nothing(
    homes: tuple[SyncedHome, SyncedHome], away: int
) -> None:
    anna, ben = homes
    for name in ("a", "b", "c"):
        anna.write(f"{name}.md", f"# {name}\n")
    anna.sync()
    ben.sync()
    for time in range(away):
        # Marks that a home has seen after its last look at the notes come from events.
        ledger = ben.djinn.runtime.state.ledger
        see(ledger, SCOPE, {max(seen(ledger, SCOPE)) + 1: SCOPE})
        anna.write("a.md", f"# a\nanna {time}\n")
        anna.sync()
        anna.write("a.md", f"# a\nanna {time}, again\n")
        anna.sync()
        with closing(connect(anna.address)) as connection, connection.cursor() as cursor:
            connection.execute("update revisions set written_at = now() - interval '200 days'")
            connection.execute(
                "update homes set seen_at = now() - interval '200 days' where name = 'ben'"
            )
            prune_history(cursor, SCOPE, 180)
        ben.write("b.md", f"# b\nben {time}\n")
        (ben.root / "c.md").unlink()
        result = ben.sync()
        # What it knew is no conflict. Deletions are taken back, since others may be forgotten.
        assert (result.conflicts, result.withdrawn, result.received) == ([], 0, 2)
        anna.sync()
        assert anna.notes() == ben.notes()
        assert ben.notes() == {
            "a.md": b"# a\nanna %d, again\n" % time, "b.md": b"# b\nben %d\n" % time,
            "c.md": b"# c\n",
        }  # fmt: skip


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
    assert not any(ben.sync_tables().values())


def test_a_dry_run_foresees_what_follows_a_kill_and_a_restore(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    for name in "abc":
        anna.write(f"{name}.md", f"# {name}\n")
    anna.sync()
    ben.sync()
    [step] = [
        PlannedStep(note_id, "pull", base.path, base.hash, base.path, base.hash, base.rev)
        for note_id, base in bases(ben.djinn.runtime.state.ledger, SCOPE).items()
        if base.path == "a.md"
    ]
    # The file was written, and the home was killed before it recorded that.
    record_bases(ben.djinn.runtime.state.ledger, SCOPE, {step.note_id: None})
    plan(ben.djinn.runtime.state.ledger, SCOPE, [step])
    # The server is older than what the home saw, and lacks a note.
    with closing(connect(anna.address)) as connection:
        connection.execute("update revisions set mark = %s", (uuid4(),))
        connection.execute("delete from notes where path = 'b.md'")
    before = ben.sync_tables()
    foreseen = ben.sync(dry_run=True)
    assert ben.sync_tables() == before
    assert foreseen == ben.sync()
    assert (foreseen.sent, foreseen.removed) == (1, 0)


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


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that homes embed."""
    texts_so_far: list[str] = []
    embed = HashingEmbedder.embed

    def counted(self: HashingEmbedder, texts: Sequence[str], **options: Any) -> Any:
        texts_so_far.extend(texts)
        return embed(self, texts, **options)

    monkeypatch.setattr(HashingEmbedder, "embed", counted)
    return texts_so_far


def test_a_home_that_was_killed_after_it_received_notes_embeds_nothing(
    homes: tuple[SyncedHome, SyncedHome], embedded: list[str]
) -> None:
    anna, ben = homes
    for number in range(5):
        anna.write(f"{number}.md", f"# Note {number}\n\nThe lamp of harbour {number} is green.\n")
    ben.write("4.md", "# Note 4\n\nThe lamp of harbour 4 is green.\n")
    anna.sync()
    embedded.clear()

    def killed(progress: Progress) -> None:
        if progress.stage == "pull":
            raise KeyboardInterrupt

    with ben.link() as link:
        link.runtime.progress = killed
        with pytest.raises(KeyboardInterrupt):
            exchange(link)
        link.runtime.progress = silent
    ben.sync()
    assert embedded == []


def test_a_second_home_embeds_nothing(
    homes: tuple[SyncedHome, SyncedHome], embedded: list[str]
) -> None:
    anna, ben = homes
    for number in range(5):
        anna.write(f"{number}.md", f"# Note {number}\n\nThe lamp of harbour {number} is green.\n")
    anna.sync()
    embedded.clear()
    ben.sync()
    assert embedded == []
    question = "green lamp of harbour 3"
    hits = [ben.djinn.search(question).hits, anna.djinn.search(question).hits]
    assert [hit.path for hit in hits[0]] == [hit.path for hit in hits[1]]
    assert [hit.score for hit in hits[0]] == [hit.score for hit in hits[1]]
    assert embedded == [question] * 2


def test_a_home_with_another_model_sends_no_vectors(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, _ = homes
    anna.write("a.md", "# a\n")
    with anna.link() as link:
        state = replace(link.server.state, model=VectorModel("another", 384, 1.0, 0.0))
        link.server = ServerConnection(link.server.connection, anna.address, state)
        with pytest.raises(Refused, match="has vectors of the model another"):
            exchange(link)


def test_a_lost_connection_is_resumed(
    homes: tuple[SyncedHome, SyncedHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, ben = homes
    monkeypatch.setattr(push, "BATCH", 2)
    for number in range(9):
        anna.write(f"{number}.md", f"# {number}\n")
    with anna.link() as link, closing(connect(anna.address)) as administrator:

        def cut(progress: Progress) -> None:
            if progress.stage == "push" and progress.done >= 4:
                pid = link.server.connection.info.backend_pid
                administrator.execute("select pg_terminate_backend(%s::int)", (pid,))

        link.runtime.progress = cut
        with pytest.raises(ServerLost, match="run the command again"):
            exchange(link)
        link.runtime.progress = silent
    anna.write("0.md", "# 0\nedited since\n")
    result = anna.sync()
    assert (result.sent, result.conflicts) == (6, [])
    ben.sync()
    assert ben.notes() == anna.notes()


def test_an_edit_after_an_unacknowledged_push_is_no_conflict(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.sync()
    ben.sync()
    ledger = anna.djinn.runtime.state.ledger
    before = bases(ledger, SCOPE)
    anna.write("a.md", "# a\nfirst\n")
    anna.write("new.md", "# new\n")
    anna.sync()
    # The server has the changes, and the home was killed before it learned that.
    after = bases(ledger, SCOPE)
    steps = [
        PlannedStep(
            note_id, "push", base.path, base.hash, base.path, base.hash,
            before[note_id].rev if note_id in before else 0,
        )
        for note_id, base in after.items()
    ]  # fmt: skip
    record_bases(ledger, SCOPE, {note_id: before.get(note_id) for note_id in after})
    plan(ledger, SCOPE, steps)
    anna.write("a.md", "# a\nsecond\n")
    anna.write("new.md", "# new\nsecond\n")
    result = anna.sync()
    assert (result.sent, result.conflicts) == (2, [])
    ben.sync()
    assert ben.notes() == anna.notes()
    assert len(anna.notes()) == 2


def test_a_read_only_vault_is_sent_and_never_written(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    ben.write("b.md", "# b\n")
    ben.home.edit((("vaults", "shared", "read_only"), True))
    anna.sync()
    result = ben.sync()
    assert (result.sent, result.waiting) == (1, ["a.md"])
    assert sorted(ben.notes()) == ["b.md"]


def test_verify_names_what_differs(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    for name in ("same", "here", "there", "damaged"):
        anna.write(f"{name}.md", f"# {name}\n")
    anna.sync()
    ben.sync()
    ben.write("here.md", "# edited\n")
    ben.write("new.md", "# new\n")
    anna.write("there.md", "# edited\n")
    anna.sync()
    with closing(connect(anna.address)) as connection:
        connection.execute("update notes set content = 'x' where path = 'damaged.md'")
    with ben.link() as link:
        compared, drifts = compare(link)
    assert compared == 4
    assert {drift.path: drift.why for drift in drifts} == {
        "damaged.md": "is damaged on the server: its bytes do not match its hash; "
        "run `djinn sync backfill --all`",
        "here.md": "was changed here since the last run",
        "new.md": "is not on the server yet",
        "there.md": "was changed on the server since the last run",
    }


def test_the_planner_knows_the_tables_after_a_large_load(
    homes: tuple[SyncedHome, SyncedHome], postgres: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not postgres.server:
        pytest.skip("a cluster keeps these numbers in its shards")
    anna, _ = homes
    monkeypatch.setattr("djinn_memory.sync.notes.derived.MANY_NOTES", 3)

    def known() -> float:
        with closing(connect(anna.address)) as connection:
            row = connection.execute(
                "select reltuples from pg_class where oid = 'index_memories'::regclass"
            ).fetchone()
        assert row
        return float(row[0])

    for names in ("ab", "cde"):
        before = known()
        for name in names:
            anna.write(f"{name}.md", f"# {name}\n")
        anna.sync()
        assert known() == (5 if len(names) == 3 else before)


def test_verify_takes_what_is_not_synchronized_for_no_deletion(
    homes: tuple[SyncedHome, SyncedHome],
) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.write("b.md", "# b\n")
    anna.write("c.png", "c")
    anna.sync()
    ben.sync()
    ben.home.edit((("exclude",), ["a.md"]))
    (ben.root / "c.png").unlink()
    with ben.link() as link:
        link.attachment_bytes = 0
        compared, [drift] = compare(link)
    assert (compared, drift.path) == (1, "a.md")
    assert "it is excluded" in drift.why
