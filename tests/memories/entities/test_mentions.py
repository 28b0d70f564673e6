"""Mentions: whole names, aliases and links, in notes, documents and episodes that may be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.memories.entities.detail import EntityDetail


@pytest.fixture
def djinn(tmp_path: Path) -> Djinn:
    home, _ = init(tmp_path / "pair", ("finn", "grace"))
    home.edit((("embedding", "provider"), "none"))
    return Djinn(home)


def write(home: Home, path: str, text: str) -> None:
    file = home.root / "vaults" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def shown(djinn: Djinn, name: str = "Maren Holt", limit: int = 100) -> EntityDetail:
    entity = djinn.entities.show(name, limit=limit, agent="finn").entity
    assert entity
    return entity


def places(entity: EntityDetail) -> list[tuple[str, int, int]]:
    return sorted((each.path, each.line, each.count) for each in entity.mentions)


@pytest.fixture
def maren(djinn: Djinn) -> EntityDetail:
    return djinn.entities.add("Maren Holt", "person", aliases=["Mari"], agent="finn").entity


def test_whole_names_with_their_places(djinn: Djinn, maren: EntityDetail) -> None:
    write(djinn.home, "shared/a.md", "# Log\n\nNobody.\n\n## Crew\n\nMAREN  holt came.\n"
          "Mari left, Maren\nHolt stayed. Marenholt, Maris and Mari's.\n")  # fmt: skip
    write(djinn.home, "finn/b.md", "---\ntitle: Dinner with Maren Holt\n---\nSoup.\n")
    entity = shown(djinn)
    assert places(entity) == [("a.md", 7, 1), ("a.md", 8, 2), ("a.md", 9, 1), ("b.md", 1, 1)]
    assert entity.mentioned == 5
    crew = next(each for each in entity.mentions if each.line == 7)
    assert crew.heading == ("Log", "Crew") and crew.text == "MAREN holt came."
    assert shown(djinn, limit=1).mentioned == 5 and len(shown(djinn, limit=1).mentions) == 1


def test_links_count_once(djinn: Djinn, maren: EntityDetail) -> None:
    write(djinn.home, "finn/c.md", "With [[Maren Holt|Mari]] and [[maren-holt]].\n\n"
          "[[Mari|her]] too, [[Other|Maren Holt]] not. [[Mari Nowhere]] is text.\n")  # fmt: skip
    write(djinn.home, "finn/other.md", "# Other\n\nNo one.\n")
    assert places(shown(djinn)) == [("c.md", 1, 2), ("c.md", 3, 2)]


def test_a_longer_name_of_another(djinn: Djinn, maren: EntityDetail) -> None:
    djinn.entities.add("Mari Voss", "person", agent="finn")
    write(djinn.home, "finn/d.md", "Mari Voss met Mari.\n")
    assert shown(djinn).mentioned == 1
    assert shown(djinn, "Mari Voss").mentioned == 1


def test_episodes_and_documents(djinn: Djinn, maren: EntityDetail, tmp_path: Path) -> None:
    djinn.episodes.record_interaction(
        "Did Maren Holt call?", response="[[Maren Holt]] did.", agent="finn"
    )
    paper = tmp_path / "paper.txt"
    paper.write_text("A list of people.\n\nMaren Holt, sailor.\n")
    djinn.documents.ingest([paper], agent="finn")
    entity = shown(djinn)
    assert entity.mentioned == 3
    assert {each.plane for each in entity.mentions} == {"episodic", "documents"}


def test_scripts_without_spaces_and_accents(djinn: Djinn) -> None:
    djinn.entities.add("東京タワー", "place", agent="finn")
    djinn.entities.add("Zoë Łask", "person", agent="finn")
    write(djinn.home, "finn/e.md", "昨日は東京タワーに行きました。\n\nZoe Łask und ZOË ŁASK.\n")
    assert shown(djinn, "東京タワー").mentioned == 1
    assert shown(djinn, "Zoë Łask").mentioned == 2


def test_hidden_vaults_do_not_count(djinn: Djinn, maren: EntityDetail) -> None:
    before = shown(djinn)
    write(djinn.home, "grace/hidden.md", "Maren Holt and [[Maren Holt]].\n")
    djinn.entities.add("Maren Holt Secret", "person", agent="grace")
    djinn.episodes.record_observation("Maren Holt", agent="grace")
    assert shown(djinn) == before
    page = djinn.entities.list(agent="finn")
    assert [(each.title, each.mentioned) for each in page.entities] == [("Maren Holt", 0)]
