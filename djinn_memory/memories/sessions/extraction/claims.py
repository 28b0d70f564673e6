"""A claim: a statement in a turn that is to be kept, and the sentences that may have one. Pure.

What a person wrote is cut into sentences, without code, quotations and pasted text. A claim has a
digest that identifies it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from djinn_memory.languages.word_lists import meaning_of
from djinn_memory.notes.slugs import flat, fold

ClaimType = Literal["fact", "preference", "decision", "commitment", "lesson"]
EntityType = Literal["person", "place", "project"]

TITLE = 80
"""Maximum characters of a title."""

_WORD = re.compile(r"[\w@#+]+")


class Claim(Struct, frozen=True):
    """A statement to be kept, in the words of the person who made it."""

    rule: str
    """The rule that found it, such as `preference` or `call-me`."""
    type: ClaimType | EntityType
    """The type of the memory that it becomes."""
    title: str
    """The title of the memory."""
    text: str
    """The statement on one line; for a fact, its value."""
    category: str = ""
    """The category of a fact."""
    key: str = ""
    """The key of a fact."""
    due: str | None = None
    """The day by which a commitment is due, as ISO 8601."""
    tags: tuple[str, ...] = ()
    """Tags of the memory."""
    day: str | None = None
    """The first day that the statement names, as ISO 8601."""
    whole: bool = False
    """Whether the value of a fact is a sentence that stands alone."""
    sure: bool = True
    """Whether it becomes a memory. Others are proposed."""

    @property
    def is_keyed(self) -> bool:
        """Whether it is a fact, which has one value at a time."""
        return self.type == "fact"


def title_of(text: str, most: int = TITLE) -> str:
    """The first words of a text, as a title."""
    line = " ".join(text.replace("`", "").split())
    if len(line) > most:
        line = f"{line[:most].rpartition(' ')[0] or line[:most]} ..."
    return line[:1].upper() + line[1:]


def key_of(who: str, text: str) -> str:
    """The key of a fact about `who` whose value is a sentence: its words without the subject."""
    key = re.sub(r"[^\w\s@.,:'’-]", "", text)
    own = rf"^(?:the )?(?:{re.escape(who)}|I|we)(?:['’](?:m|ve|re|s))? "
    key = re.sub(own, "", key, flags=re.IGNORECASE)
    key = title_of(key, 60).removesuffix(" ...").rstrip(".,: ")
    return key[:1].lower() + key[1:]


def claim_digest(agent: str, claim: Claim) -> str:
    """A hash of a normalised claim. It is the same for other case, spacing and punctuation.

    It does not reveal the text. Each agent has its own.
    """
    fact = f"{fold(claim.category)}/{fold(claim.key)}" if claim.is_keyed else ""
    words = " ".join(_WORD.findall(flat(claim.text)))
    return _hash(agent, claim.type, fact, claim.due or "", words)


def key_digest(agent: str, claim: Claim) -> str:
    """A hash of the meaning of a fact, whose values follow each other; "" for other claims."""
    if not claim.is_keyed:
        return ""
    return _hash(agent, "key", fold(claim.category), meaning_of(claim.key))


def _hash(*parts: str) -> str:
    data = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.blake2b(data, digest_size=16, person=b"djinn.extract").hexdigest()


READ = 20_000
"""Maximum characters of a message that are read."""

LONGEST_LINE = 4_000
"""A longer line is pasted text or data."""

LONGEST = 300
"""Maximum characters of a sentence. Nobody states a fact in a longer one."""

BLANK = "\ue000"
"""Replaces each character of code and quotations where rules look for their words."""

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_LEFT_OUT = re.compile(r"^(?: {4}|\t| {0,3}[>|#<]|\s*https?://)")
_PASTED = re.compile(
    r"^\s*(?:on\b.{3,80}\bwrote:\s*$|-{3,}\s*original message|from:\s|subject:\s"
    r"|dear\b.{0,60},\s*$)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[ x]\]\s+)?")
_EMPHASIS = re.compile(r"(?<!\*)\*\*(?!\*)|(?<!_)__(?!_)")
_QUOTED = re.compile(
    r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|(?<!\w)['‘][^'’\n]{2,}['’](?!\w)"
)
_END = re.compile(r"(?<=[.!?…])[\"”’)]*\s+(?=[^\sa-z])")
_ABBREVIATION = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|st|no|vs|etc|e\.g|i\.e|a\.m|p\.m|approx|inc|ltd|jr|sr)\.\s*$",
    re.IGNORECASE,
)
_HOSTILE = re.compile(
    r"\[\[|\]\]|%%|\$\$|==|\*{4,}|(?<!\w)#[^\W\d_]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffd{}|<>\\^]"
)
"""Characters that are structure in a note, or data, and no plain language of a statement."""

_EXAMPLE = re.compile(r"(?:example|user story|quote|translation|draft)\s*\d*\s*:", re.IGNORECASE)
"""How a sentence begins that only shows one."""

_REPORTED = re.compile(
    r",\s*(?:as )?(?:they|he|she|people|\w+) (?:say|says|said|told me|tells me|claims|writes"
    r"|wrote)\b",
    re.IGNORECASE,
)

_TASK = re.compile(
    r"(?:please\s+|can you\s+|could you\s+|now\s+|then\s+|and\s+)*"
    r"(?:you are (?:an? |the |now )|your (?:task|job|role) is"
    r"|(?:translate|proofread|rewrite|rephrase|reword|paraphrase|summari[sz]e|correct|improve"
    r"|polish|shorten|draft|compose|write|type|print|role-?play|act as|pretend|imagine|suppose"
    r"|assume|repeat|complete|continue|quote|parse|classify|analy[sz]e|explain|how do (?:you|i) say"
    r")\b(?=.*(?::|\b(?:this|these|following|below|story|poem|letter|e-?mail|message|text|sentence"
    r"|dialogue|character|speech|lyrics|as if|you are|that)\b)))",
    re.IGNORECASE,
)
"""A task about a text, or a prompt. The next words are likely that text, and not a statement."""


class Sentence(Struct, frozen=True):
    """A sentence of a message."""

    text: str
    """Its words."""
    masked: str
    """The same characters, but `BLANK` for each one in code and quotations."""


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences in which a person may state something.

    Left out are code, quotations, headings, tables, pasted mail, very long lines, questions, and
    all that follows a task about a text, such as a translation.
    """
    for paragraph in _paragraphs(text[:READ]):
        for sentence in _cut(paragraph):
            if _TASK.match(sentence.masked):
                return
            short = len(sentence.text) <= LONGEST
            question = sentence.text.rstrip('"”’) ').endswith("?")
            odd = not is_plain(sentence.text) or _REPORTED.search(sentence.masked)
            odd = odd or _EXAMPLE.match(sentence.masked)
            if short and not question and not odd:
                yield sentence


