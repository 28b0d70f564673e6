"""Front matter in TOML and JSON is read as YAML is, and never edited."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused
from djinn_memory.home.home import Home
from djinn_memory.notes.frontmatter import append_text, block_end, edit, read, remove
from djinn_memory.notes.note import domains_of, parse

TOML = """+++
title = "Harbour lamps in fog"
date = 2024-03-05T10:00:00Z
day = 2024-03-05
draft = false
weight = 10
tags = ["harbour", "optics"]
[params]
author = "Ada"
+++

The second lamp burns paraffin.
"""

JSON = """{
  "title": "Mast repair",
  "type": "decision",
  "weight": 2.5,
  "draft": true,
  "cover": null,
  "params": {
    "author": "Ada"
  }
}

We replaced the mast with larch wood.
"""


def test_scalars_are_text_and_the_body_keeps_its_place() -> None:
    toml, from_json = read(TOML), read(JSON)
    assert toml.fields == {
        "title": "Harbour lamps in fog",
        "date": "2024-03-05T10:00:00+00:00",
        "day": "2024-03-05",
        "draft": "false",
        "weight": "10",
        "tags": ["harbour", "optics"],
        "params": {"author": "Ada"},
    }
    assert from_json.fields == {
        "title": "Mast repair",
        "type": "decision",
        "weight": "2.5",
        "draft": "true",
        "params": {"author": "Ada"},
    }
    assert TOML[toml.body :] == "\nThe second lamp burns paraffin.\n"
    assert JSON[from_json.body :] == "\nWe replaced the mast with larch wood.\n"
    assert TOML.replace("\n", "\r\n")[block_end(TOML.replace("\n", "\r\n")) :].startswith("\r\nThe")


JSON_VALUES = st.recursive(
    st.text(max_size=9) | st.booleans() | st.integers(), lambda inner: st.lists(inner, max_size=3)
)


@given(st.dictionaries(st.text(min_size=1, max_size=9), JSON_VALUES, min_size=1), st.text())
def test_any_json_object_is_front_matter(fields: dict[str, Any], body: str) -> None:
    block = json.dumps(fields, indent=2)
    body = body.replace("\r", "")
    found = read(f"{block}\n{body}")
    assert {*found.fields} == {*fields} and found.problem is None
    assert found.body == len(block) + 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{\n  not json\n}\ncode", None),
        ("{\n  half", None),
        ("+ one\n+++", None),
        ("+++\nbroken =\n+++\ntext", "invalid front matter in TOML"),
        ("+++\ntitle = 'open'\ntext", "the front matter is not closed"),
        ("+++\na = " + "[" * 5000 + "\n+++\ntext", "invalid front matter in TOML"),
        ("{\n" + '"a": ' + "[" * 50_000 + "\n}\ntext", None),
    ],
)
def test_what_is_no_block_is_text(text: str, problem: str | None) -> None:
    found = read(text)
    assert (dict(found.fields), found.body) == ({}, 0)
    assert (found.problem or "").startswith(problem or "") and bool(found.problem) == bool(problem)


def test_a_long_block_is_not_read() -> None:
    text = "+++\n" + "a = 1 # xx\n" * 20_000 + "+++\nBody\n"
    found = read(text)
    assert text[found.body :] == "Body\n" and "too long" in (found.problem or "")


@pytest.mark.parametrize(("text", "name"), [(TOML, "TOML"), (JSON, "JSON")])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_edits_are_refused_and_text_is_appended(text: str, name: str, newline: str) -> None:
    data = text.replace("\n", newline).encode()
    for change in (lambda: edit(data, ("tags",), ["a"]), lambda: remove(data, ("title",))):
        with pytest.raises(Refused, match=f"reads front matter in {name}, but does not edit it"):
            change()
    assert append_text(data, "More.") == data + f"{newline}More.{newline}".encode()


@pytest.mark.parametrize(
    "text", ['+++\ndomain = "work"\nbroken =\n+++\n', '{\n  "domain": "work",\n  broken\n}\n']
)
def test_a_broken_block_hides_its_domain(text: str) -> None:
    assert domains_of(parse("a.md", text.encode())) == ("work",)


def test_hugo_pages_are_shown_and_found(home: Home, shared: Path) -> None:
    (shared / "lamps.md").write_text(TOML)
    (shared / "mast.md").write_text(JSON)
    with Djinn(home) as djinn:
        [hit] = djinn.search("paraffin", limit=1)
        assert (hit.title, hit.tags, hit.lines) == (
            "Harbour lamps in fog", ("harbour", "optics"), (11, 12),
        )  # fmt: skip
        assert djinn.search("larch", types=["decision"]).hits[0].title == "Mast repair"
        assert "larch wood" in djinn.memories.show("Mast repair").text
        with pytest.raises(Refused, match="hugo convert toYAML"):
            djinn.remember("decision", "Mast repair", "Oak.", existing="revise", shared=True)
    assert (shared / "mast.md").read_text() == JSON


def test_the_library_is_imported_for_such_a_block_alone() -> None:
    code = (
        "import sys; from djinn_memory.notes.frontmatter import read;"
        "read('---\\ntitle: a\\n---\\nb'); print('frontmatter' in sys.modules);"
        "read('+++\\n+++\\n'); print('frontmatter' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
