"""Every job: does its work once, and can be taken back and switched off."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.upkeep.registry import JOBS
from tests.upkeep.chores import chores, content

GONE = "contradiction.gone"
NOT_CHANGES = {"contradictions", "gaps", "duplicates", "rot", "trash"}
"""Jobs that change no note."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, datetime]:
    root = tmp_path_factory.mktemp("chores") / "home"
    home, _ = init(root)
    home.edit((("embedding", "provider"), "hashing"))
    return root, chores(home)


@pytest.fixture
def djinn(template: tuple[Path, datetime], tmp_path: Path) -> Djinn:
    root, now = template
    return Djinn(Home(Path(shutil.copytree(root, tmp_path / "home"))), clock=lambda: now)


def changes_of(djinn: Djinn) -> list[str]:
    """The changes that can be taken back, newest first."""
    return [change.id for change in djinn.changes.list().changes if change.status == "done"]


@pytest.mark.few(5)
@pytest.mark.parametrize("name", JOBS)
def test_a_job_does_its_work_once_and_can_be_taken_back(djinn: Djinn, name: str) -> None:
    before, earlier = content(djinn), changes_of(djinn)
    planned = djinn.maintain([name], dry_run=True)
    assert planned.deeds and not planned.problems
    assert content(djinn) == before
    report = djinn.maintain([name])
    assert report.deeds and not report.problems
    assert len(report.deeds) == len(planned.deeds)
    done = content(djinn)
    again = djinn.maintain([name])
    assert (again.deeds, again.problems) == ((), ())
    assert content(djinn) == done
    changes = [change for change in changes_of(djinn) if change not in earlier]
    assert bool(changes) == (name not in NOT_CHANGES)
    for change in changes:
        djinn.changes.undo(change)
    if changes:
        files = content(djinn)[0]
        # What an agent would write goes to the trash.
        trash = {path: files[path] for path in files if "/.trash/" in path}
        assert {**trash, **before[0]} == files
        assert not [action for action in djinn.maintain([name]).deeds if action.path]


@pytest.mark.soak
def test_all_jobs_together_do_their_work_once(djinn: Djinn) -> None:
    djinn.maintain()
    # What one job wrote may be work for another that ran before it.
    djinn.maintain()
    done = content(djinn)
    report = djinn.maintain()
    assert (report.deeds, report.problems) == ((), ())
    assert content(djinn) == done and GONE not in {event[0] for event in done[1]}


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_agent_hears_nothing_of_the_vaults_of_another(djinn: Djinn, dry_run: bool) -> None:
    report = djinn.maintain(agent="ben", dry_run=dry_run)
    assert report.deeds and not report.problems
    assert {action.vault for action in report.deeds} <= {None, "shared", "ben"}
    said = repr(report)
    assert "Knots" in said
    for secret in ("mast", "berth", "keel", "mole", "Warsaw", "Plan the week", "quay", "me:"):
        assert secret not in said
    assert djinn.maintain(["gaps", "expire", "learnings"]).deeds
