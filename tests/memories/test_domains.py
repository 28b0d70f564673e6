"""What an agent with limited access to domains sees and writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import ConfigError, DjinnError, NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init, remove_agent

NOTES = {
    "salary.md": "---\ntitle: Salary\ntype: decision\ndomain: money\ntags: [pay]\n---\n"
    "The kettle budget is ninety. [[Kettle]]\n",
    "kettle.md": "---\ntitle: Kettle\ntype: lesson\n---\nThe kettle sings. See [[Salary]].\n",
    "pier.md": "---\ntitle: Pier\ntype: lesson\ndomain: Harbour\n---\nThe kettle of the pier.\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home, _ = init(tmp_path / "home", ("me", "grace", "finn"))
    home.edit(
        (("embedding", "provider"), "hashing"),
        (("search", "sweep_ms"), 10_000),
        (("domains",), {"money": "Finance", "harbour": "Work"}),
        (("access",), {"grace": ["harbour"]}),
    )
    for name, text in NOTES.items():
        (home.root / "vaults" / "shared" / name).write_text(text, encoding="utf-8")
    return home


@pytest.fixture
def djinn(home: Home) -> Iterator[Djinn]:
    with Djinn(home) as djinn:
        djinn.index()
        yield djinn


def titles(djinn: Djinn, agent: str | None, **options: object) -> set[str]:
    return {hit.title for hit in djinn.search("kettle", agent=agent, **options).hits}  # type: ignore[arg-type]


def test_an_agent_sees_what_was_granted_and_what_has_no_domain(djinn: Djinn) -> None:
    assert titles(djinn, "grace") == {"Kettle", "Pier"}
    for mode in ("words", "meaning"):
        assert titles(djinn, "grace", mode=mode) == {"Kettle", "Pier"}
    for agent in (None, "me", "finn"):
        assert titles(djinn, agent) == {"Kettle", "Pier", "Salary"}
    assert titles(djinn, "grace", domains=("HARBOUR",)) == {"Pier"}
    assert titles(djinn, "grace", domains=("money",)) == set()


def test_a_hidden_memory_has_no_name(djinn: Djinn) -> None:
    for name in ("Salary", "shared:salary.md", "salary"):
        with pytest.raises(NotFound, match=r"[Ss]alary"):
            djinn.memories.show(name=name, agent="grace")
    assert djinn.memories.show(name="Salary").title == "Salary"
    assert djinn.memories.list(agent="grace").total == 2
    assert djinn.memories.stats(agent="grace").unresolved == 1
    assert "pay" not in djinn.memories.values("tag", agent="grace").values
    assert djinn.memories.values("tag").values == ("pay",)


def test_a_link_to_a_hidden_memory_leads_nowhere(djinn: Djinn, home: Home) -> None:
    [link] = djinn.memories.links(name="Kettle", agent="grace").links
    assert (link.title, link.path) == (None, None)
    assert djinn.memories.links(name="Kettle", agent="grace").backlinks == ()
    place = home.root / "vaults" / "grace" / "salary.md"
    place.write_text("---\ntitle: Salary\n---\nHers.\n")
    djinn.index()
    [link] = djinn.memories.links(name="Kettle", agent="me").links
    assert link.title == "Salary"


def test_grants_that_change_hold_at_once(djinn: Djinn, home: Home) -> None:
    assert titles(djinn, "finn") == {"Kettle", "Pier", "Salary"}
    home.edit((("access", "finn"), []), (("access", "grace"), ["harbour", "money"]))
    assert titles(djinn, "finn") == {"Kettle"}
    assert titles(djinn, "grace") == {"Kettle", "Pier", "Salary"}
    assert titles(djinn, None) == {"Kettle", "Pier", "Salary"}
    home.edit((("access",), None))
    assert titles(djinn, "finn") == {"Kettle", "Pier", "Salary"}


def test_a_memory_with_two_domains_needs_both(djinn: Djinn, home: Home) -> None:
    note = "---\ndomain: [harbour, money]\n---\nA kettle of both.\n"
    (home.root / "vaults" / "shared" / "both.md").write_text(note)
    assert "both" not in titles(djinn, "grace")
    assert "both" in titles(djinn, "me")


def test_a_domain_counts_in_front_matter_that_cannot_be_parsed(djinn: Djinn, home: Home) -> None:
    note = "---\ndomain: money\nfoo: [\n---\nA kettle.\n"
    (home.root / "vaults" / "shared" / "broken.md").write_text(note)
    assert "broken" not in titles(djinn, "grace")
    assert "broken" in titles(djinn, "me")


def test_a_hidden_fact_is_not_read_from_its_file(djinn: Djinn) -> None:
    djinn.facts.set("salary", "ceo", "1", domain="money", shared=True)
    assert djinn.facts.get("salary", "ceo").value == "1"
    with pytest.raises(NotFound, match="no fact"):
        djinn.facts.get("salary", "ceo", agent="grace")


def test_an_index_run_of_a_limited_agent_counts_what_it_sees(djinn: Djinn, home: Home) -> None:
    (home.root / "vaults" / "shared" / "new.md").write_text("---\ndomain: money\n---\nNew.\n")
    report = djinn.index(agent="grace")
    assert (report.notes, report.added, report.read) == (2, 0, 0)


def test_the_words_of_hidden_memories_move_no_score(djinn: Djinn, home: Home) -> None:
    before = [(hit.title, hit.score) for hit in djinn.search("kettle", agent="grace").hits]
    for number in range(30):
        note = f"---\ndomain: money\n---\nThe kettle, again and again: {number}.\n"
        (home.root / "vaults" / "shared" / f"more{number}.md").write_text(note)
    djinn.index()
    after = [(hit.title, hit.score) for hit in djinn.search("kettle", agent="grace").hits]
    assert after == before


def test_every_way_of_writing_takes_a_domain(djinn: Djinn, tmp_path: Path) -> None:
    paper, log = tmp_path / "paper.txt", tmp_path / "log.jsonl"
    paper.write_text("The kettle contract of the harbour.")
    log.write_text('{"role": "user", "content": "A kettle, please", "timestamp": 1767225600}\n')
    djinn.remember("lesson", "Lamp", "A lamp beside the kettle.", domain="money", shared=True)
    djinn.facts.set("kettle", "price", "ninety", domain="money", shared=True)
    djinn.episodes.record_observation("The kettle fell.", domain="money")
    djinn.documents.ingest([paper], domain="money")
    djinn.import_history([log], domain="money")
    listed = djinn.memories.list(domains=("money",), agent="me").memories
    assert {memory.type for memory in listed} == {
        "decision", "lesson", "fact", "observation", "document", "interaction",
    }  # fmt: skip
    assert djinn.episodes.list(domain="money").total == 2
    assert djinn.facts.list(agent="grace").total == 0
    assert djinn.facts.list(agent="finn").total == 1


@pytest.mark.parametrize("agent", ["grace", "me"])
def test_an_unknown_domain_is_refused(djinn: Djinn, agent: str, tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text("A paper.")
    message = "no domain 'mony'; known: money, harbour"
    for ask in (
        lambda: djinn.remember("lesson", "Lamp", domain="mony", agent=agent),
        lambda: djinn.facts.set("a", "b", "c", domain="mony", agent=agent),
        lambda: djinn.episodes.record_observation("A", domain="mony", agent=agent),
        lambda: djinn.documents.ingest([paper], domain="mony", agent=agent),
        lambda: djinn.import_history([paper], domain="mony", agent=agent),
        lambda: djinn.search("kettle", domains=("mony",), agent=agent),
        lambda: djinn.memories.list(domains=("mony",), agent=agent),
        lambda: djinn.episodes.list(domain="mony", agent=agent),
    ):
        with pytest.raises(UsageError, match=message):
            ask()


def test_without_a_list_any_domain_is_legal(djinn: Djinn, home: Home) -> None:
    home.edit((("domains",), None), (("access",), None))
    djinn.remember("lesson", "Lamp", "A lamp.", domain="light")
    assert djinn.memories.list(domains=("Light",)).total == 1


def test_writing_into_a_hidden_domain_is_refused(djinn: Djinn) -> None:
    for ask in (
        lambda: djinn.remember("lesson", "Lamp", domain="money", agent="grace"),
        lambda: djinn.facts.set("a", "b", "c", domain="money", agent="grace"),
        lambda: djinn.episodes.record_observation("A", domain="money", agent="grace"),
    ):
        with pytest.raises(Refused, match="grace may not see the domain 'money'"):
            ask()
    djinn.remember("lesson", "Lamp", "A lamp.", domain="harbour", agent="grace")
    assert djinn.memories.show(name="Lamp", agent="grace").title == "Lamp"


@pytest.mark.parametrize(
    ("access", "why"),
    [
        ({"me": ["money"]}, "access.me: me is the first agent"),
        ({"nobody": []}, "access.nobody: no agent 'nobody'; allowed: grace, finn"),
        ({"grace": ["mony"]}, "access.grace: no domain 'mony'; allowed: money, harbour"),
    ],
)
def test_grants_are_checked(home: Home, access: dict[str, list[str]], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        home.edit((("access",), access))


def test_an_agent_that_is_removed_has_no_grants(home: Home) -> None:
    remove_agent(home, "grace")
    assert home.config.access == {}


def test_an_index_that_cannot_be_divided_shows_nothing(djinn: Djinn, home: Home) -> None:
    home.edit((("access",), {"finn": []}))
    assert djinn.memories.values("title", agent="finn").values == ()
    djinn.close()
    home.index_path.chmod(0o400)
    home.state.chmod(0o500)
    try:
        with Djinn(home) as reader:
            try:
                assert titles(reader, "finn") == {"Kettle"}
            except DjinnError as error:
                assert "cannot be written" in str(error)
    finally:
        home.state.chmod(0o700)
