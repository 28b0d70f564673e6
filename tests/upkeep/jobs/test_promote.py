"""Short-term entries become notes: once each, whatever happens, and those alike as one."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.notes import frontmatter, journal
from djinn_memory.upkeep.jobs.promote import MARK
from djinn_memory.upkeep.requests import MaintenanceReport
from tests.memories.changes.test_change_set import kill_at, killed
from tests.memories.proposals.test_proposals import APPENDED
from tests.processes.test_kills import POINTS
from tests.redis_server import redis_server

LAMP = "The lamp on the mole is dark since Tuesday night, and nobody has looked at it."


@pytest.fixture
def later(djinn: Djinn) -> Any:
    """Sets the clock of the home's working memory."""
    store: Any = djinn._state.working
    clock = store._clock
    return lambda seconds: setattr(store, "_clock", lambda: clock() + seconds)


def enter(djinn: Djinn, key: str, value: object, uses: int = 3, **said: Any) -> None:
    where = {name: said[name] for name in ("session", "task") if name in said}
    djinn.working.set(key, value, short=True, **said)
    for _ in range(uses):
        djinn.working.get(key, **where)


def promoted(home: Home) -> dict[str, dict[str, Any]]:
    """The personal vault's notes that were made of entries: front matter and text, by path."""
    found = {}
    vault = home.root / "vaults" / "me"
    for note in sorted(vault.rglob("*.md")):
        text = note.read_text()
        front = frontmatter.read(text)
        if MARK in front.fields:
            said = {**front.fields, "text": text[front.body :]}
            found[note.relative_to(vault).as_posix()] = said
    return found


def marks(home: Home) -> list[str]:
    return sorted(one for note in promoted(home).values() for one in note[MARK])


def paths(done: MaintenanceReport) -> list[str | None]:
    assert done.problems == ()
    return [one.path for one in done.deeds]


def test_used_three_times_it_becomes_a_note(djinn: Djinn, later: Any) -> None:
    enter(djinn, "lamp", LAMP, type="reflection", session="night")
    enter(djinn, "rare", "the tide", uses=2)
    djinn.working.set("usual", "x")
    for _ in range(5):
        djinn.working.get("usual")
    [path] = paths(djinn.maintain(["promote"]))
    [(place, note)] = promoted(djinn.home).items()
    assert path == place and place.startswith("reflections/")
    assert note["type"] == "reflection" and note["source"] == "short-term memory"
    assert note["source_context"] == "session night, key lamp, used 3 times"
    assert note["text"].strip() == LAMP and LAMP.startswith(note["title"].removesuffix("..."))
    assert [hit.path for hit in djinn.search("lamp mole dark").hits] == [place]
    assert sorted(one.key for one in djinn.working.list(all=True).values) == ["rare", "usual"]
    assert paths(djinn.maintain()) == []
    later(4000)
    assert paths(djinn.maintain()) == [] and len(promoted(djinn.home)) == 1


def test_it_waits_when_it_has_expired(djinn: Djinn, later: Any) -> None:
    enter(djinn, "lamp", LAMP)
    enter(djinn, "rare", "the tide", uses=2)
    later(5 * 86_400)
    assert djinn.working.list(all=True).values == []
    # Another value under its key does not take its place.
    djinn.working.set("lamp", "another")
    assert [one.what for one in djinn.maintain(dry_run=True).deeds] == ["me: lamp becomes a note"]
    assert len(promoted(djinn.home)) == 0
    assert len(paths(djinn.maintain())) == 1
    assert [note["text"].strip() for note in promoted(djinn.home).values()] == [LAMP]
    assert djinn.working.get("lamp").value == "another"


def test_those_alike_become_one_that_tells_of_both(djinn: Djinn) -> None:
    enter(djinn, "lamp", LAMP, session="one")
    enter(djinn, "dark lamp", f"{LAMP}\n", session="two")
    enter(djinn, "other", "The tide gauge of the harbour stands at two metres and ten.")
    done = djinn.maintain()
    assert len({*paths(done)}) == 2 and len(done.deeds) == 3
    [note] = [one for one in promoted(djinn.home).values() if len(one[MARK]) == 2]
    assert note["text"].strip() == LAMP
    origins = ["session one, key lamp, used 3 times", "session two, key dark lamp, used 3 times"]
    assert note["source_context"] == origins
    # Another day in nearly the same words: both are kept.
    enter(djinn, "lamp", LAMP.replace("nobody has", "no one has"))
    djinn.maintain()
    [note] = [one for one in promoted(djinn.home).values() if len(one[MARK]) == 3]
    assert LAMP in note["text"] and "no one has" in note["text"]


def test_a_note_of_a_person_is_not_changed(djinn: Djinn) -> None:
    own = djinn.remember("observation", "The lamp", LAMP)
    place = djinn.home.root / "vaults" / own.vault / own.path
    before = place.read_bytes()
    enter(djinn, "lamp", LAMP)
    assert len(paths(djinn.maintain())) == 1
    assert place.read_bytes() == before
    [note] = promoted(djinn.home).values()
    assert "[[The lamp]]" in note["text"]


