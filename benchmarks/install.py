"""Size and time of an installation, in a bare environment and by `make demo` in a fresh clone.

Run: `python benchmarks/install.py`
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, machine, table


def seconds(command: list[str], folder: Path) -> float:
    """The wall time of a command that has to succeed."""
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def megabytes(folder: Path) -> float:
    """The size of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as scratch:
        clone, bare = Path(scratch) / "clone", Path(scratch) / "bare"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        subprocess.run([sys.executable, "-m", "venv", bare], check=True)
        pip = seconds([str(bare / "bin" / "pip"), "install", "--quiet", "."], clone)
        demo = seconds(["make", "demo", f"PYTHON={sys.executable}"], clone)
        rows = [
            ["pip install .", f"{megabytes(bare):.0f} MB", f"{pip:.0f} s", "1.00", "350 MB"],
            ["make demo", f"{megabytes(clone / '.venv'):.0f} MB", f"{demo:.0f} s",
             f"{demo / pip:.2f}", "1.5 times"],
        ]  # fmt: skip
    print(f"## Installation\n\n`python benchmarks/install.py` on {machine()}\n")
    print("The environment, and how long it takes, downloads included:\n")
    table(["command", "size", "time", "of pip install", "bar"], rows)


if __name__ == "__main__":
    main()
