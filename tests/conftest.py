"""What tests share: the data folder, a home to work in, the command as a user runs it."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import shutil
import signal
import subprocess
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import settings
from xdist.remote import Producer

from djinn_memory.djinn import Djinn
from djinn_memory.home.config import model_cache
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.examples import SOAK, examples
from tests.scheduling import LONG, ModuleScheduling
from tests.servers import KEY, ModelServer, serving

pytest_plugins = ["tests.postgres"]

FEW = examples(100)
# A busy machine is no failure: what takes how long is measured in `benchmarks/`.
settings.register_profile(SOAK, deadline=None)
settings.register_profile("untimed", deadline=None, max_examples=FEW)
# In CI the same examples each time, so that what passes once passes again.
settings.register_profile("repeatable", deadline=None, max_examples=FEW, derandomize=True)

MEMORY = Path("/dev/shm")
"""The folder in memory that Linux has."""
ROOM = 8 << 30
"""The bytes that must be free there, several times what a run needs at once."""

EXTRACTS = "DJINN_SESSIONS__EXTRACT"
"""The variable that lets the start and the end of a session extract."""

HERE = Path(__file__).resolve().parent
Run = Callable[..., subprocess.CompletedProcess[str]]


def pytest_configure(config: pytest.Config) -> None:
    """Choose the examples of property tests: a soak tries fresh ones wherever it runs.

    Homes of tests are made in memory where there is room, since each test writes databases anew.
    """
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    # A process in the background would outlive its test.
    os.environ[EXTRACTS] = "false"
    if config.option.markexpr.startswith("soak"):
        settings.load_profile(SOAK)
    else:
        settings.load_profile("repeatable" if "CI" in os.environ else "untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of a test that wants `few` to a soak, and begin with what takes long."""
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("few"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for all_of_test in cases.values():
        marker = all_of_test[0].get_closest_marker("few")
        assert marker
        # Spread evenly, so that neighbours, which are often alike, stand for each other.
        step = len(all_of_test) / marker.args[0]
        tried = {int(number * step) for number in range(marker.args[0])}
        for number, item in enumerate(all_of_test):
            if number not in tried:
                item.add_marker(pytest.mark.soak)
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_collection_finish() -> None:
    """Ten thousand tests stay until the end, so the garbage collector need not look at them."""
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ModuleScheduling:
    """Distribute modules, in order."""
    config.option.loadscopereorder = False
    return ModuleScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI everything that tests want is there, so a test left out is a failure."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In CI a module that is left out is a failure, too."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own settings, and what they trust: each test has a user of its own."""
    folder = tmp_path / "user"
    monkeypatch.setenv("DJINN_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real vaults, PDFs and retrieval sets, which lie beside the checkout."""
    place = Path(os.environ.get("DJINN_TEST_DATA") or HERE.parents[1] / "shared" / "data")
    if not place.is_dir():
        pytest.skip(f"no test data at {place}; set DJINN_TEST_DATA")
    return place


@pytest.fixture(scope="session")
def sample() -> Path:
    """The sample memory of the checkout."""
    return HERE.parent / "vaults"


@pytest.fixture(scope="session")
def home_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home as `djinn init` makes it, with hashing as its provider; made once, then copied."""
    root = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJINN_CONFIG_DIR", str(root / "user"))
        home, _ = init(root / "home")
        home.edit((("embedding", "provider"), "hashing"))
    return home.root


@pytest.fixture
def home(tmp_path: Path, home_template: Path) -> Home:
    """An empty home whose vectors come from hashing: equal everywhere, made at once."""
    return Home(Path(shutil.copytree(home_template, tmp_path / "home", symlinks=True)))


@pytest.fixture
def djinn(home: Home) -> Djinn:
    """The home, opened."""
    return Djinn(home)


@pytest.fixture
def shared(home: Home) -> Path:
    """The folder of the home's shared vault."""
    return home.root / "vaults" / "shared"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server of models in good health."""
    with serving() as one:
        yield one


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user has a key for every provider."""
    for provider in ("OPENAI", "OLLAMA", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)


def environment_of(tmp_path: Path, user_folder: Path, home: Path | None) -> dict[str, str]:
    """The environment of a user with settings and a home folder of their own."""
    others = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
    inherited = {
        k: v for k, v in os.environ.items() if not k.startswith("DJINN_") and k not in others
    }
    # Exported models stay where the test has them.
    inherited["DJINN_CACHE"] = str(model_cache())
    inherited["DJINN_CONFIG_DIR"] = str(user_folder)
    inherited[EXTRACTS] = "false"
    if home is not None:
        inherited["DJINN_HOME"] = str(home)
    return {**inherited, "HOME": str(tmp_path)}


@pytest.fixture
def spawn(tmp_path: Path, user_folder: Path) -> Run:
    """Run `djinn` as a user does: in a process of its own, from a folder that is no home."""

    def call(
        *arguments: object, home: Path | None = None, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "djinn_memory", *map(str, arguments)],
            capture_output=True,
            text=True,
            input=stdin,
            cwd=tmp_path,
            env={**environment_of(tmp_path, user_folder, home), **environment},
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def run(tmp_path: Path, user_folder: Path) -> Run:
    """Run `djinn` in this process, with the streams, folder and environment that `spawn` gives it.

    `cwd` is another folder to run it in; with `terminal` its outputs are terminals. Use `spawn`
    where the process matters: its start, its end, signals, or a module's first import.
    """
    return in_process(tmp_path, user_folder)


def in_process(folder: Path, user_folder: Path) -> Run:
    """What the fixture `run` gives, for a user with these folders."""

    def call(
        *arguments: object,
        home: Path | None = None,
        stdin: str = "",
        cwd: Path = folder,
        terminal: bool = False,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        words = ["djinn", *map(str, arguments)]
        variables = {**environment_of(folder, user_folder, home), **environment}
        with (
            captured_streams(stdin, Terminal if terminal else io.TextIOWrapper) as (stdout, stderr),
            patch.object(sys, "argv", words),
            patch.dict(os.environ, variables, clear=True),
            contextlib.chdir(cwd),
        ):
            code = command_line()
        return subprocess.CompletedProcess(words, code, stdout(), stderr())

    return call


def command_line() -> int:
    """Run the command line; a bug prints its traceback and ends with 1, as it does in a process."""
    from djinn_memory.cli import app, completion

    handler = signal.getsignal(signal.SIGINT)
    try:
        if completion.VARIABLE in os.environ:
            return completion.answer(app.root())
        return app.main()
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        signal.signal(signal.SIGINT, handler)


class Terminal(io.TextIOWrapper):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def captured_streams(
    stdin: str = "", kind: type[io.TextIOWrapper] = io.TextIOWrapper
) -> Iterator[tuple[Callable[[], str], Callable[[], str]]]:
    """Replace the standard streams; yields what returns the text of stdout, and of stderr."""
    streams = [kind(io.BytesIO(), "utf-8", errors="replace") for _ in range(2)]

    def reader(stream: io.TextIOWrapper) -> Callable[[], str]:
        def text() -> str:
            stream.flush()
            written: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]
            # Line ends as `subprocess` gives them in text mode.
            return written.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")

        return text

    source = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    with (
        patch.object(sys, "stdin", source),
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
    ):
        yield reader(streams[0]), reader(streams[1])
