"""Proposals to close one of two memories that contradict each other."""

from __future__ import annotations

from djinn_memory.errors import Refused, Remedy
from djinn_memory.home import access
from djinn_memory.memories.catalog.catalog import hidden_from, require_note
from djinn_memory.memories.contradictions.finder import Pair, find_pairs
from djinn_memory.memories.proposals.kind import Acceptance, LiveProposal, ProposalKind
from djinn_memory.memories.proposals.log import CONTRADICTION, Finding
from djinn_memory.memories.writing.drafts import link_to
from djinn_memory.memories.writing.existing import dated
from djinn_memory.models import Vault
from djinn_memory.notes.dates import moment
from djinn_memory.runtime import Runtime

_BOTH = Remedy("", {"keep": "both"}, "record that both hold")


def _find(runtime: Runtime, agent: str | None) -> list[Finding]:
    if agent is None:
        return []
    return [finding(pair) for pair in find_pairs(runtime, runtime.home.scope(agent))]


def finding(pair: Pair) -> Finding:
    """The proposal that a contradiction is."""
    reason, contradiction = "Both notes hold now and say different things.", pair.contradiction
    evidence = (contradiction.difference,)
    return Finding(pair.subjects, reason, evidence, id=contradiction.id)


def _carry_out(acceptance: Acceptance, proposal: LiveProposal) -> None:
    """Mark the note of a side as one that no longer holds."""
    if acceptance.keep is None:
        raise Refused("it does not say which side holds", Remedy("", {"keep": None}, "choose one"))
    sides = proposal.memories
    remaining, closed = sides if acceptance.keep == "A" else reversed(sides)
    runtime, place = acceptance.runtime, f"{closed.vault}/{closed.path}"
    vault, keeper = acceptance.vault(closed), acceptance.vault(remaining)
    _check_access(place, vault, keeper)
    require_note(runtime.state, closed, "closed")
    hidden, other_hidden = (hidden_from(runtime.home, memory) for memory in (closed, remaining))
    if not other_hidden <= hidden:
        raise Refused(
            f"{place} is visible to agents that may not see the other side, "
            "which therefore cannot close it; edit it there",
            _BOTH,
        )
    now, data = runtime.now(), acceptance.check(closed)
    fields = {"valid_to": moment(now), "status": "superseded"}
    if access.same_readers(vault, keeper) and hidden == other_hidden:
        fields["superseded_by"] = link_to(remaining.title, remaining.path)
    acceptance.changes.rewrite(vault, closed.path, data, dated(data, fields, now))


def _check_access(place: str, vault: Vault, keeper: Vault) -> None:
    """Raise `Refused` for a note that djinn may not close in favour of one in `keeper`."""
    if vault.read_only or not access.is_own(vault):
        raise Refused(f"{place} is in a read-only vault and cannot be closed; edit it there", _BOTH)
    if access.is_open(vault) and not access.is_open(keeper):
        raise Refused(
            f"{place} is visible to all agents, so a note in the private vault {keeper.name} "
            "cannot close it; edit it there",
            _BOTH,
        )


KIND = ProposalKind(
    CONTRADICTION,
    action="Closes the side that does not hold: its note gets `valid_to` and `status: superseded`. "
    "Dismissal records that both hold.",
    describe=lambda titles: f"Settled the contradiction of {' and '.join(titles)}",
    find=_find,
    carry_out=_carry_out,
)
