"""Edits of the front matter change nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from tests.conftest import Run

HEAD = "---\r\ntags:\r\n  - lamp # first\r\n  - 'harbour'\r\n  - #none\r\nstatus: open  \r\n"
BODY = "---\r\n# Lamp\r\n\r\nIt turns. #pier  \r\n"


@pytest.fixture
def note(djinn: Djinn, shared: Path) -> Path:
    """A note with comments, odd spaces and Windows line ends."""
    place = shared / "lamp.md"
    place.write_bytes((HEAD.replace("  - #none\r\n", "") + BODY).encode())
    djinn.index()
    return place


def test_only_the_lines_of_the_fields_change(djinn: Djinn, note: Path) -> None:
    before = note.read_bytes()
    shown = djinn.memories.edit("Lamp", status="done", dry_run=True)
    assert "+status: done" in shown.diff and note.read_bytes() == before
    done = djinn.memories.edit(
        "Lamp", fields=["importance=0.8", "who=[Ann, Bob]"], tags=["x/y"], untag=["Harbour"],
        status="done",
    )  # fmt: skip
    head = "---\r\ntags:\r\n  - lamp # first\r\n  - x/y\r\nstatus: done  \r\n"
    fields = "importance: 0.8\r\nwho: [Ann, Bob]\r\n"
    assert note.read_bytes() == (head + fields + BODY).encode()
    assert done.changed and djinn.memories.list(tags=["x/y"]).total == 1
    djinn.memories.edit("Lamp", fields=["who=", "importance="], status="open")
    djinn.changes.undo()
    djinn.changes.undo()
    assert note.read_bytes() == before


def test_flow_lists_shrink_and_grow(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("---\ntags: [a,  'b', c ] # these\n---\nA.\n")
    for tag, left in (("a", "['b', c ]"), ("c", "['b' ]")):
        djinn.memories.edit("a", untag=[tag])
        assert (shared / "a.md").read_text() == f"---\ntags: {left} # these\n---\nA.\n"
    djinn.memories.edit("a", untag=["b"])
    assert (shared / "a.md").read_text() == "---\n---\nA.\n"
    djinn.memories.edit("a", fields=['deep={"a": [1, "x"], "b": true}'], json_value=True)
    assert (shared / "a.md").read_text() == "---\ndeep: {a: [1, x], b: true}\n---\nA.\n"
    djinn.memories.edit("a", fields=["deep=lamps: two"])
    assert (shared / "a.md").read_text() == '---\ndeep: "lamps: two"\n---\nA.\n'


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "nothing to change"),
        ({"fields": ["x"]}, "give KEY=VALUE"),
        ({"fields": ["importance=high"]}, "a number from 0 to 1"),
        ({"fields": ["confidence=95"]}, "a number from 0 to 1"),
        ({"fields": ["due=soon"]}, "not a date"),
        ({"fields": ["valid_from=soon"]}, "not a date"),
        ({"fields": ["plane=air"]}, "unknown plane"),
        ({"fields": ["id=mem_7k2m9q4dxw30hv5t"]}, "never changes"),
        ({"fields": ["title=Pier lamp"]}, "rename"),
        ({"fields": ["tags=a"]}, "one by one"),
        ({"fields": ["type=document"]}, "cannot be changed"),
        ({"fields": ["x=["], "json_value": True}, "is not JSON"),
        ({"tags": ["two words"]}, "a tag is one word"),
        ({"untag": ["nowhere"]}, "has no tag"),
        ({"untag": ["pier"]}, "stands in the text"),
    ],
)
def test_what_a_field_cannot_have(
    djinn: Djinn, note: Path, options: dict[str, object], why: str
) -> None:
    before = note.read_bytes()
    with pytest.raises(UsageError, match=why) as caught:
        djinn.memories.edit("Lamp", **options)  # type: ignore[call-overload]
    assert "\n" not in str(caught.value) and note.read_bytes() == before


def test_whom_it_refuses(djinn: Djinn, note: Path) -> None:
    with pytest.raises(Refused, match="looks like"):
        djinn.memories.edit("Lamp", fields=["password=correct-Horse-7battery"])
    djinn.home.edit((("vaults", "shared", "read_only"), True))
    with pytest.raises(Refused, match="read-only"):
        djinn.memories.edit("Lamp", status="done")
    with pytest.raises(NotFound):
        djinn.memories.edit("Nowhere", status="done")


def test_an_editor_opens_and_what_it_saved_is_found(
    djinn: Djinn, note: Path, run: Run, tmp_path: Path
) -> None:
    editor = tmp_path / "edit.sh"
    editor.write_text('#!/bin/sh\nprintf "A quokka.\\n" >> "$1"\n')
    editor.chmod(0o755)
    home = djinn.home.root
    done = run("memory", "edit", "Lamp", home=home, EDITOR=str(editor), VISUAL="")
    assert (done.returncode, done.stdout) == (0, "edited shared/lamp.md\n")
    assert len(djinn.search("quokka").hits) == 1
    done = run("memory", "edit", "Lamp", home=home, EDITOR="true", VISUAL="")
    assert done.stdout == "unchanged shared/lamp.md\n"
    before = note.read_bytes()
    done = run("memory", "edit", "Lamp", "--dry-run", home=home, EDITOR=str(editor), VISUAL="")
    assert (done.returncode, note.read_bytes()) == (2, before)
    assert done.stderr == "error: nothing to change; give a field, a tag or a status\n"
    done = run("memory", "edit", "Lamp", home=home, EDITOR=str(tmp_path / "gone"), VISUAL="")
    assert done.returncode == 5 and f"; open {note} yourself" in done.stderr
    done = run("memory", "edit", "Lamp", home=home, EDITOR="false", VISUAL="")
    assert done.stderr == f"error: false exited with status 1; open {note} yourself\n"
