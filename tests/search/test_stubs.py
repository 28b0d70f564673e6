"""Chunks that say nothing by themselves are neither first nor an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.search.snippet import is_filler

STUBS = {
    "heading.md": "# Sourdough bread\n",
    "embed.md": "## Sourdough recipe\n\n![[Bread.base#Recipe]]\n",
    "boxes.md": "# Sourdough bread\n\n- [ ]\n- [ ] \n* [x]\n",
    "works.md": "# Bread\n\n- Baker, A. B. (2020). Sourdough bread, a recipe. Loaf Press.\n",
    "form.md": "---\nrating:\ncuisine: []\ncreated: {{date}}\n---\n"
    "## Sourdough bread\n\n- \n\n## Recipe\n\n- ",
    "table.md": "# Bread recipe\n\n| Flour | Water |\n|---|---|\n|  |  |\n",
    "Sourdough Bread Recipe Template.md": "---\nrating:\ntype:\n---\n",
    "forms/full.md": "# Sourdough bread\n\nWrite the recipe for the sourdough bread here.\n",
}
TELLING = {
    "oven.md": "# Oven\n\nThe oven needs a recipe card, and bread is put in at noon.\n",
    "ferry.md": "# Ferry\n\nThe ferry to the island leaves at nine from the second pier.\n",
}


@pytest.fixture
def djinn(home: Home) -> Djinn:
    vault = home.root / "vaults" / "shared"
    for path, text in {**STUBS, **TELLING}.items():
        file = vault / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    settings = vault / ".obsidian"
    settings.mkdir()
    (settings / "templates.json").write_text('{"folder": "forms/"}')
    return Djinn(home)


def test_stubs_are_no_answer_and_come_last(djinn: Djinn) -> None:
    result = djinn.search("recipe for sourdough bread", limit=20)
    paths = [hit.path for hit in result.hits]
    assert paths[0] == "oven.md"
    assert not {"ferry.md"} & set(paths[: paths.index("oven.md")])
    assert result.verdict != "sure" and not result.confident
    recalled = djinn.recall("recipe for sourdough bread")
    assert not set(STUBS) & {memory.path for memory in recalled.memories}
    assert recalled.verdict == djinn.context("recipe for sourdough bread").verdict


def test_a_recall_that_is_sure_leaves_stubs_out(djinn: Djinn) -> None:
    question = "which card does the oven need for the bread recipe"
    assert {hit.path for hit in djinn.search(question, limit=20).hits} & {*STUBS}
    recalled = djinn.recall(question)
    assert recalled.confident
    assert not {memory.path for memory in recalled.memories} & {*STUBS}


def test_a_vault_of_stubs_knows_nothing(djinn: Djinn) -> None:
    for path in TELLING:
        (djinn.home.root / "vaults" / "shared" / path).unlink()
    for question in ("recipe for sourdough bread", "how do I bake sourdough"):
        assert djinn.search(question).verdict == "nothing"
        assert not djinn.recall(question).memories
        assert not any(
            getattr(djinn.context(question), part)
            for part in ("episodes", "patterns", "entities", "documents")
        )


def test_a_stub_that_is_asked_for_by_name_is_first(djinn: Djinn) -> None:
    for name, path in (("full", "forms/full.md"), ("the bread recipe", "table.md")):
        result = djinn.search(name)
        assert (result.verdict, result.hits[0].path) == ("sure", path)
    assert djinn.search("the sourdough bread recipe template").hits[0].path.startswith("Sourdough")


@pytest.mark.parametrize(
    "text",
    [
        "- [ ]\n- [x]\n",
        "Name: {{title}}\n",
        "<% tp.date.now() %>\n",
        "| A | B |\n| --- | :-: |\n| | |\n",
        "| A | B |\n|---|---|",
    ],
)
def test_blanks_say_nothing(text: str) -> None:
    assert is_filler(text)
    assert not is_filler(f"{text}\n\nWater boils.")


@pytest.mark.parametrize(
    "text",
    ["- [x] Buy flour\n", "| A | B |\n|---|---|\n| 5 | |\n", "At {{time}} we met Ada\n"],
)
def test_what_is_filled_in_says_something(text: str) -> None:
    assert not is_filler(text)


@pytest.mark.parametrize(
    ("settings", "content"),
    [
        (".obsidian/templates.json", "[1, 2]"),
        (".obsidian/templates.json", '{"folder": 7}'),
        (".obsidian/templates.json", '{"folder": "/"}'),
        (".obsidian/templates.json", "{" * 50_000),
        (".obsidian/templates.json", "\udcff not JSON"),
    ],
)
def test_settings_that_name_no_folder(home: Home, settings: str, content: str) -> None:
    vault = home.root / "vaults" / "shared"
    (vault / "note.md").write_text("# Ferry\n\nThe ferry leaves at nine.\n")
    file: Path = vault / settings
    file.parent.mkdir()
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert Djinn(home).search("ferry leaves").verdict == "sure"
