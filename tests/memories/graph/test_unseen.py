"""An agent's answers about the graph say nothing of vaults and domains that it may not see."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.operations import OPERATIONS
from tests.examples import examples

NAMES = ("Lamp", "Pier", "Tides", "Keeper", "Kettle", "Tea")
SEEN = {
    "Lamp": "---\ndepends_on: '[[Pier]]'\ntags: [light]\n---\nThe lamp lights the pier. [[Keeper]]",
    "Pier": "The pier of the keeper is of wood. [[Keeper]] [[Secret]] [[Lamp|the light]]",
    "Keeper": "The keeper drinks tea at noon. [[Tea]]",
    "Tea": "Tea is hot, and the [[Kettle]] sings.",
    "Kettle": "The kettle is blue.",
}
ASKED = (
    *(("graph.neighbours", {"name": name, "hops": 3}) for name in ("Lamp", "Tea")),
    ("graph.path", {"name": "Lamp", "to": "Kettle"}),
    ("graph.path", {"name": "Lamp", "to": "Secret"}),
    ("graph.communities", {}),
    ("graph.stats", {}),
    *(("graph.export", {"format": form}) for form in ("json", "canvas", "graphml")),
    *((f"memories.{name}", {"name": "Keeper"}) for name in ("links", "mentions")),
    *(
        ("search", {"query": query, "mode": mode, "hops": hops, "limit": 50})
        for query, mode, hops in (
            ("lamp of the pier", "graph", 1),
            ("the blue kettle", "graph", 3),
            ("the light", "words", None),
            ("tea", "hybrid", None),
        )
    ),
    ("recall", {"query": "the lamp of the pier", "hops": 2}),
    ("recall", {"query": "the lamp of the pier", "wide": True}),
)

LINKS = st.lists(
    st.sampled_from([*NAMES, "Secret", "finn:Lamp", "Kettle|the light", "Tea|lamp of the pier"]),
    max_size=4,
)
HIDDEN = st.dictionaries(st.sampled_from([*NAMES, "Secret", "Aaa", "Zzz"]), LINKS, max_size=6)
"""Notes of grace, and notes of a domain that finn may not see, with their links."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        home, _ = init(tmp_path_factory.mktemp("unseen") / "template", ("grace", "finn"))
        home.edit(
            (("embedding", "provider"), "hashing"),
            (("search", "sweep_ms"), 10_000),
            (("search", "sweep_notes"), 1_000),
            (("access",), {"finn": ["harbour"]}),
        )
        for name, text in SEEN.items():
            (home.root / "vaults" / "shared" / f"{name}.md").write_text(text)
        with Djinn(home) as djinn:
            djinn.index()
        yield home.root


def answers(template: Path, grace: dict[str, list[str]], money: dict[str, list[str]]) -> list[str]:
    place = shutil.copytree(template, template.with_name("place"))
    try:
        for name, links in grace.items():
            text = " ".join(f"[[{link}]]" for link in links)
            (place / "vaults" / "grace" / f"{name}.md").write_text(f"The lamp of tea. {text}")
        (place / "vaults" / "shared" / "m").mkdir()
        for name, links in money.items():
            text = " ".join(f"[[{link}]]" for link in links)
            note = f"---\ndomain: money\ntags: [light]\n---\nThe lamp of tea. {text}"
            (place / "vaults" / "shared" / "m" / f"{name}.md").write_text(note)
        with Djinn(Home(place)) as djinn:
            djinn.index()
            return [answer(djinn, name, fields) for name, fields in ASKED]
    finally:
        shutil.rmtree(place)


def answer(djinn: Djinn, name: str, fields: dict[str, object]) -> str:
    operation = OPERATIONS[name]
    try:
        given = operation.bind(djinn)(operation.request(**fields, agent="finn"))
    except DjinnError as error:
        return f"{type(error).__name__}: {error}"
    known = msgspec.to_builtins(given, enc_hook=str)
    # Drawn, and measured.
    return str({**known, "request_id": None, "milliseconds": 0})


@pytest.fixture(scope="module")
def expected(template: Path) -> list[str]:
    return answers(template, {}, {})


@pytest.mark.soak
@settings(max_examples=examples(60, 0.1), suppress_health_check=list(HealthCheck))
@given(grace=HIDDEN, money=HIDDEN)
def test_hidden_notes_and_links_change_no_answer(
    template: Path, expected: list[str], grace: dict[str, list[str]], money: dict[str, list[str]]
) -> None:
    given = answers(template, grace, money)
    for asked, after, before in zip(ASKED, given, expected, strict=True):
        assert after == before, asked


def test_the_answers_tell_something(expected: list[str]) -> None:
    neighbours, *_, recalled = expected
    assert "depends_on" in neighbours
    assert "'communities': ({" in recalled
    searched = [given for (name, _), given in zip(ASKED, expected, strict=True) if name == "search"]
    assert re.search(r"'via': [(\[]?['\"]\w", " ".join(searched))
    assert "Secret" not in neighbours
