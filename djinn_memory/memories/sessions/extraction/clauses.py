"""Clauses: the parts of a sentence that state one thing each, and who they are about. Pure.

`My manager is Tomasz, and Hannah does the frontend` has two, about the speaker and about Hannah.
A clause without a subject, as in `Lost my job yesterday`, is about the speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.sessions.extraction.claims import Sentence
from djinn_memory.memories.sessions.extraction.fact_rules import USER

LEAD = re.compile(
    r"(?:(?:hi|hey|hello|ok|okay|so|also|and|but|btw|by the way|fyi|for the record|oh|ah|aw+|well"
    r"|yes|for your information|just so you know|no(?=[,.!])|yeah|yep|yup|right|now|note"
    r"|one more thing|thanks|thank you|great|good|actually|as a reminder|reminder|important"
    r"|another thing|first|second|finally|sure|perfect|cool|nice|correct|exactly|wow|wo+ah"
    r"|whoa|gosh|man|haha|lol|hm+|honestly|basically|definitely|totally|absolutely|unfortunately"
    r"|sadly|luckily|guess what|plus|awesome|anyway|besides|in the meantime"
    r"|on (?:another|a different) note|as for me|recently|lately|nowadays|these days|currently"
    r"|since (?:(?:we|our|the) last(?: \w+)?(?: spoke| talked| chatted| met)?|we \w+ last)"
    r"|personally|as you know|to be honest|for me)"
    r"(?:\s+[a-z][\w-]+(?=\s*[,:!–—]))?\s*[,:!–—-]*\s+){0,4}",
    re.IGNORECASE,
)
"""Words before a statement that are no part of it."""

_NAME = r"(?-i:[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)?)"
_SPEAKER = r"(?:I|we|my|our|me and my)(?=['’\s])"
_CALLED = re.compile(
    rf"(?-i:[A-Z][^\W\d_]+),\s+(?={_SPEAKER})|,\s+(?-i:[A-Z][^\W\d_]+)$", re.IGNORECASE
)
"""The name of the one who is spoken to: `Anna, I moved`, `I moved, Anna`."""

IRREGULAR_PAST = (
    r"got|went|had|took|made|lost|found|met|saw|came|bought|sold|won|gave|ran|wrote|read|began"
    r"|spent|left|quit|taught|built|broke|felt|told|sent|held|brought|fell|grew|kept|became|said"
)
"""Frequent verbs whose past is irregular, as alternatives of a pattern."""

_VERB = (
    r"(?:is|are|was|were|has|have|will|won['’]t|can|can['’]t|isn['’]t|does|doesn['’]t|did|didn['’]t"
    rf"|{IRREGULAR_PAST}|feel|need|want|love|live|go|play|work|enjoy|(?-i:[a-z]{{2,}}(?:[^s\W]s|ed)))"
)
_THIRD = re.compile(
    rf"(?P<who>(?:the|our|my)(?:,? [\w'’-]+){{1,4}}?|a friend(?: of mine)?"
    rf"|{_NAME}(?:['’]s(?: [\w-]+){{1,3}}?)?)(?:['’]s|(?:,| \w+ly| just| also| now)? {_VERB})(?= )"
    rf"|(?P<both>{_NAME} and {_NAME}) (?-i:[a-z]+)(?= )",
    re.IGNORECASE,
)
_OWN = re.compile(_SPEAKER, re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|a) ", re.IGNORECASE)
_FIRST = re.compile(
    rf"(?:(?:(?:my|our) [\w-]+(?: [\w-]+)?|{_NAME}) and )?(?:I|we)\b|there(?:['’]s| is| are)\b"
    r"(?=.* (?:my|our)\b)",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"(?:[a-z]+ing$|it|that|this|these|those|there|he|she|they|you|who|what|how|when|where|why|which"
    r"|one|some|someone|something|nothing|nobody|every\w*|all|each|any\w*|people|life|time|here|such"
    r"|just|gotta|gather|two|three|four|tons|lots|little|both|even|if|as|in|on|at|for|with|to|your|his|her|their"
    r"|its|not|never|always|maybe|love|a|an|no|thanks?|let|please|do|does|did|is|are|was|can|could"
    r"|would|should|will)\b",
    re.IGNORECASE,
)
"""Words at the beginning of a sentence that are no name, though they are capitalised."""

_ELIDED = (
    ("I've ", r"been\b"),
    ("I ", rf"(?:(?:just|already|finally|still|even) )?(?:{IRREGULAR_PAST}|[a-z]{{2,}}ed)\b"
           r"(?! (?:by|with|for|about)\b)"),
    ("I'm ", r"(?:gonna|(?!everything|nothing|something|anything|during|being|having|seeing"
             r"|including|according)[a-z]+ing)\b(?!['’]s)(?!.*['’]s (?:an?|the|my|so|been|such)\b)"
             r"(?!.*\b(?:is|isn['’]t|are|was|were|makes?|made|help(?:s|ed)|takes|gives|gave|can|has"
             r"|keeps|brings?|means|requires|looks|sounds|seems|feels|lets?|allows)\b)"),
)  # fmt: skip
"""How a sentence begins whose subject is the speaker, unsaid, after the words that it lacks."""

_SUBORDINATE = re.compile(
    r"(?:according|when|while|after|before|since|if|as|although|even|though|once|because|until"
    r"|whenever|for|in|on|at|during|last|next|this|yesterday|tomorrow|today|with|apart|besides)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?:yesterday|tomorrow|today|tonight|(?:last|next|this|in|on|at|after|before|during|for|from)"
    r"(?: [\w'’-]+){1,4}?) (?=(?:(?:I|we)(?:['’]\w+)?|the|my|our) )",
    re.IGNORECASE,
)
_NEXT = (
    rf"(?={_SPEAKER}|(?:it|that|this|they|he|she|you|there|who|which|let['’]s)\b"
    rf"|{_NAME}(?: |['’]s ){_VERB} )"
)
_CUT = re.compile(
    r"\s+[-–—]+\s+|;\s+|\s*\((?:[^()]*)\)\s*|(?<=[^.])\.\.+\s*|,\s+(?=(?:which|who|where)\b)"
    r"|,?\s+(?:and|but|(?<!or )so|plus|because|['’]?cause|cuz|though|although|whereas|while)\s+"
    rf"{_NEXT}|,\s+{_NEXT}",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?:^|[,;] |\b(?:when|while|since|after|before|that|because) )"
    r"(?:(?:me and )?(?:my|our|the) [\w-]+(?: [\w-]+)?|[A-Z]\w+)$",
    re.IGNORECASE,
)
"""The first part of a subject of two, as in `my sister and I`."""


_JOB = re.compile(
    r"(?P<at>I(?: now)? work (?:for|at) .+) (?P<job>as (?:an? |the )?.+)", re.IGNORECASE
)


class Clause(Struct, frozen=True):
    """A clause with a subject."""

    text: str
    """Its words, with the subject that was unsaid."""
    masked: str
    """The same characters, but `BLANK` for each one in code and quotations."""
    who: str
    """The subject: `USER`, or the name of the person or the thing."""
    doubtful: bool = False
    """Whether the subject may be another: `Swimming` may be no action, and `Blue` no person."""


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """The clauses of a sentence that have a subject, in order."""
    for start, end in _parts(sentence.masked):
        lead = LEAD.match(sentence.masked, start, end)
        start = lead.end() if lead else start
        called = _CALLED.match(sentence.masked, start, end)
        start = called.end() if called else start
        masked = sentence.masked[start:end].rstrip(" .,!…:\t")
        if called := _CALLED.search(masked):
            masked = masked[: called.start()] if called.end() == len(masked) else masked
        clause = _clause(sentence.text[start : start + len(masked)], masked)
        if clause and (job := _JOB.fullmatch(masked)):
            # Where and as what somebody works are two facts.
            yield replace(clause, text=clause.text[: job.end("at")], masked=job["at"])
            text, masked = (f"I work {each[job.start('job') :]}" for each in (clause.text, masked))
            clause = Clause(text, masked, USER)
        if clause:
            yield clause


def _parts(masked: str) -> Iterator[tuple[int, int]]:
    """Where the clauses of a sentence begin and end."""
    start = 0
    for cut in _CUT.finditer(masked):
        before = masked[start : cut.start()].strip()
        if _PAIR.search(before) and "and" in cut[0]:
            continue
        lead = LEAD.match(before)
        opening = before[lead.end() :] if lead else before
        if cut[0].strip() == "," and _SUBORDINATE.match(opening) and "," not in opening:
            # "When I was ten, we moved" is one clause.
            continue
        yield start, cut.start()
        start = cut.end()
    yield start, len(masked)


def _clause(text: str, masked: str) -> Clause | None:
    opening = masked
    if _SUBORDINATE.match(masked) and "," in masked:
        opening = masked.partition(",")[2].strip()
    elif time := _TIME.match(masked):
        opening = masked[time.end() :]
    for missing, pattern in _ELIDED:
        if re.match(pattern, masked, re.IGNORECASE):
            begins = masked[0].lower() + masked[1:]
            rest = text[0].lower() + text[1:]
            return Clause(missing + rest, missing + begins, USER, missing == "I'm ")
    if third := _THIRD.match(opening):
        said = third["who"] or third["both"]
        who = _ARTICLE.sub("", said, count=1)
        if _OWN.match(f"{who} "):
            return Clause(text, masked, USER)
        if not _NO_NAME.match(who):
            return Clause(text, masked, who, doubtful=who == said and " " not in who)
    return Clause(text, masked, USER) if _FIRST.match(opening) else None
