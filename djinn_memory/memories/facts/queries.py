"""Reads facts from their notes and from the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.home.access import DOMAIN
from djinn_memory.indexing.refresh import embed_waiting
from djinn_memory.languages.word_lists import meaning_of
from djinn_memory.memories.catalog.catalog import domains_in
from djinn_memory.memories.writing.provenance import UNKNOWN
from djinn_memory.models import Filters, MemoryRef, Problem, Vault, extended
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import iso_date, moment, over
from djinn_memory.notes.fact_note import PastValue, Timeline, timeline
from djinn_memory.notes.note import domains_of, parse
from djinn_memory.notes.periods import begin_key, first_end, period_date, spoken_period
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.scoring import share_of
from djinn_memory.search.legs.meaning import QuestionVector, likeness
from djinn_memory.search.query import parse as parse_query
from djinn_memory.store.index.records import Selection
from djinn_memory.store.state import State

FACT = "fact"
"""The type of a fact's note."""

NEIGHBOURS = 50
"""Number of nearest windows examined in each vault."""

_FACTS = Selection(Filters(types=(FACT,)), whole_files=True)
"""Facts are read and written by path, so a section of a journal cannot be a fact."""

_FIELDS = (
    "category", "key", "confidence", "expires", "status", "valid_from", "valid_to", DOMAIN,
)  # fmt: skip


class Fact(MemoryRef, frozen=True, kw_only=True):
    """A value with a category and a key."""

    category: str
    """The subject of the fact, such as a person's name."""
    key: str
    """The name of the fact within its category."""
    value: str
    """The value, exactly as it was set."""
    source: str | None
    """The source of the value: `user_explicit`, `tool_call`, `conversation` or another."""
    source_context: str | None
    """Details about the source."""
    confidence: float | None
    """The confidence of the value, from 0 to 1."""
    expires: str | None
    """The day or time when the fact expires."""
    expired: bool
    """Whether it has expired. Answers leave expired facts out unless they are requested."""
    status: str | None
    """`expired` once the note is marked so; else the note's own status."""
    last_verified: str | None
    """The time when the fact was last confirmed."""
    created: str | None
    """The time when the fact was first set."""
    updated: str | None
    """The time when the current value was set."""
    domain: str | None = None
    """The domain, such as `work`; several are separated by commas. Null for a fact without one."""
    valid_from: str | None = None
    """The day or time when the value began to hold."""
    valid_to: str | None = None
    """The day or time until which the value holds; null if no end is known. A day is included."""
    holds: str | None = None
    """The period in words, such as `until 3 May 2026`; null if no beginning and no end is known."""
    evidence: tuple[str, ...] = ()
    """Links to the memories from which the value was derived."""
    rule: str | None = None
    """The rule that derived it; null for a value that a person or an agent set."""
    author: str | None = None
    """The person or the agent for whom it was recorded."""
    client: str | None = None
    """The program of that agent."""
    session: str | None = None
    """The session of the evidence."""
    as_of: str | None = None
    """The time of the request, if this is the value that held then."""
    history: tuple[PastValue, ...] = ()
    """Earlier values, the last to begin first."""

    @property
    def current(self) -> PastValue:
        """The value with its period, as the history would keep it."""
        end = first_end(self.valid_to, self.expires)
        return extended(self, PastValue, until=end, recorded=self.updated or self.created)

    def on(self, at: str) -> Fact | None:
        """The fact as it held at a time of `end_of_day`; None if no value held then."""
        values = Timeline(self.current, self.history)
        value = values.on(at)
        if value is None:
            return None
        holds = spoken_period(values.whole_period(value), at)
        if value == self.current:
            return replace(self, as_of=at, expired=False, holds=holds)
        return self._with(value, at, holds)

    @property
    def earlier(self) -> tuple[Fact, ...]:
        """The fact with each of its earlier values as of its beginning, the last to begin first."""
        starts = (begin_key(value.valid_from) for value in self.history)
        return tuple(
            self._with(value, start, spoken_period(value.period, start))
            for value, start in zip(self.history, starts, strict=True)
        )

    def _with(self, value: PastValue, at: str, holds: str | None) -> Fact:
        """The fact with an earlier value."""
        shared = (name for name in value.__struct_fields__ if hasattr(self, name))
        fact: Fact = replace(
            self,
            **{name: getattr(value, name) for name in shared},
            valid_to=value.until,
            updated=value.recorded,
            source_context=None,
            expires=None,
            expired=False,
            last_verified=None,
            as_of=at,
            holds=holds,
        )
        return fact


class IndexedFact(Struct, frozen=True):
    """A fact from the index, without its value."""

    memory_id: int
    vault: Vault
    path: str
    category: str
    key: str
    updated: str
    confidence: float
    expired: bool
    status: str | None
    since: str | None
    """The time before which it cannot have had a value; None if its note may tell of one."""
    standing: str | None
    """Since when its value holds without an end; None if only its note tells that."""
    domains: tuple[str, ...]

    @property
    def name(self) -> tuple[str, str]:
        """Category and key, in the form in which they are compared."""
        return fold(self.category), fold(self.key)

    @property
    def meaning(self) -> tuple[str, str]:
        """The name that all facts of the same meaning have, such as `lives in` and `city`."""
        return fold(self.category), meaning_of(self.key)

    @property
    def superseded(self) -> bool:
        """Whether another fact replaced it."""
        return fold(self.status or "") == "superseded"

    def holds(self, at: str) -> bool:
        """Whether it is sure, without its note, that its value held at a time."""
        start = period_date(self.standing)
        return start is not None and begin_key(start) <= at

    @property
    def place(self) -> tuple[str, str]:
        """Vault and path."""
        return self.vault.name, self.path


