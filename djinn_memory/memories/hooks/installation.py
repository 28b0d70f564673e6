"""Installs hooks in the settings of a client, finds them there, and removes them.

Claude Code reads hooks from `settings.json` in `~/.claude` (or `CLAUDE_CONFIG_DIR`), and in the
folder `.claude` of a project from `settings.local.json`, which is not shared, and `settings.json`,
which is: https://code.claude.com/docs/en/hooks. Codex reads `hooks.json`, which has the same form,
in `~/.codex` (or `CODEX_HOME`), and in the folder `.codex` of a project:
https://developers.openai.com/codex/hooks. Gemini CLI reads the same form with other events and
milliseconds from `settings.json` in `~/.gemini`, and in the folder `.gemini` of a project:
https://geminicli.com/docs/hooks/reference. Windsurf reads a list of commands for each event from
`hooks.json` in `~/.codeium/windsurf`, and in the folder `.windsurf` of a project:
https://docs.windsurf.com/windsurf/cascade/hooks. OpenCode has no hooks that run a program.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.memories.hooks import requests
from djinn_memory.memories.hooks.payloads import CLIENTS
from djinn_memory.memories.hooks.spool import Spool
from djinn_memory.notes.dates import moment
from djinn_memory.system.files import create, expand, make_folder, read_regular, revise
from djinn_memory.system.json_edit import UnspliceableJsonError, append, parse, remove

TIMEOUT = 10
"""Seconds after which a client ends a hook. A hook takes milliseconds, and a wake at most 5 s."""

END_TIMEOUT = 2
"""The same for SessionEnd. Claude Code gives these hooks 1.5 s unless they name more, Codex 3 s."""

UNSHARED = "Keep the file out of a shared repository: it has paths of this machine."
"""The warning for hooks that are in the settings of a project."""

_OURS = re.compile(r"\bdjinn(?:_memory|\.exe)?[\"']* hook .*--client[ =]")

_EMPTY = "{}\n"


class _HookClient(Struct, frozen=True):
    """Where and for which events a client calls hooks."""

    folder: str
    """The name of its folder, in the user's folder and in a project."""
    file: str
    events: tuple[str, ...]
    note: str
    variable: str = ""
    """The environment variable that names another folder than the user's, if there is one."""
    in_project: str = ""
    """The file in a project, if it is another one. The hooks name paths of this machine, so it is
    no file that is shared."""
    timeout_unit: int = 1
    """The number of timeout units in a second."""
    grouped: bool = True
    """Whether the hooks of an event are in groups, and each has a type and a timeout."""


HOOK_CLIENTS = {
    "claude": _HookClient(
        ".claude",
        "settings.json",
        (
            "SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "PostCompact",
            "SessionEnd",
        ),
        "Sessions that start from now on are recorded.",
        variable="CLAUDE_CONFIG_DIR",
        in_project=".claude/settings.local.json",
    ),
    # Codex does not send the summary of a compaction.
    "codex": _HookClient(
        ".codex",
        "hooks.json",
        ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"),
        "Codex runs new hooks only after you trust them: start it and open /hooks. Older versions "
        "need `codex_hooks = true` under [features] in config.toml, too.",
        variable="CODEX_HOME",
    ),
    "gemini": _HookClient(
        ".gemini",
        "settings.json",
        ("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"),
        "Sessions that start from now on are recorded. Versions of Gemini CLI before 0.26 need a "
        "setting for hooks.",
        timeout_unit=1000,
    ),
    # Windsurf reports neither the start nor the end of a conversation, nor its compaction.
    "windsurf": _HookClient(
        ".codeium/windsurf",
        "hooks.json",
        (
            "pre_user_prompt", "post_write_code", "post_run_command", "post_mcp_tool_use",
            "post_cascade_response",
        ),
        "Conversations are recorded after a restart of Windsurf. It accepts no context from hooks: "
        "connect the MCP server too.",
        in_project=".windsurf/hooks.json",
        grouped=False,
    ),
}  # fmt: skip


def _settings_path(client: str, *, project: bool) -> Path:
    """The file of a client's settings for hooks: the user's, or that of the current folder."""
    known = HOOK_CLIENTS[client]
    if project:
        return Path.cwd() / (known.in_project or f"{known.folder}/{known.file}")
    named = os.environ.get(known.variable, "").strip()
    folder = expand(named) if named else Path.home() / known.folder
    return folder / known.file


def _settings_paths(client: str, *, project: bool) -> list[Path]:
    """The files that can hold hooks. Earlier versions wrote into the shared file of a project."""
    path = _settings_path(client, project=project)
    shared = path.with_name(HOOK_CLIENTS[client].file)
    # In the folder of the user this is the file of all projects.
    if not project or shared in (path, _settings_path(client, project=False)):
        return [path]
    return [path, shared]


