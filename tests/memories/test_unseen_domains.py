"""What an agent is answered does not depend on a domain that it may not see, down to the byte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import init
from djinn_memory.notes import journal
from tests import grace
from tests.examples import examples
from tests.grace import CALENDAR, FINNS_WORDS, SAME_ID, Deed, Fixed
from tests.memories.imports.exports import LOG, lines
from tests.memories.test_domains import UNCLEAR
from tests.memories.test_unseen_vaults import OWN, SHARED, Question, write_stale
from tests.memories.test_unseen_vaults import answers as all_answers

HIDDEN = "---\ndomain: money\n---\n# Old\n\nA harbour, a kettle and the layoffs of the year.\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an indexed home, in which finn may see only one of two domains."""
    with pytest.MonkeyPatch.context() as context, grace.fixed():
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        folder = tmp_path_factory.mktemp("unseen") / "template"
        home, _ = init(folder / "home", ("grace", "finn"))
        home.edit(
            (("embedding", "provider"), "hashing"),
            (("search", "sweep_ms"), 10_000),
            # The domain of a note that waits to be read is not known yet.
            (("search", "sweep_notes"), 1_000),
            (("access",), {"finn": ["harbour"]}),
        )
        (folder / "paper.txt").write_text("A kettle sings at the pier.\n\n" * 90)
        lines(folder / "log.jsonl", LOG)
        (folder / "work.ics").write_text(CALENDAR.format(title="High tide"))
        for vault, notes in (("shared", SHARED), ("finn", OWN), ("shared", {"old.md": HIDDEN})):
            for path, text in notes.items():
                (home.root / "vaults" / vault / path).write_text(text, encoding="utf-8")
        write_stale(home)
        port = home.root / "vaults" / "shared" / "port.md"
        port.write_text(f"---\ndomain: Harbour\n---\n{port.read_text()}")
        with Djinn(home) as djinn:
            djinn.episodes.record_observation(text="The pier is wet", agent="finn")
            djinn.index()
        yield folder


def shared(djinn: Djinn) -> Path:
    return djinn.home.root / "vaults" / "shared"


def own(djinn: Djinn) -> Path:
    return djinn.home.root / "vaults" / "finn"


def hide(text: str) -> str:
    """The text of a note with a domain that finn may not see."""
    front = text.removeprefix("---\n") if text.startswith("---\n") else f"---\n{text}"
    return f"---\ndomain: money\n{front}"


def remembers(djinn: Djinn) -> None:
    for agent, is_shared in (("grace", True), ("grace", False)):
        djinn.remember(
            "vibraphone", "The private budget", "layoffs [[Mine]] kettle kettle", tags=["hers"],
            domain="money", agent=agent, shared=is_shared, force=True,
        )  # fmt: skip


def writes_links(djinn: Djinn) -> None:
    """Notes that could be meant by links of what finn sees."""
    for folder in (shared(djinn), own(djinn) / "deep"):
        folder.mkdir(exist_ok=True)
        (folder / "private plan.md").write_text(hide("# Private plan\n\n[[Kettle]] [[Tides]]\n"))
        (folder / "other.md").write_text(
            hide("---\naliases: [Tides, Kettle, Private plan]\ntags: [hers]\n---\n[[Mine]]\n")
        )


def writes_titles(djinn: Djinn) -> None:
    """Files with the names of what finn is going to write, but for the folder."""
    folder = shared(djinn) / "lessons"
    folder.mkdir(exist_ok=True)
    for name in ("noon (1)", "copy of all", "private plan of hers", "ebb and flow"):
        (folder / f"{name}.md").write_text(hide(f"---\ntitle: {name.split(' ')[0]}\n---\nLow.\n"))


def throws_away(djinn: Djinn) -> None:
    """Notes in the trash with the names and ids of what finn sees, and a journal."""
    for folder in (shared(djinn), own(djinn)):
        trash = folder / ".trash"
        (trash / "journal").mkdir(parents=True, exist_ok=True)
        for name in ("private plan", "noon", "mine", "boat-length"):
            front = f"---\nid: {SAME_ID}\ntitle: {name.capitalize()}\n---\n"
            (trash / f"{name}.md").write_text(hide(f"{front}The layoffs.\n"))
        section = {"type": "interaction", "domain": "money", "created": "2026-04-30T09:30:00Z"}
        text = journal.header("2026-04-30", "gone")
        text += journal.compose("09:30", "Layoffs", "gone1", "layoffs", section)
        (trash / "journal" / "2026-04-30.gone.md").write_text(text)


