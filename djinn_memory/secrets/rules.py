"""Rules for values that a name, a sentence or a command line reveals, and their matching."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from djinn_memory.secrets.text import SearchedText
from djinn_memory.secrets.tokens import Candidate
from djinn_memory.secrets.values import Judge, given

_ENDS = ".,;:?)]}>*_"
"""Characters that may follow a value in a sentence or in Markdown."""
_NEXT = re.compile(r"[;&,|](?=[\w .-]{1,40}[\"']?[=:])")
"""The start of another value after an unquoted one."""
_ARN = r"\barn:[^\s\"']*"
"""An Amazon resource name. It says where a secret is stored and does not contain it."""


class Rule(Struct, frozen=True):
    """An expression for a value that the text around it reveals."""

    words: str
    """Words in lower case. The expression is tried at each of them."""
    pattern: str
    """The expression, in lower case, with the groups of `VALUE`. It begins at one of `words`."""
    before: str = ""
    """An expression for what must precede the match."""
    judge: Judge = given
    """The test of the value."""
    kind: str = "a password"
    """The kind of secret, with its article."""


RuleTable = dict[str, list[Rule]]
"""Rules by their words."""


def by_word(rules: Iterable[Rule]) -> RuleTable:
    """A table of the rules."""
    table: RuleTable = {}
    for rule in rules:
        for word in rule.words.split():
            table.setdefault(word, []).append(rule)
    return table


def matches(
    text: SearchedText, rules: RuleTable
) -> Iterator[tuple[Rule, re.Match[str], re.Match[str]]]:
    """Each match of a rule, with the match of the text before it; without `before`, with itself."""
    for word, at_word in rules.items():
        if word in text.words:
            for rule in at_word:
                for match in text.at((word,), rule.pattern, rule.before):
                    before = rule.before and text.preceding(match.start(), rule.before)
                    yield rule, match, before or match


def assigned(text: SearchedText, rules: RuleTable) -> Iterator[Candidate]:
    """The values that the rules reveal and their judges accept as secrets."""
    for rule, match, before in matches(text, rules):
        span = judged(text.text, match if match.re.groups else before, rule.judge)
        if span and not text.preceding(match.start(), _ARN):
            yield rule.kind, *span, before.start()


def judged(text: str, match: re.Match[str], judge: Judge) -> tuple[int, int] | None:
    """The span of the value in a match with the groups of `VALUE`, if the value is a secret."""
    quoted = match["quoted"] is not None
    start, stop = match.span("quoted" if quoted else "bare")
    following = None if quoted else _NEXT.search(text, start, stop + 45)
    stop = min(stop, following.start()) if following else stop
    value = text[start:stop] if quoted else text[start:stop].rstrip(_ENDS)
    # An unquoted value may contain such a separator, or end there.
    variants = (value,) if quoted else (value, re.split(r"[;&,|]", value, maxsplit=1)[0])
    if any(judge(variant, quoted) for variant in variants):
        return start, start + len(value)
    return None
