"""djinn mcp, and djinn hook install, remove, status: connections to the clients of agents.

`cli.start` runs `djinn hook` itself, for each event.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from djinn_memory.cli.command import Call, NoRequest, command
from djinn_memory.cli.output import clean, say, say_verbatim, talk
from djinn_memory.errors import Unavailable
from djinn_memory.home.server import address_of
from djinn_memory.mcp.client_config import NAME, ClientName, client_config
from djinn_memory.memories.hooks import requests
from djinn_memory.search.narrowing import AgentName
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.home.home import Home


def _run_install(call: Call) -> requests.HookSettings:
    from djinn_memory.memories.hooks.installation import install

    return install(call.djinn.home, call.request)


@command("hooks.install", request=requests.InstallHooks, arguments=("client",), run=_run_install)
def _install(call: Call, answer: requests.HookSettings) -> None:
    """Let Claude Code, Codex, Gemini CLI or Windsurf record its sessions in this home.

    The client then calls djinn for each prompt, tool call and answer, and starts a session with the
    context of `djinn wake`. The home and the agent are fixed here: the folder in which the client
    works does not matter. Everything else in the settings of the client stays as it is.

    Examples:
        djinn hook install claude
        djinn hook install gemini --agent finn
        djinn hook install claude --project --print
    """
    if answer.text is not None:
        say_verbatim(answer.text.removesuffix("\n"))
        talk(f"This would be {clean(str(answer.path))}. Nothing was written.")
        return
    say(clean(f"{answer.action}  {answer.path}"))
    say(clean(f"events     {', '.join(answer.events)}"))
    say(clean(f"home       {call.djinn.home.root}"))
    if answer.note and answer.action != "unchanged":
        talk(answer.note)


def _run_remove(call: Call) -> requests.HookSettings:
    from djinn_memory.memories.hooks.installation import uninstall

    return uninstall(call.request)


@command("hooks.remove", request=requests.RemoveHooks, arguments=("client",), run=_run_remove)
def _remove(call: Call, answer: requests.HookSettings) -> None:
    """Remove djinn's hooks from the settings of a client.

    Recorded episodes stay.

    Examples:
        djinn hook remove claude
        djinn hook remove codex --project
    """
    if answer.action == "none":
        talk(clean(f"There are no hooks of djinn in {answer.path}."))
    else:
        say(clean(f"removed  {answer.path}"))


def _run_status(call: Call) -> requests.HookState:
    from djinn_memory.memories.hooks.installation import hook_state

    return hook_state(call.djinn.home)


@command("hooks.status", run=_run_status)
def _status(call: Call, answer: requests.HookState) -> None:
    """Show installed hooks, and events that are recorded but not taken in.

    The next command that reads memories takes events in, and so do `djinn index` and `djinn watch`.
    A prompt waits for its answer until the next prompt, the end of the session, or a day later.

    Examples:
        djinn hook status
        djinn hook status --json
    """
    for hook in answer.hooks:
        home = "this home" if hook.here else hook.home
        events = count(len(hook.events), "event")
        say(clean(f"{hook.client}  {hook.path}  {events}, agent {hook.agent}, {home}"))
        if hook.fault:
            say(clean(f"  does not work: {hook.fault}"))
    for line in answer.unreadable:
        say(clean(f"unreadable  {line}"))
    if not answer.hooks:
        say("No hooks are installed.")
    last = f", last {answer.last_event} at {answer.last}" if answer.last else ""
    say(clean(f"waiting  {count(answer.entries, 'event')}, {answer.bytes:,} bytes{last}"))
    losses = {
        "refused": (answer.refused, "the spool was full"),
        "skipped": (answer.skipped, "not readable"),
        "cut": (answer.cut, "recorded without the end of long texts"),
        "rejected": (answer.rejected, "kept in rejected.jsonl"),
    }
    for name, (number, why) in losses.items():
        if number:
            say(f"{name}  {count(number, 'event')}: {why}")
    if answer.full:
        say("The spool is full. Run `djinn index` to take it in.")
    if answer.reason:
        say(clean(f"last reason  {answer.reason}"))


class _ServeAgents(Struct, frozen=True):
    """How to serve the memory to agents."""

    agent: AgentName = None
    read_only: Annotated[bool, Meta(description="Leave out the tools that write.")] = False
    print_config: Annotated[
        ClientName | None,
        Meta(
            description="Print the settings for a client, and on stderr where to put them. "
            "Start no server."
        ),
    ] = None


def _serve(call: Call) -> None:
    djinn, request = call.djinn, call.request
    if request.print_config:
        _print_config(djinn.home, request.print_config, request)
        return
    if find_spec("mcp") is None:
        raise Unavailable("the Python package mcp is missing; reinstall djinn-memory")
    _end_by_signal()
    from djinn_memory.operations.caller import Caller

    caller = Caller(djinn.home.agent(request.agent), read_only=request.read_only)
    if sys.stdin.isatty():
        talk("Normally started by an MCP client. Press Ctrl-C to stop.")
    from djinn_memory.mcp.server import serve_stdio

    serve_stdio(djinn.home, caller)


def _print_config(home: Home, client: ClientName, request: _ServeAgents) -> None:
    agent = home.agent(request.agent)
    block = client_config(client, home, agent, read_only=request.read_only)
    say_verbatim(block.text.removesuffix("\n"))
    talk(f"{block.place} If the file has settings already, add the entry `{NAME}` to them.")
    address = f"{address_of(home)}mcp"
    talk(f"Clients that connect over HTTP use {address} with a key of `djinn key add NAME`.")


@command("mcp", request=_ServeAgents, prints=NoRequest, run=_serve)
def _mcp(call: Call, answer: Struct) -> None:
    """Serve this memory to agents over the Model Context Protocol.

    An MCP client starts this command and talks to it over stdin and stdout. The agent is fixed
    here: the client sees that agent's own vault and the shared vaults, whatever it requests.
    Clients that connect over HTTP use `djinn serve`.

    Examples:
        djinn mcp
        djinn mcp --agent finn --read-only
        djinn mcp --print-config claude > .mcp.json
    """


def _end_by_signal() -> None:
    """End at once and without a message on Ctrl-C and SIGTERM.

    The writes of a call are complete.
    """
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
