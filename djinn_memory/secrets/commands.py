"""Passwords on command lines: a table of options, and rules for commands without one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from djinn_memory.secrets.rules import Rule, judged
from djinn_memory.secrets.text import SearchedText, compiled
from djinn_memory.secrets.tokens import Candidate
from djinn_memory.secrets.values import QUOTES, VALUE, continues, given

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

_COMMAND = re.compile(r"(?<!\\)\n|\||;|&&")
"""The end of a command."""

RULES = (
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


def options(text: SearchedText) -> Iterator[Candidate]:
    """Passwords that follow an option of a command."""
    for place in text.places(" -"):
        for option, command in _BY_LETTER.get(text.text[place + 2 : place + 3], ()):
            match = compiled(option).match(text.text, place + 1)
            span = judged(text.text, match, given) if match else None
            if match and span and not (match["bare"] and continues(text.text, *span)):
                line = _COMMAND.split(text.text[max(0, place - 300) : place])[-1]
                if compiled(command).search(line):
                    yield "a password", *span, match.start()
