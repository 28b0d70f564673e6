"""Modules and folders of the project that pages name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.fenced import DOCS, GENERATED, ROOT

PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
PACKAGE = ROOT / "djinn_memory"

TOP = r"(?:djinn_memory|tests|tools|benchmarks|docs|\.ci)"
PATH = re.compile(rf"{TOP}/[\w./-]*|(?:[\w-]+/)*[\w-]+\.py")

HISTORY = {ROOT / "CHANGELOG.md"}
"""Pages about what was."""

PLACEHOLDER = "NAME.py"

NAMES = {
    path.name for top in ("djinn_memory", "tests", "tools") for path in (ROOT / top).rglob("*.py")
}
"""A row that names several modules of a folder gives the folder once."""


def spans(page: Path) -> Iterator[str]:
    """The code in lines of text, without fenced blocks."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    yield from re.findall(r"`([^`\n]+)`", text)


def paths(page: Path) -> Iterator[str]:
    """The paths in a page that belong to the project."""
    for span in spans(page):
        yield from (word for word in span.split() if PATH.fullmatch(word))


def folders(page: Path) -> Iterator[str]:
    """The folders of the package in a page, such as `search/legs/`."""
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    for span in spans(page):
        if re.fullmatch(r"(?:[\w]+/)+[\w]*", span) and span.partition("/")[0] in packages:
            yield span


def exists(name: str) -> bool:
    """Whether a path is there, below the project or below the package."""
    return name in NAMES or any(
        (place / name).exists() for place in (ROOT, PACKAGE, ROOT / "benchmarks")
    )


@pytest.mark.parametrize(
    "page",
    sorted(set(PAGES) - HISTORY - GENERATED),
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_paths_in_a_page_exist(page: Path) -> None:
    missing = [name for name in paths(page) if not exists(name) and name != PLACEHOLDER]
    assert missing == []


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_folders_of_the_package_exist(name: str) -> None:
    listed = [*folders(ROOT / name)]
    assert listed
    assert [folder for folder in listed if not exists(folder)] == []
