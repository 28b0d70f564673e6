"""Secrets that the text before them reveals: a name, a header, a user in a URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from djinn_memory.secrets.tokens import Candidate
from djinn_memory.secrets.values import PLACEHOLDER, WORDS, machine_made, password, strong

_USER = r"(?P<user>[^\s/:@<>\"'`()\[\]{}|]{0,100})"
_URL = re.compile(
    rf"://{_USER}:(?:(?P<value>[^\s/<>\"'`]{{1,200}})"
    rf"|(?P<slashed>[^\s/@<>\"'`]{{1,100}}/[^\s@<>\"'`]{{0,100}}))@[\w\[.-]"
)

_BEARER = re.compile(r"bearer[ \t]{1,4}(?P<value>[\w.~+/=-]{16,4000})")
_BASIC = re.compile(
    r"authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:basic|token|apikey|api-key|digest)"
    r"[ \t]{1,4}(?P<value>[\w.~+/=-]{12,4000})"
)

_QUOTES = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e"
_IS = (
    rf"[{_QUOTES}]?\]?(?:\*{{0,3}}[ \t]{{0,4}}(?::=|=>|=|:|\uff1a)\*{{0,3}}[ \t]{{0,8}}"
    r"|[ \t]{1,4}(?:is|was|ist|lautet|est|es|=)[ \t:]{1,4})"
)
_VALUE = (
    rf"(?:[{_QUOTES}](?P<quoted>[^{_QUOTES}\r\n]{{4,400}})[{_QUOTES}]"
    rf"|(?P<bare>[^\s{_QUOTES}]{{4,400}}))"
)
_REST = r"[\w.-]{0,40}?"
"""The rest of a name behind its keyword, as in `PASSWORD_OLD`."""
_ENDS = ".,;:?)]}>*_"
"""Characters that follow a value in a sentence or in Markdown."""
_NEXT = re.compile(r"[;&,|](?=[\w .-]{1,40}[\"']?[=:])")
"""The start of another value behind an unquoted one."""
_ARN = re.compile(r"\barn:[^\s\"']*\Z")
"""An Amazon resource name, which says where a secret is kept and does not contain it."""
_OPTION = r"--(?:[a-z]{1,20}-){0,2}"
_BELOW = (
    r"\*{0,3}:\*{0,3}(?:[ \t]{0,8}\r?\n){1,2}(?:[ \t]{0,8}```\w{0,10}\r?\n)?"
    rf"[ \t>]{{0,8}}{_VALUE}[ \t]{{0,8}}(?=\r?(?:\n|\Z))"
)
"""A value alone on the next line, perhaps in a fence."""


def _key(value: str, _quoted: bool) -> bool:
    return machine_made(value, 16)


_Assigned = tuple[str, str, Callable[[str, bool], bool], str]
_PASSWORD: tuple[_Assigned, ...] = tuple(
    ("a password", word, judge, rf"{word}{ends}{rest}")
    for word, ends in (
        ("pass", r"(?:wor[dt]|wd|phrase|code|(?<=_pass)(?![a-z]))"),
        *((word, "") for word in ("pwd", "kennwort", "contrase\u00f1a", "mot de passe", "senha")),
    )
    for rest, judge in ((f"{_REST}{_IS}{_VALUE}", password), (_BELOW, strong))
)
_KEY: tuple[_Assigned, ...] = tuple(
    ("a secret", word, _key, rf"{name}{_REST}{_IS}{_VALUE}")
    for word, name in (
        ("secret", r"secret"),
        ("token", r"token(?!i[sz])"),
        ("credential", r"credentials?"),
        ("key", r"(?:api|access|private|auth|encryption|signing|account)[ _.-]?key"),
    )
)
_OTHER: tuple[_Assigned, ...] = (
    ("a password", "--pass", password,
     rf"{_OPTION}(?:password|passwd|passphrase)[ \t]{{1,4}}{_VALUE}"),
    ("a secret", "--", _key,
     rf"{_OPTION}(?:token|api-?key|secret|access-key)[ \t]{{1,4}}{_VALUE}"),
    ("a password", "pass", strong,
     rf"pass(?<![\w-]pass)[{_QUOTES}]?[ \t]{{0,4}}[:=][ \t]{{0,8}}{_VALUE}"),
    ("a password", "login", password,
     rf"login\s{{1,9}}\S{{1,100}}\s{{1,9}}password\s{{1,9}}{_VALUE}"),
    ("a password", "curl", password,
     r"curl(?:[^\n]|\\\r?\n){0,200}?[ \t](?:-u|--(?:proxy-)?user)[ \t=]{0,4}"
     rf"[{_QUOTES}]?[^\s:{_QUOTES}]{{0,100}}:{_VALUE}"),
)  # fmt: skip
_ASSIGNED = [
    (kind, word, judge, re.compile(pattern))
    for kind, word, judge, pattern in (*_OTHER, *_PASSWORD, *_KEY)
]
"""The kind, a literal that the text must contain, the test of a value, and the expression.

An expression should begin with a literal word, which a search finds quickly.
"""


def urls(text: str) -> Iterator[Candidate]:
    """Passwords in URLs."""
    for match in _URL.finditer(text):
        scheme = re.search(
            r"[A-Za-z][\w+.-]{0,30}\Z", text[max(0, match.start() - 32) : match.start()]
        )
        name = "value" if match["slashed"] is None else "slashed"
        value, user = match[name], match["user"]
        real = value.lower() not in WORDS and value != user and not PLACEHOLDER.search(value)
        if name == "slashed":
            # An @ may also follow a host with its port and path.
            real = real and user.isalnum() and user.lower() not in WORDS and password(value, False)
        if scheme and real and not re.match(r"[\[{$%*]|\d{1,5}(?:[/?#]|\Z)", value):
            begin = match.start() - len(scheme[0])
            yield "a password in a URL", *match.span(name), begin


def _values(
    text: str, lower: str, pattern: re.Pattern[str], judge: Callable[[str, bool], bool]
) -> Iterator[tuple[int, int, int]]:
    for match in pattern.finditer(lower):
        if _ARN.search(lower, max(0, match.start() - 100), match.start()):
            continue
        quoted = match["quoted"] is not None
        start, stop = match.span("quoted" if quoted else "bare")
        following = None if quoted else _NEXT.search(text, start, stop + 45)
        stop = min(stop, following.start()) if following else stop
        value = text[start:stop] if quoted else text[start:stop].rstrip(_ENDS)
        # An unquoted value may contain such a separator, or end there.
        variants = (value,) if quoted else (value, re.split(r"[;&,|]", value, maxsplit=1)[0])
        if any(judge(variant, quoted) for variant in variants):
            yield start, start + len(value), match.start()


def headers(text: str, lower: str) -> Iterator[Candidate]:
    """The values of `Authorization` headers. `lower` is `text` in lower case, here and below."""
    for word, pattern in (("bearer", _BEARER), ("authorization", _BASIC)):
        if word in lower:
            for match in pattern.finditer(lower):
                if machine_made(text[slice(*match.span("value"))], 16 if word == "bearer" else 12):
                    yield "an authorization header", *match.span("value"), match.start()


def assigned(text: str, lower: str) -> Iterator[Candidate]:
    """Values that the text calls a password, a key or a token."""
    for kind, word, judge, pattern in _ASSIGNED:
        if word in lower:
            for span in _values(text, lower, pattern, judge):
                yield kind, *span
