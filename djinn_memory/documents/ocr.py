"""Reads pictures of text with `ocrmypdf`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from djinn_memory.documents.document import Unreadable
from djinn_memory.errors import Remedy, install_extra

LONGEST_REASON = 200
"""Characters kept from ocrmypdf's message. It begins with the reason, then gives advice."""

_READ = Remedy("documents.ingest", {"paths": None, "ocr": True}, "read it with ocrmypdf")


def find_ocrmypdf() -> str | None:
    """The path of the program, if it is installed."""
    # Programs installed with djinn are next to this Python, whether or not that is on the path.
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return shutil.which("ocrmypdf", path=places)


def hint() -> str:
    """The remedy for text that exists only as a picture."""
    if find_ocrmypdf():
        return str(_READ)
    return f"install ocrmypdf, then {_READ}"


@contextmanager
def recognized_copy(path: Path, languages: str, pages: Sequence[int]) -> Iterator[Path]:
    """A copy of a PDF with recognized text on these pages, counted from 1.

    Raises `Unreadable` when ocrmypdf is missing or fails.
    """
    program = find_ocrmypdf()
    if not program:
        raise Unreadable(
            f"needs ocrmypdf: {install_extra('ocr')}, and install tesseract with the languages of "
            "documents.ocr_languages"
        )
    with TemporaryDirectory(prefix="djinn-ocr-") as folder:
        result = Path(folder) / "read.pdf"
        process = subprocess.run(
            [
                program, "--force-ocr", "--pages", ",".join(map(str, pages)),
                "--language", languages,
                "--output-type", "pdf", "--jobs", "1", "--optimize", "0", "--quiet",
                # A poster in full resolution takes gigabytes.
                "--tesseract-downsample-large-images", "--tesseract-downsample-above", "4000",
                str(path.resolve()), str(result),
            ],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        if process.returncode or not result.exists():
            message = " ".join(process.stderr.split())[:LONGEST_REASON]
            why = message or f"exit code {process.returncode}"
            raise Unreadable(f"could not be read by ocrmypdf: {why}")
        yield result
