"""The kind, the confidence and the description of an entity."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from tests.conftest import Run


def test_a_kind_moves_the_note_and_its_links(djinn: Djinn) -> None:
    own = djinn.home.root / "vaults" / "me"
    djinn.entities.add("Aurora", kind="project", text="A ship.", properties=["port=Gdynia"])
    (own / "a.md").write_text("[[Aurora]] [x](projects/aurora.md) [[projects/aurora]]\n")
    before = (own / "projects/aurora.md").read_bytes()
    assert "boats/aurora.md" in djinn.entities.edit("Aurora", kind="boat", dry_run=True).diff
    done = djinn.entities.edit("Aurora", kind="Boat", confidence=0.9, text="A boat.\n\nOld.")
    entity = done.entity
    assert (entity.type, entity.path, entity.text) == ("boat", "boats/aurora.md", "A boat.\n\nOld.")
    assert entity.confidence == 0.9 and [each.key for each in entity.properties] == ["port"]
    assert (own / "a.md").read_text() == "[[Aurora]] [x](boats/aurora.md) [[boats/aurora]]\n"
    assert djinn.entities.list(kind="boat").total == 1
    djinn.changes.undo(done.change)
    assert (own / "projects/aurora.md").read_bytes() == before
    with pytest.raises(UsageError, match="nothing to change"):
        djinn.entities.edit("Aurora")
    with pytest.raises(UsageError, match="type of other memories"):
        djinn.entities.edit("Aurora", kind="decision")


def test_a_renamed_entity_keeps_the_name_that_texts_have(djinn: Djinn) -> None:
    djinn.entities.add("Maren", kind="person")
    assert djinn.memories.rename("Maren", "Maren Holt").aliases == ("Maren",)


def test_set_names_the_verb_for_kind_and_confidence(djinn: Djinn, run: Run) -> None:
    djinn.entities.add("Aurora", kind="project")
    done = run("entity", "set", "Aurora", "kind", "boat", home=djinn.home.root)
    assert done.returncode == 2 and "djinn entity edit Aurora --kind boat" in done.stderr
    done = run("entity", "set", "Aurora", "confidence", "0.5", home=djinn.home.root)
    assert done.returncode == 2 and "djinn entity edit Aurora --confidence 0.5" in done.stderr


def test_lists_and_objects_are_yaml(djinn: Djinn) -> None:
    note = djinn.home.root / "vaults" / "me" / "projects" / "aurora.md"
    djinn.entities.add("Aurora", kind="project")
    djinn.entities.set("Aurora", "crew", '["Ann", "Bob"]', json_value=True)
    djinn.entities.set("Aurora", "size", '{"length": 12, "unit": "m"}', json_value=True)
    text = note.read_text()
    assert "crew: [Ann, Bob]\n" in text and "size: {length: 12, unit: m}\n" in text
    shown = djinn.entities.show("Aurora").entity
    assert shown and {each.key: each.value for each in shown.properties} == {
        "crew": "Ann, Bob", "size": "length: 12, unit: m",
    }  # fmt: skip
    assert all(not each.history for each in shown.properties)
