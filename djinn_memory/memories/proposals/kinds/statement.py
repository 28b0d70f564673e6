"""Proposals to keep what extraction is not sure of: its notes with `status: proposed`.

A fact that is accepted is stated as `djinn fact set` states it, and its own note goes. Of another
memory the line with the status goes. A dismissal removes the note. Extraction never finds the same
statement again.
"""

from __future__ import annotations

from djinn_memory.errors import Refused
from djinn_memory.memories.catalog.catalog import body_of, ledger_name
from djinn_memory.memories.entities.names import is_entity, same_name
from djinn_memory.memories.facts.queries import FACT, fact_in
from djinn_memory.memories.facts.writer import add_fact
from djinn_memory.memories.proposals.kind import Acceptance, LiveProposal, ProposalKind, notes_of
from djinn_memory.memories.proposals.log import Finding
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.duplicates import DuplicateFinder
from djinn_memory.memories.writing.existing import dated
from djinn_memory.memories.writing.provenance import PROPOSED, STATEMENT
from djinn_memory.models import Filters, Vault
from djinn_memory.notes.dates import local_day
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import IndexedMemory


def _find(runtime: Runtime, agent: str | None) -> list[Finding]:
    """The notes that extraction proposed for an agent, or with None for several agents."""
    selection = notes_of(runtime, agent, Filters(where=(("status", PROPOSED),)))
    if selection is None:
        return []
    with runtime.index(runtime.home.visible(agent)) as index:
        vaults = {vault.name: vault for vault in index.vaults}
        memories = index.memories(selection, fields=(STATEMENT, "session"))
        # A person may write of a proposed decision, too.
        return [
            _finding(memory, vaults[memory.vault]) for memory in memories if memory.field(STATEMENT)
        ]


def _finding(memory: IndexedMemory, vault: Vault) -> Finding:
    said = f"{memory.type} of {local_day(memory.date)}"
    return Finding(
        ((ledger_name(memory, vault).memory, memory.hash),),
        "It was said in a session, and may be worth keeping.",
        (said, f"session {memory.field('session')}"),
        vault.id,
    )


def _carry_out(acceptance: Acceptance, proposal: LiveProposal) -> None:
    [memory] = proposal.memories
    data, vault = acceptance.check(memory), acceptance.vault(memory)
    runtime, changes = acceptance.runtime, acceptance.changes
    if memory.type == FACT:
        # First, because the note of the fact may have its path.
        changes.remove(vault, memory.path, data)
        add_fact(runtime, changes, vault, fact_in(data, vault, memory.path, runtime.now()))
        return
    if is_entity(memory) and (same := same_name(acceptance.index, memory.title)):
        raise Refused(f"{same[0].vault}/{same[0].path} is an entity of this name")
    draft = Draft(memory.type or "", memory.title, body_of(vault, memory), {"date": memory.date})
    scope = runtime.home.scope(runtime.home.agent(vault.agent))
    if known := DuplicateFinder(runtime, draft, scope, notes=True).find():
        raise Refused(f"{known.memory.vault}/{known.memory.path} says the same")
    changes.rewrite(vault, memory.path, data, dated(data, {"status": None}, runtime.now()))


def _clean_up(acceptance: Acceptance, proposal: LiveProposal) -> None:
    [memory] = proposal.memories
    acceptance.changes.remove(acceptance.vault(memory), memory.path, acceptance.check(memory))


KIND = ProposalKind(
    "statement",
    action="Keeps what was said: as a fact, or as a memory whose note loses `status: proposed`. "
    "Dismissal removes the note.",
    describe=lambda titles: f"Kept {titles[0]}",
    find=_find,
    carry_out=_carry_out,
    clean_up=_clean_up,
)