def is_plain(text: str) -> bool:
    """Whether a text has nothing that is structure in a note, such as a link."""
    return not _HOSTILE.search(text)


def _paragraphs(text: str) -> Iterator[str]:
    """Lines of prose. A line that goes on in lower case is joined with the next."""
    pending = ""
    for line in _prose_lines(text):
        plain = _EMPHASIS.sub("", _BULLET.sub("", line)).strip()
        goes_on = pending and plain[:1].islower() and pending[-1] not in ".!?:"
        if goes_on and plain == line.strip() and len(pending) < LONGEST:
            pending = f"{pending} {plain}"
            continue
        if pending:
            yield pending
        pending = plain
    if pending:
        yield pending


def _prose_lines(text: str) -> Iterator[str]:
    """The lines outside of code, quotations, front matter and pasted mail; "" between them."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].strip() == "---" and "---" in lines[1:]:
        lines = lines[lines.index("---", 1) + 1 :]
    fence = ""
    for line in lines:
        if fence:
            if line.strip().startswith(fence):
                fence = ""
            yield ""
        elif match := _FENCE.match(line):
            fence = match[1]
            yield ""
        elif _PASTED.match(line):
            return
        else:
            yield "" if len(line) > LONGEST_LINE or _LEFT_OUT.match(line) else line


def _cut(paragraph: str) -> Iterator[Sentence]:
    masked = _QUOTED.sub(lambda match: BLANK * len(match[0]), paragraph)
    start = 0
    for end in _END.finditer(masked):
        if not _ABBREVIATION.search(masked, start, end.start()):
            yield Sentence(paragraph[start : end.start()], masked[start : end.start()])
            start = end.end()
    yield Sentence(paragraph[start:], masked[start:])
