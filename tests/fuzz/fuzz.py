"""A coverage-guided run of one parser: `python -m tests.fuzz.fuzz TARGET [libFuzzer's options]`.

A process of its own, for the fuzzer takes it over; it exits with 0 when nothing was found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import atheris

with atheris.instrument_imports(include=["djinn_memory"]):
    from tests.fuzz import checks


def front_matter(data: bytes) -> None:
    """A byte chooses the field that is edited; the rest is a note."""
    keys = ("added", "a", "title", "tags")
    key, value = keys[data[0] % len(keys)] if data else "a", ["x"] if data[:1] > b"\x80" else "v: w"
    checks.check_front_matter(data[1:], key, value)


def note(data: bytes) -> None:
    """A byte chooses the dialect."""
    dialect = checks.DIALECTS[(data[0] if data else 0) % len(checks.DIALECTS)]
    checks.check_note(data[1:], dialect, "folder/2026-03-04 name.md")


def query(data: bytes) -> None:
    checks.check_query(data.decode("utf-8", "surrogateescape"))


def dates(data: bytes) -> None:
    checks.check_dates(data.decode("utf-8", "replace"))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "front_matter": front_matter, "note": note, "query": query, "dates": dates
}  # fmt: skip

if __name__ == "__main__":
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
    atheris.Fuzz()
