"""The page of the health: what doctor, status and sync say, and jobs that a button runs."""

from __future__ import annotations

import re

from djinn_memory.upkeep.registry import JOBS
from tests.web.pages.conftest import Place

URL = "/settings/health"


def test_a_button_runs_a_job(place: Place) -> None:
    page = place.admin.get(URL).text
    assert re.findall(r'aria-label="Run ([\w-]+)"', page) == [*JOBS]
    assert page.count("never ran") == len(JOBS)
    ran = place.admin.post(f"{URL}/jobs", data={"only": "promote"})
    assert ran.url.path == URL and ran.text.count("never ran") == len(JOBS) - 1
    assert place.other.post(f"{URL}/jobs", data={"only": "promote"}).status_code == 403
    assert place.admin.post(f"{URL}/jobs", data={"only": "nap"}).status_code == 400


def test_checks_have_remedies_and_safe_fixes(place: Place) -> None:
    place.shared.parent.joinpath("me").chmod(0o755)
    checks = place.admin.get(f"{URL}/checks")
    assert "is private, but" in checks.text and "go-rwx" in checks.text
    fixed = place.admin.post(f"{URL}/checks", data={"fix": "true"})
    assert fixed.url.path == f"{URL}/checks" and "is private, but" not in fixed.text


def test_the_index_and_the_state_of_sync(place: Place) -> None:
    (place.shared / "buoy.md").write_text("# Buoy\n")
    assert "1 changed note" in place.admin.get(f"{URL}/index").text
    updated = place.admin.post(f"{URL}/index")
    assert updated.url.path == f"{URL}/index" and "Waiting: nothing" in updated.text
    (place.shared / "buoy.md").unlink()
    sync = place.admin.get(f"{URL}/sync")
    assert sync.status_code == 200 and "<code>djinn sync init --url URL</code>" in sync.text
    assert place.admin.post(f"{URL}/sync").status_code == 503
