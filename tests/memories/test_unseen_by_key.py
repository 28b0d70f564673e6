"""What a program with a key is answered does not depend on what the key hides, down to the byte.

The key hides an added vault of its own agent, the agent's own vault, a domain of its own agent, or
another agent.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.access import limited_by
from djinn_memory.home.home import Home
from djinn_memory.home.keys import Key, edit_keys
from djinn_memory.home.setup import add_agent, add_vault, init
from tests import grace
from tests.examples import examples
from tests.grace import CALENDAR, Deed
from tests.memories import test_unseen_domains as domains
from tests.memories.imports.exports import LOG, lines
from tests.memories.test_unseen_vaults import HIDDEN, OWN, SHARED, answers, write_stale

LIMITS: dict[str, Key] = {
    "vault": Key(name="a", vaults=["shared", "finn"], agents=["finn"], created="", digest="a"),
    "own vault": Key(name="d", vaults=["shared"], agents=["finn"], created="", digest="d"),
    "domain": Key(name="b", domains=["harbour"], agents=["finn"], created="", digest="b"),
    "agent": Key(name="c", agents=["finn"], created="", digest="c"),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an indexed home. Without a key, finn sees the vault shelf and the domain."""
    with pytest.MonkeyPatch.context() as context, grace.fixed():
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        folder = tmp_path_factory.mktemp("keys") / "template"
        home, _ = init(folder / "home", ("grace", "finn"))
        home.edit(
            (("embedding", "provider"), "hashing"),
            (("search", "sweep_ms"), 10_000),
            (("search", "sweep_notes"), 1_000),
        )
        (home.root / "shelf").mkdir()
        add_vault(home, "shelf", home.root / "shelf", agent="finn")
        # A copy of the home must have its own shelf.
        home.edit((("vaults", "shelf", "path"), "shelf"))
        edit_keys(home.keys_path, lambda _: [*LIMITS.values()])
        (folder / "paper.txt").write_text("A kettle sings at the pier.\n\n" * 90)
        lines(folder / "log.jsonl", LOG)
        (folder / "work.ics").write_text(CALENDAR.format(title="High tide"))
        for place, notes in (("vaults/shared", SHARED), ("vaults/finn", OWN), ("shelf", HIDDEN)):
            for path, text in notes.items():
                (home.root / place / path).write_text(text, encoding="utf-8")
        write_stale(home)
        port = home.root / "vaults" / "shared" / "port.md"
        port.write_text(f"---\ndomain: Harbour\n---\n{port.read_text()}")
        with Djinn(home) as djinn:
            djinn.episodes.record_observation(text="The pier is wet", agent="finn")
            djinn.index()
            # Upkeep that finn runs without the key proposes nothing new about what the key opens.
            djinn.maintain(["contradictions", "duplicates", "rot"], agent="finn")
        yield folder


def moved(deed: Deed, folder: str) -> Deed:
    """What grace does to her vault, done to a vault of finn that the key does not open."""

    def do_there(djinn: Djinn) -> None:
        shelf, hers = djinn.home.root / folder, grace.vault(djinn)
        try:
            deed(djinn)
        finally:
            for note in hers.rglob("*.md"):
                place = shelf / note.relative_to(hers)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(note, place)

    do_there.__name__ = deed.__name__
    return do_there


class Secrets(NamedTuple):
    """How finn, without the key, writes and names what the key hides."""

    write: Callable[[Djinn, str, str], object]
    """Writes a note of a name with a text."""
    ingest: dict[str, str]
    """Fields that let a document be hidden."""


def _on_shelf(djinn: Djinn, name: str, text: str) -> object:
    return (djinn.home.root / "shelf" / f"{name}.md").write_text(text)


def _of_money(djinn: Djinn, name: str, text: str) -> object:
    return (domains.own(djinn) / f"{name}.md").write_text(domains.hide(text))


SECRETS = {
    "vault": Secrets(_on_shelf, {"vault": "shelf"}),
    "domain": Secrets(_of_money, {"domain": "money"}),
}


