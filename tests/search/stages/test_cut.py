"""No hit is only links, footnotes or a heading where the memory says more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.models import Mode
from djinn_memory.search.snippet import is_filler

MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning")

NOTES = {
    "kettle.md": "# Kettle\n\n## Sound\n\nA kettle sings before it boils.\n\n## Scale\n\n"
    "Vinegar takes it off.[^acid]\n\n## Notes\n\n"
    "[^acid]: Acetic acid dissolves the limestone of hard water.\n\n"
    "## Links\n\n- [[Samovar and teapot]]\n- https://example.com/limestone\n\n## Samovar\n",
    "stub.md": "# Orrery\n",
    "list.md": "# Reading\n\n- [Clockwork planets](https://example.com/planets)\n",
    "picture.md": "# Astrolabe\n\n![](astrolabe.png)\n",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home, _ = init(tmp_path_factory.mktemp("fillers") / "home")
    home.edit((("embedding", "provider"), "hashing"))
    for path, text in NOTES.items():
        (home.root / "vaults" / "shared" / path).write_text(text)
    Djinn(home).index()
    return home


def text_of(home: Home, path: str, lines: tuple[int, int]) -> str:
    file: Path = home.root / "vaults" / "shared" / path
    return "\n".join(file.read_text().splitlines()[lines[0] - 1 : lines[1]])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["limestone acid", "samovar teapot", "samovar", "kettle links"])
def test_what_says_nothing_is_shown_by_what_does(home: Home, query: str, mode: Mode) -> None:
    hits = [hit for hit in Djinn(home).search(query, mode=mode).hits if hit.path == "kettle.md"]
    assert hits
    assert len({hit.lines for hit in hits}) == len(hits)
    for hit in hits:
        assert not is_filler(text_of(home, hit.path, hit.lines))
        assert re.search(r"\w", hit.snippet)


def test_a_footnote_is_shown_by_what_cites_it(home: Home) -> None:
    hit = Djinn(home).search("acetic acid limestone").hits[0]
    assert hit.heading[-1] == "Scale"
    assert hit.snippet == "Vinegar takes it off."
    parts = sum(leg.part for leg in hit.legs.values()) + hit.feedback
    assert parts == pytest.approx(hit.score, abs=1e-3)


def test_a_phrase_is_shown_where_it_stands(home: Home) -> None:
    [hit] = Djinn(home).search('"dissolves the limestone"').hits
    assert "dissolves the limestone" in hit.snippet


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "path"),
    [("orrery", "stub.md"), ("clockwork planets", "list.md"), ("astrolabe", "picture.md")],
)
def test_a_memory_that_is_nothing_else_is_found(
    home: Home, query: str, path: str, mode: Mode
) -> None:
    hit = Djinn(home).search(query, mode=mode).hits[0]
    assert hit.path == path
    assert query in hit.snippet.lower()


def test_a_stub_that_is_only_near_in_meaning_gives_way(home: Home) -> None:
    djinn = Djinn(home)
    stubs = {"stub.md", "list.md", "picture.md"}
    near = {hit.path for hit in djinn.search("kettle vinegar", mode="meaning").hits}
    assert near & stubs
    assert not {hit.path for hit in djinn.search("kettle vinegar").hits} & stubs
    assert "list.md" in {hit.path for hit in djinn.search("kettle clockwork vinegar").hits}
    alone = [djinn.search(f"kettle {n}", paths=("stub",)).hits for n in range(20)]
    assert {hit.path for hits in alone for hit in hits} == {"stub.md"}
