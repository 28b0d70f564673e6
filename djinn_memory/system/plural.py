"""Formats a number with its noun, in the singular or the plural."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """`1 note`, `2 notes`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeo" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
