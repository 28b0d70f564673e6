"""Ordinary talk: clauses, who they are about, times, forms, and the meaning of the rest."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.sessions.extraction import talk
from djinn_memory.memories.sessions.extraction.claims import LONGEST, Claim, sentences
from djinn_memory.memories.sessions.extraction.clauses import clauses
from djinn_memory.memories.sessions.extraction.meaning import Meaning, prototypes
from djinn_memory.memories.sessions.extraction.rules import settled, told_in
from djinn_memory.memories.sessions.extraction.spoken_times import dated
from tests.memories.sessions.extraction.reading import claims_in

WEDNESDAY = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def shown(claim: Claim) -> tuple[str, str, str, str | None]:
    return claim.type, claim.category, claim.text, claim.due


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I'm vegetarian.", [("fact", "user", "I'm vegetarian", None)]),
        ("I am allergic to peanuts.", [("fact", "user", "I am allergic to peanuts", None)]),
        ("I work for Loftly as a backend engineer.",
         [("fact", "user", "Loftly", None), ("fact", "user", "a backend engineer", None)]),
        ("My new number is 0171 555 0199.", [("fact", "user", "0171 555 0199", None)]),
        ("My budget is 900 euros.", [("fact", "user", "900 euros", None)]),
        ("I'll call Ola next Tuesday at 11.",
         [("commitment", "", "I'll call Ola on 2026-03-10 at 11", "2026-03-10")]),
        ("I always want tests with pytest.",
         [("preference", "", "I always want tests with pytest", None)]),
        ("Don't suggest AWS.", [("preference", "", "Don't suggest AWS", None)]),
        ("I hate early flights.", [("preference", "", "I hate early flights", None)]),
        ("Let's go with XML first.", [("decision", "", "Let's go with XML first", None)]),
        ("The team agreed: no deploys on Friday.",
         [("decision", "", "The team agreed: no deploys on Friday", None)]),
        ("Lesson for next time: test on staging first.",
         [("lesson", "", "Test on staging first", None)]),
        ("Remind me that my passport expires in July 2026.",
         [("commitment", "", "My passport expires in July 2026", "2026-07-31")]),
        ("My manager is Tomasz Wilk, and Hannah does the frontend.",
         [("fact", "user", "Tomasz Wilk", None),
          ("fact", "Hannah", "Hannah does the frontend", None)]),
    ],
)  # fmt: skip
def test_a_form_states_something_without_the_model(
    text: str, kept: list[tuple[str, str, str, str | None]]
) -> None:
    assert [shown(claim) for claim in claims_in(text, WEDNESDAY)] == kept


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Hey Anna, I moved to Oslo, and my brother stayed in Bergen!",
         [("user", "I moved to Oslo"), ("user", "my brother stayed in Bergen")]),
        ("When I was ten, we moved to Spain.", [("user", "When I was ten, we moved to Spain")]),
        ("My sister and I sold the boat - it was time.",
         [("user", "My sister and I sold the boat")]),
        ("Lost my job yesterday.", [("user", "I lost my job yesterday")]),
        ("The staging server is called kestrel.",
         [("staging server", "The staging server is called kestrel")]),
        ("It was great, they loved it.", []),
        ("Swimming is fun.", []),
    ],
)  # fmt: skip
def test_a_clause_has_a_subject(text: str, parts: list[tuple[str, str]]) -> None:
    found = [(each.who, each.text) for sentence in sentences(text) for each in clauses(sentence)]
    assert found == parts


@pytest.mark.parametrize(
    ("text", "coming", "written"),
    [
        ("I ran a race last Saturday", False, "I ran a race on 2026-02-28"),
        ("I met her two days ago", False, "I met her on 2026-03-02"),
        ("I moved last month", False, "I moved in 2026-02"),
        ("The trip is next week", True, "The trip is in the week of 2026-03-09"),
        ("I fly on 14 May", True, "I fly on 2026-05-14"),
        ("I fly in July 2027", True, "I fly in July 2027"),
        ("I swim every Sunday", True, "I swim every Sunday"),
        ("I saw Ann the other day", False, "I saw Ann the other day"),
        ("We loved the summer break", False, "We loved the summer break"),
        ("I may come", False, "I may come"),
        ("I was born on 3 June 1988", False, "I was born on 1988-06-03"),
        ("We came here in May 1931", False, "We came here in May 1931"),
        ("The dome is due in May 99999", True, "The dome is due in May 99999"),
        ("We close on Friday afternoons", False, "We close on Friday afternoons"),
        ("We close on Friday afternoon", True, "We close on 2026-03-06"),
    ],
)
def test_relative_times_become_dates(text: str, coming: bool, written: str) -> None:
    assert dated(text, WEDNESDAY.date(), coming=coming)[0] == written


def test_a_rule_holds_on_every_such_weekday() -> None:
    today = date(2026, 3, 4)
    assert dated("No calls on Friday", today, coming=True, general=True)[0] == "No calls on Friday"


STATED = "I keep bees. My aunt sings in a choir here. I collect stamps from Peru."


def test_a_letter_that_only_looks_like_one_of_a_day_stays() -> None:
    today = WEDNESDAY.date()
    assert dated("Lunch last Fr\u0131 and last Sun.", today, coming=False)[0] == (
        "Lunch last Fr\u0131 and 2026-03-01"
    )
    assert dated("Lunch last Thur\u017f", today, coming=False)[0] == "Lunch on 2026-02-26"


def test_meaning_decides_on_what_has_no_form() -> None:
    told = [*told_in(STATED, WEDNESDAY)]
    unclear = [each for each in told if each.meaning]
    assert len(unclear) == 3 and not any(each.formed for each in unclear)
    scores = (talk.SURE, talk.MAYBE, talk.SURE - 0.01)
    bees, stamps = settled(told, [Meaning(score, "fact") for score in scores])
    assert (bees.title, bees.text, bees.sure) == ("user/keep bees", "I keep bees", True)
    assert (stamps.text, stamps.sure) == ("I collect stamps from Peru", False)
    assert settled(told, [Meaning(-1.0, "fact")] * 3) == []
    assert settled(told, None) == []


@pytest.mark.parametrize(
    "text",
    [
        "You keep bees.", "If I had time I would keep bees.", "Maybe I will keep bees.",
        "As a beekeeper, I want to log my hives.", "The hero of the story keeps bees.",
        "Example: I keep bees.", "Do I keep bees?", "I love it.", "I put them there.",
        "I keep \u202egnp bees.", "I keep \x9b31m bees.", "I keep \u2066bees.",
    ],
)  # fmt: skip
def test_suppositions_and_others_words_are_not_compared(text: str) -> None:
    assert [*told_in(text, WEDNESDAY)] == []


def test_each_prototype_has_a_type() -> None:
    kinds = {"fact", "event", "preference", "decision", "commitment", "lesson", "nothing"}
    assert {kind for kind, _ in prototypes()} == kinds
    texts = [text for _, text in prototypes()]
    assert len(set(texts)) == len(texts) and all(texts)


WORDS = (
    "I", "we", "my", "Anna", "and", "but", "because", "-", ",", ";", "when", "it", "'s", "(", ")",
    "yesterday", "next", "Friday", "moved", "to", "is", "going", "you", ".", "don't", "if",
)  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_words_are_read(words: list[str]) -> None:
    for told in told_in(" ".join(words), WEDNESDAY):
        assert told.claim.text and len(told.claim.text) <= LONGEST + 60
        assert told.claim.title or not told.formed
