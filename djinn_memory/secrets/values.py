"""Whether a value is a secret, or the rest of a sentence, an expression or a placeholder."""

from __future__ import annotations

import re

PLACEHOLDER = re.compile(
    r"example|placeholder|change.?me|your|xxxx|\*\*\*|\.\.\.|\u2026|\u2022|dummy|redacted|<|>"
    r"|\$[{(]|\{\{|\{[\w.]*\}|%\w?\(|%[sdv]\b|%[A-Z_]+%|_here\b",
    re.IGNORECASE,
)
WORDS = frozenset(
    """
    password passwd pass pwd passwort secret token key apikey user username login name host test
    testing mypassword mysecret mypass pw p w none null true false undefined empty value string
    str text hidden masked required optional unset encrypted hashed plaintext postgres root guest
    admin foo bar baz foobar abc xyz x xx xxx
    """.split()  # noqa: SIM905
)
_KNOWN = re.compile(
    r"(?:base|sha|md|aes|utf|rsa|hs|rs|es|ed|bcrypt|scrypt|argon|pbkdf|oauth|http|tls|ssl|x|v|int"
    r"|uint|char|varchar|string|pkcs|rfc|id|s|p|page|step|chapter|section|figure|table|day|week)"
    r"[-_(]?\d{1,5}\b",
    re.IGNORECASE,
)
"""Words that end in a number, and are no password for that."""
_CODE = re.compile(
    r"[~/\\|<\[{(]|[$%@&#^]\w*%?$|\.{1,2}/|\w+(?:\.\w+)*[(\[]|\w+://|\w+::\w|[A-Za-z_]+(?:[.:/][A-Za-z_]+)+$"
    r"|!\[|--|process\.|os\.|env\.|self\.|config\."
)
"""How a value begins that is an expression, a path, a link or Markdown, and no value itself."""
_DATE = re.compile(r"\d{1,4}[-./:]\d{1,2}(?:[-./:]\d{1,4})?[T\d:.Z+-]*$")
_INNER = re.compile(r"[!@#$%^&*+=?~]")
_PHRASE = re.compile(r"[a-z]{3,12}(?:[ -][a-z]{3,12}){3,7}")
_SENTENCE = frozenset(
    """
    and any are but can cannot could did does for from had has have here how into its may more
    must new not old one only our shall should than that the then this too use used was were what
    when which who will with without you your empty enter forgot invalid least leave missing please
    password passwords passwort required reset user username wrong
    """.split()  # noqa: SIM905
)
"""Words that the words of a passphrase, drawn at random, are not."""


def password(value: str, quoted: bool) -> bool:
    """Whether what stands behind `password:` is one, and not the rest of a sentence."""
    if not 6 <= len(value) <= 200 or not literal(value):
        return False
    letter = any(one.isalpha() for one in value)
    digit = any(one.isdigit() for one in value)
    if _letters_only(value, quoted):
        return True
    if " " in value:
        # A passphrase in quotes is a few words; more is a sentence.
        return quoted and (digit or bool(_INNER.search(value))) and value.count(" ") < 4
    mixed = letter and (digit or bool(_INNER.search(value[:-1])))
    return mixed or (digit and len(value) >= 8 and quoted)


def _letters_only(value: str, quoted: bool) -> bool:
    """Whether it is one word longer than those of a language, or random words in quotes."""
    if value.isascii() and value.isalpha() and value.islower():
        return len(value) >= 18 and not any(word in value for word in ("passw", "secret", "user"))
    return (
        quoted and bool(_PHRASE.fullmatch(value)) and _SENTENCE.isdisjoint(re.split("[ -]", value))
    )


def strong(value: str, quoted: bool) -> bool:
    """Whether a value reads as a password wherever it stands: of many kinds of characters."""
    kinds = (str.islower, str.isupper, str.isdigit, _INNER.match)
    several = sum(any(kind(one) for one in value) for kind in kinds)
    return len(value) >= 8 and " " not in value and literal(value) and several >= 4 - quoted


def machine_made(value: str, least: int) -> bool:
    """Whether a value looks issued by a machine."""
    return (
        len(value) >= least
        and " " not in value
        and literal(value)
        and not _named(value)
        and various(value)
        and any(one.isalpha() for one in value)
        and any(one.isdigit() for one in value)
    )


def _named(value: str) -> bool:
    """Whether a value is what a program calls something: words, and a small number at most."""
    words = re.findall(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])", value)
    return (
        len(words) > 1
        and "-" not in value
        and len(re.findall(r"\d+", value)) < 2
        and not re.search(r"\d{4}", value)
        and sum(map(len, words)) >= 0.7 * len(value)
    )


def literal(value: str) -> bool:
    """Whether a value stands for itself: no placeholder, expression, path, date or known word."""
    return not (
        value.lower() in WORDS
        or PLACEHOLDER.search(value)
        or _CODE.match(value)
        or _DATE.match(value)
        or _KNOWN.match(value)
        or len(set(value)) < 4
    )


def various(value: str) -> bool:
    """Whether a run of characters has the variety of a random one."""
    return not PLACEHOLDER.search(value) and len(set(value)) >= min(8, len(value) // 2)
