"""Distinguishes a secret value from the rest of a sentence, an expression or a placeholder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from djinn_memory.system.expressions import expression

Judge = Callable[[str, bool], bool]
"""The test of a value; the second argument is whether the value is in quotes."""

QUOTES = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e"
IS = (
    rf"[{QUOTES}]?\]?(?:\*{{0,3}}[ \t]{{0,4}}(?::=|=>|->|\u2192|=|:|\uff1a)\*{{0,3}}[ \t]{{0,8}}"
    r"|[ \t]{1,4}(?:is|was|are|were|ist|lautet|est|es|\u00e8|\u00e9|\u00e4r|er|jest|este|l\u00e0|="
    r"|(?:changed|set|reset)[ \t]to)"
    r"(?:[ \t](?:now|still|just|set to|jetzt|noch))?[ \t:]{1,4})"
)
VALUE = (
    rf"(?:[{QUOTES}](?P<quoted>[^{QUOTES}\r\n]{{4,400}})[{QUOTES}]"
    rf"|(?P<bare>[^\s{QUOTES}]{{4,400}}))"
)

PLACEHOLDER = expression(
    r"example|placeholder|change.?me|your|xxxx|\*\*\*|\.\.\.|\u2026|\u2022|dummy|redacted|<|>"
    r"|\$[{(]|\{\{|\{[\w.]*\}|%\w?\(|%[sdv]\b|%[A-Z_]+%|_here\b",
    re.IGNORECASE,
)
WORDS = frozenset(
    """
    password passwd pass pwd passwort secret token key apikey user username login name host test
    testing mypassword mysecret mypass pw p w none null true false undefined empty value string
    str text hidden masked required optional unset encrypted hashed plaintext postgres root guest
    admin 1password foo bar baz foobar abc xyz x xx xxx
    """.split()  # noqa: SIM905
)
_KNOWN = expression(
    r"(?:office|windows|auth|fido|k|ssh-ed|base|sha|md|aes|utf|rsa|hs|rs|es|ed|bcrypt|scrypt|argon|pbkdf|oauth|http|tls|ssl|x|v|int"
    r"|uint|char|varchar|string|pkcs|rfc|id|s|p|page|step|chapter|section|figure|table|day|week)"
    r"[-_(]?\d{1,5}\b",
    re.IGNORECASE,
)
"""Words with a number at the end that are not passwords."""
_CODE = expression(
    r"[~/\\|<\[{(]|[$%@&#^]\w*%?$|\.{1,2}/|\w+(?:\.\w+)*[(\[]|\w+://|\w+::\w"
    r"|[A-Za-z_]+(?:[.:/][A-Za-z_]+)+$|[a-z_]\w*(?:\.[A-Za-z_]\w*){2,}$|a?arn:|urn:|!\[|![a-z]+$|--|process\.|os\.|env\.|self\.|config\."
)
"""The start of an expression, a path, a link or Markdown. Such a value is not literal."""
_ADDRESS = expression(r"[\w.+-]+@[\w-]+\.\w|\w+://")
_DATE = expression(r"\d{1,4}[-./:]\d{1,2}(?:[-./:]\d{1,4})?[T\d:.Z+-]*$")
_INNER = expression(r"[!@#$%^&*+=?~]")
_PHRASE = expression(r"[a-z]{3,12}(?:[ -][a-z]{3,12}){3,7}")
_FOLLOWING = expression(r"[ \t]{1,4}([^\W\d_]{1,15})\b|[.,;!?](?=\s|\Z)")
_COMMANDS = frozenset({"ssh", "sudo", "psql", "sqlplus", "docker", "git"})
"""Words of sentences about passwords that are also commands."""
_INFLECTED = expression(r"\w{4}(?:ed|ly|ing)\Z")
_NAME = expression(
    r"(?-i:[A-Z_-]+)|[a-z_-]*(?:passw|pswd|secret)[a-z_-]*"
    r"|(?:[a-z]+[_-])*(?:user|value|name|key|token|sample)(?:[_-][a-z]+)*",
    re.IGNORECASE,
)
"""Names of variables and arguments that stand for a password."""


def word_list(name: str) -> list[str]:
    """The words of a file beside this module. Its first line is a comment."""
    _, words = Path(__file__).with_name(name).read_text(encoding="utf-8").split("\n", 1)
    return words.split()


@lru_cache(maxsize=1)
def prose_words() -> frozenset[str]:
    """Words of sentences about passwords. They are unlikely in a password."""
    return frozenset(word_list("prose.txt"))


@lru_cache(maxsize=1)
def joining_words() -> frozenset[str]:
    """Words that join a sentence in several languages. A passphrase of random words has none."""
    return frozenset(word_list("sentences.txt"))


def password(value: str, quoted: bool) -> bool:
    """Whether the text after `password:` is a password, and not the rest of a sentence."""
    if not 6 <= len(value) <= 200 or not literal(value):
        return False
    letter = any(map(str.isalpha, value))
    digit = any(map(str.isdigit, value))
    if _letters_only(value, quoted):
        return True
    if " " in value:
        # A quoted passphrase has a few words; more words are a sentence.
        return quoted and (digit or bool(_INNER.search(value))) and value.count(" ") < 4
    mixed = letter and (digit or bool(_INNER.search(value[:-1])))
    return mixed or (digit and len(value) >= 8 and quoted) or (value.isdigit() and len(value) <= 12)


def credential(value: str, quoted: bool) -> bool:
    """Whether the text after a user name is a password, and not an address or a method name."""
    return password(value, quoted) and not _ADDRESS.match(value)


def mixed_word(value: str, _quoted: bool) -> bool:
    """Whether a word next to `password` is one: it has letters, digits and other characters."""
    mixed = any(map(str.isalpha, value)) and any(map(str.isdigit, value)) and _INNER.search(value)
    plain = literal(value) and "/" not in value and not _ADDRESS.match(value)
    return len(value) >= 8 and bool(mixed) and plain


def option_value(value: str, _quoted: bool) -> bool:
    """Whether the value of a command's option is literal. A number of five digits is a port."""
    word = value.lower()
    digits = len(value) <= 5 and not any(map(str.isalpha, value))
    return literal(value) and not (digits or word in prose_words() or _NAME.fullmatch(value))


