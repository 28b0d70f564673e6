"""djinn agent add, list, profile, set, unset, remove."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, place, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.profiles import requests

if TYPE_CHECKING:
    from djinn_memory.memories.profiles.requests import AgentProfile


class _AddAgent(Struct, frozen=True):
    """Add an agent, with a personal vault."""

    name: Annotated[str, Meta(description="Letters, digits, '.', '-' and '_'.")]


class _AddedAgent(Struct, frozen=True):
    """The result of adding an agent."""

    agent: str
    """The name of the agent."""
    made: Sequence[str]
    """The folders that were created, relative to the home."""


class _RemoveAgent(Struct, frozen=True):
    """Remove an agent from the settings."""

    name: Annotated[str, Meta(description="An agent.")]
    trash_vault: Annotated[
        bool, Meta(description="Move the folder of the agent's vault to `.trash/` in the home.")
    ] = False


class _RemovedAgent(Struct, frozen=True):
    """An agent that was removed."""

    agent: str
    """The name of the agent."""
    removed: bool
    """Whether it was removed; false if the user declined."""
    vault: Path | None
    """The current folder of its notes; null if it had none."""
    default: str
    """The agent that commands now use without `--agent`."""


def _run_add(call: Call) -> _AddedAgent:
    from djinn_memory.home import setup

    name = call.request.name
    return _AddedAgent(name, setup.add_agent(call.djinn.home, name))


@command("agents.add", request=_AddAgent, arguments=["name"], run=_run_add)
def _add(call: Call, answer: _AddedAgent) -> None:
    """Add an agent, with a personal vault.

    Examples:
        djinn agent add grace
    """
    path = call.djinn.home.config.vaults[answer.agent].path
    say(f"{answer.agent}: {path}" + ("" if answer.made else " (existed)"))


def _run_remove(call: Call) -> _RemovedAgent:
    from djinn_memory.home import access, setup
    from djinn_memory.sync import server
    from djinn_memory.sync.session import locked

    home, name = call.djinn.home, call.request.name
    agent = home.agent(name)
    setup.check_removal(home, agent)
    own = access.own_vault(home.vaults, agent)
    folder = own.root if own else None
    fate = "are moved to the trash of the home" if call.request.trash_vault else "are kept"
    about = (
        f"{agent}: its notes {fate} ({folder or 'it has none'}). The ledger keeps its events. "
        f"A server that runs for {agent} refuses every call from that point on."
    )
    shared = own and server.goes_to_server(home, own)
    if shared:
        about += " The Postgres server deletes its copy."
    if not call.confirmed("Remove the agent?", about):
        return _RemovedAgent(agent, False, folder, home.agent(None))
    with ExitStack() as stack:
        if own and shared:
            stack.enter_context(locked(home))
            server.remove_from_server(home, own)
        trashed = setup.remove_agent(home, agent, trash=call.request.trash_vault)
    return _RemovedAgent(agent, True, trashed or folder, home.agent(None))


@command(
    "agents.remove",
    request=_RemoveAgent,
    arguments=["name"],
    fields={"name": Field(complete=candidates.agents)},
    view=Confirm,
    run=_run_remove,
)
def _remove(call: Call, answer: _RemovedAgent) -> None:
    """Remove an agent from the settings. Its notes are kept.

    The ledger keeps its events, and values in working memory expire by themselves. A `djinn mcp`
    that runs for the agent refuses every call from that point on: remove it from its client too.
    `djinn agent add` brings the agent back with the notes that are in its folder. If its vault is
    listed in `sync.vaults`, its copy on the Postgres server is deleted.

    Examples:
        djinn agent remove grace
        djinn agent remove grace --trash-vault --yes
    """
    if not answer.removed:
        talk("nothing was removed")
        return
    say(f"removed {answer.agent}; the default agent is {answer.default}")
    if answer.vault:
        say(f"its notes are in {clean(str(answer.vault))}")


@command("agents.profile")
def _profile(call: Call, answer: requests.ProfileView) -> None:
    """Show the profile of an agent: identity, rules, projects, working hours.

    The profile is the note `profile.md` in the vault of the agent. You may edit it by hand. `djinn
    wake` and `djinn context` show it.

    Examples:
        djinn agent profile
        djinn agent profile grace --json
    """
    from djinn_memory.memories.profiles.agenda import event_text

    if answer.profile is None:
        say(f"{answer.agent} has no profile; for example: djinn agent set voice brief")
    else:
        _print_profile(answer.profile)
    for event in answer.calendar:
        say(clean(f"today: {event_text(event).removeprefix('- ')}"))


KEY = Field("KEY", lambda ctx: [*get_args(requests.ProfileKeyName)])


@command("agents.set", fields={"key": KEY, "values": Field("VALUE")})
def _set(call: Call, answer: requests.ProfileChange) -> None:
    """Set a key in the profile of an agent.

    identity: who the agent is. voice: brief, detailed, spoken, or an instruction. rules: rules to
    follow. projects: links to notes. working_hours: such as mon-fri 09:00-17:00. time_zone: such as
    Europe/Oslo. default_domain, default_budget and default_recall_profile: used where a command
    names none.

    Examples:
        djinn agent set identity "Keeps the log of the ferry."
        djinn agent set rules "Ask before you delete." --add
        djinn agent set working_hours "mon-fri 09:00-17:00" --agent grace
    """
    _print_profile_change(answer, call.request.key)


@command("agents.unset", fields={"key": KEY, "values": Field("VALUE")})
def _unset(call: Call, answer: requests.ProfileChange) -> None:
    """Remove a key from the profile of an agent, or some of its values.

    Examples:
        djinn agent unset voice
        djinn agent unset rules "Ask before you delete." --agent grace
    """
    _print_profile_change(answer, call.request.key)


def _print_profile_change(change: requests.ProfileChange, key: str) -> None:
    shown = change.profile
    if shown is None:
        say(f"{change.agent} has no profile")
        return
    value = getattr(shown, key)
    text = "; ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)
    say(f"{change.action} {key}: {clean(text) or 'none'} -> {place(shown)}")


def _print_profile(profile: AgentProfile) -> None:
    say(f"{clean(profile.title)}  {output.link(place(profile), profile.file)}")
    for key in get_args(requests.ProfileKeyName):
        value = getattr(profile, key)
        for text in value if isinstance(value, tuple) else () if value is None else (value,):
            say(f"{key}: {clean(str(text))}")
    if profile.working_now:
        say(f"now: {profile.working_now}")
    if profile.text:
        say(output.clean_lines(profile.text))


@command("agents.list")
def _list(call: Call, answer: requests.AgentEntries) -> None:
    """List the agents. The first one is the default.

    Examples:
        djinn agent list --json
    """
    output.columns([[agent.name, agent.vault or "-"] for agent in answer.agents])
