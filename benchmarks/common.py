"""What benchmarks share: where the data lies, throw-away homes, timing, tables."""

from __future__ import annotations

import compileall
import json
import os
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from djinn_memory.embedding import local, onnx_runtime
from djinn_memory.home.home import Home
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.home.setup import add_vault, init

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DJINN_TEST_DATA") or ROOT.parent / "shared" / "data")
# As the program does it, see `djinn_memory.cli.start`. It counts until numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A process in the background would take its time from what is measured.
os.environ.setdefault("DJINN_SESSIONS__EXTRACT", "false")

PROGRAM = [str(Path(sys.executable).with_name("djinn"))]


def need_data() -> Path:
    """The data folder; ends the benchmark in one line where it is absent."""
    if not DATA.is_dir():
        sys.exit(f"skipped: no data at {DATA}; set DJINN_TEST_DATA")
    return DATA


@contextmanager
def home_with(**vaults: Path) -> Iterator[Home]:
    """A home for the time of the block, with these folders as vaults."""
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        home, _ = init(Path(folder) / "home")
        for name, place in vaults.items():
            add_vault(home, name, place)
        yield home


def compile_all() -> None:
    """Compile djinn and its libraries, as pip does. `make` leaves it out, to set up faster.

    Where Python may write no bytecode, each start would else compile them again.
    """
    for folder in (ROOT / "djinn_memory", sysconfig.get_path("purelib")):
        compileall.compile_dir(folder, quiet=2)


def median_seconds(
    command: Sequence[str], environment: Mapping[str, str] | None = None, runs: int = 11
) -> float:
    """The median wall time of whole processes, after one that is not counted."""
    times = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


@dataclass(frozen=True)
class Usage:
    """What a process printed and took, with all that it waited for."""

    code: int
    output: str
    errors: str
    seconds: float
    cpu: float
    """Seconds of processor time, on all cores together."""
    peak: float
    """Peak resident memory of the largest process, in MB."""


def usage(command: Sequence[str], **environment: str) -> Usage:
    """Run a command to its end."""
    # A child begins with the size of whoever forks it, so a small program does the forking.
    watch = (
        "import json, resource, subprocess, sys, time; began = time.perf_counter(); "
        "done = subprocess.run(sys.argv[1:], capture_output=True, stdin=subprocess.DEVNULL); "
        "wall = time.perf_counter() - began; "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(json.dumps([done.returncode, done.stdout.decode('utf-8', 'replace'), "
        "done.stderr.decode('utf-8', 'replace'), wall, used.ru_utime + used.ru_stime, "
        "used.ru_maxrss]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", watch, *command],
        check=True, capture_output=True, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    code, output, errors, seconds, cpu, peak = json.loads(done.stdout)
    return Usage(
        code, output, errors, seconds, cpu, peak / (1e6 if sys.platform == "darwin" else 1e3)
    )


def peak_mb(command: Sequence[str], **environment: str) -> float:
    """Peak resident memory of one process, in MB."""
    used = usage(command, **environment)
    if used.code:
        raise subprocess.CalledProcessError(used.code, command, used.output, used.errors)
    return used.peak


def family_peak_mb(command: Sequence[str]) -> float:
    """Peak resident memory of a process and all that it runs at one time, in MB."""
    import psutil

    most = 0
    running = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None:
        with suppress(psutil.Error):
            family = (running, *running.children(recursive=True))
            most = max(most, sum(one.memory_info().rss for one in family))
        time.sleep(0.02)
    return most / 1e6


def raw_model_seconds(texts: Sequence[str], *, at_once: int = 1) -> float:
    """What the bare packaged model takes to embed texts on two cores, `at_once` at a time."""
    embedder = local.LocalEmbedder(EmbeddingConfig())
    session = onnx_runtime.open_session(embedder.folder / "model.onnx", 2 // at_once)
    tokenizer = onnx_runtime.open_tokenizer(embedder.folder, embedder.card.max_tokens)
    began = time.perf_counter()
    onnx_runtime.embed_texts(session, tokenizer, texts, threads=at_once)
    return time.perf_counter() - began


def machine() -> str:
    """One line on what this was measured on."""
    name = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    for line in facts.read_text().splitlines() if facts.exists() else ():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)
