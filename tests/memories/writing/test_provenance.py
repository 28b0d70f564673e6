"""The front matter of derived memories."""

from __future__ import annotations

from djinn_memory.memories.writing.provenance import Provenance


def test_what_is_derived_has_the_domains_of_all_evidence() -> None:
    origin = Provenance("test.rule", ("[[a]]", "[[b]]"), domains=("sea", "Money", "money"))
    assert origin.fields() == {
        "domain": ["Money", "sea"], "rule": "test.rule", "evidence": ["[[a]]", "[[b]]"]
    }  # fmt: skip
    assert Provenance("test.rule", domains=("sea",)).fields()["domain"] == "sea"
    assert "domain" not in Provenance("test.rule").fields()
