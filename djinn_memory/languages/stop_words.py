"""English words that do not affect the meaning of a question."""

from functools import cache
from pathlib import Path


@cache
def stop_words() -> frozenset[str]:
    """The words, in lower case."""
    return frozenset(Path(__file__).with_name("english.txt").read_text().split())
