"""What `djinn agent` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.models import Problem


class Agent(Struct):
    """A name that has a personal vault."""

    name: str
    """What `--agent` takes."""
    vault: str | None
    """The folder of its vault as the settings name it; null when it has none."""


class AgentAdd(Struct, tag="djinn.agent.add/1", tag_field="schema", forbid_unknown_fields=True):
    """An agent that the home has now."""

    agent: str
    """Its name."""
    made: Sequence[str]
    """What was not there before: folders, relative to the home."""
    problems: Sequence[Problem] = ()


class AgentList(Struct, tag="djinn.agent.list/1", tag_field="schema", forbid_unknown_fields=True):
    """The agents of the home."""

    agents: Sequence[Agent]
    """The first is the default."""
    problems: Sequence[Problem] = ()