def own_deeds(secrets: Secrets) -> tuple[Deed, ...]:
    """What finn himself, without the key, does with what the key hides."""

    def writes(djinn: Djinn) -> None:
        for number in range(3):
            text = f"---\ntype: decision\ntitle: Raise {number}\n---\nzither salary {number}\n"
            secrets.write(djinn, f"raise {number}", text)
        djinn.index()

    def recalls(djinn: Djinn) -> None:
        writes(djinn)
        djinn.search("zither salary", agent="finn")
        djinn.recall("zither salary", agent="finn")
        djinn.rate("last", useful=[1], agent="finn")
        djinn.memories.show("Raise 1", agent="finn")

    def edits(djinn: Djinn) -> None:
        writes(djinn)
        djinn.memories.edit("Raise 1", tags=["zither"], agent="finn")
        djinn.memories.rename("Raise 2", "Zither", agent="finn")
        djinn.changes.undo(agent="finn")
        djinn.memories.delete("Raise 2", agent="finn")
        djinn.memories.delete("Raise 0", agent="finn")
        djinn.memories.restore("Raise 0", agent="finn")
        djinn.memories.purge("Raise 0", agent="finn")

    def contradicts(djinn: Djinn) -> None:
        for number, value in enumerate(("is paid in gold", "is not paid in gold")):
            secrets.write(djinn, f"zither {number}",
                          f"---\ntype: rule\n---\nThe zither player {value}.\n")  # fmt: skip
        for number, city in enumerate(("Oslo", "Rome")):
            secrets.write(djinn, f"fact {number}",
                          f"---\ntype: fact\ncategory: zither\nkey: city\nvalue: {city}\n"
                          f"---\nzither/city: {city}\n")  # fmt: skip
        djinn.index()
        djinn.maintain(["contradictions"], agent="finn")
        djinn.review.list(agent="finn")

    def repeats(djinn: Djinn) -> None:
        for name in ("zither", "zithers"):
            secrets.write(djinn, name, f"# {name}\n\nThe zither is tuned each night by her.\n")
        djinn.index()
        djinn.maintain(["duplicates", "rot"], agent="finn")
        djinn.review.list(agent="finn")

    def ingests(djinn: Djinn) -> None:
        folder = djinn.home.root.parent / "of grace"
        folder.mkdir(exist_ok=True)
        (folder / "secret.txt").write_text("A paper on the zither and layoffs.\n" * 9)
        (folder / "bad.pdf").write_bytes(b"%PDF-1.4 no")
        djinn.documents.ingest([folder / "secret.txt", folder / "bad.pdf"], agent="finn",
                               **secrets.ingest)  # type: ignore[arg-type]  # fmt: skip

    def corrects(djinn: Djinn) -> None:
        secrets.write(djinn, "ebb", "# Ebb\n\n## It falls\n\n[[ebb#it-falls]]\n")
        djinn.index()
        djinn.lint(fix=True, agent="finn")

    return writes, recalls, edits, contradicts, repeats, ingests, corrects


OF_OTHERS = tuple(deed for deed in domains.DEEDS if deed is not domains.purges_what_finn_said)
"""Finn himself sees the domain, so a purge of a memory in it reaches what he keeps in mind. That
belongs to him, whatever his keys open."""

DEEDS: dict[str, tuple[Deed, ...]] = {
    "vault": (
        *(moved(deed, "shelf") for deed in grace.DEEDS),
        *own_deeds(SECRETS["vault"]),
    ),
    "own vault": tuple(moved(deed, "vaults/finn/sub") for deed in grace.DEEDS),
    "domain": (*OF_OTHERS, *own_deeds(SECRETS["domain"])),
    # That folder is finn's here.
    "agent": tuple(deed for deed in grace.DEEDS if deed is not grace.loses_a_folder),
}

EVERY = [(limit, deed) for limit, deeds in DEEDS.items() for deed in deeds]


@pytest.fixture(scope="module")
def expected(template: Path) -> Callable[[str], list[tuple[str, str]]]:
    """What a key is answered without any deed."""
    known: dict[str, list[tuple[str, str]]] = {}

    def of(limit: str) -> list[tuple[str, str]]:
        if limit not in known:
            with grace.fixed():
                known[limit] = answers(template, (), (), key=LIMITS[limit])
        return known[limit]

    return of


Expected = Callable[[str], list[tuple[str, str]]]


def compare(template: Path, expected: Expected, limit: str, *stages: tuple[Deed, ...]) -> None:
    before = expected(limit)
    with grace.fixed():
        given = answers(template, *stages, key=LIMITS[limit])
    for (question, after), (_, earlier) in zip(given, before, strict=True):
        assert after == earlier, question


@pytest.mark.soak
@pytest.mark.parametrize(
    ("limit", "deed"), EVERY, ids=[f"{limit}-{deed.__name__}" for limit, deed in EVERY]
)
def test_no_deed_changes_an_answer_to_a_key(
    template: Path, expected: Expected, limit: str, deed: Deed
) -> None:
    compare(template, expected, limit, (deed,), (deed, grace.indexes))


@pytest.mark.soak
@pytest.mark.parametrize("limit", LIMITS)
def test_all_deeds_together_change_no_answer_to_a_key(
    template: Path, expected: Expected, limit: str
) -> None:
    compare(template, expected, limit, DEEDS[limit], (grace.indexes,))


