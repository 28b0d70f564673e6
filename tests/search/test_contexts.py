"""What the user said of a folder comes with the hits from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, OutsideVault
from djinn_memory.home.home import Home
from djinn_memory.home.setup import describe
from tests.conftest import Run


@pytest.fixture
def described(home: Home, shared: Path) -> Home:
    for path in ("a.md", "minutes/b.md", "minutes/2026/c.md", "minutes-old/d.md"):
        (shared / path).parent.mkdir(parents=True, exist_ok=True)
        (shared / path).write_text(f"the kettle of {path}\n")
    describe(home, "shared", "All that we share")
    describe(home, "shared/minutes", "Minutes of the council")
    describe(home, "shared/minutes/2026/", "This year's minutes")
    Djinn(home).index()
    return home


def contexts(home: Home) -> dict[str, str | None]:
    return {hit.path: hit.context for hit in Djinn(home).search("kettle").hits}


def test_the_longest_prefix_wins(described: Home) -> None:
    assert contexts(described) == {
        "a.md": "All that we share",
        "minutes/b.md": "Minutes of the council",
        "minutes/2026/c.md": "This year's minutes",
        "minutes-old/d.md": "All that we share",
    }


def test_a_description_is_changed_and_taken_away(described: Home) -> None:
    describe(described, "shared/minutes", "Short\nminutes")
    describe(described, "shared", "")
    assert contexts(described) == {
        "a.md": None,
        "minutes/b.md": "Short minutes",
        "minutes/2026/c.md": "This year's minutes",
        "minutes-old/d.md": None,
    }
    before = described.config_path.read_bytes()
    assert describe(described, "shared/minutes", None) == ("shared/minutes", "Short minutes")
    assert describe(described, "shared", None) == ("shared", "")
    assert described.config_path.read_bytes() == before


def test_what_is_not_there_cannot_be_described(home: Home) -> None:
    with pytest.raises(NotFound, match="no folder nowhere/ in vault shared"):
        describe(home, "shared/nowhere", "x")
    with pytest.raises(NotFound, match="no vault 'nobody'"):
        describe(home, "nobody", "x")
    with pytest.raises(OutsideVault):
        describe(home, "shared/../..", "x")


def test_as_a_user_runs_it(described: Home, run: Run) -> None:
    said = run(
        "vault", "describe", "shared/minutes", 'Of the "old" harbour: all', home=described.root
    )
    assert (said.returncode, said.stdout) == (0, 'shared/minutes: Of the "old" harbour: all\n')
    shown = run(
        "memory", "search", "kettle", "path:minutes/b", "--mode", "words", home=described.root
    )
    assert 'Of the "old" harbour: all' in shown.stdout
    listed = run("memory", "search", "kettle", "--mode", "words", "--json", home=described.root)
    assert {hit["context"] for hit in json.loads(listed.stdout)["hits"]} == {
        "All that we share", 'Of the "old" harbour: all', "This year's minutes",
    }  # fmt: skip
    nothing = run("vault", "describe", "me", home=described.root)
    assert nothing.stdout == "me: not described\n"
