"""Learnings that agents share: copied once, followed and withdrawn."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent


@pytest.fixture
def djinn(home: Home) -> Djinn:
    add_agent(home, "ben")
    return Djinn(Home(home.root))


def mark(home: Home, name: str, text: str, fields: str = "share: true") -> Path:
    place = home.root / "vaults" / "ben" / "lessons" / f"{name}.md"
    place.parent.mkdir(parents=True, exist_ok=True)
    head = f"type: lesson\ntitle: {name}\nsession: secret-dig\ncreated: 2026-01-02\n{fields}"
    place.write_text(f"---\n{head}\n---\n{text}\n")
    return place


def done(djinn: Djinn, **options: object) -> list[str]:
    report = djinn.maintain(["learnings"], **options)
    assert not report.problems, report.problems
    again = djinn.maintain(["learnings"])
    assert options.get("dry_run") or (again.deeds, again.problems) == ((), ())
    return [action.what for action in report.deeds]


def test_a_marked_note_is_copied_once_and_followed(djinn: Djinn, home: Home) -> None:
    mine = mark(home, "Knots", "A bowline holds.", "share: true\ntags: [rope]\ndomain: sea")
    mark(home, "Debts", "Nobody knows.", "tags: [rope]")
    mark(home, "Doubts", "Perhaps.", "share: false")
    home.edit((("domains", "sea"), "Boats"))
    djinn = Djinn(Home(home.root))
    [action] = djinn.maintain(["learnings"], dry_run=True).deeds
    assert (action.what, action.path) == ("ben: 'Knots' is to be shared", None)
    assert done(djinn) == ["ben: 'Knots' is shared"]
    copy = home.root / "vaults" / "shared" / "lessons" / "knots.md"
    text = copy.read_text()
    assert "A bowline holds." in text and "rule: maintain.learnings" in text
    assert "author: ben" in text and "domain: sea" in text
    assert "secret-dig" not in text and "share:" not in text
    assert [path.name for path in (home.root / "vaults" / "shared").rglob("*.md")] == ["knots.md"]
    mine.write_text(mine.read_text().replace("A bowline", "A good bowline"))
    assert done(djinn) == ["ben: 'Knots' is updated in the shared vault"]
    assert "A good bowline" in copy.read_text()
    mine.write_text(mine.read_text().replace("share: true\n", ""))
    assert done(djinn) == ["ben: 'knots' is withdrawn from the shared vault"]
    assert not copy.exists() and mine.exists()
    djinn.changes.undo()
    assert copy.exists() and done(djinn) == []


def test_a_copy_has_all_domains_however_they_are_written(djinn: Djinn, home: Home) -> None:
    home.edit((("domains", "sea"), "Boats"))
    home.edit((("domains", "money"), "Accounts"))
    for name, fields in (
        ("Plural", "domains: [sea, money]"),
        ("Upper", "Domain: sea"),
        ("Nested", "domain:\n  sea: true"),
    ):
        mark(home, name, f"{name} text.", f"share: true\n{fields}")
    djinn = Djinn(Home(home.root))
    assert len(done(djinn)) == 3
    copies = {
        entry.title: entry.domain for entry in djinn.memories.list(vaults=["shared"]).memories
    }
    assert copies == {"Plural": "money, sea", "Upper": "sea", "Nested": "sea"}


def test_an_edited_copy_stays_and_a_removed_one_does_not_return(djinn: Djinn, home: Home) -> None:
    mine = mark(home, "Knots", "A bowline holds.")
    done(djinn)
    copy = home.root / "vaults" / "shared" / "lessons" / "knots.md"
    copy.write_text(copy.read_text() + "A sheet bend, too.\n")
    assert done(djinn) == ["ben: 'Knots' was edited in the shared vault and is left as it is there"]
    mine.write_text(mine.read_text().replace("holds", "slips"))
    assert len(done(djinn)) == 1 and "sheet bend" in copy.read_text()
    mine.unlink()
    assert len(done(djinn)) == 1 and "sheet bend" in copy.read_text()
    mark(home, "Rocks", "They are hard.")
    done(djinn)
    djinn.changes.undo()
    assert not (copy.parent / "rocks.md").exists() and done(djinn) == []


def test_an_index_that_lost_a_note_withdraws_nothing(djinn: Djinn, home: Home) -> None:
    mine = mark(home, "Knots", "A bowline holds.")
    done(djinn)
    copy = home.root / "vaults" / "shared" / "lessons" / "knots.md"
    djinn.close()
    with closing(apsw.Connection(str(home.index_path))) as damaged:
        damaged.execute("delete from field where key = 'share'")
    assert done(djinn) == [] and copy.exists()
    mine.unlink()
    assert len(done(djinn)) == 1 and not copy.exists()


def test_an_unreadable_vault_withdraws_nothing(djinn: Djinn, home: Home) -> None:
    mark(home, "Knots", "A bowline holds.")
    done(djinn)
    vault = home.root / "vaults" / "ben"
    vault.rename(home.root / "elsewhere")
    report = djinn.maintain(["learnings"])
    assert report.deeds == ()
    assert {problem.what for problem in report.problems} == {"ben"}
    assert (home.root / "vaults" / "shared" / "lessons" / "knots.md").exists()


def test_a_secret_and_a_read_only_vault_are_problems(djinn: Djinn, home: Home) -> None:
    mark(home, "Keys", "The key is ghp_16C7e42F292c6912E7710c838347Ae178B4a.")
    [problem] = djinn.maintain(["learnings"]).problems
    assert "'Keys' of ben" in problem.what and "ghp_16C7e42F292c6912E" not in problem.why
    (home.root / "vaults" / "ben" / "lessons" / "Keys.md").unlink()
    mark(home, "Knots", "A bowline holds.")
    djinn.home.edit((("vaults", "shared", "read_only"), True))
    [problem] = Djinn(Home(home.root)).maintain(["learnings"]).problems
    assert "read-only" in problem.why
    assert djinn.maintain(["learnings"], agent="me").deeds == ()
