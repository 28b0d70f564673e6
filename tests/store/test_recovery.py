"""A damaged or foreign index or cache, met by a verb: set aside, made anew, answered."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused
from djinn_memory.home.home import Home
from djinn_memory.operations.operation import Namespace, recovers
from djinn_memory.runtime import Runtime
from djinn_memory.store.index import open_index
from djinn_memory.store.state import State, aside_name, set_aside
from tests.conftest import Run
from tests.indexing.content import content
from tests.indexing.vaults import fill

NOTES = 30


def foreign(path: Path) -> None:
    path.unlink()
    other = apsw.Connection(str(path))
    other.execute("create table bookmarks (id); pragma user_version = 4; pragma journal_mode = wal")
    other.execute("insert into bookmarks values (1)")
    other.close()


def garbage_within(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:-4096] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)


def damaged_by(sql: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(open_index(path)) as connection:
            connection.execute(sql)

    return damage


def words_of_garbage(path: Path) -> None:
    with closing(open_index(path)) as connection:
        for (vault,) in connection.execute("select id from vault").fetchall():
            connection.execute(f"update words_{vault}_data set block = zeroblob(20) where id > 100")


def a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "another program's": foreign,
    "a text": lambda path: path.write_text("Shopping: bread, milk\n" * 500),
    "a few bytes": lambda path: path.write_bytes(b"SQLite"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a zeroed page": lambda path: path.write_bytes(bytes(4096) + path.read_bytes()[4096:]),
    "garbage within": garbage_within,
    "a table lost": damaged_by("pragma foreign_keys = off; drop table window"),
    "vectors lost": damaged_by("drop table vectors_1"),
    "words of garbage": words_of_garbage,
    "vectors of nothing": damaged_by("delete from vectors_1_vector_chunks00"),
    "text of garbage": damaged_by("update memory set title = cast(x'6bff' as text)"),
    "rows that do not fit": damaged_by("update chunk set headings = '['"),
    "a FIFO": a_fifo,
    "a folder": a_folder,
}
COMMANDS = {
    "memory search kettle": "note-000",
    "memory list": "Note 1",
    "memory show note-00001": "Note 1",
    "memory stats": "30",
    "status": "30 notes",
    "document list": "",
}


@pytest.fixture
def whole(home: Home, shared: Path) -> Home:
    """A home with an index that nobody has open."""
    fill(shared, NOTES)
    djinn = Djinn(home)
    djinn.index()
    djinn.close()
    return home


def asides(home: Home) -> list[Path]:
    found = home.state.glob("index.db.corrupt-*")
    return [one for one in found if not one.name.endswith(("-wal", "-shm"))]


@pytest.mark.few(4)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_search_makes_the_index_anew_and_answers_by_meaning(
    whole: Home, run: Run, damage: Callable[[Path], object]
) -> None:
    expected = content(whole.index_path)
    damage(whole.index_path)
    before = whole.index_path.stat()
    done = run("memory", "search", "kettle", home=whole.root)
    assert done.returncode == 0, done
    assert "note-000" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("warning: ") and "and rebuilt" in line
    [aside] = asides(whole)
    now = aside.stat()
    assert (now.st_ino, now.st_mode, now.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert content(whole.index_path) == expected
    done = run("memory", "search", "kettle", home=whole.root)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.few(3)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("damage", ["a text", "another program's"])
def test_every_reading_command_does(whole: Home, run: Run, command: str, damage: str) -> None:
    DAMAGES[damage](whole.index_path)
    done = run(*command.split(), home=whole.root)
    assert done.returncode == 0, done
    assert COMMANDS[command] in done.stdout
    assert "and rebuilt" in done.stderr and "Traceback" not in done.stderr
    assert run("index", "--json", home=whole.root).stdout.count('"embedded": 0') == 1


def test_without_the_cache_a_search_embeds_a_few_notes(whole: Home, run: Run) -> None:
    whole.index_path.write_text("no index\n" * 999)
    for leftover in whole.state.glob("embeddings.db*"):
        leftover.unlink()
    done = run("memory", "search", "kettle", home=whole.root)
    assert done.returncode == 0
    assert "note-000" in done.stdout
    assert "and rebuilt" in done.stderr
    assert run("memory", "search", "kettle", "--mode", "meaning", home=whole.root).stderr == ""


def test_an_index_run_makes_it_anew_itself(whole: Home, run: Run) -> None:
    expected = content(whole.index_path)
    DAMAGES["a text"](whole.index_path)
    done = run("index", home=whole.root)
    assert done.returncode == 1
    assert "30 notes: 30 new; 0 texts embedded, 120 from the cache" in done.stdout
    assert content(whole.index_path) == expected


def test_what_sqlite_keeps_beside_it_goes_with_it(tmp_path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"index.db{end}").write_text(f"this is{end}")
    aside = set_aside(tmp_path / "index.db")
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {
        f"{aside.name}{end}": f"this is{end}" for end in ("", "-wal", "-shm")
    }


def test_an_earlier_one_is_not_overwritten(tmp_path: Path) -> None:
    names = set()
    for _ in range(5):
        name = aside_name(tmp_path / "index.db")
        Path(f"{name}-wal").touch()
        names.add(name)
    assert len(names) == 5


def test_a_newer_one_is_refused_and_stays(whole: Home) -> None:
    connection = open_index(whole.index_path)
    connection.execute("drop table link; pragma user_version = 99")
    connection.close()
    before = whole.index_path.read_bytes()
    with pytest.raises(Refused, match="newer djinn"):
        Djinn(whole).search("kettle")
    assert whole.index_path.read_bytes() == before
    assert not list(whole.state.glob("*corrupt*"))


def test_who_comes_second_does_not_set_the_new_one_aside(whole: Home) -> None:
    first, second = State(whole, []), State(whole, [])
    assert second.index
    DAMAGES["a text"](whole.index_path)
    assert first.set_aside_damaged()
    Djinn(whole).index()
    assert not second.set_aside_damaged()
    assert len(asides(whole)) == 1


def test_one_that_has_it_open_notices(whole: Home) -> None:
    late = Djinn(whole)
    assert late.search("kettle").hits
    DAMAGES["a text"](whole.index_path)
    for leftover in whole.state.glob("index.db-*"):
        leftover.unlink()
    early = Djinn(whole)
    assert early.search("kettle").hits
    assert [one.name for one in whole.state.glob("index.db.corrupt-*")]
    assert late.search("kettle").hits
    assert not late.problems
    assert late.runtime.state.index.execute("select count(*) from note").get == NOTES


@pytest.mark.soak
def test_many_find_it_at_once(whole: Home) -> None:
    expected = content(whole.index_path)
    DAMAGES["garbage within"](whole.index_path)
    command = [sys.executable, "-m", "djinn_memory", "--home", str(whole.root)]
    runs = [
        subprocess.Popen(
            [*command, *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for words in ("memory search kettle", "memory list", "index", "memory search zephyr") * 2
    ]
    for process in runs:
        out, err = process.communicate(timeout=120)
        assert process.returncode in (0, 1), (process.args, out, err)
        assert "Traceback" not in err and "locked" not in err
        # Who comes while it is being made anew finds what is there already.
        assert "note" in out.lower() or "not indexed yet" in err, (process.args, out, err)
    assert len(asides(whole)) == 1
    Djinn(whole).index()
    assert content(whole.index_path) == expected


class Mistaken(Namespace):
    """A verb that fails for reasons of its own."""

    tries = 0

    @recovers
    def verb(self) -> None:
        self.tries += 1
        {}["unknown key"]


def test_for_a_mistake_of_djinn_the_index_is_made_anew_once(whole: Home) -> None:
    for _ in range(2):
        verbs = Mistaken(Runtime(whole))
        with pytest.raises(KeyError):
            verbs.verb()
        verbs.runtime.close()
    assert len(asides(whole)) == 1
    assert verbs.tries == 1


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(60))
def test_no_flipped_bit_shows_as_anything_but_a_damaged_index(
    whole: Home, seed: int, tmp_path: Path
) -> None:
    intact = whole.index_path.read_bytes()
    used = [at for at, byte in enumerate(intact) if byte]
    rng = random.Random(seed)
    verbs: list[Callable[[Djinn], object]] = [
        lambda djinn: djinn.recall("kettle zephyr"),
        lambda djinn: djinn.search("kettle"),
        lambda djinn: djinn.search("type:lesson"),
        lambda djinn: djinn.memories.list(),
        lambda djinn: djinn.memories.stats(),
        lambda djinn: djinn.wake(task="kettle"),
        lambda djinn: djinn.remember(type="lesson", title=f"Tide {seed}", text="Half in."),
        lambda djinn: djinn.index(),
    ]
    for turn, verb in enumerate(verbs):
        for leftover in whole.state.glob("index.db*"):
            leftover.unlink()
        data = bytearray(intact)
        for at in rng.sample(used, 4 ** (turn % 4)):
            data[at] ^= 1 << rng.randrange(8)
        whole.index_path.write_bytes(data)
        with Djinn(whole) as djinn:
            verb(djinn)