def test_what_is_joined_has_the_default_domain_too(djinn: Djinn) -> None:
    place = djinn.home.root / "vaults" / "me" / "profile.md"
    for key, domain in (("lamp", None), ("dark lamp", "sea"), ("third lamp", "money")):
        if domain:
            djinn.home.edit((("domains", domain), "Of its own"))
            place.write_text(f"---\ntype: profile\ndefault_domain: {domain}\n---\n")
        enter(djinn, key, LAMP)
        assert len(paths(djinn.maintain(["promote"]))) == 1
    [note] = promoted(djinn.home).values()
    assert note["domain"] == ["money", "sea"] and len(note[MARK]) == 3


def test_a_section_of_a_journal_is_not_changed(djinn: Djinn) -> None:
    data = {"type": "observation", MARK: ["another"]}
    section = journal.compose("09:00", "The lamp", "lamp", LAMP, data)
    place = djinn.home.root / "vaults" / "me" / "journal" / "2026-03-04.me.md"
    place.parent.mkdir()
    place.write_text(journal.header("2026-03-04", "me") + section)
    before = place.read_bytes()
    djinn.index()
    enter(djinn, "lamp", LAMP)
    assert len(paths(djinn.maintain())) == 1
    assert place.read_bytes() == before


def test_whatever_a_value_is(djinn: Djinn) -> None:
    values = [{"size": 3}, ["user: hi", "two\nlines"], "***", "\0 odd", "---\ntitle: x\n---\n", 7]
    for number, value in enumerate(values):
        enter(djinn, f"k{number}", value, task="t", type="conversation")
    assert len(paths(djinn.maintain())) == len(values)
    notes = promoted(djinn.home)
    assert len(marks(djinn.home)) == len(values)
    assert {note["type"] for note in notes.values()} == {"interaction"}
    texts = "".join(note["text"] for note in notes.values())
    assert '```json\n{\n  "size": 3\n}\n```' in texts and "> user: hi" in texts


def test_only_what_there_is(djinn: Djinn) -> None:
    with pytest.raises(UsageError, match="only nap: unknown task; give one of promote"):
        djinn.maintain(["nap"])
    assert djinn.maintain(["promote"]).tasks == ("promote",)


def test_what_cannot_be_written_waits(djinn: Djinn, later: Any) -> None:
    enter(djinn, "lamp", LAMP)
    djinn.home.edit((("vaults", "me", "read_only"), True))
    done = djinn.maintain()
    assert done.deeds == () and "read-only" in done.problems[0].why
    later(86_400)
    djinn.home.edit((("vaults", "me", "read_only"), None))
    assert len(paths(djinn.maintain())) == 1


def test_a_note_that_a_kill_cut_short_is_made_again(djinn: Djinn) -> None:
    """The next run takes it back first. Otherwise its entry would count as done, and be lost."""
    texts = {"lamp": LAMP, "tide": "The tide gauge of the harbour stands at two metres and ten."}
    for key, text in texts.items():
        enter(djinn, key, text)
    djinn.close()
    killed(djinn.home, kill_at(APPENDED, 2).format("djinn.maintain(['promote'])"))
    assert len(promoted(djinn.home)) == 1
    assert len(paths(djinn.maintain(["promote"]))) == 2
    assert {note["text"].strip() for note in promoted(djinn.home).values()} == {*texts.values()}


@pytest.mark.soak
def test_a_kill_at_any_step_loses_nothing_and_does_nothing_twice(home: Home) -> None:
    # A busy machine does not read all notes in time, and says so.
    home.edit((("search", "sweep_ms"), 5000))
    stride, djinn = 7, Djinn(home)
    ids: list[str] = []
    for point in count(1, stride):
        for number in range(2):
            text = f"{chr(97 + point % 26) * 5} {point} {number}: a thing that was seen, and kept"
            enter(djinn, f"k{number}", text)
        ids += [one.id for one in djinn._state.working.entries("me")[0]]
        djinn.close()
        done = subprocess.run(
            [sys.executable, "-c", POINTS, str(point), "--home", str(home.root), "maintain"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in (0, -signal.SIGKILL), done
        assert Djinn(home).maintain().problems == ()
        assert marks(home) == sorted(ids)
        djinn = Djinn(home)
        assert djinn.working.list(all=True).values == []
        if done.returncode == 0:
            break
    assert point > 3 * stride


@pytest.fixture
def copies(home: Home, tmp_path: Path) -> Iterator[list[Djinn]]:
    """Two copies of a home, which share a Redis server."""
    with redis_server() as url:
        home.edit((("working_memory",), url))
        shutil.copytree(home.root, tmp_path / "copy")
        homes = [home, Home(tmp_path / "copy")]
        for one in homes:
            one.trust(one.untrusted)
        yield [Djinn(one) for one in homes]


def test_of_two_copies_of_a_home_one_makes_the_note(copies: list[Djinn]) -> None:
    for number in range(6):
        enter(copies[number % 2], f"k{number}", f"{chr(97 + number) * 6} was seen at the mole")
    ids = sorted(one.id for one in copies[0]._state.working.entries("me")[0])
    threads = [threading.Thread(target=djinn.maintain) for djinn in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(marks(copies[0].home) + marks(copies[1].home)) == ids
    assert copies[0].working.list(all=True).values == []
