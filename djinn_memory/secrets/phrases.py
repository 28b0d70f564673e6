"""Passphrases of a few words, and the word lists of wallets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

from djinn_memory.secrets.rules import Rule, by_word, matches
from djinn_memory.secrets.text import SearchedText
from djinn_memory.secrets.tokens import Candidate
from djinn_memory.secrets.values import joining_words, prose, random_words, word_list

_TOKEN = r"(?:[^\W\d_]{3,15}\d{0,4}|\d{1,6})"
"""A word or a number of a passphrase."""
_PASSPHRASE = (
    r"pass(?:[ -]?phrase|word|wort)(?:[ \t](?:for|of|to|on)[ \t][^\n:=.]{1,40}?)?"
    r"(?:[ \t]\([^()\n]{1,30}\))?[\"'`]?\*{0,2}[ \t]{0,4}"
    r"(?P<is>[:=\u2192\u2013-]|->|(?=[\"'`\u201c])"
    r"|(?<=[ \t])(?:is|was|lautet|ist)(?:[ \t]now)?:?(?=[ \t]))?\*{0,2}[ \t]{0,4}[\"'`\u201c]?"
    rf"(?P<value>{_TOKEN}(?P<gap>[ ._-])(?:{_TOKEN}(?P=gap)){{2,8}}{_TOKEN})"
    r"(?=[\"'`\u201d]?[ \t]{0,4}(?:[.,;!)\r\n]|\Z))"
)
_LIST = (
    r"(?=(?:[a-z]{3,8}+[^a-z]{1,5}+){3})"
    r"(?P<list>[a-z]{3,8}+(?:(?:[\s,;|>*_`\"'\u2022-]|\d{1,2}[.):]?(?!\d))++"
    r"(?!(?:recovery|seed|backup|secret|wallet|mnemonic|phrase|words)\b[a-z \t]{0,20}[:=])"
    r"[a-z]{3,8}+){11,60})"
    "(?![a-z])"
)
"""At least twelve short words, up to the name of another list.

Most texts fail at the first three."""
_ALONE = (
    re.compile(rf"\n(?=[a-z1*-])(?:1[.)]?[ \t]|[*-][ \t]|){_LIST}"),
    re.compile(rf": {_LIST}"),
)
_WALLET = re.compile(
    "wallet|seed|mnemonic|phrase|words|recovery|backup|bip|trezor|metamask|ledger|bitcoin|btc"
    "|ethereum|crypto|electrum|exodus|phantom|coinbase"
)
_BEHIND = rf"(?:\W{{1,6}}+\w{{1,20}}+){{0,8}}?\W{{1,10}}(?:\d{{1,2}}[.)] ?)?{_LIST}"
_CUES = by_word((
    Rule("seed", rf"seeds?(?:[ -]?(?:phrase|word)s?|[ \t]*[:=]|[ \t]is\b){_BEHIND}"),
    Rule("wallet mnemonic", rf"(?:wallet|mnemonic){_BEHIND}"),
    Rule("word phrase", rf"(?:word|phrase)s?{_BEHIND}",
         r"(?:12|15|18|21|24|twelve|four|recovery|backup|secret|trezor|ledger)[ -]"),
))  # fmt: skip
_WORD = re.compile("[a-z]+")
_COUNTS = (12, 15, 18, 21, 24)
"""The numbers of words that a seed can have."""
_LEAST = _COUNTS[0]
_PROSE = 4
"""Maximum number of common words of prose among twelve words of a seed."""


def passphrases(text: SearchedText) -> Iterator[Candidate]:
    """At least four words that a text calls a passphrase or a password."""
    for match in text.at(("pass",), _PASSPHRASE, r"(?<!\w)"):
        words = [word for word in re.split("[ ._-]", match["value"].lower()) if len(word) > 2]
        # `password strength meter test` without a sign between is no password.
        named = match["is"] is not None or match[0].startswith("passphrase ")
        sentence = joining_words().intersection(words)
        if named and len(words) > 2 and not sentence and random_words(words):
            yield "a passphrase", *match.span("value"), match.start()


def wallets(text: SearchedText) -> Iterator[Candidate]:
    """At least twelve consecutive words from the list of which wallets make seeds.

    Without a mention of a seed nearby, the last word must be the checksum of the others. With one,
    four of the twelve words may be missing from the list, as in older wallets.
    """
    for pattern in _ALONE:
        for match in pattern.finditer("\n" + text.lower):
            start, stop = (place - 1 for place in match.span("list"))
            named = _WALLET.search(
                text.lower[max(0, start - 100) : start + 30] + text.lower[stop : stop + 30]
            )
            yield from _wallet(text.lower, start, stop, others=4 if named else 0)
    for _, match, _ in matches(text, _CUES):
        yield from _wallet(text.lower, *match.span("list"), others=4)


def _wallet(lower: str, start: int, stop: int, others: int) -> Iterator[Candidate]:
    """The seed in a part of the text.

    Each twelve words may contain `others` words not in the list.
    """
    listed = list(_WORD.finditer(lower, start, stop))
    words = [match[0] for match in listed]
    firsts = [
        first
        for first in range(len(words) - _LEAST + 1)
        if _is_list(words[first : first + _LEAST], others)
    ]
    lists = (words[firsts[0] :][:count] for count in _COUNTS if firsts)
    if firsts and (others or any(map(_fits_checksum, lists))):
        start, stop = listed[firsts[0]].start(), listed[firsts[-1] + _LEAST - 1].end()
        yield "the words of a wallet", start, stop, start


def _is_list(words: list[str], others: int) -> bool:
    """Whether twelve words are different enough and are not a sentence."""
    different = set(words)
    known = sum(word in _wallet_words() for word in words)
    return (
        known >= _LEAST - others
        and len(different) > _LEAST // 2
        and len(different & prose()) <= _PROSE
    )


def _fits_checksum(words: list[str]) -> bool:
    """Whether a whole list is a seed by BIP 39: its last bits are a hash of the other bits."""
    if len(words) not in _COUNTS or not all(word in _wallet_words() for word in words):
        return False
    bits = "".join(f"{_wallet_words()[word]:011b}" for word in words)
    entropy = int(bits[: len(words) * 32 // 3], 2).to_bytes(len(words) * 4 // 3, "big")
    return bits.endswith(f"{sha256(entropy).digest()[0]:08b}"[: len(words) // 3])


@lru_cache(maxsize=1)
def _wallet_words() -> dict[str, int]:
    """The number of each word of BIP 39."""
    return {word: number for number, word in enumerate(word_list("bip39.txt"))}
