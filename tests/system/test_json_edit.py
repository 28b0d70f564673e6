"""Editing JSON text in place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.system.json_edit import UnspliceableJsonError, append, parse, remove

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
SPACES = st.sampled_from([None, 1, 2, "\t"])


def added(data: Any, path: tuple[str, ...], value: Any) -> Any:
    """The result of `append`, on the data."""
    first, rest = path[0], path[1:]
    if rest:
        return {**data, first: added(data.get(first, {}), rest, value)}
    return {**data, first: [*data.get(first, []), value]}


@given(st.dictionaries(st.text(max_size=5), VALUES), SPACES, VALUES, st.booleans())
def test_what_is_added_can_be_removed(data: Any, indent: Any, value: Any, crlf: bool) -> None:
    data.pop("hooks", None)
    text = json.dumps(data, indent=indent) + "\n"
    text = text.replace("\n", "\r\n") if crlf else text
    more = append(text, ("hooks", "Stop"), value)
    assert json.loads(more) == added(data, ("hooks", "Stop"), value)
    assert remove(more, ("hooks",)) == text
    twice = append(more, ("hooks", "Stop"), 2)
    assert json.loads(twice)["hooks"] == {"Stop": [value, 2]}
    assert remove(twice, ("hooks", "Stop", 1)) == more
    assert json.loads(remove(twice, ("hooks", "Stop", 0)))["hooks"] == {"Stop": [2]}


def test_the_layout_is_kept() -> None:
    text = json.dumps({"model": "opus", "hooks": {"Stop": [1]}}, indent=4)
    assert append(text, ("hooks", "Stop"), {"a": 1}) == (
        '{\n    "model": "opus",\n    "hooks": {\n        "Stop": [\n            1,\n            {'
        '\n                "a": 1\n            }\n        ]\n    }\n}'
    )
    assert append('{"a": 1}', ("b",), 2) == '{"a": 1, "b": [2]}'
    assert append('{"a": {}}', ("a", "b"), 2) == '{"a": {"b": [2]}}'
    assert append("{}", ("b",), 2) == '{\n  "b": [\n    2\n  ]\n}'
    assert append('{\n  "a": {},\n  "c": 1\n}', ("a", "b"), 2) == (
        '{\n  "a": {\n    "b": [\n      2\n    ]\n  },\n  "c": 1\n}'
    )


def test_of_equal_keys_the_last_counts() -> None:
    assert append('{"a": [1], "a": [2]}', ("a",), 3) == '{"a": [1], "a": [2, 3]}'


def test_what_is_not_there_cannot_be_removed() -> None:
    assert remove('{"a": [1]}', ("a", 4)) == '{"a": [1]}'
    assert remove('{"a": [1]}', ("b", "c")) == '{"a": [1]}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1: Expecting value"),
        ('{\n  "a": 1,\n}', "line 3: "),
        ("[" * 100_000, "nested too deep"),
        ("[]", "the top is not an object"),
        ('{"a": 1}', "a is not an object"),
        ('{"a": {"b": {}}}', "a.b is not a list"),
    ],
)
def test_what_cannot_be_edited_is_named(text: str, why: str) -> None:
    with pytest.raises(UnspliceableJsonError, match=why):
        append(text, ("a", "b"), 1)


def test_a_text_is_parsed() -> None:
    assert parse(' {"a": [1]} ') == {"a": [1]}
