"""Which entity a mention means, and `not sure` rather than a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import init


@pytest.fixture
def djinn(tmp_path: Path) -> Djinn:
    home, _ = init(tmp_path / "home")
    home.edit((("embedding", "provider"), "none"))
    return Djinn(home)


def meant(djinn: Djinn, mention: str, context: str = "") -> str | None:
    entity = djinn.entities.resolve(mention, context).entity
    return entity.title if entity else None


def candidates(djinn: Djinn, mention: str, context: str = "") -> set[str]:
    return {each.title for each in djinn.entities.resolve(mention, context).candidates}


@pytest.mark.parametrize(
    "mention",
    ["bob alder", "Bob", "Dr. Alder", "R. Alder", "R.A.", "Alder, Robert", "Robert J. Alder",
     "Robret Alder", "Robert’s", "Robertt Alder", "robert.alder"],
)  # fmt: skip
def test_the_only_bearer(djinn: Djinn, mention: str) -> None:
    djinn.entities.add("Robert Alder", "person")
    djinn.entities.add("Maren Holt", "person")
    assert meant(djinn, mention) == "Robert Alder"


@pytest.mark.parametrize(
    "mention", ["Robert Miller", "Alma", "R. Miller", "R", "Rupert Alder", "?", "the"]
)
def test_nobody(djinn: Djinn, mention: str) -> None:
    djinn.entities.add("Robert Alder", "person")
    assert meant(djinn, mention) is None
    # A name that only looks alike is a candidate, and no answer.
    djinn.entities.add("Maren Holt", "person")
    assert meant(djinn, "Karen") is None and candidates(djinn, "Karen") == {"Maren Holt"}


def test_nicknames_beside_a_bearer_of_the_short_name(djinn: Djinn) -> None:
    djinn.entities.add("Robert Alder", "person", "Repairs boats.")
    djinn.entities.add("Bob Voss", "person", "Teaches chess.")
    assert candidates(djinn, "Bob") == {"Robert Alder", "Bob Voss"}
    assert meant(djinn, "Bob", "Bob called.") is None
    djinn.entities.alias("add", "Bob Voss", ["Bob"])
    # Whoever has the name is meant before those who might be called so.
    assert candidates(djinn, "Bob") == {"Bob Voss"}


def test_relations_from_both_sides_tell(djinn: Djinn) -> None:
    for name in ("Anna Berg", "Anna Lind", "Anna Ito"):
        djinn.entities.add(name, "person")
    djinn.entities.add("Northwind", "company")
    djinn.entities.add("Harbour lamp", "project")
    djinn.entities.set("Anna Berg", "works-at", "[[Northwind]]")
    djinn.entities.set("Harbour lamp", "led-by", "[[Anna Lind]]", valid_from="2026-01-01")
    djinn.entities.set("Harbour lamp", "led-by", "[[Anna Ito]]", valid_from="2026-05-01")
    assert meant(djinn, "Anna", "Anna from Northwind sent an offer.") == "Anna Berg"
    assert meant(djinn, "Anna", "In March 2026 Anna led the harbour lamp.") == "Anna Lind"
    assert meant(djinn, "Anna", "In June 2026 Anna led the harbour lamp.") == "Anna Ito"
    assert meant(djinn, "Anna", "Anna will call again.") is None
    assert len(candidates(djinn, "Anna", "Anna will call again.")) == 3


def test_only_the_nearest_of_many_mentions_are_read(djinn: Djinn) -> None:
    for name in ("Ada Lund", "Ada Rossi"):
        djinn.entities.add(name, "person")
    folder = djinn.home.shared.root
    for number in range(60):
        (folder / f"{number:02}.md").write_text(f"Ada Lund and Ada Rossi ate soup {number}.\n")
    (folder / "00.md").write_text("Ada Lund welded the trawler.\n")
    (folder / "01.md").write_text("Ada Rossi tuned the trombone and the tuba.\n")
    assert meant(djinn, "Ada", "Ada welded a second trawler, welded well.") == "Ada Lund"


def test_what_is_in_hidden_vaults_tells_nothing(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "pair", ("finn", "grace"))
    home.edit((("embedding", "provider"), "none"))
    with Djinn(home) as djinn:
        for name in ("Ada Lund", "Ada Rossi"):
            djinn.entities.add(name, "person", shared=True)
        context = "Ada welded the trawler and the barge."
        before = djinn.entities.resolve("Ada", context, agent="finn")
        djinn.entities.add("Ada Holm", "person", agent="grace")
        djinn.remember("fact", "Ada Lund", "Ada Lund welded the trawler and the barge.",
                       agent="grace")  # fmt: skip
        assert djinn.entities.resolve("Ada", context, agent="finn") == before


def told(tmp_path: Path, context: str, **notes: str) -> str | None:
    """Who `Clara` means for the packaged model, among the bearers of the name with these notes."""
    home, _ = init(tmp_path / "home")
    with Djinn(home) as djinn:
        for last, note in notes.items():
            djinn.entities.add(f"Clara {last}", "person", note, force=True)
        return meant(djinn, "Clara", context)


@pytest.mark.parametrize(
    "context", ["Lunch with Clara at half past twelve.", "Clara rang.", "I dreamt of Clara."]
)
def test_a_context_that_tells_nothing(tmp_path: Path, context: str) -> None:
    notes = {"Holt": "Bakes bread.", "Voss": "Judges civil cases.", "Ito": "Repairs clocks."}
    assert told(tmp_path, context, **notes) is None


def test_candidates_who_do_the_same(tmp_path: Path) -> None:
    notes = {"Holt": "Judge at the district court.", "Ito": "Repairs clocks."}
    context = "The defendant was acquitted by Clara."
    assert told(tmp_path / "two", context, **notes) == "Clara Holt"
    assert told(tmp_path / "three", context, **notes, Voss="Judges criminal cases.") is None


def test_a_sentence_that_only_links_tells_nothing(tmp_path: Path) -> None:
    notes = {"Holt": "Judge. Met through [[Ada Baker]].", "Ito": "Bakes bread."}
    assert told(tmp_path, "Clara took the loaf out of the oven.", **notes) == "Clara Ito"
