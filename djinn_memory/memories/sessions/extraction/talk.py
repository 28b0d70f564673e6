"""Statements of ordinary talk: what a clause may state, and whether its meaning says so. Pure.

A clause of a known form states something by its words. Any other clause with a subject may state
something: its meaning decides, and what is less sure is proposed.
"""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.sessions.extraction import forms
from djinn_memory.memories.sessions.extraction.claims import Claim, ClaimType, key_of, title_of
from djinn_memory.memories.sessions.extraction.clauses import Clause
from djinn_memory.memories.sessions.extraction.fact_rules import USER
from djinn_memory.memories.sessions.extraction.meaning import Meaning
from djinn_memory.memories.sessions.extraction.spoken_times import dated, due_in

MOST_WORDS = 40
"""Maximum words of a clause. Longer ones tell a story."""

FEWEST_ORDERED = 4
"""Minimum words of an order that may hold in general."""

SURE, FORMED, MAYBE, WEAK, DOUBTFUL = 0.06, -0.06, -0.03, 0.0, 0.04
"""The least score of a memory, of a memory whose form proves it too, of a proposal, and of one that
is weak or doubtful.

On conversations 26 and 41 of `benchmarks/extraction.py`, of the clauses from .06 up 90 of 100 are
from turns that a reader listed, of those from -.03 to .06 75, of weak ones below 0 58. Forms below
-.06 are encouragements, such as "Let's take it one day at a time".
"""

_OWN = re.compile(r"(?:I|we|let['’]s)\b", re.IGNORECASE)


class Told(Struct, frozen=True):
    """A statement that a clause may make."""

    claim: Claim
    meaning: str = ""
    """The words whose meaning tells whether it is one; empty if a rule is certain."""
    formed: bool = True
    """Whether it has a form that states something."""
    weak: bool = False
    """Whether it may only be proposed, because its words need others."""
    doubtful: bool = False
    """Whether it may only be proposed, because it may be about something else."""


def told_whole(text: str, masked: str, said: datetime) -> Told | None:
    """The statement of a sentence that tells what to do, what was agreed or what was learned."""
    if not forms.ADDRESSED.match(masked) or len(masked.split()) > MOST_WORDS:
        return None
    form = _form_of(masked)
    if not form and not (forms.ORDER.match(masked) and len(masked.split()) >= FEWEST_ORDERED):
        return None
    told = _told(Clause(text, masked, USER), form or forms.ORDERED, said)
    return told if form else replace(told, formed=False)


def told_by(clause: Clause, said: datetime) -> Told | None:
    """The statement that a clause may make."""
    void = forms.VOID.search(clause.masked) or forms.POINTS.search(clause.masked)
    if void or len(clause.masked.split()) > MOST_WORDS:
        return None
    return _told(clause, _form_of(clause.masked), said)


def judged(told: Told, meaning: Meaning) -> Claim | None:
    """The claim of what a clause may state, by its meaning; None if it states nothing."""
    if told.formed:
        return told.claim if meaning.score >= FORMED else None
    ordered = told.claim.rule == forms.ORDERED.rule
    least = SURE if ordered else DOUBTFUL if told.doubtful else WEAK if told.weak else MAYBE
    if meaning.score < least or (ordered and meaning.type != "preference"):
        return None
    sure = meaning.score >= SURE and not (told.weak or told.doubtful)
    return _shaped(told.claim, _type(told, meaning.type), sure=sure)


def _type(told: Told, kind: ClaimType) -> ClaimType:
    """The type of a statement whose meaning is near to one: what others do is no own decision."""
    own = _OWN.match(told.meaning)
    ahead = forms.COMING.search(told.meaning) or not forms.PAST.search(told.meaning)
    if kind == "commitment":
        return kind if told.claim.due or (own and ahead) else "fact"
    return "fact" if kind == "decision" and not own else kind


def _form_of(masked: str) -> forms.Form | None:
    return next((form for form in forms.FORMS if form.pattern.fullmatch(masked)), None)


def _told(clause: Clause, form: forms.Form | None, said: datetime) -> Told:
    today = said.date()
    general = form is not None and form.type in ("decision", "preference", "lesson")
    coming = bool(forms.COMING.search(clause.masked)) or not forms.PAST.search(clause.masked)
    due = due_in(clause.text, today) if coming and not general else None
    if due and forms.PLAN.pattern.fullmatch(clause.masked):
        form = forms.PLAN
    start = 0
    if form and (match := form.pattern.fullmatch(clause.masked)):
        start = match.start("what") if match.groupdict().get("what") else 0
    text, day = dated(" ".join(clause.text[start:].split()), today, coming=coming, general=general)
    text = text[:1].upper() + text[1:]
    claim = Claim(
        form.rule if form else "told", "fact", "", text, clause.who,
        due=due.isoformat() if due else None, tags=form.tags if form else (),
        day=day.isoformat() if day else None,
    )  # fmt: skip
    shaped = _shaped(claim, form.type) if form else claim
    weak = bool(forms.VAGUE.search(clause.masked))
    return Told(shaped, clause.text, form is not None, weak, clause.doubtful)


def _shaped(claim: Claim, kind: ClaimType, *, sure: bool = True) -> Claim:
    """A claim as one of a type: a fact has a key, and only a commitment a day when it is due."""
    if kind != "fact":
        due = claim.due if kind == "commitment" else None
        return replace(
            claim, type=kind, title=title_of(claim.text), category="", key="", due=due, sure=sure
        )
    who, key = claim.category, key_of(claim.category, claim.text)
    return replace(claim, type=kind, title=f"{who}/{key}", key=key, due=None, whole=True, sure=sure)
