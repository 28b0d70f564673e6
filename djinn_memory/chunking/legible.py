"""Separates text that people wrote from data and minified code, whose vectors have no meaning."""

from __future__ import annotations

SHORTEST = 200
"""Minimum number of characters in a text that is judged."""

BLANK_SHARE = 0.06
"""A text with a smaller share of white space was not written to be read. English has 15 to 20 %,
German and Finnish 11 to 14 %, code over 10 %, minified code 2 to 5 %, base64 less than 2 %."""

FOREIGN_SHARE = 0.1
"""A text with a larger share of non-ASCII letters may be in a script without spaces."""

BROKEN_SHARE = 0.05
"""A text with a larger share of control and replacement characters is binary. In random bytes the
share is over half; a note in another encoding rarely has 3 %."""

DIGIT_SHARE = 0.4
"""A text with a larger share of digits, ignoring spaces, is a dump or a table of numbers."""

_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r"))


def legible(text: str) -> bool:
    """Whether people may have written `text`. A short text always counts as legible."""
    if len(text) < SHORTEST:
        return True
    data = text.encode("utf-8", "replace")
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls + text.count("\ufffd") > BROKEN_SHARE * len(text):
        return False
    if len(text) - len(text.encode("ascii", "ignore")) > FOREIGN_SHARE * len(text):
        return True
    blanks = sum(map(text.count, " \n\t"))
    digits = sum(map(text.count, "0123456789"))
    return blanks >= BLANK_SHARE * len(text) and digits <= DIGIT_SHARE * (len(text) - blanks)
