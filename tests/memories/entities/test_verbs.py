"""Entities: added, found by name, with properties that keep their history, and removed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.entities.detail import EntityDetail
from tests.memories.facts.test_facts import Clock

NOW = datetime(2026, 6, 4, 10, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.time = NOW
    return clock


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Djinn:
    home.edit((("embedding", "provider"), "none"))
    return Djinn(home, clock=clock)


def shown(djinn: Djinn, name: str, as_of: str | None = None) -> EntityDetail:
    entity = djinn.entities.show(name, as_of=as_of).entity
    assert entity
    return entity


def values(entity: EntityDetail) -> dict[str, str]:
    return {each.key: each.value for each in entity.properties}


def test_a_name_of_another_entity_is_told(djinn: Djinn, home: Home) -> None:
    home.edit((("access",), {"ben": []}), (("agents",), ["me", "ben"]))
    djinn = Djinn(Home(home.root))
    first = djinn.entities.add("Maren Holt", "person", aliases=["Maren"], shared=True)
    djinn.entities.add("Hidden", "person", aliases=["Maren", "Quay"], domain="sea", shared=True)
    assert not first.also_named
    added = djinn.entities.add(
        "Maren Voss", "person", aliases=["maren", "Voss", "Quay"], shared=True, agent="ben"
    )
    assert added.also_named == {"maren": ("shared/people/maren-holt.md",)}
    again = djinn.entities.alias("add", "Maren Voss", ["Quay"])
    assert again.also_named == {"Quay": ("shared/people/hidden.md",)}
    assert not djinn.entities.alias("remove", "Maren Voss", ["Quay"]).also_named


def test_an_entity_is_a_note(djinn: Djinn, home: Home) -> None:
    added = djinn.entities.add(
        "Maren Holt", "person", "She sails.", aliases=["Maren"], properties=["city=Gdynia"],
        confidence=0.9,
    )  # fmt: skip
    assert added.action == "created" and values(added.entity) == {"city": "Gdynia"}
    text = (home.root / "vaults" / added.entity.vault / added.entity.path).read_text()
    assert "type: person\n" in text and "city: Gdynia\n" in text and "She sails.\n" in text
    for name in ("Maren Holt", "maren", added.entity.path, added.entity.id or ""):
        entity = shown(djinn, name)
        assert (entity.title, entity.aliases, entity.confidence) == (
            "Maren Holt", ("Maren",), 0.9,
        )  # fmt: skip
        assert entity.text == "She sails." and entity.plane == "knowledge"
    with pytest.raises(Refused, match="is an entity with the name"):
        djinn.entities.add("Maren Holt", "person")
    djinn.entities.add("Maren Holt", "person", "The other one.", force=True)
    with pytest.raises(UsageError, match="several entities"):
        djinn.entities.set("Maren Holt", "city", "Oslo")


def test_a_kind_of_a_users_own(djinn: Djinn) -> None:
    djinn.entities.add("Aurora", "boat")
    djinn.remember("meeting", "Aurora meeting", "They met.")
    assert shown(djinn, "Aurora").plane == "knowledge"
    page = djinn.entities.list()
    assert [(each.title, each.type, each.mentioned) for each in page.entities] == [
        ("Aurora", "boat", 1)
    ]
    assert page.kinds == {"boat": 1}
    with pytest.raises(UsageError, match="is no entity"):
        djinn.entities.show("Aurora meeting")
    for kind in ("fact", "decision", "document"):
        with pytest.raises(UsageError, match="type of other memories"):
            djinn.entities.add("Lamp", kind)


def test_notes_of_people_are_entities_and_stay_as_they_are(djinn: Djinn, home: Home) -> None:
    folder = home.shared.root / "people"
    folder.mkdir(parents=True)
    note = "---\ntype: Person\naliases: [Bo, Bobby]\nrole: cook\n---\r\nBob cooks. \n"
    (folder / "Bob Alder.md").write_bytes(note.encode())
    (folder / "Plain.md").write_text("No type.\n")
    assert values(shown(djinn, "Bobby")) == {"role": "cook"}
    assert (folder / "Bob Alder.md").read_bytes() == note.encode()
    with pytest.raises(UsageError, match="no entity"):
        djinn.entities.show("Plain")
    djinn.entities.set("Bo", "role", "captain")
    data = (folder / "Bob Alder.md").read_bytes().decode()
    assert data.startswith("---\ntype: Person\naliases: [Bo, Bobby]\nrole: captain\n")
    assert "---\r\nBob cooks. \n" in data
    [role] = shown(djinn, "Bo").properties
    assert [past.value for past in role.history] == ["cook"]


def test_a_new_value_closes_the_old_one(djinn: Djinn, clock: Clock) -> None:
    djinn.entities.add("Harbour lamp", "project")
    for value, start in (("Bob", "2026-01-01"), ("Maren", "2026-05-01"), ("Ada", "2026-03-01")):
        done = djinn.entities.set("Harbour lamp", "led-by", value, valid_from=start)
    assert done.action == "recorded"
    for day, value in (
        ("2026-02-01", "Bob"), ("2026-03", "Ada"), ("2026-04-30", "Ada"), ("2026-05-01", "Maren"),
    ):  # fmt: skip
        assert values(shown(djinn, "Harbour lamp", day)) == {"led-by": value}
    assert values(shown(djinn, "Harbour lamp", "2025-12-31")) == {}
    [led] = shown(djinn, "Harbour lamp").properties
    assert (led.value, led.valid_from, led.until) == ("Maren", "2026-05-01", None)
    assert [(past.value, past.valid_from, past.until) for past in led.history] == [
        ("Ada", "2026-03-01", "2026-05-01"),
        ("Bob", "2026-01-01", "2026-03-01"),
    ]
    clock.time = NOW + timedelta(days=1)
    assert djinn.entities.set("Harbour lamp", "led-by", "Maren").action == "verified"
    djinn.entities.set("Harbour lamp", "led-by", "Kim", valid_from="2026-07-01")
    assert values(shown(djinn, "Harbour lamp")) == {"led-by": "Maren"}
    assert values(shown(djinn, "Harbour lamp", "2026-07-01")) == {"led-by": "Kim"}
    djinn.entities.set("Harbour lamp", "city", "Oslo", valid_from="2020", valid_to="2022")
    assert values(shown(djinn, "Harbour lamp", "2021"))["city"] == "Oslo"
    assert "city" not in values(shown(djinn, "Harbour lamp", "2023"))


def test_a_value_that_a_person_changed_in_the_note(djinn: Djinn, clock: Clock) -> None:
    entity = djinn.entities.add("Harbour lamp", "project", properties=["city=Oslo"]).entity
    file = Path(entity.file)
    text = file.read_text()
    changed = (NOW + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = text.replace("city: Oslo\n", "city: Bergen\n", 1)
    text = text.replace(text.split("updated: ")[1].split("\n")[0], changed, 1)
    text = text.replace(f"created: {changed}", 'created: "2026-06-04T10:00:00Z"')
    file.write_text(text)
    clock.time = NOW + timedelta(days=5)
    [city] = shown(djinn, "Harbour lamp").properties
    assert city.value == "Bergen" and [past.value for past in city.history] == ["Oslo"]
    djinn.entities.set("Harbour lamp", "city", "Rome")
    [city] = shown(djinn, "Harbour lamp").properties
    assert [city.value, *(past.value for past in city.history)] == ["Rome", "Bergen", "Oslo"]


def test_relations_from_both_sides(djinn: Djinn) -> None:
    for name in ("Maren Holt", "Bob Alder"):
        djinn.entities.add(name, "person")
    djinn.entities.add("Harbour lamp", "project")
    djinn.entities.set("Harbour lamp", "led-by", "[[Bob Alder]]", valid_from="2026-01-01")
    djinn.entities.set("Harbour lamp", "led-by", "[[Maren Holt|Maren]]", valid_from="2026-05-01")
    djinn.entities.set("Harbour lamp", "near", "[[Nowhere]]")
    relations = shown(djinn, "Harbour lamp").relations
    assert [(each.relation, each.name, each.path, each.current) for each in relations] == [
        ("near", "Nowhere", None, True),
        ("led-by", "Maren Holt", "people/maren-holt.md", True),
        ("led-by", "Bob Alder", "people/bob-alder.md", False),
    ]
    [led] = shown(djinn, "Maren Holt").relations
    assert (led.direction, led.name, led.valid_from, led.valid_to) == (
        "from", "Harbour lamp", "2026-05-01", None,
    )  # fmt: skip
    assert shown(djinn, "Maren Holt", "2026-02-01").relations == ()
    [led] = shown(djinn, "Bob Alder", "2026-02-01").relations
    assert led.current and led.holds == "since 1 January 2026 until 1 May 2026"
    # Relations are no mentions.
    assert shown(djinn, "Maren Holt").mentioned == 0


def test_aliases(djinn: Djinn) -> None:
    djinn.entities.add("Maren Holt", "person")
    changed = djinn.entities.alias("add", "Maren Holt", ["Maren", "M. Holt", "maren"])
    assert changed.entity.aliases == ("Maren", "M. Holt")
    assert djinn.entities.alias("add", "Maren", ["MAREN HOLT"]).entity.aliases == (
        "Maren", "M. Holt",
    )  # fmt: skip
    with pytest.raises(UsageError, match="'Mary' is no alias of 'Maren Holt'; its aliases are"):
        djinn.entities.alias("remove", "Maren", ["Mary"])
    assert djinn.entities.alias("remove", "Maren Holt", ["maren", "M. Holt"]).entity.aliases == ()


def test_removed_and_restored(djinn: Djinn, home: Home) -> None:
    djinn.entities.add("Maren Holt", "person")
    assert djinn.entities.remove("Maren Holt", dry_run=True).moved_to is None
    moved = djinn.entities.remove("Maren Holt").moved_to
    assert moved and moved.is_file() and ".trash" in moved.parts
    with pytest.raises(NotFound, match="no entity 'Maren Holt'"):
        djinn.entities.show("Maren Holt")
    djinn.memories.restore("Maren Holt")
    assert shown(djinn, "Maren Holt").title == "Maren Holt"


@pytest.mark.parametrize("key", ["type", "Title", "aliases", "a: b", "", "[[x]]", "valid_from"])
def test_keys_that_are_no_properties(djinn: Djinn, key: str) -> None:
    djinn.entities.add("Maren Holt", "person")
    with pytest.raises(UsageError):
        djinn.entities.set("Maren Holt", key, "x")


def test_secrets_are_refused(djinn: Djinn) -> None:
    secret = "AKIA" + "Z7QXJ3PLM2VNBR4T"
    with pytest.raises(Refused):
        djinn.entities.add("Maren Holt", "person", properties=[f"key={secret}"])
    djinn.entities.add("Maren Holt", "person")
    with pytest.raises(Refused):
        djinn.entities.set("Maren Holt", "aws key", secret)
    with pytest.raises(Refused):
        djinn.entities.alias("add", "Maren Holt", [secret])


def test_a_property_that_is_unset_ends_then(djinn: Djinn, clock: Clock) -> None:
    djinn.entities.add("Harbour lamp", "project", properties=["city=Oslo"])
    clock.time = NOW + timedelta(days=5)
    done = djinn.memories.edit("Harbour lamp", fields=["city="])
    [city] = shown(djinn, "Harbour lamp").properties
    assert (city.value, (city.until or "")[:10]) == ("Oslo", "2026-06-09")
    djinn.changes.undo(done.change)
    assert shown(djinn, "Harbour lamp").properties[0].until is None
    dated = djinn.memories.edit("Harbour lamp", fields=["city=", "updated=2026-06-07"])
    assert dated.changed and shown(djinn, "Harbour lamp").properties[0].until == "2026-06-07"


def test_the_list_is_searched_by_names(djinn: Djinn) -> None:
    djinn.entities.add("Maren Holt", "person", aliases=["The Captain"], confidence=0.8)
    djinn.entities.add("Harbour lamp", "project")
    page = djinn.entities.list(search=" the CAPTAIN")
    assert [(each.title, each.confidence) for each in page.entities] == [("Maren Holt", 0.8)]
    assert (page.total, page.kinds) == (1, {"person": 1})
    assert djinn.entities.list(search="ar", kind="project").kinds == {"person": 1, "project": 1}
    assert djinn.entities.list(search="nobody").entities == ()
    # Of one name.
    assert djinn.entities.list(search="Holt The").total == 0


def test_each_change_names_what_takes_it_back(djinn: Djinn) -> None:
    added = djinn.entities.add("Maren Holt", "person")
    assert djinn.entities.alias("add", "Maren Holt", ["Maren Holt"]).change is None
    removed = djinn.entities.remove("Maren Holt")
    fact = djinn.facts.set("maren", "city", "Gdynia")
    assert djinn.facts.verify("city").change is None
    forgotten = djinn.facts.forget("city")
    changes = (forgotten.change, fact.change, removed.change, added.change)
    assert [change.id for change in djinn.changes.list().changes] == [*changes]
