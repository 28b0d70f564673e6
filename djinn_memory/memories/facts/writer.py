"""Writes the notes of facts, and leaves all other bytes of the notes unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import Busy, DjinnError, Refused, Remedy, UsageError
from djinn_memory.home.access import DOMAIN, domain_key, is_own
from djinn_memory.memories.changes.history import taken_back
from djinn_memory.memories.changes.plan import digest
from djinn_memory.memories.facts import queries
from djinn_memory.memories.facts.requests import SetFact
from djinn_memory.memories.facts.statements import Action, Stated, Statement, given_period, stated
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.writing.change_set import ChangeSet, VaultWriter, change_set, writing
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.provenance import ORIGIN, UNKNOWN, Provenance, domain_value
from djinn_memory.models import Problem, Vault, extended
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import date_field, moment
from djinn_memory.notes.encoding import decode, writable
from djinn_memory.notes.fact_note import PastValue, Timeline, with_past, with_value, written
from djinn_memory.notes.frontmatter import edit_fields
from djinn_memory.notes.note import MAX_TITLE
from djinn_memory.notes.periods import Period, begin_key
from djinn_memory.notes.slugs import fold, folder, slug
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import guard
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.system.plural import count

EXPIRE = "maintain --only expire"
"""The command of the change sets that mark facts as expired."""


class FactChange(Struct, frozen=True):
    """The result of setting or verifying a fact."""

    action: Action
    """`verified` when the fact already had the value. Only `last_verified` then changes."""
    fact: queries.Fact
    """The fact after the change."""
    before: str | None = None
    """The previous value, which the history keeps; null if there was none."""
    change: str | None = None
    """The id of the change, for `djinn undo`; null if nothing was changed."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the fact from being searchable at once."""


@within(WRITE_SECONDS)
def set_fact(
    runtime: Runtime,
    request: SetFact,
    provenance: Provenance | None = None,
    command: str = "fact set",
) -> FactChange:
    """Set a fact, in a change of `command`; see `Facts.set`.

    `provenance` is the origin of a value that was derived.
    """
    home, now = runtime.home, runtime.now()
    category, key = _name("category", request.category), _name("key", request.key)
    if not request.value.strip():
        forget = Remedy("facts.forget", {"key": f"{category}/{key}"}, "remove a fact")
        raise UsageError("the value is empty", forget)
    evidence = tuple(map(_link, request.evidence))
    # The key says what the value is: in the note, `password` and `hunter2` stand apart.
    text = f"{category} {key}: {request.value}\n{request.context or ''}\n{' '.join(evidence)}"
    guard(text, what="the fact", settings=home.config.secrets, allow=request.allow_secret)
    context = request.context and " ".join(request.context.split())
    expires = date_field("expires", request.expires, now)
    period = given_period(request.valid_from, request.valid_to, now)
    author = home.agent(request.agent) if runtime.client else None
    origin = provenance or Provenance("", evidence, author, runtime.client)
    agent = home.agent(request.agent)
    vault = home.vault_to_write(agent, shared=request.shared)
    if request.domain is not None:
        home.check_domains([request.domain], agent)
        origin = replace(origin, domains=(request.domain,))
    statement = Statement(
        request.value,
        period,
        writable(request.source) if request.source else None,
        request.confidence,
        origin,
        source_context=writable(context) if context else None,
        expires=expires,
    )
    runtime.fresh_scope(request.agent)
    with writing(runtime, vault, command, request.agent) as writer:
        action: Action
        before = None
        if path := _path_of(runtime, vault, (category, key), request.domain):
            action, before = _change(writer, path, statement)
            if origin.domains:
                derived = request.domain is None
                writer.rewrite(path, lambda data: _with_domains(data, origin.domains, derived))
        else:
            draft = _draft(category, key, statement, now)
            if default := domain_to_write(runtime, vault, agent, request.domain):
                draft = replace(draft, fields={DOMAIN: default, **draft.fields})
            draft.guard(home.config.secrets, allow=request.allow_secret)
            action, path = "created", writer.create(draft)[1]
    fact = queries.fact_in(writer.content(path), vault, path, writer.now)
    return FactChange(action, fact, before, writer.changes.result.id, tuple(writer.problems))