def plain(value: str, _quoted: bool) -> bool:
    """Whether a single word after `password:` at the end of a sentence is a password."""
    word = value.lower()
    return (
        literal(value)
        and not _NAME.fullmatch(value)
        and word not in prose_words()
        and word not in joining_words()
        and not _INFLECTED.search(word)
    )


def in_sentence(text: str, start: int, stop: int) -> bool:
    """Whether the word at `start` is followed by another word of a sentence, or by its end.

    `sshpass -p shows it to others` is a sentence, and `sshpass -p kestrel ssh host` is a command.
    """
    following = _FOLLOWING.match(text, stop)
    if not (following and text[start:stop].isalpha() and text[start:stop].islower()):
        return False
    word = (following[1] or "").lower()
    return not word or (word in joining_words() | prose_words() and word not in _COMMANDS)


def _letters_only(value: str, quoted: bool) -> bool:
    """Whether the value is a word too long for any language, or a few random words in quotes."""
    if value.isascii() and value.isalpha() and value.islower():
        return len(value) >= 18 and not any(word in value for word in ("passw", "secret", "user"))
    return quoted and bool(_PHRASE.fullmatch(value)) and random_words(re.split("[ -]", value))


def random_words(words: Iterable[str]) -> bool:
    """Whether none of the lower-case words belongs to a sentence about passwords."""
    return not any(word in prose_words() or _INFLECTED.search(word) for word in words)


def strong(value: str, quoted: bool) -> bool:
    """Whether a value looks like a password in any context: it mixes many kinds of characters."""
    kinds = (str.islower, str.isupper, str.isdigit, _INNER.match)
    several = sum(any(map(kind, value)) for kind in kinds)
    return len(value) >= 8 and " " not in value and literal(value) and several >= 4 - quoted


def machine_made(value: str, least: int) -> bool:
    """Whether a value of at least `least` characters looks generated by a machine."""
    return (
        len(value) >= least
        and " " not in value
        and literal(value)
        and not _is_identifier(value)
        and varied(value)
        and any(map(str.isalpha, value))
        and any(map(str.isdigit, value))
    )


def _is_identifier(value: str) -> bool:
    """Whether a value is a name in a program: words and at most a small number."""
    words = re.findall(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])", value)
    return (
        len(words) > 1
        and "-" not in value
        and len(re.findall(r"\d+", value)) < 2
        and not re.search(r"\d{4}", value)
        and sum(map(len, words)) >= 0.7 * len(value)
    )


def literal(value: str) -> bool:
    """Whether a value is literal: not a placeholder, expression, path, date or known word."""
    return not (
        value.lower() in WORDS
        or PLACEHOLDER.search(value)
        or _CODE.match(value)
        or _DATE.match(value)
        or _KNOWN.match(value)
        or len(set(value)) < 3
    )


def varied(value: str) -> bool:
    """Whether a run of characters is as varied as a random one."""
    return not PLACEHOLDER.search(value) and len(set(value)) >= min(8, len(value) // 2)