def _hook_command(home: Home, agent: str, client: str, *, system: str = sys.platform) -> str:
    """The command line for a client. It does not depend on the folder or on PATH.

    Raises `Unavailable` for a path that a settings file cannot contain.
    """
    words = [sys.executable, "-P", "-m", "djinn_memory", "hook", "--home", str(home.root)]
    words += ["--agent", agent, "--client", client]
    if system == "win32" and client == "claude":
        # Claude Code runs hooks in Git Bash there, which takes a backslash for an escape.
        words = [word.replace("\\", "/") for word in words]
    line = shlex.join(words)
    if system == "win32" and client == "codex":
        line = subprocess.list2cmdline(words)
    try:
        line.encode()
    except UnicodeEncodeError:
        raise Unavailable(
            f"{home.root}: the path is not UTF-8, which client settings require; rename the folder"
        ) from None
    return line


def install(home: Home, request: requests.InstallHooks) -> requests.HookSettings:
    """Write the hooks into the settings of a client, in the place of earlier ones of djinn.

    All else in the file stays, byte for byte. Raises `Refused` for a file that is broken.
    """
    client = request.client
    path = _settings_path(client, project=request.project)
    command = _hook_command(home, home.agent(request.agent), client)
    events = HOOK_CLIENTS[client].events
    before = _text(path)
    after = _with_hooks(before or _EMPTY, client, command, path)
    action: Literal["installed", "updated", "unchanged", "printed"] = "printed"
    if not request.print:
        known = any(_ours(parse(before))) if before else False
        action = "unchanged" if after == before else "updated" if known else "installed"
        _write(path, lambda text: _with_hooks(text, client, command, path), before)
    return requests.HookSettings(
        client,
        path,
        action,
        events,
        command,
        after if request.print else None,
        " ".join([HOOK_CLIENTS[client].note, *([UNSHARED] if request.project else [])]),
    )


def uninstall(request: requests.RemoveHooks) -> requests.HookSettings:
    """Remove the hooks of djinn from the settings of a client.

    Raises `Refused` for a file that is broken.
    """
    paths = _settings_paths(request.client, project=request.project)
    removed: dict[Path, list[str]] = {}
    for path in paths:
        before = _text(path)
        events = [event for event, _, _ in _ours(_parsed(before, path))] if before else []
        if before is not None and events:
            _write(path, partial(_without_hooks, path=path), before)
            removed[path] = events
    if not removed:
        return requests.HookSettings(request.client, paths[0], "none")
    every = dict.fromkeys(event for events in removed.values() for event in events)
    return requests.HookSettings(request.client, next(iter(removed)), "removed", tuple(every))


def _installed_hooks(home: Home | None) -> tuple[list[requests.InstalledHook], list[str]]:
    """The hooks of djinn in the settings of all clients, and why settings could not be read."""
    hooks: list[requests.InstalledHook] = []
    unreadable: list[str] = []
    for client in CLIENTS:
        paths = (_settings_paths(client, project=project) for project in (False, True))
        for path in dict.fromkeys(chain.from_iterable(paths)):
            try:
                hooks += _hooks_in(client, path, home)
            except Refused as error:
                unreadable.append(str(error))
    return hooks, unreadable


def _hooks_in(client: str, path: Path, home: Home | None) -> Iterator[requests.InstalledHook]:
    text = _text(path)
    commands: dict[str, list[str]] = {}
    for event, _, command in _ours(_parsed(text, path)) if text else ():
        commands.setdefault(command, []).append(event)
    for command, events in commands.items():
        words = _words(command)
        options = dict(pairwise(words))
        root = options.get("--home", "")
        here = home is not None and Path(root).resolve() == home.root
        fault = _fault(words, root, options.get("--agent", ""))
        yield requests.InstalledHook(
            client, path, tuple(events), root, options.get("--agent", ""), here, fault
        )


def _fault(words: list[str], root: str, agent: str) -> str | None:
    program = Path(words[0]) if words else Path()
    if not program.is_file():
        return f"the program {program} does not exist"
    if not Path(root).is_absolute():
        return f"--home {root} is not an absolute path, so nothing is recorded"
    if not (Path(root) / "config.yaml").is_file():
        return f"there is no home at {root}"
    with suppress(Exception):
        agents = Home(Path(root)).config.agents
        if agent and agent not in agents:
            return f"the home has no agent {agent!r}"
    return None


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError:
        return []
    return [word.strip("\"'") for word in words] if sys.platform == "win32" else words


