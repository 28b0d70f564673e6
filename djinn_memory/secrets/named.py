"""Secrets that are known by what stands before them: a name, a header, a user in a URL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from djinn_memory.secrets.tokens import Found
from djinn_memory.secrets.values import PLACEHOLDER, WORDS, machine_made, password

_USER = r"(?P<user>[^\s/:@<>\"'`()\[\]{}|]{0,100})"
_URL = re.compile(rf"://{_USER}:(?P<value>[^\s/<>\"'`]{{1,200}})@[\w\[.-]")

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
"""What may follow the word in a name, as in `PASSWORD_OLD`."""
_ENDS = ".,;:!?)]}>*_"
"""What follows a value in a sentence or in Markdown."""
_NEXT = re.compile(r"[;&,|](?=[\w .-]{1,40}[\"']?[=:])")
"""Where another value begins behind one without quotes."""
_PASSWORD = re.compile(
    r"(?:passwor[dt]|passwd|passphrase|passcode|kennwort|contrase\u00f1a|mot de passe|senha|pwd"
    r"|_pass(?![a-z]))"
    rf"{_REST}{_IS}{_VALUE}"
)
_KEY = re.compile(
    r"(?:secret|token|api[ _.-]?key|apikey|access[ _.-]?key|private[ _.-]?key|auth[ _.-]?key"
    r"|encryption[ _.-]?key|signing[ _.-]?key|account[ _.-]?key|credentials?)"
    rf"{_REST}{_IS}{_VALUE}"
)
_OPTION = r"--(?:[a-z]{1,20}-){0,2}"
_PASSWORD_OPTION = re.compile(rf"{_OPTION}(?:password|passwd|passphrase)[ \t]{{1,4}}{_VALUE}")
_KEY_OPTION = re.compile(rf"{_OPTION}(?:token|api-?key|secret|access-key)[ \t]{{1,4}}{_VALUE}")

_ASSIGNED = (
    ("a password", _PASSWORD_OPTION, ("--",)),
    ("a secret", _KEY_OPTION, ("--",)),
    ("a password", _PASSWORD,
     ("passwor", "passwd", "passphrase", "passcode", "kennwort", "contrase\u00f1a", "mot de passe",
      "senha", "pwd", "_pass")),
    ("a secret", _KEY,
     ("secret", "token", "api key", "api_key", "api-key", "api.key", "apikey", "access key",
      "access_key", "access-key", "accesskey", "private key", "private_key", "private-key",
      "privatekey", "auth_key", "auth-key", "authkey", "encryption_key", "encryption key",
      "encryptionkey", "signing_key", "signing key", "signingkey", "account_key", "account-key",
      "accountkey", "credential")),
)  # fmt: skip


def urls(text: str) -> Iterator[Found]:
    """Passwords in addresses."""
    for match in _URL.finditer(text):
        scheme = re.search(
            r"[A-Za-z][\w+.-]{0,30}\Z", text[max(0, match.start() - 32) : match.start()]
        )
        value, user = match["value"], match["user"]
        real = value.lower() not in WORDS and value != user and not PLACEHOLDER.search(value)
        if scheme and real and not re.match(r"[\[{$%*]|\d{1,5}(?:[?#]|\Z)", value):
            begin = match.start() - len(scheme[0])
            yield "a password in a URL", *match.span("value"), begin


def _values(text: str, lower: str, kind: str, pattern: re.Pattern[str]) -> Iterator[Found]:
    for match in pattern.finditer(lower):
        quoted = match["quoted"] is not None
        start, stop = match.span("quoted" if quoted else "bare")
        following = None if quoted else _NEXT.search(text, start, stop + 45)
        stop = min(stop, following.start()) if following else stop
        value = text[start:stop] if quoted else text[start:stop].rstrip(_ENDS)
        # It may have such a sign in it, or end there.
        for one in (value,) if quoted else (value, re.split(r"[;&,|]", value, maxsplit=1)[0]):
            if password(one, quoted) if kind == "a password" else machine_made(one, 16):
                yield kind, start, start + len(value), match.start()
                break


def headers(text: str, lower: str) -> Iterator[Found]:
    """What `Authorization` headers hold. `lower` is `text` in lower case, here and below."""
    for word, pattern in (("bearer", _BEARER), ("authorization", _BASIC)):
        if word in lower:
            for match in pattern.finditer(lower):
                if machine_made(text[slice(*match.span("value"))], 16 if word == "bearer" else 12):
                    yield "an authorization header", *match.span("value"), match.start()


def assigned(text: str, lower: str) -> Iterator[Found]:
    """What is said to be a password, a key or a token."""
    for kind, pattern, words in _ASSIGNED:
        if any(word in lower for word in words):
            yield from _values(text, lower, kind, pattern)
