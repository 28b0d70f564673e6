"""Codes for doors, phones and cards, seeds and passphrases, as people write them down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

from djinn_memory.secrets.rules import Candidate, Rule, SearchedText, by_word, matches
from djinn_memory.secrets.values import joining_words, prose_words, random_words, word_list
from djinn_memory.system.expressions import expression

_END = (
    r"(?![\w%]|[.,:/\u2013-]\d|[ \t]?(?:\u20ac|(?:euros?|dollars|digits?|times|people|lines|points"
    r"|mm|cm|m|km|kg|px|ms|mb|gb|baud|pages|tests|steps|users)\b))"
)
_TURNS = r"(?:\d{1,2}(?:[\u2013-]\d{1,2}){2,3}|(?:\d{1,2}[rl][ ,-]{1,2}){2,3}\d{1,2}[rl]?)"
_DIGITS = (
    rf"(?P<code>[*#]?(?:\d{{4,8}}[a-z]?|{_TURNS}|\d\d \d\d(?: \d\d)?|\d(?: \d){{3,5}})[*#]?){_END}"
)
_SIGN = r"(?:[ \t]*(?:[:=\u2192]|->|[\u2013\u2014])[ \t]*[\"'`*_(]{0,3}|[ \t]\()"
_IS = (
    rf"(?:{_SIGN}|[ \t]{{1,4}}(?:is|was|takes|ist|lautet|est|es|(?:changed|set) to)"
    r"(?:[ \t](?:now|still))?:?[ \t]{1,4}[\"'`*_(]{0,3})"
)
_NO_TIME = r"(?!(?:[01]\d|2[0-3])[0-5]\d\b|(?:19|20)\d\d\b)"

_CODE_WORDS = "code codi pin comb key puk pass geheimzahl clave c\u00f3digo"
_CODE = (
    r"(?:code|codice|pin|combination|combo|keypad|puk|passwor[dt]|geheimzahl|clave|c\u00f3digo)\b"
)
_FOR = (
    r"(?:[ \t](?:for|to|of|on|at|with|f(?:\u00fc|ue)r|zu[mr]|von|vom|der|de|del|du)[ \t]"
    r"|[ \t](?:d|de l)['\u2019])"
)
_OF = rf"(?:{_FOR}[^\n.:=\d]{{1,50}}?)?"
_BOX = r"(?:(?:key|lock)[ -]?box|key[ -]safe)"
_LOCK = (
    rf"(?:door|gate|entrance|garage|key[ -]?pad|{_BOX}|locker|padlock|bike[ -]lock|safe|tresor"
    r"|alarmanlage|\w{0,12}t(?:\u00fc|ue)r|(?:garagen|garten|hof)?tor|porte|portail"
    r"|entr(?:\u00e9|e)e|immeuble|coffre|puerta|cancello)"
)
_HOME = r"(?:apartment|flat|house|home|cabin|cottage|shed|building|office)"
_QUALIFIED = r"(?:['\u2019]s|:)?[ -]?(?:\w+[ -])?(?:pin|pass|key)?[ -]?"
_CARRIED = (
    r"(?:sim|card|karte|bank|atm|i?phone|ipad|tablet|voicemail|mailbox|visa|debit|credit"
    r"|conference)"
)
_LOCK_BEFORE = (
    rf"\b(?:front|back|garage)?{_LOCK}{_QUALIFIED}|{_CARRIED}(?:['\u2019]s)?[ -](?:\w+[ -])?"
    r"|\b(?:digi|alarm|duress|panic|zahlen|(?<!default )pass)[ -]?"
    rf"|\b(?:{_LOCK}|alarm|{_HOME})s?\b[^\n.!?;\d]{{0,40}}(?:[:,(\u2013-]|\b(?:with|by|use))[ \t]"
)
_OWN_BEFORE = (
    rf"\b(?:alarm|lift|elevator|(?:un)?lock|screen|suitcase|luggage|vault|bike|guest){_QUALIFIED}"
)
_HOME_BEFORE = rf"\b(?:entry|access|security|{_HOME}){_QUALIFIED}"
_OWNER = rf"[^\n.:=\d]{{0,40}}?\b(?:{_LOCK}\b|alarm|card|{_HOME}\b|tarjeta)[^\n.:=\d]{{0,20}}?"

_RULES = by_word((
    # Front door code 4821. The alarm at home, code 4821.
    Rule(_CODE_WORDS, rf"{_CODE}{_OF}(?:{_IS}|[ \t]){_DIGITS}", _LOCK_BEFORE),
    Rule(_CODE_WORDS,
         rf"{_CODE}{_OF}[ \t]{_DIGITS}[ \t](?:at|for|on|to)[ \t](?:\w+[ \t]){{0,2}}{_LOCK}\b"),
    # Code for the office door: 4821. Code Tresor 4821. Phone code is 4821. PUK 12345678.
    Rule(_CODE_WORDS, rf"{_CODE}{_FOR}{_OWNER}{_IS}{_NO_TIME}{_DIGITS}"),
    Rule(_CODE_WORDS, rf"{_CODE}[ \t]{_LOCK}(?:{_IS}|[ \t]){_DIGITS}"),
    Rule(_CODE_WORDS, rf"{_CODE}{_OF}{_IS}{_DIGITS}", _OWN_BEFORE),
    Rule("puk", r"puk[ \t](?P<code>\d{8})\b"),
    # The building code is 4821, but not 2021.
    Rule(_CODE_WORDS, rf"{_CODE}{_OF}{_IS}{_NO_TIME}{_DIGITS}", _HOME_BEFORE),
    Rule("pin puk key geheimzahl", rf"(?:pin|puk|keypad|geheimzahl)\b{_OF}{_IS}{_DIGITS}",
         r"(?<![\w-])"),
    # Gate: 4821. Lock box 4821. The bike lock is 4821. Safe: 17-34-8. Safe: left 17, right 34.
    Rule("door gate safe alarm garage tresor",
         rf"(?:{_LOCK}|alarm){_OF}{_SIGN}{_NO_TIME}{_DIGITS}"),
    # The alarm panel takes 4821.
    Rule("alarm door gate garage safe key",
         rf"(?:{_LOCK}|alarm)(?:[ \t](?:panel|pad|lock|keypad|system))?"
         rf"[ \t](?:takes|needs|wants|accepts)[ \t]{_NO_TIME}{_DIGITS}"
         r"(?=[ \t]*(?:[.,;!)\n]|\Z|(?:and|then)\b))"),
    Rule("lock key", rf"{_BOX}{_OF}(?:{_IS}|[ \t]){_DIGITS}"),
    Rule("lock", rf"lock{_OF}(?:{_IS}|[ \t]){_DIGITS}", r"(?:pad|(?:bike|luggage|suitcase)[ -])"),
    Rule("safe lock tresor comb",
         rf"(?:safe|lock(?:er)?|tresor|combo){_OF}{_IS}(?P<code>{_TURNS}){_END}"),
    Rule("safe lock comb",
         r"(?:safe|lock|comb)[^\n]{0,50}?(?P<code>\b(?:left|right)[ \t]\d{1,2}"
         r"(?:[,; -]{1,3}(?:then )?(?:left|right)[ \t]\d{1,2}){2,3})"),
    # The gate opens with 4821. Disarm the alarm with 4821. To unlock it, type 4821.
    Rule("open lock disarm",
         rf"(?:open|(?<=un)lock|disarm)(?:s|ed)?[ \t](?:with|by|using)[^\n.\d]{{0,20}}{_DIGITS}"
         r"(?=[ \t]*(?:[.,;!)\n]|\Z|(?:and|then)\b))",
         rf"\b(?:{_LOCK}|lock|alarm)\b[^\n.\d]{{0,40}}"),
    Rule("lock disarm",
         rf"(?:(?<=un)lock|disarm)\b[^\n.\d]{{0,40}}?\b(?:with|by|using|enter|type|dial|press|punch)"
         rf"[ \t][^\n.\d]{{0,15}}?{_DIGITS}"),
    # Enter 4821 at the gate. Gate, 4821#.
    Rule("door gate safe lock alarm garage key", rf"(?:{_LOCK}|alarm)\b",
         rf"\b(?:enter|type|dial|press|punch|use)(?: in)?[ \t][^\n.\d]{{0,15}}?{_DIGITS}[ \t]"
         r"(?:at|on|into|to (?:open|unlock|disarm))[ \t](?:\w+[ \t]){0,3}"),
    Rule("door gate safe lock alarm garage key office building",
         rf"(?:{_LOCK}|alarm|{_HOME})[^\n]{{0,40}}?\b(?P<code>\d{{4,8}})#(?![\w#])"),
))  # fmt: skip
"""Each rule has the group `code` in one of its two expressions."""
_NOT_SECRET = expression(
    r"default|example|factory|e\.g\.|sample|such as|qr |zip |postal|bar ?code|error|fault|exit|fail"
    r"|status|return|product|dress|(?:area|bank|sort) code"
)
_POSTAL = expression(r"(?<!card )(?<!my )(?:[,-] ?pin|pin ?code)(?::| is)? ?\Z")
"""The text before the six digits of an Indian postal code."""

_CARD = expression(r"[2-6]\d{3}(?:(?:[ -]\d{4}){3}|[ -]\d{6}[ -]\d{5}|\d{9,15})(?![\w-])", re.ASCII)
_CARD_CODE = expression(
    r"(?:\b(?:cvc2?|cvv2?|csc|cid)\b|(?:security|card|verification)[ -](?:code|value|number)"
    r"|pr(?:\u00fc|ue)f(?:nummer|ziffer)|cryptogramme)\W{0,6}(?:(?:is|code|ist)\W{1,6})?\d{3,4}\b"
)
_VALID_CARD_CODE = expression(
    r"\W{1,12}(?:\w{3,10}\W{1,3}){0,3}(?:0[1-9]|1[0-2]) ?[/-] ?(?:20)?\d\d\W{1,12}\d{3,4}\b"
    r"|[^\n\d]{1,40}\b(?:code|digits|number)[^\n\d]{1,25}\d{3,4}\b"
)
"""The text after a number that passes the Luhn check: an expiry date and a code, or a code."""
_NO_CARD = expression(r"test|example|dummy|sandbox|sample|fake|order|invoice|tracking|account")

_ONE_TIME_WORDS = ("otp", "2fa", "mfa", "factor", "auth", "one-time", "einmal")
_ONE_TIME = (
    r"(?:(?<![a-z\d])|(?<=\b[th]))(?:otp|2fa|mfa)(?![a-z\d])|(?<=two[ -])factor"
    r"|auth(?:enticator|y)|one|ein"
)
_SEED = expression(
    r"(?<![\w/+-])(?:[a-z2-7]{16,64}={0,6}|[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,15})(?![\w/+-])"
)
_BACKUP = r"(?:backup|recovery|scratch|rescue|emergency|wiederherstellungs|notfall)[ -]?"
_BACKUP_CODE = expression(
    r"(?<![\w-])(?:\d{8}|\d{4}[ -]\d{4}|(?=[a-z-]*\d)(?=[\d-]*[a-z])"
    r"(?:[a-z\d]{4,6}(?:-[a-z\d]{4,6}){1,7}|[a-z\d]{8,12}))(?![\w-])"
)
_DISK_KEY = expression(r"\d{6}(?:-\d{6}){7}(?![\d-])")


def _codes(text: SearchedText) -> Iterator[Candidate]:
    """Codes for a door, a lock or a phone."""
    for _, match, before in matches(text.near_numbers, _RULES):
        start, stop = (match if match.re.groups else before).span("code")
        near = text.lower[max(0, match.start() - 25) : start]
        postal = stop - start == 6 and _POSTAL.search(near)
        if not (_NOT_SECRET.search(near) or postal):
            yield "a code", start, stop, min(match.start(), start)


def _cards(text: SearchedText) -> Iterator[Candidate]:
    """Numbers of payment cards together with their security codes."""
    for match in filter(None, (_CARD.match(text.lower, number) for number in text.numbers)):
        start, stop = match.span()
        code = _CARD_CODE.search(text.lower, stop, stop + 100)
        before = _CARD_CODE.search(text.lower, max(0, start - 60), start)
        if not code and _fits_luhn(match[0]):
            code = _VALID_CARD_CODE.match(text.lower, stop, stop + 90)
        end = code.end() if code else stop
        if (code or before) and not _NO_CARD.search(text.lower, max(0, start - 40), end):
            yield "a payment card", start, end, start


def _fits_luhn(number: str) -> bool:
    """Whether a card number passes the Luhn check."""
    digits = [int(digit) for digit in reversed(number) if digit.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _one_time(text: SearchedText) -> Iterator[Candidate]:
    """Seeds of one-time passwords, backup codes, and recovery keys for disks."""
    near = text.near_numbers
    for cue in (match.start() for match in near.at(_ONE_TIME_WORDS, _ONE_TIME)):
        for match in _SEED.finditer(text.lower, cue, cue + 130):
            value = text.text[slice(*match.span())]
            cased = value.isupper() or value.islower()
            if cased and any(map(str.isdigit, value)) and len(set(value)) >= 8:
                yield "a seed of one-time passwords", *match.span(), cue
    for named in near.at(("code", "key"), rf"(?:code|key)s?(?:{_OF}(?P<is>{_IS}))?", _BACKUP):
        listed = list(_BACKUP_CODE.finditer(text.lower, named.start(), named.start() + 220))
        if len(listed) > 1 or (listed and named["is"] and listed[0].start() == named.end()):
            yield "backup codes", listed[0].start(), listed[-1].end(), named.start()
    for match in filter(None, (_DISK_KEY.match(text.lower, number) for number in text.numbers)):
        yield "a recovery key", *match.span(), match.start()


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
    expression(rf"\n(?=[a-z1*-])(?:1[.)]?[ \t]|[*-][ \t]|){_LIST}"),
    expression(rf": {_LIST}"),
)
_WALLET = expression(
    "wallet|seed|mnemonic|phrase|words|recovery|backup|bip|trezor|metamask|ledger|bitcoin|btc"
    "|ethereum|crypto|electrum|exodus|phantom|coinbase"
)
_FOLLOWED = rf"(?:\W{{1,6}}+\w{{1,20}}+){{0,8}}?\W{{1,10}}(?:\d{{1,2}}[.)] ?)?{_LIST}"
_CUES = by_word((
    Rule("seed", rf"seeds?(?:[ -]?(?:phrase|word)s?|[ \t]*[:=]|[ \t]is\b){_FOLLOWED}"),
    Rule("wallet mnemonic", rf"(?:wallet|mnemonic){_FOLLOWED}"),
    Rule("word phrase", rf"(?:word|phrase)s?{_FOLLOWED}",
         r"(?:12|15|18|21|24|twelve|four|recovery|backup|secret|trezor|ledger)[ -]"),
))  # fmt: skip
_WORD = expression("[a-z]+")
_COUNTS = (12, 15, 18, 21, 24)
"""The numbers of words that a seed can have."""
_LEAST = _COUNTS[0]
_PROSE = 4
"""Maximum number of common words of prose among twelve words of a seed."""


def _passphrases(text: SearchedText) -> Iterator[Candidate]:
    """At least four words that a text calls a passphrase or a password."""
    for match in text.at(("pass",), _PASSPHRASE, r"(?<!\w)"):
        words = [word for word in re.split("[ ._-]", match["value"].lower()) if len(word) > 2]
        # `password strength meter test` without a sign between is no password.
        named = match["is"] is not None or match[0].startswith("passphrase ")
        sentence = joining_words().intersection(words)
        if named and len(words) > 2 and not sentence and random_words(words):
            yield "a passphrase", *match.span("value"), match.start()


def _wallets(text: SearchedText) -> Iterator[Candidate]:
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
    places = range(len(words) - _LEAST + 1)
    firsts = [first for first in places if _is_list(words[first : first + _LEAST], others)]
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
        and len(different & prose_words()) <= _PROSE
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


SEARCHES = (_codes, _cards, _one_time, _passphrases, _wallets)