def _with_hooks(text: str, client: str, command: str, path: Path) -> str:
    """The settings with the hooks, in the place of those that djinn added before."""
    present = [(event, hook) for event, _, hook in _ours(_parsed(text, path))]
    events = HOOK_CLIENTS[client].events
    if sorted(present) == sorted((event, command) for event in events):
        return text
    text = _without_hooks(text, path)
    for event in events:
        group = _group(HOOK_CLIENTS[client], event, command)
        if "hooks" in group and _is_empty_list(text, event):
            # A removal must leave the list, so its group has a matcher, which matches everything.
            group = {"matcher": "", **group}
        try:
            text = append(text, ("hooks", event), group)
        except UnspliceableJsonError as error:
            raise _broken(path, error) from None
    return text


def _group(client: _HookClient, event: str, command: str) -> dict[str, Any]:
    """The entry for an event in the settings of a client."""
    if not client.grouped:
        return {"command": command, "show_output": False}
    seconds = END_TIMEOUT if event == "SessionEnd" else TIMEOUT
    timeout = seconds * client.timeout_unit
    return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def _is_empty_list(text: str, event: str) -> bool:
    """Whether the settings have an empty list for an event."""
    events = parse(text).get("hooks")
    return isinstance(events, dict) and events.get(event) == []


def _without_hooks(text: str, path: Path) -> str:
    """The settings without the hooks of djinn, and without parts that are empty then."""
    while places := [place for _, place, _ in _ours(_parsed(text, path))]:
        event, number, _ = place = places[-1]
        settings = parse(text)
        groups = settings["hooks"][event]
        step: tuple[str | int, ...] = ("hooks", *place[:2], "hooks", place[2])
        if len(groups[number].get("hooks", ())) <= 1:
            step = ("hooks", event, number)
            if len(groups) == 1 and "matcher" not in groups[number]:
                step = ("hooks", event) if len(settings["hooks"]) > 1 else ("hooks",)
        text = remove(text, step)
    return text


def _ours(settings: Any) -> Iterator[tuple[str, tuple[str, int, int], str]]:
    """The hooks of djinn in settings: the event, the place, and the command."""
    events = settings.get("hooks") if isinstance(settings, dict) else None
    for event, groups in events.items() if isinstance(events, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            # Without groups, the entry is the hook.
            hooks = group.get("hooks", [group]) if isinstance(group, dict) else None
            for inner, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                command = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(command, str) and _OURS.search(command):
                    yield event, (event, number, inner), command


def _text(path: Path) -> str | None:
    """The text of settings; None without a file. Raises `Refused` if it cannot be read."""
    try:
        return read_regular(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}; correct it first") from None
    except UnicodeDecodeError as error:
        raise _broken(path, error) from None


def _parsed(text: str, path: Path) -> Any:
    try:
        settings = parse(text)
    except UnspliceableJsonError as error:
        raise _broken(path, error) from None
    if not isinstance(settings, dict):
        raise _broken(path, UnspliceableJsonError("it is not an object"))
    return settings


def _broken(path: Path, error: ValueError) -> Refused:
    return Refused(f"{path} is not the JSON that its client reads: {error}; correct it first")


def _write(path: Path, change: Callable[[str], str], before: str | None) -> None:
    if before is None:
        make_folder(path.parent)
        with suppress(FileExistsError):
            create(path.resolve(), change(_EMPTY).encode(), private=True)
            return
    revise(path, lambda data: change(data.decode()).encode())


def hook_state(home: Home) -> requests.HookState:
    """The installed hooks, and the counts of the spool of a home. This only reads."""
    hooks, unreadable = _installed_hooks(home)
    spool = Spool(str(home.state))
    files, counts, last, loss = spool.files(), spool.counts(), spool.last(), spool.loss()
    for path in spool.strange_files():
        kind = "a link" if Path(path).is_symlink() else "not a regular file"
        unreadable.append(f"{path} is {kind}; remove it")
    rejected = 0
    with suppress(OSError):
        rejected = spool.rejected().count(b"\n")
    return requests.HookState(
        hooks,
        unreadable,
        Path(spool.path),
        len(files),
        sum(files.values()),
        counts.full,
        counts.refused,
        counts.skipped,
        counts.cut,
        rejected,
        _moment(last["at"]),
        last["event"] or None,
        _moment(loss["lost_at"]),
        loss["reason"] or None,
    )


def _moment(seconds: float) -> str | None:
    """A time in seconds since 1970; None for 0."""
    return moment(datetime.fromtimestamp(seconds, UTC)) if seconds > 0 else None
