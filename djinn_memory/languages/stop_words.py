"""English words that say nothing about what a question asks for."""

from functools import cache
from pathlib import Path


@cache
def stop_words() -> frozenset[str]:
    """The words, in lower case."""
    return frozenset(Path(__file__).with_name("english.txt").read_text().split())
