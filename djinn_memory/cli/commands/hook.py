"""djinn hook install, remove, status. `cli.start` runs `djinn hook` itself, for each event."""

from __future__ import annotations

from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, say_verbatim, talk
from djinn_memory.memories.hooks.requests import (
    HookSettings,
    HookState,
    InstallHooks,
    RemoveHooks,
)
from djinn_memory.system.plural import count


def _install(call: Call) -> HookSettings:
    from djinn_memory.memories.hooks.installation import install

    return install(call.djinn.home, call.request)


@command("hooks.install", request=InstallHooks, arguments=("client",), run=_install)
def install(call: Call, answer: HookSettings) -> None:
    """Let Claude Code or Codex record its sessions in this home.

    The client then calls djinn for each prompt, tool call and answer, and starts a session with the
    context of `djinn wake`. The home and the agent are fixed here: the folder in which the client
    works does not matter. Everything else in the settings of the client stays as it is.

    Examples:
        djinn hook install claude
        djinn hook install codex --agent finn
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


def _remove(call: Call) -> HookSettings:
    from djinn_memory.memories.hooks.installation import uninstall

    return uninstall(call.request)


@command("hooks.remove", request=RemoveHooks, arguments=("client",), run=_remove)
def remove(call: Call, answer: HookSettings) -> None:
    """Remove djinn's hooks from the settings of Claude Code or Codex.

    What was recorded stays.

    Examples:
        djinn hook remove claude
        djinn hook remove codex --project
    """
    if answer.action == "none":
        talk(clean(f"There are no hooks of djinn in {answer.path}."))
    else:
        say(clean(f"removed  {answer.path}"))


def _status(call: Call) -> HookState:
    from djinn_memory.memories.hooks.installation import hook_state

    return hook_state(call.djinn.home)


@command("hooks.status", run=_status)
def status(call: Call, answer: HookState) -> None:
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
