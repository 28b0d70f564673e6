"""Facts: values with a category and a key. The note of a fact also keeps earlier values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import Busy, DjinnError, NotFound, Remedy, UsageError
from djinn_memory.indexing.refresh import remove_notes
from djinn_memory.languages.word_lists import AskedKeys
from djinn_memory.memories.facts import queries, requests
from djinn_memory.memories.facts.writer import (
    FactChange,
    mark_expired,
    set_fact,
    unindexed,
    unmarked_expired,
    verified,
)
from djinn_memory.memories.writing.change_set import writing
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.dates import local_day, moment
from djinn_memory.notes.periods import end_of_day
from djinn_memory.notes.slugs import flat, fold
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.search.time.now import asks_for_former

FAR = 3
"""The distance of a fact whose key a question does not name."""


class FactPage(Struct, frozen=True):
    """A page of a list of facts."""

    facts: tuple[queries.Fact, ...]
    """The facts in the requested order."""
    total: int
    """The number of facts on all pages."""
    page: int
    """The number of this page, from 1."""
    pages: int
    """The number of pages."""


class FactHit(Struct, frozen=True):
    """A fact that a search found."""

    fact: queries.Fact
    """The fact."""
    how: Literal["meaning", "text"]
    """Whether the fact was found by meaning, or by its text or key."""
    score: float | None
    """The cosine, on the scale of the packaged model; null for a fact found by its text or key."""


class FactHits(Struct, frozen=True):
    """The facts that a search found."""

    query: str
    """The query as given."""
    facts: tuple[FactHit, ...]
    """The facts found by meaning, nearest first, then the facts found by key and by text. Earlier
    values, which have `as_of`, come before them if the query asks for them."""
    problems: tuple[Problem, ...] = ()
    """Problems that kept the search by meaning from working."""


class ForgottenFact(Struct, frozen=True):
    """The result of forgetting a fact."""

    fact: queries.Fact
    """The fact before it was removed."""
    moved_to: Path
    """The new path of its note."""
    change: str | None = None
    """The id of the change, for `djinn undo`; null if it cannot be taken back."""


class Facts(Namespace, name="facts"):
    """The facts of a home."""

    @operation(requests.SetFact, writes=True, positional=("category", "key", "value"))
    def set(self, request: requests.SetFact) -> FactChange:
        """Set a fact in the vault of an agent, or in the shared vault. Earlier values are kept.

        A fact under another key that means the same, such as `lives in` for `city`, gets the value.

        Setting the current value again confirms it: `last_verified` is updated, and so are the
        other fields given, except for a source that is less certain than the current one. A value
        whose `valid_from` is before that of the current value goes into the history. Raises
        `Refused` for text that looks like a secret.
        """
        return set_fact(self.runtime, request)

    @operation(requests.GetFact, positional=("category", "key"))
    def get(self, request: requests.GetFact) -> queries.Fact:
        """Get a fact. The agent's own fact takes precedence over a shared fact.

        Without such a key, a key that means the same answers, such as `lives in` for `city`.

        With `as_of`, its value is the one that held then. Raises `UsageError` when several
        categories have the key, and `NotFound` when no value held.
        """
        at = end_of_day("as_of", request.as_of, self.runtime.now())
        return self._find(
            request.category, request.key, request.agent, expired=request.expired, at=at
        )

    @operation(requests.ListFacts)
    def list(self, request: requests.ListFacts) -> FactPage:
        """List a page of the facts that an agent sees."""
        at = end_of_day("as_of", request.as_of, self.runtime.now())
        facts = self._facts(self.runtime.fresh_scope(request.agent), request.expired, at)
        if request.category is not None:
            facts = queries.of_category(facts, request.category)
        if request.search:
            facts = [fact for fact, _ in self._containing(facts, request.search, at)]
        if at:
            # To read all notes takes half a second for each thousand.
            facts = [fact for fact in facts if fact.holds(at) or self._read(fact, at)]
        facts = _in_order(facts, request.sort, request.order)
        pages = max(1, -(-len(facts) // request.limit))
        shown = facts[request.skip : request.skip + request.limit]
        read = tuple(fact for entry in shown if (fact := self._read(entry, at)))
        return FactPage(read, len(facts), request.skip // request.limit + 1, pages)

    @operation(requests.SearchFacts, embeds=("query",), positional=("query",))
    def search(self, request: requests.SearchFacts) -> FactHits:
        """Search facts: those that the query names first, then the nearest in meaning, then facts
        whose text contains the query.

        For a question about former values, such as `where did I live before`, earlier values
        come first, those of the facts that it names before the others.
        """
        if not request.query.strip():
            example = Remedy("facts.search", {"query": "where she lives"}, "see an example")
            raise UsageError("the query is empty", example)
        at = end_of_day("as_of", request.as_of, self.runtime.now())
        vaults = self.runtime.fresh_scope(request.agent)
        facts = self._facts(vaults, False, at)
        problems: list[Problem] = []
        former = at is None and asks_for_former(request.query)
        past = former or at is not None
        cosines = queries.facts_by_meaning(self.runtime, request.query, vaults, problems, past=past)
        near = [fact for fact in facts if fact.memory_id in cosines]
        near.sort(key=lambda fact: (-cosines[fact.memory_id], fact.place))
        rest = [fact for fact in facts if fact.memory_id not in cosines]
        asked = AskedKeys(request.query)
        named = [fact for fact in rest if asked.asks_for(fact.key)]
        by_text = self._containing(
            [fact for fact in rest if not asked.asks_for(fact.key)], request.query, at
        )
        in_order = _by_name(asked, near, named)
        hits = chain(
            (hit for entry in in_order if (hit := self._hit(entry, cosines, at))),
            (FactHit(fact, "text", None) for _, fact in by_text),
        )
        if former:
            earlier = (hit for entry in in_order for hit in self._earlier(entry, cosines))
            hits = chain(earlier, hits)
        return FactHits(request.query, tuple(islice(hits, request.limit)), tuple(problems))

    @operation(requests.ForgetFact, writes=True, removes=True, positional=("category", "key"))
    def forget(self, request: requests.ForgetFact) -> ForgottenFact:
        """Move a fact and its history to the trash of its vault."""
        fact = self._find(request.category, request.key, request.agent, expired=True)
        [vault] = self._state.home.named((fact.vault,))
        with writing(self.runtime, vault, "fact forget", request.agent) as writer:
            [place] = writer.trash([fact.path])
        remove_notes(self._state, vault, [fact.path])
        return ForgottenFact(fact, place, writer.changes.result.id)

    @operation(requests.VerifyFact, writes=True, positional=("category", "key"))
    def verify(self, request: requests.VerifyFact) -> FactChange:
        """Record that a fact is still valid."""
        fact = self._find(request.category, request.key, request.agent, expired=True)
        [vault] = self._state.home.named((fact.vault,))
        with writing(self.runtime, vault, "fact verify", request.agent) as writer:
            at = moment(writer.now)
            writer.rewrite(fact.path, lambda data: verified(data, at, revive=fact.expired))
        fact = queries.fact_in(writer.content(fact.path), vault, fact.path, writer.now)
        change = writer.changes.result.id
        return FactChange("verified", fact, None, change, tuple(writer.problems))

    def mark_expired(self, agent: str | None = None) -> int:
        """Write `status: expired` into facts that have expired. Returns how many were marked.

        Facts in vaults that djinn does not write to are unchanged.
        """
        vaults = self.runtime.fresh_scope(agent)
        return len(mark_expired(self.runtime, unmarked_expired(self.runtime, vaults))[0])

    def _hit(
        self, entry: queries.IndexedFact, cosines: Mapping[int, float], at: str | None
    ) -> FactHit | None:
        """The hit for a fact that was found by meaning, or else by its name."""
        cosine = cosines.get(entry.memory_id)
        fact = self._read(entry, at)
        return FactHit(fact, "text" if cosine is None else "meaning", cosine) if fact else None

    def _earlier(
        self, entry: queries.IndexedFact, cosines: Mapping[int, float]
    ) -> Iterator[FactHit]:
        """The hits for the earlier values of a fact."""
        if hit := self._hit(entry, cosines, None):
            for fact in hit.fact.earlier:
                yield replace(hit, fact=fact)

    def _facts(
        self, vaults: Sequence[Vault], expired: bool, at: str | None = None
    ) -> Sequence[queries.IndexedFact]:
        """The facts of these vaults; with `at`, all that may have had a value then."""
        facts = queries.indexed_facts(
            self._state, vaults, self.runtime.now(), superseded=at is not None
        )
        if at:
            return [fact for fact in facts if not fact.since or fact.since <= at]
        return [fact for fact in facts if expired or not fact.expired]

    def _read(self, fact: queries.IndexedFact, at: str | None = None) -> queries.Fact | None:
        """The fact as it held at a time, by default now.

        None when its note was deleted or broken meanwhile, or when no value held at a given time.
        """
        with suppress(OSError, DjinnError):
            return self._then(queries.read_fact(fact.vault, fact.path, self.runtime.now()), at)
        return None

    def _then(self, fact: queries.Fact, at: str | None) -> queries.Fact | None:
        now = moment(self.runtime.now())
        if at:
            return fact.on(at)
        # A value that has not begun yet does not hide the one before.
        return fact if fact.current.period.begun(now) else fact.on(now) or fact

    def _containing(
        self, facts: Sequence[queries.IndexedFact], text: str, at: str | None = None
    ) -> Iterator[tuple[queries.IndexedFact, queries.Fact]]:
        """The facts that have a text in category, key or value."""
        needle = flat(text)
        with self._state.reading([fact.vault for fact in facts]) as index:
            chunks = index.chunks_of([fact.memory_id for fact in facts])
        for entry in facts:
            name = f"{entry.category}/{entry.key}"
            value = "\n".join(chunk.text for chunk in chunks.get(entry.memory_id, ()))
            if needle not in flat(name) and needle not in flat(value):
                continue
            fact = self._read(entry, at)
            if fact and any(needle in flat(part) for part in (name, entry.key, fact.value)):
                yield entry, fact

    def _find(
        self,
        category: str | None,
        key: str,
        agent: str | None,
        *,
        expired: bool,
        at: str | None = None,
    ) -> queries.Fact:
        own = self._state.home.agent(agent)
        vaults = sorted(self.runtime.fresh_scope(agent), key=lambda vault: vault.name != own)
        facts: Sequence[queries.IndexedFact] = ()
        fact: queries.Fact | None = None
        failure: DjinnError | None = None
        try:
            facts = self._facts(vaults, expired, at)
        except Busy as error:
            failure = error
        matches = queries.with_name(facts, category, key)
        if not matches and category is None and "/" in key:
            category, _, key = key.partition("/")
            matches = queries.with_name(facts, category, key)
        categories = {fold(fact.category): fact.category for fact in matches}
        if len(categories) > 1:
            raise UsageError(f"{key!r} is in {', '.join(categories.values())}; name the category")
        # A fact comes before the superseded fact that it replaced.
        matches.sort(key=lambda fact: (fact.superseded, fact.vault.name != own))
        for entry in matches:
            if fact := self._read(entry, at):
                return fact
        every = expired or at is not None
        if category and (fact := unindexed(self.runtime, vaults, category, key, expired=every)):
            fact = self._then(fact, at)
        if fact:
            return fact
        name = f"{category}/{key}" if category else key
        listing = Remedy("facts.list", purpose="list the facts")
        when = f" that held on {local_day(at)}" if at else ""
        raise failure or NotFound(f"no fact {name!r}{when}", listing)


def _by_name(
    asked: AskedKeys, near: Sequence[queries.IndexedFact], named: Sequence[queries.IndexedFact]
) -> list[queries.IndexedFact]:
    """Facts whose keys a question names before the others, those of its person first.

    Ties keep their order.
    """

    def distance(fact: queries.IndexedFact) -> int:
        return asked.distance(fact.category) if asked.asks_for(fact.key) else FAR

    return sorted([*near, *named], key=distance)


def _in_order(
    facts: Sequence[queries.IndexedFact], by: requests.SortKey, order: requests.SortOrder | None
) -> Sequence[queries.IndexedFact]:
    """Sort facts, which are in order of category and key. Ties keep that order."""
    by_name = by in ("category", "key")
    key = attrgetter(by)
    return sorted(
        facts,
        key=(lambda fact: fold(key(fact))) if by_name else key,
        reverse=order == "desc" or (order is None and not by_name),
    )
