"""Secrets in lines that programs read: password files, hashes, cookies, Wi-Fi, tables, commands."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from itertools import chain

from djinn_memory.secrets.rules import Candidate, Rule, SearchedText, compiled, secret_span
from djinn_memory.secrets.values import (
    IS,
    QUOTES,
    VALUE,
    in_sentence,
    literal,
    machine_made,
    option_value,
    password,
    plain,
)
from djinn_memory.system.expressions import expression

_PASSWORD_FILE = expression(
    r":(?:\d{4,5}|\*):(?![\d:])[\w.*$-]{1,64}:[\w.*@$-]{1,64}:(?P<value>(?:\\.|[^\s:\\]){3,200})"
    r"(?=[\"'`]?[ \t]*(?:[\r\n]|\Z))"
)
"""The end of a line of `.pgpass`: port, database, user and password."""
_HOST = expression(
    r"(?:\A|[\s\"'`>])(?:\*|localhost|[\w-]{1,60}(?:\.[\w-]{1,60}){0,8}|/[\w./-]{1,99})\Z"
)
_SOURCE = expression(
    r"\.(?:[chm]|cc|cpp|cs|css|go|html?|java|jsx?|log|md|php|pl|py|rb|rs|sh|sql|swift|tsx?|txt|ya?ml)\Z"
)
"""The end of the name of a file, after which a compiler writes the number of a line."""

_HASH = expression(
    r"\$(?:2[abxy]?\$\d\d\$[./\w]{50,56}|(?:apr1|1)\$[./\w]{1,16}\$[./\w]{20,24}"
    r"|[567]\$(?:rounds=\d{1,9}\$)?[./\w]{1,32}\$[./\w]{40,90}|y\$[./\w]{1,16}\$[./\w]{1,90}\$[./\w]{40,90}"
    r"|argon2(?:id|i|d)\$v=\d{1,4}\$[\w=,]{1,60}\$[+/\w]{8,90}\$[+/\w]{16,200})"
    r"(?![./\w])",
    re.ASCII,
)
_LABELLED_HASH = r"\{s{1,2}ha(?:256|384|512)?\}(?P<value>[\w+/]{26,120}={0,2})"

_HEADER = r"cookie[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?"
_COOKIE = expression(r"[ \t]{0,4}([\w.%$-]{1,80})=([^\s;,\"'`]{0,4096})(;?)")
_SESSION = expression(r"sess|sid\b|auth|token|jwt|login|remember", re.IGNORECASE)
_UUID = expression(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}", re.IGNORECASE)

_WIFI = (
    r"wifi:(?:(?!p:)\w{1,3}:(?:\\.|[^;\\\n]){0,100};){0,6}"
    r"p:(?P<quoted>(?!))?(?P<bare>(?:\\.|[^;\\\n]){4,100});"
)


def _session(value: str, _quoted: bool) -> bool:
    """Whether the value of a session is its key. A UUID may be the number of a session."""
    return machine_made(value, 16) and not _UUID.fullmatch(value)


def _network_key(value: str, quoted: bool) -> bool:
    return option_value(value, quoted) or password(value, quoted=True)


def _base64_login(value: str, _quoted: bool) -> bool:
    """Whether a value is the base 64 of a user name, a colon and a password."""
    try:
        padded = value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4)
        user, colon, secret = b64decode(padded, validate=True).decode("ascii").partition(":")
    except ValueError:
        return False
    return bool(colon and user and len(secret) > 2) and (user + secret).isprintable()


_FORMAT_RULES = (
    # "auth": "YW5uYTpodW50ZXIy". WIFI:T:WPA;S:Harbour;P:hunter2;;
    Rule("auth", rf"auth[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}{VALUE}", judge=_base64_login),
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


def _password_files(text: SearchedText) -> Iterator[Candidate]:
    """The passwords of lines of `.pgpass`."""
    ports = (number - 1 for number in text.numbers if text.text[number - 1 : number] == ":")
    for place in (*ports, *text.places(":*:")):
        match = _PASSWORD_FILE.match(text.text, place)
        host = match and _HOST.search(text.text, max(0, place - 100), place)
        if match and host and not _SOURCE.search(host[0]) and option_value(match["value"], False):
            yield "a password", *match.span("value"), match.start()


def _hashes(text: SearchedText) -> Iterator[Candidate]:
    """Hashes of passwords, as `htpasswd` and `/etc/shadow` have them."""
    for match in _HASH.finditer(text.text) if "$" in text.text else ():
        yield "a hash of a password", *match.span(), match.start()
    for match in text.at(("{s",), _LABELLED_HASH):
        yield "a hash of a password", *match.span("value"), match.start()


def _cookies(text: SearchedText) -> Iterator[Candidate]:
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


_GAP = r"[ \t]{1,4}"
_NAME = rf"[{QUOTES}]?[^\s:,%{QUOTES}]{{1,60}}"

_OPTIONS = (
    (rf"-p{_GAP}", r"sshpass|(?:docker|podman|az) login|mongo\w*|cqlsh|rdesktop|user(?:add|mod)"),
    (r"-p(?=\S)(?!ort|rotocol)", r"sshpass|mysql\w*|mariadb[\w-]*|7z[ar]?|7zz|rar|unrar"),
    (r"-hp(?=\S)", "rar"),
    (r"-P[ \t]{0,4}", r"zip|unzip|sqlcmd|bcp|mosquitto_\w+"),
    (rf"-a{_GAP}", "redis-cli"),
    (rf"-a[ \t=]{{0,4}}{_NAME}:", "https?|xh"),
    (r"-w[ \t]{0,4}", r"ldap\w+"),
    (rf"-pw{_GAP}", "plink|pscp|psftp"),
    (rf"-pass(?:in|out)?{_GAP}[{QUOTES}]?pass:", "openssl"),
    (rf"-k{_GAP}", "openssl"),
    (rf"-N{_GAP}", "ssh-keygen"),
    (rf"-passwd{_GAP}", "x11vnc|vncviewer"),
    (rf"-u[ \t=]{{0,4}}{_NAME}?:", "curl"),
    (rf"--(?:proxy-)?user[ \t=]{{0,4}}{_NAME}?:", "curl"),
    (rf"-U[ \t]{{0,4}}{_NAME}%", r"smb\w*|rpcclient"),
    (rf"-u[ \t]{{0,4}}{_NAME},", "lftp"),
)  # fmt: skip
"""An option for a password, and the commands that have this option."""

_BY_LETTER: dict[str, list[tuple[str, str]]] = {}
for _option, _commands in _OPTIONS:
    _BY_LETTER.setdefault(_option[1], []).append(
        (_option + VALUE, rf"(?<![\w-])(?:{_commands})(?![\w-])")
    )

_COMMAND = expression(r"(?<!\\)\n|\||;|&&")
"""The end of a command."""

_COMMAND_RULES = (
    # echo hunter2 | sudo -S reboot. echo root:hunter2 | chpasswd.
    Rule("echo",
         rf"echo{_GAP}(?:-n[ \t])?{VALUE}[ \t]{{0,4}}\|[ \t]{{0,4}}(?:sudo{_GAP}-\w{{0,2}}s\b"
         r"|(?:sudo[ \t])?(?:passwd[ \t]--stdin|kinit|cryptsetup|docker[ \t]login))"),
    Rule("echo",
         rf"echo{_GAP}[{QUOTES}]?[\w-]{{1,40}}:(?P<quoted>(?!))?(?P<bare>[^\s{QUOTES}]{{4,100}})"
         rf"[{QUOTES}]?[ \t]{{0,4}}\|[ \t]{{0,4}}(?:sudo[ \t])?chpasswd"),
    # net use Z: \\nas\share hunter2 /user:bob. net use Z: \\nas\share /user:bob hunter2.
    Rule("/u", "/user:", rf"net use[ \t][^\n]{{0,80}}?[ \t]{VALUE}{_GAP}"),
    Rule("/u", rf"/user:\S{{1,60}}{_GAP}(?:/pass:)?(?!/){VALUE}",
         r"(?:net use|cmdkey|wmic|schtasks|winrs)\b[^\n]{0,80}[ \t]"),
    Rule("/u", rf"/u:\S{{1,60}}{_GAP}/p:{VALUE}", r"freerdp\b[^\n]{0,80}[ \t]"),
    Rule("pass",
         rf"passphrase{_GAP}[{QUOTES}]?[^\n{QUOTES}]{{1,32}}[{QUOTES}]?[ \t]{VALUE}", "wpa_"),
    # expect "Password:" { send "hunter2\r" }
    Rule("word",
         r"word[^\n]{0,12}[\s;{]{1,10}send(?:_user)?[ \t]{1,4}(?:--[ \t])?"
         r"\"(?P<quoted>[^\"\\\n]{4,60})(?P<bare>(?!))?\\[rn]", "ass"),
    # htpasswd -b file bob hunter2. keytool -storepass hunter2. SSHPASS=hunter2.
    Rule("pass",
         rf"passwd{_GAP}(?:\S{{1,100}}{_GAP})?-[a-z]{{0,4}}b[a-z]{{0,4}}{_GAP}"
         rf"(?:\S{{1,100}}{_GAP})?[\w.@-]{{1,60}}{_GAP}{VALUE}", "ht"),
    # --password hunter2. Rclone pass hunter2.
    Rule("pass", rf"pass(?:word|wd|phrase)?(?:=|{_GAP}){VALUE}", r"(?<!\w)--(?:[a-z]{1,20}-){0,2}"),
    Rule("pass", rf"pass{_GAP}{VALUE}",
         r"[ \t]-[a-z]{0,12}(?:store|key)|rclone[ \t][^\n]{0,80}[ \t]"),
    Rule("pass", rf"pass={VALUE}", "ssh"),
    Rule("identifi", rf"identified by{_GAP}(?:password[ \t])?(?=[\"']){VALUE}",
         r"user[ \t][^\n]{1,80}[ \t]"),
)  # fmt: skip

RULES = (*_FORMAT_RULES, *_COMMAND_RULES)


def _options(text: SearchedText) -> Iterator[Candidate]:
    """Passwords that follow an option of a command."""
    for place in text.places(" -"):
        for option, command in _BY_LETTER.get(text.text[place + 2 : place + 3], ()):
            match = compiled(option).match(text.text, place + 1)
            span = secret_span(text.text, match, option_value) if match else None
            if match and span and not (match["bare"] and in_sentence(text.text, *span)):
                line = _COMMAND.split(text.text[max(0, place - 300) : place])[-1]
                if compiled(command).search(line):
                    yield "a password", *span, match.start()


_HEAD_WORDS = ("pass", "pw", "kennwort", "contrase\u00f1a", "senha")
_RULE = expression(r"\n[ \t>]{0,8}[|:-][|: \t-]{2,400}\r?(?=\n|\Z)")
_HEAD = expression(
    r"(?:[\w-]{1,20} ){0,3}(?:passwor[dt]|passwd|passphrase|passcode|kennwort|contrase\u00f1a"
    r"|mot de passe|senha|pwd)"
)
_LONGEST_HEAD = 1000
"""Maximum length of the head of a table, in characters."""
_LINE = expression(r"[^\n]*\n?")
_CELL = expression(r"((?:\\\||[^|])*+)(?:\||\Z)")
_FIRST = expression(r"[> \t]*\|?")
_MARKS = "*_` \t\r\n"


def _columns(searched: SearchedText) -> Iterator[Candidate]:
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


SEARCHES = (_columns, _password_files, _hashes, _cookies, _options)