def has_entities(djinn: Djinn) -> None:
    """Entities with the names of those that finn sees, and links to all of them."""
    folder = shared(djinn) / "of money"
    folder.mkdir(exist_ok=True)
    entities = (("Maren Holt", "person"), ("Hidden boat", "boat"), ("Pier", "project"))
    for name, kind in entities:
        fields = f"type: {kind}\ntitle: {name}\naliases: [Maren, Quay]\nled-by: '[[Maren Voss]]'"
        text = "Maren Holt, [[Maren Voss]], Maren and the [[Pier]] sing of the kettle."
        (folder / f"{name}.md").write_text(hide(f"---\n{fields}\n---\n{text}\n"))


def merges(djinn: Djinn) -> None:
    """A merge of two hidden entities, taken apart and taken back, and links that are corrected."""
    djinn.index()
    for name in ("Maren of money", "Holt of money"):
        djinn.remember("person", name, "layoffs", domain="money", shared=True, force=True,
                       existing="new")  # fmt: skip
    djinn.entities.merge("Holt of money", "Maren of money")
    djinn.entities.split("Maren of money")
    (shared(djinn) / "falls.md").write_text(hide("# Falls\n\n## It falls\n\n[[falls#it-falls]]\n"))
    djinn.index()
    djinn.lint(["shared"], fix=True)
    djinn.changes.undo()
    djinn.lint(["shared"], fix=True)


def has_patterns(djinn: Djinn) -> None:
    """Patterns of finn from episodes that he may not see any more."""
    folder = own(djinn) / "patterns"
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(("Counts kettles at noon", "Asks about layoffs")):
        front = "type: pattern\ncategory: behavioural\nhabit: true\nstatus: active"
        front += f"\nsource: consolidation\nconfidence: 0.9\npattern: {number:016x}"
        (folder / f"{name} of hers.md").write_text(
            hide(f"---\ntitle: {name}\n{front}\n---\nAt the pier.\n")
        )


def learns(djinn: Djinn) -> None:
    """A year of episodes and outcomes that finn may not see, in a journal of his vault."""
    folder = own(djinn) / "journal"
    folder.mkdir(exist_ok=True)
    for week in range(40):
        day = (Fixed.at - timedelta(weeks=week, days=1)).date()
        records = [
            journal.compose(
                f"{hour:02}:30", "Count the tides", f"w{week}h{hour}", "Count the tides",
                {"type": kind, "id": f"mem_{week:08}{hour:08}", "domain": "money",
                 "created": f"{day}T{hour:02}:30:00Z", "session": "dig", "context": context},
            )
            for hour, kind, context in (
                (9, "interaction", {}),
                (11, "outcome", {"action": "Light the lamp", "outcome": "failure"}),
            )
        ]  # fmt: skip
        text = journal.header(str(day), "hers") + "".join(records)
        (folder / f"{day}.hers.md").write_text(text)


def states(djinn: Djinn) -> None:
    """What finn is going to state in a session, known already."""
    for key, value in (("name", "Finn"), ("deploy", "not on Fridays")):
        djinn.facts.set("user", key, value, domain="money", shared=True)
    djinn.remember("preference", "Prefers tides", "I prefer tides over kettles.", domain="money",
                   shared=True, force=True, existing="new")  # fmt: skip


def purges_what_finn_said(djinn: Djinn) -> None:
    """Hidden notes that say what finn asked and keeps in mind, removed for good."""
    for text in FINNS_WORDS:
        djinn.remember("lesson", text, f"{text}\n\nAnd more.", domain="money", shared=True,
                       force=True, existing="new")  # fmt: skip
        djinn.memories.purge(text)


def fails(djinn: Djinn) -> None:
    """A file that cannot be read."""
    folder = djinn.home.root.parent / "of grace"
    folder.mkdir(exist_ok=True)
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 no")
    djinn.documents.ingest([folder / "bad.pdf"], domain="money", vault="shared")


