"""Folders of memories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.type_folders import folder


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("decision", "decisions"), ("summary", "summaries"), ("person", "people"),
        ("place", "places"), ("address", "addresses"), ("sketch", "sketches"), ("box", "boxes"),
        ("day", "days"), ("idée", "idées"), ("決定", "決定"), ("con", "con-notes"),
        ("Meeting Note", "meeting-notes"), ("../up", "ups"),
    ],
)  # fmt: skip
def test_the_folder_of_a_type(kind: str, name: str) -> None:
    assert folder(kind) == name


@given(st.text(min_size=1, max_size=60))
def test_a_folder_is_one_plain_name(kind: str) -> None:
    name = folder(kind)
    assert name
    assert not name.startswith(".")
    assert not set(name) & set("/\\\0\n:")
