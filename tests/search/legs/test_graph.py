"""Links in a search: the mode graph, and the shown texts of links."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.memories.briefing.markdown import markdown
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.models import extended

NOTES = {
    "shared/lighthouse.md": "---\ntype: document\n---\n# Lighthouse\n\n"
    "The brass foghorn was built by [[Ada Moor|the founder of the yard]].\n",
    "shared/moor.md": "---\ntype: person\naliases: [Ada Moor]\n---\n# Ada\n\n"
    "She lives in Kirkwall and keeps bees. See [the honey ledger](ledger.md).\n",
    "shared/ledger.md": "# Ledger\n\nJars sold in 1932.\n",
    "shared/tide.md": "# Tide\n\nThe tide comes twice a day.\n",
    "me/foghorn.md": "# Foghorn\n\nThe secret brass foghorn: [[tide|moonlit pull]].\n",
}


@pytest.fixture
def djinn(tmp_path: Path) -> Djinn:
    home, _ = init(tmp_path / "home")
    home.edit((("embedding", "provider"), "hashing"), (("agents",), ["me", "other"]))
    home = Home(home.root)
    for path, text in NOTES.items():
        place = home.root / "vaults" / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    djinn = Djinn(home)
    djinn.index()
    return djinn


def test_a_note_is_found_through_the_note_that_matches(djinn: Djinn) -> None:
    hits = djinn.search("brass foghorn", mode="graph", agent="other").hits
    assert [hit.title for hit in hits][:2] == ["Lighthouse", "Ada"]
    assert [hit.via for hit in hits][:2] == [(), ("Lighthouse",)]
    far = {hit.title: hit.via for hit in hits}
    assert far["Ledger"] == ("Lighthouse", "Ada")


def test_hops_limit_the_way(djinn: Djinn) -> None:
    hits = djinn.search("brass foghorn", hops=1, agent="other").hits
    assert "Ada" in [hit.title for hit in hits if hit.via]
    assert not any(len(hit.via) > 1 for hit in hits)
    with pytest.raises(UsageError, match="only followed in the mode graph"):
        djinn.search("brass foghorn", hops=1, mode="words")


def test_the_way_is_known_when_a_profile_gathers_again(djinn: Djinn) -> None:
    memories = djinn.recall("brass foghorn", hops=2, profile="planning", agent="other").memories
    via = {memory.title: memory.via for memory in memories}
    assert (via["Ada"], via["Ledger"]) == (("Lighthouse",), ("Lighthouse", "Ada"))


def test_a_hybrid_search_follows_no_links(djinn: Djinn) -> None:
    hits = djinn.search("brass foghorn", agent="other").hits
    assert not any(hit.via or "graph" in hit.legs for hit in hits)


def test_filters_hold_for_what_links_lead_to(djinn: Djinn) -> None:
    hits = djinn.search("brass foghorn", mode="graph", types=("document",), agent="other").hits
    assert {hit.title for hit in hits} == {"Lighthouse"}


def test_a_recall_says_which_note_led_to_a_memory(djinn: Djinn) -> None:
    memories = djinn.recall("brass foghorn", hops=1, agent="other").memories
    [ada] = [memory for memory in memories if memory.title == "Ada"]
    assert ada.via == ("Lighthouse",)


def test_the_text_of_a_link_is_a_word_of_its_target(djinn: Djinn) -> None:
    hits = djinn.search("founder of the yard", mode="words", agent="other").hits
    assert {hit.title for hit in hits} == {"Lighthouse", "Ada"}


@pytest.mark.parametrize(
    ("shown", "question"),
    [
        ("using it", "use"),
        ("École du vent", "ecole"),
        ("ecole du vent", "École"),
        ("naïve plan", "naive"),
        ("старый маяк", "Маяк"),
    ],
)
def test_the_text_of_a_link_counts_by_its_stems(djinn: Djinn, shown: str, question: str) -> None:
    vault = djinn.home.root / "vaults" / "shared"
    (vault / "crane.md").write_text(f"# Crane\n\nSee [[tide|{shown}]] there.\n")
    djinn.index()
    hits = djinn.search(question, mode="words", agent="other").hits
    assert "Tide" in {hit.title for hit in hits}


def test_hidden_links_neither_lead_nor_name(djinn: Djinn) -> None:
    """What another agent finds is the same as if the vault of the first were not there."""
    asked = ("moonlit pull", "secret brass foghorn", "foghorn tide")
    mine = [djinn.search(question, mode="graph", agent="me").hits for question in asked]
    assert any("Foghorn" in hit.via for hits in mine for hit in hits)
    before = [_said(djinn, question) for question in asked]
    (djinn.home.root / "vaults" / "me" / "foghorn.md").unlink()
    djinn.index()
    assert [_said(djinn, question) for question in asked] == before


def _said(djinn: Djinn, question: str) -> list[object]:
    hits = djinn.search(question, mode="graph", agent="other", limit=50).hits
    return [(hit.path, hit.score, hit.via, hit.legs) for hit in hits]


def test_a_recall_and_a_context_say_the_whole_path(djinn: Djinn) -> None:
    [ledger] = (
        memory
        for memory in djinn.recall("brass foghorn", hops=2, agent="other").memories
        if memory.title == "Ledger"
    )
    assert ledger.via == ("Lighthouse", "Ada")
    context = djinn.context("brass foghorn", agent="other")
    excerpt = extended(ledger, MemoryExcerpt, written=ledger.date)
    assert "via Lighthouse -> Ada" in markdown(replace(context, patterns=(excerpt,)))


def test_a_context_has_what_links_lead_to(djinn: Djinn) -> None:
    context = djinn.context("brass foghorn", agent="other")
    entities = {memory.title: memory.via for memory in context.entities}
    assert entities["Ada"] == ("Lighthouse",)
