"""Compares notes with others when they are embedded, because writing loads no model."""

from __future__ import annotations

from contextlib import suppress

from djinn_memory.errors import DjinnError
from djinn_memory.home.access import opened
from djinn_memory.runtime import Runtime
from djinn_memory.store.index import meta, vectors
from djinn_memory.store.sqlite import transaction


def compare_new_notes(runtime: Runtime) -> None:
    """Propose to merge new notes that say the same as others.

    It compares those whose windows are all embedded. Most of the time there are none. They stay
    marked if the ledger or the index cannot be written now.
    """
    state = runtime.state
    if not state.writable or not (listed := meta.uncompared(state.index)):
        return
    from djinn_memory.memories.proposals.kinds import merge
    from djinn_memory.memories.proposals.lifecycle import propose

    done: list[int] = []
    # Notes that the key of the running call hides wait for a call that sees them.
    for vault in opened(runtime.home.vaults):
        ready = {
            path: number
            for number, owner, path in listed
            if owner == vault.id and not vectors.pending_in(state.index, vault, [path])
        }
        with suppress(DjinnError):
            if ready:
                findings = merge.find_new(runtime, vault, [*ready])
                propose(runtime, merge.KIND, findings, vault.agent, partial=True)
                done += ready.values()
    if done:
        with suppress(DjinnError), transaction(state.index):
            meta.mark_uncompared(state.index, (), done)
