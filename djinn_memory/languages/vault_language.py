"""Tells whether the notes of a folder are mostly in another language than English."""

from __future__ import annotations

from pathlib import Path

from djinn_memory.languages.detection import ENGLISH, READ, detect, is_latin
from djinn_memory.notes.dialects.guess import glance, some_notes


def mostly_foreign(root: Path) -> bool:
    """Whether more of about 200 notes are in another language than in English.

    Notes whose language is not known do not count. Files that cannot be read are left out.
    """
    texts = [glance(path) for path in some_notes(root)[:200]]
    foreign = [told for told in map(_is_foreign, texts) if told is not None]
    return sum(foreign) > len(foreign) / 2


def _is_foreign(text: str) -> bool | None:
    """Whether a text is in another language than English; None if that is not known."""
    if not is_latin(text[:READ]):
        return True
    language = detect(text)
    return None if language is None else language != ENGLISH
