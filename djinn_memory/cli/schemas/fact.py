"""What `djinn fact` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.memories.facts.queries import Fact
from djinn_memory.memories.facts.verbs import FactChange, FactHit, FactPage
from djinn_memory.models import Problem


class FactSet(
    FactChange, frozen=True, tag="djinn.fact.set/1", tag_field="schema", forbid_unknown_fields=True
):
    """What became of a fact that was set, or verified."""


class FactGet(
    Fact, frozen=True, tag="djinn.fact.get/1", tag_field="schema", forbid_unknown_fields=True
):
    """A fact."""

    problems: Sequence[Problem] = ()


class FactList(
    FactPage, frozen=True, tag="djinn.fact.list/1", tag_field="schema", forbid_unknown_fields=True
):
    """A page of facts."""

    problems: Sequence[Problem] = ()


class FactSearch(Struct, tag="djinn.fact.search/1", tag_field="schema", forbid_unknown_fields=True):
    """The facts that a search found."""

    query: str
    """What was asked."""
    facts: Sequence[FactHit]
    """The nearest in meaning first."""
    problems: Sequence[Problem] = ()


class FactForget(Struct, tag="djinn.fact.forget/1", tag_field="schema", forbid_unknown_fields=True):
    """A fact that was moved to the trash."""

    fact: Fact
    """As it was."""
    moved_to: Path
    """Where its note lies now."""
    problems: Sequence[Problem] = ()
