"""Secrets in lines that programs read: password files, hashes, cookies and codes for Wi-Fi."""

from __future__ import annotations

import re
from collections.abc import Iterator

from djinn_memory.secrets.rules import Rule
from djinn_memory.secrets.text import SearchedText
from djinn_memory.secrets.tokens import Candidate
from djinn_memory.secrets.values import IS, VALUE, basic, given, literal, machine_made, password

_PASSWORD_FILE = re.compile(
    r":(?:\d{4,5}|\*):(?![\d:])[\w.*$-]{1,64}:[\w.*@$-]{1,64}:(?P<value>(?:\\.|[^\s:\\]){3,200})"
    r"(?=[\"'`]?[ \t]*(?:[\r\n]|\Z))"
)
"""The end of a line of `.pgpass`: port, database, user and password."""
_HOST = re.compile(
    r"(?:\A|[\s\"'`>])(?:\*|localhost|[\w-]{1,60}(?:\.[\w-]{1,60}){0,8}|/[\w./-]{1,99})\Z"
)
_SOURCE = re.compile(
    r"\.(?:[chm]|cc|cpp|cs|css|go|html?|java|jsx?|log|md|php|pl|py|rb|rs|sh|sql|swift|tsx?|txt|ya?ml)\Z"
)
"""The end of the name of a file, after which a compiler writes the number of a line."""

_HASH = re.compile(
    r"\$(?:2[abxy]?\$\d\d\$[./\w]{50,56}|(?:apr1|1)\$[./\w]{1,16}\$[./\w]{20,24}"
    r"|[567]\$(?:rounds=\d{1,9}\$)?[./\w]{1,32}\$[./\w]{40,90}|y\$[./\w]{1,16}\$[./\w]{1,90}\$[./\w]{40,90}"
    r"|argon2(?:id|i|d)\$v=\d{1,4}\$[\w=,]{1,60}\$[+/\w]{8,90}\$[+/\w]{16,200})"
    r"(?![./\w])",
    re.ASCII,
)
_LABELLED_HASH = r"\{s{1,2}ha(?:256|384|512)?\}(?P<value>[\w+/]{26,120}={0,2})"

_HEADER = r"cookie[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?"
_COOKIE = re.compile(r"[ \t]{0,4}([\w.%$-]{1,80})=([^\s;,\"'`]{0,4096})(;?)")
_SESSION = re.compile(r"sess|sid\b|auth|token|jwt|login|remember", re.IGNORECASE)
_UUID = re.compile(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}", re.IGNORECASE)

_WIFI = (
    r"wifi:(?:(?!p:)\w{1,3}:(?:\\.|[^;\\\n]){0,100};){0,6}"
    r"p:(?P<quoted>(?!))?(?P<bare>(?:\\.|[^;\\\n]){4,100});"
)


def _session(value: str, _quoted: bool) -> bool:
    """Whether the value of a session is its key. A UUID may be the number of a session."""
    return machine_made(value, 16) and not _UUID.fullmatch(value)


def _network_key(value: str, quoted: bool) -> bool:
    return given(value, quoted) or password(value, quoted=True)


RULES = (
    # "auth": "YW5uYTpodW50ZXIy". WIFI:T:WPA;S:Harbour;P:hunter2;;
    Rule("auth", rf"auth[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}{VALUE}", judge=basic),
    Rule("wifi", _WIFI, judge=_network_key),
    # Jdbc:oracle:thin:bob/hunter2@host. Sqlplus bob/hunter2@host.
    Rule("jdbc:oracle: sqlplus",
         r"(?:jdbc:oracle:\w{2,8}:|sqlplus[ \t](?:-\w{1,8}[ \t]){0,3})[\w$#.-]{1,60}/"
         r"(?P<quoted>(?!))?(?P<bare>[^\s@\"'`/]{3,100})@[/\w(]"),
    # PHPSESSID=4f9a...; connect.sid=s%3A4f9a...
    Rule("sess", rf"sess(?:ion)?(?:[ _-]?(?:id|key|token|cookie))?(?:{IS}|=){VALUE}",
         judge=_session, kind="the key of a session"),
    Rule("sid", rf"sid(?:=|[\"']?[ \t]{{0,2}}[:=][ \t]{{0,2}}){VALUE}",
         r"(?<![a-z])(?:connect\.|php)?", judge=_session, kind="the key of a session"),
)  # fmt: skip


def password_files(text: SearchedText, near_numbers: SearchedText) -> Iterator[Candidate]:
    """The passwords of lines of `.pgpass`."""
    ports = (number - 1 for number in near_numbers.numbers if text.text[number - 1 : number] == ":")
    for place in (*ports, *text.places(":*:")):
        match = _PASSWORD_FILE.match(text.text, place)
        host = match and _HOST.search(text.text, max(0, place - 100), place)
        if match and host and not _SOURCE.search(host[0]) and given(match["value"], False):
            yield "a password", *match.span("value"), match.start()


def hashes(text: SearchedText) -> Iterator[Candidate]:
    """Hashes of passwords, as `htpasswd` and `/etc/shadow` have them."""
    for match in _HASH.finditer(text.text) if "$" in text.text else ():
        yield "a hash of a password", *match.span(), match.start()
    for match in text.at(("{s",), _LABELLED_HASH):
        yield "a hash of a password", *match.span("value"), match.start()


def cookies(text: SearchedText) -> Iterator[Candidate]:
    """The values of `Cookie` and `Set-Cookie` headers that log somebody in."""
    for header in text.at(("cookie",), _HEADER):
        place = header.end()
        while cookie := _COOKIE.match(text.text, place):
            name, value, more = cookie.groups()
            short = bool(_SESSION.search(name)) and len(value) >= 8 and literal(value)
            if machine_made(value, 16) or (short and password(value, True)):
                yield "a cookie", *cookie.span(2), header.start()
            if not more:
                break
            place = cookie.end()
