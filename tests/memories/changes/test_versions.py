"""The versions of a note: what each change of djinn altered, also through renames."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent


def altered(djinn: Djinn, name: str, agent: str | None = None) -> list[tuple[str, str, list[str]]]:
    """The command and the status of each version, and the lines that were removed or added."""
    return [
        (version.command, version.status, [
            line for line in (version.diff or "gone").splitlines()
            if line[:1] in "+-g" and "updated" not in line
        ])
        for version in djinn.memories.versions(name, agent=agent).versions
    ]  # fmt: skip


def test_each_change_is_a_version_also_through_a_rename_and_its_undo(djinn: Djinn) -> None:
    djinn.remember("lesson", "Lamp", "It turns.")
    djinn.memories.edit("Lamp", status="done")
    djinn.memories.rename("Lamp", "Old lamp")
    moved = djinn.memories.move("Old lamp", "pier")
    assert moved.memory.path == "pier/old-lamp.md"
    assert [each[:2] for each in altered(djinn, "Old lamp")] == [
        ("memory move", "done"), ("memory rename", "done"), ("memory edit", "done"),
        ("remember", "done"),
    ]  # fmt: skip
    djinn.changes.undo()
    djinn.changes.undo()
    first, *_, written = altered(djinn, "Lamp")
    assert first == ("undo", "done", ["-title: Old lamp", "+title: Lamp"])
    assert "+It turns." in written[2]
    assert ("memory edit", "done", ["+status: done"]) in altered(djinn, "Lamp")
    assert len(djinn.memories.versions("Lamp", limit=2).versions) == 2


def test_edits_by_other_programs_are_part_of_the_version_before_them(
    djinn: Djinn, home: Home
) -> None:
    djinn.remember("lesson", "Lamp", "It turns.")
    file = home.root / "vaults/me/lessons/lamp.md"
    file.write_text(file.read_text().replace("turns", "blinks"))
    [(_, _, lines)] = altered(djinn, "Lamp")
    assert "+It blinks." in lines
    djinn.memories.edit("Lamp", status="done")
    assert altered(djinn, "Lamp")[0] == ("memory edit", "done", ["+status: done"])


def test_a_note_that_djinn_never_changed_has_none_and_a_hidden_one_is_unknown(
    djinn: Djinn, home: Home
) -> None:
    add_agent(home, "kim")
    (home.root / "vaults/me/pier.md").write_text("# Pier\n")
    assert altered(djinn, "Pier") == []
    with pytest.raises(NotFound):
        djinn.memories.versions("Pier", agent="kim")


def test_versions_whose_texts_are_no_longer_kept_have_no_diff(djinn: Djinn, home: Home) -> None:
    djinn.remember("lesson", "Lamp", "It turns.")
    djinn.memories.edit("Lamp", status="done")
    for kept in (home.state / "changes").glob("chg_*/0"):
        kept.unlink()
    assert altered(djinn, "Lamp")[0][2] == ["gone"]


def test_a_limited_reader_sees_no_text_that_another_program_added(home: Home) -> None:
    add_agent(home, "kim")
    home.edit((("access", "kim"), ["work"]))
    with Djinn(Home(home.root)) as djinn:
        djinn.remember("lesson", "Lamp", "It turns.", shared=True)
        djinn.memories.edit("Lamp", status="done")
        file = home.root / "vaults/shared/lessons/lamp.md"
        file.write_text(file.read_text().replace("turns", "burns"))
        newest, written = djinn.memories.versions("Lamp", agent="kim").versions
        assert newest.diff is None and "It turns." in str(written.diff)
        assert "burns" in str(djinn.memories.versions("Lamp").versions[0].diff)


def test_a_very_long_text_is_not_compared(djinn: Djinn) -> None:
    djinn.remember("lesson", "Long", "x\n" * 6_000)
    djinn.memories.edit("Long", status="done")
    assert altered(djinn, "Long")[0][2] == ["gone"]
