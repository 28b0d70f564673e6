"""The real PDFs that lie beside the checkout: their text, and what is said of each class."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from html import unescape
from itertools import islice
from pathlib import Path
from statistics import mean

import pytest

from djinn_memory.documents.document import Document, Locked, ReadRequest, Unreadable, no_progress
from djinn_memory.documents.pdf.engines import open_pdf
from djinn_memory.documents.pdf.reader import BLOCK, _pages, raw_pages, read_pdf
from djinn_memory.documents.pdf.running_lines import RunningLines
from djinn_memory.documents.read import read

JAPANESE = "pdfminer__jo.pdf"
UNSPACED = (JAPANESE, "pdfminer__kampo.pdf")
"""Japanese has no spaces, so a share of words says nothing."""
ARABIC = "docling__right_to_left_01.pdf"


@pytest.fixture(scope="session")
def pdf_dir(data_dir: Path) -> Path:
    return data_dir / "pdfs"


def listed(folder: Path, *classes: str) -> list[Path]:
    entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [folder / entry["file"] for entry in entries if entry["cls"] in classes]


def order(path: Path, password: str | None = None) -> ReadRequest:
    return ReadRequest(path, path.name, password)


def shares(path: Path) -> tuple[float, float]:
    """The shares of the given text's distinct words and of its trigrams that are found."""
    ours = re.findall(r"\w+", "\n".join(raw_pages(path)))
    truth = re.findall(r"\w+", path.with_suffix(".txt").read_text(encoding="utf-8"))
    trigrams = set(zip(truth, truth[1:], truth[2:], strict=False))
    found = trigrams & set(zip(ours, ours[1:], ours[2:], strict=False))
    return len(set(ours) & set(truth)) / len(set(truth)), len(found) / len(trigrams)


def test_text_is_as_good_as_the_bars(pdf_dir: Path) -> None:
    good = [path for path in listed(pdf_dir, "good") if path.name not in UNSPACED]
    words, trigrams = zip(*map(shares, good), strict=True)
    assert len(good) == 7
    assert mean(words) >= 0.98
    assert mean(trigrams) >= 0.90
    assert shares(pdf_dir / ARABIC)[0] >= 0.90


def test_vertical_japanese_can_be_searched(pdf_dir: Path) -> None:
    (text,) = read_pdf(order(pdf_dir / JAPANESE), no_progress).pages
    for verse in ("わたくしといふ現象は", "有機交流電燈", "風景やみんなといっしょに"):
        assert verse in text


@pytest.mark.soak
def test_what_keeps_little_of_its_text_is_named(pdf_dir: Path) -> None:
    from pdfminer.high_level import extract_text

    for path in sorted(pdf_dir.glob("*.pdf")):
        try:
            document = read(order(path), no_progress)
        except Unreadable:
            continue
        kept = sum(alphanumeric("".join(document.pages)).values())
        with open_pdf(path) as file:
            drawn = "".join(page.get_textpage().get_text_range(errors="replace") for page in file)
        for text in (drawn, extract_text(path)):
            assert document.warnings or kept >= 0.6 * sum(alphanumeric(text).values()), path.name


def test_a_newspaper_in_a_font_of_the_readers(pdf_dir: Path) -> None:
    document = read(order(pdf_dir / "pdfminer__kampo.pdf"), no_progress)
    assert document.warnings == ()
    assert "道路交通法施行令の一部を改正する政令" in document.pages[0]


def test_each_class_gets_its_verdict(pdf_dir: Path) -> None:
    for path in listed(pdf_dir, "good"):
        found = read(order(path), no_progress)
        assert (found.paged, found.warnings) == (True, ()), path.name
    for name, why in (
        (
            "pdfjs__ThuluthFeatures.pdf",
            r"has fonts that do not map glyphs to letters.*ocr=True",
        ),
        ("ocrmypdf__linn.pdf", r"is a scan without text; .*ocr=True"),
        ("ocrmypdf__multipage.pdf", r"is a scan without text"),
        ("pdfplumber__password-example.pdf", r"is encrypted; pass `password=...`"),
        ("ocrmypdf__invalid.pdf", r"is damaged or truncated"),
        ("pdfplumber__empty.pdf", r"is empty"),
        ("derived__truncated.pdf", r"is damaged or truncated"),
    ):
        with pytest.raises(Unreadable, match=why) as raised:
            read(order(pdf_dir / name), no_progress)
        assert "\n" not in str(raised.value)


