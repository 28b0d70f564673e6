from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.graph import view as viewing
from djinn_memory.memories.graph.requests import GraphNode, GraphView
from tests.conftest import Run


def write(folder: Path, **notes: str) -> None:
    for name, text in notes.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


@pytest.fixture
def harbour(djinn: Djinn, shared: Path) -> Djinn:
    write(
        shared,
        Lamp="---\ntype: decision\ntags: [light]\ndepends_on: '[[Keeper]]'\n---\nSee [[Mole|it]].",
        Mole="Built of [[Stone]].",
        Stone="Grey.",
        Keeper="Lights the [[Lamp]].",
        Buoy="On its own.",
    )
    return djinn


def titles(view: GraphView) -> set[str]:
    return {node.title for node in view.nodes}


def node(view: GraphView, title: str) -> GraphNode:
    return next(node for node in view.nodes if node.title == title)


def test_a_view_has_all_notes_and_links(harbour: Djinn) -> None:
    view = harbour.graph.view()
    assert titles(view) == {"Lamp", "Mole", "Stone", "Keeper", "Buoy"}
    assert (view.total, view.total_links, view.note) == (5, 4, None)
    lamp = node(view, "Lamp")
    assert (lamp.type, lamp.tags, lamp.degree, lamp.vault) == ("decision", ("light",), 3, "shared")
    assert node(view, "Buoy").degree == 0
    edges = {(edge.source, edge.target, edge.type, edge.text) for edge in view.edges}
    assert ("shared:Lamp.md", "shared:Keeper.md", "depends_on", "Keeper") in edges
    assert ("shared:Lamp.md", "shared:Mole.md", "references", "it") in edges


def test_texts_come_if_they_are_asked_for(harbour: Djinn) -> None:
    assert {each.text for each in harbour.graph.view().nodes} == {""}
    view = harbour.graph.view(texts=True)
    assert node(view, "Lamp").text == "See [[Mole|it]]."
    assert not any(each.cut for each in view.nodes)


@pytest.mark.parametrize(("hops", "near"), [(1, "Lamp Mole Keeper"), (2, "Lamp Mole Keeper Stone")])
def test_a_view_of_a_note_has_what_is_around_it(harbour: Djinn, hops: int, near: str) -> None:
    view = harbour.graph.view("lamp", hops=hops)
    assert titles(view) == {*near.split()}
    assert view.note == "shared:Lamp.md"


def test_a_note_without_links_is_alone(harbour: Djinn) -> None:
    view = harbour.graph.view("Buoy")
    assert (titles(view), view.edges) == ({"Buoy"}, ())


def test_an_unknown_note_is_an_error(harbour: Djinn) -> None:
    with pytest.raises(NotFound, match="no note 'Anchor'"):
        harbour.graph.view("Anchor")


def test_an_empty_home_has_an_empty_view(djinn: Djinn) -> None:
    view = djinn.graph.view(texts=True)
    assert (view.nodes, view.edges, view.total) == ((), (), 0)


def test_filters_narrow_a_view(harbour: Djinn) -> None:
    view = harbour.graph.view(types=("decision",))
    assert (titles(view), view.edges) == ({"Lamp"}, ())
    assert node(view, "Lamp").degree == 0


def test_more_than_fits_leaves_out_notes_with_few_links(
    harbour: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewing, "MOST_NODES", 3)
    view = harbour.graph.view()
    assert (len(view.nodes), view.total) == (3, 5)
    assert {"Lamp", "Mole"} < titles(view)
    assert "Stone" in titles(harbour.graph.view("Stone"))
    monkeypatch.setattr(viewing, "MOST_LINKS", 1)
    view = harbour.graph.view()
    assert (len(view.edges), view.total_links > 1) == (1, True)


def test_texts_have_a_bound_in_all(harbour: Djinn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewing, "MOST_TEXT", 20)
    view = harbour.graph.view(texts=True)
    assert sum(len(each.text) for each in view.nodes) == 20
    assert node(view, "Lamp").text == "See [[Mole|it]]."
    assert node(view, "Buoy").cut


def test_a_layout_is_kept_without_words(harbour: Djinn) -> None:
    first = harbour.graph.view()
    [kept] = (harbour.home.state / "layouts").iterdir()
    data = kept.read_bytes()
    assert b"Lamp" not in data and b"Mole" not in data
    before = hashlib.sha256(data).digest()
    again = harbour.graph.view()
    assert again == first
    assert hashlib.sha256(kept.read_bytes()).digest() == before
    # What is damaged is made again.
    kept.write_bytes(data[:40])
    assert harbour.graph.view() == first
    assert np.load(kept).shape == (5, 5)


def test_the_layout_changes_with_the_links(harbour: Djinn, shared: Path) -> None:
    first = node(harbour.graph.view(), "Stone").spot
    write(shared, Buoy="Near [[Stone]].")
    assert node(harbour.graph.view(), "Stone").spot != first


def test_the_command_writes_a_page_and_overwrites_only_its_own(
    harbour: Djinn, tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "graph.html"
    for _ in range(2):
        answer = json.loads(
            run("graph", "view", "--out", str(file), "--json", home=harbour.home.root).stdout
        )
        assert (answer["file"], answer["note"], answer["opened"]) == (str(file), None, False)
        assert answer["notes"] == len(harbour.graph.view().nodes)
    assert b"djinn graph view" in file.read_bytes()
    file.write_text("<p>of a person</p>")
    refused = run("graph", "view", "--out", str(file), "--json", home=harbour.home.root)
    assert refused.returncode and "already exists" in refused.stdout
    assert file.read_text() == "<p>of a person</p>"


def test_a_note_outside_the_filters_is_named(harbour: Djinn, tmp_path: Path, run: Run) -> None:
    name, root = harbour.graph.view().nodes[0].title, harbour.home.root
    words = "graph", "view", name, "--type", "nothing", "--out", tmp_path / "g.html"
    assert "does not match the filters" in run(*words, home=root).stderr
    assert "filters" not in run("graph", "view", name, "--out", words[-1], home=root).stderr


def test_a_view_has_the_vaults_and_the_notes_of_its_reader(home: Home) -> None:
    for name in ("ada", "ben"):
        add_agent(home, name)
        write(home.root / "vaults" / name, **{name: f"# Of {name}"})
    home = Home(home.root)
    (home.shared.root / "Lamp.md").write_text("See [[ada]] and [[ben]].")
    djinn = Djinn(home)
    assert titles(djinn.graph.view(agent="ada")) == {"Lamp", "Of ada"}
    assert titles(djinn.graph.view(agent="ada", vaults=("ada",))) == {"Of ada"}
    assert node(djinn.graph.view(agent="ben"), "Of ben").agent == "ben"


def test_a_purge_takes_the_page_with_it(harbour: Djinn, run: Run) -> None:
    run("graph", "view", home=harbour.home.root)
    assert harbour.home.graph_page_path.exists()
    harbour.memories.purge("Buoy")
    assert not harbour.home.graph_page_path.exists()