def indexed_facts(
    state: State, vaults: Sequence[Vault], now: datetime, *, superseded: bool = False
) -> list[IndexedFact]:
    """The facts in these vaults, by category and key.

    Facts that were only proposed are left out, and superseded facts unless `superseded` is set.
    """
    by_name = {vault.name: vault for vault in vaults}
    unknown = UNKNOWN - {"superseded"} if superseded else UNKNOWN
    facts = []
    with state.reading(vaults) as index:
        for memory in index.memories(_FACTS, fields=_FIELDS):
            status = memory.field("status")
            if fold(status or "") in unknown:
                continue
            category, key = _name(dict(reversed(memory.fields)), memory.title)
            facts.append(
                IndexedFact(
                    memory.memory_id,
                    by_name[memory.vault],
                    memory.path,
                    category,
                    key,
                    memory.updated or "",
                    share_of(memory.field("confidence")) or 0.0,
                    over(memory.field("expires"), now),
                    status,
                    None if memory.field("valid_from") else memory.created,
                    None
                    if memory.field("valid_to") or memory.field("expires")
                    else memory.field("valid_from") or memory.updated or memory.created,
                    tuple(domains_in([memory])),
                )
            )
    return sorted(facts, key=lambda fact: (fact.name, fact.place))


def with_name(facts: Sequence[IndexedFact], category: str | None, key: str) -> list[IndexedFact]:
    """The facts with a key, else those with another key that means the same."""
    if category is not None:
        facts = of_category(facts, category)
    exact = [fact for fact in facts if fold(fact.key) == fold(key.strip())]
    return exact or [fact for fact in facts if meaning_of(fact.key) == meaning_of(key)]


def of_category(facts: Sequence[IndexedFact], category: str) -> list[IndexedFact]:
    """The facts of a category."""
    return [fact for fact in facts if fold(fact.category) == fold(category.strip())]


def read_fact(vault: Vault, path: str, now: datetime) -> Fact:
    """Read a fact from its note. A note without category and key gets its name from the title."""
    return fact_in(disk.read(vault, path), vault, path, now)


def fact_in(data: bytes, vault: Vault, path: str, now: datetime) -> Fact:
    """The fact in the bytes of a note."""
    note = parse(path, data, vault.dialect)
    fields: dict[str, str] = dict(reversed(note.fields))
    category, key = _name(fields, note.title)
    values = timeline(note)
    return extended(
        values.current,
        Fact,
        **{name: getattr(note, name) for name in ("id", "created", "updated")},
        category=category,
        key=key,
        source_context=fields.get("source_context"),
        expires=iso_date(fields.get("expires")),
        expired=over(fields.get("expires"), now),
        status=fields.get("status"),
        domain=", ".join(domains_of(note)) or None,
        last_verified=fields.get("last_verified"),
        valid_to=period_date(fields.get("valid_to")),
        holds=spoken_period(values.whole_period(values.current), moment(now)),
        vault=vault.name,
        path=path,
        file=str(vault.root.resolve() / path),
        history=values.history,
    )


def facts_by_meaning(
    runtime: Runtime, query: str, vaults: Sequence[Vault], problems: list[Problem], *, past: bool
) -> dict[int, float]:
    """The cosines of the facts nearest to a question, by the numbers of their memories.

    With `past`, earlier values answer too.

    The cosines are on the scale of the packaged model. `thresholds.fact` is the minimum of a match.
    If the model cannot answer, the reason is added to `problems`. A query of only filters has no
    results by meaning.
    """
    question = parse_query(query)
    if not question.asks:
        return {}
    with runtime.state.reading(vaults) as index:
        asked = QuestionVector(runtime.models, index.vectors.space, question, problems)
    embed_waiting(runtime.state, vaults, asked.spare)
    with runtime.state.reading(vaults) as index:
        vector, space = asked.get(index), index.vectors.space
        if vector is None or space is None or asked.outdated(space):
            return {}
        # Earlier values of a fact stand behind its first chunk.
        facts = replace(_FACTS, first_chunk=not past)
        cosines = likeness(index, [vector], facts, NEIGHBOURS)
        settings = runtime.home.config.thresholds
        threshold = settings.models.get(space.identity, settings).fact
    rounded = {key: round(cosine, 4) for key, cosine in cosines.items()}
    return {key: cosine for key, cosine in rounded.items() if cosine >= threshold}


def _name(fields: Mapping[str, str], title: str) -> tuple[str, str]:
    """Category and key: from the front matter, else from the title."""
    before, slash, after = title.partition("/")
    category = fields.get("category") or (before if slash else "")
    return category, fields.get("key") or (after if slash else title)
