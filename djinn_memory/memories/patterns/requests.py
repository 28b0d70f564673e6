"""Requests and answers about patterns. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from djinn_memory.memories.episodes.requests import Episode
from djinn_memory.models import Problem
from djinn_memory.operations.checks import RawDay, RawText
from djinn_memory.search.narrowing import AgentName, DomainName

PatternCategory = Literal["temporal", "behavioural", "domain", "preference", "causal"]
PatternStatus = Literal["emerging", "active", "deprecated"]
OutcomeResult = Literal["success", "failure", "partial"]
PatternAction = Literal["written", "reinforced", "deprecated"]


class Consolidate(Struct, frozen=True):
    """Find patterns in the episodes of an agent, and write a note for each."""

    min_age: Annotated[
        Annotated[str, Meta(max_length=20)] | None,
        Meta(
            description="Read episodes of this age and older: 7d, 2w, 0d. Marked episodes are "
            "read at any age. Default: `patterns.min_age` in the settings."
        ),
    ] = None
    dry_run: Annotated[bool, Meta(description="Show the patterns without writing them.")] = False
    agent: AgentName = None


class ListPatterns(Struct, frozen=True):
    """List patterns: habits first, then the others, the most certain of each first."""

    category: Annotated[
        PatternCategory | None, Meta(description="Only patterns of this category.")
    ] = None
    status: Annotated[PatternStatus | None, Meta(description="Only patterns with this status.")] = (
        None
    )
    habits: Annotated[
        bool, Meta(description="Only habits: what the rhythm of activity does not explain.")
    ] = False
    limit: Annotated[int, Meta(ge=1, le=1000, description="The maximum number of patterns.")] = 50
    agent: AgentName = None


class ShowPattern(Struct, frozen=True):
    """Show one pattern with its evidence."""

    name: Annotated[
        RawText,
        Meta(min_length=1, max_length=1000, description="The pattern: its name, id or path."),
    ]
    agent: AgentName = None


class ListCorrelations(Struct, frozen=True):
    """List things that occur together more often than chance explains."""

    limit: Annotated[
        int, Meta(ge=1, le=1000, description="The maximum number of correlations.")
    ] = 50
    agent: AgentName = None


class RecordOutcome(Struct, frozen=True):
    """Record the outcome of an action as an episode."""

    action: Annotated[
        RawText, Meta(min_length=1, max_length=200, description="The action, in a few words.")
    ]
    result: Annotated[OutcomeResult, Meta(description="How it ended.")]
    context: Annotated[
        Annotated[RawText, Meta(max_length=200)] | None,
        Meta(description="Where or under which circumstances, in a few words."),
    ] = None
    domain: DomainName = None
    at: Annotated[
        RawDay | None,
        Meta(description="The time, such as 2026-11-20T09:30; local unless it has a zone."),
    ] = None
    agent: AgentName = None


class ListOutcomes(Struct, frozen=True):
    """List how effective actions were, by action and context."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="The maximum number of rows.")] = 50
    agent: AgentName = None


class LearnedPattern(Struct, frozen=True):
    """A pattern, as detection finds it and as its note keeps it."""

    name: str
    """The name, such as `Plans the week on Monday mornings around 9`."""
    category: str | None
    """temporal, behavioural, domain, preference or causal."""
    habit: bool
    """Whether it goes beyond the rhythm of activity. False for peak hours and for focus."""
    confidence: float | None
    """From 0 to 0.95. It grows with the days of evidence."""
    status: str | None
    """emerging, active or deprecated."""
    action: str | None = None
    """The action, in the words of the episodes."""
    after: str | None = None
    """The action that comes before it; null if it does not depend on one."""
    words: tuple[str, ...] = ()
    """The stems of the action's words, by which episodes were grouped. Those of the action before
    it begin with `after:`, those of a thing that was not chosen with `over:`, those of a situation
    in which something is usually chosen with `when:`."""
    wordings: tuple[str, ...] = ()
    """The most frequent wordings of the action."""
    weekdays: tuple[str, ...] = ()
    """The weekdays, in English and lower case; empty if it is bound to none."""
    hours: tuple[int, ...] = ()
    """The hours of the day in which it occurs, in local time; empty if it is bound to none."""
    around: str | None = None
    """Its median local time, such as `09:00`."""
    month_day: int | None = None
    """The day of the month, or 32 for the last one; null if it is bound to none."""
    domain: str | None = None
    """The domain of its episodes; null if they have none, or several."""
    domains: tuple[str, ...] = ()
    """All domains of its episodes. Only agents that may see each of them see the pattern."""
    entities: tuple[str, ...] = ()
    """The names that occur in at least half of its episodes."""
    support: int = 0
    """The number of days with evidence."""
    evidence_count: int = 0
    """The number of episodes that support it."""
    strength: float | None = None
    """The share of the days with the action on which it follows the pattern, from 0 to 1."""
    expected: float | None = None
    """The number of days that chance explains."""
    p_value: float | None = None
    """The probability of that many days by chance."""
    q_value: float | None = None
    """The same, corrected for the number of tests (Bonferroni)."""
    first_seen: str | None = None
    """The day of the first evidence."""
    last_seen: str | None = None
    """The day of the last evidence, which reinforced it."""
    evidence: tuple[str, ...] = ()
    """Links to episodes that support it; of many, the newest ones."""


