"""What says nearly the same is not written twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, init
from djinn_memory.memories.writing.duplicates import likeness, numbers

STACK = "The shop runs on FastAPI with PostgreSQL behind it; Django was considered and rejected."


@pytest.fixture(params=["auto", "hashing", "none"])
def any_home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    made, _ = init(tmp_path / "home")
    made.edit((("embedding", "provider"), request.param))
    return made


def test_the_same_under_another_title_is_refused_and_shown(any_home: Home) -> None:
    djinn = Djinn(any_home)
    done = djinn.remember("decision", "Tech stack of the shop", STACK)
    with pytest.raises(Refused, match=f"me/{done.path}.*{done.id}.*force=True"):
        djinn.remember("lesson", "What the shop is made of", STACK)
    forced = djinn.remember("lesson", "What the shop is made of", STACK, force=True)
    assert forced.action == "created"


def test_the_same_in_other_words_is_written_and_proposed_as_a_merge(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home")
    with Djinn(home) as djinn:
        djinn.remember("decision", "Tech stack of the shop", STACK)
        djinn.remember(
            "decision", "The shop's tech stack",
            "The shop runs on FastAPI and PostgreSQL; we considered Django and rejected it.",
        )  # fmt: skip
        djinn.remember("decision", "Hosting", "The shop is hosted by Ada on one machine.")
        assert djinn.review.list().items == ()
    with Djinn(home) as djinn:
        assert djinn.search("which framework", mode="meaning").unembedded == 0
        [proposal] = djinn.review.list().items
        titles = {subject.title for subject in proposal.subjects}
        assert (proposal.kind, titles) == (
            "merge", {"Tech stack of the shop", "The shop's tech stack"},
        )  # fmt: skip
        # Decided once, it is not proposed by the next search either.
        djinn.review.dismiss([proposal.id])
        djinn.search("which framework")
        assert djinn.review.list().items == ()


def test_a_note_of_another_day_is_the_same_all_the_same(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home")
    (home.root / "vaults" / "me" / "old.md").write_text(
        f"---\ntitle: Tech stack of the shop\ndate: 2019-03-04\n---\n{STACK}\n"
    )
    djinn = Djinn(home)
    djinn.index()
    with pytest.raises(Refused, match=r"old\.md"):
        djinn.remember("decision", "Tech stack of our shop", STACK.replace("rejected", "dropped"))


def test_another_number_is_another_thing(any_home: Home) -> None:
    djinn = Djinn(any_home)
    text = "The staging server of the shop listens on port {} and nothing else does there."
    djinn.remember("fact", "Port of staging", text.format(8080))
    assert djinn.remember("fact", "Port of testing", text.format(9090)).action == "created"


def test_a_number_in_the_title_makes_the_same_text_no_other(any_home: Home) -> None:
    djinn = Djinn(any_home)
    text = "## Nightly\n\nThe backup of 2 disks runs at night; nobody has to be there for it."
    djinn.remember("plan", "Backup plan", text)
    with pytest.raises(Refused, match=r"plans/backup-plan\.md says nearly the same"):
        djinn.remember("plan", "Backup plan 2026", text.replace(" runs", "\nRUNS"))
    other = text.replace("at night", "at noon, and on every one of them")
    assert djinn.remember("plan", "Backup plan 2027", other).action == "created"


def test_what_another_agent_knows_and_what_was_superseded_do_not_count(any_home: Home) -> None:
    add_agent(any_home, "finn")
    djinn = Djinn(any_home)
    djinn.remember("decision", "Stack", STACK, agent="finn")
    first = djinn.remember("decision", "Stack of the shop", STACK)
    djinn.remember("decision", "Another stack", "Something else altogether.", supersedes=first.id)
    djinn.remember("decision", "Old stack again", STACK)


def test_what_is_superseded_by_a_text_like_it_does_not_refuse_it(any_home: Home) -> None:
    djinn = Djinn(any_home)
    first = djinn.remember("decision", "Stack of the shop", STACK)
    again = djinn.remember("decision", "The shop's stack", STACK, supersedes=first.id)
    assert again.action == "created"


def test_short_texts_are_alike_with_their_titles_only(any_home: Home) -> None:
    djinn = Djinn(any_home)
    djinn.remember("preference", "Tabs in Python", "Never.")
    assert djinn.remember("preference", "Meetings before ten", "Never.").action == "created"


@given(st.text(max_size=80), st.text(max_size=80))
def test_likeness_is_a_share_the_same_both_ways(one: str, other: str) -> None:
    assert 0 <= likeness(one, other) <= 1
    assert likeness(one, other) == likeness(other, one)
    assert likeness(one, one) in (0.0, 1.0)


def test_words_with_digits() -> None:
    assert numbers("Port 8080 of v2, and 8080") == {"8080", "v2"}
