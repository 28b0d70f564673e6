"""Facts: a value under a category and a key, one note each, with the values before in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from msgspec import Struct, field

from djinn_memory.errors import DjinnError, NotFound, UsageError
from djinn_memory.indexing.refresh import remove_notes
from djinn_memory.memories.facts.queries import Fact, IndexedFact, by_meaning, known, read, texts
from djinn_memory.memories.facts.writer import FACT, Action, change, create, expired, mark, verified
from djinn_memory.memories.writing.arguments import between, day, one_of
from djinn_memory.memories.writing.vault_writer import VaultWriter, writing
from djinn_memory.models import Filters, Problem
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.note import MAX_TITLE
from djinn_memory.notes.slugs import fold, slug
from djinn_memory.notes.type_folders import folder
from djinn_memory.notes.vault import files as disk
from djinn_memory.runtime import Namespace
from djinn_memory.secrets import guard
from djinn_memory.store.recovery import recovers

if TYPE_CHECKING:
    from pathlib import Path


PAGE = 50

Sort = Literal["category", "key", "updated", "confidence"]
Order = Literal["asc", "desc"]


class FactChange(Struct, frozen=True):
    """What became of a fact that was set."""

    action: Action
    """`verified` where it was known already: then only that was noted."""
    fact: Fact
    """As it is now."""
    before: str | None = None
    """The value that it had until now, which its history keeps; null if there was none."""
    problems: list[Problem] = field(default_factory=list)
    """What keeps it from being found at once."""


class FactPage(Struct, frozen=True):
    """A page of a list of facts."""

    facts: tuple[Fact, ...]
    """In the order that was asked for."""
    total: int
    """How many there are on all pages."""
    page: int
    """Which page it is, from 1."""
    pages: int
    """How many there are."""


class FactHit(Struct, frozen=True):
    """A fact that a search found."""

    fact: Fact
    """It."""
    how: Literal["meaning", "text"]
    """Whether its meaning is near, or the words stand in it."""
    score: float | None
    """The cosine, on the scale of the packaged model; null for what was found by its words."""


Listed: TypeAlias = list[IndexedFact]
Problems: TypeAlias = list[Problem]


class Facts(Namespace):
    """The facts of a home."""

    @recovers
    def set(
        self,
        category: str,
        key: str,
        value: str,
        *,
        agent: str | None = None,
        shared: bool = False,
        source: str | None = None,
        confidence: float | None = None,
        expires: str | None = None,
        context: str | None = None,
        allow_secret: bool = False,
        now: datetime | None = None,
    ) -> FactChange:
        """Set a fact in the vault of `agent`, or the `shared` one; its value before is kept.

        The value it has already is a matching statement: `last_verified` is noted, and what else
        is given, but for a source that is less sure than the one it has. `Refused` for what looks
        like a secret.
        """
        now = now or datetime.now(UTC)
        home = self._state.home
        category, key = _name("category", category), _name("key", key)
        if not value.strip():
            raise UsageError(f"no value; `djinn fact forget {category}/{key}` removes a fact")
        between("--confidence", confidence, 0, 1)
        until = day("--expires", expires, now)
        # The key says what the value is: `password` and `hunter2` stand apart in the note.
        told = f"{category} {key}: {value}\n{context or ''}"
        guard(told, what="the fact", settings=home.config.secrets, allow=allow_secret)
        vault = home.shared if shared else home.personal(home.agent(agent))
        self._scope(agent, Filters(vaults=(vault.name,)))
        given = {
            "source": writable(source) if source else None,
            "source_context": writable(" ".join(context.split())) if context else None,
            "confidence": confidence,
            "expires": until,
        }
        with writing(self._state, self._models, vault, now=now, allow_secret=allow_secret) as pen:
            there = self._there(pen, category, key)
            action: Action
            if there:
                action, path, before = change(pen, there, value, given)
            else:
                action, path, before = "created", create(pen, category, key, value, given), None
            # While nobody else can set it.
            fact = read(vault, path, now)
        return FactChange(action, fact, before, pen.problems)

    @recovers
    def get(
        self,
        category: str | None,
        key: str,
        *,
        agent: str | None = None,
        expired: bool = False,
        now: datetime | None = None,
    ) -> Fact:
        """The fact of that key; `UsageError` where several categories have it.

        The agent's own comes before a shared one.
        """
        return self._find(category, key, agent, now or datetime.now(UTC), expired)

    @recovers
    def list(
        self,
        *,
        agent: str | None = None,
        category: str | None = None,
        search: str | None = None,
        sort: Sort = "category",
        order: Order | None = None,
        limit: int = PAGE,
        page: int = 1,
        expired: bool = False,
        now: datetime | None = None,
    ) -> FactPage:
        """A page of the facts that `agent` sees, those with `search` in category, key or value."""
        one_of("--sort", sort, get_args(Sort))
        if order is not None:
            one_of("--order", order, get_args(Order))
        between("--limit", limit, 1)
        between("--page", page, 1)
        now = now or datetime.now(UTC)
        found = self._known(agent, now, expired)
        if category is not None:
            found = [one for one in found if fold(one.category) == fold(category.strip())]
        if search:
            found = [one for one, _ in self._holding(found, search, now)]
        descending = order == "desc" or (order is None and sort in ("updated", "confidence"))
        if sort == "key":
            found.sort(key=lambda one: fold(one.key), reverse=descending)
        elif sort == "updated":
            found.sort(key=lambda one: one.updated, reverse=descending)
        elif sort == "confidence":
            found.sort(key=lambda one: one.confidence, reverse=descending)
        elif descending:
            found.sort(key=lambda one: fold(one.category), reverse=True)
        pages = max(1, -(-len(found) // limit))
        shown = found[(page - 1) * limit : page * limit]
        facts = (self._read(one, now) for one in shown)
        return FactPage(tuple(one for one in facts if one), len(found), page, pages)

    @recovers
    def search(
        self,
        query: str,
        *,
        agent: str | None = None,
        limit: int = 15,
        now: datetime | None = None,
        problems: Problems | None = None,
    ) -> Sequence[FactHit]:
        """Facts near in meaning, the nearest first, then those in which the words stand.

        What keeps meaning from being asked is added to `problems`.
        """
        if not query.strip():
            raise UsageError('nothing to search for; try `djinn fact search "where she lives"`')
        between("--limit", limit, 1)
        now = now or datetime.now(UTC)
        facts = self._known(agent, now, expired=False)
        at = {one.place: one for one in facts}
        vaults = self._state.home.scope(self._state.home.agent(agent))
        told: Problems = [] if problems is None else problems
        near = by_meaning(self._state, self._models, query, vaults, told)
        scores = {place: score for place, score in near if place in at}
        found = [
            FactHit(fact, "meaning", score)
            for place, score in list(scores.items())[:limit]
            if (fact := self._read(at[place], now))
        ]
        rest = [one for one in facts if one.place not in scores]
        if len(found) < limit:
            found += [FactHit(fact, "text", None) for _, fact in self._holding(rest, query, now)]
        return found[:limit]

    @recovers
    def forget(
        self, key: str, *, category: str | None = None, agent: str | None = None
    ) -> tuple[Fact, Path]:
        """Move a fact to its vault's trash, history and all; returns where it lies now."""
        fact = self._find(category, key, agent, datetime.now(UTC), expired=True)
        [vault] = self._state.home.named((fact.vault,))
        with self._state.vault_lock(vault):
            place = disk.trash(vault, fact.path)
        remove_notes(self._state, vault, [fact.path])
        return fact, place

    @recovers
    def verify(
        self,
        key: str,
        *,
        category: str | None = None,
        agent: str | None = None,
        now: datetime | None = None,
    ) -> FactChange:
        """Note that a fact still holds."""
        now = now or datetime.now(UTC)
        fact = self._find(category, key, agent, now, expired=True)
        [vault] = self._state.home.named((fact.vault,))
        with writing(self._state, self._models, vault, now=now) as pen:
            pen.rewrite(fact.path, lambda data: verified(data, pen.now, {}, revive=fact.expired))
        return FactChange("verified", read(vault, fact.path, now), None, pen.problems)

    def mark_expired(self, *, agent: str | None = None, now: datetime | None = None) -> int:
        """Say `status: expired` in the facts that have, where they can be written; how many."""
        now = now or datetime.now(UTC)
        late = expired(self._state, self._scope(agent, Filters()), now)
        return len(mark(self._state, self._models, late))

    def _known(self, agent: str | None, now: datetime, expired: bool) -> Listed:
        found = known(self._state, self._scope(agent, Filters()), now)
        return [one for one in found if expired or not one.expired]

    def _read(self, one: IndexedFact, now: datetime) -> Fact | None:
        """What a fact's note says now; None for one that was deleted or broken meanwhile."""
        with suppress(OSError, DjinnError):
            return read(one.vault, one.path, now)
        return None

    def _holding(
        self, facts: Listed, text: str, now: datetime
    ) -> Iterator[tuple[IndexedFact, Fact]]:
        """The facts in whose category, key or value a text stands."""
        wanted = _flat(text)
        held = texts(self._state)
        for one in facts:
            said = f"{one.category}/{one.key}"
            if wanted in _flat(said) or wanted in _flat(held.get((one.vault.id, one.path), "")):
                fact = self._read(one, now)
                if fact and any(wanted in _flat(it) for it in (said, one.key, fact.value)):
                    yield one, fact

    def _find(
        self, category: str | None, key: str, agent: str | None, now: datetime, expired: bool
    ) -> Fact:
        facts = self._known(agent, now, expired)
        found = [one for one in facts if fold(one.key) == fold(key.strip())]
        if not found and category is None and "/" in key:
            category, _, key = key.partition("/")
            found = [one for one in facts if fold(one.key) == fold(key.strip())]
        if category is not None:
            found = [one for one in found if fold(one.category) == fold(category.strip())]
        categories = {fold(one.category): one.category for one in found}
        if len(categories) > 1:
            raise UsageError(f"{key!r} is in {', '.join(categories.values())}; name the category")
        own = self._state.home.agent(agent)
        found.sort(key=lambda one: one.vault.name != own)
        fact = self._read(found[0], now) if found else None
        if fact is None:
            named = f"{category}/{key}" if category else key
            raise NotFound(f"no fact {named!r}; `djinn fact list` shows those there are")
        return fact

    def _there(self, pen: VaultWriter, category: str, key: str) -> str | None:
        """The path of the fact in the pen's vault."""
        wanted = fold(category), fold(key)
        for one in known(self._state, [pen.vault], pen.now):
            if (fold(one.category), fold(one.key)) == wanted:
                return one.path
        # Written by another process just now, and not read yet.
        path = f"{folder(FACT)}/{slug(f'{category}/{key}')}.md"
        with suppress(OSError, DjinnError):
            fact = read(pen.vault, path, pen.now)
            if (fold(fact.category), fold(fact.key)) == wanted:
                return path
        return None


def _flat(text: str) -> str:
    return fold(" ".join(text.split()))


def _name(what: str, text: str) -> str:
    name = " ".join(writable(text).split())
    if not name or not any(map(str.isalnum, name)):
        raise UsageError(f"a fact needs a {what} of at least a letter, such as person or city")
    if len(name) > MAX_TITLE // 3:
        raise UsageError(f"the {what} has {len(name)} characters; {MAX_TITLE // 3} at most, please")
    return name
