"""The legs of a search. Each proposes candidates and scores given candidates."""

from djinn_memory.search.candidates import Leg
from djinn_memory.search.legs.meaning import MeaningLeg
from djinn_memory.search.legs.words import WordsLeg

LEGS: list[type[Leg]] = [WordsLeg, MeaningLeg]
"""The legs that searches use. Append a class to add a leg."""
