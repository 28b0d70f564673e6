"""What an agent with limited access to domains sees and writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import ConfigError, DjinnError, NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init, remove_agent
from djinn_memory.store.index.memory_rows import FEW
from tests.memories.imports.exports import LOG, lines

NOTES = {
    "salary.md": "---\ntitle: Salary\ntype: decision\ndomain: money\ntags: [pay]\n---\n"
    "The kettle budget is ninety. [[Kettle]]\n",
    "kettle.md": "---\ntitle: Kettle\ntype: lesson\n---\nThe kettle sings. See [[Salary]].\n",
    "pier.md": "---\ntitle: Pier\ntype: lesson\ndomain: Harbour\n---\nThe kettle of the pier.\n",
}

UNCLEAR = {
    "twice": "domain: harbour\ndomain: money",
    "broken": "domain: money\nfoo: [",
    "nested": "domain:\n  name: money",
    "plural": "domains: [money]",
    "upper": "Domain: MONEY",
    "typo": "domain: mony",
    "quoted": "\"domain\": 'money'",
    "listed": "domain:\n  - harbour\n  - money",
    "number": "domain: 7",
    "truth": "domain: true",
}
"""Front matter that only seems to have a domain which was granted."""


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
    with pytest.raises(UsageError, match=r".money. is no domain of grace"):
        titles(djinn, "grace", domains=("money",))


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


@pytest.mark.parametrize("name", ["money", "typo"])
def test_a_domain_that_no_visible_memory_has_is_named(djinn: Djinn, name: str) -> None:
    """A hidden domain and one that does not exist are told in the same words."""
    result = djinn.search(f"kettle domain:{name}", agent="grace")
    assert result.hits == ()
    assert [f"{problem.what}: {problem.why}" for problem in result.problems] == [
        f"domains {name}: no memory has it"
    ]
    assert djinn.search("kettle domain:money").problems == ()
    [problem] = djinn.search("kettle domain:harbor").problems
    assert problem.why == "no memory has it; did you mean Harbour?"


def test_an_import_does_not_tell_of_hidden_turns(djinn: Djinn, tmp_path: Path) -> None:
    """Whether finn imported before he was limited changes no later report."""
    log = lines(tmp_path / "log.jsonl", LOG)
    djinn.import_history([log], domain="money", agent="finn")
    djinn.home.edit((("access", "finn"), ["harbour"]))
    with Djinn(Home(djinn.home.root)) as limited:
        reports = [limited.import_history([log], agent=agent) for agent in ("finn", "finn", "me")]
        assert [(report.recorded, report.known) for report in reports] == [(2, 0), (0, 2), (2, 0)]
        assert limited.episodes.list(agent="finn").total == 2
        assert limited.import_history([log], agent="finn", dry_run=True).known == 2


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


HOSTILE = ("mony", "  mony\n", "../money", "money, harbour", "\u0000", "%", "\ud800")


@pytest.mark.parametrize(
    ("agent", "domain", "message"),
    [
        *(("me", domain, ".* is no domain; known: money, harbour$") for domain in HOSTILE),
        *(
            (
                "grace",
                domain,
                ".* is no domain of grace; access.grace in config.yaml grants: harbour$",
            )
            for domain in (*HOSTILE, "money")
        ),
        ("me", " ", "the domain is empty"),
    ],
)
def test_an_unknown_domain_is_refused(
    djinn: Djinn, agent: str, domain: str, message: str, tmp_path: Path
) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text("A paper.")
    for ask in (
        lambda: djinn.remember("lesson", "Lamp", domain=domain, agent=agent),
        lambda: djinn.facts.set("a", "b", "c", domain=domain, agent=agent),
        lambda: djinn.episodes.record_observation("A", domain=domain, agent=agent),
        lambda: djinn.documents.ingest([paper], domain=domain, agent=agent),
        lambda: djinn.import_history([paper], domain=domain, agent=agent),
        lambda: djinn.search("kettle", domains=(domain,), agent=agent),
        lambda: djinn.memories.list(domains=(domain,), agent=agent),
        lambda: djinn.episodes.list(domain=domain, agent=agent),
    ):
        with pytest.raises(UsageError, match=message):
            ask()


def test_without_a_list_any_domain_is_legal(djinn: Djinn, home: Home) -> None:
    home.edit((("domains",), None), (("access",), None))
    djinn.remember("lesson", "Lamp", "A lamp.", domain="light")
    assert djinn.memories.list(domains=("Light",)).total == 1


def test_an_agent_writes_into_a_domain_that_it_sees(djinn: Djinn) -> None:
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


def test_front_matter_that_is_not_clear_stays_hidden_when_grants_come(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home", ("me", "grace"))
    home.edit((("embedding", "provider"), "none"))
    for name, front in UNCLEAR.items():
        path = home.root / "vaults" / "shared" / f"{name}.md"
        path.write_text(f"---\n{front}\n---\nA kettle.\n")
    with Djinn(home) as djinn:
        djinn.index()
        assert titles(djinn, "grace", limit=50) == set(UNCLEAR)
        home.edit((("access",), {"grace": ["harbour"]}))
        assert titles(djinn, "grace", limit=50) == set()
        assert titles(djinn, "me", limit=50) == set(UNCLEAR)


def test_lists_and_hits_show_the_domain(djinn: Djinn, home: Home) -> None:
    note = "---\ndomain: [harbour, money]\n---\nA kettle of both.\n"
    (home.root / "vaults" / "shared" / "both.md").write_text(note)
    domains = {hit.title: hit.domain for hit in djinn.search("kettle").hits}
    assert domains == {
        "Salary": "money", "Kettle": None, "Pier": "Harbour", "both": "harbour, money",
    }  # fmt: skip
    assert {memory.domain for memory in djinn.recall("kettle").memories} == {*domains.values()}
    assert {memory.domain for memory in djinn.memories.list().memories} == {*domains.values()}
    djinn.facts.set("kettle", "price", "ninety", domain="money")
    assert djinn.facts.get("kettle", "price").domain == "money"
    djinn.episodes.record_observation("The kettle fell.", domain="money")
    assert djinn.episodes.list().episodes[0].domain == "money"
    djinn.entities.add("Old pier", "place", domain="harbour")
    assert djinn.memories.show("Old pier").domain == "harbour"


def test_the_trash_does_not_show_hidden_notes(djinn: Djinn) -> None:
    djinn.memories.delete("Salary")
    djinn.memories.delete("Pier")
    assert [note.title for note in djinn.memories.restore().notes] == ["Pier", "Salary"]
    assert [note.title for note in djinn.memories.restore(agent="grace").notes] == ["Pier"]
    with pytest.raises(NotFound, match="no note 'Salary' in the trash"):
        djinn.memories.restore("Salary", agent="grace")
    with pytest.raises(NotFound, match="no note 'Salary'"):
        djinn.memories.purge("Salary", agent="grace")


def test_a_hidden_title_is_not_taken(djinn: Djinn) -> None:
    djinn.remember("decision", "Raise", "Ninety-nine.", domain="money", shared=True)
    written = djinn.remember("decision", "Raise", "The sail.", shared=True, agent="grace")
    assert (written.title, written.action) == ("Raise", "created")


def test_changes_of_hidden_notes_are_not_listed_or_taken_back(djinn: Djinn, home: Home) -> None:
    djinn.memories.edit("salary", tags=("wages",))
    djinn.memories.edit("pier", tags=("tide",), agent="grace")
    [pier, salary] = djinn.changes.list().changes
    assert [change.id for change in djinn.changes.list(agent="grace").changes] == [pier.id]
    with pytest.raises(NotFound, match="no change"):
        djinn.changes.undo(salary.id, agent="grace")
    assert djinn.changes.undo(agent="grace").change.id == pier.id
    with pytest.raises(NotFound, match="there is no change to take back"):
        djinn.changes.undo(agent="grace")
    assert djinn.changes.undo().change.id == salary.id


def test_a_note_that_moves_into_a_hidden_domain_is_gone(djinn: Djinn, home: Home) -> None:
    path = home.root / "vaults" / "shared" / "pier.md"
    path.write_text(f"{path.read_text()}\n## It falls\n\n[[pier#it-falls]]\n")
    djinn.index()
    djinn.lint(fix=True)
    assert djinn.changes.list(agent="grace").changes != ()
    # Saved by an editor, while nothing watches the vault.
    path.write_text(path.read_text().replace("domain: Harbour", "domain: money"))
    assert djinn.changes.list(agent="grace").changes == ()
    assert titles(djinn, "grace") == {"Kettle"}
    for name in ("Pier", "shared:pier.md"):
        with pytest.raises(NotFound):
            djinn.memories.show(name, agent="grace")
    with pytest.raises(NotFound, match="there is no change to take back"):
        djinn.changes.undo(agent="grace")


def test_what_is_added_to_a_note_does_not_show_it(djinn: Djinn) -> None:
    djinn.remember("decision", "Salary", "And more.", domain="harbour", shared=True,
                   existing="append", force=True)  # fmt: skip
    assert djinn.memories.show("Salary").domain == "harbour, money"
    assert titles(djinn, "grace") == {"Kettle", "Pier"}


def test_a_vault_and_a_channel_have_a_domain_by_default(djinn: Djinn, home: Home) -> None:
    home.edit(
        (("vaults", "me", "domain"), "harbour"),
        (("channels",), {"Slack": {"domain": "money"}}),
    )
    written = djinn.remember("lesson", "Lamp", "A lamp.")
    djinn.facts.set("boat", "length", "seven metres")
    djinn.facts.set("boat", "price", "ninety", domain="money")
    djinn.entities.add("Old pier", "place")
    djinn.episodes.record_interaction("A kettle?", channel="slack")
    djinn.episodes.record_interaction("A lamp?", channel="cli")
    djinn.episodes.record_interaction("A boat?", channel="slack", domain="harbour")
    domains = {
        memory.title: memory.domain for memory in djinn.memories.list(vaults=["me"]).memories
    }
    assert domains == {
        "Lamp": "harbour", "boat/length": "harbour", "boat/price": "money", "Old pier": "harbour",
        "A kettle?": "money", "A lamp?": "harbour", "A boat?": "harbour",
    }  # fmt: skip
    djinn.memories.show(written.id or "")
    # The default is for new notes.
    djinn.facts.set("boat", "price", "ninety-nine")
    assert djinn.facts.get("boat", "price").domain == "money"
    assert djinn.remember("lesson", "Other", "A sail.", shared=True).vault == "shared"
    assert djinn.memories.show("Other").domain is None


def test_a_new_version_of_a_document_keeps_its_domain(
    djinn: Djinn, home: Home, tmp_path: Path
) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text("The kettle contract.")
    djinn.documents.ingest([paper], domain="money")
    home.edit((("vaults", "me", "domain"), "harbour"))
    paper.write_text("The kettle contract, again.")
    djinn.documents.ingest([paper])
    [document] = djinn.documents.list().documents
    assert (document.version, document.domain) == (2, "money")


def test_a_default_that_the_agent_may_not_see_is_refused(djinn: Djinn, home: Home) -> None:
    home.edit((("vaults", "shared", "domain"), "money"))
    with pytest.raises(Refused, match="what grace writes here gets a domain"):
        djinn.remember("lesson", "Lamp", "A lamp.", shared=True, agent="grace")
    written = djinn.remember("lesson", "Lamp", "A lamp.", shared=True, domain="harbour",
                             agent="grace")  # fmt: skip
    assert djinn.memories.show(written.id or "", agent="grace").domain == "harbour"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"domains": ["work"]}, "domains: expected a section"),
        ({"domains": 7}, "domains: expected a section"),
        ({"domains": {"": "x"}}, "domains"),
        ({"access": ["grace"]}, "access: expected a section"),
        ({"access": {"grace": "harbour"}}, "access"),
        ({"access": {"grace": {"harbour": "yes"}}}, "access"),
        ({"channels": {"slack": {"domain": "mony"}}}, "channels.slack.domain: no domain 'mony'"),
        ({"channels": {"slack": "money"}}, "channels"),
        ({"vaults.shared.domain": "mony"}, "vaults.shared.domain: no domain 'mony'"),
        ({"vaults.grace.domain": "money"}, "vaults.grace.domain: grace may not see 'money'"),
    ],
)
def test_settings_of_domains_are_checked(home: Home, changes: dict[str, object], why: str) -> None:
    before = home.config_path.read_bytes()
    with pytest.raises(ConfigError, match=why) as raised:
        home.edit(*((tuple(key.split(".")), value) for key, value in changes.items()))
    assert "\n" not in str(raised.value)
    assert home.config_path.read_bytes() == before


def test_an_agent_without_any_grant_sees_what_has_no_domain(djinn: Djinn, home: Home) -> None:
    home.edit((("access", "grace"), []))
    assert titles(djinn, "grace") == {"Kettle"}
    with pytest.raises(UsageError, match=r"'harbour' is no domain of grace; .* grants: none"):
        titles(djinn, "grace", domains=("harbour",))


def test_what_is_derived_has_the_domains_of_its_evidence(djinn: Djinn, home: Home) -> None:
    text = "I prefer tides over kettles. My name is Finn."
    djinn.episodes.record_interaction(text, session="dig", domain="money", agent="finn")
    djinn.facts.set("user", "name", "Flynn", domain="harbour", agent="finn")
    djinn.sessions.extract("dig", agent="finn")
    assert djinn.facts.get("user", "name", agent="finn").domain == "harbour, money"
    preferences = djinn.memories.list(types=["preference"], agent="finn").memories
    assert [memory.domain for memory in preferences] == ["money"]
    djinn.summary.build(force=True, agent="finn")
    assert djinn.summary.show(agent="finn").text
    home.edit((("access",), {"finn": ["harbour"]}))
    with pytest.raises(NotFound):
        djinn.summary.show(agent="finn")
    assert djinn.memories.list(types=["preference", "fact"], agent="finn").total == 0


def test_doctor_and_lint_find_names_that_are_not_listed(djinn: Djinn, home: Home) -> None:
    (home.root / "vaults" / "shared" / "typo.md").write_text("---\ndomain: mony\n---\nA kettle.\n")
    assert titles(djinn, "grace") == {"Kettle", "Pier"}
    codes = [(issue.code, issue.path, issue.what) for issue in djinn.lint().issues]
    what = "the domain 'mony' is not in `domains` of config.yaml"
    assert ("unknown-domain", "typo.md", what) in codes
    home.edit((("channels",), {"slack": {"domain": "money"}}))
    findings = {each.what for each in djinn.doctor().findings if each.part == "domains"}
    assert findings == {
        "mony in notes, but not in `domains` of the settings",
        "grace cannot write there by default, because channels.slack.domain is money",
    }


def test_doctor_finds_grants_without_a_memory(djinn: Djinn, home: Home) -> None:
    home.edit((("domains",), None), (("access",), {"grace": ["habour"]}))
    findings = [each.what for each in djinn.doctor().findings if each.part == "domains"]
    assert findings == ["access.grace grants habour, which no memory has"]
    assert titles(djinn, "grace") == {"Kettle"}


def test_a_hidden_fact_is_not_changed(djinn: Djinn) -> None:
    djinn.facts.set("salary", "ceo", "ninety", domain="money", shared=True)
    change = djinn.facts.set("salary", "ceo", "seven", shared=True, agent="grace")
    assert (change.action, change.before) == ("created", None)
    assert djinn.facts.get("salary", "ceo", agent="grace").value == "seven"
    values = {fact.value: fact.domain for fact in djinn.facts.list(search="salary").facts}
    assert values == {"ninety": "money", "seven": None}


def test_a_fact_of_another_domain_is_another_fact(djinn: Djinn) -> None:
    djinn.facts.set("salary", "ceo", "ninety", domain="money", shared=True)
    djinn.facts.set("salary", "ceo", "seven", shared=True, agent="grace")
    change = djinn.facts.set("salary", "ceo", "hundred", domain="Money", shared=True)
    assert (change.action, change.before) == ("changed", "ninety")
    change = djinn.facts.set("salary", "pay of the ceo", "1", domain="money", shared=True)
    change = djinn.facts.set("salary", "pay of the ceo", "2", domain="harbour", shared=True)
    assert (change.action, change.before, change.fact.domain) == ("created", None, "harbour")
    values = {fact.value: fact.domain for fact in djinn.facts.list(search="salary").facts}
    assert values == {"hundred": "Money", "seven": None, "1": "money", "2": "harbour"}
    # A fact without a domain gets the one that is named.
    change = djinn.facts.set("salary", "ceo", "eight", domain="harbour", shared=True)
    assert (change.before, change.fact.domain) == ("seven", "harbour")


def test_a_note_is_not_superseded_by_one_that_its_readers_may_not_see(djinn: Djinn) -> None:
    with pytest.raises(Refused, match="visible to agents that may not see the new note"):
        djinn.remember("lesson", "Raise", "A kettle.", supersedes="Kettle", domain="money",
                       shared=True, force=True)  # fmt: skip
    djinn.remember("decision", "Raise", "A kettle of all.", supersedes="Salary", shared=True,
                   force=True)  # fmt: skip
    assert "Salary" not in djinn.memories.show("Raise", agent="grace").text
    assert djinn.memories.show("Salary").fields["status"] == ("superseded",)


def test_many_memories_are_moved_at_once(djinn: Djinn, home: Home) -> None:
    for number in range(FEW + 10):
        note = f"---\ntitle: Note {number}\ndomain: money\n---\nThe kettle of pier {number}.\n"
        (home.root / "vaults" / "shared" / f"note{number}.md").write_text(note)
    djinn.index()
    hits = {mode: djinn.search("pier 7", mode=mode, limit=50).hits for mode in ("words", "meaning")}
    home.edit((("access", "finn"), ["harbour"]))
    for mode, before in hits.items():
        assert titles(djinn, "finn", mode=mode, limit=99) == {"Kettle", "Pier"}
        after = djinn.search("pier 7", mode=mode, limit=50).hits
        assert {hit.path for hit in after} == {hit.path for hit in before}
    assert djinn.memories.stats().pending == 0
    home.edit((("access",), None))
    for mode, before in hits.items():
        assert djinn.search("pier 7", mode=mode, limit=50).hits == before


def test_an_index_that_is_built_again_finds_the_same(
    djinn: Djinn, home: Home, tmp_path: Path
) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text("The kettle contract of the harbour.")
    for domain in ("money", "harbour", None):
        djinn.episodes.record_observation(f"A kettle of {domain}.", domain=domain, agent="finn")
        djinn.entities.add(f"Kettle of {domain}", "place", domain=domain, shared=True)
        djinn.remember("lesson", f"On {domain}", f"Kettles and {domain}.", domain=domain,
                       shared=True, force=True)  # fmt: skip
    djinn.documents.ingest([paper], domain="money", vault="shared")
    djinn.index()
    agents = ("me", "grace", "finn")
    before = {agent: djinn.search("kettle", agent=agent, limit=50).hits for agent in agents}
    planes = {hit.plane for hits in before.values() for hit in hits}
    assert planes == {"semantic", "episodic", "knowledge", "documents"}
    djinn.close()
    home.index_path.unlink()
    home.embeddings_path.unlink()
    with Djinn(home) as again:
        again.index()
        for agent, hits in before.items():
            assert again.search("kettle", agent=agent, limit=50).hits == hits
