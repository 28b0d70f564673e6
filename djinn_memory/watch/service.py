"""Installs `djinn watch` as a service: a systemd user unit, or a launchd agent."""

from __future__ import annotations

import hashlib
import os
import plistlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.home.config import own_variables
from djinn_memory.home.home import Home
from djinn_memory.notes.slugs import slug
from djinn_memory.system.files import create_private, make_folder, write_atomic

_MARK = "djinn watch"


class InstalledService(Struct, frozen=True):
    """A service that was installed."""

    path: Path
    """The file that describes it."""
    start: str
    """The command that starts it, now and at each login."""
    stop: str
    """The command that ends it for good."""


def install(
    home: Home, vaults: Sequence[str] = (), *, system: str = sys.platform
) -> InstalledService:
    """Write the file of a service that watches this home; an earlier one is replaced.

    Raises `Refused` when djinn did not write the file that is there, and `Unavailable` on a system
    other than Linux and macOS.
    """
    name = _name(home)
    command = [sys.executable, "-P", "-m", "djinn_memory", "--home", str(home.root), "watch"]
    command += ["--log", *(word for vault in vaults for word in ("--vault", vault))]
    if system.startswith("linux"):
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        path = folder / "systemd" / "user" / f"{name}.service"
        text = _unit(home, command, own_variables()).encode()
        service = InstalledService(
            path,
            f"systemctl --user daemon-reload && systemctl --user enable --now {name}",
            f"systemctl --user disable --now {name}",
        )
    elif system == "darwin":
        label = f"memory.{name}"
        path = Path.home() / "Library" / "LaunchAgents" / f"{label}.plist"
        text = _agent(home, label, command, own_variables())
        make_folder(home.state, private=True)
        # launchd would create the log as it creates any file.
        create_private(home.state / "watch.log")
        quoted = shlex.quote(str(path))
        service = InstalledService(
            path,
            f"launchctl bootstrap gui/{_user()} {quoted}",
            f"launchctl bootout gui/{_user()} {quoted}",
        )
    else:
        raise Unavailable(
            f"no service can be installed on {system}; let its own scheduler run "
            f"`{shlex.join(command)}`"
        )
    _write(path, text)
    return service


def _name(home: Home) -> str:
    """A name for this home alone: the folders of two homes may have the same name."""
    mark = hashlib.blake2b(os.fsencode(home.root), digest_size=3).hexdigest()
    return f"djinn-watch-{slug(home.root.name)[:40]}-{mark}"


def _user() -> int:
    return os.getuid() if sys.platform != "win32" else 0


def _write(path: Path, data: bytes) -> None:
    if path.exists() and _MARK.encode() not in path.read_bytes():
        raise Refused(f"{path} was not written by djinn; move it away, then try again")
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
    """`text` with those characters doubled that systemd would expand."""
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
