"""What an agent is answered does not depend on a vault that it may not see, down to the byte."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.access import limited_by
from djinn_memory.home.home import Home
from djinn_memory.home.keys import Key
from djinn_memory.home.setup import add_vault, init
from djinn_memory.operations import OPERATIONS
from tests import grace
from tests.examples import examples
from tests.grace import CALENDAR, DEEDS, FINNS_WORDS, SAME_ID, WRITES, Deed, Fixed, do
from tests.memories.imports.exports import LOG, lines

SHARED = {
    "kettle.md": f"---\nid: {SAME_ID}\ntitle: Kettle\ntype: lesson\ntags: [tea]\n"
    "date: 2026-04-01\n---\nThe blue kettle sings when layoffs are near. See [[Tides]].\n",
    "tides.md": "---\ntitle: Tides\ntype: decision\ndate: 2026-04-02\n---\n"
    "The tide comes in at noon, the harbour fills.\n\n## Budget\n\nThe budget of the harbour.\n",
    "layoffs.md": "# Plan\n\nNobody speaks of layoffs or of the budget. [[Private plan]]\n",
    "a.md": "# First\n\nTea before the kettle.\n",
    "port.md": "# Port\n\nA pier.\n",
}
OWN = {
    "mine.md": "---\ntitle: Mine\ntype: observation\ndate: 2026-04-03\nimportance: 0.9\n---\n"
    "A kettle and a budget, and the harbour at night.\n",
    "hafen.md": "# Hafen\n\nDie Schiffe liegen im Hafen und der Kessel singt nicht mehr.\n",
    "twin.md": "# First\n\nTea before the kettle.\n",
}
STALE = {
    "harbour plan.md": "---\ntitle: Harbour plan\ntype: plan\ndate: 2019-04-03\n---\nOf tides.\n",
    "lamp.md": "---\ntitle: Lamp\ntype: plan\n---\nThe lamp is lit at night. [[Harbour plan]]\n",
    "l.md": "---\ntitle: Lamps\ntype: plan\n---\nThe lamp is lit at night. [[Harbour plan]]\n",
}
"""Notes of finn that were saved long ago."""
HIDDEN = {"old.md": "# Old\n\nA harbour, a kettle and the layoffs of the year.\n"}

QUESTIONS = [
    "layoffs budget",
    "the blue kettle sings",
    "harbor",
    "ketle tide",
    '"the budget" night',
]
GAP = re.compile(r"gap_[0-9a-z]{10}")
"""Stands for the first gap of the answers so far."""
CONTRADICTION = re.compile(r"con_[0-9a-z]{10}")
"""The same for a contradiction."""

Question = tuple[str, dict[str, Any]]
"""The name of an operation, and the fields of its request."""

ASKED: list[Question] = [
    *(
        ("search", {"query": query, "mode": mode, "expand": expand})
        for query, mode, expand in zip(
            [*QUESTIONS, "Schiff", "zzzz", "-kettle tide", "type:lesson"],
            itertools.cycle(["hybrid", "words", "meaning", None]),
            itertools.cycle(["none", "prf", "none"]),
            strict=False,
        )
    ),
    *(("recall", {"query": query, "profile": "auto"}) for query in QUESTIONS[:3]),
    ("rate", {"target": "last", "useful": [1], "gap": FINNS_WORDS[0]}),
    ("recall", {"query": QUESTIONS[0], "profile": "planning"}),
    ("scores.recalls", {}),
    ("scores.preview", {"parameters": {"blend_boost_factor": 1}}),
    *((name, {"name": "Kettle"}) for name in ("memories.show", "memories.links", "memories.find")),
    *((f"memories.{name}", {"name": "Kettle"}) for name in ("related", "mentions")),
    ("memories.link_mentions", {"name": "Kettle", "mentions": ["all"], "dry_run": True}),
    ("memories.link", {"name": "Kettle", "to": "Tides", "dry_run": True}),
    *((name, {}) for name in ("memories.list", "memories.stats", "scores.show", "gaps.list")),
    *(("memories.values", {"field": field}) for field in ("tag", "type", "title", "key")),
    ("graph.neighbours", {"name": "Kettle", "hops": 3}),
    ("graph.path", {"name": "Mine", "to": "Tides"}),
    ("graph.view", {"texts": True}),
    ("graph.view", {"name": "Kettle", "hops": 3}),
    ("graph.path", {"name": "Kettle", "to": "Tides"}),
    *((f"graph.{name}", {}) for name in ("communities", "stats")),
    *(("graph.export", {"format": form}) for form in ("json", "canvas")),
    ("recall", {"query": QUESTIONS[0], "wide": True}),
    ("memories.delete", {"name": "Tides", "dry_run": True}),
    ("maintain", {"only": ["duplicates", "rot"]}),
    ("review.list", {}),
    ("review.show", {"name": "1"}),
    ("review.accept", {"items": ["1"], "dry_run": True}),
    ("review.dismiss", {"items": ["1"], "dry_run": True}),
    ("review.accept", {"all": "merge"}),
    ("changes.undo", {}),
    ("review.dismiss", {"all": "merge"}),
    ("review.accept", {"all": "archive", "dry_run": True}),
    ("review.accept", {"all": "archive"}),
    ("maintain", {"only": ["duplicates", "rot"]}),
    ("review.list", {}),
    ("remember", {"type": "lesson", "title": "Noon", "text": "The tide comes in at noon, I saw."}),
    ("remember", {"type": "lesson", "title": "Copy", "text": "The blue kettle sings when layoffs "
                  "are near. See [[Tides]]."}),
    ("remember", {"type": "lesson", "title": "Private plan", "text": "layoffs", "force": True}),
    ("memories.delete", {"name": "Private plan"}),
    ("memories.restore", {}),
    ("memories.restore", {"name": "Private plan"}),
    ("memories.delete", {"name": "Private plan"}),
    ("lint", {}),
    ("remember", {"type": "lesson", "title": "Ebb", "text": "## It falls\n\n[[Ebb#it-falls]]"}),
    ("lint", {"fix": True}),
    ("changes.list", {}),
    ("changes.undo", {}),
    ("changes.undo", {}),
    ("changes.list", {}),
    ("facts.set", {"category": "pier", "key": "planks", "value": "40"}),
    ("facts.set", {"category": "pier", "key": "planks", "value": "41", "shared": True}),
    ("review.list", {"kind": "contradiction"}),
    ("review.show", {"name": CONTRADICTION}),
    ("review.dismiss", {"all": "contradiction"}),
    ("search", {"query": QUESTIONS[0], "as_of": "2026-04-02"}),
    ("recall", {"query": QUESTIONS[1], "as_of": "2026-04-02"}),
    ("memories.show", {"name": "Kettle", "why": True}),
    ("facts.set", {"category": "boat", "key": "length", "value": "seven metres of harbour"}),
    ("facts.search", {"query": "harbour metres"}),
    ("facts.list", {"search": "harbour"}),
    ("facts.verify", {"category": "boat", "key": "length"}),
    ("facts.get", {"category": "boat", "key": "length"}),
    ("facts.get", {"category": "salary", "key": "ceo"}),
    ("agents.list", {}),
    ("agents.profile", {}),
    ("agents.set", {"key": "rules", "values": ["Ask first."]}),
    ("agents.set", {"key": "default_domain", "values": ["harbour"]}),
    ("remember", {"type": "lesson", "title": "Buoys", "text": "Three are lit."}),
    ("agents.unset", {"key": "default_domain"}),
    ("agents.set", {"key": "working_hours", "values": ["mon-fri 09:00-17:00"], "add": True}),
    ("agents.profile", {}),
    ("entities.add", {"name": "Maren Holt", "kind": "person", "aliases": ["Maren"],
                      "text": "She sails to the harbour with a kettle."}),
    ("entities.add", {"name": "Maren Voss", "kind": "person", "aliases": ["Maren"],
                      "shared": True}),
    ("entities.add", {"name": "Pier", "kind": "project", "properties": ["depth=4 m"]}),
    ("entities.set", {"name": "Pier", "key": "led-by", "value": "[[Maren Holt]]",
                      "valid_from": "2026-05-01"}),
    ("remember", {"type": "lesson", "title": "Log", "text": "Maren Holt and [[Maren Voss]] left."}),
    ("entities.list", {}),
    ("entities.show", {"name": "Maren Holt"}),
    ("entities.show", {"name": "Pier", "as_of": "2026-05-02"}),
    ("entities.show", {"name": "Maren"}),
    ("entities.resolve", {"mention": "Maren", "context": "the harbour and the kettle"}),
    ("entities.show", {"name": "Hidden boat"}),
    ("entities.alias", {"action": "add", "name": "Pier", "aliases": ["Quay"]}),
    ("search", {"query": "who led the pier in May"}),
    ("entities.add", {"name": "Mari", "kind": "person", "text": "[[Maren Holt]]"}),
    ("entities.merge", {"name": "Mari", "into": "Maren Holt"}),
    ("entities.split", {"name": "Maren Holt"}),
    ("entities.remove", {"name": "Mari"}),
    ("gaps.report", {"description": "Who owns the harbour?", "query": "harbour owner"}),
    ("gaps.suggest", {}),
    ("working.set", {"key": "plan", "value": FINNS_WORDS[1]}),
    ("working.get", {"key": "plan"}),
    ("working.share", {"key": "plan", "to": "grace"}),
    ("working.list", {"all": True}),
    ("working.step", {"task": "dig", "key": "first"}),
    ("working.resume", {"task": "dig"}),
    ("working.tasks", {}),
    ("working.clear", {"task": "dig"}),
    ("documents.list", {}),
    ("wake", {"task": "plan the budget of the harbour"}),
    ("wake", {"task": "plan the budget of the harbour", "domains": ["harbour"]}),
    ("context", {"task": "the kettle", "domains": ["harbour"]}),
    ("context", {"task": "plan the budget of the harbour"}),
    ("context", {}),
    ("checkpoint", {"text": "The tide is high."}),
    ("summary.build", {"force": True}),
    ("summary.show", {}),
    ("summary.set", {"text": "Kettles and tides."}),
    ("documents.ingest", {"paths": [Path("paper.txt")]}),
    ("documents.show", {"name": "paper.txt"}),
    ("documents.find", {"name": "paper.txt"}),
    ("documents.draw", {"name": "paper.txt"}),
    ("documents.reprocess", {"name": "paper.txt", "chunk_size": 64}),
    ("episodes.record_interaction", {"message": "Is the harbour full? Ask about the Private plan.",
                                     "response": "The kettle sings.", "context": {"n": 1}}),
    ("episodes.record_observation", {"text": "Tides of the harbour", "session": "dig"}),
    ("episodes.list", {}),
    ("episodes.list", {"session": "dig"}),
    ("episodes.show", {"name": "Tides of the harbour"}),
    ("episodes.stats", {}),
    ("sessions.start", {"session": "dig"}),
    ("sessions.list", {}),
    ("sessions.list", {"channel": "slack", "since": "30d"}),
    ("sessions.history", {"session": "dig"}),
    ("sessions.history", {"session": "di"}),
    ("sessions.history", {"last": 3}),
    ("wake", {}),
    ("sessions.end", {"session": "dig"}),
    ("episodes.record_interaction", {"message": "I prefer tides over kettles. My name is Finn.",
                                     "session": "dig"}),
    ("sessions.extract", {"session": "dig", "dry_run": True}),
    ("sessions.extract", {"session": "dig"}),
    ("sessions.extract", {}),
    ("episodes.mark", {"names": ["Tides of the harbour"]}),
    ("outcomes.record", {"action": "Light the lamp", "result": "success", "context": "harbour"}),
    ("outcomes.list", {}),
    ("memories.rename", {"name": "Buoys", "title": "Three buoys"}),
    ("memories.move", {"name": "Three buoys", "to": "sea"}),
    ("memories.edit", {"name": "Three buoys", "tags": ["lit"]}),
    ("memories.versions", {"name": "Three buoys"}),
    ("memories.write", {"name": "finn:sea/mole.md", "text": "The mole is lit."}),
    ("memories.write", {"name": "Three buoys", "text": "Two.", "digest": "0"}),
    ("entities.edit", {"name": "Pier", "confidence": 0.8}),
    ("patterns.consolidate", {"min_age": "0d", "dry_run": True}),
    ("patterns.consolidate", {"min_age": "0d"}),
    ("remember", {"type": "pattern", "title": "Counts kettles at noon", "text": "At the pier."}),
    ("patterns.list", {}),
    ("patterns.show", {"name": "Counts kettles at noon"}),
    ("patterns.correlations", {}),
    ("import_history", {"paths": [Path("log.jsonl")]}),
    ("import_history", {"paths": [Path("work.ics")]}),
    ("agents.profile", {}),
    ("wake", {}),
    ("context", {"task": "the tide"}),
    ("episodes.list", {"session": "trip"}),
    ("search", {"query": "noon tide harbour"}),
    ("recall", {"query": "noon tide harbour"}),
    ("index", {}),
    ("status", {}),
    ("maintain", {}),
    ("documents.remove", {"name": "paper.txt"}),
    ("gaps.close", {"gap": GAP, "by": "Noon"}),
    ("gaps.reopen", {"gap": GAP}),
    ("gaps.close", {"gap": GAP}),
    ("gaps.list", {"closed": True}),
    ("memories.purge", {"name": "Noon"}),
    ("facts.forget", {"key": "boat/length"}),
    ("memories.purge", {"name": "boat/length"}),
    ("sleep", {"summary": "Counted the kettles."}),
]  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an indexed home of finn and grace, and a file."""
    with pytest.MonkeyPatch.context() as context, grace.fixed():
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        folder = tmp_path_factory.mktemp("unseen") / "template"
        home, _ = init(folder / "home", ("finn", "grace"))
        home.edit((("embedding", "provider"), "hashing"))
        # A busy machine leaves no folder for later.
        home.edit((("search", "sweep_ms"), 10_000))
        (home.root / "shelf").mkdir()
        add_vault(home, "shelf", home.root / "shelf", agent="grace")
        (folder / "paper.txt").write_text("A kettle sings at the pier.\n\n" * 90)
        lines(folder / "log.jsonl", LOG)
        (folder / "work.ics").write_text(CALENDAR.format(title="High tide"))
        for vault, notes in (("shared", SHARED), ("finn", OWN), ("grace", HIDDEN)):
            for path, text in notes.items():
                (home.root / "vaults" / vault / path).write_text(text, encoding="utf-8")
        write_stale(home)
        with Djinn(home) as djinn:
            # The first episode gives the home its name, which is drawn.
            djinn.episodes.record_observation(text="The pier is wet", agent="finn")
            djinn.index()
        yield folder


