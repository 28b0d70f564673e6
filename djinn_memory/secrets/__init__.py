"""Detects keys, tokens and passwords in a text before djinn writes it anywhere.

Every search begins at a literal such as `ghp_` and reads a bounded number of characters from there,
so the time is linear in the length of any text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from djinn_memory.errors import Refused, Remedy
from djinn_memory.secrets.named import assigned, headers, urls
from djinn_memory.secrets.tables import columns
from djinn_memory.secrets.tokens import Candidate, discord, private_keys, tokens


class Allowances(Protocol):
    """Settings that allow some secrets."""

    allow: list[str]
    """Regular expressions. A secret that contains a match of one of them is not reported."""


class DetectedSecret(Struct, frozen=True):
    """A part of a text that looks like a secret."""

    kind: str
    """The kind of secret, with its article: `a GitHub token`."""
    line: int
    """The line in which it begins, from 1."""
    start: int
    """The offset of the secret itself in the text."""
    stop: int
    """The offset behind it."""
    shown: str
    """The masked secret: at most its first four characters, and no more than a quarter of it."""


def find(text: str, allow: Sequence[str] = ()) -> list[DetectedSecret]:
    """The parts of `text` that look like secrets, in their order, without overlaps.

    A secret does not count when a regular expression of `allow` has a match in its name and value.
    """
    candidates = sorted(_candidates(text), key=lambda candidate: (candidate[1], -candidate[2]))
    allowed = [_compiled(pattern) for pattern in allow]
    lines: list[int] | None = None
    result: list[DetectedSecret] = []
    for kind, start, stop, begin in candidates:
        if result and start < result[-1].stop:
            continue
        if any(pattern.search(text[begin:stop]) for pattern in allowed):
            continue
        if lines is None:
            lines = [match.end() for match in re.finditer("\n", text)]
        line = bisect_right(lines, start) + 1
        result.append(DetectedSecret(kind, line, start, stop, _masked(text[start:stop])))
    return result


def guard(
    text: str,
    *,
    what: str,
    settings: Allowances,
    allow: bool = False,
    option: bool = True,
) -> None:
    """Raise `Refused` when `text` seems to contain a secret, unless `allow` is set.

    `what` names the text in the error. `option` says whether the request can allow a secret. The
    error shows nothing of a secret but its mask.
    """
    secrets = [] if allow else find(text, settings.allow)
    if not secrets:
        return
    first = secrets[0]
    more = f", and {len(secrets) - 1} more" if len(secrets) > 1 else ""
    remedies = [Remedy("", {"allow_secret": True}, "writes it all the same")] if option else []
    raise Refused(
        f"{what} holds what looks like {first.kind} ({first.shown}, line {first.line}){more}; "
        "remove it, or add a pattern to secrets.allow in your own settings",
        *remedies,
    )


def mask(text: str) -> str:
    """`text` with all its secrets masked, including those that the settings allow."""
    parts, end = [], 0
    for secret in find(text):
        parts += [text[end : secret.start], secret.shown]
        end = secret.stop
    return "".join((*parts, text[end:]))


def _masked(secret: str) -> str:
    return "****" if secret.startswith("-----") else f"{secret[: min(4, len(secret) // 4)]}****"


def _candidates(text: str) -> Iterator[Candidate]:
    # U+0130 is the only letter that gets longer in lower case.
    lower = text.replace("\u0130", "I").lower()
    if "-----begin " in lower or "putty-user-key-file-" in lower:
        yield from private_keys(text, lower)
    yield from tokens(text, lower)
    yield from discord(text)
    if "://" in text:
        yield from urls(text)
    yield from headers(text, lower)
    yield from assigned(text, lower)
    yield from columns(text, lower)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
