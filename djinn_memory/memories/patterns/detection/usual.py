"""Usual choices: of the things that were chosen in a situation, the one that mostly was. Pure.

A situation is a verb and what limits it: "ordered", "took the ... seat", "paid by", "chose ... for
the storage". Only reports of what was chosen count, as a request such as "Order groceries" says
nothing about a choice.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from djinn_memory.memories.patterns.detection.chance import binomial_tail
from djinn_memory.memories.patterns.detection.choices import LEAST_SHARE, choices_in
from djinn_memory.memories.patterns.detection.history import FEWEST_DAYS, FEWEST_WEEKS, History
from djinn_memory.memories.patterns.detection.words import stem_of

FEWEST_OTHER = 2
"""The least number of days with other options, unless the verb says that there were some."""

SAME_EPISODES = 0.5
"""The share of its episodes from which a choice is one that is known in another situation."""

_CHOICE = {
    "chose": "choose", "picked": "pick", "selected": "select", "preferred": "prefer",
    "prefer": "prefer", "opted for": "opt for", "settled on": "settle on",
    "decided on": "decide on",
}  # fmt: skip
"""Verbs that say that there was a choice."""

_TAKEN = {"ordered": "order", "drank": "drink", "ate": "eat", "wore": "wear"}
"""Verbs whose objects are mostly alternatives."""

_LIMITED = {
    "took": "take", "had": "have", "used": "use", "bought": "buy", "booked": "book",
    "rented": "rent", "made": "make", "cooked": "cook", "went with": "go with",
}  # fmt: skip
"""Verbs whose objects are alternatives if they have a noun or a purpose in common."""

_MEANS = {"paid": "pay", "went": "go", "travelled": "travel", "traveled": "travel"}
"""Verbs whose means are alternatives."""

_STOP = (
    "about|after|again|and|as|at|because|before|but|by|during|for|from|in|instead|into|near|not|of|"
    "off|on|or|out|over|rather|since|so|than|that|to|today|tonight|up|via|when|while|with|yesterday"
)
_WORD = rf"(?!(?:{_STOP})\b)[^\W\d_][\w'’-]*"
_THING = rf"(?P<article>the|an?|my|our|some)?\s*\b(?P<object>{_WORD}(?:\s+{_WORD}){{0,2}})"
_OBJECT = re.compile(
    rf"(?<!\bnever )(?<!\bnot )\b(?P<verb>{'|'.join([*_CHOICE, *_TAKEN, *_LIMITED])})\s+{_THING}"
    rf"(?:(?:\s+(?!and\b|then\b)[\w'’-]+){{0,3}}?\s+for\s+(?P<purpose>(?:(?:the|an?|my|our)\s+)?{_WORD}))?",
    re.IGNORECASE,
)
_BY = re.compile(
    rf"\b(?P<verb>paid\b[^\n]{{0,40}}?\s(?:by|in|with|via)|(?:went|travell?ed)\b[^\n]{{0,40}}?\sby)"
    rf"\s+{_THING}",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")


class ChoiceReport(Struct, frozen=True):
    """A choice that a message reports, in one situation."""

    verb: str
    limit: str
    """What limits the situation: `noun seat`, `by`, `for storag`; empty for the verb alone."""
    option: str
    """The stems of what was chosen."""
    chosen: str
    """The same, with the stem of a noun that all options have."""
    action: str
    """What was done: `take the window seat`."""
    is_choice: bool = False
    """Whether the verb says that there was a choice."""


_Options = dict[str, list[tuple[int, ChoiceReport]]]
"""The reports of each option, with the numbers of their episodes."""

_Reports = dict[tuple[str, str], _Options]
"""The options of each situation: a verb and what limits it."""


class UsualChoice(Struct, frozen=True):
    """What is mostly chosen in a situation."""

    action: str
    """What is mostly done: `take the window seat`."""
    chosen: str
    """The stems of what is chosen."""
    situation: str
    """The verb and the purpose or the means."""
    episodes: tuple[int, ...]
    """The numbers of the episodes in which it was chosen."""
    days: int
    """The number of days with such an episode."""
    against: int
    """The number of days with other options, those of each option added up."""
    log_probability: float
    q: float
    """The probability times the number of options, at most 1."""


def find_usual_choices(history: History, significance: float) -> list[UsualChoice]:
    """The usual choices of a history, the most significant first, each in one situation.

    Chance is that each choice is this option or one of the others with the same probability,
    however many others there are.
    """
    reports: _Reports = {}
    for number, occasion in enumerate(history.occasions):
        for report in reports_in(occasion.text):
            of_situation = reports.setdefault((report.verb, report.limit), {})
            of_situation.setdefault(report.option, []).append((number, report))
    tests = sum(map(len, reports.values()))
    limit = math.log(significance / max(1, tests))
    usual: list[UsualChoice] = []
    # Of two situations with the same episodes the narrow one is kept, so that more episodes of the
    # wide one do not make it another pattern.
    for situation in sorted(reports, key=lambda situation: (not situation[1], situation)):
        for option in sorted(reports[situation]):
            choice = _tested(history, reports[situation], option, tests)
            if choice and choice.log_probability <= limit and not _is_known(choice, usual):
                usual.append(choice)
    return sorted(usual, key=lambda choice: (choice.log_probability, choice.action))


def _is_known(choice: UsualChoice, usual: list[UsualChoice]) -> bool:
    own = {*choice.episodes}
    return any(len(own & {*other.episodes}) >= SAME_EPISODES * len(own) for other in usual)


def _tested(history: History, options: _Options, option: str, tests: int) -> UsualChoice | None:
    """The choice of an option with its probability; None if it is too rare."""
    days = {name: {int(history.days[number]) for number, _ in options[name]} for name in options}
    own = days[option]
    against = sum(len(days[other]) for other in options if other != option)
    weeks = {(day + history.first_day - 1) // 7 for day in own}
    is_choice = against >= FEWEST_OTHER or any(report.is_choice for _, report in options[option])
    if (
        len(own) < FEWEST_DAYS or len(weeks) < FEWEST_WEEKS
        or len(own) < LEAST_SHARE * (len(own) + against) or not is_choice
    ):  # fmt: skip
        return None
    actions = Counter(report.action for _, report in options[option])
    logarithm = binomial_tail(len(own), len(own) + against, 0.5)
    report = options[option][0][1]
    return UsualChoice(
        min(actions, key=lambda action: (-actions[action], action)),
        report.chosen,
        report.verb
        if report.limit.startswith("noun ")
        else f"{report.verb} {report.limit}".strip(),
        tuple(dict.fromkeys(number for number, _ in options[option])),
        len(own),
        against,
        logarithm,
        min(1.0, math.exp(min(0.0, logarithm + math.log(tests)))),
    )


def reports_in(text: str) -> Iterator[ChoiceReport]:
    """The choices that a message reports, each once for every situation that it belongs to."""
    for sentence in _SENTENCE.findall(text[:1_000]):
        # One thing over another is found as such.
        if sentence.endswith("?") or any(choices_in(sentence)):
            continue
        for match in _BY.finditer(sentence):
            words = match["verb"].casefold().split()
            option = _stems(match["object"])
            if option:
                verb, stems = _MEANS[words[0]], " ".join(option)
                action = _joined(verb, words[-1], match["article"], match["object"])
                yield ChoiceReport(verb, "by", stems, stems, action)
        for match in _OBJECT.finditer(sentence):
            yield from _of_object(match)


def _of_object(match: re.Match[str]) -> Iterator[ChoiceReport]:
    """The situations of a verb with an object: the verb, with a noun, and with a purpose."""
    verb, article = " ".join(match["verb"].casefold().split()), (match["article"] or "").casefold()
    stems = _stems(match["object"])
    if not stems:
        return
    base = (_CHOICE | _TAKEN | _LIMITED)[verb]
    # "Chose a restaurant" is a task that was done, rather than a choice of this thing.
    is_choice = verb in _CHOICE and article not in ("a", "an")
    action = _joined(base, article, match["object"])
    chosen = " ".join(stems)
    if verb not in _LIMITED or (verb == "took" and article == "the"):
        yield ChoiceReport(base, "", chosen, chosen, action, is_choice)
    if len(stems) > 1:
        yield ChoiceReport(base, f"noun {stems[-1]}", " ".join(stems[:-1]), chosen, action)
    purpose = _stems(match["purpose"] or "")
    if purpose:
        action = _joined(action, "for", match["purpose"])
        yield ChoiceReport(base, f"for {purpose[-1]}", chosen, chosen, action, is_choice)


def _stems(words: str) -> list[str]:
    return [stem for word in words.split() if (stem := stem_of(word))]


def _joined(*words: str | None) -> str:
    return " ".join(" ".join(filter(None, words)).split())
