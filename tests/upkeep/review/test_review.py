"""The inbox: one list of what waits, from every source, and the decisions about it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.upkeep.review.requests import ReviewItem
from tests.conftest import EXTRACTS, Run

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
LINK = "The lamp of the mole has {} watts.\n"


@pytest.fixture(autouse=True)
def extracts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXTRACTS, "true")


@pytest.fixture
def djinn(home: Home) -> Iterator[Djinn]:
    with Djinn(home, clock=lambda: NOW) as djinn:
        yield djinn


def contradict(djinn: Djinn) -> None:
    for title, watts in (("Mole lamp", 40), ("Other lamp", 60)):
        djinn.remember("lesson", title, LINK.format(watts), force=True)


def conflict(home: Home) -> tuple[Path, Path]:
    """A note of the shared vault and its conflict copy."""
    note = home.root / "vaults" / "shared" / "harbour.md"
    copy = note.with_name("harbour (conflict laptop 07070707).md")
    note.write_text("Two lamps.\n")
    copy.write_text("Three lamps.\n")
    return note, copy


def items(djinn: Djinn, kind: str | None = None) -> tuple[ReviewItem, ...]:
    return djinn.review.list(kind=kind).items


def test_nothing_waits_in_a_new_home(djinn: Djinn) -> None:
    assert djinn.review.list().items == () and djinn.review.list().kinds == {}


def test_all_sources_are_in_one_list_the_gravest_first(djinn: Djinn, home: Home) -> None:
    old = home.root / "vaults" / "me" / "plan.md"
    old.write_text("---\ntype: plan\ncreated: 2020-01-01T09:00:00Z\n---\nPaint the mole.\n")
    os.utime(old, (1_577_869_200, 1_577_869_200))
    with Djinn(Home(home.root), clock=lambda: NOW - timedelta(days=2)) as earlier:
        earlier.episodes.record_interaction("I prefer tea over coffee.", session="dig")
    contradict(djinn)
    conflict(home)
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        djinn.maintain(["rot"])
        listed = djinn.review.list()
        kinds = [item.kind for item in listed.items]
        assert [*dict.fromkeys(kinds)] == ["conflict", "contradiction", "extraction", "archive"]
        assert [item.number for item in listed.items] == [*range(1, len(kinds) + 1)]
        assert listed.kinds == {kind: kinds.count(kind) for kind in kinds}
        assert all(item.title and item.reason and item.action for item in listed.items)
        assert {item.kind for item in items(djinn, "archive")} == {"archive"}


@pytest.mark.parametrize("accept", [True, False])
def test_a_conflict_copy_is_taken_or_left(djinn: Djinn, home: Home, accept: bool) -> None:
    note, copy = conflict(home)
    [item] = items(djinn, "conflict")
    decide = djinn.review.accept if accept else djinn.review.dismiss
    assert decide([item.id], dry_run=True).changes == () and copy.exists()
    [change] = decide([item.id]).changes
    assert note.read_text() == ("Three lamps.\n" if accept else "Two lamps.\n")
    assert not copy.exists() and not items(djinn)
    djinn.changes.undo(change)
    assert (note.read_text(), copy.read_text()) == ("Two lamps.\n", "Three lamps.\n")


def test_the_copy_of_a_note_that_is_gone_becomes_the_note(djinn: Djinn, home: Home) -> None:
    note, copy = conflict(home)
    note.unlink()
    [item] = items(djinn, "conflict")
    djinn.review.accept([item.id])
    assert note.read_text() == "Three lamps.\n" and not copy.exists()


def test_a_contradiction_needs_a_side(djinn: Djinn) -> None:
    contradict(djinn)
    [item] = items(djinn)
    [problem] = djinn.review.accept(["1"]).problems
    assert "which side holds" in problem.why
    assert djinn.review.accept(["1"], keep="A", dry_run=True).items == (item,)
    assert djinn.review.accept([item.id], keep="A", note="Anna said so.").items == (item,)
    assert items(djinn) == ()


def test_a_decision_for_an_agent_is_that_of_a_person(djinn: Djinn, home: Home) -> None:
    contradict(djinn)
    [change] = djinn.review.accept(["1"], keep="A", agent="me").changes
    assert djinn.changes.list().changes[0].by is None
    with pytest.raises(Refused, match="was made by a person"):
        djinn.changes.undo(change, agent="me")
    assert djinn.changes.undo().change.id == change


def test_a_dismissed_contradiction_does_not_come_back(djinn: Djinn) -> None:
    contradict(djinn)
    djinn.review.dismiss(all="contradiction")
    assert items(djinn) == ()


@pytest.mark.parametrize("accept", [True, False])
def test_an_unfinished_extraction_is_finished_or_left(home: Home, accept: bool) -> None:
    with Djinn(Home(home.root), clock=lambda: NOW - timedelta(days=2)) as earlier:
        earlier.episodes.record_interaction("I prefer tea over coffee.", session="dig")
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        [item] = items(djinn)
        assert (item.kind, item.title) == ("extraction", "dig")
        (djinn.review.accept if accept else djinn.review.dismiss)(["dig"])
        assert items(djinn) == ()
        assert djinn.memories.list(types=["preference"]).total == accept


def test_wrong_names_and_requests(djinn: Djinn) -> None:
    contradict(djinn)
    [item] = items(djinn)
    with pytest.raises(NotFound, match=f"did you mean {item.id}"):
        djinn.review.show(f"{item.id}x")
    with pytest.raises(UsageError, match="no items are given"):
        djinn.review.accept()
    with pytest.raises(UsageError, match="both items and a kind"):
        djinn.review.dismiss(["1"], all="merge")


def test_a_number_is_confirmed_and_an_id_is_not(djinn: Djinn, home: Home, run: Run) -> None:
    contradict(djinn)
    [item] = items(djinn)
    refused = run("review", "dismiss", "1", home=home.root)
    assert (
        refused.returncode == 2 and f"({item.id})" in refused.stderr and "--yes" in refused.stderr
    )
    assert run("review", "dismiss", "1", "--yes", home=home.root).returncode == 0
    assert items(djinn) == ()


def test_no_number_is_left_out_and_none_is_taken_for_an_id(home: Home, run: Run) -> None:
    with Djinn(Home(home.root), clock=lambda: NOW - timedelta(days=2)) as earlier:
        earlier.episodes.record_interaction("I prefer tea over coffee.", session="1")
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        contradict(djinn)
        assert [item.kind for item in items(djinn)] == ["contradiction", "extraction"]
        done = run("review", "accept", "1", "2", "--yes", home=home.root, **{EXTRACTS: "true"})
        assert done.returncode == 1 and "which side holds" in done.stderr
        assert [item.kind for item in items(djinn)] == ["contradiction"]


def test_a_key_decides_at_a_terminal(djinn: Djinn, home: Home) -> None:
    contradict(djinn)
    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "review"]
    with subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):
            while process.poll() is None:
                # What is typed before the question is dropped, so the key is pressed again.
                if select.select([ours], [], [], 0.2)[0]:
                    printed += os.read(ours, 4096)
                elif b"keep B" in printed:
                    os.write(ours, b"b")
        assert process.wait() == 0
    assert b"[b] keep B" in printed and b"accepted con_" in printed
    assert items(djinn) == ()