def test_the_encrypted_file_opens_with_its_password_only(pdf_dir: Path) -> None:
    path = pdf_dir / "pdfplumber__password-example.pdf"
    with pytest.raises(Locked, match="the password is wrong"):
        read_pdf(order(path, "wrong"), no_progress)
    found = read_pdf(order(path, "test"), no_progress)
    assert len(found.pages) == 4
    assert "backup" in found.pages[0].lower()


def alphanumeric(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


@pytest.mark.soak
def test_nothing_is_lost_and_nothing_doubled(pdf_dir: Path) -> None:
    """But for running lines and bullets, among which `o` is the only letter."""
    for path in listed(pdf_dir, "good"):
        with open_pdf(path) as file:
            pages = [page.lines for page in _pages(file, path, None)]
        raw = ["\n".join(line.text for line in page) for page in pages]
        assert raw == list(raw_pages(path)), path.name
        running, coming = RunningLines(), iter(pages)
        kept = []
        while block := list(islice(coming, BLOCK)):
            kept += running.remove(block)
        expected = alphanumeric("".join(line.text for page in kept for line in page))
        found: Document = read_pdf(order(path), no_progress)
        assert alphanumeric(unescape("".join(found.pages))) == expected, path.name
        dropped = sum(map(len, pages)) - sum(map(len, kept))
        assert dropped <= 5 * len(pages), path.name


def test_headings_and_tables_of_a_manual(pdf_dir: Path) -> None:
    pages = read_pdf(order(pdf_dir / "docling__redp5110_sampled.pdf"), no_progress).pages
    text = "\n\n".join(pages)
    for heading in (
        "# Contents", "# Preface", "## Authors",
        "# Chapter 1. Securing and protecting IBM DB2 data", "## 1.1 Security fundamentals",
        "### 1.3.1 Existing row and column control",
    ):  # fmt: skip
        assert f"\n\n{heading}\n\n" in f"\n\n{text}\n\n".replace("\\.", "."), heading
    assert "| Column name | Data type | Description |\n| --- | --- | --- |" in text
    assert "All rights reserved" in text, "it stands on too few pages"


def test_columns_of_a_dense_page(pdf_dir: Path) -> None:
    path = pdf_dir / "pdfplumber__federal-register-2020-17221.pdf"
    pages = read_pdf(order(path), no_progress).pages
    running = [page for page in pages if "VerDate" in page or "jbell" in page]
    assert all(len(page) < 300 for page in running), "only a page that is a picture keeps them"
    assert "Indonesia, resulting in 189 fatalities.\nInvestigation of the accident" in pages[1]


def test_arabic_paragraphs_stay_whole(pdf_dir: Path) -> None:
    (text,) = read_pdf(order(pdf_dir / ARABIC), no_progress).pages
    assert len(text.split("\n\n")) == 5


@pytest.mark.soak
@pytest.mark.parametrize(
    "name", ["docling__redp5110_sampled.pdf", "pdfplumber__federal-register-2020-17221.pdf"]
)
def test_text_comes_ten_times_as_fast_as_from_pdfplumber(pdf_dir: Path, name: str) -> None:
    import pdfplumber

    def seconds(most: int) -> float:
        began = time.process_time()
        assert len(list(islice(raw_pages(pdf_dir / name), most))) == most
        return time.process_time() - began

    seconds(1)
    ours = min(seconds(8), seconds(8))
    began = time.process_time()
    with pdfplumber.open(pdf_dir / name, pages=range(1, 9)) as file:
        for page in file.pages:
            page.extract_text()
            page.close()
    assert time.process_time() - began >= 10 * ours
