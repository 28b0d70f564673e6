"""The names that synchronization gives and accepts."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.sync.notes.names import (
    conflict_path,
    numbered_path,
    original_path,
    path_key,
    why_not,
)

DIGEST = bytes(range(16))
NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
PATHS = st.lists(NAMES.filter(lambda name: not name.startswith(".")), min_size=1, max_size=3).map(
    lambda parts: "/".join(parts) + ".md"
)


def test_a_conflict_copy_is_named_from_its_content() -> None:
    path = conflict_path("a/Note.md", "Anna's Mac", DIGEST)
    assert path == "a/Note (conflict anna-s-mac 00010203).md"
    assert original_path(path) == "a/Note.md"
    assert conflict_path(path, "ben", DIGEST) == "a/Note (conflict ben 00010203).md"


def test_the_second_note_on_a_path_is_named_from_its_id() -> None:
    note_id = UUID("018f0000-0000-7000-8000-0123456789ab")
    assert numbered_path("a/Note.md", note_id) == "a/Note (456789ab).md"


@given(PATHS, st.text(), st.binary(min_size=16, max_size=16))
def test_no_name_leads_out_of_its_folder(path: str, home: str, digest: bytes) -> None:
    for made in (conflict_path(path, home, digest), numbered_path(path, UUID(bytes=digest))):
        assert PurePosixPath(made).parent == PurePosixPath(path).parent
        assert made != path
        assert made.endswith(".md")
        assert len(PurePosixPath(made).name.encode()) <= 255
        assert path_key(made) != path_key(path)


@given(PATHS, st.binary(min_size=16, max_size=16))
def test_a_short_name_is_found_again(path: str, digest: bytes) -> None:
    copy = conflict_path(path, "home", digest)
    if len(PurePosixPath(path).name.encode()) < 200 and original_path(path) is None:
        assert original_path(copy) == path


@pytest.mark.parametrize(
    "path",
    [
        "../a.md", "a/../../b.md", "/etc/a.md", "a//b.md", "./a.md", "a/./b.md", "",
        ".git/hooks/a.md", "a/.obsidian/b.md", "node_modules/a.md", "a\0.md", "x" * 300 + ".md",
        "a/", "\ud800.md",
    ],
)  # fmt: skip
def test_hostile_paths_are_refused(path: str) -> None:
    assert why_not(path)


@given(PATHS)
def test_what_a_vault_can_hold_is_accepted(path: str) -> None:
    too_long = any(len(part.encode()) > 255 for part in path.split("/"))
    assert bool(why_not(path)) == (too_long or "node_modules" in path.split("/"))


def test_names_that_only_windows_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("NUL", "nul.md", "a/con.txt", "COM1.md", "a./b.md", "a /b.md", "a:b.md")
    assert [why_not(name) for name in names] == [None] * len(names)
    monkeypatch.setattr(os, "sep", "\\")
    assert None not in [why_not(name) for name in names]
    assert why_not("conference/nullable.md") is None
