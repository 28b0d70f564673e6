"""Hooks in the settings of clients: added, found, removed, and all else kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.memories.hooks import spool
from djinn_memory.memories.hooks.installation import (
    HOOK_CLIENTS,
    _hook_command,
    _installed_hooks,
    _settings_path,
    hook_state,
    install,
    uninstall,
)
from djinn_memory.memories.hooks.payloads import CLIENTS
from djinn_memory.memories.hooks.requests import Client, InstallHooks, RemoveHooks
from djinn_memory.memories.hooks.spool import Spool
from tests.memories.hooks.events import prompt, record, spool_of, tool

OTHERS = """{
    "permissions": {"allow": ["Bash(ls:*)"],   "deny": []},
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ],
        "PreToolUse": [{"matcher": "Bash", "hooks": []}]
    },
    "model": "opus \\u00e4"
}
"""


PATHS = {
    "claude": (".claude/settings.json", ".claude/settings.local.json"),
    "codex": (".codex/hooks.json", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "windsurf": (".codeium/windsurf/hooks.json", ".windsurf/hooks.json"),
}
"""The settings of each client: the user's, and those of a project."""


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user, who works in a project."""
    folder = tmp_path / "user"
    (folder / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder / "project")
    return folder


def hooks_of(path: Path) -> dict[str, list[str]]:
    """The commands by event."""
    found = json.loads(path.read_text("utf-8")).get("hooks", {})
    return {
        event: [hook["command"] for group in groups for hook in group.get("hooks", [group])]
        for event, groups in found.items()
    }


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("project", [False, True])
def test_hooks_are_installed_once(home: Home, user: Path, client: Client, project: bool) -> None:
    answer = install(home, InstallHooks(client, project=project))
    assert answer.path == (user / "project" if project else user) / PATHS[client][project]
    assert ("out of a shared repository" in (answer.note or "")) == project
    command = _hook_command(home, "me", client)
    assert hooks_of(answer.path) == {event: [command] for event in HOOK_CLIENTS[client].events}
    assert answer.path.stat().st_mode & 0o077 == 0
    before = answer.path.read_bytes()
    assert install(home, InstallHooks(client, project=project)).action == "unchanged"
    assert answer.path.read_bytes() == before
    [hook] = _installed_hooks(home)[0]
    assert (hook.client, hook.path, hook.agent, hook.here) == (client, answer.path, "me", True)
    assert hook.fault is None
    assert uninstall(RemoveHooks(client, project=project)).events == answer.events
    assert uninstall(RemoveHooks(client, project=project)).action == "none"
    assert answer.path.read_text() == "{}\n"


def test_each_client_gets_its_own_form(home: Home) -> None:
    def entries(client: Client) -> dict[str, Any]:
        install(home, InstallHooks(client))
        hooks: dict[str, Any] = json.loads(_settings_path(client, project=False).read_text())[
            "hooks"
        ]
        return {event: entry for event, [entry] in hooks.items()}

    command = {client: _hook_command(home, "me", client) for client in CLIENTS}
    [gemini] = entries("gemini")["BeforeAgent"]["hooks"]
    assert gemini == {"type": "command", "command": command["gemini"], "timeout": 10_000}
    windsurf = entries("windsurf")["pre_user_prompt"]
    assert windsurf == {"command": command["windsurf"], "show_output": False}


def test_everything_else_in_the_settings_stays(home: Home, user: Path) -> None:
    path = user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(OTHERS, encoding="utf-8")
    path.chmod(0o644)
    assert install(home, InstallHooks("claude")).action == "installed"
    assert hooks_of(path)["Stop"] == ["say done", _hook_command(home, "me", "claude")]
    assert path.read_text("utf-8").splitlines()[:2] == OTHERS.splitlines()[:2]
    assert uninstall(RemoveHooks("claude")).action == "removed"
    assert path.read_text("utf-8") == OTHERS
    assert path.stat().st_mode & 0o777 == 0o644


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["model", "env", "Stop", "x y"]),
        st.none() | st.integers() | st.text() | st.lists(st.text(), min_size=1, max_size=2),
    ),
    st.dictionaries(
        st.sampled_from(["Stop", "PreToolUse", "SessionEnd", "Other"]),
        st.just([{"matcher": "Bash", "hooks": [{"type": "command", "command": "say"}]}, {}])
        | st.builds(list),
        min_size=1,
    )
    | st.none(),
    st.sampled_from([None, 2, 4, "\t"]),
)
def test_a_removal_restores_the_settings(
    home: Home, user: Path, others: dict[str, Any], hooks: dict[str, Any] | None, indent: Any
) -> None:
    path = user / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    data = others if hooks is None else {**others, "hooks": hooks}
    text = json.dumps(data, indent=indent)
    path.write_text(text, encoding="utf-8")
    install(home, InstallHooks("claude"))
    changed = json.loads(path.read_text("utf-8"))
    changed.pop("hooks")
    assert changed == others
    uninstall(RemoveHooks("claude"))
    assert path.read_text("utf-8") == text


def test_a_hook_that_was_moved_among_others_is_removed(home: Home, user: Path) -> None:
    path = user / ".claude" / "settings.json"
    install(home, InstallHooks("claude"))
    data = json.loads(path.read_text())
    data["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "say done"})
    path.write_text(json.dumps(data))
    uninstall(RemoveHooks("claude"))
    assert hooks_of(path) == {"Stop": ["say done"]}


def test_another_home_takes_the_place_of_the_first(home: Home, user: Path, tmp_path: Path) -> None:
    install(home, InstallHooks("claude"))
    second = Home(Path(shutil.copytree(home.root, tmp_path / "second")))
    answer = install(second, InstallHooks("claude"))
    assert answer.action == "updated"
    assert set(map(tuple, hooks_of(answer.path).values())) == {
        (_hook_command(second, "me", "claude"),)
    }
    assert [hook.here for hook in _installed_hooks(home)[0]] == [False]


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// hm\n{}", "\xff",
        '{"a": ' + "9" * 10_000 + "}", "[" * 100_000,
    ],
)  # fmt: skip
def test_broken_settings_are_left_alone(home: Home, user: Path, text: str) -> None:
    path = user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(Refused, match=r"settings\.json is not the JSON that its client reads: "):
        install(home, InstallHooks("claude"))
    assert path.read_bytes() == text.encode("latin-1")
    assert hook_state(home).hooks == []


def test_an_unknown_agent_writes_nothing(home: Home, user: Path) -> None:
    with pytest.raises(NotFound):
        install(home, InstallHooks("claude", agent="nobody"))
    assert not (user / ".claude").exists()


def test_settings_may_be_a_link(home: Home, user: Path) -> None:
    target = user / "dotfiles" / "claude.json"
    target.parent.mkdir()
    (user / ".claude").mkdir()
    link = user / ".claude" / "settings.json"
    link.symlink_to(target)
    for text in (None, "{}"):
        if text:
            target.write_text(text)
        install(home, InstallHooks("claude"))
        assert link.is_symlink()
        assert len(hooks_of(target)) == 7


def test_printing_writes_nothing(home: Home, user: Path) -> None:
    answer = install(home, InstallHooks("codex", print=True))
    assert answer.text is not None
    assert len(json.loads(answer.text)["hooks"]) == 6
    assert not (user / ".codex").exists()


def test_variables_of_the_clients_name_their_folders(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "a"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "b"))
    assert install(home, InstallHooks("claude")).path == tmp_path / "a" / "settings.json"
    assert install(home, InstallHooks("codex")).path == tmp_path / "b" / "hooks.json"


def test_hooks_of_an_earlier_version_in_a_project_are_removed(home: Home, user: Path) -> None:
    mine = install(home, InstallHooks("claude")).path
    shared = user / "project" / ".claude" / "settings.json"
    shared.parent.mkdir()
    shutil.copy(mine, shared)
    assert {hook.path for hook in _installed_hooks(home)[0]} == {mine, shared}
    done = uninstall(RemoveHooks("claude", project=True))
    assert (done.action, done.path, "hook" in shared.read_text()) == ("removed", shared, False)
    install(home, InstallHooks("claude", project=True))
    shutil.copy(mine, shared)
    assert uninstall(RemoveHooks("claude", project=True)).action == "removed"
    assert [hook.path for hook in _installed_hooks(home)[0]] == [mine]
    assert uninstall(RemoveHooks("claude", project=True)).action == "none"


def test_the_folder_of_the_user_is_no_project(
    home: Home, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(user)
    path = install(home, InstallHooks("claude")).path
    before = path.read_bytes()
    assert uninstall(RemoveHooks("claude", project=True)).action == "none"
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="runs a shell")
def test_a_variable_may_name_an_unknown_user(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "~nobody-here/claude")
    assert _settings_path("claude", project=False).name == "settings.json"


def test_the_command_works_from_anywhere(home: Home, tmp_path: Path) -> None:
    root = tmp_path / 'it\'s "my" $HOME & `home`'
    home.root.rename(root)
    command = _hook_command(Home(root), "me", "claude")
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd="/", env={}, input=json.dumps(prompt("Hello?")).encode(),
        capture_output=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (b"", b"")
    assert len(Spool(str(root / ".djinn")).files()) == 1
    install(Home(root), InstallHooks("codex"))
    [hook] = _installed_hooks(Home(root))[0]
    assert (hook.home, hook.fault) == (str(root), None)


def test_the_commands_for_windows(home: Home) -> None:
    assert "\\" not in _hook_command(home, "me", "claude", system="win32")
    assert "'" not in _hook_command(home, "me", "codex", system="win32")


def test_doctor_reports_hooks_that_do_not_work(home: Home) -> None:
    def findings() -> list[tuple[str, str]]:
        with Djinn(home) as djinn:
            return [
                (finding.severity, finding.what)
                for finding in djinn.doctor().findings
                if finding.part == "hooks"
            ]

    assert findings() == []
    path = install(home, InstallHooks("claude")).path
    assert findings() == [("ok", "installed for claude")]
    text = path.read_text()
    path.write_text(text.replace(str(home.root), "/nowhere"))
    [(severity, what)] = findings()
    assert (severity, what.partition(": ")[2]) == ("warning", "there is no home at /nowhere")
    path.write_text(text.replace(str(home.root), "."))
    assert findings()[0][1].endswith("--home . is not an absolute path, so nothing is recorded")
    path.write_text(text.replace("--agent me", "--agent nobody"))
    assert "no agent 'nobody'" in findings()[0][1]
    path.write_text("{")
    assert findings()[0][0] == "warning"
    path.unlink()
    spool_of(home).skip("the input is not JSON")
    assert findings() == [
        ("hint", "1 event of hooks could not be recorded (the input is not JSON)")
    ]
    path = Path(spool_of(home).loss_path)
    path.write_text(json.dumps({**spool_of(home).loss(), "lost_at": 1.0}))
    assert findings() == []


def test_a_full_spool_is_reported_until_it_is_taken_in(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(home, tool("make"))
    monkeypatch.setattr(spool, "MOST_ENTRIES", 1)
    entry = {"event": "Stop", "at": 1.0}
    assert not spool_of(home).append(entry)
    state = hook_state(home)
    assert (state.full, state.refused, state.reason) == (True, 1, "the spool is full")
    with Djinn(home) as djinn:
        assert any("the spool of hooks is full" in each.what for each in djinn.doctor().findings)
        djinn.index()
    state = hook_state(home)
    assert (state.full, state.refused, state.entries) == (False, 1, 0)
    assert spool_of(home).append(entry)


@pytest.mark.parametrize("name", ["spool", "spool/x", "counts"])
def test_a_link_in_the_spool_is_named(home: Home, tmp_path: Path, name: str) -> None:
    link = home.state / "hooks" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path)
    assert hook_state(home).unreadable == [f"{link} is a link; remove it"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a pipe")
@pytest.mark.parametrize("name", ["spool", "spool/x", "counts", "loss.json", "rejected.jsonl"])
def test_a_pipe_in_the_spool_is_named_and_not_waited_for(home: Home, name: str) -> None:
    pipe = home.state / "hooks" / name
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    assert hook_state(home).unreadable == [f"{pipe} is not a regular file; remove it"]
    with suppress(OSError):
        record(home, prompt("Hello?"))
    spool_of(home).skip("a test")
    with suppress(OSError):
        spool_of(home).reject([b"{}"], 1, "a test")
    with Djinn(home) as djinn:
        djinn.index()
        assert any(str(pipe) in finding.what for finding in djinn.doctor().findings)
    assert pipe.is_fifo()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a pipe")
def test_a_pipe_as_settings_is_named_and_not_waited_for(home: Home, user: Path) -> None:
    pipe = user / ".claude" / "settings.json"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    [line] = hook_state(home).unreadable
    assert line == f"{pipe} cannot be read: is not a regular file; correct it first"
    with pytest.raises(Refused, match="is not a regular file"):
        install(home, InstallHooks("claude"))
    with pytest.raises(Refused, match="is not a regular file"):
        uninstall(RemoveHooks("claude"))