@pytest.mark.soak
@settings(max_examples=examples(100, 0.02), suppress_health_check=list(HealthCheck))
@given(data=st.data(), limit=st.sampled_from([*LIMITS]))
def test_what_a_key_hides_changes_no_answer(
    template: Path, expected: Expected, data: st.DataObject, limit: str
) -> None:
    stage = st.lists(st.sampled_from(DEEDS[limit]), max_size=6).map(tuple)
    compare(template, expected, limit, data.draw(stage), data.draw(stage))


def test_a_recall_that_showed_what_a_key_hides_is_unknown_to_the_key(home: Home) -> None:
    key = Key(name="b", domains=["harbour"], agents=["me"], created="", digest="b")
    edit_keys(home.keys_path, lambda _: [key])
    with Djinn(home) as djinn:
        djinn.remember("lesson", "Zither", "A zither of gold.", domain="money")
        djinn.remember("lesson", "Pier", "A pier of wood.")
        hidden = djinn.recall("zither")
        gap = djinn.gaps.report("Who plays?").gap_id
        djinn.gaps.close(gap, by="Zither")
        with limited_by(key):
            for target in ("last", hidden.request_id):
                for rank in (1, 9):
                    with pytest.raises(NotFound) as refused:
                        djinn.rate(target, useful=[rank])
                    assert "ither" not in str(refused.value)
            [group] = djinn.gaps.list(closed=True).groups
            assert [gap.closed_by for gap in group.gaps] == [None]
            seen = djinn.recall("pier")
            assert djinn.rate("last", useful=[1]).request_id == seen.request_id
        assert djinn.rate(hidden.request_id, useful=[1]).judged
        assert djinn.gaps.list(closed=True).groups[0].gaps[0].closed_by


def test_the_owner_of_an_id_is_one_that_the_key_opens(home: Home) -> None:
    """Uses are counted for the owner of an id, which is the older one of two notes."""
    (home.root / "shelf").mkdir()
    add_vault(home, "shelf", home.root / "shelf", agent="me")
    key = Key(name="b", vaults=["me"], agents=["me"], created="", digest="b")
    note = "---\nid: mem_7k2m9q4dxw30hv5t\ncreated: {}\n---\n# Lamp\n\nIt turns.\n"
    (home.root / "vaults" / "me" / "lamp.md").write_text(note.format("2026-01-01"))
    with Djinn(home) as djinn:
        djinn.memories.show("Lamp")
        with limited_by(key):
            before = djinn.scores.show("Lamp", agent="me")
        (home.root / "shelf" / "lamp.md").write_text(note.format("2001-01-01"))
        djinn.index()
        with limited_by(key):
            after = djinn.scores.show("Lamp", agent="me")
    assert [row.memory for row in after.scores] == [row.memory for row in before.scores]


def test_upkeep_of_a_key_withdraws_no_proposal_about_what_it_hides(home: Home) -> None:
    key = Key(name="b", domains=["harbour"], agents=["me"], created="", digest="b")
    edit_keys(home.keys_path, lambda _: [key])
    for name in ("one", "two"):
        note = home.root / "vaults" / "me" / f"{name}.md"
        note.write_text("---\ndomain: money\n---\nThe zither is tuned each night by her.\n")
    with Djinn(home) as djinn:
        djinn.maintain(["duplicates"], agent="me")
        assert len(djinn.review.list().items) == 1
        with limited_by(key):
            djinn.maintain(["duplicates"], agent="me")
            assert not djinn.review.list(agent="me").items
        assert len(djinn.review.list().items) == 1


def test_a_revoked_key_opens_nothing_in_a_call_that_waits(home: Home) -> None:
    key = Key(name="b", domains=["harbour"], agents=["me"], created="", digest="b")
    with Djinn(home) as djinn:
        djinn.remember("lesson", "Zither", "A zither of gold.", domain="money")
        with limited_by(key), pytest.raises(Refused, match="the key b was revoked"):
            djinn.search("zither")


def test_new_notes_that_a_key_hides_hold_up_no_others_and_wait(home: Home) -> None:
    add_agent(home, "grace")
    key = Key(name="c", agents=["grace"], created="", digest="c")
    edit_keys(home.keys_path, lambda _: [key])
    with Djinn(home) as djinn:
        for agent in ("grace", "me"):
            for name in ("Zither", "Zithers"):
                text = "The zither is tuned each night by her."
                djinn.remember("lesson", name, text, agent=agent, force=True)
        with limited_by(key):
            djinn.index(agent="grace")
            assert len(djinn.review.list(agent="grace").items) == 1
        djinn.index()
        assert len(djinn.review.list(agent="me").items) == 1
