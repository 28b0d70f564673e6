"""What grace does in a home that she shares with finn, who must not notice any of it.

All that she does is in vaults and under names of her own. A test does it in one of two homes that
are alike for finn, and compares what finn is answered in both.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest
from hypothesis import strategies as st

from djinn_memory import runtime
from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.library import writer
from djinn_memory.notes import ids
from djinn_memory.store.expiring.sqlite import SqliteWorkingStore
from djinn_memory.store.ledger import events
from tests.memories.hooks.events import damage, prompt, record, spool_of, stop, tool
from tests.memories.imports.exports import LOG, lines, said

CALENDAR = """\
BEGIN:VCALENDAR
VERSION:2.0
X-WR-CALNAME:Pier
BEGIN:VEVENT
UID:tide
SUMMARY:{title}
DTSTART:20260501T000000Z
DTEND:20260501T233000Z
RRULE:FREQ=DAILY
END:VEVENT
END:VCALENDAR
"""
"""A calendar with an event on each day from the first of `Fixed` on."""

Deed = Callable[[Djinn], object]


class Fixed(datetime):
    """A clock that stands still, and random bytes that are the same in both homes."""

    at = datetime(2026, 5, 1, tzinfo=UTC)
    seed = ""
    drawn = 0

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return cls.at.astimezone(tz)

    @classmethod
    def urandom(cls, count: int) -> bytes:
        cls.drawn += 1
        return hashlib.shake_256(f"{cls.seed} {cls.drawn}".encode()).digest(count)

    @classmethod
    def step(cls, who: str, number: int) -> None:
        """Let a minute go by; `who` draws its ids from here on."""
        cls.at = datetime(2026, 5, 1, tzinfo=UTC) + timedelta(minutes=number)
        cls.seed, cls.drawn = f"{who} {number}", 0


@contextmanager
def fixed() -> Iterator[None]:
    """Inside, homes have the clock and the ids of `Fixed`."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (runtime, writer, events):
            patch.setattr(module, "datetime", Fixed)
        patch.setattr(ids, "os", Fixed)
        store = SqliteWorkingStore.__init__
        patch.setattr(store, "__defaults__", (lambda: Fixed.at.timestamp(),))
        yield


def do(djinn: Djinn, deeds: tuple[Deed, ...]) -> None:
    """Do what can be done; what is there already is refused when it is done again."""
    for deed in deeds:
        with suppress(DjinnError):
            deed(djinn)


def vault(djinn: Djinn) -> Path:
    return djinn.home.root / "vaults" / "grace"


def remembers(djinn: Djinn) -> None:
    djinn.remember("decision", "Private plan", "layoffs [[Mine]]", tags=["hers"], agent="grace")
    djinn.remember("vibraphone", "Mine", "kettle kettle", agent="grace", force=True)
    for number in range(5):
        djinn.remember("lesson", f"L{number}", f"lamp {number}", agent="grace", force=True)


def takes_ids(djinn: Djinn) -> None:
    """Older notes with the ids, titles and texts of those that finn sees."""
    vaults = djinn.home.root / "vaults"
    for number, note in enumerate((*vaults.glob("finn/**/*.md"), *vaults.glob("shared/*.md"))):
        copy = vaults / "grace" / f"copy-{number}.md"
        copy.write_bytes(note.read_bytes())
        os.utime(copy, (1e9, 1e9))


def has_entities(djinn: Djinn) -> None:
    """Entities of her own with the names of those that finn sees, and links to all of them."""
    for name, kind in (
        ("Maren Holt", "person"),
        ("Hidden boat", "boat"),
        ("Maren Voss Kettle", "place"),
    ):
        djinn.entities.add(name, kind, "The kettle.", aliases=["Maren"], agent="grace", force=True)
    djinn.entities.set("Hidden boat", "led-by", "[[Maren Voss]]", agent="grace")
    text = "Maren Holt, [[Maren Voss]], Maren and the [[Pier]] sing of the kettle. "
    djinn.remember("lesson", "Maren", text, agent="grace", force=True)
    djinn.entities.merge("Maren Voss Kettle", "Hidden boat", agent="grace")


def drops_copies(djinn: Djinn) -> None:
    for copy in vault(djinn).glob("copy-*.md"):
        djinn.memories.show(f"grace:{copy.name}", agent="grace")
        copy.unlink()


def has_a_profile(djinn: Djinn) -> None:
    """A profile of her own, and notes in her vault that look like one of finn's."""
    djinn.agents.set("identity", ["Keeps the kettle."], agent="grace")
    djinn.agents.set("default_domain", ["hers"], agent="grace")
    djinn.agents.set("default_budget", ["100"], agent="grace")
    (vault(djinn) / "finn.md").write_text("---\ntype: person\n---\nHe spies.\n")
    djinn.remember("profile", "finn", "He spies on the kettle.", agent="grace", force=True)
    djinn.agents.unset("default_domain", agent="grace")


def sets_facts(djinn: Djinn) -> None:
    djinn.facts.set("boat", "name", "Hidden", agent="grace")
    djinn.facts.set("salary", "ceo", "1", agent="grace")


