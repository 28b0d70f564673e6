"""The secret gate: keys, tokens and passwords in a text, before djinn writes it anywhere.

Every look begins at a literal, such as `ghp_`, and goes a bounded way from there, so the time is
linear in the text whatever it holds.
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
from djinn_memory.secrets.tokens import Found, discord, private_keys, tokens


class Allowances(Protocol):
    """Settings that let some secrets pass."""

    allow: list[str]
    """Regular expressions; a secret that one of them matches is not reported."""


class DetectedSecret(Struct, frozen=True):
    """Something in a text that looks like a secret."""

    kind: str
    """What it looks like, with its article: `a GitHub token`."""
    line: int
    """Where it begins, from 1."""
    start: int
    """Of the secret itself, in the text."""
    stop: int
    """Behind it."""
    shown: str
    """It, masked: at most its first four characters, and no more than a quarter of it."""


def find(text: str, allow: Sequence[str] = ()) -> list[DetectedSecret]:
    """What looks like a secret in `text`, in its order, each part of the text once.

    What one of the regular expressions `allow` finds itself in, name and value together, is none.
    """
    found = sorted(_found(text), key=lambda one: (one[1], -one[2]))
    passes = [_compiled(pattern) for pattern in allow]
    lines: list[int] | None = None
    result: list[DetectedSecret] = []
    for kind, start, stop, begin in found:
        if result and start < result[-1].stop:
            continue
        if any(one.search(text[begin:stop]) for one in passes):
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
    """Raise `Refused` when `text` holds what looks like a secret, unless that is to `allow`.

    `what` says in the error what the text is, and `option` whether the request can allow a
    secret. The error shows nothing of a secret but its mask.
    """
    found = [] if allow else find(text, settings.allow)
    if not found:
        return
    first = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    remedies = [Remedy("", {"allow_secret": True}, "writes it all the same")] if option else []
    raise Refused(
        f"{what} holds what looks like {first.kind} ({first.shown}, line {first.line}){more}; "
        "remove it, or add a pattern to secrets.allow in your own settings",
        *remedies,
    )


def mask(text: str) -> str:
    """`text` with every secret in it masked, whatever the settings allow."""
    parts, end = [], 0
    for one in find(text):
        parts += [text[end : one.start], one.shown]
        end = one.stop
    return "".join((*parts, text[end:]))


def _masked(secret: str) -> str:
    return "****" if secret.startswith("-----") else f"{secret[: min(4, len(secret) // 4)]}****"


def _found(text: str) -> Iterator[Found]:
    # The one letter that is longer in lower case than in upper case.
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
