"""A service that starts the watch: what the system reads, whatever the home is called."""

from __future__ import annotations

import configparser
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from djinn_memory.errors import NotFound, Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.watch.service import install, uninstall
from tests.conftest import EXTRACTS


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def unit(path: Path) -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=False, interpolation=None)
    found.optionxform = str  # type: ignore[method-assign,assignment]
    found.read(path)
    return found


def test_a_systemd_unit(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DJINN_TEST_DATA", EXTRACTS):
        monkeypatch.delenv(name, raising=False)
    service = install(home, ["shared"], system="linux")
    found = unit(service.path)
    words = shlex.split(found["Service"]["ExecStart"])
    assert words == [
        sys.executable, "-P", "-m", "djinn_memory", "--home", str(home.root), "watch", "--log",
        "--vault", "shared",
    ]  # fmt: skip
    assert found["Install"]["WantedBy"] == "default.target"
    assert service.path.name.removesuffix(".service") in service.start
    assert "DJINN_CONFIG_DIR=" in found["Service"]["Environment"]
    again = install(home, system="linux")
    assert again.path == service.path
    assert "shared" not in unit(again.path)["Service"]["ExecStart"]


def test_names_that_systemd_would_read_otherwise(tmp_path: Path) -> None:
    home, _ = init(tmp_path / 'a %h "b" $HOME \\n ü')
    service = install(home, system="linux")
    line = unit(service.path)["Service"]["ExecStart"]
    assert '%%h \\"b\\" $$HOME \\\\n ü"' in line
    if shutil.which("systemd-analyze"):
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", str(service.path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "djinn" not in done.stderr


def test_two_homes_have_two_services(tmp_path: Path) -> None:
    paths = {install(init(tmp_path / at / "home")[0], system="linux").path for at in "ab"}
    assert len(paths) == 2


def test_a_launchd_agent(home: Home, tmp_path: Path) -> None:
    service = install(home, system="darwin")
    agent = plistlib.loads(service.path.read_bytes())
    assert agent["ProgramArguments"][-2:] == ["watch", "--log"]
    assert agent["Label"] == service.path.stem
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert service.path.parent == tmp_path / "Library" / "LaunchAgents"
    assert str(service.path) in service.start


def test_what_is_not_ours_is_not_written_over(home: Home) -> None:
    path = install(home, system="linux").path
    path.write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(Refused, match="was not written by djinn"):
        install(home, system="linux")
    assert "/bin/true" in path.read_text()


def test_elsewhere_it_says_what_to_run(home: Home) -> None:
    with pytest.raises(Unavailable, match="use the scheduler of the system"):
        install(home, system="win32")


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_service_is_removed(home: Home, system: str) -> None:
    with pytest.raises(NotFound, match="no service is installed"):
        uninstall(home, system=system)
    service = install(home, system=system)
    assert install(home, system=system) == service
    removed = uninstall(home, system=system)
    assert (removed.path, removed.stop) == (service.path, service.stop)
    assert not service.path.exists()
    service.path.write_text("somebody's own")
    with pytest.raises(Refused, match="was not written by djinn"):
        uninstall(home, system=system)
    assert service.path.exists()
