"""Which changes of notes an agent may know of, if its access to domains is limited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from djinn_memory.memories.changes.plan import ChangePlan, FileChange
from djinn_memory.models import Dialect, Vault
from djinn_memory.notes.note import domains_of
from djinn_memory.notes.note_file import NoteMemory, parse_file
from djinn_memory.store.index.records import Selection
from djinn_memory.store.state import State


def changed_domains(
    path: str, dialect: Dialect, before: bytes | None, after: bytes | None
) -> tuple[str, ...]:
    """The domains of the memories that a change of a file adds, changes or removes."""
    old, new = _memories(path, before, dialect), _memories(path, after, dialect)
    changed = [
        old.get(key) or new[key] for key in {**old, **new} if not (key in old and key in new)
    ]
    domains = (domain for memory in changed for domain in domains_of(memory.parse()))
    return tuple(sorted(set(domains)))


def _memories(
    path: str, data: bytes | None, dialect: Dialect
) -> dict[tuple[str | None, bytes], NoteMemory]:
    if data is None or not path.endswith(".md"):
        return {}
    memories = parse_file(path, data, dialect).memories
    return {(memory.block, memory.digest): memory for memory in memories}


def visible_plans(
    state: State, vaults: Sequence[Vault], plans: Iterable[ChangePlan]
) -> Iterator[bool]:
    """Whether the readers of these vaults may know of each plan.

    They may if they could see every memory before and after the change, and can see what its files
    hold now.
    """
    by_id = {vault.id: vault for vault in vaults}
    plans = list(plans)
    places = {
        (by_id[file.vault].name, file.path)
        for plan in plans
        for file in plan.files
        if file.vault in by_id
    }
    hidden = _hidden(state, vaults, tuple(places)) if places else set()

    def is_visible(file: FileChange) -> bool:
        vault = by_id.get(file.vault)
        if vault is None or (vault.name, file.path) in hidden:
            return False
        return not state.home.hides(vault, file.domains)

    for plan in plans:
        yield all(map(is_visible, plan.files))


def _hidden(
    state: State, vaults: Sequence[Vault], places: tuple[tuple[str, str], ...]
) -> set[tuple[str, str]]:
    """The files of which the readers see no memory, although the index has some."""
    if not any(vault.reader for vault in vaults):
        return set()
    selection, listed = Selection(places=places), []
    for view in (vaults, [replace(vault, reader=None) for vault in vaults]):
        with state.reading(view) as index:
            listed.append({(memory.vault, memory.path) for memory in index.titles(selection)})
    seen, every = listed
    return every - seen
