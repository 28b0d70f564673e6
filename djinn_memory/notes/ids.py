"""The ids of memories: written once, never changed."""

from __future__ import annotations

import os
import re

ID = re.compile(r"mem_[0-9a-hjkmnp-tv-z]{16}")
"""`mem_` and 16 digits of Crockford's base 32."""

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id() -> str:
    """A new id: 80 random bits."""
    bits = int.from_bytes(os.urandom(10))
    return "mem_" + "".join(_DIGITS[bits >> shift & 31] for shift in range(75, -5, -5))
