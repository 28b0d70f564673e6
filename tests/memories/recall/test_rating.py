"""Ratings, gaps and scores: whose they are, what they follow, and what a mistake says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.recall.rating import ranks_and_names
from tests.conftest import Run
from tests.indexing.vaults import settle

ID = "mem_7k2m9q4dxw30hv5t"


def note(shared: Path, name: str, text: str) -> Path:
    path = shared / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def kettles(djinn: Djinn, shared: Path) -> Djinn:
    note(shared, "a.md", f"---\nid: {ID}\n---\n# A\n\nkettle water\n")
    note(shared, "b.md", "# B\n\nkettle water\n")
    note(shared, "c.md", "# C\n\nkettle water\n")
    djinn.index()
    return djinn


def counts(djinn: Djinn, name: str, agent: str | None = None) -> tuple[int, int, int]:
    [one] = djinn.scores.show(name, agent=agent).scores
    return one.record.uses, one.record.useful, one.record.not_useful


def test_what_is_not_named_is_not_judged(kettles: Djinn) -> None:
    found = kettles.recall("kettle water")
    names = [one.title for one in found.memories]
    done = kettles.rate("last", useful=[1], not_useful=[3])
    assert done.request_id == found.request_id
    assert [(one.rank, one.title, one.useful) for one in done.judged] == [
        (1, names[0], True), (3, names[2], False),
    ]  # fmt: skip
    assert counts(kettles, names[0]) == (1, 1, 0)
    assert counts(kettles, names[1]) == (0, 0, 0)
    assert counts(kettles, names[2]) == (0, 0, 1)
    kettles.rate(found.request_id, useful=[3])
    assert counts(kettles, names[2]) == (1, 1, 0)


def test_a_memory_is_rated_by_name(kettles: Djinn) -> None:
    done = kettles.rate(useful=[ID], not_useful=["shared:b.md"])
    assert done.request_id is None
    assert counts(kettles, "A") == (1, 1, 0)
    assert counts(kettles, "B") == (0, 0, 1)
    kettles.recall("kettle water")
    assert kettles.rate("last", useful=["A"]).judged[0].rank == 1
    with pytest.raises(NotFound, match="no note 'X'"):
        kettles.rate(useful=["X"])


def test_mistakes_say_what_there_was(kettles: Djinn, home: Home) -> None:
    with pytest.raises(NotFound, match=r"recall yet; call `recall\("):
        kettles.rate("last", useful=[1])
    found = kettles.recall("kettle water", limit=2)
    there = r"its ranks are: 1 \w, 2 \w$"
    for bad in ({"useful": [3]}, {"not_useful": [0]}):
        with pytest.raises(UsageError, match=there):
            kettles.rate("last", **bad)  # type: ignore[arg-type]
    left_out = next(one for one in "ABC" if one not in {m.title for m in found.memories})
    with pytest.raises(UsageError, match=there):
        kettles.rate("last", useful=[left_out])
    with pytest.raises(UsageError, match="named twice"):
        kettles.rate("last", useful=[1], not_useful=[1])
    with pytest.raises(UsageError, match="contains no memory and no gap"):
        kettles.rate("last")
    assert kettles.scores.show().scores == ()
    add_agent(home, "grace")
    with pytest.raises(NotFound, match="of grace"):
        kettles.rate(found.request_id, useful=[1], agent="grace")


def test_what_an_option_names() -> None:
    ranks = ranks_and_names(["1,3", f"2,{ID}", "notes/a,b.md", " "])
    assert ranks == (1, 3, 2, ID, "notes/a,b.md")


def test_to_read_in_full_is_a_use(kettles: Djinn, home: Home) -> None:
    add_agent(home, "grace")
    kettles.memories.show("B", agent="grace")
    assert counts(kettles, "B", "grace") == (1, 0, 0)
    assert counts(kettles, "B", "me") == (0, 0, 0)
    [one] = kettles.scores.show(agent="grace").scores
    assert (one.title, one.score.recency) == ("B", pytest.approx(1.0, abs=1e-3))


def test_events_follow_a_note_without_an_id_by_its_text(kettles: Djinn, shared: Path) -> None:
    kettles.rate(not_useful=["B"])
    kettles.memories.show("B")
    target = shared / "moved" / "b2.md"
    target.parent.mkdir()
    (shared / "b.md").rename(target)
    kettles.index()
    assert counts(kettles, "shared:moved/b2.md") == (1, 0, 1)
    kettles.memories.show("shared:moved/b2.md")
    kettles.rate(not_useful=["shared:moved/b2.md"])
    [one] = [one for one in kettles.scores.show().scores if one.title == "B"]
    assert (one.record.uses, one.record.not_useful) == (2, 2)
    # What it says now is followed from here on.
    target.write_text("# B\n\nkettle water, more\n")
    settle()
    kettles.index()
    assert counts(kettles, "shared:moved/b2.md") == (2, 0, 2)
    kettles.memories.show("shared:moved/b2.md")
    target.rename(shared / "last.md")
    kettles.index()
    assert counts(kettles, "shared:last.md") == (3, 0, 2)


def test_a_copy_inherits_nothing(kettles: Djinn, shared: Path) -> None:
    kettles.rate(not_useful=["B", "A"])
    shutil.copy(shared / "b.md", shared / "copy.md")
    shutil.copy(shared / "a.md", shared / "twin.md")
    kettles.index()
    assert counts(kettles, "shared:copy.md") == (0, 0, 0)
    assert counts(kettles, "shared:b.md") == (0, 0, 1)
    assert counts(kettles, "shared:a.md") == (0, 0, 1)
    assert counts(kettles, "shared:twin.md") == (0, 0, 0)
    # Of two with the same text neither is the one that is gone.
    shutil.copy(shared / "b.md", shared / "copy2.md")
    (shared / "b.md").unlink()
    kettles.index()
    assert counts(kettles, "shared:copy.md") == (0, 0, 0)


def test_a_note_that_gets_an_id_keeps_what_was_said_of_it(kettles: Djinn, shared: Path) -> None:
    kettles.rate(useful=["C"])
    (shared / "c.md").write_text("---\nid: mem_0000000000000000\n---\n# C\n\nkettle water\n")
    kettles.index()
    assert counts(kettles, "mem_0000000000000000") == (1, 1, 0)


# --- gaps


def test_gaps_about_one_thing_are_together(kettles: Djinn, home: Home) -> None:
    add_agent(home, "grace")
    first = kettles.gaps.report("no word on tide tables", query="tides").gap_id
    kettles.gaps.report("who owns the shed")
    kettles.gaps.report("No word on tide  tables")
    kettles.gaps.report("grace's own", agent="grace")
    groups = kettles.gaps.list().groups
    assert [[gap.description for gap in group.gaps] for group in groups] == [
        ["no word on tide tables", "No word on tide tables"], ["who owns the shed"],
    ]  # fmt: skip
    closed = kettles.gaps.close(first, by="A").gap
    assert (closed.status, closed.closed_by) == ("closed", ID)
    assert sum(len(group.gaps) for group in kettles.gaps.list().groups) == 2
    assert sum(len(group.gaps) for group in kettles.gaps.list(closed=True).groups) == 3
    for gone in (first, "gap_x", kettles.gaps.list(agent="grace").groups[0].gaps[0].id):
        with pytest.raises(NotFound, match="no open gap"):
            kettles.gaps.close(gone)
    for empty in ("", " ", "x" * 3000):
        with pytest.raises(UsageError, match="what was missing"):
            kettles.gaps.report(empty)


def test_a_gap_is_told_of_with_a_rating_and_its_question(kettles: Djinn) -> None:
    kettles.recall("kettle water")
    done = kettles.rate("last", gap="nothing on tea")
    [group] = kettles.gaps.list().groups
    assert (group.gaps[0].id, group.gaps[0].query) == (done.gap_id, "kettle water")
    assert done.judged == ()


def test_a_gap_belongs_to_the_last_question_even_if_it_found_nothing(kettles: Djinn) -> None:
    first = kettles.recall("kettle")
    assert kettles.recall("zeppelin", types=["decision"]).memories == ()
    nothing = kettles.rate("last", gap="who flew it")
    assert nothing.request_id not in (None, first.request_id)
    by_id = kettles.rate(nothing.request_id, gap="who built it")
    # Ranks are those of what was shown last.
    rated = kettles.rate(useful=[1], gap="who steered it")
    assert (rated.request_id, len(rated.judged)) == (first.request_id, 1)
    kettles.rate(first.request_id, gap="what it weighs")
    queries = {gap.description: gap.query for group in kettles.gaps.list().groups
               for gap in group.gaps}  # fmt: skip
    assert queries == {
        "who flew it": "zeppelin", "who built it": "zeppelin", "who steered it": "zeppelin",
        "what it weighs": "kettle",
    }  # fmt: skip
    assert by_id.judged == ()
    with pytest.raises(UsageError, match=r"no rank 1 in .*; it returned no memories"):
        kettles.rate(nothing.request_id, useful=[1])
    with pytest.raises(NotFound):
        kettles.rate(nothing.request_id, gap="not his", agent="grace")


def test_a_later_note_is_suggested_for_a_gap(kettles: Djinn, shared: Path) -> None:
    note(shared, "old.md", "---\ncreated: 2020-01-01\n---\n# Tea\n\nno word on brewing green tea\n")
    kettles.index()
    gap = kettles.gaps.report("no word on brewing green tea").gap_id
    assert kettles.gaps.suggest().suggestions == ()
    note(
        shared, "new.md", "---\ncreated: 2999-01-01\n---\n# Brew\n\nno word on brewing green tea\n"
    )
    kettles.index()
    [found] = kettles.gaps.suggest().suggestions
    assert (found.gap.id, found.title, found.closed) == (gap, "Brew", False)
    assert [one.closed for one in kettles.gaps.suggest(close=True).suggestions] == [True]
    assert kettles.gaps.list().groups == ()
    [group] = kettles.gaps.list(closed=True).groups
    assert group.gaps[0].closed_by == found.memory


def test_on_the_command_line(kettles: Djinn, home: Home, run: Run) -> None:
    def call(*words: str) -> tuple[int, str]:
        done = run(*words, home=home.root)
        return done.returncode, done.stdout

    _, told = call("gap", "report", "nothing on tea", "--query", "tea")
    gap = told.split()[1]
    assert call("gap", "list")[1].split("  ")[0] == gap
    assert call("rate", "--useful", ID) == (0, "useful: A\n")
    code, shown = call("show", "A", "--why")
    assert code == 0 and "rated       1 time, useful 1" in shown
    assert call("gap", "close", gap, "--by", "A")[0] == 0
    assert call("gap", "close", gap)[0] == 4