def write_stale(home: Home) -> None:
    for path, text in STALE.items():
        note = home.root / "vaults" / "finn" / path
        note.write_text(text, encoding="utf-8")
        os.utime(note, (1.6e9, 1.6e9))


def answers(
    template: Path,
    *stages: tuple[Deed, ...],
    more: Sequence[Question] = (),
    key: Key | None = None,
) -> list[tuple[str, str]]:
    """What finn is answered to each question, which come first, after each stage of deeds.

    With a key the questions are asked by a program that has it.
    """
    # Always at one path, which some answers hold.
    place = shutil.copytree(template, template.with_name("place"), symlinks=True)
    given: list[tuple[str, str]] = []
    try:
        with Djinn(Home(place / "home")) as djinn:
            for number, deeds in enumerate(stages):
                Fixed.step("grace", number)
                do(djinn, deeds)
                Fixed.step("finn", number)
                _date(place / "home" / "vaults" / "finn")
                djinn.problems.clear()
                with limited_by(key):
                    given += ask_all(djinn, place, [*ASKED, *more])
            return given
    finally:
        shutil.rmtree(place)


def _date(vault: Path) -> None:
    """Give the notes of a vault the same times in each home, since lists are sorted by them.

    Questions that write notes change their times, in one second or over two.
    """
    for number, note in enumerate(sorted(vault.glob("*.md"))):
        if note.stat().st_mtime > 1.7e9:
            os.utime(note, (1.7e9 + number, 1.7e9 + number))


