"""The legs of a search. Each proposes candidates and scores given candidates."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from djinn_memory.search.candidate import MARKS

if TYPE_CHECKING:
    from djinn_memory.search.state import Leg

LEGS = [
    "djinn_memory.search.legs.words:WordsLeg",
    "djinn_memory.search.legs.meaning:MeaningLeg",
    "djinn_memory.search.legs.graph:GraphLeg",
]
"""The legs that searches use, as `module:class`. Append one to add a leg."""


def leg_classes() -> list[type[Leg]]:
    """The classes of the legs, in the order in which their scores are shown."""
    places = (place.partition(":") for place in LEGS)
    return [getattr(import_module(module), name) for module, _, name in places]


def labels() -> dict[str, str]:
    """How `--explain` calls the scores of the legs and of the stages, by their names."""
    legs = {leg.name: f"{leg.label} {leg.unit}" for leg in leg_classes()}
    return {**legs, **{mark.name: f"{mark.label} {mark.unit}".strip() for mark in MARKS}}
