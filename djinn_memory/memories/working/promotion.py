"""Short-term entries that were used often enough become notes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from socket import gethostname
from textwrap import shorten
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.working.requests import WorkingValue
from djinn_memory.memories.working.values import value_of
from djinn_memory.memories.writing.drafts import draft_of
from djinn_memory.memories.writing.duplicates import DuplicateFinder
from djinn_memory.memories.writing.remember import remember
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.memories.writing.vault_writer import writing
from djinn_memory.models import Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.markdown import body
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.store.expiring import WorkingEntry, forget
from djinn_memory.store.sqlite import rows
from djinn_memory.store.state import State
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry

MARK = "promoted_from"
"""The field of a note that lists the ids of the entries it was made of."""

SOURCE = "short-term memory"

CLAIM_SECONDS = 86_400
"""After which another home takes over an entry; its own run was interrupted, and not repeated."""

LONGEST_TITLE = 80
"""Characters of a title that is the beginning of a text."""

_TYPES = {"reflection": "reflection", "conversation": "interaction"}
"""The type of a note by that of its entry; else it is an observation."""


class Promotion(Struct, frozen=True):
    """An entry that became a note, or part of one."""

    entry: WorkingValue
    vault: str
    path: str | None
    """Its note; None while nothing was done."""
    joined: bool
    """Whether another entry's note says the same, and tells of both now."""


def earned(state: State) -> list[WorkingEntry]:
    """The entries of all agents that are to become notes, the oldest first."""
    found = [one for agent in state.home.config.agents for one in state.working.entries(agent)[0]]
    return sorted((one for one in found if one.earned), key=lambda one: one.created)


def promote(state: State, models: ModelRegistry) -> tuple[list[Promotion], list[Problem]]:
    """Make notes of the entries that earned it, in their agents' personal vaults.

    A note is written before its entry goes, and names it: whenever this is interrupted, the next
    run finds what was done. What cannot be written stays where it is, and is a problem.
    """
    done: list[Promotion] = []
    problems: list[Problem] = []
    with lock(state.home.state / "promote.lock", timeout=30):
        waiting = earned(state)
        vaults = {one.agent: state.home.personal(one.agent) for one in waiting}
        read(state, list(vaults.values()))
        for entry in waiting:
            try:
                if not _claimed(state, entry):
                    continue
                made = _promote(state, models, vaults[entry.agent], entry)
                state.working.change(entry.slot, forget(entry))
            except (DjinnError, OSError) as error:
                why = getattr(error, "strerror", None) or str(error)
                problems.append(Problem(f"{entry.agent}: {entry.key}", f"stays as it is: {why}"))
            else:
                done.append(made)
    return done, problems


def _claimed(state: State, entry: WorkingEntry) -> bool:
    """Whether this home is the one, of all that share the store, that makes a note of it."""
    me = f"{gethostname()} {state.home.state}"

    def claim(there: WorkingEntry | None, now: float) -> WorkingEntry | None:
        if there is None or there.id != entry.id:
            return there
        others = there.claim not in (None, me) and now - (there.claimed or 0) < CLAIM_SECONDS
        return there if others else replace(there, claim=me, claimed=now)

    after = state.working.change(entry.slot, claim)[1]
    return after is not None and (after.id, after.claim) == (entry.id, me)


def _promote(state: State, models: ModelRegistry, vault: Vault, entry: WorkingEntry) -> Promotion:
    value = value_of(entry)
    if path := _made_of(state, vault, entry):
        return Promotion(value, vault.name, path, False)
    now = datetime.now(UTC)
    scope = state.home.scope(entry.agent)
    wish = _wish(value, entry)
    same = DuplicateFinder(state, models, draft_of(wish, now), now).twin(scope)
    if same and same.vault == vault.name and _promoted(state, vault, same.path):
        _join(state, models, vault, same.path, value, entry)
        return Promotion(value, vault.name, same.path, True)
    if same:
        # Nobody asked for a change of a note that a person, or another verb, has written.
        wish = replace(wish, links=(same.title,))
    written = remember(state, models, wish, now)
    return Promotion(value, written.vault, written.path, False)


def _wish(value: WorkingValue, entry: WorkingEntry) -> NewMemory:
    return NewMemory(
        type=_TYPES.get(value.type or "", "observation"),
        title=_title(value),
        text=_text(value.value),
        source=SOURCE,
        fields={"source_context": _origin(value), MARK: [entry.id]},
        existing="new",
        force=True,
        agent=entry.agent,
    )


def _title(value: WorkingValue) -> str:
    """The beginning of a text, else the key: two that say the same have titles that say so."""
    first = value.value.strip().split("\n")[0] if isinstance(value.value, str) else ""
    title = shorten(first, LONGEST_TITLE, placeholder="...")
    return next(
        (one for one in (title, value.key) if inline(one)), f"Short-term entry of {value.created}"
    )


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(f"> {line}" for one in value for line in [*one.splitlines(), ""])
    shown = msgspec.json.format(msgspec.json.encode(value)).decode()
    return f"```json\n{shown}\n```"


def _origin(value: WorkingValue) -> str:
    where = f"task {value.task}" if value.task else f"session {value.session}"
    if value.given_by:
        where = f"handed over by {value.given_by}"
    return f"{where}, key {value.key}, used {count(value.uses, 'time')}"


def _join(
    state: State,
    models: ModelRegistry,
    vault: Vault,
    path: str,
    value: WorkingValue,
    entry: WorkingEntry,
) -> None:
    """Let a note tell of one entry more: both texts stay, and where they come from."""

    def change(data: bytes) -> bytes:
        text = decode(data)[0]
        said = _text(value.value).strip()
        fields = frontmatter.read(text).fields
        data = data if said in text else body.append(data, said)
        for key, more in (("source_context", _origin(value)), (MARK, entry.id)):
            data = frontmatter.edit(data, (key,), [*_listed(fields.get(key)), more])
        return data

    with writing(state, models, vault) as pen:
        pen.rewrite(path, change)


def _listed(value: object) -> Sequence[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _made_of(state: State, vault: Vault, entry: WorkingEntry) -> str | None:
    """The note in which an entry is already."""
    return next(iter(_marked(state, vault, "value = ?", entry.id)), None)


def _promoted(state: State, vault: Vault, path: str) -> bool:
    """Whether a note was made of entries."""
    return bool(_marked(state, vault, "path = ?", path))


def _marked(state: State, vault: Vault, where: str, value: str) -> list[str]:
    sql = (
        "select distinct path from field join memory on memory.id = memory_id "
        "join note on note.id = note_id join vault on vault.id = vault_id "
        f"where key = ? and uuid = ? and {where} order by path"
    )
    return [path for (path,) in rows(state.index, sql, (MARK, vault.id, value))]
