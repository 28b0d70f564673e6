"""A long-lived process answers as a new one does, also where it gives an earlier answer again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.indexing.scan import RACY_NS
from djinn_memory.models import SearchResult

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is unchanged")
pytestmark = linux

NOTES = {
    "kettle.md": "---\ntitle: Kettle\n---\nThe blue kettle sings. See [[tide|the Ebb]].\n",
    "tide.md": "---\ntitle: Tide\ndomain: harbour\n---\nThe harbour fills at noon. A kettle.\n",
    "pass.md": "---\ntitle: Pass\nexpires: 2026-05-04T12:00:00Z\n---\nA pass for the harbour.\n",
    "lamp.md": "---\ntitle: Lamp\nvalid_to: 2026-05-04T13:00:00Z\n---\nThe lamp of the harbour.\n",
    "today.md": "---\ntitle: Diary\ndate: 2026-05-04\n---\nA walk along the harbour.\n",
}
QUESTIONS: list[dict[str, Any]] = [
    {"query": "harbour"},
    {"query": "the harbour", "limit": 2},
    {"query": "who says the ebb", "mode": "words"},
    {"query": "kettle sings", "mode": "graph"},
    {"query": "what did I do today at the harbour"},
    {"query": "harbour", "since": "yesterday"},
    {"query": "harbour", "agent": "grace"},
    {"query": "zzz"},
]


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 4, 11, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Place:
    """A home, the process that stays, and the clock of all."""

    def __init__(self, home: Home, shared: Path) -> None:
        self.home, self.shared, self.clock = home, shared, Clock()
        self.resident = Djinn(home, resident=True, clock=self.clock)

    def settle(self) -> None:
        """Wait until the files prove that nothing changed, and every answer is kept."""
        time.sleep(RACY_NS / 1e9 + 0.1)
        for _ in range(2):
            for question in QUESTIONS:
                self.resident.search(**question)
        assert self.resident.search("harbour").hits is self.resident.search("harbour").hits

    def check(self) -> None:
        """Ask everything, first the process that stays: a new one would tidy up for it."""
        for question in QUESTIONS:
            given = [self.resident.search(**question) for _ in range(2)]
            with Djinn(Home(self.home.root), clock=self.clock) as new:
                expected = plain(new.search(**question))
            assert [*map(plain, given)] == [expected, expected], question


def plain(answer: SearchResult) -> dict[str, Any]:
    """An answer without its own time."""
    data: dict[str, Any] = msgspec.to_builtins(answer)
    del data["milliseconds"]
    return data


@pytest.fixture
def place(home: Home, shared: Path) -> Iterator[Place]:
    home.edit((("agents",), ["me", "grace"]), (("access", "grace"), []))
    for name, text in NOTES.items():
        (shared / name).write_text(text)
    Djinn(home).index()
    opened = Place(home, shared)
    opened.settle()
    yield opened
    opened.resident.close()


def run(place: Place, *words: str) -> None:
    command = [sys.executable, "-m", "djinn_memory", "--home", str(place.home.root), *words]
    subprocess.run(command, check=True, capture_output=True)


def _templates(place: Place) -> None:
    settings = place.shared / ".obsidian"
    settings.mkdir()
    (settings / "templates.json").write_text('{"folder": "lamp"}')


def _away_and_back(place: Place) -> None:
    (place.shared / "tide.md").rename(place.shared.parent / "tide")
    place.check()
    (place.shared.parent / "tide").rename(place.shared / "tide.md")


def _rebuilt(place: Place) -> None:
    with Djinn(Home(place.home.root)) as other:
        other.index(rebuild=True)


EVENTS: dict[str, Callable[[Place], object]] = {
    "a note is edited on the disk": lambda place: (place.shared / "tide.md").write_text("Harbour!"),
    "a note is removed": lambda place: (place.shared / "tide.md").unlink(),
    "a note is away for a moment": _away_and_back,
    "this process writes": lambda place: place.resident.remember("fact", "Boats", "A harbour."),
    "another process writes": lambda place: run(place, "remember", "fact", "Harbour", "A pier."),
    "another process indexes": _rebuilt,
    "this process indexes": lambda place: place.resident.index(rebuild=True),
    "a setting changes": lambda place: place.home.edit((("search", "limit"), 1)),
    "access is given": lambda place: place.home.edit((("access", "grace"), ["harbour"])),
    "templates are chosen": _templates,
    "a memory expires": lambda place: setattr(place.clock, "now", at(hour=12)),
    "a period ends": lambda place: setattr(place.clock, "now", at(hour=13)),
    "the day ends": lambda place: setattr(place.clock, "now", at(hour=11) + timedelta(days=1)),
    "the clock is set back": lambda place: setattr(place.clock, "now", at(hour=3)),
    "the model changes": lambda place: place.resident.use_model("none"),
    "nothing": lambda place: None,
}


def at(*, hour: int) -> datetime:
    return datetime(2026, 5, 4, hour, tzinfo=UTC)


@pytest.mark.few(5)
@pytest.mark.parametrize("event", EVENTS)
def test_it_answers_as_a_new_process(place: Place, event: str) -> None:
    place.check()
    EVENTS[event](place)
    place.check()


def test_a_repeated_answer_tells_its_own_time(place: Place) -> None:
    first, again = place.resident.search("harbour"), place.resident.search("harbour")
    assert again.hits is first.hits
    assert 0 < again.milliseconds != first.milliseconds


def test_other_requests_have_other_answers(place: Place) -> None:
    ask = place.resident.search
    assert len(ask("harbour", limit=1).hits) == 1 < len(ask("harbour", limit=2).hits)
    assert {hit.path for hit in ask("harbour", agent="grace").hits} == {
        "kettle.md", "pass.md", "lamp.md", "today.md"
    }.intersection(hit.path for hit in ask("harbour").hits)  # fmt: skip


def test_a_process_that_answers_once_keeps_nothing(place: Place) -> None:
    with Djinn(place.home, clock=place.clock) as djinn:
        assert djinn.search("harbour").hits is not djinn.search("harbour").hits


def test_recalls_are_not_given_again(place: Place) -> None:
    first, again = place.resident.recall("harbour"), place.resident.recall("harbour")
    assert first.request_id != again.request_id


def test_the_answers_of_an_index_go_with_it(place: Place) -> None:
    first = place.resident.search("harbour")
    place.resident.close()
    os.utime(place.shared / "tide.md")
    assert place.resident.search("harbour").hits is not first.hits