def is_unclear(djinn: Djinn) -> None:
    """Front matter and comments that only seem to have a domain hide what they stand in."""
    for name, front in UNCLEAR.items():
        (shared(djinn) / f"{name}.md").write_text(f"---\n{front}\n---\nA kettle of layoffs.\n")
    text = journal.header("2026-04-29", "torn")
    section = {"type": "interaction", "domain": "money", "created": "2026-04-29T09:30:00Z"}
    text += journal.compose("09:30", "Layoffs", "torn1", "layoffs", section).replace('"}', '"')
    (shared(djinn) / "journal").mkdir(exist_ok=True)
    (shared(djinn) / "journal" / "2026-04-29.torn.md").write_text(text)


def takes_ids(djinn: Djinn) -> None:
    """Older copies of what finn sees, with the same ids."""
    for number, note in enumerate([*own(djinn).glob("*.md"), *shared(djinn).glob("*.md")]):
        copy = note.parent / f"copy-{number}.md"
        copy.write_text(hide(note.read_text()))
        os.utime(copy, (1e9, 1e9))


def has_a_profile(djinn: Djinn) -> None:
    """A profile of finn and calendars that he may not see."""
    profile = "---\ntype: profile\nidentity: Spies.\ndefault_domain: money\n---\nHe spies.\n"
    (own(djinn) / "he.md").write_text(hide(profile))
    event = "- 2026-05-01 08:00+00:00 to 09:00: Layoffs\n"
    for folder in (shared(djinn), own(djinn)):
        (folder / "days.md").write_text(hide(f"---\ntype: calendar\ncalendar: Pier\n---\n{event}"))


def drops_copies(djinn: Djinn) -> None:
    for folder in (own(djinn), shared(djinn)):
        for copy in folder.glob("copy-*.md"):
            copy.unlink()


def sets_facts(djinn: Djinn) -> None:
    # grace would give her domain to a fact of the same name that finn has set.
    known = {(fact.category, fact.key) for fact in djinn.facts.list(agent="grace").facts}
    for category, key, value in (("boat", "name", "Hidden"), ("salary", "ceo", "1")):
        if (category, key) not in known:
            djinn.facts.set(category, key, value, domain="money", shared=True, agent="grace")


def records(djinn: Djinn) -> None:
    """A journal in the vault of finn with episodes that he may not see."""
    data = {"type": "interaction", "session": "dig", "channel": "slack", "domain": "money"}
    folder = own(djinn) / "journal"
    folder.mkdir(exist_ok=True)
    composed = [
        journal.compose(
            "09:30", f"Layoffs {n}", f"hid{n}", "layoffs at the harbour",
            {**data, "id": f"mem_7k2m9q4dxw30hv0{n}", "created": f"2026-04-30T09:3{n}:00Z"},
        )
        for n in range(4)
    ]  # fmt: skip
    text = journal.header("2026-04-30", "other") + "".join(composed)
    (folder / "2026-04-30.other.md").write_text(text)


def ingests(djinn: Djinn) -> None:
    folder = djinn.home.root.parent / "of grace"
    folder.mkdir(exist_ok=True)
    (folder / "secret.txt").write_text("A paper on layoffs and kettles.\n" * 9)
    djinn.documents.ingest([folder / "secret.txt"], domain="money", vault="shared", agent="grace")


def judges(djinn: Djinn) -> None:
    djinn.recall("kettle layoffs", agent="grace")
    djinn.rate("last", useful=[1], gap="who knows of layoffs", agent="grace")


def writes_much(djinn: Djinn) -> None:
    for name in ("long", "longer"):
        (shared(djinn) / f"{name}.md").write_text(hide(grace.LONG_NOTE))


def says_the_same(djinn: Djinn) -> None:
    """What finn is going to write, and a statement that contradicts one of his."""
    (shared(djinn) / "same.md").write_text(
        hide(f"---\nid: {SAME_ID}\ntype: lesson\n---\nThe tide comes in at noon, I saw.\n")
    )
    (own(djinn) / "not.md").write_text(hide("The tide does not come in at noon.\n"))


