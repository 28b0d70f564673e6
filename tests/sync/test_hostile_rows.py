"""Rows of a server that no home can have written: each is one line, and the others are received."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.postgres.connection import connect
from djinn_memory.sync.notes import names
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


def insert(
    home: SyncedHome, path: str, *, table: str = "notes", content: bytes = b"# Hostile\n",
    digest: bytes | None = None, size: int | None = None, rev: int = 5, key: str | None = None,
) -> None:  # fmt: skip
    """Write a row as a hostile program may."""
    with closing(connect(home.address)) as connection:
        connection.execute(
            f"insert into {table} (user_id, note_id, path, path_key, content, hash, size, rev, "
            "home_id) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)".encode(),
            (
                SCOPE, uuid4(), path, key or f"{table} {path[:500]}", content,
                content_hash(content) if digest is None else digest,
                len(content) if size is None else size, rev,
                uuid4(),
            ),
        )  # fmt: skip


PATHS = {
    "../../out.md": "is not a path inside a vault",
    "/tmp/djinn-out.md": "is not a path inside a vault",
    "a/../b.md": "is not a path inside a vault",
    "./b.md": "is not a path inside a vault",
    "": "is no note",
    ".git/hooks/pre.md": "is in a hidden folder",
    ".djinn/config.md": "is in a hidden folder",
    ".trash/b.md": "is in a hidden folder",
    f"{'n' * 5_000}.md": "has a name that is too long",
    "/".join(["n" * 200] * 12) + ".md": "has a name that is too long",
    "picture.png": "is no note",
}


def files_of(home: SyncedHome) -> set[str]:
    """All files near a home, so that none can appear elsewhere."""
    return {str(file) for file in home.home.root.parent.rglob("*") if "postgres" not in str(file)}


def test_paths(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.sync()
    ben.sync()
    for path in PATHS:
        insert(anna, path)
    insert(anna, "b.md", table="attachments")
    anna.write("c.md", "# c\n")
    anna.sync("push")
    before = files_of(ben)
    result = ben.sync()
    assert result.received == 1
    assert ben.notes() == {"a.md": b"# a\n", "c.md": b"# c\n"}
    assert {Path(new).name for new in files_of(ben) - before} <= {"c.md"}
    assert sorted(result.waiting) == sorted([*PATHS, "b.md"])
    told = {problem.what: problem.why for problem in ben.problems}
    for path, why in {**PATHS, "b.md": "is a note among the attachments"}.items():
        shown = path if len(path) <= 200 else f"{path[:200]}..."
        assert why in told[f"shared/{shown}"] and "it is left out" in told[f"shared/{shown}"]
    # A file of one's own at such a path is sent, and no run fails.
    ben.write("d.md", "# d\n")
    assert ben.sync().sent == 1
    assert anna.sync().received == 1


def test_contents(homes: tuple[SyncedHome, SyncedHome], monkeypatch: pytest.MonkeyPatch) -> None:
    anna, ben = homes
    monkeypatch.setattr(names, "MAX_BYTES", 100_000)
    anna.write("a.md", "# a\n")
    anna.sync()
    insert(anna, "hash.md", digest=b"x" * 16)
    insert(anna, "short.md", digest=b"")
    insert(anna, "size.md", size=3)
    insert(anna, "negative.md", size=-3)
    insert(anna, "large.md", content=b"#" * 100_001)
    insert(anna, "binary.md", content=bytes(range(256)))
    insert(anna, "hash.png", table="attachments", digest=b"x" * 16)
    result = ben.sync()
    assert sorted(ben.notes()) == ["a.md", "binary.md"]
    told = {problem.what: problem.why for problem in ben.problems}
    for name in ("hash.md", "short.md", "size.md", "negative.md", "hash.png"):
        assert "has not the bytes of its hash and size: row" in told[f"shared/{name}"]
    assert "is too large for a note" in told["shared/large.md"]
    assert len(result.waiting) == 6


def test_two_rows_on_one_path(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.write("\u00fc.md", "# u\n")
    anna.sync()
    insert(anna, "a.md", content=b"# second\n")
    insert(anna, "A.md", content=b"# third\n")
    insert(anna, "u\u0308.md", content=b"# fourth\n")
    for home in (ben, anna, ben):
        result = home.sync()
        assert not result.waiting
    assert ben.notes() == anna.notes()
    assert sorted(ben.notes().values()) == [
        b"# a\n", b"# fourth\n", b"# second\n", b"# third\n", b"# u\n",
    ]  # fmt: skip


def test_one_id_in_both_tables(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    anna.write("a.md", "# a\n")
    anna.write("b.md", "# b\n")
    anna.sync()
    ben.sync()
    insert(anna, "a.png", table="attachments", content=b"png")
    with closing(connect(anna.address)) as connection:
        key = connection.execute("select note_id from notes where path = 'a.md'").fetchone()
        connection.execute("update attachments set rev = 9, note_id = %s", key)
        connection.execute("update notes set rev = 9 where path = 'a.md'")
        connection.execute("update scopes set rev = 9")
    anna.write("b.md", "# edited\n")
    anna.write("a.md", "# edited\n")
    for home in homes:
        home.sync()
        assert any("has the id of another file" in problem.why for problem in home.problems)
    assert ben.notes() == {"a.md": b"# a\n", "b.md": b"# edited\n"}
    assert anna.notes()["a.md"] == b"# edited\n"


def test_revisions(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    for name in ("a", "b"):
        anna.write(f"{name}.md", f"# {name}\n")
        anna.sync()
        ben.sync()
    foreign = uuid4()
    with closing(connect(anna.address)) as connection:
        connection.execute("update notes set rev = 0 where path = 'a.md'")
        connection.execute("update notes set rev = 1000000 where path = 'b.md'")
        connection.execute("update revisions set mark = %s", (uuid4(),))
        connection.execute("insert into scopes (user_id, name) values (%s, 'x')", (foreign,))
        connection.execute(
            "insert into notes (user_id, note_id, path, path_key, content, hash, size, rev, "
            "home_id) select %s, note_id, 'foreign.md', 'f', content, hash, size, 1, home_id "
            "from notes where path = 'a.md'",
            (foreign,),
        )
    for name in ("a", "b"):
        ben.write(f"{name}.md", f"# {name}\nedited\n")
    for home in (ben, anna, ben, anna):
        home.sync()
        assert [problem.what for problem in home.problems] == ["shared/a.md"]
        assert "has no revision: row" in home.problems[0].why
    # The others are compared as a whole, so that both texts are kept.
    [copy] = anna.notes().keys() - {"a.md", "b.md"}
    assert anna.notes() == {"a.md": b"# a\n", "b.md": b"# b\nedited\n", copy: b"# b\n"}
    assert ben.notes() == {**anna.notes(), "a.md": b"# a\nedited\n"}


def test_a_revision_of_the_scope_that_goes_backwards(homes: tuple[SyncedHome, SyncedHome]) -> None:
    anna, ben = homes
    for number in range(4):
        anna.write(f"{number}.md", f"# {number}\n")
        anna.sync()
    ben.sync()
    with closing(connect(anna.address)) as connection:
        connection.execute("update scopes set rev = 1")
    anna.write("new.md", "# new\n")
    for home in (anna, ben, anna):
        home.sync()
    assert ben.notes() == anna.notes() and len(ben.notes()) == 5
