"""PDFs: the quality of their text, pages a second beside plain pdfplumber, memory by pages.

Run: `python benchmarks/documents.py`
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pdfplumber
from common import PROGRAM, family_peak_mb, home_with, machine, need_data, peak_mb, table
from fpdf import FPDF

from djinn_memory.documents.document import ReadRequest, no_progress
from djinn_memory.documents.pdf.reader import raw_pages, read_pdf

ARABIC = "docling__right_to_left_01.pdf"
JAPANESE = "pdfminer__jo.pdf"
"""Vertical writing, which pdftotext puts into another order."""

TIMED = ("docling__redp5110_sampled.pdf", "pdfplumber__federal-register-2020-17221.pdf")
RUNS = 5
MADE_PAGES = (100, 1000, 3000)
WHOLE_PAGES = (100, 1000)

READER = """
import sys
from pathlib import Path
from djinn_memory.documents.document import ReadRequest, no_progress
from djinn_memory.documents.pdf.reader import read_pdf
path = Path(sys.argv[1])
read_pdf(ReadRequest(path, path.name), no_progress)
"""


def shares(text: str, truth: str) -> tuple[float, float]:
    """The shares of the truth's distinct words and of its trigrams that the text has."""
    found, wanted = (re.findall(r"\w+", some) for some in (text, truth))
    trigrams = set(zip(wanted, wanted[1:], wanted[2:], strict=False))
    hit = trigrams & set(zip(found, found[1:], found[2:], strict=False))
    return len(set(found) & set(wanted)) / len(set(wanted)), len(hit) / len(trigrams)


def quality(folder: Path) -> list[list[object]]:
    """The text of each good file against what pdftotext reads, before anything is left out."""
    result: list[list[object]] = []
    all_words, all_trigrams = [], []
    for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        name = entry["file"]
        if entry["cls"] != "good" or name == JAPANESE:
            continue
        path = folder / name
        truth = path.with_suffix(".txt").read_text(encoding="utf-8")
        words, trigrams = shares("\n".join(raw_pages(path)), truth)
        all_words.append(words)
        all_trigrams.append(trigrams)
        bar = ".90 / -" if name == ARABIC else ""
        result.append([name, entry["pages"], f"{words:.3f}", f"{trigrams:.3f}", bar])
    means = f"{statistics.mean(all_words):.3f}", f"{statistics.mean(all_trigrams):.3f}"
    return [*result, ["**mean**", "", *means, ".98 / .90"]]


def seconds(work: Callable[[], Iterable[object]], runs: int = RUNS) -> float:
    """The median time of going through all of it."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        for _ in work():
            pass
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def plain(path: Path) -> Iterable[object]:
    """Each page's text as pdfplumber reads it when it is told nothing."""
    with pdfplumber.open(path) as file:
        for page in file.pages:
            yield page.extract_text()
            page.close()


def speed(folder: Path) -> list[list[object]]:
    """Text extraction only, and the whole way to Markdown, against plain pdfplumber."""
    result: list[list[object]] = []
    for name in TIMED:
        path = folder / name
        pages = len(list(raw_pages(path)))
        base = seconds(partial(plain, path), 1)
        for label, work, bar in (
            ("pdfplumber", None, ""),
            ("raw_pages", lambda path=path: raw_pages(path), "10"),
            (
                "read_pdf",
                lambda path=path: read_pdf(ReadRequest(path, path.name), no_progress).pages,
                "",
            ),
        ):
            took = seconds(work) if work else base
            result.append([name, label, f"{pages / took:.0f}", f"{base / took:.1f}", bar])
    return result


def made(pages: int, folder: Path) -> Path:
    """A PDF of pages with a heading, a page number and 40 lines of text, no two pages equal."""
    file = FPDF()
    file.set_font("Helvetica")
    file.set_auto_page_break(False)
    for page in range(1, pages + 1):
        file.add_page()
        file.set_font_size(18)
        file.text(20, 25, f"About {page * 7919 % 10_007}")
        file.set_font_size(10)
        for line in range(40):
            words = " ".join(f"word{(page * 40 + line) * 31 % 9973 + n}" for n in range(9))
            file.text(20, 35 + 6 * line, f"{words}.")
        file.text(100, 290, f"Page {page}")
    path = folder / f"{pages}.pdf"
    file.output(str(path))
    return path


def memory() -> list[list[object]]:
    """Peak memory of a process that reads made files, of which only the text may grow."""
    result: list[list[object]] = []
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        for pages in MADE_PAGES:
            path = made(pages, Path(folder))
            began = time.perf_counter()
            peak = peak_mb([sys.executable, "-c", READER, str(path)])
            took = time.perf_counter() - began
            text = sum(
                len(page) for page in read_pdf(ReadRequest(path, path.name), no_progress).pages
            )
            size = f"{path.stat().st_size / 1e6:.1f} MB"
            result.append([pages, size, f"{text / 1e6:.1f} MB", f"{peak:.0f} MB", f"{took:.1f} s"])
    return result


def whole() -> list[list[object]]:
    """`djinn ingest` of made files, to the last vector: all of its processes together."""
    result: list[list[object]] = []
    for pages in WHOLE_PAGES:
        with home_with() as home:
            path = made(pages, home.root)
            began = time.perf_counter()
            peak = family_peak_mb([*PROGRAM, "--home", str(home.root), "ingest", str(path)])
            took = time.perf_counter() - began
            bar = "500 MB" if pages == 1000 else ""
            result.append([pages, f"{peak:.0f} MB", f"{took:.1f} s", bar])
    return result


def main() -> None:
    """Print all tables."""
    folder = need_data() / "pdfs"
    print(f"## Documents\n\n`python benchmarks/documents.py` on {machine()}\n")
    print("Text of PDFs against pdftotext's: distinct words and word trigrams found:\n")
    table(["file", "pages", "words", "trigrams", "bar"], quality(folder))
    print("Pages a second, median of 5, beside pdfplumber's `extract_text` of each page:\n")
    table(["file", "by", "pages/s", "times pdfplumber", "bar"], speed(folder))
    print("Peak memory of a process that reads a made PDF:\n")
    table(["pages", "file", "text", "peak", "time"], memory())
    print("`djinn ingest` of such a PDF, workers and vectors included:\n")
    table(["pages", "peak", "time", "bar"], whole())


if __name__ == "__main__":
    main()