def expires(djinn: Djinn) -> None:
    (shared(djinn) / "gone.md").write_text(hide("---\nexpires: 2020-01-01\n---\nA kettle.\n"))


def is_german(djinn: Djinn) -> None:
    (shared(djinn) / "de.md").write_text(
        hide("Die Schiffe liegen im Hafen und die Kessel singen nicht mehr. " * 3)
    )


def indexes(djinn: Djinn) -> None:
    djinn.index()


DEEDS: tuple[Deed, ...] = (
    remembers, has_a_profile, writes_links, writes_titles, throws_away, takes_ids, drops_copies,
    sets_facts, has_entities, merges, has_patterns, learns, states, records, ingests, fails, judges,
    purges_what_finn_said, writes_much, says_the_same, expires, is_german, is_unclear, indexes,
)  # fmt: skip


NAMED: list[Question] = [
    *(
        (name, {**fields, many: [domain]} if many == "domains" else {**fields, many: domain})
        for domain in ("money", "harbour", "nothing")
        for name, many, fields in (
            ("search", "domains", {"query": "kettle"}),
            ("recall", "domains", {"query": "kettle"}),
            ("context", "domains", {"task": "kettle"}),
            ("wake", "domains", {"task": "kettle"}),
            ("memories.list", "domains", {}),
            ("episodes.list", "domain", {}),
            ("search", "query", {}),
            ("remember", "domain", {"type": "lesson", "title": "Low", "text": f"Ebb {domain}."}),
            ("facts.set", "domain", {"category": "mast", "key": "of", "value": domain}),
            ("entities.add", "domain", {"name": f"Mole {domain}", "kind": "place"}),
            ("outcomes.record", "domain", {"action": "Row", "result": "success"}),
            ("episodes.record_observation", "domain", {"text": f"Spray {domain}"}),
            ("documents.ingest", "domain", {"paths": [Path("paper.txt")]}),
            ("import_history", "domain", {"paths": [Path("log.jsonl")]}),
        )
    ),
    ("search", {"query": "kettle domain:money"}),
    ("search", {"query": "kettle -domain:money"}),
    ("search", {"query": "kettle domain:harbour"}),
    ("facts.set", {"category": "salary", "key": "ceo", "value": "2", "shared": True}),
    ("facts.get", {"category": "salary", "key": "ceo"}),
    ("remember", {"type": "decision", "title": "Hers", "text": "A raise.", "shared": True}),
    ("documents.ingest", {"paths": [Path("home/vaults/shared/old.md")]}),
]
"""Questions that name a domain that finn sees, one that he may not see, and one that is none."""


def answers(template: Path, *stages: tuple[Deed, ...]) -> list[tuple[str, str]]:
    return all_answers(template, *stages, more=NAMED)


@pytest.fixture(scope="module")
def expected(template: Path) -> list[tuple[str, str]]:
    with grace.fixed():
        return answers(template, (), ())


def compare(template: Path, expected: list[tuple[str, str]], *stages: tuple[Deed, ...]) -> None:
    with grace.fixed():
        given = answers(template, *stages)
    for (question, after), (_, before) in zip(given, expected, strict=True):
        assert after == before, question


@pytest.mark.soak
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_no_deed_with_hidden_memories_changes_an_answer(
    template: Path, expected: list[tuple[str, str]], deed: Deed
) -> None:
    compare(template, expected, (deed,), (deed, indexes))


@pytest.mark.soak
def test_all_hidden_memories_together_change_no_answer(
    template: Path, expected: list[tuple[str, str]]
) -> None:
    compare(template, expected, DEEDS, (takes_ids, indexes))


STAGE = st.lists(st.sampled_from(DEEDS), max_size=6).map(tuple)


@pytest.mark.soak
@settings(max_examples=examples(100, 0.02), suppress_health_check=list(HealthCheck))
@given(first=STAGE, second=STAGE)
def test_a_hidden_domain_changes_no_answer(
    template: Path,
    expected: list[tuple[str, str]],
    first: tuple[Deed, ...],
    second: tuple[Deed, ...],
) -> None:
    compare(template, expected, first, second)
