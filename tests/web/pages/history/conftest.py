"""The shared server with a conversation, a memory from it, and a pattern."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from tests.web.pages.conftest import Place

HOSTILE = "<script>document.title = 'owned'</script>"

PATTERN = """---
title: Checks the lamp around 9
type: pattern
category: behavioural
status: active
habit: true
confidence: 0.8
weekdays: [friday]
hours: [9]
support: 2
evidence_count: 2
evidence: ["[[{}]]"]
---
Checks the lamp, {}.
"""


@dataclass
class Past:
    """The names of what was recorded, in a place."""

    place: Place
    session: str
    turns: tuple[str, ...]
    """The ids of the turns."""


@pytest.fixture(scope="module")
def past(place: Place) -> Past:
    with Djinn(Home(place.home.root)) as djinn:
        said = ("I prefer trains to planes.", HOSTILE, "x" * 3000)
        turns = [
            djinn.episodes.record_interaction(
                message=message, response="Noted.", session="the dig/1", channel="cli",
                context={"tool": HOSTILE}, at=f"2026-03-06T09:1{number}",
            )
            for number, message in enumerate(said)
        ]  # fmt: skip
        link = f"{turns[0].path.removesuffix('.md')}#^{turns[0].block}"
        text = PATTERN.format(link, HOSTILE)
        (place.home.root / "vaults" / "me" / "habit.md").write_text(text)
        djinn.sessions.start("the dig/1")
        djinn.checkpoint("Half of the trench is dug.", session="the dig/1")
        add_agent(djinn.home, "grace")
    return Past(place, "/session/the%20dig/1", tuple(str(turn.id) for turn in turns))
