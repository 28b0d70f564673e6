"""The summary that `wake` puts first."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.sessions.extraction.claims import key_of
from djinn_memory.memories.sessions.summary import is_stale
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


BUILT = (
    "Anna’s city is Warsaw by the river and age is 44 (unsure). Door’s password is hu****. The "
    "preference is Mornings free (No meetings before ten). The active project is Harbourlight (A "
    "lamp for the mole). The open commitment is Send the plan (due 1 May 2026; To Maren)."
)


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
    assert again.action == "revised" and "city is Oslo" in djinn.summary.show().text
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


def talk(djinn: Djinn, *messages: str) -> None:
    turns = [
        Turn("interaction", message, "Yes.", NOW + timedelta(minutes=minute), "mole", "cli")
        for minute, message in enumerate(messages)
    ]
    record_turns(djinn.runtime, "me", turns)


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.”])\s(?=[A-Z0-9])", text)


def test_what_is_known_is_told_in_three_to_eight_sentences(djinn: Djinn) -> None:
    djinn.facts.set("user", "lives in", "Warsaw")
    assert djinn.summary.build().summary.text == (
        "The user lives in Warsaw. No preference is known. No project is active."
    )
    known(djinn)
    djinn.facts.set("user", "pronouns", "she/her")
    djinn.remember("preference", "Prefers tea over coffee", "I prefer tea over coffee.")
    djinn.remember("decision", "Two lamps", "We decided on two lamps. Maren agreed.")
    for number in range(30):
        djinn.facts.set(f"pier {number % 5}", f"berth {number}", f"boat {number}")
    talk(djinn, "Hello! Does the lamp flicker? I saw it.", "Then we are done. Thanks!", "Bye!")
    text = djinn.summary.build().summary.text
    assert len(sentences(text)) == 8
    assert text.startswith("The user lives in Warsaw; the user’s pronouns are she/her.")
    assert "The user prefers tea over coffee; the other preference is Mornings free" in text
    assert "25 more facts are known." in text
    assert "The latest decision is Two lamps (We decided on two lamps)." in text
    assert text.endswith(
        "The last conversation, on 4 March 2026, began with “Does the lamp flicker?” and ended "
        "with “Then we are done”."
    )


def test_a_fact_that_is_a_sentence_is_told_as_one(djinn: Djinn) -> None:
    for category, text in (
        ("user", "I am allergic to peanuts."),
        ("user", "My lamp was sold on 2026-02-21."),
        ("Priya", "Priya does the backend."),
    ):
        djinn.facts.set(category, key_of(category, text), text)
    djinn.facts.set("user", "home town", "Bergen")
    djinn.facts.set("Priya Nair", "likes long walks", "Priya likes long walks")
    text = djinn.summary.build().summary.text
    assert text.startswith(
        "The user’s home town is Bergen; the user said “I am allergic to peanuts” and "
        "“My lamp was sold on 2026-02-21”. Priya does the backend. Priya likes long walks."
    )


def test_a_conversation_alone_makes_no_new_summary(djinn: Djinn) -> None:
    djinn.facts.set("user", "lives in", "Warsaw")
    talk(djinn, "Hello there.")
    djinn.summary.build()
    talk(djinn, "Hello again.")
    assert not is_stale(djinn.runtime, "me")
    djinn.facts.set("user", "lives in", "Oslo")
    assert is_stale(djinn.runtime, "me")


@pytest.mark.parametrize(
    "text",
    [
        "[[Plan]] #tag `code`", "# Heading\n\n- item\n- [x] done", "</p><script>run()</script>",
        "---\ntitle: x\n---\n", "%% hidden %%", "${x} {{y}}", "!![[a|b]](c)", "\u202eabc", "”. “",
        "x" * 5000, "...", "| a | b |\n|---|---|",
    ],
)  # fmt: skip
def test_hostile_text_stays_a_part_of_a_sentence(djinn: Djinn, text: str) -> None:
    djinn.facts.set("user", "motto", text)
    djinn.remember("project", "Mole", text, force=True)
    talk(djinn, text)
    summary = djinn.summary.build().summary.text
    assert "\n" not in summary and len(summary) < 1_000
    assert not re.search(r"[\[\]#`<]", summary)
    assert djinn.summary.show().text == summary and djinn.summary.show().by == "djinn"
