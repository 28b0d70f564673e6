"""Exports are read by the programs that they are for, whatever the notes are called."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.memories.graph.requests import GraphFormat
from tests.conftest import Run

TITLES = [
    "plain",
    "a < b & c > d ]]>",
    'say "hi" \\ \\N',
    "it's #hash; #35; end",
    "x]) --> y(((",
    "é 日本 🎈 <3",
    "click %% comment | pipe",
]


@pytest.fixture
def hostile(djinn: Djinn, shared: Path) -> Djinn:
    """Each note links to the next."""
    for number, title in enumerate(TITLES):
        after = f"n{number + 1}" if number + 1 < len(TITLES) else "n0"
        fields = f"title: {json.dumps(title, ensure_ascii=False)}\nblocks: '[[{after}|<&\"{{}}]]'"
        text = f"---\n{fields}\n---\n[[{after}]]\n"
        (shared / f"n{number}.md").write_text(text, encoding="utf-8")
    return djinn


def exported(djinn: Djinn, form: GraphFormat, **options: Any) -> str:
    export = djinn.graph.export(form, **options)
    assert (export.memories, export.links) == (len(TITLES), 2 * len(TITLES))
    return export.text


def test_graphml_is_xml_with_typed_edges(hostile: Djinn) -> None:
    text = exported(hostile, "graphml")
    names = {"g": "http://graphml.graphdrawing.org/xmlns"}
    graph = ElementTree.fromstring(text).find("g:graph", names)
    assert graph is not None
    data = [
        {each.attrib["key"]: each.text for each in element}
        for element in graph.findall("g:node", names)
    ]
    assert [each["node-title"] for each in data] == TITLES
    edges = graph.findall("g:edge", names)
    assert {tuple(each.text for each in edge) for edge in edges[:2]} == {
        ("blocks", "1.0", "1.0", '<&"{}'), ("references", "1.0", "1.0", "n1"),
    }  # fmt: skip


def test_control_characters_do_not_break_xml(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text('---\ntitle: "bell \\a and \\uFFFE"\n---\n')
    ElementTree.fromstring(djinn.graph.export("graphml").text)


def test_a_nul_does_not_end_dot(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text('---\ntitle: "bell \\0 and"\n---\n')
    assert "\0" not in djinn.graph.export("dot").text


def test_json_has_nodes_and_edges(hostile: Djinn) -> None:
    graph = json.loads(exported(hostile, "json"))
    titles = {node["id"]: node["title"] for node in graph["nodes"]}
    assert [*titles.values()] == TITLES
    assert {(titles[edge["source"]], edge["type"]) for edge in graph["edges"]} == {
        (title, kind) for title in TITLES for kind in ("blocks", "references")
    }
    assert graph["edges"][0].keys() >= {"weight", "confidence", "direction", "text"}


def test_dot_has_strings_that_end_where_they_should(hostile: Djinn) -> None:
    lines = exported(hostile, "dot").splitlines()
    string = r'"((?:[^"\\]|\\.)*)"'
    statement = re.compile(rf"  n\d+(?: -> n\d+)? \[\w+={string}(?:, \w+={string})*\];")
    assert all(statement.fullmatch(line) for line in lines[1:-1])
    titles = [re.search(rf" title={string}", line) for line in lines[1 : 1 + len(TITLES)]]
    assert [re.sub(r"\\(.)", r"\1", match[1]) for match in titles if match] == TITLES


def test_mermaid_spells_what_it_would_read(hostile: Djinn) -> None:
    lines = exported(hostile, "mermaid").splitlines()
    labels = [re.fullmatch(r'  n\d+\["([\w .,:/()#;-]+)"\]', line) for line in lines[1:8]]
    texts = [match[1] for match in labels if match]
    assert [re.sub(r"#(\d+);", lambda code: chr(int(code[1])), text) for text in texts] == TITLES
    assert lines[8:10] == ['  n0 -->|"blocks"| n1', "  n0 --> n1"] or lines[8:10] == [
        "  n0 --> n1", '  n0 -->|"blocks"| n1',
    ]  # fmt: skip


def test_a_canvas_shows_files_of_its_vault_and_texts_of_others(hostile: Djinn) -> None:
    agent = hostile.home.agent(None)
    own = next(vault for vault in hostile.home.vaults if vault.agent == agent)
    (own.root / "mine.md").write_text("[[n0]]")
    canvas = json.loads(hostile.graph.export("canvas").text)
    by_type = {node["type"] for node in canvas["nodes"]}
    assert by_type == {"file", "text"}
    files = {node["file"] for node in canvas["nodes"] if node["type"] == "file"}
    assert files == {f"n{number}.md" for number in range(len(TITLES))}
    places = {(node["x"], node["y"]) for node in canvas["nodes"]}
    assert len(places) == len(canvas["nodes"]), "no card covers another"
    ids = {node["id"] for node in canvas["nodes"]}
    assert all({edge["fromNode"], edge["toNode"]} <= ids for edge in canvas["edges"])


def test_filters_choose_notes_and_the_links_between_them(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("---\ntags: [x]\n---\n[[b]] [[c]]")
    (shared / "b.md").write_text("---\ntags: [x]\n---\n[[c]]")
    (shared / "c.md").write_text("[[a]]")
    export = djinn.graph.export("json", tags=["x"])
    assert (export.memories, export.links) == (2, 1)


def test_a_file_is_written_once(djinn: Djinn, shared: Path, run: Run, tmp_path: Path) -> None:
    (shared / "a.md").write_text("[[b]]")
    (shared / "b.md").write_text(".")
    out = tmp_path / "links.dot"
    command = ("--home", str(djinn.home.root), "graph", "export", "--format", "dot", "--out")
    assert run(*command, str(out)).stdout == f"2 notes, 1 link -> {out}\n"
    written = out.read_text()
    assert written == djinn.graph.export("dot").text
    again = run(*command, str(out))
    assert again.returncode == 3
    assert "already exists; choose another file name" in again.stderr
    missing = run(*command, str(tmp_path / "no" / "links.dot"))
    assert missing.returncode == 4
    assert out.read_text() == written