def ask_all(djinn: Djinn, place: Path, questions: Sequence[Question]) -> list[tuple[str, str]]:
    given: list[tuple[str, str]] = []
    for name, asked in questions:
        fields = dict(asked)
        if "paths" in fields:
            fields["paths"] = [place / path for path in fields["paths"]]
        for key, value in fields.items():
            if isinstance(value, re.Pattern):
                matches = (value.search(text) for _, text in given)
                fields[key] = next((match[0] for match in matches if match), "none")
        given.append((f"{name} {asked}", answer(djinn, name, fields)))
    return given


def answer(djinn: Djinn, name: str, fields: dict[str, Any]) -> str:
    operation = OPERATIONS[name]
    try:
        given = operation.bind(djinn)(operation.request(**fields, agent="finn"))
        text = msgspec.json.encode(given, enc_hook=str).decode()
    except DjinnError as error:
        text = f"{type(error).__name__}: {error}"
    # How long it took; a note that was written a moment ago is read once more.
    text = re.sub(r'"(milliseconds|seconds|read)":[\d.e-]+', "", text)
    # The times of files are not fixed.
    return re.sub(r"20\d\d-[\dT:-]+Z", lambda time: time[0] if is_fixed(time[0]) else "then", text)


def is_fixed(time: str) -> bool:
    return time.startswith(Fixed.at.date().isoformat())


