"""Outcomes are episodes, and tell how effective an action is."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.memories.patterns.requests import OutcomeResult


def record(djinn: Djinn, action: str, result: OutcomeResult, context: str | None = None) -> None:
    djinn.outcomes.record(action, result, context=context)


def test_effectiveness_by_action_and_context(djinn: Djinn) -> None:
    record(djinn, "Restart the router", "success", "at home")
    record(djinn, "restart the router", "success", "at home")
    record(djinn, "Restart  the router", "failure", "at work")
    record(djinn, "Restart the router", "partial")
    record(djinn, "Deploy", "failure")
    listed = djinn.outcomes.list()
    assert listed.total == 5
    rows = [
        (row.action, row.context, row.successes, row.partial, row.failures, row.effectiveness)
        for row in listed.actions
    ]
    assert rows == [
        ("Restart the router", None, 2, 1, 1, 0.625),
        ("Restart the router", "at home", 2, 0, 0, 1.0),
        ("Restart the router", "at work", 0, 0, 1, 0.0),
        ("Deploy", None, 0, 0, 1, 0.0),
    ]


def test_an_outcome_is_an_episode(djinn: Djinn) -> None:
    record(djinn, "Restart the router", "success", "at home")
    [episode] = djinn.episodes.list().episodes
    assert (episode.type, episode.title) == ("outcome", "Restart the router (at home): success")


@pytest.mark.parametrize("action", ["", " ", "\n", "..."])
def test_an_outcome_has_an_action(djinn: Djinn, action: str) -> None:
    with pytest.raises(UsageError, match="write the action in a few words"):
        record(djinn, action, "success")
    assert djinn.episodes.list().total == 0
