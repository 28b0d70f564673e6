"""Sections of a journal as memories: named, shown, rated, and never taken for their whole file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog.catalog import ledger_name, located
from djinn_memory.models import UNSET
from djinn_memory.notes import journal
from djinn_memory.store.index.memories import place_exists

PATH = "journal/2026-11-20.laptop.md"
ID = "mem_7k2m9q4dxw30hv5t"


@pytest.fixture
def file(shared: Path) -> Path:
    (shared / "journal").mkdir()
    (shared / "Kettle.md").write_text("# Kettle\n\n[[2026-11-20.laptop#^two]]\n", encoding="utf-8")
    path = shared / PATH
    path.write_text(
        journal.header("2026-11-20", "laptop")
        + journal.compose("09:30", "First", "one", "The tide came", {"type": "interaction"})
        + journal.compose("09:31", "Second", "two", "A gull cried", {"about": "[[Kettle]]"})
        + journal.compose("09:32", "Third", "three", "The tide went", {"id": ID}),
        encoding="utf-8",
    )
    return path


def blocks(djinn: Djinn, name: str) -> list[object]:
    with djinn.runtime.index(djinn.home.vaults) as index:
        return [memory.block for memory in index.resolve(name)]


def test_a_list_has_each_section(djinn: Djinn, file: Path) -> None:
    djinn.index()
    memories = djinn.memories.list().memories
    assert sorted(memory.title for memory in memories) == ["First", "Kettle", "Second", "Third"]
    assert {memory.address for memory in memories} == {
        "shared:Kettle.md", *(f"shared:{PATH}#^{block}" for block in ("one", "two", "three"))
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "block"),
    [
        (f"shared:{PATH}#^two", "two"), (f"{PATH}#^two", "two"), (f"shared/{PATH}#^two", "two"),
        ("[[2026-11-20.laptop#^TWO]]", "two"), ("2026-11-20.laptop#^one", "one"), (ID, "three"),
        ("Kettle", UNSET),
    ],
)  # fmt: skip
def test_names_of_a_section(djinn: Djinn, file: Path, name: str, block: object) -> None:
    djinn.index()
    assert blocks(djinn, name) == [block]
    assert djinn.memories.show(name=name).block == block


@pytest.mark.parametrize("name", [PATH, f"{PATH}#^four", "2026-11-20.laptop", "Kettle#^two"])
def test_what_names_no_section(djinn: Djinn, file: Path, name: str) -> None:
    djinn.index()
    assert blocks(djinn, name) == []
    with pytest.raises(NotFound):
        djinn.memories.show(name=name)


def test_a_section_is_shown_without_the_rest_of_its_file(djinn: Djinn, file: Path) -> None:
    djinn.index()
    record = journal.compose("09:31", "Second", "two", "A gull cried", {"about": "[[Kettle]]"})
    assert djinn.memories.show(name=f"{PATH}#^two").text == record.strip("\n") + "\n"
    assert djinn.memories.show(name="Kettle").text.startswith("# Kettle")


def test_a_recall_gives_what_a_section_says(djinn: Djinn, file: Path) -> None:
    djinn.index()
    recalled = djinn.recall("gull cried").memories[0]
    assert (recalled.block, recalled.title, recalled.text) == ("two", "Second", "A gull cried")


def test_links_of_a_section(djinn: Djinn, file: Path) -> None:
    djinn.index()
    shown = djinn.memories.links(name=f"{PATH}#^two")
    assert [(link.title, link.field) for link in shown.links] == [("Kettle", "about")]
    assert [link.title for link in shown.backlinks] == ["Kettle"]
    first = djinn.memories.links(name=f"{PATH}#^one")
    assert (first.links, first.backlinks) == ((), ())
    kettle = djinn.memories.links(name="Kettle")
    assert [link.title for link in kettle.links] == ["Second"]
    assert [link.title for link in kettle.backlinks] == ["Second"]


def test_a_section_is_neither_deleted_nor_superseded(djinn: Djinn, file: Path) -> None:
    djinn.index()
    before = file.read_bytes()
    for name in (f"{PATH}#^two", ID):
        for dry_run in (False, True):
            with pytest.raises(
                Refused, match=r"is a section of the journal shared/.* edit that file"
            ):
                djinn.memories.delete(name=name, dry_run=dry_run)
        with pytest.raises(Refused, match="cannot be superseded by itself"):
            djinn.remember(type="lesson", title="New", text="Gulls cry", supersedes=name)
    assert file.read_bytes() == before
    assert len(djinn.memories.list().memories) == 4


def test_a_section_of_a_journal_that_djinn_did_not_write_is_not_purged(
    djinn: Djinn, file: Path
) -> None:
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    djinn.index()
    before = file.read_bytes()
    with pytest.raises(Refused, match="cannot be purged by itself"):
        djinn.memories.purge(name=ID)
    assert file.read_bytes() == before


def test_text_of_a_person_in_a_journal_is_not_deleted(djinn: Djinn, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("# 2026-11-20\n", "# 2026-11-20\n\nRainy.\n"), encoding="utf-8")
    djinn.index()
    assert blocks(djinn, PATH) == [UNSET]
    with pytest.raises(Refused, match="cannot be deleted by itself"):
        djinn.memories.delete(name=PATH)
    with pytest.raises(Refused, match="cannot be purged by itself"):
        djinn.memories.purge(name=PATH)


def test_the_ledger_names_a_section_by_its_block(djinn: Djinn, file: Path) -> None:
    djinn.index()
    uuid = djinn.home.shared.id
    with djinn.runtime.index(djinn.home.vaults) as index:
        memories = [index.resolve(f"{PATH}#^{block}")[0] for block in ("one", "three")]
        one, three = (ledger_name(memory, djinn.home.shared) for memory in memories)
        assert one.memory == one.place == f"{uuid}/{PATH}#^one"
        assert one.hash != memories[1].hash
        assert (three.memory, three.place) == (ID, f"{uuid}/{PATH}#^three")
        known = located(index, [one.memory, ID, f"{uuid}/{PATH}#^four", f"{uuid}/{PATH}"])
    assert (known[one.memory].block, known[ID].block) == ("one", "three")
    assert f"{uuid}/{PATH}" not in known
    vaults = djinn.home.vaults
    assert place_exists(djinn.runtime.state.index, one.memory, vaults)
    assert not place_exists(djinn.runtime.state.index, f"{uuid}/{PATH}#^four", vaults)


def test_a_rating_counts_for_one_section(djinn: Djinn, file: Path) -> None:
    djinn.index()
    djinn.rate(useful=(f"{PATH}#^two",))
    [rated] = djinn.scores.show().scores
    assert rated.memory.endswith("#^two")
    assert rated.title == "Second"


RECORDS = (
    "---\ntype: journal\n---\n"
    + journal.compose(
        "09:00", "person/bob", "bob", "A fine gull",
        {"type": "fact", "category": "person", "key": "bob", "expires": "2024-06-01"},
    )
    + journal.compose("09:01", "Summary", "sum", "Gulls rule", {"type": "summary"})
    + journal.compose("09:02", "Manual", "doc", "Of gulls", {"type": "document"})
)  # fmt: skip


@pytest.fixture
def typed(home: Home, djinn: Djinn) -> Path:
    """A journal of the agent whose sections have the types of notes that djinn keeps by path."""
    path = home.root / "vaults" / "me" / "journal" / "2024-05-01.me.md"
    path.parent.mkdir()
    path.write_text(RECORDS, encoding="utf-8")
    djinn.index()
    return path


def test_a_section_is_no_fact(djinn: Djinn, typed: Path) -> None:
    assert djinn.facts.list(expired=True).facts == ()
    for change in (djinn.facts.forget, djinn.facts.verify):
        with pytest.raises(NotFound):
            change("person", "bob")
    djinn.facts.set("person", "bob", "changed")
    djinn.maintain()
    assert typed.read_text(encoding="utf-8") == RECORDS
    [fact] = djinn.facts.list().facts
    assert (fact.value, fact.path != f"journal/{typed.name}") == ("changed", True)
    assert {hit.block for hit in djinn.search("gull", expired=True).hits} >= {"bob", "sum", "doc"}


def test_own_text_of_a_journal_is_no_fact_or_document_either(djinn: Djinn, typed: Path) -> None:
    for kind in ("fact", "document"):
        text = RECORDS.replace("journal", kind, 1) + "# Own\n\nA gull of mine\n"
        typed.write_text(text, encoding="utf-8")
        assert djinn.index().changed == 1
        assert [memory.type for memory in djinn.memories.list().memories].count(kind) >= 1
        assert djinn.facts.list(expired=True).facts == ()
        assert djinn.documents.list().documents == ()


def test_a_section_is_no_summary(djinn: Djinn, typed: Path) -> None:
    with pytest.raises(NotFound, match="no summary yet"):
        djinn.summary.show()
    written = djinn.summary.set("Keeps gulls.")
    assert (written.action, written.summary.text) == ("created", "Keeps gulls.")
    assert djinn.summary.set("Keeps bees.").action == "revised"
    assert djinn.summary.show().text == "Keeps bees."
    assert typed.read_text(encoding="utf-8") == RECORDS


@pytest.mark.parametrize("existing", ["append", "revise"])
def test_a_section_is_not_changed_by_its_title(djinn: Djinn, typed: Path, existing: Any) -> None:
    with pytest.raises(
        Refused, match=r"a section of the journal me/.* cannot be changed by itself"
    ):
        djinn.remember("lesson", "Manual", "Of terns", existing=existing)
    assert djinn.remember("lesson", "Manual", "Of terns", existing="new").action == "created"
    assert djinn.remember("lesson", "Manual", "Of skuas", existing=existing).action != "created"
    typed.write_text(f"{RECORDS}# Own\n\nOf my terns\n", encoding="utf-8")
    before = typed.read_bytes()
    for kind in ("journal", "lesson"):
        with pytest.raises(Refused):
            djinn.remember(kind, "Own", "Of kites", existing=existing, force=True)
    assert typed.read_bytes() == before


@pytest.mark.parametrize("existing", ["append", "revise"])
def test_a_journal_without_type_is_not_changed(djinn: Djinn, typed: Path, existing: Any) -> None:
    text = RECORDS.removeprefix("---\ntype: journal\n---\n") + "# Own\n\nOf my terns\n"
    typed.write_text(text, encoding="utf-8")
    djinn.index()
    with pytest.raises(Refused, match="is a journal; edit that file instead"):
        djinn.remember("lesson", "Own", "Of kites", existing=existing)
    assert typed.read_text(encoding="utf-8") == text
