"""Consistent choices: one thing over another, or of the things chosen in a situation one. Pure.

A situation is a verb and what limits it: "ordered", "took the ... seat", "paid by", "chose ... for
the storage". Only reports of what was chosen count, as a request such as "Order groceries" says
nothing about a choice.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from msgspec import Struct

from djinn_memory.memories.patterns.detection import naming
from djinn_memory.memories.patterns.detection.chance import binomial_tail
from djinn_memory.memories.patterns.detection.history import (
    FEWEST_DAYS,
    FEWEST_WEEKS,
    History,
    stem_of,
    stems_of,
)

LEAST_SHARE = 0.6
"""The least share of the days on which the choice was the same."""

MOST_OFTEN = 0.4
"""The same for options that messages set against each other, of which there may be many."""

FEWEST_OTHER = 2
"""The least number of days with other options, unless the verb says that there were some."""

SAME_EPISODES = 0.5
"""The share of its episodes from which a choice is one that is known in another situation."""

_NOUN = r"(?P<{}>[^\W\d_][\w'’-]*(?:\s+[^\W\d_][\w'’-]*)?)"
_ARTICLE = r"(?:(?:the|a|an|some|any|my|more)\s+)?"
_OVER = re.compile(
    rf"\b{_NOUN.format('chosen')},?\s+(?:over|instead\s+of|rather\s+than|and\s+not|not)\s+"
    rf"{_ARTICLE}{_NOUN.format('other')}",
    re.IGNORECASE,
)
_EITHER = re.compile(
    rf"\b{_NOUN.format('first')}\s+or\s+{_ARTICLE}{_NOUN.format('second')}", re.IGNORECASE
)
_REJECTED = re.compile(
    r"\b(?:no|not|never|without|over|than|of|skip\w*|avoid\w*|consider\w*|thought\s+(?:about|of)|"
    rf"tempted\s+by|almost|nearly|declin\w*|refus\w*)\s+{_ARTICLE}(?:[^\W\d_][\w'’-]*\s+)?$",
    re.IGNORECASE,
)
"""What is said before an option that was not chosen."""

FEWEST_CONTRASTS, MOSTLY_APART = 2, 0.5
"""The least number of days on which two words stand against each other, and the least share of the
messages with both, so that they are options of one choice and not an option and its situation."""

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
_WORDS = re.compile(r"[^\W\d_][\w'’-]*")


class _ChoiceReport(Struct, frozen=True):
    """A choice that a message reports, in one situation."""

    verb: str
    limit: str
    """The limit of the situation: `noun seat`, `by`, `for storag`; empty for the verb alone."""
    option: str
    """The stems of the chosen thing."""
    chosen: str
    """The same, with the stem of a noun that all options have."""
    action: str
    """The reported action: `take the window seat`."""
    is_choice: bool = False
    """Whether the verb says that there was a choice."""


_Reports = dict[tuple[str, str], dict[str, list[tuple[int, _ChoiceReport]]]]
"""The reports of each option in each situation, with the numbers of their episodes. A situation is
a verb and what limits it."""


class ConsistentChoice(Struct, frozen=True):
    """A choice that is mostly made: one thing over another, or one thing in a situation."""

    name: str
    """The choice as a habit: `Usually takes the window seat`."""
    action: str
    """The usual action: `take the window seat`."""
    words: tuple[str, ...]
    """The stems of the chosen thing, then those of the alternative or the time."""
    episodes: tuple[int, ...]
    """The numbers of the episodes in which it was chosen."""
    evidence: _ChoiceEvidence


class _ChoiceEvidence(Struct, frozen=True):
    """How often the same was chosen."""

    days: int
    """The number of days with such an episode."""
    against: int
    """The number of days with other options, those of each option added up."""
    log_probability: float
    q: float
    """The probability times the number of tests, at most 1."""


def find_choices(history: History, significance: float) -> list[ConsistentChoice]:
    """The consistent choices of a history: those over another thing, then those in a situation.

    The most significant come first. Chance is that each choice is this option or one of the others
    with the same probability each day, however many others there are.
    """
    both = _over_another(history, significance), _in_situations(history, significance)
    return [
        choice
        for choices in both
        for choice in sorted(choices, key=lambda each: (each.evidence.log_probability, each.action))
    ]


def _over_another(history: History, significance: float) -> Iterator[ConsistentChoice]:
    """Of words that messages set against each other the one that is mostly chosen.

    Once they are known as options, any message that has one of them and does not reject it counts.
    """
    groups, spoken = _options(history)
    tests = sum(map(len, groups))
    for options in groups:
        chosen: dict[str, list[int]] = {option: [] for option in options}
        for number, occasion in enumerate(history.occasions):
            if option := _chosen_of(occasion.text, options):
                chosen[option].append(number)
        for option in options:
            others = sorted((each for each in options if each != option),
                            key=lambda each: (-len(chosen[each]), each))  # fmt: skip
            rest = [chosen[each] for each in others]
            chance = 1 / len(options)
            evidence = _evidence(
                history, chosen[option], rest, tests, significance, chance, MOST_OFTEN
            )
            if evidence:
                against = " and ".join(spoken[stem].most_common(1)[0][0] for stem in others[:2])
                words = f"{spoken[option].most_common(1)[0][0]} over {against}"
                stems = option, *(f"over:{stem}" for stem in others)
                yield ConsistentChoice(
                    f"Chooses {words}", f"choose {words}", stems, tuple(chosen[option]), evidence
                )


def _options(history: History) -> tuple[list[tuple[str, ...]], dict[str, Counter[str]]]:
    """The groups of stems that stand against each other, and the spellings of each."""
    contrasts: dict[tuple[str, str], set[int]] = {}
    spoken: dict[str, Counter[str]] = {}
    for number, occasion in enumerate(history.occasions):
        for words in dict.fromkeys(_contrasts_in(occasion.text)):
            stems = stem_of(words[0]), stem_of(words[1])
            for stem, word in zip(stems, words, strict=True):
                spoken.setdefault(stem, Counter())[word.casefold()] += 1
            pair = min(stems), max(stems)
            contrasts.setdefault(pair, set()).add(int(history.days[number]))
    both = dict.fromkeys(contrasts, 0)
    for occasion in history.occasions:
        named = sorted({stem for stem in stems_of(occasion.text) if stem in spoken})
        for pair in both.keys() & {*combinations(named, 2)}:
            both[pair] += 1
    groups: list[set[str]] = []
    for pair, days in sorted(contrasts.items()):
        if len(days) >= max(FEWEST_CONTRASTS, MOSTLY_APART * both[pair]):
            joined = [group for group in groups if group & {*pair}]
            groups = [group for group in groups if not group & {*pair}]
            groups.append({*pair}.union(*joined))
    return [tuple(sorted(group)) for group in groups], spoken


def _chosen_of(text: str, options: Sequence[str]) -> str | None:
    """The option that a message chooses: the last one that it names and does not reject.

    A question with several options chooses none.
    """
    named = [
        (stem, sentence[: match.start()], sentence.endswith("?"))
        for sentence in _SENTENCE.findall(text[:1_000])
        for match in _WORDS.finditer(sentence)
        if (stem := stem_of(match[0])) in options
    ]
    asked = {stem for stem, _, is_question in named if is_question}
    kept = [
        stem for stem, before, is_question in named
        if not _REJECTED.search(before) and not (is_question and len(asked) > 1)
    ]  # fmt: skip
    return kept[-1] if kept else None


def _in_situations(history: History, significance: float) -> list[ConsistentChoice]:
    reports: _Reports = {}
    for number, occasion in enumerate(history.occasions):
        for report in _reports_in(occasion.text):
            of_situation = reports.setdefault((report.verb, report.limit), {})
            of_situation.setdefault(report.option, []).append((number, report))
    tests = sum(map(len, reports.values()))
    choices: list[ConsistentChoice] = []
    # Of two situations with the same episodes the narrow one is kept, so that more episodes of the
    # wide one do not make it another pattern.
    for situation in sorted(reports, key=lambda situation: (not situation[1], situation)):
        options = reports[situation]
        for option in sorted(options):
            episodes = {name: [number for number, _ in options[name]] for name in options}
            own = episodes.pop(option)
            evidence = _evidence(history, own, episodes.values(), tests, significance)
            said = [report for _, report in options[option]]
            if (
                evidence and not _is_known(own, choices)
                and (evidence.against >= FEWEST_OTHER or any(each.is_choice for each in said))
            ):  # fmt: skip
                choices.append(_usual(said, own, evidence))
    return choices


def _usual(
    reports: Sequence[_ChoiceReport], episodes: Sequence[int], evidence: _ChoiceEvidence
) -> ConsistentChoice:
    """The usual choice in a situation, from the reports of it."""
    actions = Counter(report.action for report in reports)
    action = min(actions, key=lambda action: (-actions[action], action))
    done, report = naming.sentence(action), reports[0]
    limit = "" if report.limit.startswith("noun ") else report.limit
    return ConsistentChoice(
        f"Usually {done[:1].lower()}{done[1:]}",
        action,
        (report.chosen, f"when:{f'{report.verb} {limit}'.strip()}"),
        tuple(dict.fromkeys(episodes)),
        evidence,
    )


def _is_known(episodes: Sequence[int], choices: Sequence[ConsistentChoice]) -> bool:
    own = {*episodes}
    return any(len(own & {*other.episodes}) >= SAME_EPISODES * len(own) for other in choices)


def _evidence(
    history: History,
    episodes: Sequence[int],
    others: Iterable[Sequence[int]],
    tests: int,
    significance: float,
    chance: float = 0.5,
    least: float = LEAST_SHARE,
) -> _ChoiceEvidence | None:
    """The evidence that an option is chosen more often than by chance; None if it is too weak.

    `episodes` are the numbers of its episodes, and `others` those of each other option. `chance` is
    the share of an option if all have even chances, `least` the least share of the days.
    """
    days, *other_days = (
        {int(history.days[number]) for number in own} for own in (episodes, *others)
    )
    against = sum(map(len, other_days))
    weeks = {(day + history.first_day - 1) // 7 for day in days}
    total = len(days) + against
    if (
        len(days) < FEWEST_DAYS or len(weeks) < FEWEST_WEEKS or len(days) < least * total
    ):  # fmt: skip
        return None
    logarithm = binomial_tail(len(days), total, chance)
    if logarithm > math.log(significance / tests):
        return None
    q = min(1.0, math.exp(min(0.0, logarithm + math.log(tests))))
    return _ChoiceEvidence(len(days), against, logarithm, q)


def _contrasts_in(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of words that a message sets against each other."""
    for pattern, names in ((_OVER, ("chosen", "other")), (_EITHER, ("first", "second"))):
        for match in pattern.finditer(text):
            first, other = _last(match[names[0]]), match[names[1]]
            second = _last(other) or _first(other)
            if first and second and stem_of(first) != stem_of(second):
                yield first, second


