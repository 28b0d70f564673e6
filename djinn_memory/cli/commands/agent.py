"""djinn agent add, list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.cli import output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import say


class AddAgent(Struct, frozen=True):
    """Add an agent, with a personal vault."""

    name: Annotated[str, Meta(description="Letters, digits, '.', '-' and '_'.")]


class AddedAgent(Struct, frozen=True):
    """An agent that the home has now."""

    agent: str
    """Its name."""
    made: Sequence[str]
    """The folders that were created, relative to the home."""


class AgentEntry(Struct, frozen=True):
    """A name that has a personal vault."""

    name: str
    """What `--agent` takes."""
    vault: str | None
    """The folder of its vault as the settings name it; null when it has none."""


class AgentEntries(Struct, frozen=True):
    """The agents of the home."""

    agents: Sequence[AgentEntry]
    """The first is the default."""


def _add(call: Call) -> AddedAgent:
    from djinn_memory.home import setup

    name = call.request.name
    return AddedAgent(name, setup.add_agent(call.djinn.home, name))


@command(request=AddAgent, arguments=["name"], run=_add)
def add(call: Call, answer: AddedAgent) -> None:
    """Add an agent, with a personal vault.

    Examples:
        djinn agent add grace
    """
    path = call.djinn.home.config.vaults[answer.agent].path
    say(f"{answer.agent}: {path}" + ("" if answer.made else " (existed)"))


def _list(call: Call) -> AgentEntries:
    config = call.djinn.home.config
    vaults = {name: vault.path for name, vault in config.vaults.items()}
    return AgentEntries([AgentEntry(name, vaults.get(name)) for name in config.agents])


@command(run=_list)
def list_(call: Call, answer: AgentEntries) -> None:
    """List the agents; the first is the default.

    Examples:
        djinn agent list --json
    """
    output.columns([[agent.name, agent.vault or "-"] for agent in answer.agents])
