"""Recall: whole memories, in search's order until something is known of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import ConfigError, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.settings import RecallConfig
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.recall.recall import CLOSEST, MARK, PASSAGE, RecallResult, profile_for
from djinn_memory.scoring import share_of
from djinn_memory.store.ledger import reading
from tests.conftest import Run

Put = Callable[..., Path]


@pytest.fixture
def put(shared: Path) -> Put:
    """Write a note of the shared vault; fields become its front matter."""

    def write(name: str, text: str, **fields: object) -> Path:
        head = "".join(f"{key}: {value}\n" for key, value in fields.items())
        path = shared / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{head}---\n{text}\n" if head else f"{text}\n", encoding="utf-8")
        return path

    return write


def titles(found: RecallResult) -> list[str]:
    return [one.title for one in found.memories]


def day(ago: int) -> str:
    return (datetime.now(UTC) - timedelta(days=ago)).date().isoformat()


@pytest.mark.parametrize("question", ["Krakow", "Krakow 2019"])
def test_a_fact_found_by_an_earlier_value_has_the_period_of_the_value_that_it_shows(
    djinn: Djinn, question: str
) -> None:
    djinn.facts.set("anna", "city", "Krakow", valid_from="2019-03-01")
    djinn.facts.set("anna", "city", "Warsaw", valid_from="2023-06-01")
    [fact] = djinn.recall(question).memories
    assert fact.text.startswith("Warsaw")
    assert (fact.valid_from, fact.valid_to, fact.holds) == (
        "2023-06-01", None, "since 1 June 2023",
    )  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["cacm", "cranfield"])
def test_with_nothing_known_the_order_is_that_of_search(
    name: str, data_dir: Path, home: Home, shared: Path
) -> None:
    folder = data_dir / "retrieval" / name
    for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()[:250]:
        document = json.loads(line)
        text = f"# {document['title']}\n\n{document['text']}\n\n## Again\n\n{document['text']}"
        (shared / f"{document['_id']}.md").write_text(text, encoding="utf-8")
    djinn = Djinn(home)
    djinn.index()
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()[:12]:
        query = " ".join(re.findall(r"\w+", json.loads(line)["text"]))
        hits = djinn.search(query, limit=60).hits
        expected = list(dict.fromkeys(hit.path for hit in hits))
        found = djinn.recall(query, limit=20, budget=1_000_000)
        # Apart from what says nearly the same as a better one.
        varied = {one.path: one.why.weight for one in found.memories}
        paths = [path for path, weight in varied.items() if weight.variety == 1]
        assert len(paths) > (10 if found.confident else 0)
        assert paths == [path for path in expected if path in paths]
        assert all(one.score == one.raw for one in map(varied.get, paths) if one)
    djinn.close()


def test_a_memory_is_whole_and_as_it_is_on_the_disk(djinn: Djinn, put: Put) -> None:
    text = "# Kettle\n\nDescale it.\n\n" + "Much else. " * 40 + "\n\n## Tea\n\nkettle on at four"
    put("kettle", text, id="mem_7k2m9q4dxw30hv5t", type="lesson", created=day(3))
    djinn.index()
    [one] = djinn.recall("kettle tea").memories
    assert one.text == text
    assert (one.rank, one.id, one.type, one.age, one.cut) == (
        1, "mem_7k2m9q4dxw30hv5t", "lesson", 3, False,
    )  # fmt: skip
    assert "kettle" in one.why.words
    assert set(one.why.legs) == {"words", "meaning"}


def test_of_a_long_memory_the_part_that_answers_is_given(djinn: Djinn, put: Put) -> None:
    for name in ("a", "b"):
        start = f"# {name}\n\nIntro. {'Much else. ' * 300}"
        put(name, f"{start}\n\n## Tea\n\nkettle on at four, {name}")
    djinn.index()
    recalled = djinn.recall("kettle tea")
    assert {memory.text for memory in recalled.memories} == {
        f"## Tea\n\nkettle on at four, {name}" for name in ("a", "b")
    }
    assert all(memory.cut for memory in recalled.memories)
    assert recalled.tokens < 2 * PASSAGE


def test_a_question_for_the_meaning_leg_alone_is_recalled(djinn: Djinn, put: Put) -> None:
    put("tea", "Boil water for the tea.")
    djinn.index()
    result = djinn.recall("meaning: boiling water for tea")
    assert not result.problems
    assert titles(result) == ["tea"]


def test_the_budget_is_kept(djinn: Djinn, put: Put) -> None:
    for number in range(6):
        put(f"n{number}", f"# Kettle {number}\n\n" + f"kettle {number} water steam " * 40)
    djinn.index()
    for budget in (50, 100, 400, 700):
        found = djinn.recall("kettle", budget=budget)
        assert found.tokens <= budget
        assert sum(one.tokens for one in found.memories) == found.tokens
        assert len(found.memories) + found.more == 6
        for one in found.memories:
            assert one.cut or not one.text.endswith(MARK)
    assert found.memories[0].cut is False
    alone = djinn.recall("kettle", budget=100, limit=1)
    assert (len(alone.memories), alone.memories[0].cut) == (1, True)


def test_it_is_logged_for_the_agent_who_asked(home: Home, djinn: Djinn, put: Put) -> None:
    add_agent(home, "grace")
    put("a", "# Kettle\n\nkettle")
    djinn.index()
    found = djinn.recall("kettle", agent="grace")
    assert found.request_id and found.agent == "grace"
    ledger = djinn._state.ledger
    [shown] = reading.shown(ledger, found.request_id, "grace")
    assert (shown.title, shown.rank, shown.score) == ("Kettle", 1, shown.raw)
    assert reading.last_request(ledger, "me") is None
    assert djinn.recall("zzz type:none").request_id is None


def test_what_a_note_says_of_itself_counts_in_recall_alone(djinn: Djinn, put: Put) -> None:
    put("a", "kettle water", title="A")
    put("b", "kettle water", title="B", importance=1.0, confidence=0.9)
    put("c", "kettle water", title="C", importance=0.0)
    djinn.index()
    assert [hit.title for hit in djinn.search("kettle water").hits] == ["A", "B", "C"]
    found = djinn.recall("kettle water")
    assert titles(found) == ["B", "A", "C"]
    assert [round(one.why.weight.own, 3) for one in found.memories] == [1.144, 1.0, 0.9]


def test_ratings_move_what_is_recalled_and_one_bad_one_does_not(djinn: Djinn, put: Put) -> None:
    for name in "abc":
        put(name, f"# {name.upper()}\n\nkettle water")
    djinn.index()
    before = titles(djinn.recall("kettle water"))
    djinn.rate("last", not_useful=[1])
    assert titles(djinn.recall("kettle water")) == before
    for _ in range(2):
        djinn.recall("kettle water")
        djinn.rate("last", not_useful=[before[0]], useful=[before[2]])
    after = djinn.recall("kettle water")
    assert titles(after) == [before[2], before[1], before[0]]
    assert [one.why.weight.multiplier for one in after.memories][1:] == [
        1.0, pytest.approx(0.947, abs=1e-3),
    ]  # fmt: skip
    djinn.home.edit((("scoring", "blend_boost_factor"), 0))
    assert titles(Djinn(djinn.home).recall("kettle water")) == before


def test_ratings_of_one_question_leave_another_alone(djinn: Djinn, put: Put) -> None:
    for name in "abc":
        put(name, f"# {name.upper()}\n\nkettle water, and the lamp of the harbour")
    djinn.index()
    before = titles(djinn.recall("harbour lamp"))
    for _ in range(3):
        found = djinn.recall("how hot is the water of a kettle")
        wrong = titles(found).index(before[0]) + 1
        djinn.rate("last", not_useful=[wrong])
    other = djinn.recall("harbour lamp")
    assert titles(other) == before
    [rated] = [one for one in other.memories if one.title == before[0]]
    assert rated.why.weight.multiplier == 1.0
    assert rated.why.scored and rated.why.scored.adaptive == 0.35
    # In other words of the same, and by itself, it counts.
    assert titles(djinn.recall("kettle water, hot?"))[-1] == before[0]
    for _ in range(3):
        djinn.rate(not_useful=[before[0]])
    assert titles(djinn.recall("harbour lamp"))[-1] == before[0]


def test_anothers_ratings_move_nothing_unless_they_are_shared(
    home: Home, djinn: Djinn, put: Put
) -> None:
    add_agent(home, "grace")
    for name in "ab":
        put(name, f"# {name.upper()}\n\nkettle water")
    djinn.index()
    for _ in range(3):
        found = djinn.recall("kettle water", agent="grace")
        djinn.rate(found.request_id, not_useful=[titles(found).index("A") + 1], agent="grace")
    assert titles(djinn.recall("kettle water", agent="me")) == ["A", "B"]
    assert titles(djinn.recall("kettle water", agent="grace")) == ["B", "A"]
    home.edit((("scoring", "shared"), True))
    assert titles(Djinn(home).recall("kettle water", agent="me")) == ["B", "A"]


@pytest.fixture
def project(djinn: Djinn, put: Put) -> Djinn:
    """A project: what was planned and decided, what broke, what was handed over."""
    put("app", "# Project: App\n\nAn app.", type="project", created=day(90))
    put(
        "stack",
        "Stack of App: we use SQLite. [[Project: App]]",
        type="decision",
        title="Stack",
        created=day(80),
    )
    put(
        "old",
        "Stack of App: we use files. [[Project: App]]",
        type="decision",
        title="Old stack",
        status="superseded",
        created=day(85),
    )
    put("gone", "The app is free until spring.", type="plan", title="Offer", expires=day(1))
    put("done", "Ship the app.", type="commitment", title="Ship", status="done")
    put(
        "open",
        "Call the printer about the app.",
        type="commitment",
        title="Printer",
        created=day(60),
    )
    put(
        "crash",
        "The app crashed on empty lists.",
        type="lesson",
        title="Empty lists",
        created=day(1),
    )
    put("h1", "Stopped at the parser.", type="handoff", title="Handoff one", created=day(1))
    put("h0", "Stopped at the app's lexer.", type="handoff", title="Handoff zero", created=day(40))
    for number in range(15):
        put(
            f"chat{number}",
            f"talk about the app and its stack, number {number}",
            title=f"Chat {number}",
            type="interaction",
            created=day(50),
        )
    djinn.index()
    return djinn  # fmt: skip


def test_what_is_superseded_or_expired_does_not_come_up(project: Djinn) -> None:
    for profile in ("default", "planning", "incident", "handoff"):
        found = titles(project.recall("the app stack offer", profile=profile, limit=50))
        assert not {"Old stack", "Offer"} & set(found)
    assert "Old stack" in [hit.title for hit in project.search("stack", limit=50).hits]


def test_planning_brings_decisions_and_what_they_lead_to(project: Djinn) -> None:
    plain = titles(project.recall("which stack", limit=4))
    found = project.recall("which stack", profile="planning", limit=4)
    assert titles(found)[0] == "Stack"
    assert "Project: App" in titles(found) and "Project: App" not in plain
    by_title = {one.title: one for one in found.memories}
    assert by_title["Project: App"].via == ("Stack",)
    assert by_title["Stack"].why.weight.type == 1.4
    assert "Ship" not in titles(project.recall("ship", profile="planning"))


def test_incident_brings_lessons_and_the_newest(project: Djinn) -> None:
    plain = titles(project.recall("the app", limit=50))
    found = project.recall("the app", profile="incident", limit=50)
    assert titles(found).index("Empty lists") < plain.index("Empty lists")
    [lesson] = [one.why.weight for one in found.memories if one.title == "Empty lists"]
    assert lesson.type == 1.5 and lesson.recency > 1.4


def test_handoff_brings_the_last_days_and_what_is_open(project: Djinn) -> None:
    found = project.recall("where did we leave off", profile="auto")
    assert found.profile == "handoff"
    assert titles(found)[0] == "Handoff one"
    assert "Printer" in titles(found)
    assert not {"Handoff zero", "Ship", "Chat 1"} & set(titles(found))


def test_filters_hold_for_what_a_profile_brings(project: Djinn) -> None:
    found = project.recall("stack type:decision", profile="planning", limit=50)
    assert {one.type for one in found.memories} == {"decision"}


@pytest.mark.parametrize(
    ("query", "profile"),
    [
        ("the build FAILED with a timeout", "incident"),
        ("what did we decide, what is the plan?", "planning"),
        ("what broke last time", "incident"),
        ("What went wrong with the release?", "incident"),
        ("what is next for Harbourlight", "handoff"),
        ("What\u2019s next for the launch plan?", "handoff"),
        ("the next steps", "handoff"),
        ("the next tide", "default"),
        ("tide tables", "default"),
        ("errorless planets", "default"),
    ],
)
def test_auto_chooses_by_the_words(query: str, profile: str) -> None:
    assert profile_for("auto", query, RecallConfig()) == profile


def test_a_profile_of_ones_own(home: Home, project: Djinn) -> None:
    home.edit((("recall", "profiles", "people"), {"types": {"handoff": 5}, "others": 0}))
    home.edit((("recall", "profiles", "planning", "hops"), 0))
    djinn = Djinn(Home(home.root))
    found = djinn.recall("stopped", profile="people")
    assert {one.type for one in found.memories} == {"handoff"}
    assert djinn.home.config.recall.profiles["planning"].pull
    assert not any(one.via for one in djinn.recall("which stack").memories)
    with pytest.raises(UsageError, match="no profile 'x'; known: auto, default, planning"):
        djinn.recall("stack", profile="x")
    with pytest.raises(ConfigError, match=r"recall\.profile: no profile 'y'"):
        home.edit((("recall", "profile"), "y"))


def test_a_ledger_that_is_damaged_is_a_problem(djinn: Djinn, put: Put, home: Home) -> None:
    put("a", "# Kettle\n\nkettle")
    djinn.index()
    home.ledger_path.write_bytes(b"x" * 5000)
    found = djinn.recall("kettle")
    assert titles(found) == ["Kettle"]
    assert found.request_id is None
    assert "ledger" in {one.what for one in found.problems}
    djinn.memories.show("Kettle")
    assert "ledger" in {one.what for one in djinn.problems}


def test_a_question_for_the_command_line(project: Djinn, home: Home, run: Run) -> None:
    done = run("recall", "which stack", "--profile", "planning", "--explain", "-n", "2",
               home=home.root)  # fmt: skip
    assert done.returncode == 0
    assert "1. Stack" in done.stdout and "x type 1.400" in done.stdout
    [request] = re.findall(r"djinn rate (rec_\w{10})", done.stderr)
    assert run("rate", request, "--useful", "1,2", home=home.root).returncode == 0
    wrong = run("rate", "last", "--useful", "3", home=home.root)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "its ranks are: 1 Stack, 2 " in wrong.stderr


@pytest.mark.parametrize(
    ("said", "share"),
    [("0.4", 0.4), ("1", 1), ("95", 0.95), ("100", 1), ("101", None), ("-1", None), ("high", None)],
)
def test_a_share_may_be_told_in_percent(said: str, share: float | None) -> None:
    assert share_of(said) == share


@pytest.mark.parametrize("how", [{"limit": 0}, {"limit": -1}, {"budget": 0}, {"budget": 10**9}])
def test_what_no_recall_can_give(djinn: Djinn, how: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(how))} .*: give a number from"):
        djinn.recall("kettle", **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["0123456789abcdef" * 6_250, "\u1200" * 90 + " ", " "])
def test_a_budget_bounds_what_has_no_words(djinn: Djinn, home: Home, word: str) -> None:
    text = "kite hexdump\n" + word * (1 + 100_000 // len(word)) + "\nsea"
    (home.root / "vaults" / "me" / "dump.md").write_text(f"---\ntype: rule\n---\n{text}\n")
    [one] = djinn.recall("kite hexdump", limit=1, budget=50).memories
    assert one.cut and one.tokens <= 50
    assert len(one.text) <= 50 * 40 + len(MARK)
    [rule] = djinn.wake(budget=500).preferences
    assert rule.cut and len(rule.text) < 16_100


def test_of_what_is_not_known_only_the_closest_titles_are_given(djinn: Djinn, put: Put) -> None:
    for number in range(6):
        put(f"n{number}", f"# Kettle {number}\n\nkettle water steam")
    djinn.index()
    recalled = djinn.recall("file my tax return in Portugal, with water and with patience")
    assert not recalled.confident
    assert 1 <= len(recalled.memories) <= CLOSEST
    assert {(memory.text, memory.tokens) for memory in recalled.memories} == {("", 0)}
    assert (recalled.tokens, recalled.more) == (0, 0)
    # One of them may be meant after all.
    assert recalled.request_id
    djinn.rate(recalled.request_id, useful=[1])


def test_a_question_that_only_names_its_profile_is_answered_by_the_newest(project: Djinn) -> None:
    for question in ("where were we", "resume the last session"):
        recalled = project.recall(question, profile="auto")
        assert recalled.confident
        assert "Stopped at the parser." in [memory.text for memory in recalled.memories]
    assert not project.recall("resume my gym membership", profile="auto").confident
