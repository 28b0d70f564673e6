"""The summary that `wake` puts first."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from tests.servers import ModelServer

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def known(djinn: Djinn) -> None:
    djinn.facts.set("anna", "city", "Warsaw\nby the river")
    djinn.facts.set("anna", "age", "44", source="guess")
    djinn.facts.set("door", "password", "hunter22", allow_secret=True)
    then = datetime(2020, 1, 1, tzinfo=UTC)
    long_ago = Djinn(djinn.home, clock=lambda: then)
    long_ago.facts.set("anna", "guest", "gone by now", expires="2d")
    long_ago.close()
    djinn.remember("preference", "Mornings free", "No meetings before ten.")
    djinn.remember("project", "Old mole", "Over.", fields={"status": "done"})
    djinn.remember("project", "Harbourlight", "A lamp for the mole.")
    djinn.remember("commitment", "Send the plan", "To Maren.", due="2026-05-01")


BUILT = """\
## Facts

- anna: age: 44 (unsure); city: Warsaw by the river
- door: password: hu****

## Preferences

- [[Mornings free]]: No meetings before ten.

## Active projects

- [[Harbourlight]]: A lamp for the mole.

## Open commitments

- [[Send the plan]] (due 2026-05-01): To Maren."""


def test_a_summary_is_built_the_same_each_time(home: Home, djinn: Djinn) -> None:
    with pytest.raises(NotFound, match="nothing to build"):
        djinn.summary.build()
    with pytest.raises(NotFound, match="no summary yet"):
        djinn.summary.show()
    known(djinn)
    done = Djinn(home, clock=lambda: NOW).summary.build()
    assert (done.action, done.summary.path, done.summary.by) == (
        "created", "summaries/summary.md", "djinn",
    )  # fmt: skip
    assert djinn.summary.show().text == BUILT
    assert djinn.summary.build().action == "unchanged"
    awake = djinn.wake()
    assert awake.summary and awake.summary.title == "Summary"
    djinn.facts.set("anna", "city", "Oslo")
    again = djinn.summary.build()
    assert again.action == "revised" and "city: Oslo" in djinn.summary.show().text
    before = home.root / "vaults" / "me" / (again.previous or "")
    assert "Warsaw" in before.read_text()


def test_what_a_hand_wrote_stays(home: Home, djinn: Djinn) -> None:
    known(djinn)
    djinn.summary.build()
    note = home.root / "vaults" / "me" / "summaries" / "summary.md"
    note.write_text(note.read_text() + "\nAnd mine.\n")
    with pytest.raises(Refused, match="written by hand; pass `force=True` to replace"):
        djinn.summary.build()
    assert djinn.summary.show().by == "hand"
    done = djinn.summary.build(force=True)
    assert done.action == "revised" and djinn.summary.show().text == BUILT
    assert djinn.summary.set("Anna keeps bees.").action == "revised"
    assert djinn.summary.set(" Anna keeps bees.\n").action == "unchanged"
    with pytest.raises(Refused):
        djinn.summary.build()
    with pytest.raises(UsageError):
        djinn.summary.set(" \n")
    with pytest.raises(Refused, match="password"):
        djinn.summary.set("The password is hunter22.")
    assert djinn.summary.show().text == "Anna keeps bees."
    add_agent(home, "ben")
    with pytest.raises(NotFound):
        Djinn(home).summary.show(agent="ben")


def test_another_note_of_that_name_is_not_written_over(home: Home, djinn: Djinn) -> None:
    (home.root / "vaults" / "me" / "Summary.md").write_text("My book.\n")
    with pytest.raises(
        Refused, match=r"me/Summary\.md has the title 'Summary' but is not a summary"
    ):
        djinn.summary.set("Another.")


def test_a_model_writes_it_where_one_is_set(home: Home, server: ModelServer, keys: None) -> None:
    server.reply = "<think>hm</think>Anna lives in Warsaw; the password is hunter22."
    home.edit((("llm", "model"), "m"), (("llm", "url"), f"{server.url}/v1"))
    home.trust(home.untrusted)
    djinn = Djinn(home)
    known(djinn)
    assert djinn.summary.build().summary.by == "model"
    assert djinn.summary.show().text == "Anna lives in Warsaw; the password is hu****."
    assert "hunter22" not in str(server.asked)
    server.mood = "no text"
    done = djinn.summary.build()
    assert done.summary.by == "djinn" and djinn.summary.show().text == BUILT
    assert [one.what for one in done.problems] == ["llm"]
