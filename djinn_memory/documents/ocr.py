"""Lets `ocrmypdf` read what is only a picture of text."""

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

LONGEST_REASON = 200
"""Characters of what ocrmypdf says; it begins with what matters, and goes on with advice."""


def ocrmypdf() -> str | None:
    """The program, if it is installed."""
    # Beside this Python lies what was installed with djinn, whether or not it is on the path.
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return shutil.which("ocrmypdf", path=places)


def hint() -> str:
    """What a user can do about text that is only a picture."""
    if ocrmypdf():
        return "--ocr lets ocrmypdf read it"
    return "ocrmypdf can read it: install it and give --ocr"


@contextmanager
def recognised(path: Path, languages: str, pages: Sequence[int]) -> Iterator[Path]:
    """A copy of a PDF in which these pages, from 1, have the text that their picture shows.

    Raises `Unreadable` when ocrmypdf is missing or fails.
    """
    program = ocrmypdf()
    if not program:
        raise Unreadable(
            "needs ocrmypdf for --ocr: pip install 'djinn-memory[ocr]', and tesseract with the "
            "languages of documents.ocr_languages"
        )
    with TemporaryDirectory(prefix="djinn-ocr-") as folder:
        result = Path(folder) / "read.pdf"
        done = subprocess.run(
            [
                program, "--force-ocr", "--pages", ",".join(map(str, pages)),
                "--language", languages,
                "--output-type", "pdf", "--jobs", "1", "--optimize", "0", "--quiet",
                # A poster in full resolution would take gigabytes.
                "--tesseract-downsample-large-images", "--tesseract-downsample-above", "4000",
                str(path.resolve()), str(result),
            ],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        if done.returncode or not result.exists():
            said = " ".join(done.stderr.split())[:LONGEST_REASON]
            why = said or f"exit code {done.returncode}"
            raise Unreadable(f"could not be read by ocrmypdf: {why}")
        yield result
