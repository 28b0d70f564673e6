"""Names, aliases and notes that nobody expects, two processes at once, and a read-only vault."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init
from tests.growth import assert_linear
from tests.memories.entities.test_merge import files, write


@pytest.fixture
def djinn(tmp_path: Path) -> Djinn:
    home, _ = init(tmp_path / "home")
    home.edit((("embedding", "provider"), "none"))
    return Djinn(home)


@pytest.mark.soak
def test_thousands_of_aliases(djinn: Djinn) -> None:
    aliases = "".join(f"  - Name {number} of many\n" for number in range(5_000))
    write(djinn.home, "shared/many.md", f"---\ntype: person\naliases:\n{aliases}---\nText.\n")
    write(djinn.home, "shared/log.md", "Name 77 of many came, and name 4999 of many.\n")
    entity = djinn.entities.show("many").entity
    assert entity and entity.mentioned == 2
    assert djinn.entities.resolve("Name 4999 of many").sure
    assert djinn.entities.resolve("Nmae of nobody").entity is None


def test_names_are_compared_in_linear_time(djinn: Djinn) -> None:
    from djinn_memory.memories.entities.matching import candidates
    from djinn_memory.store.index.records import MemoryNames

    def work(size: int) -> object:
        entities = [
            MemoryNames(id=None, vault="v", path=f"{number}.md", memory_id=number, type="person",
                        title=f"Ada{number} Lund{number}", aliases=(f"Al{number}",))
            for number in range(size)
        ]  # fmt: skip
        return candidates("Adda Lundt", entities)

    assert_linear(work, 8_000)


@pytest.mark.parametrize("alias", ["the", "a", "I", "ß", "..x", "https://x.y", "x" * 400])
def test_aliases_that_are_frequent_words(djinn: Djinn, alias: str) -> None:
    djinn.entities.add("Bob", "person", aliases=[alias])
    write(djinn.home, "shared/a.md", f"{alias} of it.\n")
    entity = djinn.entities.show(alias).entity
    assert entity and entity.mentioned == 1
    assert djinn.entities.resolve(alias, "It stands in a text.").sure


def test_an_alias_that_is_the_name_of_another(djinn: Djinn) -> None:
    djinn.entities.add("Bob", "person")
    djinn.entities.add("Robert", "person", aliases=["Bob"])
    assert {each.title for each in djinn.entities.show("Bob").candidates} == {"Bob", "Robert"}
    with pytest.raises(UsageError, match="name of several entities"):
        djinn.entities.set("Bob", "city", "Oslo")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "name",
    ["a/b\\c", "x\ny", "🙂", "\u200fשלום", "..", "../../etc", "con", "[[x]]", "a|b", "#", "?"],
)
def test_names_of_any_signs(djinn: Djinn, name: str) -> None:
    djinn.entities.add("Bob", "person", properties=["city=Oslo"])
    entity = djinn.entities.add(name, "person").entity
    assert Path(entity.file).resolve().is_relative_to(djinn.home.root)
    assert djinn.entities.show(entity.path).entity
    write(djinn.home, "me/a.md", f"[[{entity.path.removesuffix('.md')}]]\n")
    before = files(djinn.home)
    djinn.entities.merge(entity.path, "Bob")
    assert entity.path not in files(djinn.home)
    djinn.changes.undo()
    assert files(djinn.home) == before


@pytest.mark.parametrize("kind", ["fact", "Decision", "document", "pattern", "profile", "skill"])
def test_kinds_that_are_types_of_other_memories(djinn: Djinn, kind: str) -> None:
    with pytest.raises(UsageError, match="type of other memories"):
        djinn.entities.add("Bob", kind)


def test_a_note_whose_front_matter_is_wrong(djinn: Djinn) -> None:
    djinn.entities.add("Zed", "person", shared=True)
    write(djinn.home, "shared/bad.md", "---\ntype: person\ntitle: [Bad\n---\nA note.\n")
    write(djinn.home, "shared/odd.md", "---\ntype: person\naliases: {a: 1}\nled-by: [1, {x: y}]\n"
          "confidence: lots\n---\nA note.\n")  # fmt: skip
    before = files(djinn.home)
    for change in (
        lambda: djinn.entities.set("bad", "city", "Oslo"),
        lambda: djinn.entities.alias("add", "bad", ["Bob"]),
        lambda: djinn.entities.merge("bad", "Zed"),
        lambda: djinn.entities.merge("Zed", "bad"),
    ):
        with pytest.raises(DjinnError):
            change()
    assert files(djinn.home) == before
    entity = djinn.entities.show("odd").entity
    assert entity and entity.confidence is None
    djinn.entities.merge("odd", "Zed")
    djinn.changes.undo()
    assert files(djinn.home) == before


def test_two_at_once_add_one_entity(djinn: Djinn) -> None:
    results: list[str] = []

    def add() -> None:
        with Djinn(Home(djinn.home.root)) as own:
            try:
                results.append(own.entities.add("Same Name", "person").entity.path)
            except Refused:
                results.append("refused")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["people/same-name.md", "refused", "refused", "refused"]


def test_a_read_only_vault(djinn: Djinn, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "bob.md").write_text("---\ntype: person\n---\nHe cooks.\n")
    add_vault(djinn.home, "shelf", shelf, read_only=True)
    with Djinn(Home(djinn.home.root)) as djinn:
        djinn.entities.add("Zed", "person", shared=True)
        assert djinn.entities.show("bob").entity
        for change in (
            lambda: djinn.entities.set("bob", "city", "Oslo"),
            lambda: djinn.entities.alias("add", "bob", ["Rob"]),
            lambda: djinn.entities.remove("bob"),
            lambda: djinn.entities.merge("bob", "Zed"),
            lambda: djinn.entities.merge("Zed", "bob"),
        ):
            with pytest.raises(DjinnError, match="read-only"):
                change()


@pytest.mark.soak
@pytest.mark.skipif(os.name != "posix", reason="has no SIGKILL")
def test_killed_in_a_merge_and_in_a_split(djinn: Djinn) -> None:
    dice = random.Random(5)
    for name in ("Bob", "Robert"):
        djinn.entities.add(name, "person", f"{name} cooks.", shared=True)
    for number in range(40):
        write(djinn.home, f"shared/n/{number}.md", f"Met [[Bob]] {number}.\n")
    djinn.index()
    apart = files(djinn.home)
    djinn.entities.merge("Bob", "Robert")
    joined = {path: data for path, data in files(djinn.home).items() if "people" not in path}
    djinn.changes.undo()
    djinn.close()
    command = "from djinn_memory.djinn import Djinn; from djinn_memory.home.home import Home; "
    command += f"djinn = Djinn(Home({str(djinn.home.root)!r})); "
    for _ in range(3):
        for verb in ("merge('Bob', 'Robert')", "split('Robert')"):
            code = f"{command}print('ready', flush=True); djinn.entities.{verb}"
            process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            assert process.stdout and process.stdout.readline()
            time.sleep(dice.uniform(0.0, 0.25))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            with Djinn(Home(djinn.home.root)) as again:
                again.entities.set("Robert", "seen", "no")
                again.entities.set("Robert", "seen", "no")
                now = {p: d for p, d in files(djinn.home).items() if "people" not in p}
                notes = {p: d for p, d in apart.items() if "people" not in p}
                assert now in (joined, notes)
                assert ("shared/people/bob.md" in files(djinn.home)) == (now == notes)
