"""Facts: values with a category and a key. The note of a fact also keeps earlier values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Literal

from msgspec import Struct

from djinn_memory.errors import Busy, DjinnError, NotFound, Remedy, UsageError
from djinn_memory.indexing.refresh import remove_notes
from djinn_memory.memories.facts.queries import (
    Fact,
    IndexedFact,
    facts_by_meaning,
    indexed_facts,
    read_fact,
    texts,
)
from djinn_memory.memories.facts.requests import (
    ForgetFact,
    GetFact,
    ListFacts,
    SearchFacts,
    SetFact,
    SortKey,
    SortOrder,
    VerifyFact,
)
from djinn_memory.memories.facts.writer import (
    FACT,
    Action,
    change,
    draft_of_fact,
    mark_expired,
    unmarked_expired,
    verified,
)
from djinn_memory.memories.writing.vault_writer import VaultWriter, writing
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.dates import date_field
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.note import MAX_TITLE
from djinn_memory.notes.slugs import fold, folder, slug
from djinn_memory.notes.vault import files as disk
from djinn_memory.runtime import Namespace, operation
from djinn_memory.secrets import guard
from djinn_memory.store.busy import WRITE_SECONDS, within


class FactChange(Struct, frozen=True):
    """The result of setting or verifying a fact."""

    action: Action
    """`verified` when the fact already had the value. Only `last_verified` then changes."""
    fact: Fact
    """The fact after the change."""
    before: str | None = None
    """The previous value, which the history keeps; null if there was none."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the fact from being searchable at once."""


class FactPage(Struct, frozen=True):
    """A page of a list of facts."""

    facts: tuple[Fact, ...]
    """The facts in the requested order."""
    total: int
    """The number of facts on all pages."""
    page: int
    """The number of this page, from 1."""
    pages: int
    """The number of pages."""


class FactHit(Struct, frozen=True):
    """A fact that a search found."""

    fact: Fact
    """The fact."""
    how: Literal["meaning", "text"]
    """Whether the fact was found by meaning or by its text."""
    score: float | None
    """The cosine, on the scale of the packaged model; null for a fact found by its text."""


class FactHits(Struct, frozen=True):
    """The facts that a search found."""

    query: str
    """The query as given."""
    facts: tuple[FactHit, ...]
    """The facts found by meaning, nearest first, then the facts found by text."""
    problems: tuple[Problem, ...] = ()
    """Problems that kept the search by meaning from working."""


class ForgottenFact(Struct, frozen=True):
    """The result of forgetting a fact."""

    fact: Fact
    """The fact before it was removed."""
    moved_to: Path
    """The new path of its note."""