def _last(words: str) -> str:
    """The last word that names a thing."""
    named = [word for word in words.split() if stem_of(word)]
    return named[-1] if named and stem_of(words.split()[-1]) else ""


def _first(words: str) -> str:
    named = [word for word in words.split() if stem_of(word)]
    return named[0] if named else ""


def _reports_in(text: str) -> Iterator[_ChoiceReport]:
    """The choices that a message reports, each once for every situation that it belongs to."""
    for sentence in _SENTENCE.findall(text[:1_000]):
        # One thing over another is found as such.
        if sentence.endswith("?") or any(_contrasts_in(sentence)):
            continue
        for match in _BY.finditer(sentence):
            words = match["verb"].casefold().split()
            option = _stems(match["object"])
            if option:
                verb, stems = _MEANS[words[0]], " ".join(option)
                action = _joined(verb, words[-1], match["article"], match["object"])
                yield _ChoiceReport(verb, "by", stems, stems, action)
        for match in _OBJECT.finditer(sentence):
            yield from _of_object(match)


def _of_object(match: re.Match[str]) -> Iterator[_ChoiceReport]:
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
        yield _ChoiceReport(base, "", chosen, chosen, action, is_choice)
    if len(stems) > 1:
        yield _ChoiceReport(base, f"noun {stems[-1]}", " ".join(stems[:-1]), chosen, action)
    purpose = _stems(match["purpose"] or "")
    if purpose:
        action = _joined(action, "for", match["purpose"])
        yield _ChoiceReport(base, f"for {purpose[-1]}", chosen, chosen, action, is_choice)


def _stems(words: str) -> list[str]:
    return [stem for word in words.split() if (stem := stem_of(word))]


def _joined(*words: str | None) -> str:
    return " ".join(" ".join(filter(None, words)).split())
