"""An agent never sees another agent's notes, by no command and no side channel."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, NotFound
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault, init
from djinn_memory.memories.catalog.catalog import list_memories
from djinn_memory.memories.removal.purge import PurgeReport
from djinn_memory.models import Filters
from djinn_memory.store.index.records import Selection
from tests.conftest import Run
from tests.examples import examples
from tests.indexing.vaults import with_sample

SECRETS = {
    "secret-plan.md": "---\nid: mem_7k2m9q4dxw30hv5t\ntitle: Xylophone\naliases: [Glockenspiel]\n"
    "tags: [marimba]\ncreated: 2020-03-04\ntype: vibraphone\nstatus: celesta\n---\n"
    "kettle [[Shared note]] balafon tambura\n",
}
WORDS = ["xylophone", "glockenspiel", "marimba", "vibraphone", "celesta", "balafon", "secret-plan"]


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which grace and a vault for her hold words that stand nowhere else."""
    home, _ = init(tmp_path_factory.mktemp("privacy") / "home", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    theirs = home.root.parent / "theirs"
    theirs.mkdir()
    add_vault(home, "theirs", theirs, agent="grace")
    for folder in (home.root / "vaults" / "grace", theirs):
        for path, text in SECRETS.items():
            (folder / path).write_text(text)
    shared = home.root / "vaults" / "shared"
    (shared / "a.md").write_text("# Shared note\n\nkettle [[Xylophone]] [[secret-plan]] [[Mine]]\n")
    (home.root / "vaults" / "finn" / "mine.md").write_text("# Mine\n\nkettle [[Glockenspiel]]\n")
    Djinn(home).index()
    return home


def told(value: object, allowed: str = "") -> set[str]:
    """The secret words in all that a result says, beside what was asked or stands in own notes."""
    text = repr(value).casefold()
    return {word for word in WORDS if word in text and word not in allowed.casefold()}


OWN_LINKS = "xylophone secret-plan glockenspiel"
"""What the visible notes themselves write in brackets."""


@pytest.mark.parametrize("mode", ["hybrid", "words", "meaning"])
@pytest.mark.parametrize("word", [*WORDS, *(word[:-2] + word[-1] for word in WORDS)])
def test_search(split: Home, word: str, mode: str) -> None:
    result = Djinn(split).search(f"{word} kettle", agent="finn", mode=mode)  # type: ignore[arg-type]
    assert {hit.vault for hit in result.hits} <= {"shared", "finn"}
    assert not told((result.hits, result.suggestions, result.problems), OWN_LINKS)
    assert not set(result.suggestions) & set(WORDS) - set(OWN_LINKS.split())


def test_suggestions_do_not_tell_a_hidden_word_from_none(split: Home) -> None:
    """The near spelling of a visible word comes also when a hidden note holds the word itself."""
    (split.root / "vaults" / "shared" / "b.md").write_text("a tamburan player with a tamburan")
    for word in ("tambura", "tamburam"):
        result = Djinn(split).search(word, agent="finn", mode="words")
        assert result.suggestions == ("tamburan",)


@pytest.mark.parametrize(
    "narrowed",
    [
        {"types": ["vibraphone"]}, {"tags": ["marimba"]}, {"paths": ["secret"]},
        {"where": ["status=celesta"]}, {"since": "2000"}, {}, {"until": "2100"},
        {"planes": ["semantic"]},
    ],
)  # fmt: skip
def test_list_and_stats(split: Home, narrowed: dict[str, Any]) -> None:
    djinn = Djinn(split)
    assert not told(djinn.memories.list(**narrowed, agent="finn").memories)
    assert not told(djinn.memories.stats(**narrowed, agent="finn"))
    assert djinn.memories.list(**narrowed, agent="grace").memories


def test_a_list_without_a_tag(split: Home) -> None:
    djinn = Djinn(split)
    filters = Filters(excluded=(("tag", "zzz"),))
    scopes = {name: djinn.runtime.fresh_scope(name) for name in ("finn", "grace")}
    with djinn.runtime.index(scopes["finn"]) as index:
        assert not told(list_memories(index, Selection(filters), 50))
    with djinn.runtime.index(scopes["grace"]) as index:
        assert list_memories(index, Selection(filters), 50)


@pytest.mark.parametrize(
    "name",
    [
        "Xylophone", "Glockenspiel", "secret-plan", "secret-plan.md", "mem_7k2m9q4dxw30hv5t",
        "grace/secret-plan.md", "grace:secret-plan.md", "theirs/secret-plan.md",
        "../grace/secret-plan", "[[Xylophone]]",
    ],
)  # fmt: skip
def test_show_and_delete(split: Home, name: str) -> None:
    memories = Djinn(split).memories
    for verb in (memories.show, memories.find, memories.delete, memories.links):
        with pytest.raises(NotFound) as caught:
            verb(name, agent="finn")
        assert not told(str(caught.value), name)


@pytest.mark.parametrize("name", ["Shared note", "Mine"])
def test_links_both_ways(split: Home, name: str) -> None:
    detail = Djinn(split).memories.show(name, agent="finn")
    for link in (*detail.links, *detail.backlinks):
        assert link.vault in (None, "shared", "finn")
    assert not told((detail.backlinks, [link.title for link in detail.links]))


def test_a_link_from_shared_never_leads_into_a_personal_vault(split: Home) -> None:
    for agent in ("finn", "grace"):
        detail = Djinn(split).memories.show("Shared note", agent=agent)
        assert {link.vault for link in detail.links} == {None}
    detail = Djinn(split).memories.show("Shared note", agent="grace")
    assert [link.vault for link in detail.backlinks] == ["grace", "theirs"]


def test_the_vault_cannot_be_named(split: Home) -> None:
    for vault in ("grace", "theirs"):
        djinn = Djinn(split)
        for ask in (
            lambda: djinn.search("kettle", vaults=(vault,), agent="finn"),  # noqa: B023
            lambda: djinn.recall("kettle", vaults=[vault], agent="finn"),  # noqa: B023
            lambda: djinn.memories.list(vaults=[vault], agent="finn"),  # noqa: B023
            lambda: djinn.memories.stats(vaults=[vault], agent="finn"),  # noqa: B023
        ):
            with pytest.raises(NotFound) as caught:
                ask()
            assert "known: shared, finn" in str(caught.value)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=st.lists(
        st.sampled_from([*WORDS, "kettle", "-kettle", "tag:marimba", "type:vibraphone", '"kettle"',
                         "path:secret", "path:grace", "-tag:x", "xyl", "mar*"]),
        min_size=1, max_size=4,
    ),
    mode=st.sampled_from(["hybrid", "words", "meaning"]),
)  # fmt: skip
def test_no_question_reaches_them(split: Home, text: list[str], mode: str) -> None:
    result = Djinn(split).search(" ".join(text), agent="finn", mode=mode)  # type: ignore[arg-type]
    assert {hit.vault for hit in result.hits} <= {"shared", "finn"}
    # What is asked for and not there is named as it was asked for.
    asked = tuple(
        problem for problem in result.problems if problem.what.split(" ", 1)[-1] in " ".join(text)
    )
    rest = tuple(problem for problem in result.problems if problem not in asked)
    assert not told((result.hits, result.suggestions, rest), OWN_LINKS)
    assert not any(word in problem.why for problem in asked for word in WORDS)


