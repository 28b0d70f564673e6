"""A file that was not downloaded to its end is called cut off, and its whole records are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.memories.imports.detect import _find_exports
from djinn_memory.memories.imports.records import open_tree
from tests.memories.imports.exports import BOAT, CALENDAR, LOG, trip, zipped

TEXTS = {
    "claude": json.dumps([BOAT, trip()]),
    "indented": json.dumps([BOAT, trip()], indent=1),
    "chatgpt": json.dumps(trip(), indent=1),
    "wrapped": json.dumps({"conversations": [BOAT]}),
    "log": "".join(f"{json.dumps(record)}\n" for record in LOG),
    "calendar": CALENDAR,
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_file_that_is_cut_off_anywhere_has_a_known_format(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "export"
    data = TEXTS[kind].encode()
    for end in [*range(1, 90), *range(90, len(data), 37)]:
        file.write_bytes(data[:end])
        try:
            assert [*_find_exports(open_tree(file), "auto", [])]
        except DjinnError as error:
            assert str(error).startswith("is cut off ")
            assert str(error).endswith("; export or download it again")


@pytest.mark.parametrize(
    ("kind", "end", "recorded", "what", "why"),
    [
        ("claude", -300, 2, ", after element 1", "cut off from here on, at byte"),
        ("log", -20, 1, ", line 3", "cut off in this line"),
        ("calendar", -30, 4, "", "is cut off at line 30, in the event Launch: a line END:VCAL"),
        ("calendar", -4, 4, "", "is cut off at line 32: a line END:VCALENDAR is missing"),
    ],
)
def test_what_is_before_the_end_is_recorded(
    djinn: Djinn, tmp_path: Path, kind: str, end: int, recorded: int, what: str, why: str
) -> None:
    file = tmp_path / "export"
    file.write_text(TEXTS[kind][:end])
    report = djinn.import_history([file])
    [problem] = report.problems
    assert problem.what == f"{file}{what}" and why in problem.why
    assert report.recorded == recorded


def test_an_archive_that_is_cut_off(djinn: Djinn, tmp_path: Path) -> None:
    file = zipped(tmp_path / "export.zip", conversations=[BOAT])
    data = file.read_bytes()
    file.write_bytes(data[:-30])
    with pytest.raises(DjinnError, match=rf"cut off after {len(data) - 30} bytes; download it"):
        djinn.import_history([file])


def test_an_empty_file_is_called_empty(djinn: Djinn, tmp_path: Path) -> None:
    file = tmp_path / "export.ics"
    file.touch()
    with pytest.raises(DjinnError, match=r"export\.ics: is empty"):
        djinn.import_history([file])