@pytest.fixture(scope="module")
def expected(template: Path) -> list[tuple[str, str]]:
    with grace.fixed():
        return answers(template, (), ())


def test_every_operation_that_takes_an_agent_is_asked(expected: list[tuple[str, str]]) -> None:
    takers = {
        name
        for name, operation in OPERATIONS.items()
        if "agent" in operation.request.__struct_fields__
    }
    assert takers - {name for name, _ in ASKED} == set()
    others = OPERATIONS.keys() - takers
    sync = {name for name in others if name.startswith("sync.")}
    keys = {"keys.add", "keys.list", "keys.revoke"}
    assert others == {"doctor", "jobs", "backups.create", *keys, *sync}, (
        "operations on the whole home"
    )
    assert {OPERATIONS[name].rights for name in others} == {"person"}
    answered = {asked.split()[0] for asked, text in expected if text.startswith("{")}
    # There is no PDF, which takes long to read.
    assert answered == takers - {"documents.draw"}


def compare(template: Path, expected: list[tuple[str, str]], *stages: tuple[Deed, ...]) -> None:
    with grace.fixed():
        given = answers(template, *stages)
    for (question, after), (_, before) in zip(given, expected, strict=True):
        assert after == before, question


@pytest.mark.soak
def test_all_deeds_of_grace_together_change_no_answer(
    template: Path, expected: list[tuple[str, str]]
) -> None:
    compare(template, expected, DEEDS, (grace.indexes,))