def has_proposals(djinn: Djinn) -> None:
    """Stale notes and notes that say the same, which link to those of finn."""
    for name in ("Harbour plan", "Lamp", "Lamps", "Lanterns"):
        note = vault(djinn) / f"{name}.md"
        note.write_text(f"---\ntype: plan\n---\n[[Lamp]] [[Harbour plan]] {name[:4]} each night.\n")
        os.utime(note, (1.5e9, 1.5e9))
    djinn.memories.show("Lamp", agent="grace")
    djinn.maintain(["duplicates", "rot"], agent="grace")
    djinn.review.accept(all="merge", agent="grace")
    djinn.review.dismiss(all="archive", agent="grace")


def corrects_links(djinn: Djinn) -> None:
    (vault(djinn) / "ebb.md").write_text("# Ebb\n\n## It falls\n\n[[ebb#it-falls]]\n")
    djinn.lint(["grace"], fix=True, agent="grace")
    djinn.changes.undo(agent="grace")
    djinn.lint(["grace"], fix=True, agent="grace")
    (vault(djinn) / "ebb.md").unlink()


def has_a_session(djinn: Djinn) -> None:
    djinn.sessions.start(agent="grace", session="dig")
    djinn.wake(task="layoffs", agent="grace")
    djinn.summary.set("hers", agent="grace")
    djinn.checkpoint("at work", agent="grace")
    djinn.sleep("done", next=["more"], agent="grace")


def keeps_in_mind(djinn: Djinn) -> None:
    djinn.working.set("plan", "hers", agent="grace")
    djinn.working.set("state", "x", task="dig", agent="grace")
    djinn.working.step("dig", "first", status="running", agent="grace")


def clears_her_mind(djinn: Djinn) -> None:
    djinn.working.clear(giver="finn", agent="grace")
    djinn.working.clear(agent="grace")


def records(djinn: Djinn) -> None:
    """Episodes of hers in sessions of his, and entities that only she knows."""
    djinn.remember("person", "Private plan", "hers", agent="grace", force=True)
    djinn.episodes.record_interaction(
        message="layoffs at the harbour", session="dig", channel="slack", agent="grace"
    )
    djinn.episodes.record_observation(text="Tides of the harbour", session="dig", agent="grace")


def imports(djinn: Djinn) -> None:
    """The log that finn imports, and one of her own about his words."""
    folder = djinn.home.root.parent / "of grace"
    folder.mkdir(exist_ok=True)
    lines(folder / "log.jsonl", [*LOG, said("user", "layoffs at the harbour", 1_772_400_000)])
    djinn.import_history([folder / "log.jsonl"], agent="grace")
    (folder / "work.ics").write_text(CALENDAR.format(title="Layoffs at the harbour"))
    djinn.import_history([folder / "work.ics"], agent="grace")


def states(djinn: Djinn) -> None:
    """What finn states too is extracted from her sessions, and removed."""
    for session in ("dig", "hers"):
        djinn.episodes.record_interaction(
            message="I prefer tides over kettles. My name is Finn. Never deploy on Fridays.",
            session=session, agent="grace",
        )  # fmt: skip
        djinn.sessions.extract(session, agent="grace")
    djinn.facts.forget("user/name", agent="grace")
    djinn.sessions.extract(agent="grace")


def learns(djinn: Djinn) -> None:
    """Habits of hers in the words of his episodes, and outcomes of his action."""
    now = djinn.runtime.now()
    turns = [
        Turn("interaction", "Count the tides of the harbour", "", now - timedelta(weeks=week),
             "dig", "cli")
        for week in range(30)
    ]  # fmt: skip
    turns += [
        Turn("interaction", "Ask about layoffs", "", now - timedelta(hours=17 * number), "dig",
             "cli")
        for number in range(90)
    ]  # fmt: skip
    record_turns(djinn.runtime, "grace", turns)
    djinn.outcomes.record("Light the lamp", "failure", context="harbour", agent="grace")
    djinn.episodes.mark([djinn.episodes.list(agent="grace").episodes[0].id], agent="grace")
    djinn.patterns.consolidate(min_age="0d", agent="grace")
    djinn.remember("pattern", "Counts kettles at noon", "hers", agent="grace", force=True)


def hooks_record(djinn: Djinn) -> None:
    """Events of hers in a session of his, and events that are lost."""
    session = (prompt("layoffs?", "dig"), tool("dig layoffs", "dig"), stop("Soon.", "dig"))
    record(djinn.home, *session, prompt("And then?", "dig"), agent="grace")
    record(djinn.home, tool("layoffs"), agent="nobody")
    damage(djinn.home, b"layoffs")
    spool_of(djinn.home).skip("layoffs")


def judges(djinn: Djinn) -> None:
    djinn.recall("kettle tea", agent="grace")
    djinn.context("kettle of the harbour", agent="grace")
    djinn.rate("last", useful=[1], gap="who knows of layoffs", agent="grace")
    djinn.rate(not_useful=["shared:a.md", "shared:port.md"], agent="grace")
    djinn.gaps.report("who is layoffs", query="layoffs", agent="grace")
    djinn.memories.show("shared:a.md", agent="grace")


