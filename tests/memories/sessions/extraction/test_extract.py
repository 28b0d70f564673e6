"""Extraction writes what was stated once, links it to its turn, and never writes it again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.errors import Busy, Refused
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.sessions.extraction import meaning
from djinn_memory.memories.sessions.extraction import run as extraction
from djinn_memory.memories.sessions.extraction.meaning import Meaning
from djinn_memory.memories.sessions.extraction.talk import MAYBE
from djinn_memory.memories.sessions.extraction.writer import ClaimWriter
from djinn_memory.memories.sessions.requests import ExtractionReport
from djinn_memory.models import Filters
from djinn_memory.store.busy import within
from djinn_memory.store.index.records import Selection
from djinn_memory.store.ledger import Event
from djinn_memory.store.ledger.ledger import Ledger
from djinn_memory.system import files
from djinn_memory.system.locks import lock
from tests.servers import ModelServer

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


@pytest.fixture
def djinn(home: Home) -> Iterator[Djinn]:
    with Djinn(home, clock=lambda: NOW) as djinn:
        yield djinn


def say(djinn: Djinn, *messages: str, session: str = "dig", hours: float = 2, **more: Any) -> None:
    """Record messages of the user, some hours ago, a second after each other."""
    start = NOW - timedelta(hours=hours)
    turns = [
        Turn("interaction", message, "I suggest that we decided to use Mongo.",
             start + timedelta(seconds=number), session, "cli", **more)
        for number, message in enumerate(messages)
    ]  # fmt: skip
    record_turns(djinn.runtime, "me", turns)


def titles(report: ExtractionReport) -> list[str]:
    return [memory.title for memory in report.written]


def notes(home: Home, kind: str) -> list[Path]:
    return sorted((home.root / "vaults" / "me" / kind).glob("*.md"))


STATED = (
    "I prefer tea over coffee.",
    "My city is Warsaw.",
    "We decided to use Postgres for the ledger.",
    "I will send the report by Friday.",
    "Lesson learned: test the restore, not only the backup.",
    "Never deploy on Fridays.",
    "Remember that the gate code changes every month.",
    "Should I prefer tea over water?",
)
TITLES = [
    "Prefers tea over coffee", "user/city", "We decided to use Postgres for the ledger",
    "Send the report", "Test the restore, not only the backup", "Never deploy on Fridays",
    "remembered/The gate code changes every month",
]  # fmt: skip


def test_what_is_stated_becomes_memories_with_evidence(djinn: Djinn) -> None:
    say(djinn, *STATED, client="claude")
    report = djinn.sessions.extract()
    assert titles(report) == TITLES and not report.skipped and not report.problems
    turns = djinn.sessions.history("dig").turns
    for memory, turn in zip(report.written, turns, strict=False):
        shown = djinn.memories.show(str(memory.id))
        [link] = [link for link in shown.links if link.field == "evidence"]
        assert memory.evidence == (f"[[{link.target}#^{turn.block}]]",)
        assert (link.path, link.title) == (turn.path, turn.title)
        assert shown.fields["rule"] == (memory.rule,) and memory.rule.startswith("extract.")
        assert shown.fields["session"] == ("dig",) and shown.fields["author"] == ("me",)
        assert shown.fields["client"] == ("claude",) and not memory.status
    assert djinn.facts.get("user", "city").value == "Warsaw"
    assert djinn.facts.get("user", "city").valid_from == turns[1].created
    assert [each.due for each in djinn.wake().commitments] == ["2026-03-06"]
    assert "Never deploy on Fridays" in {each.title for each in djinn.wake().preferences}
    again = djinn.sessions.extract()
    assert (again.written, again.skipped, again.sessions) == ((), (), 0)
    named = djinn.sessions.extract("dig")
    assert named.written == () and {each.reason for each in named.skipped} == {"extracted before"}
    assert not djinn.lint().issues


def test_a_dry_run_changes_nothing_and_lists_the_same(djinn: Djinn, home: Home) -> None:
    say(djinn, *STATED, "My city is Oslo.", "My city is Warsaw again.")
    djinn.index()
    before = {path: path.read_bytes() for path in home.root.rglob("*.md")}
    planned = djinn.sessions.extract(dry_run=True)
    assert {path: path.read_bytes() for path in home.root.rglob("*.md")} == before
    assert [memory.id for memory in planned.written] == [None] * 9
    assert titles(djinn.sessions.extract()) == titles(planned)


def test_only_idle_sessions_are_read_and_only_their_new_turns(djinn: Djinn) -> None:
    say(djinn, "I prefer tea over coffee.", hours=0.4)
    assert djinn.sessions.extract().sessions == 0
    assert titles(djinn.sessions.extract("dig")) == ["Prefers tea over coffee"]
    say(djinn, "My city is Warsaw.", session="dig", hours=0.6)
    later = Djinn(djinn.home, clock=lambda: NOW + timedelta(hours=1))
    report = later.sessions.extract()
    assert titles(report) == ["user/city"]
    # An import may add turns before those that were read.
    say(djinn, "My dog is called Rex.", session="dig", hours=9)
    assert titles(later.sessions.extract()) == ["user/dog's name"]
    say(djinn, "Fine.", session="dig", hours=0.1)
    assert later.sessions.extract().sessions == 1
    assert later.sessions.extract().sessions == 0


def test_turns_of_the_second_that_was_read_last_are_read_too(djinn: Djinn) -> None:
    say(djinn, "I prefer tea over coffee.")
    djinn.sessions.extract()
    say(djinn, "My city is Warsaw.")
    report = djinn.sessions.extract()
    assert (titles(report), report.skipped) == (["user/city"], ())


def test_what_is_known_is_skipped(djinn: Djinn) -> None:
    djinn.facts.set("User", "City", "warsaw")
    djinn.remember("preference", "Drinks", "I prefer tea over coffee!")
    say(djinn, *STATED[:2])
    report = djinn.sessions.extract()
    assert report.written == ()
    assert [each.reason for each in report.skipped] == [
        "known already: me/preferences/drinks.md", "known already: me/facts/user-city.md",
    ]  # fmt: skip
    # What a person wrote and removed does not come back either.
    djinn.facts.forget("user/city")
    assert djinn.sessions.extract("dig").written == ()


@pytest.mark.parametrize("fate", ["trash", "unlink", "purge", "edit", "rename", "rebuild"])
def test_an_extraction_that_was_removed_or_edited_never_comes_back(
    djinn: Djinn, home: Home, fate: str
) -> None:
    say(djinn, *STATED[:3])
    for memory in djinn.sessions.extract().written:
        path = home.root / "vaults" / "me" / memory.path
        if fate == "trash":
            djinn.memories.delete(str(memory.id))
        elif fate == "purge":
            djinn.memories.purge(str(memory.id))
        elif fate == "edit":
            path.write_text("---\ntitle: Mine\n---\nMine.\n")
        elif fate == "rename":
            path.rename(path.with_name("other.md"))
        else:
            path.unlink()
    if fate == "rebuild":
        djinn.close()
        home.index_path.unlink()
        djinn.index(rebuild=True)
    kept = len([*home.root.rglob("vaults/me/**/*.md")])
    say(djinn, *STATED[:3], session="again", hours=1)
    for _ in range(5):
        assert djinn.sessions.extract().written == ()
        assert djinn.sessions.extract("dig").written == ()
    assert len([*home.root.rglob("vaults/me/**/*.md")]) == kept


def test_a_changing_fact_keeps_its_history(djinn: Djinn) -> None:
    say(djinn, "My city is Warsaw.", session="a", hours=30)
    say(djinn, "My city is Oslo.", session="b", hours=20)
    say(djinn, "My city is Warsaw.", session="c", hours=10)
    assert len(djinn.sessions.extract().written) == 3
    fact = djinn.facts.get("user", "city")
    assert (fact.value, [past.value for past in fact.history]) == ("Warsaw", ["Oslo", "Warsaw"])
    djinn.facts.forget("user/city")
    for session in "abc":
        assert djinn.sessions.extract(session).written == ()
    say(djinn, "My city is Oslo.", session="d", hours=5)
    assert djinn.sessions.extract().written == ()


def test_an_older_statement_does_not_replace_a_newer_value(djinn: Djinn) -> None:
    djinn.facts.set("user", "city", "Bergen")
    say(djinn, "My city is Warsaw.", hours=40)
    djinn.sessions.extract()
    fact = djinn.facts.get("user", "city")
    assert (fact.value, [past.value for past in fact.history]) == ("Bergen", ["Warsaw"])


def test_tools_and_observations_only_propose(djinn: Djinn) -> None:
    call = {
        "tool_name": "Bash",
        "tool_input": {"command": "cat notes", "description": "Decision: one repository for all."},
        "tool_response": {"stdout": "Lesson learned: pin the version.\nMy name is Eve.\n"},
    }
    start = NOW - timedelta(hours=1)
    long = {"tool_name": "Read", "tool_response": "x" * 501 + "\nLesson learned: never seen."}
    turns = [
        Turn("observation", "Bash: cat notes", "", start, "dig", "cli", call),
        Turn("observation", "Read: file", "", start, "dig", "cli", long),
        Turn("observation", "We decided to use Postgres. I prefer it.", "", start, "dig", "cli"),
        Turn("interaction", "Hm.", "Yes.", start, "dig", "cli",
             {"tools": ["Lesson learned: read the log first."]}),
    ]  # fmt: skip
    record_turns(djinn.runtime, "me", turns)
    report = djinn.sessions.extract()
    assert [(memory.text, memory.status) for memory in report.written] == [
        ("One repository for all", "proposed"), ("Pin the version", "proposed"),
        ("We decided to use Postgres", "proposed"), ("Read the log first", "proposed"),
    ]  # fmt: skip
    context = djinn.wake()
    assert not {each.title for each in context.patterns} & set(titles(report))
    recalled = djinn.recall("pin the version lesson").memories
    assert "Pin the version" not in {each.title for each in recalled}
    assert djinn.search("pin the version", types=("lesson",)).hits


def crash(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("fate", ["keep", "trash"])
@pytest.mark.parametrize("kind", [0, 1])
def test_a_crash_between_note_and_ledger_writes_nothing_twice(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch, fate: str, kind: int
) -> None:
    say(djinn, STATED[kind])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(extraction.ExtractionLog, "take", crash)
        djinn.sessions.extract()
    [note] = [path for name in ("facts", "preferences") for path in notes(home, name)]
    if fate == "trash":
        djinn.memories.delete(f"me:{note.relative_to(home.root / 'vaults' / 'me')}")
    for _ in range(3):
        assert djinn.sessions.extract().written == ()
    assert djinn.sessions.extract("dig").written == ()
    assert note.exists() == (fate == "keep")


@pytest.mark.parametrize("kind", [0, 1])
def test_a_note_that_was_edited_after_a_crash_stays_as_it_is(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch, kind: int
) -> None:
    say(djinn, STATED[kind])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(extraction.ExtractionLog, "take", crash)
        djinn.sessions.extract()
    [note] = [path for name in ("facts", "preferences") for path in notes(home, name)]
    text = note.read_text().replace("Warsaw", "Gdynia").replace("tea", "mate")
    note.write_text(text)
    for _ in range(3):
        assert djinn.sessions.extract().written == ()
    assert djinn.sessions.extract("dig").written == ()
    assert note.read_text() == text
    assert len([path for name in ("facts", "preferences") for path in notes(home, name)]) == 1


def test_a_read_only_vault_refuses_and_loses_nothing(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(djinn, *STATED)
    home.edit((("vaults", "me", "read_only"), True))
    with Djinn(Home(home.root), clock=lambda: NOW) as shut:
        assert titles(shut.sessions.extract(dry_run=True)) == TITLES
        with pytest.raises(Refused, match="vault me is read-only"):
            shut.sessions.extract()
        assert shut.maintain(["extract"]).problems == ()
    home.edit((("vaults", "me", "read_only"), None))
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        assert titles(djinn.sessions.extract()) == TITLES


def test_a_default_domain_that_cannot_be_used_loses_nothing(djinn: Djinn, home: Home) -> None:
    say(djinn, *STATED)
    profile = home.root / "vaults" / "me" / "profile.md"
    profile.write_text("---\ntype: profile\ndefault_domain: wrok\n---\n")
    home.edit((("domains", "work"), "Work"))
    with Djinn(Home(home.root), clock=lambda: NOW) as wrong:
        with pytest.raises(Refused, match="default_domain"):
            wrong.sessions.extract()
        [problem] = wrong.maintain(["extract"]).problems
        assert "default_domain" in problem.why
    profile.unlink()
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        assert titles(djinn.sessions.extract()) == TITLES


def test_a_note_that_another_program_keeps_saving_is_tried_again(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    djinn.facts.set("user", "city", "Bergen", valid_from="2020-01-01")
    [note] = notes(home, "facts")
    say(djinn, "My city is Warsaw.")
    exchange = files.replace

    def late(path: Path, data: bytes, was: bytes) -> None:
        if path == note.resolve():
            path.write_bytes(was + b"\nOne more line.\n")
        exchange(path, data, was)

    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", late)
        report = djinn.sessions.extract()
        assert report.written == report.skipped == () and report.sessions == 0
        assert "was changed by another program" in report.problems[0].why
    assert titles(djinn.sessions.extract()) == ["user/city"]
    assert note.read_text().count("One more line.") == 5


def test_a_run_reads_only_the_events_that_it_needs(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(djinn, *STATED)
    assert len(djinn.sessions.extract().written) == len(TITLES)
    names = [f"s{number}" for number in range(500)]
    data = {"agent": "me", "session": "s", "said": "2026-03-01T00:00:00Z", "turns": 1, "last": 1}
    kinds = ("extraction.begun", "extraction.taken", "extraction.valued", "extraction.read")
    events = [Event(kind, name, data) for name in names for kind in kinds]
    djinn.runtime.state.ledger.append(events)
    read = Ledger.rows
    count = 0

    def counted(*arguments: Any) -> list[Any]:
        nonlocal count
        rows = read(*arguments)
        count += len(rows)
        return rows

    monkeypatch.setattr(Ledger, "rows", counted)
    say(djinn, "My city is Gdynia.", session="new", hours=1)
    assert titles(djinn.sessions.extract()) == ["user/city"]
    assert count < 20


def test_a_crash_before_the_note_loses_nothing(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(djinn, *STATED)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ClaimWriter, "_write", crash)
        djinn.sessions.extract()
    assert titles(djinn.sessions.extract()) == TITLES


def test_a_second_run_waits_and_then_says_so(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(djinn, *STATED)
    monkeypatch.setattr(extraction, "PATIENCE", 0.1)
    with lock(home.state / "extract-me.lock"), pytest.raises(Busy):
        djinn.sessions.extract()
    assert len(djinn.sessions.extract().written) == len(TITLES)


def test_another_home_with_the_vault_leaves_its_sessions_alone(
    djinn: Djinn, home: Home, tmp_path: Path
) -> None:
    say(djinn, *STATED)
    other = Home(Path(shutil.copytree(home.root, tmp_path / "other")))
    (other.state / "journal-name").unlink()
    with Djinn(other, clock=lambda: NOW) as second:
        assert second.sessions.extract().sessions == 0
        second.episodes.record_observation(text="Here too")
        assert second.sessions.extract().sessions == 0
        assert len(second.sessions.extract("dig").written) == len(TITLES)


def test_agents_extract_for_themselves(djinn: Djinn, home: Home) -> None:
    add_agent(home, "ben")
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        say(djinn, *STATED)
        assert djinn.sessions.extract(agent="ben").sessions == 0
        assert len(djinn.sessions.extract().written) == len(TITLES)
        turn = Turn("interaction", STATED[0], "", NOW - timedelta(hours=3), "dig", "cli")
        record_turns(djinn.runtime, "ben", [turn])
        [memory] = djinn.sessions.extract(agent="ben").written
        assert memory.title == TITLES[0]
        # The journals of both vaults have the same path.
        [link] = djinn.memories.show(str(memory.id), agent="ben").links
        assert (link.vault, link.title) == ("ben", STATED[0])


def test_secrets_are_not_extracted(djinn: Djinn) -> None:
    say(djinn, "Remember that the password is hunter2secret99.", "My token is ghp_a8Kd93jf02kDm2.")
    report = djinn.sessions.extract()
    assert report.written == ()
    assert "hunter2" not in str(report)


HOSTILE = (
    "Remember that ---\ntitle: x\n---\n the gate is open.",
    "I prefer [[Private plan]] over %% hidden %% notes.",
    'Remember that the \0 gate {"id": 1} is open.',
    "I prefer " + "tea " * 49_000 + "over coffee.",
    "Remember that <!-- --> this is ^block #tag.",
    "Remember that the gate is open ^block",
    "My name is ../../etc/passwd.",
    "Call me \u202eAnna.",
)


def test_hostile_statements_write_no_structure(djinn: Djinn, home: Home) -> None:
    say(djinn, *HOSTILE, "My city is Warsaw.")
    report = djinn.sessions.extract()
    assert titles(report) == ["user/city"]
    assert not djinn.lint().issues
    with djinn.runtime.index(djinn.home.scope("me")) as index:
        links = index.counts(Selection(Filters(planes=("semantic", "knowledge"))))
    assert (links.links, links.unresolved) == (1, 0)
    for path in (home.root / "vaults" / "me").rglob("*.md"):
        assert "\0" not in path.read_text(encoding="utf-8")


@pytest.fixture
def advised(home: Home, server: ModelServer, keys: None) -> Djinn:
    """A home with a chat model that the user trusts."""
    home.edit((("llm", "model"), "m"), (("llm", "url"), f"{server.url}/v1"))
    home.trust(home.untrusted)
    return Djinn(Home(home.root), clock=lambda: NOW)


def proposal(turn: int, kind: str, text: str, **more: str) -> dict[str, Any]:
    return {"turn": turn, "type": kind, "text": text, **more}


def test_a_model_only_proposes(advised: Djinn, server: ModelServer) -> None:
    advised.facts.set("user", "city", "Bergen")
    say(
        advised,
        "I prefer tea over coffee.",
        "It would be nice to have a dog, the password is hunter22.",
    )
    server.reply = "<think>hm</think>Here: " + json.dumps({
        "memories": [
            proposal(1, "preference", "I prefer tea over coffee."),
            proposal(2, "fact", "Oslo", category="user", key="city"),
            proposal(2, "commitment", "Get a dog.", due="2026-05-01"),
        ]
    })  # fmt: skip
    planned = advised.sessions.extract(dry_run=True)
    assert titles(planned) == ["Prefers tea over coffee"] and not server.asked
    report = advised.sessions.extract()
    assert [(memory.title, memory.status) for memory in report.written] == [
        ("Prefers tea over coffee", None), ("User/city: Oslo", "proposed"),
        ("Get a dog", "proposed"),
    ]  # fmt: skip
    assert [each.reason for each in report.skipped] == ["extracted before"]
    assert "hunter22" not in str(server.asked)
    # What is proposed is not known.
    assert advised.facts.get("user", "city").value == "Bergen"
    assert [fact.value for fact in advised.facts.list().facts] == ["Bergen"]
    assert advised.wake().commitments == ()
    advised.facts.set("user", "city", "Tromso")
    assert advised.memories.show(str(report.written[1].id)).fields["status"] == ("proposed",)
    asked = len(server.asked)
    assert advised.sessions.extract().sessions == 0 and len(server.asked) == asked
    # Accepted by a person, it is known.
    file = Path(report.written[2].file)
    file.write_text(file.read_text().replace("status: proposed\n", ""))
    assert [each.title for each in advised.wake().commitments] == ["Get a dog"]


@pytest.mark.parametrize(
    "reply",
    [
        "no", "{", '{"memories": 3}', '{"memories": [{"turn": 1, "type": "rule", "text": "x"}]}',
        json.dumps({"memories": [proposal(9, "lesson", "Too late.")]}),
        json.dumps({"memories": [proposal(1, "lesson", "See [[Private plan]].")]}),
        json.dumps({"memories": [proposal(1, "fact", "Oslo")]}),
        json.dumps({"memories": [proposal(1, "lesson", "x" * 501)]}),
        "[" * 100_000,
    ],
)  # fmt: skip
def test_a_wrong_answer_is_named_and_writes_nothing(
    advised: Djinn, server: ModelServer, reply: str
) -> None:
    say(advised, "My city is Warsaw.")
    server.reply = reply
    report = advised.sessions.extract()
    assert titles(report) == ["user/city"]
    [problem] = report.problems
    assert problem.what == "llm" and "of the model" in problem.why
    assert advised.sessions.extract().sessions == 0


def test_a_wrong_proposal_does_not_cost_the_others(advised: Djinn, server: ModelServer) -> None:
    say(advised, "It rains.", "It snows.")
    server.reply = json.dumps({
        "memories": [
            proposal(1, "rule", "x"), 3, proposal(9, "lesson", "Too late."),
            proposal(2, "preference", "Prefers snow."),
        ]
    })  # fmt: skip
    report = advised.sessions.extract()
    assert titles(report) == ["Prefers snow"]
    [problem] = report.problems
    assert problem.why.endswith(
        ": 3 of 4 proposals of the model were left out: no turn, no plain text or no key"
    )


def test_a_model_that_does_not_answer_is_asked_again(advised: Djinn, server: ModelServer) -> None:
    say(advised, "My city is Warsaw.")
    server.mood = "no text"
    report = advised.sessions.extract()
    assert titles(report) == ["user/city"]
    assert [each.what for each in report.problems] == ["llm"]
    server.mood, server.reply = "", '{"memories": []}'
    assert advised.sessions.extract().sessions == 1
    assert advised.sessions.extract().sessions == 0


def test_a_model_that_does_not_answer_is_not_waited_for_again(
    advised: Djinn, server: ModelServer
) -> None:
    for number, city in enumerate(("Warsaw", "Gdynia", "Oslo")):
        say(advised, f"My city is {city}.", session=f"s{number}", hours=9 - number)
    server.mood = "no text"
    report = advised.sessions.extract()
    assert titles(report) == ["user/city"] * 3
    assert (report.sessions, len(report.problems)) == (3, 1)
    asked = len(server.asked)
    server.mood, server.reply = "", '{"memories": []}'
    assert advised.sessions.extract().sessions == 3
    assert len(server.asked) == asked + 3


def test_secrets_that_a_model_proposes_are_refused_one_by_one(
    advised: Djinn, server: ModelServer
) -> None:
    say(advised, "It rains.", "It snows.")
    token = "ghp_" + "x7Kq2mZ9vLw4TbN8cRj5PfH3sDy6GaE1uXo0"
    server.reply = json.dumps({
        "memories": [
            proposal(1, "lesson", f"The token is {token}."),
            proposal(1, "fact", "hunter2hunter2", category="user", key="password"),
            proposal(2, "preference", "Prefers snow."),
        ]
    })  # fmt: skip
    report = advised.sessions.extract()
    assert titles(report) == ["Prefers snow"]
    assert len(report.skipped) == 2
    assert all("contains what looks like" in skipped.reason for skipped in report.skipped)
    assert token not in str(report) and "allow_secret" not in str(report)
    assert advised.sessions.extract().sessions == 0


def test_other_words_for_one_fact_close_its_value(djinn: Djinn) -> None:
    say(djinn, "I live in Gdansk.", session="a", hours=9)
    say(djinn, "My city is Warsaw.", session="b", hours=6)
    say(djinn, "I moved to Gdansk.", session="c", hours=3)
    planned = djinn.sessions.extract(dry_run=True)
    assert [memory.text for memory in planned.written] == ["Gdansk", "Warsaw", "Gdansk"]
    assert len(djinn.sessions.extract().written) == 3
    fact = djinn.facts.get("user", "city")
    assert (fact.value, [past.value for past in fact.history]) == ("Gdansk", ["Warsaw", "Gdansk"])
    assert djinn.facts.list().total == 1
    assert djinn.sessions.extract("a").written == djinn.sessions.extract("b").written == ()


class Reader:
    """Reads the same meaning in all texts."""

    def __init__(self, score: float) -> None:
        self._score = score

    def read(self, texts: list[str]) -> list[Meaning]:
        return [Meaning(self._score, "fact") for _ in texts]


def test_meaning_writes_a_sentence_with_its_day(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "meaning_reader", lambda _: Reader(1.0))
    say(djinn, "I sold my boat last Saturday, and my brother bought a kayak.")
    boat, kayak = djinn.sessions.extract().written
    assert (boat.type, boat.text) == ("fact", "I sold my boat on 2026-02-28")
    assert (kayak.title, kayak.status) == ("user/my brother bought a kayak", None)
    fact = djinn.facts.get("user", "sold my boat on 2026-02-28")
    assert fact.value == boat.text and fact.valid_from == "2026-02-28"


def test_less_sure_statements_are_proposed_once(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "meaning_reader", lambda _: Reader(MAYBE))
    say(djinn, "I sold my boat last Saturday.", "I sold my boat last Saturday.")
    report = djinn.sessions.extract()
    assert [memory.status for memory in report.written] == ["proposed"]
    assert [skipped.reason for skipped in report.skipped] == ["extracted before"]
    assert djinn.facts.list().facts == () and not djinn.sessions.extract().written
    [proposal] = djinn.review.list(kind="statement").items
    assert proposal.subjects[0].title == "I sold my boat on 2026-02-28"
    djinn.review.accept([proposal.id])
    fact = djinn.facts.get("user", "sold my boat on 2026-02-28")
    assert (fact.value, fact.valid_from) == ("I sold my boat on 2026-02-28", "2026-02-28")


def test_without_the_model_only_forms_are_kept(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "meaning_reader", lambda _: None)
    say(djinn, "I sold my boat last Saturday.", "I'm vegetarian.")
    assert titles(djinn.sessions.extract()) == ["user/vegetarian"]


def test_prototypes_are_embedded_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    few = (("fact", "I sold my boat."), ("nothing", "That was fun."))
    monkeypatch.setattr(meaning, "prototypes", lambda: few)
    home.edit((("embedding", "provider"), "local"))
    with Djinn(home) as djinn:
        reader = meaning.meaning_reader(djinn.runtime)
        assert reader and reader.read(["I sold my kayak."])[0].score > 0
    with Djinn(home) as djinn, monkeypatch.context() as patch:
        patch.setattr(LocalEmbedder, "embed", None)
        assert meaning.meaning_reader(djinn.runtime)
    home.edit((("embedding", "provider"), "none"))
    with Djinn(home) as djinn:
        assert meaning.meaning_reader(djinn.runtime) is None


def test_a_busy_cache_costs_no_meaning(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    few = (("fact", "I sold my boat."), ("nothing", "That was fun."))
    monkeypatch.setattr(meaning, "prototypes", lambda: few)
    home.edit((("embedding", "provider"), "local"))
    with Djinn(home) as djinn:
        cache, other = djinn.runtime.state.cache, apsw.Connection(str(home.embeddings_path))
        other.execute("begin immediate")
        with within(0.0):
            reader = meaning.meaning_reader(djinn.runtime)
            with pytest.raises(Busy):
                cache.put("x", {})
        assert reader and reader.read(["I sold my kayak."])[0].score > 0
