"""Words that say the same, and words that only frame a statement. Pure.

Statements in other words have one normal form: `Logs are kept for 30 days` and `We retain logs for
90 days`. Embeddings do not tell them from statements about other things: the packaged model gives
.74 to .92 to eight such pairs, and up to .86 to pairs such as `the lamp in the hall` and `the lamp
in the attic`. So each word of a normal form must have a counterpart.
"""

from __future__ import annotations

_SAME = (
    "open opens opening opened", "begin begins began begun beginning start starts started commence",
    "end ends ended finish finishes finished", "cost costs price fee charge",
    "need needs needed require requires required necessary", "keep keeps kept retain retained",
    "take takes took last lasts lasted duration", "allow allows allowed permit permits permitted",
    "limit maximum max cap", "delete deletes deleted remove removes removed erase erased",
    "buy buys bought purchase purchased", "big large", "live lives lived reside resides",
    "minute minutes min mins", "hour hours hr hrs", "second seconds sec secs",
    "litre litres liter liters", "metre metres meter meters", "kilometre kilometres kilometer km",
    "euro euros eur", "dollar dollars usd", "percent percentage", "gigabyte gigabytes gb",
    "person persons people", "child children kid kids", "phone telephone",
    "hold holds held contain contains contained", "build builds built", "run runs ran running",
    "pay pays paid", "email e-mail mail", "holiday holidays vacation", "bike bicycle",
    "approve approves approved approval", "weigh weighs weighed weight", "allergic allergy",
    "restart restarts restarted reboot reboots rebooted", "retry retries", "salary wage",
    "inhabitant inhabitants resident residents",
)  # fmt: skip

WORDS = {word: words.split()[0] for words in _SAME for word in words.split()}
"""The word that stands for each word of a group."""

FRAMES = frozenset({
    "time", "happen", "happens", "occur", "occurs", "scheduled", "planned", "set", "amount",
    "amounts", "total", "value", "size", "length", "we", "us", "you", "every", "each", "per",
    "daily", "equal", "equals", "fixed", "following", "available", "located", "situated", "lie",
    "lies", "stand", "stands", "about",
})  # fmt: skip
"""Words without a meaning of their own beside others, as in `the opening time`."""