def ingests(djinn: Djinn) -> None:
    folder = djinn.home.root.parent / "of grace"
    folder.mkdir(exist_ok=True)
    (folder / "paper.txt").write_text("A paper on layoffs and kettles.\n" * 9)
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 no")
    djinn.documents.ingest([folder / "paper.txt", folder / "bad.pdf"], agent="grace")


def purges_what_finn_said(djinn: Djinn) -> None:
    """Notes of hers that say what finn asked and keeps in mind, removed for good."""
    for text in FINNS_WORDS:
        djinn.remember("lesson", text, f"{text}\n\nAnd more.", agent="grace", force=True)
        djinn.memories.purge(text, agent="grace")


FINNS_WORDS = ("What does the harbour cost?", "The lamp of the pier burns all night")
"""Sentences that finn has in gaps, questions and working memory."""


def makes_disorder(djinn: Djinn) -> None:
    """Broken notes, and notes that no index has read."""
    (vault(djinn) / "broken.md").write_bytes(b"---\nid: x\nid: y\nfoo: [\n---\n\xff\xfe")
    for number in range(40):
        (vault(djinn) / f"new-{number}.md").write_text(f"# New {number}\n\nkettle lamp\n")


def loses_a_folder(djinn: Djinn) -> None:
    shutil.rmtree(djinn.home.root / "shelf", ignore_errors=True)


LONG_NOTE = "# Long\n\n" + "\n\n".join(
    f"## Part {part}\n\n{'The tide comes in at the pier, and the kettle sings of layoffs. ' * 6}"
    for part in range(90)
)
"""More windows than are embedded before an answer."""


def writes_much(djinn: Djinn) -> None:
    """Long notes of her own, and one that finn writes, too."""
    for name in ("long", "longer", "longest"):
        (vault(djinn) / f"{name}.md").write_text(LONG_NOTE.replace("Long", name.capitalize()))


def leaves_words_alone(djinn: Djinn) -> None:
    """A search of hers, which reads her notes and embeds none."""
    djinn.search("lamp", agent="grace", mode="words")


def embeds(djinn: Djinn) -> None:
    """Gives all her notes their vectors, and no other note."""
    from djinn_memory.indexing.embed import embed
    from djinn_memory.indexing.refresh import read
    from djinn_memory.store.index import compartments

    hers = [djinn.home.personal("grace")]
    state, models = djinn.runtime.state, djinn.models
    read(state, hers)
    assert models.embedder
    embed(state, models.embedder, models.recipe, only=compartments.numbers(state.index, hers))


def indexes(djinn: Djinn) -> None:
    djinn.index()


DEEDS: tuple[Deed, ...] = (
    remembers, has_proposals, corrects_links, has_a_profile, sets_facts, has_a_session,
    keeps_in_mind, records,
    states, learns, imports,
    hooks_record,
    judges, ingests, takes_ids, drops_copies, clears_her_mind, purges_what_finn_said,
    makes_disorder, loses_a_folder, writes_much, leaves_words_alone, embeds, indexes,
)  # fmt: skip

SAME_ID = "mem_7k2m9q4dxw30hv5t"
"""The id of a note that finn sees, which notes of grace have, too."""

_WORDS = [
    "layoffs", "kettle", "kettel", "harbour", "harbor", "tide", "budget", "night", "Schiffe",
    "Hafen", "zebra",
]  # fmt: skip
_TEXT = st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join)
_FRONT = st.lists(
    st.sampled_from(
        [
            f"id: {SAME_ID}", "title: Kettle", "aliases: [Tides, Mine]", "tags: [tea]",
            "type: lesson", "type: fact", "expires: 2020-01-01", "expires: 2026-04-30",
            "created: 2001-01-01", "supersedes: Kettle", "status: superseded", "importance: 1",
        ]
    ),
    max_size=4, unique=True,
).map(lambda lines: "\n".join(["---", *lines, "---", ""]) if lines else "")  # fmt: skip
_LINKS = st.sampled_from(["", "[[Kettle]]", "[[mine]] [[Tides|x]]", "![[tides]]"])
_GERMAN = st.sampled_from(["", "Die Schiffe liegen im Hafen, und der Kessel singt nicht mehr. "])
_NOTE = st.builds("{}{}{} {}\n".format, _FRONT, _GERMAN, _TEXT, _LINKS)
_PATH = st.sampled_from(["kettle.md", "tides.md", "a/mine.md", "new.md", "x/y/tide.md", "old.md"])


def _writes(path: str, text: str | None) -> Deed:
    def deed(djinn: Djinn) -> None:
        note = vault(djinn) / path
        note.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            note.unlink(missing_ok=True)
        else:
            note.write_text(text, encoding="utf-8")

    deed.__name__ = f"writes({path!r}, {text!r})"
    return deed


WRITES = st.builds(_writes, _PATH, st.none() | _NOTE)
"""A note of hers is written, or removed."""
