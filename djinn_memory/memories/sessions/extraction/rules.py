"""The rules of extraction: which sentences state something to be kept. Pure.

They prefer to miss a statement over keeping what was none. A rule matches a whole sentence from its
beginning, so that the words of other people, questions and suppositions are not taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from typing import NamedTuple

from djinn_memory.languages.date_phrases import named_period
from djinn_memory.memories.sessions.extraction.claims import (
    BLANK,
    Claim,
    ClaimType,
    Sentence,
    sentences,
    title_of,
)
from djinn_memory.memories.sessions.extraction.clauses import LEAD, clauses
from djinn_memory.memories.sessions.extraction.fact_rules import fact_of
from djinn_memory.memories.sessions.extraction.meaning import Meaning
from djinn_memory.memories.sessions.extraction.talk import Told, judged, told_by, told_whole

_TODAY = re.compile(
    r"eod|(?:at |around )?(?:noon|midnight|\d{1,2}:\d\d|\d{1,2}(?::\d\d)?\s?[ap]\.?m\.?)"
)
"""Times of today."""
_DISTANCE = re.compile(r"(?:\d{1,3}|[a-z]+) (?:day|week|month|year)s?")


def due_day(text: str, today: date) -> date | None:
    """The day that a text names, seen from `today`; None if it names none.

    Of a longer period it is the last day: of a week its Sunday.
    """
    words = " ".join(text.lower().strip(" .!").split())
    if _TODAY.fullmatch(words):
        return today
    if _DISTANCE.fullmatch(words):
        words = f"in {words}"
    period = named_period(words, today, coming=True)
    return (period.counted or period.last) if period else None


MOST = 8
"""Statements of one message. With more it is taken for a pasted text, and none counts."""

REMEMBERED = "remembered"
"""The category of facts that a person asked to remember in a sentence of its own."""

MASK = "****"
"""The end of a secret that was masked when the turn was recorded."""

SHORT_MESSAGE = 1_500
"""In a longer message, `always` and `never` are likely from a text that was pasted."""

_POLITE = re.compile(r"(?:please,?|kindly|do)\s+", re.IGNORECASE)

_UNSURE = re.compile(
    r"\b(?:if|would|could|might|maybe|perhaps|possibly|probably|suppose|supposing|imagine|assuming"
    r"|assume|unless|whether|wish|pretend|let's say|i think|i guess|i believe|not sure|for example"
    r"|e\.g|used to|almost|hypothetically|or something|theoretically|i'd|just kidding|joking)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"(?:if|suppose|supposing|imagine|assuming|say|let['’]s say|pretend)\b", re.IGNORECASE
)

_REMEMBER = re.compile(
    r"(?P<asked>(?:please,?\s+)?(?:always\s+)?remember|(?:please,?\s+)?(?:don't|don’t|do not|never)"
    r"\s+forget|(?:please,?\s+)?keep in mind|(?:please,?\s+)?bear in mind|(?:please,?\s+)?make a "
    r"note)(?P<link>\s+that\s+|(?:\s+this)?\s*:\s+)(?P<what>.+)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(?:(?i:i|i'm|i’m|i've|i’ve|we|we're|we’re|my|our|your|the|a|an|it|it's|it’s|he|she|they|you"
    r"|there|these|those|all|every|each|any|no|nobody|everyone|his|her|their|its|when|on|in|at)\b"
    r"|[A-Z0-9`\"]|[a-z]+[^s\W]s\s+\w)"
)

_REPROACH = re.compile(r"(?:i (?:told|said|asked)|you (?:said|told|promised))\b", re.IGNORECASE)

_ADVERBS = (
    r"(?:\s+(?:really|generally|usually|normally|always|definitely|strongly|personally|much|still"
    r"|typically|mostly|clearly|vastly))*"
)
_PREFER = re.compile(
    r"(?P<context>(?:for|when|in|with|at|on|during)\s[^,]{2,50},\s+)?(?:personally,\s+)?"
    rf"(?P<said>I{_ADVERBS}\s+prefer\s+(?P<what>.+))",
    re.IGNORECASE,
)
_LIKE = re.compile(
    rf"(?P<context>(?:for|when|in|with|at|on|during)\s[^,]{{2,50}},\s+)?(?P<said>I{_ADVERBS}"
    r"\s+(?P<verb>like|enjoy)\s+(?P<what>(?P<first>\S+(?:\s\S+){0,7}?)\s+"
    r"(?:better than|more than|over)\s+\S.*))",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(
    r"(?:for (?:now|today|this|that|these)|in (?:this|that)|at the moment|on this|here|as (?:is|it)"
    r")",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"(?:this|that|these|those|them|him|her|you|one|it(?! when)|your|yours|both|either|neither|what"
    r"|how|option|version|number|variant|the (?:first|second|third|last|latter|former|other|others"
    r"|new|old|previous|next|original|shorter|longer|one|ones|version|option|approach|idea|way|above"
    r"|below|left|right|top|bottom|current)|to (?:wait|stop|leave|go with|keep it|see)|not)\b"
    r"(?! to be\b)",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"\b(?:how|what|that|when|where|who|why|it|this)\b", re.IGNORECASE)

_DECIDED = re.compile(
    r"(?P<context>(?:after|following|in|at|on|yesterday|today|last|this|during)\b"
    r"(?: [^\s,]+){1,6}?,?\s)?"
    r"(?P<said>(?:we(?:'ve| have|’ve)?(?: finally| now| just| also| all| both)?"
    r" (?:decided|agreed)|I(?:'ve| have|’ve)?(?: finally| now| just| also)? decided)"
    r" (?:(?:not )?to|on|against|that|upon) \S+ ?.*)",
    re.IGNORECASE,
)
_DECISION = re.compile(r"(?:the )?decision(?:\s*:| is (?:to|that)) (?P<what>\S+ .+)", re.IGNORECASE)

_WILL = re.compile(
    r"(?P<said>(?:I will|I'll|I’ll|I shall) (?P<what>.+) (?:by|before) (?P<when>[\w ,:.'-]+))",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"(?P<said>(?:I promise(?: you)?,? (?:to|(?:that )?I(?:'ll|’ll| will))|I commit to)"
    r" (?P<what>.+))",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"(?:not|never|probably|try|maybe|hopefully|see|be late|do my best|think|love|always"
    r"|be (?!done|ready|finished))\b",
    re.IGNORECASE,
)

_LESSON = re.compile(
    r"(?:(?:the |my |one |key |our )*lessons? (?:learned|learnt)(?: here| today)?"
    r"(?:\s*:|\s+[-–—]|,| is(?: that)?| are)|(?:the |one |key |main )+lesson(?: here)?"
    r"(?: is| was)(?: that|:)|lesson:|we (?:have )?(?:just )?(?:learned|learnt)"
    r"(?: the hard way)? that|I (?:learned|learnt) the hard way that) (?P<what>\S+ .+)",
    re.IGNORECASE,
)

_VERB = (
    r"(?:use|run|write|ask|answer|reply|respond|send|add|include|check|test|commit|push|merge|deploy"
    r"|delete|remove|rename|edit|change|modify|touch|create|make|put|keep|give|show|tell|explain"
    r"|format|sign|start|begin|end|finish|assume|guess|share|store|save|log|print|open|close|book"
    r"|schedule|order|buy|pay|translate|cite|mention|suggest|recommend|speak|address|confirm|verify"
    r"|validate|review|read|update|install|upgrade|avoid|set|leave|wait|stop|skip|ignore|follow"
    r"|round|convert|import|return|raise|catch|wrap|name|document|link|summari[sz]e|spell|indent"
    r"|mock|hardcode|expose|trust|interrupt|force-push|rebase|squash|backup|back up|restart|reboot"
    r"|publish|release|ship|reveal|disclose|quote|lint|type|pin|refer|prefix|call the|do (?!not))"
)
_INSTRUCTION = re.compile(
    r"(?P<said>(?:please,? )?(?:(?:from now on|in (?:the )?future|going forward),? (?:please,? )?"
    rf"(?:always |never |don't |do not )?{_VERB}\b|(?:always|never) {_VERB}\b"
    rf"|(?:don't|do not) ever {_VERB}\b)\s*(?P<what>\S+.*))",
    re.IGNORECASE,
)
_IDIOM = re.compile(
    r"(?:never (?:give up|put off|tell|say|end|make it|trust a|touch a running"
    r"|change a (?:running|winning))|always (?:make it|put your|keep (?:smiling|calm|going)))\b",
    re.IGNORECASE,
)


class _Said(NamedTuple):
    """A clause without its lead-in: its words, and the words with code and quotations masked."""

    text: str
    masked: str
    said: datetime

    def group(self, match: re.Match[str], name: str) -> str:
        start, end = match.span(name)
        return self.text[start:end].strip()


def told_in(text: str, said: datetime, *, personal: bool = True) -> Iterator[Told]:
    """The statements that a message may make, in order.

    Without `personal` the words are not those of the user, as in the output of a tool: then only
    decisions and lessons count, which do not depend on who says them.
    """
    for sentence in sentences(text):
        if personal:
            yield from _of_sentence(sentence, said, len(text))
        elif claim := _first(sentence.text, sentence.masked, said, _IMPERSONAL, len(text)):
            yield Told(claim)


def settled(told: Sequence[Told], meanings: Sequence[Meaning] | None) -> list[Claim]:
    """The claims of what a message may state. Without meanings, only forms make claims.

    `meanings` are those of the entries with words to be compared, in order. Of claims that are not
    sure only the best one counts, so that a long message does not become a list of proposals.
    """
    scores: dict[Claim, float] = {}
    left = iter(meanings or ())
    for each in told:
        if not each.meaning or (meanings is None and each.formed):
            scores[each.claim] = 1.0
        elif meanings is not None and (claim := judged(each, meaning := next(left))):
            scores[claim] = meaning.score
    best = max((claim for claim in scores if not claim.sure), key=scores.__getitem__, default=None)
    claims = [claim for claim in scores if claim.sure or claim is best]
    return claims if sum(claim.sure for claim in claims) <= MOST else []


def _of_sentence(sentence: Sentence, said: datetime, length: int) -> Iterator[Told]:
    """The statements of a sentence: one of all its words, or those of its clauses."""
    whole = _first(sentence.text, sentence.masked, said, _PERSONAL, length)
    if whole and whole.rule in ("remember", "instruction", "decision", "lesson"):
        yield Told(whole)
        return
    text, masked = _bare(sentence.text, sentence.masked)
    talk = length <= SHORT_MESSAGE and not _SUPPOSED.match(masked)
    if talk and not whole and (told := told_whole(text, masked, said)):
        yield told
        return
    by_rule = False
    for clause in clauses(sentence):
        unsure = bool(_UNSURE.search(sentence.masked))
        if claim := _first(clause.text, clause.masked, said, _PERSONAL, length, unsure=unsure):
            by_rule = True
            yield Told(claim)
        elif talk and (told := told_by(clause, said)):
            yield told
    if whole and not by_rule:
        yield Told(whole)


def _bare(text: str, masked: str) -> tuple[str, str]:
    """A sentence without its lead-in and the sign at its end."""
    lead = LEAD.match(masked)
    start = lead.end() if lead else 0
    end = len(masked.rstrip(" .!…\t"))
    return text[start:end], masked[start:end]


def _first(
    text: str,
    masked: str,
    said: datetime,
    rules: tuple[_Rule, ...],
    length: int,
    *,
    unsure: bool | None = None,
) -> Claim | None:
    """The statement of the first rule that matches a clause after its lead-in."""
    unsure = bool(_UNSURE.search(masked)) if unsure is None else unsure
    clause = _Said(*_bare(text, masked), said)
    if not clause.text:
        return None
    for rule in rules:
        if (unsure and rule.certain) or (length > SHORT_MESSAGE and rule.short):
            continue
        if (claim := rule.build(clause)) is not None:
            return claim
    return None


def _remembered(clause: _Said) -> Claim | None:
    match = _REMEMBER.fullmatch(clause.masked)
    if not match:
        return None
    what = clause.group(match, "what")
    politely = match["asked"].lower() != "remember" or ":" in match["link"]
    if not politely and not _SUBJECT.match(what):
        return None
    if BLANK in match["what"][:1] or len(what.split()) < 3 or _REPROACH.match(what):
        return None
    masked = match["what"]
    inner = _Said(what, masked, clause.said)
    for rule in _PERSONAL[1:]:
        if not _UNSURE.search(masked) and (claim := rule.build(inner)):
            return claim
    key = title_of(re.sub(r"[^\w\s@.,:'’-]", "", what), 60).removesuffix(" ...").rstrip(".,: ")
    if not any(map(str.isalnum, key)) or MASK in what:
        return None
    title = f"{REMEMBERED}/{key}"
    return Claim("remember", "fact", title, what, REMEMBERED, key, whole=True)


def _preferred(clause: _Said) -> Claim | None:
    match = _PREFER.fullmatch(clause.masked)
    if match and _POINTS.match(match["what"]) and not match["what"].lower().startswith("not to "):
        return None
    if not match:
        match = _LIKE.fullmatch(clause.masked)
        if not match or _POINTS.match(match["first"]) or _RELATIVE.search(match["first"]):
            return None
        if re.search(r"^to\s|ing$", match["first"], re.IGNORECASE):
            return None
    if match["context"] and _FOR_NOW.match(match["context"]):
        return None
    what = clause.group(match, "what")
    if len(what.split()) > 25 or BLANK in match["what"][:1]:
        return None
    verb = match.groupdict().get("verb")
    context = (match["context"] or "").strip(" ,")
    title = f"{'Prefers' if not verb else f'{verb.capitalize()}s'} {what}"
    title = f"{context}: {title[0].lower()}{title[1:]}" if context else title
    said = clause.group(match, "said")
    text = f"{context}, {said}" if context else said
    return _claim("preference", "preference", title, text)


def _decided(clause: _Said) -> Claim | None:
    if match := _DECISION.fullmatch(clause.masked):
        what = clause.group(match, "what")
        return _claim("decision", "decision", what, what)
    match = _DECIDED.fullmatch(clause.masked)
    if not match:
        return None
    said = clause.group(match, "said")
    if len(said.split()) < 4 or said.lower().endswith("agreed to disagree"):
        return None
    return _claim("decision", "decision", said, clause.text)


def _promised(clause: _Said) -> Claim | None:
    today = clause.said.date()
    if match := _WILL.fullmatch(clause.masked):
        day = due_day(match["when"], today)
        if day and day >= today and not _VAGUE.match(match["what"]):
            what = clause.group(match, "what")
            return _claim("commitment", "commitment", what, clause.text, due=day.isoformat())
    match = _PROMISE.fullmatch(clause.masked)
    if not match or _VAGUE.match(match["what"]) or len(match["what"].split()) < 2:
        return None
    what, _, when = match["what"].rpartition(" by ")
    day = due_day(when, today) if what else None
    words = clause.group(match, "what")
    title = words[: len(what)] if day else words
    due = day.isoformat() if day and day >= today else None
    return _claim("commitment", "commitment", title, clause.text, due=due)


def _learned(clause: _Said) -> Claim | None:
    match = _LESSON.fullmatch(clause.masked)
    if not match:
        return None
    what = clause.group(match, "what")
    return _claim("lesson", "lesson", what, what)


def _instructed(clause: _Said) -> Claim | None:
    match = _INSTRUCTION.fullmatch(clause.masked)
    if not match or _IDIOM.match(clause.masked):
        return None
    if match["what"].lower() in ("this", "that", "it", "them", "so"):
        return None
    said = clause.group(match, "said")
    if polite := _POLITE.match(said):
        said = said[polite.end() :]
    return _claim("instruction", "preference", said, said, tags=("rule",))


def _claim(
    rule: str,
    kind: ClaimType,
    title: str,
    text: str,
    *,
    due: str | None = None,
    tags: tuple[str, ...] = (),
) -> Claim | None:
    line = " ".join(text.split())
    heading = title_of(title)
    if not any(map(str.isalnum, heading)) or MASK in line:
        return None
    return Claim(rule, kind, heading, line[0].upper() + line[1:], due=due, tags=tags)


class _Rule(NamedTuple):
    """A rule, and where it does not count."""

    build: Callable[[_Said], Claim | None]
    certain: bool = False
    """Whether words such as `if` or `maybe` in the sentence make it void."""
    short: bool = False
    """Whether it counts only in short messages."""


_PERSONAL = (
    _Rule(_remembered),
    _Rule(_preferred, certain=True),
    _Rule(lambda clause: fact_of(clause.text, clause.masked), certain=True),
    _Rule(_decided),
    _Rule(_promised, certain=True),
    _Rule(_learned),
    _Rule(_instructed, short=True),
)
_IMPERSONAL = (_Rule(_decided), _Rule(_learned))
