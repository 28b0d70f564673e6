"""The ids of memories. An id is written once and never changes."""

from __future__ import annotations

import hashlib
import os
import re

ID = re.compile(r"mem_[0-9a-hjkmnp-tv-z]{16}")
"""`mem_` and 16 digits of Crockford's base 32."""


_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id() -> str:
    """A new id: 80 random bits."""
    return f"mem_{crockford(80)}"


def derived_id(key: str) -> str:
    """The id for a key: the same each time, so that a memory with the key is written once."""
    value = int.from_bytes(hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=10).digest())
    return f"mem_{_digits(value, 80)}"


def crockford(bits: int) -> str:
    """Random bits, a multiple of five, as digits that are hard to confuse."""
    return _digits(int.from_bytes(os.urandom(bits // 8 + 1)), bits)


def _digits(value: int, bits: int) -> str:
    return "".join(_DIGITS[value >> shift & 31] for shift in range(0, bits, 5))
