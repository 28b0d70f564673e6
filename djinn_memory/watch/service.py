"""Installs `djinn watch` as a service: a systemd user unit, or a launchd agent."""

from __future__ import annotations

import hashlib
import os
import plistlib
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from djinn_memory.errors import NotFound, Refused, Unavailable
from djinn_memory.home.config import own_variables
from djinn_memory.home.home import Home
from djinn_memory.notes.slugs import slug
from djinn_memory.system.files import create_private, make_folder, write_atomic

_MARK = "djinn watch"

STOP_SECONDS = 20
"""Seconds after which a service manager kills a service that does not stop."""


class InstalledService(Struct, frozen=True):
    """A service that was installed."""

    path: Path
    """The file that defines the service."""
    start: str
    """The command that starts the service, now and at each login."""
    stop: str
    """The command that stops the service permanently."""


class RemovedService(Struct, frozen=True):
    """A service that was removed."""

    path: Path
    """The file that defined the service."""
    stop: str
    """The command that stops the service."""
    ended: bool
    """Whether that command succeeded."""


def install(
    home: Home, vaults: Sequence[str] = (), *, serve: bool = False, system: str = sys.platform
) -> InstalledService:
    """Write the file of a service that watches this home, replacing an earlier one.

    With `serve`, it also serves the home over HTTP.

    Raises `Refused` when djinn did not write the existing file, and `Unavailable` on a system other
    than Linux and macOS.
    """
    path, start, stop = _place(home, system)
    command = [*_command(home, vaults), *["--serve"] * serve]
    if system == "darwin":
        text = _agent(home, path.stem, command, own_variables())
        make_folder(home.state, private=True)
        # launchd would create the log as it creates any file.
        create_private(home.state / "watch.log")
    else:
        text = _unit(home, command, own_variables()).encode()
    _write(path, text)
    return InstalledService(path, start, stop)


def uninstall(home: Home, *, system: str = sys.platform) -> RemovedService:
    """Stop the service that watches this home, and remove its file.

    Raises `NotFound` when there is none, and `Refused` when djinn did not write the file.
    """
    path, _, stop = _place(home, system)
    if not path.exists():
        raise NotFound(f"no service is installed for {home.root}: {path} does not exist")
    if not _is_ours(path):
        raise Refused(f"{path} was not written by djinn; remove it yourself")
    ended = False
    # The service manager needs the file to end the service. Without its program nothing runs.
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            shlex.split(stop), capture_output=True, timeout=STOP_SECONDS, check=False
        )
        ended = done.returncode == 0
    path.unlink()
    return RemovedService(path, stop, ended)


def _is_ours(path: Path) -> bool:
    """Whether djinn wrote a file, by its comment or the label of a launchd agent."""
    data = path.read_bytes()
    return _MARK.encode() in data or b"<string>memory.djinn-watch-" in data


def _place(home: Home, system: str) -> tuple[Path, str, str]:
    """The file of the service, and the commands that start and stop it."""
    name = _name(home)
    if system.startswith("linux"):
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        return (
            folder / "systemd" / "user" / f"{name}.service",
            f"systemctl --user daemon-reload && systemctl --user enable --now {name}",
            f"systemctl --user disable --now {name}",
        )
    if system == "darwin":
        path = Path.home() / "Library" / "LaunchAgents" / f"memory.{name}.plist"
        quoted = shlex.quote(str(path))
        return (
            path,
            f"launchctl bootstrap gui/{_user()} {quoted}",
            f"launchctl bootout gui/{_user()} {quoted}",
        )
    command = shlex.join(_command(home, ()))
    raise Unavailable(
        f"djinn cannot install a service on {system}; use the scheduler of the system to run "
        f"`{command}`"
    )


def _command(home: Home, vaults: Sequence[str]) -> list[str]:
    command = [sys.executable, "-P", "-m", "djinn_memory", "--home", str(home.root), "watch"]
    return [*command, "--log", *(word for vault in vaults for word in ("--vault", vault))]


def _name(home: Home) -> str:
    """A name that is unique to this home: the folders of two homes may have the same name."""
    mark = hashlib.blake2b(os.fsencode(home.root), digest_size=3).hexdigest()
    return f"djinn-watch-{slug(home.root.name)[:40]}-{mark}"


def _user() -> int:
    return os.getuid() if sys.platform != "win32" else 0


def _write(path: Path, data: bytes) -> None:
    if path.exists() and not _is_ours(path):
        raise Refused(f"{path} was not written by djinn; move it, then try again")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data, private=True)


def _unit(home: Home, command: Sequence[str], environment: Mapping[str, str]) -> str:
    variables = "".join(
        f"Environment={_quoted(f'{key}={value}', '%')}\n" for key, value in environment.items()
    )
    return (
        f"# Written by `{_MARK} --install-service`. Keys of providers are not in here: put them\n"
        "# into a file that only you can read, and name it as EnvironmentFile= below.\n"
        "[Unit]\n"
        f"Description={_MARK}: {_escaped(' '.join(str(home.root).split()), '%')}\n\n"
        "[Service]\n"
        f"ExecStart={' '.join(_quoted(word, '%$') for word in command)}\n"
        f"{variables}"
        "Restart=on-failure\n"
        "RestartSec=10\n"
        "TimeoutStopSec=5\n"
        "Nice=5\n\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    )


def _quoted(word: str, doubled: str) -> str:
    """A word of a command in a unit file; systemd interprets C escapes in it."""
    text = _escaped(word, doubled).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n") + '"'


def _escaped(text: str, doubled: str) -> str:
    """`text` with the characters doubled that systemd would expand."""
    for character in doubled:
        text = text.replace(character, 2 * character)
    return text


def _agent(home: Home, label: str, command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    log = str(home.state / "watch.log")
    return plistlib.dumps(
        {
            "Label": label,
            "ProgramArguments": list(command),
            "EnvironmentVariables": dict(environment),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
    )