def add_fact(runtime: Runtime, changes: ChangeSet, vault: Vault, fact: queries.Fact) -> None:
    """Add the steps that state the value of `fact` in a vault to a change, as `set_fact` does.

    Raises `Refused` if the fact has the value already, or another note has its path.
    """
    now, named = runtime.now(), (fact.category, fact.key)
    domains = tuple(fact.domain.split(", ")) if fact.domain else ()
    origin = replace(extended(fact, Provenance, rule=fact.rule or ""), domains=domains)
    period = Period(fact.valid_from, fact.valid_to)
    statement = Statement(
        fact.value, period, fact.source, fact.confidence, origin, fact.source_context, fact.expires
    )
    usual = f"{folder(queries.FACT)}/{slug('/'.join(map(fold, named)))}.md"
    path = _path_of(runtime, vault, named, None) or usual
    data = changes.content(vault, path)
    if data is None:
        draft = _draft(*named, statement, now)
        changes.create(vault, path, draft.compose(now)[1].encode("utf-8", "replace"))
        return
    known = queries.fact_in(data, vault, path, now)
    if known.value == fact.value:
        raise Refused(f"{vault.name}/{path} says the same")
    if path == usual and {fold(known.category), fold(known.key)} != {*map(fold, named)}:
        raise Refused(f"{vault.name}/{path} is another note")
    after = _with_statement(data, known, statement, now)[1]
    after = _with_domains(after, domains, derived=True) if domains else after
    changes.rewrite(vault, path, data, after)


def _change(writer: VaultWriter, path: str, statement: Statement) -> tuple[Action, str | None]:
    """Apply a statement to a fact. Returns its effect, and the value that it replaced."""
    result: tuple[Action, str | None] = "verified", None

    def changed(data: bytes) -> bytes:
        nonlocal result
        fact = queries.fact_in(data, writer.vault, path, writer.now)
        action, data = _with_statement(data, fact, statement, writer.now)
        replaced = action == "changed" and fact.value != statement.value
        result = action, fact.value if replaced else None
        return data

    writer.rewrite(path, changed)
    return result


def _draft(category: str, key: str, statement: Statement, now: datetime) -> Draft:
    """The draft of a new fact."""
    fields = {
        "category": category,
        "key": key,
        **_front(statement, statement.first(now)),
        **statement.origin.fields(),
        "last_verified": moment(now),
    }
    return Draft(queries.FACT, f"{category}/{key}", written(statement.value), fields)


def _front(statement: Statement, value: PastValue) -> dict[str, object]:
    """The front matter of a stated value. Fields without a value are None.

    The domain is left out, because the note has those of all its values.
    """
    origin = statement.origin.fields()
    return {
        "source": value.source,
        "source_context": statement.source_context,
        "confidence": value.confidence,
        "expires": statement.expires,
        "valid_from": statement.period.start,
        "valid_to": value.until,
        **{name: origin.get(name) for name in ORIGIN},
    }


def _with_statement(
    data: bytes, fact: queries.Fact, statement: Statement, now: datetime
) -> tuple[Action, bytes]:
    """The bytes of a fact's note after a statement, and its effect."""
    values = Timeline(replace(fact.current, until=fact.valid_to), fact.history)
    done = stated(values, statement, now, fact.expires)
    if done.values is values:
        return done.action, data
    if done.past is None:
        return done.action, _confirmed(data, fact, statement, done)
    if done.action == "recorded":
        # From now on the beginning of the current value cannot be derived from the history.
        data = edit_fields(data, {"valid_from": fact.valid_from})
        return done.action, with_past(data, done.past, fact.created)
    # The history tells when a value began if it began when it was set, and has no gap. The index
    # takes a note without `valid_from` for one of values that began after it was created.
    began = done.values.current.valid_from
    starts = [begin_key(value.valid_from) for value in done.values.history]
    plain = min(starts) >= (fact.created or "") and not statement.period.start
    fields = {
        **_front(statement, done.values.current),
        "valid_from": None if plain and done.past.until == began else began,
        "last_verified": done.at,
        "updated": done.at,
        "status": None if fact.status == "expired" else fact.status,
    }
    return done.action, edit_fields(with_value(data, statement.value, done.past), fields)


def _confirmed(data: bytes, fact: queries.Fact, statement: Statement, done: Stated) -> bytes:
    """The bytes of a fact whose current value was stated again."""
    value = done.values.current
    context = None if statement.weakens(fact.current) else statement.source_context
    fields = {
        "source": value.source if value.source != fact.source else None,
        "source_context": context,
        "confidence": value.confidence if value.confidence != fact.confidence else None,
        "expires": statement.expires,
        "evidence": [*value.evidence] if value.evidence != fact.evidence else None,
    }
    given = {key: field for key, field in fields.items() if field is not None}
    data = verified(data, done.at, given, revive=fact.expired)
    ended = {"valid_to": value.until, "updated": done.at} if done.action == "changed" else {}
    return edit_fields(data, ended)


def verified(data: bytes, at: str, fields: Mapping[str, object] = {}, *, revive: bool) -> bytes:
    """The bytes of a fact after it was confirmed. With `revive` it is no longer expired."""
    if revive:
        data = edit_fields(data, {"expires": None, "status": None})
    return edit_fields(data, {**fields, "last_verified": at})


def _with_domains(data: bytes, domains: Sequence[str], derived: bool) -> bytes:
    """A note with domains that were given, or also with those of the sources of a derived value."""
    before = frontmatter.read(decode(data)[0]).fields.get(DOMAIN) or []
    own = [before] if isinstance(before, str) else before
    return edit_fields(data, {DOMAIN: domain_value([*own, *domains] if derived else domains)})


