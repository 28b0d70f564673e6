"""Mentions without a link: where they count, where they do not, and what they become."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from djinn_memory.memories.linking.mentions import words_of
from djinn_memory.models import Dialect
from tests.conftest import Run
from tests.memories.changes.test_change_set import APPLY, kill_at, killed, tree

COUNT = {
    "The harbour lamp is dark.": "harbour lamp",
    "*Harbour lamp*, **the Harbour  lamp**": "Harbour lamp|Harbour  lamp",
    "_Harbour lamp_ and Harbour lamp's bulb": "Harbour lamp|Harbour lamp",
    "- [ ] clean the HARBOUR LAMP": "HARBOUR LAMP",
    "| a | the harbour lamp |\n|---|---|\n| b | Harbour lamp |": "harbour lamp|Harbour lamp",
    "The old light (an alias) burns.": "old light",
    "a\nHarbour lamp\nb": "Harbour lamp",
    "Harbour lamp: it turns. (Harbour lamp)": "Harbour lamp|Harbour lamp",
    'The "harbour lamp", “Harbour lamp,”': "harbour lamp|Harbour lamp",
    "« Harbour lamp »": "Harbour lamp",
    'A 6" pipe, "a word", a harbour lamp, an 8" pipe': "harbour lamp",
    "- one harbour lamp\n---": "harbour lamp",
    "50 % {harbour lamp} %": "harbour lamp",
}
"""Texts, and the words in them that mention `Harbour lamp`, whose alias is `Old light`."""

NOT = [
    "`harbour lamp` and ``a harbour lamp``",
    "```\nharbour lamp\n```\n",
    "    harbour lamp\n",
    "[[Harbour lamp]] ![[Harbour lamp]] [[x|the harbour lamp]]",
    "[harbour lamp](http://a.b) [the\nharbour lamp](c.md) ![harbour lamp](d.png) [harbour lamp][r]",
    "# The harbour lamp",
    "The harbour lamp\n===",
    "> the harbour lamp\nand harbour lamp",
    "- > the harbour lamp",
    "<!-- harbour lamp --> %% harbour lamp %%",
    "<b>harbour lamp</b> <div>\nharbour lamp\n</div>",
    "<a href='harbour lamp'>x</a> <https://harbour lamp>",
    "http://a.b/old light-old  www.harbour.lamp/old",
    "harbour lamps, harbour-lamp, harbourlamp, harbour. Lamp, harbour\nlamp, a harbour lamp-post",
    "#harbour lamp_x old light_y x_old light",
    "$harbour lamp$ {{embed harbour lamp}}",
    "[r]: http://a.b 'harbour lamp'",
    "lamp:: the harbour lamp",
    "Harbour lamp keeper and the harbour lamp keeper's keys",
    "The harbour lamp\nin two lines, the harbour lamp\n===",
    "The harbour lamp\nand the old light\nin three\n---",
    "{% include lamp harbour lamp %} {{ harbour lamp | f: '}' }} {{ the\nharbour lamp }}",
    'He said “the harbour lamp is dark”, "the harbour lamp", „die harbour lamp“, «the\nold light».',
    "»Den harbour lamp«, ”en harbour lamp”, 「the harbour lamp」",
]
"""Texts that do not mention it. `Harbour lamp keeper` is another note."""


@pytest.fixture
def lamp(shared: Path) -> Path:
    """A note with an alias, and one with a longer name."""
    note = shared / "harbour-lamp.md"
    note.write_text("---\naliases: [Old light]\ntitle: Harbour lamp\n---\nThe harbour lamp.\n")
    (shared / "keeper.md").write_text("# Harbour lamp keeper\n")
    return note


def words(djinn: Djinn, name: str = "Harbour lamp", **options: object) -> list[str]:
    """The words of the mentions, in the order of the text."""
    answer = djinn.memories.mentions(name, **options)  # type: ignore[call-overload]
    return [mention.words for mention in answer.mentions]


def test_what_counts(djinn: Djinn, lamp: Path, shared: Path) -> None:
    (shared / "a.md").write_text("---\nsaid: harbour lamp\n---\n" + "\n\n".join(COUNT))
    (shared / "b.md").write_text("---\ntitle: B\n---\n" + "\n\n".join(NOT))
    expected = [word for each in COUNT.values() for word in each.split("|")]
    assert words(djinn) == expected
    first = djinn.memories.mentions("Old light").mentions[0]
    assert (first.path, first.line, first.text) == ("a.md", 4, "The harbour lamp is dark.")


def test_the_newest_come_first_and_no_journal_document_or_fact(djinn: Djinn, lamp: Path) -> None:
    for number in range(5):
        note = lamp.with_name(f"n{number}.md")
        note.write_text(f"---\ndate: 2026-03-0{number + 1}\n---\nA harbour lamp.\n")
    djinn.episodes.record_interaction(message="The harbour lamp is dark.")
    djinn.facts.set("lamp", "name", "Harbour lamp")
    lamp.with_name("old.md").write_text("---\nstatus: superseded\n---\nA harbour lamp.\n")
    answer = djinn.memories.mentions("Harbour lamp", limit=3)
    assert [mention.path for mention in answer.mentions] == ["n4.md", "n3.md", "n2.md"]
    assert answer.more and len(words(djinn)) == 5


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Go", "We go with Go.", ["Go"]),
        ("WHO", "Who asks the WHO?", ["WHO"]),
        ("C++", "C, C++ and c++-like; C++.", ["C++", "C++"]),
        ("x.y(z)?", "x.y(z)? but no xayz", ["x.y(z)?"]),
        ("Café", "In the cafe\u0301, a café.", ["cafe\u0301", "café"]),
        ("東京", "東京都に住む", ["東京"]),
        ("ラン", "ブランドとラン", ["ラン"]),
        ("서울", "서울은 크다", ["서울"]),
        ("Maren’s list", "On Maren's list.", ["Maren's list"]),
        ("the", "the tide and the lamp", []),
        ("2026", "In 2026.", []),
        ("🔥", "A 🔥.", []),
        ("Say ]] twice", "Say ]] twice.", []),
    ],
)
def test_names(djinn: Djinn, shared: Path, title: str, text: str, expected: list[str]) -> None:
    (shared / "n.md").write_text(f"---\ntitle: '{title}'\n---\nText.\n")
    (shared / "a.md").write_text(text)
    assert words(djinn, "n.md") == expected
    assert bool(djinn.memories.mentions("n.md").left_out) == (not expected)


def test_a_common_word_counts_only_in_its_own_spelling(djinn: Djinn, shared: Path) -> None:
    (shared / "n.md").write_text("# Note\n")
    for number in range(30):
        (shared / f"{number}.md").write_text("A note of the tide.\n")
    (shared / "a.md").write_text("See Note.\n")
    djinn.index()
    assert words(djinn, "Note") == ["Note"]
    [name] = djinn.memories.mentions("Note").left_out
    assert "only this spelling counts" in name.why


def test_a_name_of_two_notes_leads_to_the_chosen_one(djinn: Djinn, shared: Path) -> None:
    for folder in ("x", "y"):
        (shared / folder).mkdir()
        (shared / folder / "Pier.md").write_text("Itself, the pier.\n")
    note = shared / "a.md"
    note.write_text("The pier is long.\n")
    [mention] = djinn.memories.mentions("x/Pier").mentions
    assert mention.also == ("shared:y/Pier.md",)
    left = djinn.memories.link_mentions("x/Pier", ["all"])
    assert (left.links, left.left, left.change) == (0, 1, None)
    djinn.memories.link_mentions("x/Pier", [mention.key])
    assert note.read_text() == "The [[x/Pier|pier]] is long.\n"
    assert djinn.memories.links("x/Pier").backlinks[0].ambiguous is False


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        ("obsidian", "A [[lamp|harbour lamp]].\r\n\r\n|a|[[lamp\\|Harbour lamp]]|\r\n|-|-|"),
        ("foam", "A [[lamp|harbour lamp]].\r\n\r\n|a|[[lamp\\|Harbour lamp]]|\r\n|-|-|"),
        ("markdown", "A [harbour lamp](lamp.md).\r\n\r\n|a|[Harbour lamp](lamp.md)|\r\n|-|-|"),
        ("dendron", "A [[harbour lamp|lamp]].\r\n\r\n|a|[[Harbour lamp\\|lamp]]|\r\n|-|-|"),
        ("logseq", "A [harbour lamp]([[lamp]]).\r\n\r\n|a|[Harbour lamp]([[lamp]])|\r\n|-|-|"),
    ],
)
def test_the_links_of_each_dialect(
    home: Home, tmp_path: Path, dialect: Dialect, written: str
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "lamp.md").write_text("---\naliases: [Harbour lamp]\n---\nIt turns.\n")
    note = folder / "a.md"
    note.write_bytes("\ufeffA harbour lamp.\r\n\r\n|a|Harbour lamp|\r\n|-|-|".encode())
    add_vault(home, "notes", folder, dialect=dialect)
    with Djinn(home) as djinn:
        before = tree(folder)
        shown = djinn.memories.link_mentions("lamp", ["all"], dry_run=True)
        assert shown.links == 2 and shown.diff and tree(folder) == before
        done = djinn.memories.link_mentions("lamp", ["all"])
        assert (done.links, done.notes, done.diff) == (2, ("notes/a.md",), shown.diff)
        assert note.read_bytes().decode() == f"\ufeff{written}"
        assert {link.path for link in djinn.memories.links("notes:a.md").links} == {"lamp.md"}
        assert words(djinn, "lamp") == []
        djinn.changes.undo(done.change)
        assert tree(folder) == before


def test_what_may_not_change_is_named(home: Home, tmp_path: Path) -> None:
    for name in ("kept", "notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text("A harbour lamp.\n")
    (tmp_path / "notes" / "latin.md").write_bytes(b"Caf\xe9, a harbour lamp.\n")
    (tmp_path / "kept" / "more.md").write_text("A harbour lamp.\n")
    add_vault(home, "kept", tmp_path / "kept", read_only=True)
    add_vault(home, "notes", tmp_path / "notes")
    (home.root / "vaults" / "me" / "l.md").write_text("# Zebra lamp\n")
    (home.root / "vaults" / "shared" / "s.md").write_text("# Harbour lamp\n\nA zebra lamp.\n")
    with Djinn(home) as djinn:
        done = djinn.memories.link_mentions("Harbour lamp", ["all"])
        private = djinn.memories.link_mentions("Zebra lamp", ["all"])
    problems = {problem.what: problem.why for problem in done.problems}
    assert "read-only" in problems["kept"]
    assert len(done.problems) == 2
    assert "UTF-8" in problems["notes/latin.md"]
    assert done.notes == ("notes/notes.md",)
    assert [problem.what for problem in private.problems] == ["shared/s.md"]
    assert "no link from a note of shared can lead to me/l.md" in private.problems[0].why


def test_a_changed_mention_is_refused(djinn: Djinn, lamp: Path) -> None:
    note = lamp.with_name("a.md")
    note.write_text("A harbour lamp.\n")
    [mention] = djinn.memories.mentions("Harbour lamp").mentions
    note.write_text("The harbour lamp.\n")
    with pytest.raises(NotFound, match="changed since they were listed; nothing was changed"):
        djinn.memories.link_mentions("Harbour lamp", [mention.key])
    assert note.read_text() == "The harbour lamp.\n"


def test_numbers_are_those_of_the_printed_list(djinn: Djinn, lamp: Path, run: Run) -> None:
    root = djinn.home.root
    for day in (1, 2):
        note = lamp.with_name(f"n{day}.md")
        note.write_text(f"---\ndate: 2026-03-0{day}\n---\nA harbour lamp.\n")
    listed = run("memory", "mentions", "Harbour lamp", home=root)
    assert listed.stdout.splitlines()[0] == "  1  shared/n2.md:4"
    # A newer note comes first in a new list.
    lamp.with_name("n3.md").write_text("---\ndate: 2026-03-03\n---\nA harbour lamp.\n")
    asked = run("memory", "mentions", "Harbour lamp", "--link", "1", home=root)
    assert asked.returncode == 2 and "pass --yes" in asked.stderr and "+A [[" in asked.stderr
    done = run("memory", "mentions", "Harbour lamp", "--link", "1", "--yes", home=root)
    assert done.stdout == "linked 1 mention in 1 note: Harbour lamp\n"
    assert "[[" in lamp.with_name("n2.md").read_text()
    assert "[[" not in lamp.with_name("n3.md").read_text()
    again = run("memory", "mentions", "Harbour lamp", "--link", "1", "--yes", home=root)
    assert again.returncode == 4 and "changed since they were listed" in again.stderr
    wrong = run("memory", "mentions", "Harbour lamp", "--link", "7", "--yes", home=root)
    assert wrong.returncode == 4 and "no mention 7" in wrong.stderr
    assert run("memory", "mentions", "Harbour lamp", "--link", "x", home=root).returncode == 2
    assert run("undo", "--yes", home=root).returncode == 0
    assert "[[" not in lamp.with_name("n2.md").read_text()


def test_another_agent_hears_nothing_of_a_private_vault(djinn: Djinn, lamp: Path) -> None:
    add_agent(djinn.home, "finn")
    with Djinn(Home(djinn.home.root)) as both:
        both.remember("lesson", "Secret", "A harbour lamp for finn.", agent="finn")
        assert words(both, agent="me") == []
        assert words(both, agent="finn") == ["harbour lamp"]


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [1, 3])
def test_a_killed_change_is_taken_back(home: Home, lamp: Path, number: int) -> None:
    for at in range(4):
        lamp.with_name(f"n{at}.md").write_text("A harbour lamp.\n")
    Djinn(home).index()
    before = tree(home.root / "vaults")
    program = 'djinn.memories.link_mentions("Harbour lamp", ["all"])'
    killed(home, kill_at(APPLY, number).format(program))
    with Djinn(home) as djinn:
        assert len(words(djinn)) == 4 and tree(home.root / "vaults") == before
        assert djinn.memories.link_mentions("Harbour lamp", ["all"]).links == 4


DIALECTS: dict[str, Dialect] = {"foam-docs": "foam", "kepano": "obsidian", "jackyzha0": "markdown"}


@pytest.mark.parametrize("most", [8, pytest.param(70, marks=pytest.mark.soak)])
def test_many_mentions_in_three_dialects(
    home: Home, data_dir: Path, tmp_path: Path, most: int
) -> None:
    """With 70 notes of each vault more than three hundred."""
    for name, dialect in DIALECTS.items():
        notes = sorted((data_dir / "vaults" / name).rglob("*.md"))[:most]
        for number, source in enumerate(notes):
            target = tmp_path / "vaults" / name / f"{number}-{source.name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            said = b"\r\nZebra crane.\r\n" if number % 2 else b"\n\na zebra crane and a Zebra crane"
            target.write_bytes(source.read_bytes() + b"\n\n" + said)
            os.utime(target, (1.7e9 + number, 1.7e9 + number))
        add_vault(home, name, tmp_path / "vaults" / name, dialect=dialect)
    (home.root / "vaults" / "shared" / "zebra-crane.md").write_text("# Zebra crane\n")
    with Djinn(home) as djinn:
        djinn.index()
        before = tree(tmp_path / "vaults")
        done = djinn.memories.link_mentions("Zebra crane", ["all"])
        assert done.links >= 4 * most and not done.problems
        written = rb"\[\[zebra-crane\|([Zz]ebra crane)\]\]|\[([Zz]ebra crane)\]\([^()]*\)"
        for note in done.notes:
            vault, _, path = note.partition("/")
            file = tmp_path / "vaults" / vault / path
            taken = re.sub(written, lambda match: match[1] or match[2], file.read_bytes())
            assert taken == before[f"{vault}/{path}"][1]
        backlinks = djinn.memories.links("Zebra crane").backlinks
        assert len(backlinks) == done.links
        djinn.changes.undo()
        assert tree(tmp_path / "vaults") == before


@pytest.mark.parametrize("name", ["Harbour lamp", "C++", "東京 lamp", "a_b", "  x  y "])
def test_words(name: str) -> None:
    assert words_of(name) and words_of(name) == words_of(f" {name.upper()}\t".lower())
