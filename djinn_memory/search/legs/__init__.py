"""The legs of a search: each proposes candidates and scores given ones."""

from djinn_memory.search.candidates import Leg
from djinn_memory.search.legs.meaning import MeaningLeg
from djinn_memory.search.legs.words import WordsLeg

LEGS: list[type[Leg]] = [WordsLeg, MeaningLeg]
"""The legs that searches ask; append a class to add one."""
