"""Detects keys, tokens and passwords in a text before djinn writes it anywhere.

Every search begins at a literal such as `ghp_` and reads a limited number of characters from there.
The time is therefore linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from msgspec import Struct

from djinn_memory.errors import Refused, Remedy
from djinn_memory.secrets import codes, formats, named, tokens
from djinn_memory.secrets.rules import Search, SearchedText, assigned, by_word, compiled

_SEARCHES: tuple[Search, ...] = (
    *tokens.SEARCHES,
    *named.SEARCHES,
    partial(assigned, rules=by_word((*named.RULES, *formats.RULES))),
    *formats.SEARCHES,
    *codes.SEARCHES,
)


class _Allowances(Protocol):
    """Settings that allow some secrets."""

    allow: list[str]
    """Regular expressions. A secret that contains a match of one of them is not reported."""


class _DetectedSecret(Struct, frozen=True):
    """A part of a text that looks like a secret."""

    kind: str
    """The kind of secret, with its article: `a GitHub token`."""
    line: int
    """The line on which it begins, from 1."""
    start: int
    """The offset of the secret itself in the text."""
    stop: int
    """The offset of its end."""
    shown: str
    """The masked secret: at most its first four characters, and at most a quarter of it."""


def find(text: str, allow: Sequence[str] = ()) -> list[_DetectedSecret]:
    """The parts of `text` that look like secrets, in order, without overlaps.

    A secret does not count when a regular expression of `allow` matches in its name or value.
    """
    searched = SearchedText.of(text)
    candidates = [candidate for search in _SEARCHES for candidate in search(searched)]
    candidates.sort(key=lambda candidate: (candidate[1], -candidate[2]))
    allowed = [compiled(pattern) for pattern in allow]
    line, counted = 1, 0
    result: list[_DetectedSecret] = []
    for kind, start, stop, begin in candidates:
        if result and start < result[-1].stop:
            continue
        if any(pattern.search(text[begin:stop]) for pattern in allowed):
            continue
        line += text.count("\n", counted, start)
        counted = start
        result.append(_DetectedSecret(kind, line, start, stop, _masked(text[start:stop])))
    return result


def guard(
    text: str, *, what: str, settings: _Allowances, allow: bool = False, option: bool = True
) -> None:
    """Raise `Refused` when `text` seems to contain a secret, unless `allow` is set.

    `what` names the text in the error. `option` is whether the request can allow a secret. The
    error shows a secret only as its mask.
    """
    secrets = [] if allow else find(text, settings.allow)
    if not secrets:
        return
    first = secrets[0]
    more = f", and {len(secrets) - 1} more" if len(secrets) > 1 else ""
    remedies = [Remedy("", {"allow_secret": True}, "write it anyway")] if option else []
    raise Refused(
        f"{what} contains what looks like {first.kind} ({first.shown}, line {first.line}){more}; "
        "remove it, or add a pattern to secrets.allow in your personal settings",
        *remedies,
    )


def guard_parts(parts: Mapping[str, object], *, settings: _Allowances, allow: bool) -> None:
    """As `guard`, for each text and each list of texts among the named `parts`."""
    for what, value in parts.items():
        for text in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(text, str):
                guard(text, what=what, settings=settings, allow=allow)


def mask(text: str) -> str:
    """`text` with all its secrets masked, including those that the settings allow."""
    return masked(text)[0]


def masked(text: str, label: str = "") -> tuple[str, int]:
    """`text` as `mask` returns it, and the number of its secrets.

    A `label` such as `password: ` says what the text is, and is no part of the result.
    """
    if not text:
        return text, 0
    whole = label + text
    parts, end, number = [], len(label), 0
    for secret in find(whole):
        if secret.stop > end:
            parts += [whole[end : max(secret.start, end)], secret.shown]
            end, number = secret.stop, number + 1
    return "".join((*parts, whole[end:])), number


def _masked(secret: str) -> str:
    return "****" if secret.startswith("-----") else f"{secret[: min(4, len(secret) // 4)]}****"
