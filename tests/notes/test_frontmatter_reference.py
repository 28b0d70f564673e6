"""Our reading of front matter agrees with python-frontmatter's on every well-formed note at hand.

Both must split a note at the same place and read the same keys. The reference parses scalars as
typed YAML; ours keeps them as written. Two scalars agree when ours, parsed as YAML, is the
reference's value. The reference strips the body, so bodies are compared without outer white space.

A note is well-formed when the reference reads it without an error. A template with `{{date}}` is
not: to YAML, that is a mapping with a mapping as its key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import frontmatter as reference
import pytest
import yaml

from djinn_memory.notes.encoding import decode
from djinn_memory.notes.frontmatter import read

VAULTS = Path(__file__).resolve().parents[2] / "vaults"


def agree(theirs: Any, ours: Any) -> bool:
    """Whether two values of front matter are the same, see above."""
    if isinstance(theirs, dict):
        return (
            isinstance(ours, dict)
            and len(theirs) == len(ours)
            and all(
                agree(key, name) and agree(value, inner)
                for (key, value), (name, inner) in zip(theirs.items(), ours.items(), strict=True)
            )
        )
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(theirs) == len(ours) and all(map(agree, theirs, ours))
    if not isinstance(ours, str):
        return False
    return theirs == ours if isinstance(theirs, str) else bool(yaml.safe_load(ours) == theirs)


def compare(folder: Path) -> tuple[int, int, int]:
    """How many notes of a folder agree, have fields, and are not well-formed."""
    notes = with_fields = malformed = 0
    for path in sorted(folder.rglob("*.md")):
        text, _ = decode(path.read_bytes())
        ours = read(text)
        try:
            theirs = reference.loads(text)
        except (yaml.YAMLError, ValueError):
            malformed += 1
            continue
        assert ours.problem is None, path
        assert agree(theirs.metadata, ours.fields), (path, theirs.metadata, ours.fields)
        assert theirs.content == text[ours.body :].strip(), path
        notes += 1
        with_fields += bool(ours.fields)
    return notes, with_fields, malformed


def test_sample_vaults() -> None:
    notes, with_fields, malformed = compare(VAULTS)
    assert malformed == 0
    assert notes >= with_fields >= 36


@pytest.mark.parametrize(
    ("vault", "least", "most_malformed"),
    [("foam-docs", 80, 0), ("jackyzha0", 740, 0), ("kepano", 70, 35)],
)
def test_real_vaults(data_dir: Path, vault: str, least: int, most_malformed: int) -> None:
    folder = data_dir / "vaults" / vault
    if not folder.is_dir():
        pytest.skip(f"no vault at {folder}")
    notes, with_fields, malformed = compare(folder)
    assert notes >= least and with_fields > 0
    assert malformed <= most_malformed


@pytest.mark.parametrize(
    "block",
    [
        "title: a", "a: 2024-05-06\nb: 2024-05-06T10:00:00Z", "n: 012\nf: 1.50\nb: yes\nz: ~",
        "tags: [a, 'b c', 3]\nlist:\n- x\n- y: z", "text: |\n  one\n  two\nfold: >-\n  a\n  b",
        "a: &x [1, 2]\nb: *x", 'q: "a\\tb"\nu: \\x', "k: 'it''s'", "e:\nn: null\nd: {}\nl: []",
    ],
)  # fmt: skip
def test_shapes_of_values(block: str) -> None:
    text = f"---\n{block}\n---\n\nbody\n"
    theirs, ours = reference.loads(text), read(text)
    assert ours.problem is None
    assert agree(theirs.metadata, ours.fields), (theirs.metadata, ours.fields)
    assert theirs.content == text[ours.body :].strip()


def test_what_does_not_agree_is_seen() -> None:
    assert not agree({"a": 1}, {"a": "2"})
    assert not agree({"a": 1}, {"b": "1"})
    assert not agree({"a": [1]}, {"a": "1"})
    assert not agree({"a": "1"}, {"a": ["1"]})
    assert not agree({"a": None}, {"a": "x"})
    assert not agree({}, {"a": "1"})