def _path_of(
    runtime: Runtime, vault: Vault, named: tuple[str, str], domain: str | None
) -> str | None:
    """The path of a fact in a vault, also under another key that means the same.

    With a domain, it is the fact of this domain, else one that has no domain yet. Facts of other
    domains stay as they are. None when the fact does not exist yet.
    """
    category, key = named
    matches: Sequence[queries.IndexedFact] = ()
    with suppress(Busy):
        facts = queries.indexed_facts(runtime.state, [vault], runtime.now())
        facts = [fact for fact in facts if _may_get(domain, fact.domains)]
        if domain is not None:
            facts.sort(key=lambda fact: not fact.domains)
        matches = queries.with_name(facts, category, key)
    if matches and matches[0].name == (fold(category), fold(key)):
        return matches[0].path
    fact = unindexed(runtime, [vault], category, key, expired=True)
    if fact and _may_get(domain, (fact.domain,) if fact.domain else ()):
        return fact.path
    return matches[0].path if matches else None


def _may_get(domain: str | None, domains: Sequence[str]) -> bool:
    """Whether a fact with these domains may get a value of a domain that was given.

    Otherwise who sees one domain would read the values of the other in the history.
    """
    return domain is None or {*map(domain_key, domains)} <= {domain_key(domain)}


def unindexed(
    runtime: Runtime, vaults: Iterable[Vault], category: str, key: str, *, expired: bool
) -> queries.Fact | None:
    """The fact in a file with the usual name, which another process may have just written."""
    name = fold(category.strip()), fold(key.strip())
    path = f"{folder(queries.FACT)}/{slug('/'.join(name))}.md"
    for vault in vaults:
        # Only the index says what a limited agent may see.
        if vault.reader:
            continue
        with suppress(OSError, DjinnError):
            fact = queries.read_fact(vault, path, runtime.now())
            if (fact.expired and not expired) or fold(fact.status or "") in UNKNOWN:
                continue
            if (fold(fact.category), fold(fact.key)) == name:
                return fact
    return None


def _link(text: str) -> str:
    """The link to a memory that somebody names as evidence."""
    name = writable(text).strip().removeprefix("[[").removesuffix("]]").strip()
    if not name or re.search(r"[\[\]\n\r]", name):
        raise UsageError(f"{text!r}: give a note's title or path", argument="evidence")
    return f"[[{name}]]"


def _name(field: str, text: str) -> str:
    name = " ".join(writable(text).split())
    if not name or not any(map(str.isalnum, name)):
        raise UsageError(f"a fact needs a {field} with at least one letter, such as person or city")
    if len(name) > MAX_TITLE // 3:
        raise UsageError(
            f"the {field} has {len(name)} characters; at most {MAX_TITLE // 3} are allowed"
        )
    return name


def unmarked_expired(runtime: Runtime, vaults: Sequence[Vault]) -> list[queries.IndexedFact]:
    """The expired facts whose notes are not marked as expired, in vaults that djinn writes to.

    A mark that was taken back is not made again, unless the note has changed since.
    """
    writable = [vault for vault in vaults if is_own(vault) and not vault.read_only]
    facts = queries.indexed_facts(runtime.state, writable, runtime.now())
    expired = [fact for fact in facts if fact.expired and fact.status != "expired"]
    undone = taken_back(runtime.state, writable, EXPIRE) if expired else frozenset()
    return [fact for fact in expired if (fact.vault.id, fact.path, _digest(fact)) not in undone]


def _digest(fact: queries.IndexedFact) -> str | None:
    """The digest of the note of a fact; None if it cannot be read."""
    with suppress(OSError):
        return digest(disk.read(fact.vault, fact.path))
    return None


def mark_expired(
    runtime: Runtime, facts: Sequence[queries.IndexedFact]
) -> tuple[list[queries.IndexedFact], list[Problem]]:
    """Write `status: expired` into the notes of facts, in one step for each vault.

    Returns the facts that were marked. `djinn undo` takes a step back.
    """
    marked: list[queries.IndexedFact] = []
    problems: list[Problem] = []
    for vault in dict.fromkeys(fact.vault for fact in facts):
        own = [fact for fact in facts if fact.vault == vault]
        what = f"Marked {count(len(own), 'fact')} of vault {vault.name} as expired"
        try:
            with change_set(runtime, EXPIRE, what) as changes:
                for fact in own:
                    data = disk.read(vault, fact.path)
                    expired = edit_fields(data, {"status": "expired"})
                    changes.rewrite(vault, fact.path, data, expired)
        except (DjinnError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            problems.append(Problem(vault.name, f"facts were not marked as expired: {why}"))
        else:
            marked += own
    return marked, problems