class PatternChange(LearnedPattern, frozen=True, kw_only=True):
    """A pattern that consolidation wrote or changed; in a dry run, that it would."""

    change: PatternAction
    """The change to its note."""
    id: str | None = None
    """The id of its note."""
    vault: str
    """The vault of its note."""
    path: str = ""
    """The path of its note; empty in a dry run of a new one."""


class SkippedPattern(Struct, frozen=True):
    """A pattern that was found and not written."""

    name: str
    """Its name."""
    reason: str
    """Why it was not written."""


class ConsolidationReport(Struct, frozen=True):
    """The result of a consolidation: the episodes read and the patterns written."""

    episodes: int
    """The number of episodes that were read."""
    new: int
    """The number of those that were not consolidated before. If it is 0, none is read again."""
    changes: tuple[PatternChange, ...]
    """The patterns that were written, reinforced or deprecated."""
    skipped: tuple[SkippedPattern, ...]
    """Patterns that were found and not written."""
    dry_run: bool
    """Whether nothing was changed."""
    problems: tuple[Problem, ...] = ()
    """Problems that prevented patterns from being written."""


class Pattern(LearnedPattern, frozen=True, kw_only=True):
    """A pattern with its note."""

    id: str | None
    """The id of the note; null for a note without an id."""
    vault: str
    """The name of its vault."""
    path: str
    """The path of the note, relative to the folder of the vault."""

    source: str | None = None
    """`consolidation` for a pattern that djinn found."""


class PatternList(Struct, frozen=True):
    """Patterns: habits first, then patterns of activity and outcomes, by confidence."""

    patterns: tuple[Pattern, ...]
    """The patterns."""
    total: int
    """The number of patterns, also of those that the limit leaves out."""
    habits: int
    """The number of those that are habits."""


class PatternDetail(Pattern, frozen=True, kw_only=True):
    """A pattern with the text of its note."""

    text: str
    """The text of the note."""
    episodes: tuple[Episode, ...] = ()
    """The episodes of its evidence that the agent sees, newest first."""


class Correlation(Struct, frozen=True):
    """Two things that occur on the same days more often than chance explains."""

    first: str
    """The first thing, as `kind: value`; the kinds are domain, entity, action."""
    second: str
    """The second thing, as `kind: value`; the kinds are domain, hour, weekday, entity."""
    strength: float
    """The correlation coefficient of their days (phi), from 0 to 1."""
    support: int
    """The number of days with both."""
    expected: float
    """The number of days with both by chance."""
    p_value: float
    """The probability of that many days by chance."""
    q_value: float
    """The rate of false discoveries at this probability (Benjamini and Hochberg)."""


class CorrelationList(Struct, frozen=True):
    """Correlations, the most certain first."""

    correlations: tuple[Correlation, ...]
    """The correlations."""
    total: int
    """The number of correlations, also of those that the limit leaves out."""
    tests: int
    """The number of pairs that were tested."""


class Effectiveness(Struct, frozen=True):
    """How often an action succeeded."""

    action: str
    """The action."""
    context: str | None
    """The context; null for all contexts together."""
    successes: int
    """The number of successes."""
    partial: int
    """The number of partial successes."""
    failures: int
    """The number of failures."""
    effectiveness: float
    """The share of successes from 0 to 1. A partial success counts half."""
    last: str
    """The day of the last outcome."""


class OutcomeList(Struct, frozen=True):
    """How effective actions were."""

    actions: Sequence[Effectiveness]
    """A row for each action, followed by rows for its contexts."""
    total: int
    """The number of recorded outcomes."""
    problems: tuple[Problem, ...] = field(default=())
    """Outcomes that could not be read."""
