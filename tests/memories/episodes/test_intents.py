from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.episodes.intents import find_intents
from tests.growth import assert_linear


@pytest.mark.parametrize(
    ("message", "intents"),
    [
        ("Create a ticket for the leak.", {"create"}),
        ("Please add Oslo to the list of ports.", {"create"}),
        ("Could you write a short summary?", {"create", "question"}),
        ("I've just booked the room.", {"create"}),
        ("Rename the branch to tides.", {"update"}),
        ("Can you please move the meeting to Tuesday?", {"update", "question"}),
        ("The address was changed yesterday.", {"update"}),
        ("We finished the report.", {"complete"}),
        ("Mark the second task as done.", {"complete"}),
        ("The order has been shipped.", {"complete"}),
        ("Cancel my booking, and remove the card.", {"delete"}),
        ("Let's get rid of the old logs.", {"delete"}),
        ("Don't forget to delete the draft.", {"delete"}),
        ("- close the window\n- update the chart", {"complete", "update"}),
        ("What is the chart datum", {"question"}),
        ("Is it deep enough?", {"question"}),
        # A verb in the middle of a story is nobody's request.
        ("The tide will create a bar at the mouth.", set()),
        ("He told a story in which a king would delete a town.", set()),
        ("The weather is fine today.", set()),
        ("See https://example.org/?q=delete", set()),
        ("The call is `delete(x)?`", set()),
        ("", set()),
    ],
)  # fmt: skip
def test_what_a_message_wants(message: str, intents: set[str]) -> None:
    assert set(find_intents(message)) == intents


@given(st.text(max_size=300))
def test_any_text(message: str) -> None:
    intents = find_intents(message)
    assert len(set(intents)) == len(intents)


@pytest.mark.soak
@pytest.mark.parametrize("unit", ["please ", "I have ", "ok, so ", "is now ", "\n- ", "?", "``` "])
def test_a_hostile_message_costs_no_more_than_its_length(unit: str) -> None:
    assert_linear(lambda size: find_intents(unit * size), 50_000)