@pytest.mark.soak
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_no_deed_of_grace_changes_an_answer(
    template: Path, expected: list[tuple[str, str]], deed: Deed
) -> None:
    compare(template, expected, (deed,), (deed, grace.indexes))


UNINDEXED: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "kettle"}),
    ("facts.search", {"query": "kettle"}),
    ("remember", {"type": "lesson", "title": "Noon", "text": "The tide comes in at noon."}),
    ("search", {"query": "kettle"}),
    ("write", {"path": "byhand.md", "text": "# By hand\n\nA lamp at the pier.\n"}),
    ("search", {"query": "lamp", "mode": "words"}),
    ("write", {"path": "other.md", "text": "# Other\n\nA lantern at the pier.\n"}),
    ("search", {"query": "lamp"}),
    ("write", {"path": "long.md", "text": grace.LONG_NOTE}),
    ("search", {"query": "lamp"}),
    ("status", {}),
]
"""Of notes that were just written, also by hand: most windows of the long one have to wait."""


def ask_unindexed(template: Path, deeds: tuple[Deed, ...], *, empty: bool) -> list[str]:
    """What finn is answered while not everything is embedded, in an `empty` index or in a full."""
    place = shutil.copytree(template, template.with_name("place"), symlinks=True)
    try:
        home = Home(place / "home")
        if empty:
            home.index_path.unlink()
            home.embeddings_path.unlink()
        with Djinn(home) as djinn:
            given = []
            for number, (name, fields) in enumerate(UNINDEXED):
                Fixed.step("grace", number)
                do(djinn, deeds)
                Fixed.step("finn", number)
                djinn.problems.clear()
                if name == "write":
                    note = home.root / "vaults" / "finn" / fields["path"]
                    note.write_text(fields["text"])
                else:
                    given.append(answer(djinn, name, fields))
            return given
    finally:
        shutil.rmtree(place)


@pytest.mark.few(2)
@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize(
    "deeds",
    [
        (grace.writes_much, grace.leaves_words_alone),
        (grace.writes_much, grace.embeds),
        (grace.remembers, grace.sets_facts),
    ],
    ids=lambda deeds: deeds[-1].__name__,
)
def test_hidden_windows_take_no_vector_from_visible_ones(
    template: Path, deeds: tuple[Deed, ...], empty: bool
) -> None:
    with grace.fixed():
        expected = ask_unindexed(template, (), empty=empty)
        given = ask_unindexed(template, deeds, empty=empty)
    for (question, _), before, after in zip(
        [asked for asked in UNINDEXED if asked[0] != "write"], expected, given, strict=True
    ):
        assert after == before, question


STAGE = st.lists(st.sampled_from(DEEDS) | WRITES, max_size=6).map(tuple)


@pytest.mark.soak
@settings(max_examples=examples(150, 0.02), suppress_health_check=list(HealthCheck))
@given(first=STAGE, second=STAGE)
def test_a_hidden_vault_changes_no_answer(
    template: Path,
    expected: list[tuple[str, str]],
    first: tuple[Deed, ...],
    second: tuple[Deed, ...],
) -> None:
    compare(template, expected, first, second)
