"""Tells text that people wrote from data and minified code, of which no vector says anything."""

from __future__ import annotations

SHORTEST = 200
"""Characters of the shortest text that is judged."""

BLANK_SHARE = 0.06
"""A text with a smaller share of white space was not written to be read. English has 15 to 20 %,
German and Finnish 11 to 14 %, code over 10 %, minified code 2 to 5 %, base64 less than 2 %."""

FOREIGN_SHARE = 0.1
"""With more letters than these outside of ASCII, a text may be in a script without spaces."""


def legible(text: str) -> bool:
    """Whether people may have written `text`. A short one always counts as legible."""
    if len(text) < SHORTEST:
        return True
    if len(text) - len(text.encode("ascii", "ignore")) > FOREIGN_SHARE * len(text):
        return True
    return sum(map(text.count, " \n\t")) >= BLANK_SHARE * len(text)
