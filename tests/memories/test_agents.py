"""The profile of an agent: shown, set, and in effect."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from djinn_memory.memories.briefing.markdown import markdown
from djinn_memory.memories.profiles.requests import AgentProfile
from djinn_memory.upkeep.doctor import examine

AT = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)
"""A Monday."""

HEAD = "---\ntitle: Me\ntype: profile\n"


@pytest.fixture
def own(home: Home) -> Path:
    return home.root / "vaults" / "me"


@pytest.fixture
def djinn(home: Home) -> Djinn:
    return Djinn(home, clock=lambda: AT)


def test_agents_are_listed_and_an_agent_is_told_of_itself(djinn: Djinn) -> None:
    entries = djinn.agents.list().agents
    assert [(entry.name, entry.vault) for entry in entries] == [("me", "vaults/me")]
    assert [(entry.name, entry.vault) for entry in djinn.agents.list("me").agents] == [("me", None)]


def shown(djinn: Djinn, agent: str | None = None) -> AgentProfile:
    profile = djinn.agents.profile(agent).profile
    assert profile
    return profile


def test_a_profile_is_made_set_and_unset(djinn: Djinn, own: Path) -> None:
    assert djinn.agents.profile().profile is None
    assert djinn.agents.unset("voice").profile is None
    change = djinn.agents.set("voice", ["brief"])
    assert (change.action, change.agent) == ("created", "me")
    assert djinn.agents.set("voice", ["brief"]).action == "unchanged"
    djinn.agents.set("rules", ["Ask first.", "Be kind."])
    djinn.agents.set("rules", ["ask first.", "Sign it."], add=True)
    assert shown(djinn).rules == ("Ask first.", "Be kind.", "Sign it.")
    djinn.agents.unset("rules", ["BE KIND."])
    djinn.agents.set("identity", ["Keeps", "the", "log."])
    djinn.agents.set("projects", ["Pier"])
    djinn.agents.unset("projects", ["pier"])
    profile = shown(djinn)
    assert (profile.identity, profile.rules) == ("Keeps the log.", ("Ask first.", "Sign it."))
    assert profile.projects == ()
    assert profile.instruction == "Answer briefly: the result first, in a few sentences."
    assert [path.name for path in own.rglob("*.md")] == ["profile.md"]


def test_an_edit_leaves_the_other_bytes(djinn: Djinn, own: Path) -> None:
    note = own / "profile.md"
    text = f"{HEAD}Voice: brief # for now\nmine: [x]\n---\r\nI am\tme.\n"
    note.write_bytes(text.encode())
    djinn.agents.set("voice", ["spoken"])
    assert note.read_bytes() == text.replace("brief", "spoken").encode()


@pytest.mark.parametrize(
    ("key", "values", "why"),
    [
        ("working_hours", ["mon 9-17"], "working_hours: 'mon 9-17': '9-17' is no time; write"),
        ("default_domain", ["wrok"], "default_domain: 'wrok' is no domain; known: work"),
        ("default_recall_profile", ["plan"], "default_recall_profile: no profile 'plan'; known: a"),
        ("voice", [" "], "the value is empty"),
        ("voices", ["brief"], "'voices': give one of identity, voice"),
    ],
)
def test_a_wrong_value_is_not_written(
    djinn: Djinn, own: Path, key: str, values: list[str], why: str
) -> None:
    djinn.home.edit((("domains",), {"work": "Work."}))
    with pytest.raises(UsageError) as error:
        djinn.agents.set(key, values)  # type: ignore[arg-type]
    assert why in str(error.value)
    assert not [*own.rglob("*.md")]


def test_secrets_and_foreign_vaults_are_refused(djinn: Djinn, home: Home, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="looks like"):
        djinn.agents.set("rules", ["The password is hunter2-Xk39fkk20dk"])
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "profile.md").write_text(f"{HEAD}voice: brief\n---\n")
    add_vault(home, "notes", notes, agent="me")
    assert shown(djinn).vault == "notes"
    with pytest.raises(Refused, match=r"edit .*profile\.md yourself"):
        djinn.agents.set("voice", ["spoken"])


def test_the_note_may_have_any_name_and_its_old_versions_do_not_count(djinn: Djinn) -> None:
    for text in ("I mend kettles.", "I mend lanterns."):
        djinn.remember("profile", "Me", text, existing="revise")
    assert shown(djinn).text == "I mend lanterns."
    djinn.agents.set("voice", ["brief"])
    assert shown(djinn).path == "profiles/me.md"


def test_working_hours_are_those_of_the_time_zone(djinn: Djinn) -> None:
    djinn.agents.set("working_hours", ["mon-fri 09:00-17:00"])
    djinn.agents.set("time_zone", ["UTC"])
    profile = shown(djinn)
    assert (profile.working, profile.working_now) == (True, "within working hours until 17:00")
    djinn.agents.set("time_zone", ["America/New_York"])
    assert shown(djinn).working_now == "outside working hours, which begin at 09:00"


def test_wake_and_context_begin_with_the_profile(djinn: Djinn, own: Path) -> None:
    for title in ("Lamp", "Pier", "Quay"):
        djinn.remember("project", title, f"About the {title.lower()}.", force=True)
    (own / "profile.md").write_text(
        f"{HEAD}identity: Keeps the log.\nvoice: spoken\nrules: [Ask first.]\n"
        'projects: ["[[Pier]]"]\nworking_hours: daily 00:00-24:00\n---\nI sail.\n'
    )
    context, bundle = djinn.wake(), djinn.context()
    assert context.projects[0].title == "Pier"
    for text in (markdown(context), markdown(bundle)):
        for line in ("Keeps the log.", "Voice: Answer for speech", "- Ask first.", "> I sail.",
                     "Active projects: [[Pier]]", "Now: within working hours."):  # fmt: skip
            assert text.count(line) == 1
    assert markdown(djinn.context("sail the pier")).count("I sail.") == 1
    assert markdown(djinn.wake(task="sail the pier")).count("I sail.") == 1


@pytest.mark.parametrize("budget", [100, 150, 300])
def test_a_long_profile_keeps_its_share(djinn: Djinn, own: Path, budget: int) -> None:
    rules = ", ".join(f"Rule number {number} says something" for number in range(50))
    text = "A long text about me. " * 300
    (own / "profile.md").write_text(f"{HEAD}voice: brief\nrules: [{rules}]\n---\n{text}\n")
    djinn.remember("commitment", "Call Ada", "Soon.", due="2026-05-10")
    context = djinn.wake(budget=budget)
    assert context.tokens <= budget
    assert context.profile
    assert context.profile.cut
    assert djinn.context(budget=budget).tokens <= budget
    if budget > 200:
        assert context.commitments


def test_wrong_values_are_one_line_each_and_break_nothing(djinn: Djinn, own: Path) -> None:
    (own / "profile.md").write_text(
        f"{HEAD}voice: {{a: b}}\ntime_zone: Mars\ndefault_domain: wrok\nrules: [Ask.]\n---\n"
    )
    djinn.home.edit((("domains",), {"work": "Work."}))
    lines = [
        "voice: it is nested; write text",
        "time_zone: 'Mars' is no time zone; write Europe/Oslo or UTC",
        "default_domain: 'wrok' is no domain; known: work",
    ]
    for answer in (djinn.wake(), djinn.context(), djinn.agents.profile()):
        assert [(each.what, each.why) for each in answer.problems] == [
            ("me/profile.md", line) for line in lines
        ]
        assert answer.profile
        assert answer.profile.rules == ("Ask.",)
    issues = [issue.what for issue in djinn.lint().issues if issue.code == "profile"]
    assert sorted(issues) == sorted(lines)
    findings = examine(djinn.home, fix=False, progress=lambda _: None).findings
    assert [each.what for each in findings if each.part == "profiles"] == [
        f"me/profile.md: {line}" for line in lines
    ]
    # Written without the domain, more agents could read it.
    with pytest.raises(Refused, match=r"me/profile.md: default_domain: 'wrok' is no domain"):
        djinn.remember("lesson", "Tides", "High at noon.")
    djinn.remember("lesson", "Tides", "High at noon.", domain="work")


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"---\n- a\n- b\n---\n", b"---\n: [\n---"])
def test_any_file_is_a_profile(djinn: Djinn, own: Path, data: bytes) -> None:
    (own / "profile.md").write_bytes(data)
    assert djinn.wake().profile is not None


def test_the_default_budget(djinn: Djinn, own: Path) -> None:
    for number in range(12):
        text = f"The tide number {number} comes in at noon. " * 40
        djinn.remember("lesson", f"Tide {number}", text, force=True)
    assert djinn.wake().tokens > 500
    djinn.agents.set("default_budget", ["300"])
    assert djinn.wake().tokens <= 300
    assert djinn.context("tide at noon").tokens <= 300
    assert djinn.wake(budget=2000).tokens > 500


def test_the_default_recall_profile(djinn: Djinn) -> None:
    djinn.remember("decision", "Tides", "We sail at high tide.")
    djinn.agents.set("default_recall_profile", ["planning"])
    assert djinn.recall("tides").profile == "planning"
    assert djinn.recall("tides", profile="incident").profile == "incident"


def test_the_default_domain_is_that_of_what_is_new(djinn: Djinn) -> None:
    djinn.remember("lesson", "Old", "High at noon.", domain="home")
    djinn.facts.set("boat", "length", "7 m", domain="home")
    djinn.agents.set("default_domain", ["work"])
    djinn.remember("lesson", "Tides", "Low at six.", force=True)
    djinn.remember("lesson", "Ebb", "Ebb at six.", force=True, domain="home")
    djinn.remember("lesson", "Old", "And at midnight.", existing="append", force=True)
    djinn.facts.set("boat", "length", "8 m")
    djinn.facts.set("boat", "name", "Aurora")
    djinn.episodes.record_observation(text="The pier is wet.")
    djinn.episodes.record_observation(text="The quay is dry.", domain="home")
    titles = {
        domain: {memory.title for memory in djinn.memories.list(domains=[domain]).memories}
        for domain in ("work", "home")
    }
    assert titles == {
        "work": {"Tides", "boat/name", "The pier is wet."},
        "home": {"Old", "Ebb", "boat/length", "The quay is dry."},
    }


def test_two_at_once_lose_nothing(home: Home) -> None:
    def add(number: int) -> None:
        with Djinn(Home(home.root)) as djinn:
            djinn.agents.set("rules", [f"Rule {number}."], add=True)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Djinn(Home(home.root)) as djinn:
        assert set(shown(djinn).rules) == {f"Rule {number}." for number in range(6)}


def test_a_vault_that_cannot_be_written_is_one_line(djinn: Djinn, home: Home, own: Path) -> None:
    (own / "profile.md").mkdir()
    with pytest.raises(Refused, match=r"me/profile.md is not a file"):
        djinn.agents.set("voice", ["brief"])
    (own / "profile.md").rmdir()
    djinn.agents.set("voice", ["brief"])
    (own / "profile.md").write_text("---\nvoice: [\n---\n")
    with pytest.raises(Refused, match="front matter"):
        djinn.agents.set("voice", ["spoken"])
    home.edit((("vaults", "me", "read_only"), True))
    with Djinn(Home(home.root)) as other, pytest.raises(Refused, match="read-only"):
        other.agents.set("voice", ["brief"])


def test_no_other_agent_sees_a_profile(djinn: Djinn, home: Home) -> None:
    add_agent(home, "grace")
    djinn.agents.set("identity", ["Keeps the log."])
    home.reread()
    with Djinn(Home(home.root)) as other:
        assert other.agents.profile("grace").profile is None
        assert other.wake(agent="grace").profile is None
        assert other.context(agent="grace").profile is None
        assert not other.search("log", agent="grace").hits


def test_an_agent_does_not_see_its_own_profile_in_a_hidden_domain(home: Home) -> None:
    add_agent(home, "grace")
    home.edit((("access",), {"grace": ["home"]}))
    note = home.root / "vaults" / "grace" / "profile.md"
    note.write_text(f"{HEAD}domain: work\nvoice: brief\n---\n")
    with Djinn(Home(home.root)) as djinn:
        assert djinn.agents.profile("grace").profile is None
        note.write_text(f"{HEAD}domain: home\nvoice: brief\n---\n")
        assert djinn.agents.profile("grace").profile is not None


def test_only_memories_of_a_domain(djinn: Djinn) -> None:
    djinn.agents.set("voice", ["brief"])
    for domain in ("work", "home"):
        djinn.remember("commitment", f"Report {domain}", "Soon.", domain=domain, force=True)
        djinn.remember("lesson", f"Tide {domain}", "The tide is high.", domain=domain, force=True)
        djinn.episodes.record_interaction(
            message=f"Is the tide of {domain} high?", response="Yes.", domain=domain, session="s"
        )
    for task in (None, "tide"):
        context = djinn.wake(task=task, domains=["work"])
        assert [memory.title for memory in context.commitments] == ["Report work"]
        assert context.profile
        text = markdown(context) + markdown(djinn.context(task, domains=["work"]))
        assert "Tide work" in text
        assert "tide of work" in text
        assert "of home" not in text
        assert "Tide home" not in text
    djinn.home.edit((("domains",), {"work": "Work."}))
    for ask in (djinn.wake, djinn.context):
        with pytest.raises(UsageError, match="'wrok' is no domain; known: work"):
            ask(domains=["wrok"])