def test_the_windows_that_wait_are_ones_own(home: Home, sample: Path) -> None:
    with_sample(home, sample)
    home.edit((("embedding", "provider"), "none"))
    Djinn(home).index()
    home.edit((("embedding", "provider"), "hashing"))
    for name in ("finn", "grace"):
        # The search embeds a few of them.
        waiting = Djinn(home).search("tide", agent=name).unembedded
        assert waiting == Djinn(home).memories.stats(agent=name).pending


COMMANDS = [
    ["memory", "search", "kettle"],
    ["memory", "search", "kettle", "--explain", "--json"],
    ["memory", "search", "xilophone", "--mode", "words"],
    ["memory", "search", "-n", "50", "--format", "csv", "kettle"],
    ["memory", "list"],
    ["memory", "list", "--json"],
    ["memory", "list", "--type", "vibraphone"],
    ["memory", "show", "Shared note", "--json"],
    ["memory", "show", "secret-plan"],
    ["memory", "delete", "secret-plan", "--yes", "--json"],
    ["memory", "stats"],
    ["memory", "stats", "--json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command(split: Home, run: Run, command: list[str]) -> None:
    done = run(*command, "--agent", "finn", home=split.root)
    allowed = OWN_LINKS + " ".join(command)
    assert not told(done.stdout + done.stderr, allowed)
    if "--json" in command and done.returncode == 0:
        json.loads(done.stdout)
    assert (split.root / "vaults" / "grace" / "secret-plan.md").exists()


def test_errors_do_not_tell_either(split: Home) -> None:
    for name in ("xyl", "Xylophones", "balafon"):
        with pytest.raises(DjinnError) as caught:
            Djinn(split).memories.show(name, agent="finn")
        assert not told(str(caught.value), name)


def aged(path: Path, text: str) -> None:
    """A note that seems older than all others."""
    path.write_text(text)
    os.utime(path, (1e9, 1e9))


def test_a_hidden_note_takes_no_id_away(djinn: Djinn) -> None:
    """An older note of grace with the id of a visible one hid the history of that one from finn."""
    home = djinn.home
    for name in ("finn", "grace"):
        add_agent(home, name)
    vaults = home.root / "vaults"
    note = "---\nid: mem_7k2m9q4dxw30hv5t\n---\n# Lamp\n\nIt turns.\n"
    own = djinn.remember("lesson", "Mine", "A kettle.", agent="finn")
    (vaults / "shared" / "lamp.md").write_text(note)
    for name in ("Lamp", "Mine"):
        djinn.rate(useful=[name], agent="finn")
    before = djinn.scores.show(agent="finn")
    assert [score.record.useful for score in before.scores] == [1, 1]
    aged(vaults / "grace" / "copy.md", note)
    aged(vaults / "grace" / "other.md", f"---\nid: {own.id}\n---\nHers.\n")
    djinn.index()
    after = djinn.scores.show(agent="finn")
    assert [(score.memory, score.record) for score in after.scores] == [
        (score.memory, score.record) for score in before.scores
    ]
    [hers] = djinn.scores.show("shared:lamp.md", agent="grace").scores
    assert hers.memory == "mem_7k2m9q4dxw30hv5t"


def test_a_hidden_note_of_the_same_text_takes_no_history_away(djinn: Djinn) -> None:
    home = djinn.home
    for name in ("finn", "grace"):
        add_agent(home, name)
    mine, hers = (home.root / "vaults" / name for name in ("finn", "grace"))
    (mine / "kettle.md").write_text("The kettle leaks.\n")
    djinn.rate(useful=["kettle"], agent="finn")
    (hers / "copy.md").write_text("The kettle leaks.\n")
    djinn.index()
    (mine / "kettle.md").rename(mine / "pot.md")
    [score] = djinn.scores.show("pot", agent="finn").scores
    assert score.record.useful == 1


def test_the_ratings_of_a_hidden_copy_that_is_gone_count_for_nobody_else(djinn: Djinn) -> None:
    """Where the ratings of all count, those of her own note never counted for the shared one."""
    home = djinn.home
    home.edit((("scoring", "shared"), True))
    for name in ("finn", "grace"):
        add_agent(home, name)
    copy = home.root / "vaults" / "grace" / "copy.md"
    for path in (home.root / "vaults" / "shared" / "kettle.md", copy):
        path.write_text("The kettle leaks.\n")
    djinn.rate(useful=["shared:kettle.md"], agent="finn")
    djinn.rate(useful=["grace:copy.md"], agent="grace")
    before = djinn.scores.show("kettle", agent="finn")
    copy.unlink()
    djinn.index()
    after = djinn.scores.show("kettle", agent="finn")
    assert [score.record.useful for score in after.scores] == [1]
    assert after.scores[0].agents == before.scores[0].agents


def test_who_shares_a_value_learns_nothing_of_the_other(djinn: Djinn) -> None:
    for name in ("finn", "grace", "hal"):
        add_agent(djinn.home, name)
    djinn.working.set("plan", "swim", agent="finn")
    with pytest.raises(NotFound) as caught:
        djinn.working.share("plan", "nobody", agent="finn")
    assert "hal" not in str(caught.value) and "grace" not in str(caught.value)
    djinn.working.share("plan", "grace", agent="finn")
    assert djinn.working.get("plan", agent="grace").value == "swim"
    for _ in range(2):
        # Whether she has read it, or forgotten it.
        assert djinn.working.share("plan", "grace", agent="finn").replaced is None
        djinn.working.clear(agent="grace")


def test_a_purge_takes_no_words_of_who_could_not_read_the_memory(djinn: Djinn) -> None:
    text = "Who lit the lamp of the pier?"
    for name in ("finn", "grace"):
        add_agent(djinn.home, name)
    djinn.gaps.report(text, agent="finn")
    djinn.working.set("plan", text, agent="finn")
    djinn.working.set("copy", text, agent="grace")
    djinn.working.share("copy", "finn", agent="grace")

    def kept() -> tuple[str, list[str]]:
        [group] = djinn.gaps.list(agent="finn").groups
        values = djinn.working.list(all=True, agent="finn").values
        return group.gaps[0].description, [value.key for value in values]

    djinn.remember("lesson", "Lamp", text, agent="grace", force=True)
    assert djinn.memories.purge("Lamp", agent="grace").purged
    # What she handed over goes.
    assert kept() == (text, ["plan"])
    djinn.remember("lesson", "Lamp", text, shared=True, agent="grace", force=True)
    assert djinn.memories.purge("Lamp", agent="grace").purged
    assert kept() == ("(purged)", [])


def test_a_purge_counts_nothing_of_another_agent(djinn: Djinn) -> None:
    """Her note with the same text, her questions and her values."""
    text = "The lantern is dark since Tuesday."
    for name in ("finn", "grace"):
        add_agent(djinn.home, name)

    def purged() -> PurgeReport:
        djinn.remember("lesson", "Lantern", text, agent="finn", force=True)
        djinn.recall("lantern", agent="finn")
        djinn.index()
        return djinn.memories.purge("finn:lessons/lantern.md", agent="finn")

    reports = [purged()]
    djinn.remember("lesson", "Lantern", text, agent="grace")
    djinn.working.set("plan", text, agent="grace")
    djinn.gaps.report(text, agent="grace")
    djinn.recall("lantern", agent="grace")
    reports.append(purged())
    first, second = (replace(report, id=None) for report in reports)
    assert first == second and first.vectors == 1
    assert djinn.search("lantern", mode="meaning", agent="grace").hits
