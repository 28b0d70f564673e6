"""Passwords in the columns of Markdown tables that have a heading for passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from djinn_memory.secrets.text import SearchedText
from djinn_memory.secrets.tokens import Candidate
from djinn_memory.secrets.values import password, plain

_HEAD_WORDS = ("pass", "pw", "kennwort", "contrase\u00f1a", "senha")
_RULE = re.compile(r"\n[ \t>]{0,8}[|:-][|: \t-]{2,400}\r?(?=\n|\Z)")
_HEAD = re.compile(
    r"(?:[\w-]{1,20} ){0,3}(?:passwor[dt]|passwd|passphrase|passcode|kennwort|contrase\u00f1a"
    r"|mot de passe|senha|pwd)"
)
_LONGEST_HEAD = 1000
"""Maximum length of the head of a table, in characters."""
_LINE = re.compile(r"[^\n]*\n?")
_CELL = re.compile(r"((?:\\\||[^|])*+)(?:\||\Z)")
_FIRST = re.compile(r"[> \t]*\|?")
_MARKS = "*_` \t\r\n"


def columns(searched: SearchedText) -> Iterator[Candidate]:
    """Passwords in tables."""
    text, lower = searched.text, searched.lower
    if "|" not in text:
        return
    end = 0
    for place in sorted(chain.from_iterable(map(searched.places, _HEAD_WORDS))):
        stop = lower.find("\n", place, place + _LONGEST_HEAD) if place >= end else -1
        rule = _RULE.match(lower, stop) if stop >= 0 else None
        if not rule:
            end = max(end, stop)
            continue
        head = lower[max(end, stop - _LONGEST_HEAD) : stop].rpartition("\n")[2]
        headed = [bool(_HEAD.fullmatch(cell)) for _, cell in _cells(head)]
        end = rule.end()
        if not any(headed):
            continue
        for line in _LINE.finditer(text, end + 1):
            if "|" not in line[0]:
                break
            for is_password, (at, cell) in zip(headed, _cells(line[0]), strict=False):
                if is_password and (password(cell, False) or plain(cell, False)):
                    start = line.start() + at
                    yield "a password", start, start + len(cell), start
            end = line.end()


def _cells(row: str) -> Iterator[tuple[int, str]]:
    """The cells of a row, each as its offset in the row and its text."""
    first = _FIRST.match(row)
    for cell in _CELL.finditer(row, first.end() if first else 0):
        value = cell[1].strip(_MARKS)
        yield cell.start() + cell[1].find(value), value
