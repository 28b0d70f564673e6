"""Neighbours, paths, counts and communities of notes that link to each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, UsageError
from tests.conftest import Run


def write(vault: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        (vault / f"{name}.md").write_text(text, encoding="utf-8")


HARBOUR = {
    "Lamp": '---\ndepends_on: "[[Pier]]"\n---\nA lamp of the [[Pier|old pier]]. See [[Tides]].',
    "Pier": "A pier of wood, near the [[Keeper]].",
    "Tides": "The tide comes twice a day. [[Nowhere]] [[Tides]]",
    "Keeper": "He lights the [[Lamp]] and the [[Lamp]] again.",
    "Kettle": "It sings for [[Tea]].",
    "Tea": "Hot.",
    "Alone": "Nothing.",
}


@pytest.fixture
def harbour(djinn: Djinn, shared: Path) -> Djinn:
    write(shared, HARBOUR)
    return djinn


def around(djinn: Djinn, name: str, **options: object) -> list[tuple[int, str, list[str]]]:
    return [
        (
            each.distance,
            each.title,
            [f"{edge.direction} {edge.type} {edge.text}" for edge in each.edges],
        )
        for each in djinn.graph.neighbours(name, **options).neighbours
    ]


def test_neighbours_have_the_links_that_lead_to_them(harbour: Djinn) -> None:
    assert around(harbour, "Lamp") == [
        (1, "Keeper", ["in references Lamp"]),
        (1, "Pier", ["out depends_on Pier", "out references old pier"]),
        (1, "Tides", ["out references Tides"]),
    ]
    assert around(harbour, "Tides", hops=2)[1:] == [
        (2, "Keeper", ["in references Lamp"]),
        (2, "Pier", ["out depends_on Pier", "out references old pier"]),
    ]
    edge = harbour.graph.neighbours("Lamp").neighbours[1].edges[0]
    assert (edge.source, edge.target) == ("shared:Lamp.md", "shared:Pier.md")
    assert (edge.weight, edge.confidence) == (1.0, 1.0)


def test_a_relation_limits_the_links_that_are_followed(harbour: Djinn) -> None:
    assert around(harbour, "Lamp", hops=3, relation="depends_on") == [
        (1, "Pier", ["out depends_on Pier"])
    ]
    assert [title for _, title, _ in around(harbour, "Lamp", relation="references")] == [
        "Keeper", "Pier", "Tides",
    ]  # fmt: skip
    listed = harbour.graph.neighbours("Lamp", hops=2, limit=1)
    assert (len(listed.neighbours), listed.total) == (1, 3)


def test_edges_of_entities_have_the_relation_and_its_confidence(djinn: Djinn) -> None:
    djinn.entities.add("Maren Holt", kind="person")
    djinn.entities.add("Bob Alder", kind="person")
    djinn.entities.add("Lamp", kind="project", confidence=0.6)
    djinn.entities.set("Lamp", "led-by", "[[Bob Alder]]", valid_from="2026-01-01")
    djinn.entities.set("Lamp", "led-by", "[[Maren Holt]]", valid_from="2026-05-01", confidence=0.7)
    assert around(djinn, "Lamp") == [
        (1, "Bob Alder", ["out led-by Bob Alder"]),
        (1, "Maren Holt", ["out led-by Maren Holt"]),
    ]
    [edge] = djinn.graph.path("Maren Holt", "Lamp").edges
    assert (edge.type, edge.confidence, edge.direction) == ("led-by", 0.7, "in")


def titles(djinn: Djinn, start: str, end: str) -> list[str]:
    return [memory.title for memory in djinn.graph.path(start, end).memories]


def test_a_path_is_the_shortest_and_of_several_the_first_by_place(
    djinn: Djinn, shared: Path
) -> None:
    write(shared, {
        "Start": "[[C]] [[B]] [[D]]", "B": "[[End]]", "C": "[[End]]", "D": "[[E]]", "End": "",
        "E": "[[End]]",
    })  # fmt: skip
    path = djinn.graph.path("End", "Start")
    assert [memory.title for memory in path.memories] == ["End", "B", "Start"]
    assert [edge.direction for edge in path.edges] == ["in", "in"]
    assert titles(djinn, "Start", "Start") == ["Start"]


def test_a_long_path_is_found(djinn: Djinn, shared: Path) -> None:
    long = [f"N{number:02}" for number in range(24)]
    write(shared, {name: f"[[{after}]]" for name, after in zip(long, [*long[1:], ""], strict=True)})
    write(shared, {"Apart": "[[Other]]", "Other": "."})
    assert titles(djinn, long[-1], long[0]) == long[::-1]
    assert titles(djinn, long[0], "Apart") == []


def test_what_is_not_there_is_said_in_a_line(harbour: Djinn, shared: Path) -> None:
    write(shared, dict.fromkeys(("Cup", "Pot"), "---\naliases: [Teas]\n---\n"))
    for ask in (harbour.graph.neighbours, lambda name: harbour.graph.path("Lamp", name)):
        with pytest.raises(NotFound, match="no note 'Lump'"):
            ask("Lump")
        with pytest.raises(UsageError, match="'Teas' is ambiguous: shared:Cup"):
            ask("Teas")
    assert harbour.graph.neighbours("Alone").neighbours == ()
    assert titles(harbour, "Lamp", "Alone") == []


def test_an_empty_vault_has_nothing(djinn: Djinn) -> None:
    counts = djinn.graph.stats()
    assert (counts.memories, counts.links, counts.hubs, counts.islands) == (0, 0, (), 0)
    assert djinn.graph.communities().communities == ()
    assert "digraph" in djinn.graph.export("dot").text


def test_a_link_leads_somewhere_as_soon_as_its_target_appears(harbour: Djinn, shared: Path) -> None:
    assert titles(harbour, "Lamp", "Tea") == []
    write(shared, {"Nowhere": "Here is [[Tea]]."})
    assert titles(harbour, "Lamp", "Tea") == ["Lamp", "Tides", "Nowhere", "Tea"]
    assert harbour.graph.stats().islands == 1
    (shared / "Nowhere.md").unlink()
    assert titles(harbour, "Lamp", "Tea") == []


def test_counts_name_hubs_orphans_and_islands(harbour: Djinn, home: object) -> None:
    counts = harbour.graph.stats(limit=2)
    assert (counts.memories, counts.links) == (7, 5)
    assert [(hub.title, hub.incoming, hub.outgoing) for hub in counts.hubs] == [
        ("Lamp", 1, 2), ("Keeper", 1, 1),
    ]  # fmt: skip
    assert (counts.orphans, [memory.title for memory in counts.orphan_list]) == (1, ["Alone"])
    islands = [(island.size, island.hub.title) for island in counts.island_list]
    assert (counts.islands, islands) == (2, [(4, "Lamp"), (2, "Kettle")])
    shared = next(vault for vault in counts.vaults if vault.vault == "shared")
    assert (shared.memories, shared.links, shared.outside, shared.orphans) == (7, 5, 0, 1)
    assert shared.density == pytest.approx(5 / 42)


def test_links_between_vaults_are_outside(djinn: Djinn, shared: Path) -> None:
    write(shared, {"Tea": "Hot."})
    agent = djinn.home.agent(None)
    own = next(vault for vault in djinn.home.vaults if vault.agent == agent)
    write(own.root, {"Mine": "[[Tea]]"})
    by_name = {vault.vault: vault for vault in djinn.graph.stats(agent=agent).vaults}
    assert [(by_name[name].links, by_name[name].outside) for name in ("shared", own.name)] == [
        (0, 1), (0, 1),
    ]  # fmt: skip


TOPICS = {
    "Tide tables": ("tide", "The tide tables of the harbour list high water for every day."),
    "Moon": ("tide", "The moon makes the tide rise twice a day in the harbour."),
    "Spring tide": ("tide", "A spring tide follows the full moon, and the harbour fills."),
    "Bread": ("baking", "Bread needs flour, water, salt and an hour of patience."),
    "Sourdough": ("baking", "Sourdough bread rises with flour and water alone."),
    "Oven": ("baking", "The oven must be hot before the bread goes in."),
}


def test_communities_have_tags_and_sentences_of_their_notes(djinn: Djinn, shared: Path) -> None:
    for name, (topic, text) in TOPICS.items():
        others = [f"[[{other}]]" for other, (of, _) in TOPICS.items() if of == topic != other]
        code = "```\nprint('tide')\n```"
        write(shared, {name: f"---\ntags: [{topic}, all]\n---\n# {name}\n\n{text}\n\n"
                       f"- {' '.join(others)}\n\n{code}\n"})  # fmt: skip
    listed = djinn.graph.communities()
    assert (listed.total, listed.outside) == (2, 0)
    assert {(each.number, each.size, each.links, each.tags) for each in listed.communities} == {
        (1, 3, 6, ("baking",)), (2, 3, 6, ("tide",)),
    }  # fmt: skip
    for community in listed.communities:
        names = {memory.title for memory in community.central}
        assert len(community.summary) == 3
        assert all(TOPICS[each.title][1] == each.text for each in community.summary)
        assert {each.title for each in community.summary} == names
    assert djinn.graph.communities(limit=1).communities == listed.communities[:1]


def test_the_commands_say_what_there_is_not(harbour: Djinn, run: Run) -> None:
    place = str(harbour.home.root)
    assert "Alone has no links." in run("--home", place, "graph", "neighbours", "Alone").stderr
    path = run("--home", place, "graph", "path", "Lamp", "Tea")
    assert (path.returncode, path.stderr) == (0, "No path of links between Lamp and Tea.\n")
    shown = run("--home", place, "graph", "path", "Tides", "Keeper").stdout.splitlines()
    assert [line.split()[0] for line in shown] == ["Tides", "<-", "<-"]