class Facts(Namespace):
    """The facts of a home."""

    @operation(SetFact)
    @within(WRITE_SECONDS)
    def set(self, request: SetFact) -> FactChange:
        """Set a fact in the vault of an agent, or in the shared vault. Earlier values are kept.

        Setting the current value again confirms it: `last_verified` is updated, and so are the
        other fields given, except for a source that is less certain than the current one. Raises
        `Refused` for text that looks like a secret.
        """
        home, now = self._state.home, self.runtime.now()
        category, key = _name("category", request.category), _name("key", request.key)
        if not request.value.strip():
            forget = Remedy("facts.forget", {"key": f"{category}/{key}"}, "remove a fact")
            raise UsageError("the value is empty", forget)
        # The key says what the value is: in the note, `password` and `hunter2` stand apart.
        text = f"{category} {key}: {request.value}\n{request.context or ''}"
        guard(text, what="the fact", settings=home.config.secrets, allow=request.allow_secret)
        vault = home.shared if request.shared else home.personal(home.agent(request.agent))
        context = request.context and " ".join(request.context.split())
        given = {
            "source": writable(request.source) if request.source else None,
            "source_context": writable(context) if context else None,
            "confidence": request.confidence,
            "expires": date_field("expires", request.expires, now),
        }
        self.runtime.fresh_scope(request.agent)
        with writing(self.runtime, vault) as writer:
            action: Action
            before = None
            if path := self._path_of(writer, category, key):
                action, before = change(writer, path, request.value, given)
            else:
                draft = draft_of_fact(category, key, request.value, given, now)
                draft.guard(home.config.secrets, allow=request.allow_secret)
                action, path = "created", writer.create(draft)[1]
            # Read before the vault is released, while nobody else can set the fact.
            fact = read_fact(vault, path, now)
        return FactChange(action, fact, before, tuple(writer.problems))

    @operation(GetFact)
    def get(self, request: GetFact) -> Fact:
        """Get a fact. The agent's own fact takes precedence over a shared fact.

        Raises `UsageError` when several categories have the key.
        """
        return self._find(request.category, request.key, request.agent, expired=request.expired)

    @operation(ListFacts)
    def list(self, request: ListFacts) -> FactPage:
        """List a page of the facts that an agent sees."""
        facts = self._facts(self.runtime.fresh_scope(request.agent), request.expired)
        if request.category is not None:
            facts = _of_category(facts, request.category)
        if request.search:
            facts = [fact for fact, _ in self._containing(facts, request.search)]
        facts = _in_order(facts, request.sort, request.order)
        pages = max(1, -(-len(facts) // request.limit))
        shown = facts[(request.page - 1) * request.limit : request.page * request.limit]
        read = tuple(filter(None, map(self._read, shown)))
        return FactPage(read, len(facts), request.page, pages)

    @operation(SearchFacts)
    def search(self, request: SearchFacts) -> FactHits:
        """Search facts: the nearest in meaning first, then facts whose text contains the query."""
        if not request.query.strip():
            example = Remedy("facts.search", {"query": "where she lives"}, "see an example")
            raise UsageError("the query is empty", example)
        vaults = self.runtime.fresh_scope(request.agent)
        facts = self._facts(vaults, expired=False)
        problems: list[Problem] = []
        cosines = facts_by_meaning(self._state, self._models, request.query, vaults, problems)
        near = [fact for fact in facts if fact.memory_id in cosines]
        near.sort(key=lambda fact: (-cosines[fact.memory_id], fact.place))
        hits = [
            FactHit(fact, "meaning", cosines[entry.memory_id])
            for entry in near[: request.limit]
            if (fact := self._read(entry))
        ]
        if len(hits) < request.limit:
            rest = [fact for fact in facts if fact.memory_id not in cosines]
            by_text = self._containing(rest, request.query)
            hits += [FactHit(fact, "text", None) for _, fact in by_text]
        return FactHits(request.query, tuple(hits[: request.limit]), tuple(problems))

    @operation(ForgetFact)
    def forget(self, request: ForgetFact) -> ForgottenFact:
        """Move a fact and its history to the trash of its vault."""
        fact = self._find(request.category, request.key, request.agent, expired=True)
        [vault] = self._state.home.named((fact.vault,))
        with self._state.vault_lock(vault):
            place = disk.trash(vault, fact.path)
        remove_notes(self._state, vault, [fact.path])
        return ForgottenFact(fact, place)

    @operation(VerifyFact)
    def verify(self, request: VerifyFact) -> FactChange:
        """Record that a fact is still valid."""
        fact = self._find(request.category, request.key, request.agent, expired=True)
        [vault] = self._state.home.named((fact.vault,))
        with writing(self.runtime, vault) as writer:
            writer.rewrite(
                fact.path, lambda data: verified(data, writer.now, {}, revive=fact.expired)
            )
        fact = read_fact(vault, fact.path, writer.now)
        return FactChange("verified", fact, None, tuple(writer.problems))

    def mark_expired(self, agent: str | None = None) -> int:
        """Write `status: expired` into facts that have expired. Returns how many were marked.

        Facts in vaults that djinn does not write to are unchanged.
        """
        vaults = self.runtime.fresh_scope(agent)
        return len(mark_expired(self.runtime, unmarked_expired(self.runtime, vaults)))

    def _facts(self, vaults: Sequence[Vault], expired: bool) -> Sequence[IndexedFact]:
        facts = indexed_facts(self._state, vaults, self.runtime.now())
        return [fact for fact in facts if expired or not fact.expired]

    def _read(self, fact: IndexedFact) -> Fact | None:
        """The fact in its current note; None when the note was deleted or broken meanwhile."""
        with suppress(OSError, DjinnError):
            return read_fact(fact.vault, fact.path, self.runtime.now())
        return None

    def _containing(
        self, facts: Sequence[IndexedFact], text: str
    ) -> Iterator[tuple[IndexedFact, Fact]]:
        """The facts that have a text in category, key or value."""
        needle = _flat(text)
        indexed = texts(self._state, facts)
        for entry in facts:
            name = f"{entry.category}/{entry.key}"
            value = indexed.get(entry.memory_id, "")
            if needle not in _flat(name) and needle not in _flat(value):
                continue
            fact = self._read(entry)
            if fact and any(needle in _flat(part) for part in (name, entry.key, fact.value)):
                yield entry, fact

    def _find(self, category: str | None, key: str, agent: str | None, *, expired: bool) -> Fact:
        own = self._state.home.agent(agent)
        vaults = sorted(self.runtime.fresh_scope(agent), key=lambda vault: vault.name != own)
        facts: Sequence[IndexedFact] = ()
        failure: DjinnError | None = None
        try:
            facts = self._facts(vaults, expired)
        except Busy as error:
            failure = error
        matches = [fact for fact in facts if fold(fact.key) == fold(key.strip())]
        if not matches and category is None and "/" in key:
            category, _, key = key.partition("/")
            matches = [fact for fact in facts if fold(fact.key) == fold(key.strip())]
        if category is not None:
            matches = _of_category(matches, category)
        categories = {fold(fact.category): fact.category for fact in matches}
        if len(categories) > 1:
            raise UsageError(f"{key!r} is in {', '.join(categories.values())}; name the category")
        matches.sort(key=lambda fact: fact.vault.name != own)
        if matches and (fact := self._read(matches[0])):
            return fact
        if category and (fact := self._unindexed(vaults, category, key, expired=expired)):
            return fact
        name = f"{category}/{key}" if category else key
        listing = Remedy("facts.list", purpose="list the facts")
        raise failure or NotFound(f"no fact {name!r}", listing)

    def _path_of(self, writer: VaultWriter, category: str, key: str) -> str | None:
        """The path of a fact in the vault of the writer; None when it does not exist yet."""
        name = fold(category), fold(key)
        with suppress(Busy):
            for entry in self._facts([writer.vault], expired=True):
                if entry.name == name:
                    return entry.path
        fact = self._unindexed([writer.vault], category, key, expired=True)
        return fact.path if fact else None

    def _unindexed(
        self, vaults: Iterable[Vault], category: str, key: str, *, expired: bool
    ) -> Fact | None:
        """The fact in a file with the usual name, which another process may have just written."""
        name = fold(category.strip()), fold(key.strip())
        path = f"{folder(FACT)}/{slug('/'.join(name))}.md"
        for vault in vaults:
            with suppress(OSError, DjinnError):
                fact = read_fact(vault, path, self.runtime.now())
                if (fact.expired and not expired) or fold(fact.status or "") == "superseded":
                    continue
                if (fold(fact.category), fold(fact.key)) == name:
                    return fact
        return None


def _of_category(facts: Sequence[IndexedFact], category: str) -> list[IndexedFact]:
    return [fact for fact in facts if fold(fact.category) == fold(category.strip())]


def _in_order(
    facts: Sequence[IndexedFact], by: SortKey, order: SortOrder | None
) -> Sequence[IndexedFact]:
    """Sort facts, which are in order of category and key. Ties keep that order."""
    by_name = by in ("category", "key")
    key = attrgetter(by)
    return sorted(
        facts,
        key=(lambda fact: fold(key(fact))) if by_name else key,
        reverse=order == "desc" or (order is None and not by_name),
    )


def _flat(text: str) -> str:
    return fold(" ".join(text.split()))


def _name(field: str, text: str) -> str:
    name = " ".join(writable(text).split())
    if not name or not any(map(str.isalnum, name)):
        raise UsageError(f"a fact needs a {field} with at least one letter, such as person or city")
    if len(name) > MAX_TITLE // 3:
        raise UsageError(
            f"the {field} has {len(name)} characters; at most {MAX_TITLE // 3} are allowed"
        )
    return name
